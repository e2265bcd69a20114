"""How fast the data of a flow moved, in words: size, time and rate, without the pauses of its program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import bursts, nearly_all, relay
from bdpcap.explain import first_answer, gate, in_flight
from bdpcap.explain.notable import NOTICED_NS, slow_opening_ns
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["little_else", "pauses", "speed", "transfer", "words"]

BRIEF: Final = 0.01
"""Pauses over the time of a flow's data up to which no sentence names them: its rate has two digits."""


def speed(flow: Flow, *, besides_active: bool = False) -> str:
    """Return size, time and rate of a flow that was idle for half of its life or more; empty for any other.

    The rest of its life follows. With `besides_active`, that is its idle time, as its verdict has the active time.
    """
    summary = flow.summary
    idle_ns = gate.idle_ns(summary)
    if summary["idle_share"] < 1 / 2 or summary["active_ns"] == 0 or idle_ns is None:
        return ""
    bulk = nearly_all.rounds(flow)
    moved = transfer(flow, bulk)
    without_ns = idle_ns + int(summary["active_ns"]) - moved.in_flight_ns
    rest_ns = idle_ns if besides_active else without_ns - (0 if bursts.counted(flow) else moved.pauses_ns)
    if bulk is None and not besides_active:
        rest_ns = min(rest_ns, bursts.nothing_to_send_ns(flow))
    # A handshake of lost SYNs is neither open nor idle.
    rest_ns -= slow_opening_ns(flow.capture, flow.stream)
    if not moved.is_timed or rest_ns <= 0:
        return ""
    answer = _answer(flow, without_ns)
    if rest_ns < NOTICED_NS:
        return f"{words(flow, bulk)}{answer}."
    if besides_active:
        lasted = units.duration(rest_ns)
        return f"{words(flow, bulk)}; outside its active time, it had nothing to send for {lasted}{answer}."
    idle = "the connection was idle or exchanged little" if bulk is not None else "it had nothing to send"
    is_apart = moved.is_exact and not (bulk is None and _is_counted(flow))
    another = "another " if is_apart else ""
    return f"{words(flow, bulk)}; for {another}{units.duration(rest_ns)} {idle}{answer}."


def _answer(flow: Flow, without_ns: int) -> str:
    """Return a clause on the server's time to answer where it is most of a client's time without data; else empty."""
    if not flow.is_from_client or not flow.capture._contents.has_exchanges:
        return ""
    server_ns = first_answer.owed_ns(flow._requests).fillna(0)
    answer_ns = int(server_ns.sum())
    # Data that come later than a person waits may be news, and no answer.
    if (
        not max(in_flight.AT_ONCE_NS, without_ns // 2) <= answer_ns <= without_ns
        or server_ns.max() >= NOTICED_NS
    ):
        return ""
    return f", and the server took {units.duration(answer_ns)} to answer"


def words(flow: Flow, bulk: pd.DataFrame | None) -> str:
    """Return size, time and rate, of all data or of some rounds."""
    times = bursts.counted(flow) if bulk is None else nearly_all.batches(bulk)
    total = None if bulk is None else int(flow.summary["payload_bytes"])
    return transfer(flow, bulk).words(total, times)


def transfer(flow: Flow, bulk: pd.DataFrame | None) -> in_flight.Transfer:
    """Return all data of a flow, or those of some rounds: without pauses, unless nobody notices the pauses."""
    if bulk is None:
        return _all(flow)
    moved = in_flight.within(flow, bulk)
    moved = replace(moved, is_paced=moved.is_paced and not relay.passes_on(flow))
    return replace(moved, in_flight_ns=nearly_all.span_ns(bulk)) if nearly_all.follow_closely(bulk) else moved


def _all(flow: Flow) -> in_flight.Transfer:
    """Return all data of a flow; several bursts are paced only if one of them is more than an initial window.

    The pause before a farewell is none of the data's.
    """
    moved, carried = in_flight.whole(flow), bursts.sizes(flow)
    small = len(carried) > 1 and bool((carried <= nearly_all.initial_window_bytes(flow)).all())
    parting_ns = int(bursts.pauses_ns(flow).iloc[-1]) if bursts.ends_in_farewell(flow) else 0
    left_ns = max(0, moved.pauses_ns - parting_ns)
    # The rate of a NAT next to the capture is not the path's.
    is_paced = moved.is_paced and not small and not relay.passes_on(flow)
    return replace(moved, is_paced=is_paced, pauses_ns=left_ns)


def _is_counted(flow: Flow) -> bool:
    """Return whether the number of a flow's bursts stands for the time of its data."""
    return bool(bursts.counted(flow)) and not _all(flow).is_paced


def pauses(flow: Flow) -> str:
    """Return the pauses that the time of a flow's data leaves out; empty if nobody notices them, or they are brief."""
    moved = _all(flow)
    least_ns = max(NOTICED_NS, BRIEF * moved.in_flight_ns)
    if not (moved.is_timed and bursts.counted(flow) and least_ns <= moved.pauses_ns < units.YEAR_NS):
        return ""
    lasted = units.duration(moved.pauses_ns)
    # Shorter pauses within the bursts count, too.
    return (
        f"; for {lasted} in all, nothing was in flight"
        if not moved.is_paced
        else f"; pauses took another {lasted}"
    )


def little_else(flow: Flow, bulk: pd.DataFrame) -> str:
    """Return a clause on the active time without some rounds, which carried nearly all.

    Empty if nobody notices that time, or the rounds are those of several bursts, whose span has it.
    """
    rest_ns = int(flow.summary["active_ns"]) - transfer(flow, bulk).in_flight_ns
    if nearly_all.batches(bulk) or rest_ns < NOTICED_NS:
        return ""
    return f"; for another {units.duration(rest_ns)} it sent little"
