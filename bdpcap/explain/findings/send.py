"""Findings on the send buffer: as the limit, as a known bound, and the bytes that it yields per round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.explain import remedies, sendbuf
from bdpcap.explain.capacity import Basis, basis
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.reached import reached_bps, spoken_rate
from bdpcap.explain.solver import Exactness
from bdpcap.explain.standing import spoken, standing
from bdpcap.words import rates, units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.solver import Facts
    from bdpcap.limits.rounds import Bools

__all__ = ["agrees", "explains", "fills", "limits", "predicted"]

_FULL: Final = 0.9
"""Smallest ratio of throughput, slow start included, to the path's rate at which a flow filled the path."""


_NEXT: Final = 2
"""Buffer to try, over the one that limits, where the rate of the path is not known: twice shows what limits next."""
_NEVER_FULL: Final = 0.9
"""Most in flight over a buffer's least flight below which it was never full; a tenth allows for packet sizes."""
_WHOLE: Final = 0.95
"""Bytes per round trip over the flight above which a buffer yields all of its size: RTTs vary by some per cent."""
_FEWEST_ROUNDS: Final = 3
"""Rounds under the send buffer that show its flight; a choice."""
_PLACES: Final = 3
"""Decimal places of a share among the values."""


def limits(flow: Flow, setting: int | None = None) -> list[Finding]:
    """Return a finding on the SO_SNDBUF that explains the flight, and on the one that the path needs."""
    held, flight = _plateau(flow)
    stands = standing(flow)
    if flight is None and stands is not None:
        held, flight = stands.rounds, stands.flight
    window = flow.summary["window_max_bytes"]
    # A window that is full is the limit itself.
    if flight is None or (pd.notna(window) and flight >= window):
        return []
    low, high = sendbuf.settings_for(flight)
    which = (
        f"SO_SNDBUF between {low:,} and {high:,}; less with sendfile()."
        if setting is None
        else f"SO_SNDBUF of {setting:,} is likely the limit."
    )
    remedy, seen = _remedy(flow, flight), spoken(flow.rtts["in_flight_max_bytes"][held])
    return [
        Finding(
            code=Code.SEND_BUFFER,
            sentence=f"{seen[0].upper()}{seen[1:]}, though the window had room: {which}",
            cause="SO_SNDBUF bounds memory for what is written and not yet acknowledged: the kernel doubles it and "
            "counts each packet's buffer. A single large write may end above it. sendfile() may exceed it tenfold, for "
            "its pages count little.",
            remedy=remedy.words,
            commands=remedy.commands,
            evidence=f"a standing flight in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            values={"flight_bytes": flight, "so_sndbuf_low": low, "so_sndbuf_high": high},
            source="sock_setsockopt(); sk_stream_memory_free(); shares measured on Linux 6.18",
        )
    ]


def fills(flow: Flow) -> bool:
    """Return whether the flight under the send buffer filled the path: it reached the BDP, and the rate shows that."""
    flight, need = _plateau(flow)[1], flow.summary["bdp_bytes"]
    reached, capacity = reached_bps(flow), flow.summary["capacity_bps"]
    if flight is None or pd.isna(need) or reached is None or pd.isna(capacity):
        return False
    # A buffer that drains before its writer is woken reaches the BDP at times, but does not fill the path.
    return bool(flight >= need and reached >= _FULL * capacity)


def agrees(flow: Flow, facts: Facts | None) -> bool:
    """Return whether the constant flight lies where a known SO_SNDBUF would hold it."""
    stands = standing(flow)
    if facts is None or facts.sndbuf is None or stands is None:
        return False
    made = sendbuf.SendBuffer.of(facts.sndbuf)
    # The plateau may end a segment below the bound.
    return made.flight_low - int(flow.summary["mss_bytes"]) <= stands.flight <= made.flight_high


def predicted(setting: int, flow: Flow | None = None) -> Finding:
    """Return a finding on the flight that an SO_SNDBUF bounds, and on whether the observed flight agrees."""
    made = sendbuf.SendBuffer.of(setting)
    flight = None if flow is None else int(flow.summary["in_flight_max_bytes"])
    stands = None if flow is None else standing(flow)
    seen, exactness = _compared(made, flight, None if stands is None else stands.flight)
    return Finding(
        code=Code.SEND_BUFFER_PREDICTED,
        sentence=f"SO_SNDBUF of {setting:,} makes {made.memory:,} bytes of memory: {made.flight_low:,} bytes in flight "
        f"where each write is one segment, up to {made.flight_high:,} with large writes.{seen}",
        cause="It bounds memory for what is written and not yet acknowledged, asked before each piece. It does not bound "
        "one large write that ends above it, and sendfile() may exceed it tenfold.",
        values={"so_sndbuf_bytes": setting, "sk_sndbuf_bytes": made.memory, "flight_bytes": flight},
        exactness=exactness,
        source="sock_setsockopt(); sk_stream_memory_free(); shares measured on Linux 6.18",
    )


def explains(flow: Flow, facts: Facts | None = None) -> list[Finding]:
    """Return findings on the bound of a known send buffer, and on one that yields less than its size per round trip."""
    told = []
    if facts is not None and facts.sndbuf is not None:
        told.append(predicted(facts.sndbuf, flow))
    return [*told, *_share(flow)]


def _remedy(flow: Flow, flight: int) -> remedies.Remedy:
    need = flow.summary["bdp_bytes"]
    sender = remedies.of(flow, "sender")
    if pd.isna(need) or basis(flow.summary) is Basis.BOUND:
        return remedies.send_buffer(_NEXT * flight, sender, was_limit=True)
    if fills(flow):
        return remedies.Remedy(
            f"Leave the send buffer: {units.exact_bytes(flight)} in flight already fill about "
            f"{units.rate(flow.summary['capacity_bps'])}. More would only wait in a queue."
        )
    return remedies.joined(
        remedies.send_buffer(int(need), sender, was_limit=True),
        remedies.fixed_buffer(sendbuf.least_setting(int(need)), sender),
    )


def _compared(made: sendbuf.SendBuffer, most: int | None, stands: int | None) -> tuple[str, Exactness]:
    """Return a sentence on whether a buffer can have been the limit, and how well it agrees."""
    if most is None:
        return "", Exactness.CONSISTENT
    flight = most if stands is None else stands
    if flight > made.flight_high:
        said = f"{flight:,} were in flight, more than it allows: it cannot be the limit, unless sendfile() filled it."
        return f" {said}", Exactness.NONE
    if flight < _NEVER_FULL * made.flight_low:
        return (
            f" At most {most:,} were in flight: it was never full, so it was not the limit.",
            Exactness.NONE,
        )
    if stands is None:
        return f" At most {most:,} were in flight, which it allows.", Exactness.CONSISTENT
    return f" The flight stayed at {flight:,}: it is likely the limit.", Exactness.CONSISTENT


def _share(flow: Flow) -> list[Finding]:
    held, flight = _plateau(flow)
    rtt, reached = flow.summary["rtt_min_ns"], reached_bps(flow)
    if flight is None or held.mean() < NOTABLE_SHARE or pd.isna(rtt) or reached is None or rtt <= 0:
        return []
    moved = rates.bytes_at(reached, float(rtt))
    part = moved / flight
    if part > _WHOLE:
        return []
    return [
        Finding(
            code=Code.SEND_BUFFER_SHARE,
            sentence=f"{units.exact_bytes(moved)} went per minimum RTT, {units.share(part)} of the most in flight: "
            f"flight / RTT would be {units.rate(rates.of_bytes(flight, rtt))}, {spoken_rate(flow)} were reached.",
            cause="A writer that sleeps is woken when a third of the buffer is free, so two thirds to all of it go per "
            f"round trip; here {units.share(part)}. One that polls writes a block at each third. Buffer / RTT is a "
            "bound, not a forecast.",
            evidence="acknowledgments left unanswered, then a burst that refills the buffer",
            frames=frames(flow, held),
            values={"per_rtt_bytes": int(moved), "share": round(part, _PLACES)},
            source="sk_stream_write_space(): sk_stream_wspace() >= sk_stream_min_wspace()",
        )
    ]


def _plateau(flow: Flow) -> tuple[Bools, int | None]:
    held = (flow.rtts["limit"] == "sndbuf").to_numpy()
    if held.sum() < _FEWEST_ROUNDS:
        return held, None
    return held, int(np.median(flow.rtts["in_flight_max_bytes"].to_numpy()[held]))
