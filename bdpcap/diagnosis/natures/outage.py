"""Long stalls with timeouts: an outage, in which nothing came back, and loss with timeouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap.diagnosis import places, silence
from bdpcap.diagnosis.kinds import ALL, STATE_NAMES, rwnd
from bdpcap.diagnosis.model import Nature, Shown, longest, spanning
from bdpcap.diagnosis.natures import farewell
from bdpcap.diagnosis.phases import is_stall_brief
from bdpcap.explain import remedies, shared_losses
from bdpcap.explain.findings import path_mtu
from bdpcap.explain.sent_again import mostly_needless
from bdpcap.read import hops
from bdpcap.timers import FIRST_TIMEOUT_NS, TWO_TIMERS_NS
from bdpcap.words import units
from bdpcap.words.endpoints import both, host, on_one_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.capture import Capture, Flow
    from bdpcap.diagnosis.silence import Silence

__all__ = ["LOSSES", "NATURE", "reached_others", "shown", "stalled"]

OUTAGE_NS: Final = TWO_TIMERS_NS
"""Least stall that is the news of a flow."""
OUTAGE_SHARE: Final = 0.1
"""Share of the active time from which on a stall of `FIRST_TIMEOUT_NS` is the news, too."""
SILENT: Final = 0.9
"""Share of a stall without any acknowledgment from which on nothing was acknowledged at all."""

_AFTERWARDS: Final = 2
"""Length of the time in which a host's other packets count, over that of a silence that lasts to the end; a choice."""
_MARGIN: Final = 4
"""Part of a time at each of its ends that is not its middle, as a divisor; a choice."""
_OTHERS: Final = 20
"""Most other connections whose acknowledgments are looked for; a choice."""
_FEWEST_ROUNDS: Final = 10
"""Fewest round trips besides the longest stall that show a main limit; a choice: fewer are hardly more than a pause."""
_GONE: Final = "Find out why nothing came back: the path or its far end was gone."
_AWAY: Final = "Find out why nothing came back meanwhile: see the path, then the far end, at that time."
_DROPPED: Final = (
    "Find what drops this connection and not others, as a firewall may that forgot it. "
    "Its far end sent other packets."
)
_ONLY_SYN: Final = (
    "See what drops the packets after a SYN, as a firewall near the far end may: its answers came back."
)
_WAY_BACK: Final = "Find where answers were lost: the data arrived twice."
_LOST: Final = "Find where data were lost: the acknowledgment at the end covers the last retransmission only."
_STILL_THERE: Final = (
    "Find where packets are lost: a weak wireless link, a link with errors, or a queue that others fill."
)
_LOST_BEFORE: Final = "Find where data were lost: what reached the capture was acknowledged."
_UNANSWERED: Final = (
    "Data arrived next to it, and it answered nothing: see whether it hung, or its firewall dropped them."
)
_ELSEWHERE: Final = (
    "Data arrived next to it, and it answered nothing, though it sent other packets. See whether its answers took "
    "another way, as of a VPN that was switched, or its firewall dropped the data."
)


def stalled(flow: Flow) -> bool:
    """Return whether no acknowledgment of new data for a long time is the news of a flow."""
    # Without empty packets in the capture, an acknowledgment comes with the next data only.
    if flow._counts["data_alone"]:
        return False
    # A sender resends refused packets late, too, and in the size that the router names.
    if path_mtu.most_resent(flow):
        return False
    summary = flow.summary
    stall_ns = summary["longest_stall_ns"]
    if pd.isna(stall_ns):
        # Without an acknowledgment in the capture, only retransmissions that back off show an outage.
        own = flow.rtts[flow.rtts["limit"] == "cwnd"]
        backed_off = summary["limit"] == "cwnd" and longest(own, "detail") == "outage"
        return bool(backed_off) and not farewell.is_end(flow)
    # Of data that were never acknowledged, no round trip shows which retransmissions a timer sent.
    unanswered = summary["retransmits"] and not flow._counts["acked_bytes"]
    if not (summary["timeouts"] or unanswered):
        return False
    # A window of zero is the reader's, and its probes are no retransmissions.
    if rwnd.shut_ns(flow.rtts) >= stall_ns / 2:
        return False
    news = stall_ns >= OUTAGE_SHARE * summary["active_ns"] and stall_ns >= FIRST_TIMEOUT_NS
    return bool(stall_ns >= OUTAGE_NS or news) and not farewell.is_end(flow)


def _has_outage(flow: Flow) -> bool:
    """Return whether nothing at all came back in such a stall, as far as the packets are not gone."""
    # Where timers ran out again and again, losses are the news, and not one of these waits.
    if not stalled(flow) or is_stall_brief(flow):
        return False
    return not (_came_meanwhile(flow) or _only_answer_lost(flow) or _was_held(flow) or _spared_others(flow))


def _spared_others(flow: Flow) -> bool:
    """Return whether the receiver acknowledged data of other connections in a silence after which this one went on.

    The path and its far end were there, and nothing had forgotten the connection: its packets were lost.
    """
    quiet = _span(flow)
    if quiet is None or quiet.to_end or quiet.since_ns is None:
        return False
    return _acknowledged_others(flow, quiet.since_ns, quiet.since_ns + quiet.waited_ns)


def _is_news(flow: Flow) -> bool:
    """Return whether a stall that is no outage is the news of a flow: no window held it for longer in all."""
    summary = flow.summary
    limit = str(summary["limit"])
    held = limit in ("rwnd", "sndbuf") and summary[f"{limit}_share"] > 1 / 2
    stall_ns = summary["longest_stall_ns"]
    brief = pd.notna(stall_ns) and 2 * stall_ns < summary[f"{limit}_share"] * summary["active_ns"]
    return stalled(flow) and not (held and brief)


def _where_lost(flow: Flow) -> str:
    """Return the advice on losses of a path that was there."""
    local = on_one_machine(host(flow.sender), host(flow.receiver))
    return remedies.ON_ONE_MACHINE if local else _STILL_THERE


def _only_late(flow: Flow) -> bool:
    """Return whether a sender sent nothing again in its longest stall, and got its acknowledgments after it."""
    own = _in_stall(flow)
    if flow.summary["vantage"] != "sender" or own.empty:
        return False
    return bool(not own["retransmits"].any() and own["acked_bytes"].iloc[-1] > 0)


def _only_answer_lost(flow: Flow) -> bool:
    """Return whether the longest stall needs no more than one lost acknowledgment: the data had arrived before it.

    In an outage, several packets in a row are lost.
    """
    again = int(flow.summary["retransmits"])
    quiet = silence.of(flow) if 0 < again <= int(flow.summary["spurious_retransmits"]) else None
    return quiet is not None and not quiet.to_end and quiet.retransmits == 1


def _was_held(flow: Flow) -> bool:
    """Return whether the path held data or acknowledgments in the longest silence, and lost none."""
    quiet = _span(flow)
    return quiet is not None and quiet.in_order


def _losses(flow: Flow) -> str:
    waited = units.duration(flow.summary["longest_stall_ns"])
    known = ""
    if _only_answer_lost(flow):
        known = " The data had arrived before: their acknowledgment was lost or late."
    elif _only_late(flow):
        known = " Nothing was sent again in it: packets or their acknowledgments were late, not lost."
    elif _was_held(flow):
        known = " The data had arrived: they, or their acknowledgments, came late."
    elif mostly_needless(flow):
        known = " Most data sent again had arrived: they, or their acknowledgments, came late."
    elif _came_meanwhile(flow):
        known = f" Other acknowledgments show that {host(flow.receiver)} was there."
    elif _spared_others(flow):
        known = f" {host(flow.receiver)} acknowledged data of other connections meanwhile."
    return f"No acknowledgment of new data came for {waited}{_again(flow)}.{known}{_rest(flow)}"


def _again(flow: Flow) -> str:
    """Return a clause on all packets that a flow sent again; empty without any."""
    again = int(flow.summary["retransmits"])
    return f", with {units.number(again, 'packet')} sent again in all" if again else ""


def _rest(flow: Flow) -> str:
    """Return a sentence on the main limit, if that is another than a stall's and held many round trips besides it."""
    limit = str(flow.summary["limit"])
    if limit == "cwnd":
        return ""
    held, waited = (np.count_nonzero(rtts["limit"] == limit) for rtts in (flow.rtts, _in_stall(flow)))
    return f" Otherwise, the main limit was: {STATE_NAMES[limit]}." if held - waited >= _FEWEST_ROUNDS else ""


def _other_times(flow: Flow) -> str:
    """Return a sentence on the other outages of a flow; empty without any."""
    rtts = flow.rtts
    out = (rtts["limit"] == "cwnd") & (rtts["detail"] == "outage")
    own = rtts[out].groupby((~out).cumsum()[out])
    lasted_ns = own["end_ns"].max() - own["start_ns"].min()
    others = int((lasted_ns >= FIRST_TIMEOUT_NS).sum()) - 1
    return f" That happened {units.number(others, 'more time')}." if others > 0 else ""


def _outage(flow: Flow) -> str:
    summary = flow.summary
    if pd.isna(summary["longest_stall_ns"]):
        tries = units.number(int(summary["retransmits"]), "retransmission")
        lasted = units.duration(summary["end_ns"] - summary["start_ns"])
        return f"The capture holds no acknowledgment: {tries} in {lasted} brought none."
    rest = _rest(flow)
    quiet = _span(flow)
    if quiet is None or quiet.since_ns is None:
        waited = units.duration(summary["longest_stall_ns"])
        return f"No acknowledgment of new data came for {waited}{_again(flow)}.{rest}"
    since_ns = quiet.since_ns - flow.capture._contents.begin_ns(quiet.since_ns)
    since = units.duration(since_ns) if since_ns else "the start"
    when = f"for {units.duration(quiet.waited_ns)}, from {since} on{', to the end' if quiet.to_end else ''}"
    nothing = (
        f"Nothing was acknowledged {when}, with {_tries(flow, quiet)}."
        f"{_other_times(flow)}{_last_sign(flow, quiet)}"
    )
    if again := _confirmed_in_vain(flow):
        only = f"of {host(flow.sender)}, only the SYN had arrived"
        return (
            f"{nothing} {host(flow.receiver)} sent its SYN-ACK again, {units.number(again, 'time')}: {only}."
        )
    if _had_arrived(flow, quiet):
        return f"{nothing} The data arrived twice: answers were lost on the way back.{rest}"
    return nothing if quiet.to_end else f"{nothing}{rest}"


def _confirmed_in_vain(flow: Flow) -> int:
    """Return how often a server that acknowledged no data sent its SYN-ACK again after its client had confirmed it."""
    if not flow.is_from_client or flow._counts["acked_bytes"] or flow.summary["vantage"] == "receiver":
        return 0
    return flow.capture._contents.streams.confirmed_in_vain(flow.stream)


def _last_sign(flow: Flow, quiet: Silence) -> str:
    """Return a sentence on the receiver's silence; empty unless it was longer, and data waited for most of it."""
    whole, waited = units.duration(quiet.quiet_ns), units.duration(quiet.waited_ns)
    if whole == waited or not quiet.waited_ns < quiet.quiet_ns <= 2 * quiet.waited_ns:
        return ""
    return f" No packet of this connection came from {both(flow.sender, flow.receiver)[1]} for {whole}."


def _sent_others(flow: Flow, quiet: Silence) -> bool:
    """Return whether other packets of the receiver's host came in a silence, or as long after one to the flow's end.

    Much later packets do not show that the path was there.
    """
    if quiet.since_ns is None:
        return False
    lasting_ns = quiet.waited_ns * (_AFTERWARDS if quiet.to_end else 1)
    return reached_others(flow, quiet.since_ns, quiet.since_ns + lasting_ns)


def reached_others(flow: Flow, since_ns: int, end_ns: int) -> bool:
    """Return whether other packets of the receiver's host came between two times.

    They came by UDP, in a connection within that time that both ends sent in, or as acknowledgments in another one.
    """
    streams = flow.capture._contents.streams

    def within(columns: dict[str, Any]) -> np.ndarray:
        answered = np.repeat((columns["packets"].reshape(-1, 2) > 0).all(axis=1), 2)
        lasted: np.ndarray = (columns["start_ns"] > since_ns) & (columns["end_ns"] < end_ns) & answered
        return lasted

    rows = streams.where(within, "start_ns", "end_ns", "packets")["row"]
    udp = flow.capture.datagrams
    came = udp["start_ns"].between(since_ns, end_ns) | udp["end_ns"].between(since_ns, end_ns)
    senders = [*streams.endpoints(rows), *udp.loc[came, "sender"]]
    return host(flow.receiver) in map(host, senders) or _acknowledged_others(flow, since_ns, end_ns)


def _acknowledged_others(flow: Flow, since_ns: int, end_ns: int) -> bool:
    """Return whether the receiver's host acknowledged data of other connections in a silence; few are looked at."""
    flows = flow.capture.flows
    to_host = flows[(flows["stream"] != flow.stream) & (flows["receiver"].map(host) == host(flow.receiver))]
    return next(acknowledged_within(flow.capture, to_host, since_ns, end_ns), None) is not None


def acknowledged_within(
    capture: Capture, flows: pd.DataFrame, since_ns: int, end_ns: int, least_bytes: int = 1
) -> Iterator[tuple[int, int]]:
    """Yield the streams of flows with so many bytes acknowledged in one round trip in the middle of a time.

    With each comes the number of all bytes acknowledged then. Of the flows that lasted then, those with most bytes are
    looked at.
    """
    lasted = flows[(flows["start_ns"] < end_ns) & (flows["end_ns"] > since_ns)]
    largest = lasted.nlargest(_OTHERS, "payload_bytes")
    margin_ns = (end_ns - since_ns) // _MARGIN
    capture._contents.verdicts.load(largest["stream"].tolist())
    for stream, sender in zip(largest["stream"], largest["sender"], strict=True):
        rtts = capture.flow(stream, sender).rtts
        # A round trip ends with an acknowledgment. At the edges of an outage, some still come.
        acked = rtts.loc[rtts["end_ns"].between(since_ns + margin_ns, end_ns - margin_ns), "acked_bytes"]
        if (acked >= least_bytes).any():
            yield int(stream), int(acked.sum())


def _tries(flow: Flow, quiet: Silence) -> str:
    """Return the number of retransmissions, and how far they came."""
    tries = units.number(quiet.retransmits, "retransmission")
    if not _passed(flow, quiet):
        return f"{tries}, which was acknowledged at once" if _is_lost_before(flow, quiet) else tries
    routers, receiver = _routers(flow), host(flow.receiver)
    if routers == 0 and (missed := _missed(quiet)):
        answered = "none" if missed == quiet.retransmits else "the last only"
        return f"{tries} next to the receiver, which answered {answered}"
    before = (
        f" that reached the capture, {units.number(routers, 'router')} before {receiver}" if routers else ""
    )
    return f"{tries}{before}"


def _span(flow: Flow) -> Silence | None:
    """Return the silence that is the outage; None if acknowledgments came in it, or the packets are gone."""
    if pd.isna(flow.summary["longest_stall_ns"]):
        return None
    quiet = silence.of(flow)
    # Duplicate acknowledgments may go on for a while after the last that acknowledged new data.
    known = quiet is not None and quiet.waited_ns >= SILENT * int(flow.summary["longest_stall_ns"])
    return quiet if known else None


def _came_meanwhile(flow: Flow) -> bool:
    """Return whether packets of the receiver came in the longest stall, or before it a report of all but a hole."""
    known = pd.notna(flow.summary["longest_stall_ns"]) and silence.of(flow) is not None
    return bool(known and _span(flow) is None)


def _is_away(flow: Flow) -> bool:
    """Return whether the capture was taken away from the sender, where it shows losses before it."""
    return flow.summary["vantage"] in ("between", "receiver")


def _passed(flow: Flow, quiet: Silence) -> bool:
    """Return whether retransmissions passed a capture away from the sender, and waited for an answer."""
    return _is_away(flow) and quiet.unanswered_ns >= FIRST_TIMEOUT_NS


def _is_lost_before(flow: Flow, quiet: Silence) -> bool:
    """Return whether nothing reached a capture away from the sender until a retransmission, acknowledged at once."""
    return (
        _is_away(flow) and not quiet.news and quiet.retransmits == 1 and quiet.answered_ns < FIRST_TIMEOUT_NS
    )


def _missed(quiet: Silence) -> int:
    """Return the number of retransmissions without an answer: the last may have brought the one that came."""
    answered = not quiet.to_end and quiet.answered_ns < FIRST_TIMEOUT_NS
    return quiet.retransmits - answered


def _routers(flow: Flow) -> int | None:
    """Return the number of routers between a capture near the receiver and the receiver; None if that is unknown."""
    if flow.summary["vantage"] != "receiver":
        return None
    return hops.routers(flow.capture._contents.streams.counts_of(flow.stream, flow.receiver)["ttl"])


def reset_by_receiver(flow: Flow) -> bool:
    """Return whether a reset of the receiver ended a flow's connection."""
    _, by = flow.capture._contents.streams.ending(flow.stream)
    return by is not None and flow.is_from_client == (by == 1)


def _had_arrived(flow: Flow, quiet: Silence) -> bool:
    """Return whether the receiver reported one of the retransmissions of a silence as a second copy (RFC 2883)."""
    every = quiet.retransmits == int(flow.summary["retransmits"])
    return every and not quiet.to_end and int(flow.summary["spurious_retransmits"]) > 0


def _advice(flow: Flow) -> tuple[str, str]:
    quiet = _span(flow)
    if quiet is None:
        alone = reached_others(flow, int(flow.summary["start_ns"]), int(flow.summary["end_ns"]))
        return places.path(flow), _DROPPED if alone else _GONE
    return (places.path_back(flow), _WAY_BACK) if _had_arrived(flow, quiet) else _lost_advice(flow, quiet)


def _lost_advice(flow: Flow, quiet: Silence) -> tuple[str, str]:
    """Return the advice on a silence whose data may never have arrived."""
    if quiet.to_end and reset_by_receiver(flow):
        return places.receiver(flow), "See why it reset the connection, and why it answered nothing before."
    if _passed(flow, quiet):
        return _behind(flow, quiet)
    if _is_lost_before(flow, quiet):
        return places.path_to_capture(flow), _LOST_BEFORE
    # A path that loses the packets of many hosts drops no connection by itself.
    if near := shared_losses.place(flow):
        return near, _STILL_THERE
    return places.path(flow), _of_path(flow, quiet)


def _of_path(flow: Flow, quiet: Silence) -> str:
    """Return the advice on a silence that the path or its far end may have caused."""
    if on_one_machine(host(flow.sender), host(flow.receiver)):
        return remedies.ON_ONE_MACHINE
    if _confirmed_in_vain(flow):
        return _ONLY_SYN
    if quiet.last_only:
        return _LOST
    return _of_silence(flow, quiet)


def _of_silence(flow: Flow, quiet: Silence) -> str:
    """Return the advice on a silence of one connection or of all: only a lasting one may be a forgotten state."""
    if not _sent_others(flow, quiet):
        return _gone(quiet)
    return _DROPPED if quiet.to_end else _STILL_THERE


def _gone(quiet: Silence) -> str:
    """Return the advice on a path or a far end that was silent to all: it may have come back."""
    return _GONE if quiet.to_end else _AWAY


def _behind(flow: Flow, quiet: Silence) -> tuple[str, str]:
    """Return the advice on retransmissions that passed the capture."""
    if quiet.last_only:
        return places.path_from_capture(flow), _LOST
    if _routers(flow) == 0 and _missed(quiet):
        return places.receiver(flow), _ELSEWHERE if _sent_others(flow, quiet) else _UNANSWERED
    return places.path_from_capture(flow), _of_silence(flow, quiet)


def shown(flow: Flow) -> Shown | None:
    """Return the frames of the rounds in which the longest stall lies."""
    return spanning(flow, _in_stall(flow))


def _in_stall(flow: Flow) -> pd.DataFrame:
    """Return the rounds in which the longest stall lies; none without one."""
    start_ns, lasted_ns = flow._counts["longest_stall_start_ns"], flow.summary["longest_stall_ns"]
    rtts = flow.rtts
    if start_ns is None or pd.isna(lasted_ns):
        return rtts.iloc[:0]
    own: pd.DataFrame = rtts[(rtts["start_ns"] < start_ns + lasted_ns) & (rtts["end_ns"] > start_ns)]
    return own


def _shown(flow: Flow) -> Shown | None:
    quiet = _span(flow)
    if quiet is None or quiet.since_ns is None:
        return None
    return Shown(quiet.first_frame, quiet.last_frame, quiet.since_ns, quiet.since_ns + quiet.waited_ns)


NATURE: Final = Nature("outage", _has_outage, _outage, _advice, _shown)

LOSSES: Final = Nature(
    "loss and timeouts",
    lambda flow: _is_news(flow) and not (mostly_needless(flow) or _only_late(flow) or _was_held(flow)),
    _losses,
    lambda flow: _advice(flow) if _spared_others(flow) else (places.path(flow), _where_lost(flow)),
    lambda flow: _shown(flow) if _spared_others(flow) else shown(flow),
)
"""Such stalls that are no outage."""

LATE: Final = Nature(
    "late acknowledgments and timeouts",
    _is_news,
    _losses,
    lambda flow: (
        places.path_back(flow) if _only_answer_lost(flow) else places.both_ways(flow),
        ALL["cwnd"].causes["needless"].action,
    ),
    shown,
)
"""Such stalls in which most retransmitted data had arrived."""
