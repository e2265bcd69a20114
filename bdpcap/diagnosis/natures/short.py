"""Short transfers, and little data now and then: nothing is to be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import again, bursts, moved, nearly_all, relay
from bdpcap.diagnosis.kinds import ALL, LIMIT_NAMES, app, rwnd
from bdpcap.diagnosis.model import Nature, Shown, longest, spanning
from bdpcap.diagnosis.phases import phase_of
from bdpcap.explain import first_answer, in_flight
from bdpcap.explain.exchange_shares import answering_ns
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.sent_again import FEWEST, lost, mostly_needless, needed, of_flow, resent_share
from bdpcap.words import units
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = [
    "LITTLE",
    "NATURE",
    "ends_by_itself",
    "late_answer_ns",
    "shown",
]

SELDOM: Final = 0.01
"""Share of the active time in which data were in flight, up to which nobody waits for TCP; a choice."""
_TRIPS: Final = 8
"""Round trips of a little: two for TLS 1.2, and six in which slow start carries a megabyte (RFC 5246, RFC 6928)."""


def ends_by_itself(flow: Flow) -> bool:
    """Return whether nothing was lost, and the main limit is one that time lifts, or the program's."""
    return not lost(flow) and _is_lifted(flow)


def _is_lifted(flow: Flow) -> bool:
    """Return whether the main limit is one that time lifts, or the program's."""
    held = str(flow.summary["limit"])
    own = flow.rtts[flow.rtts["limit"] == held]
    why = ALL[held].causes.get(str(longest(own, "detail")))
    return held == "app" or (why is not None and why.passes)


def shown(flow: Flow) -> Shown | None:
    """Return the frames of the burst with most bytes, from its first data to its last."""
    return spanning(flow, bursts.largest(flow))


def _said(flow: Flow) -> str:
    said, by_path = moved.speed(flow), _held_by_path(flow)
    if not said:
        bulk = nearly_all.rounds(flow)
        rest = moved.little_else(flow, bulk) if bulk is not None else "" if by_path else moved.pauses(flow)
        said = f"{moved.words(flow, bulk)}{rest}."
    return f"{said}{by_path or _held(flow) or _lossy(flow)}"


def _lossy(flow: Flow) -> str:
    """Return a sentence on the retransmissions of a flow; empty if they were few, or had no need."""
    return "" if resent_share(flow) is None else f" {of_flow(flow)}."


def _held_by_path(flow: Flow) -> str:
    """Return a sentence on packets that came so late that they were sent again; empty if that took little time."""
    held_ns = flow.summary["cwnd_share"] * flow.summary["active_ns"]
    if not _only_needless(flow) or held_ns < in_flight.AT_ONCE_NS:
        return ""
    arrived, again = int(flow.summary["spurious_retransmits"]), int(flow.summary["retransmits"])
    of_all = units.number(again, "packet") if arrived == again else f"{arrived} of {again} packets"
    if 2 * int(flow.summary["fast_retransmits"]) > again:
        return f" Later data overtook earlier ones on the way: {of_all} sent again had arrived."
    return f" {of_all[0].upper()}{of_all[1:]} sent again had arrived."


def _held(flow: Flow) -> str:
    """Return a sentence on the limit of a short transfer; empty for the program, and if unknown."""
    limit = str(flow.summary["limit"])
    # Within a second, nothing shows whether a window without losses was TCP's or the path's.
    unsure = limit == "cwnd" and not needed(flow) and flow.summary["active_ns"] < NOTICED_NS
    if limit in ("app", "unknown") or unsure or _only_needless(flow):
        return ""
    # Every send buffer holds a segment (SOCK_MIN_SNDBUF of Linux), so less in flight is all that there was.
    if limit == "sndbuf" and flow.summary["in_flight_max_bytes"] < flow.summary["mss_bytes"]:
        return ""
    own = flow.rtts[flow.rtts["limit"] == limit]
    if limit == "rwnd" and longest(own, "detail") == "ramp" and not _is_few(flow):
        ramp = rwnd.LIMIT.causes["ramp"]
        words = ramp.reason(flow, own)
        return f" {ramp.headline}{': ' if words else ''}{words}."
    if (bulk := nearly_all.rounds(flow)) is not None:
        return _held_in(bulk)
    # The first round begins with the stream's first packet: a wait before the first data is no limit's.
    later_ns = nearly_all.lasting_ns(own[own["round"] > 0])
    if 2 * later_ns <= flow.summary["active_ns"] - nearly_all.lasting_ns(flow.rtts[flow.rtts["round"] == 0]):
        return ""
    share = units.share(flow.summary[f"{limit}_share"])
    lost_share = f": {of_flow(flow)}" if limit == "cwnd" and needed(flow) >= FEWEST else ""
    return f" Its main limit was {_named(limit)}, for {share} of the active time{lost_share}."


def _held_in(bulk: pd.DataFrame) -> str:
    """Return a sentence on the limit that held for most of some rounds; empty for the program, and if unknown.

    The first round begins with the stream's first packet: a wait before the first data is no limit's.
    """
    bulk = bulk[bulk["round"] > 0]
    if bulk.empty:
        return ""
    lasting = (bulk["end_ns"] - bulk["start_ns"]).groupby(bulk["limit"]).sum()
    limit, share = str(lasting.idxmax()), lasting.max() / lasting.sum()
    if limit in ("app", "unknown") or share <= 1 / 2:
        return ""
    return f" Its main limit was {_named(limit)}, for {units.share(share)} of that time."


def _named(limit: str) -> str:
    return f"{'' if limit == 'cwnd' else 'the '}{LIMIT_NAMES[limit]}"


def _is_short(flow: Flow) -> bool:
    """Return whether a flow was over at once, or within a second in which nothing held it for longer than that."""
    summary = flow.summary
    if app.hides_losses(flow):
        return False
    if (
        (summary["active_ns"] < in_flight.AT_ONCE_NS and _is_seen(flow))
        or _answers_soon(flow)
        or _are_trips(flow)
    ):
        return True
    if summary["active_ns"] >= NOTICED_NS and (not _is_one_burst(flow) or _is_few(flow)):
        return False
    first = _is_few(flow) and summary["limit"] == "rwnd" and not lost(flow)
    # A loss or two that were repaired within a second held nobody up.
    few = lost(flow) and needed(flow) < FEWEST and summary["active_ns"] < NOTICED_NS
    first |= summary["limit"] == "cwnd" and few
    # A link is full for moments whenever bursts come faster than it carries them.
    first |= summary["limit"] == "link" and summary["link_share"] < 1 / 2
    # The wait for the answer took longer than any limit of the data before it.
    first |= _waited_ns(flow) >= NOTICED_NS
    # Whatever the capture lacks of a second, nobody noticed it.
    brief = summary["active_ns"] < NOTICED_NS
    first |= brief and _is_undecided_by(flow, "silent", "missed") and not summary["retransmits"]
    # Repairs within a second held the program up for less, and copies that had no need held nothing.
    return bool(first or _only_needless(flow) or _is_lifted(flow) or _is_unmeasured(flow))


def _waited_ns(flow: Flow) -> int:
    """Return the time for which a client waited for the answer to its data; 0 for a server."""
    return first_answer.waited_ns(flow) if flow.is_from_client else 0


def _are_trips(flow: Flow) -> bool:
    """Return whether the data of a flow of its program were in flight for a few round trips of a long path.

    That was most of its time, so the path and not the program set the pace. A loss or two cost one of the round trips.
    """
    summary = flow.summary
    rtt_ns = summary["rtt_min_ns"]
    if pd.isna(rtt_ns) or summary["active_ns"] < NOTICED_NS or not _is_paced(flow):
        return False
    if lost(flow) and needed(flow) >= FEWEST:
        return False
    moved_ns = in_flight.whole(flow).in_flight_ns
    return bool(int(summary["active_ns"]) / 2 < moved_ns < _TRIPS * rtt_ns)


def _is_seen(flow: Flow) -> bool:
    """Return whether the capture shows a whole flow, though no rule may hold."""
    if flow.summary["limit"] != "unknown":
        return True
    return bool((flow.rtts.loc[flow.rtts["limit"] == "unknown", "rule"] == "none").all())


def _is_unmeasured(flow: Flow) -> bool:
    """Return whether a flow is undecided for round trips that nothing measured, though the capture shows its data.

    A capture with data alone lacks all acknowledgments without.
    """
    if flow.summary["limit"] != "unknown":
        return False
    names = ("unmeasured", "silent") if flow._counts["data_alone"] else ("unmeasured",)
    return _is_undecided_by(flow, *names)


def _is_undecided_by(flow: Flow, *names: str) -> bool:
    """Return whether a flow is undecided, for most of these rounds by some rules."""
    if flow.summary["limit"] != "unknown":
        return False
    rules = flow.rtts.loc[flow.rtts["limit"] == "unknown", "rule"]
    return bool(2 * rules.isin(names).sum() > len(rules))


def _only_needless(flow: Flow) -> bool:
    """Return whether congestion control was the main limit, and all that a flow sent again had arrived.

    Of a flow with less than a segment in flight, most suffices: every congestion window holds a segment.
    """
    summary = flow.summary
    again = int(summary["retransmits"])
    most = mostly_needless(flow) and summary["in_flight_max_bytes"] < summary["mss_bytes"]
    return bool(summary["limit"] == "cwnd" and again and (most or again <= summary["spurious_retransmits"]))


def _ignores(flow: Flow) -> bool:
    """Return whether a sender took no notice of acknowledgments."""
    return phase_of(flow, flow.rtts[flow.rtts["limit"] == "cwnd"]) == "ignored"


def _is_brief(flow: Flow) -> bool:
    """Return whether the data of a flow that its program limited were in flight for less than a second in all.

    On a long path, the round trips of slow start take longer. Over hours, many short exchanges add up to more.
    """
    summary = flow.summary
    rtt_ns = 0 if pd.isna(summary["rtt_min_ns"]) else int(summary["rtt_min_ns"])
    least_ns = max(NOTICED_NS, _TRIPS * rtt_ns, SELDOM * int(summary["active_ns"]))
    return _is_paced(flow) and in_flight.whole(flow).in_flight_ns < least_ns


def _is_paced(flow: Flow) -> bool:
    """Return whether the program limited a flow, and no peer waited for an answer for most of that time."""
    if flow.summary["limit"] != "app":
        return False
    return not app.LIMIT.cause(flow, flow.rtts[flow.rtts["limit"] == "app"]).owed


def _answers_soon(flow: Flow) -> bool:
    """Return whether data and answers of a server that its program limited took less than a second in all."""
    if flow.summary["limit"] != "app" or flow.is_from_client or not flow.capture._contents.has_exchanges:
        return False
    if _is_paced(flow):
        return False
    return in_flight.whole(flow).in_flight_ns + answering_ns(flow, app.owing(flow.rtts)) < NOTICED_NS


def _asks_seldom(flow: Flow) -> bool:
    """Return whether a client paused between its data, which were in flight for a short time in all.

    They are small requests for the most part, and nobody waits for the next one. Or a person notices most of the pauses.
    """
    if not flow.is_from_client or not flow.capture._contents.has_exchanges or not _is_brief(flow):
        return False
    asked = (
        nearly_all.rounds(flow) is None
        and 2 * flow.exchanges["request_bytes"].sum() > flow.summary["payload_bytes"]
    )
    return bool(asked or 2 * bursts.pauses_ns(flow).sum() > flow.summary["active_ns"])


def _is_one_burst(flow: Flow) -> bool:
    """Return whether the program set the pace, and nearly all data went in one burst of less than a second.

    Small messages may come before and after, as in a session on a remote desktop.
    """
    if not _is_paced(flow):
        return False
    alone = app.is_alone(flow)
    bulk = nearly_all.rounds(flow) if alone else None
    if bulk is not None and nearly_all.span_ns(bulk) < NOTICED_NS:
        return True
    carried = bursts.sizes(flow)
    if carried.empty or carried.max() < (1 - nearly_all.REST) * carried.sum():
        return False
    own = bursts.largest(flow)
    return bool(own["end_ns"].max() - own["start_ns"].min() < NOTICED_NS)


def _is_few(flow: Flow) -> bool:
    """Return whether a flow carried less than an initial window, or seldom a burst of less than that."""
    least = nearly_all.initial_window_bytes(flow)
    few = flow.summary["payload_bytes"] < least
    return bool(few or (_is_seldom(flow) and (bursts.sizes(flow) < least).all()))


def _is_seldom(flow: Flow) -> bool:
    """Return whether the data of a flow that its program limited were in flight for a tenth of its time or less."""
    seldom = in_flight.whole(flow).in_flight_ns <= nearly_all.REST * flow.summary["active_ns"]
    return _is_brief(flow) or (seldom and _is_paced(flow))


def _is_little(flow: Flow) -> bool:
    """Return whether a program gave TCP little, or a client asked seldom, and no receiver or loss held it for long."""
    summary = flow.summary
    if app.hides_losses(flow):
        return False
    repaired = summary["limit"] == "app" and summary["cwnd_share"] * summary["active_ns"] < NOTICED_NS
    repaired |= _only_needless(flow) and not _ignores(flow)
    # One segment waits for no limit of TCP, also where nothing shows how it fared.
    alone = not summary["retransmits"] and summary["payload_bytes"] <= summary["mss_bytes"]
    undecided = summary["limit"] == "unknown" and not (_is_unmeasured(flow) or alone)
    held = summary["limit"] == "rwnd" or undecided
    held |= bool(summary["retransmitted_bytes"] and not repaired)
    return (_is_few(flow) or _asks_seldom(flow)) and not held


def _little_advice(flow: Flow) -> tuple[str, str]:
    if path := again.advice(flow):
        return path
    if lost(flow):
        return "", "Nothing to mend: what was lost arrived within a second, and the program sets the pace."
    if not _is_few(flow):
        data_ns = units.duration(in_flight.whole(flow).in_flight_ns)
        return (
            "",
            f"Nothing to mend: data were in flight for {data_ns} in all, and the program sets the pace.",
        )
    if late := _answered_late(flow):
        return "", late
    behind = ", and the path behind a NAT or proxy," if relay.relayed(flow) else ""
    trips = "" if on_one_machine(host(flow.sender), host(flow.receiver)) else " and round trips"
    return "", f"Nothing to mend: so little data needs no rate; programs{trips}{behind} set the pace."


def _answered_late(flow: Flow) -> str:
    """Return advice on an answer for which its client waited so long that a person notices it; else empty."""
    waited_ns = late_answer_ns(flow)
    server = host(flow.receiver if flow.is_from_client else flow.sender)
    words = f"{server} answered after {units.duration(waited_ns)}: its log shows why, if somebody waited for that."
    return f"Nothing to mend on the path: {words}" if waited_ns else ""


def late_answer_ns(flow: Flow) -> int:
    """Return the longest wait of a client for an answer, to this flow or of it; 0 if nobody notices one."""
    waited_ns = _waited_ns(flow)
    return waited_ns if waited_ns >= NOTICED_NS else _let_wait_ns(flow)


def _let_wait_ns(flow: Flow) -> int:
    """Return the longest time for which a server's program let its client wait; 0 if nobody notices that.

    A request may be a message that a person answers. Data after the first byte may be news. Without the handshake, the
    end that looks like the server may be the one that asks.
    """
    if (
        flow.is_from_client
        or not flow._counts["handshake"]
        or not flow.capture._contents.has_exchanges
        or relay.relayed(flow)
    ):
        return 0
    longest_ns = first_answer.owed_ns(flow._requests).max()
    noticed = pd.notna(longest_ns) and longest_ns >= NOTICED_NS and not app.owing(flow.rtts).empty
    return int(longest_ns) if noticed else 0


def _little(flow: Flow) -> str:
    said, own = _said(flow), _lossy(flow)
    # The share of both ends would say it twice.
    more = "" if own and own in said else again.said(flow)
    return f"{said} {more}" if more else said


def _short_advice(flow: Flow) -> tuple[str, str]:
    if _are_trips(flow):
        rtt_ns, moved_ns = flow.summary["rtt_min_ns"], in_flight.whole(flow).in_flight_ns
        trips = f"{moved_ns / rtt_ns:.1f} round trips of {units.duration(rtt_ns)}"
        return "", f"Nothing to mend: data were in flight for {units.duration(moved_ns)}, {trips}."
    if late := _answered_late(flow):
        return "", late
    whole, bulk = in_flight.whole(flow), nearly_all.rounds(flow)
    if bulk is not None and whole.in_flight_ns >= NOTICED_NS:
        return (
            "",
            f"Nothing to mend: nearly all data took {units.duration(moved.transfer(flow, bulk).in_flight_ns)}.",
        )
    if whole.in_flight_ns >= NOTICED_NS:
        return "", "Nothing to mend: for less than a second of it, data waited for TCP or a program."
    if whole.spanned_ns >= NOTICED_NS:
        return "", "Nothing to mend: data were in flight for less than a second in all."
    return "", "Nothing to mend: the data took less than a second."


NATURE: Final = Nature("a short transfer", _is_short, _said, _short_advice, shown)

LITTLE: Final = Nature(
    "little data, now and then",
    _is_little,
    _little,
    _little_advice,
    shown,
)
