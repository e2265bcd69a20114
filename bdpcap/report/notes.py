"""Notes below a flow's verdict: a proxy, delay, stalls, probes, losses, marks, paths, the first byte."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.diagnosis import silence
from bdpcap.diagnosis.findings import found
from bdpcap.diagnosis.kinds import rwnd
from bdpcap.diagnosis.natures import (
    ABORTED,
    BLACK_HOLE,
    DISOWNED,
    FAREWELL,
    LATE,
    LOSSES,
    MUTUAL,
    NO_TCP,
    OUTAGE,
    TIMER,
    aborted,
    farewell,
    nature,
)
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain import congestion_marks, first_answer, shared_mss
from bdpcap.explain.findings import Code, path_mtu, requests
from bdpcap.explain.findings.handshake import has_default_size
from bdpcap.explain.notable import NOTABLE_SHARE, NOTICED_NS
from bdpcap.explain.sent_again import lost, needed, of_flow, of_sent, resent_share
from bdpcap.read import hops
from bdpcap.report.part import part
from bdpcap.words import units
from bdpcap.words.endpoints import host, is_public, network

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow

__all__ = ["notes"]

NOTABLE: Final = 0.01
"""Share of overtaken packets from which reordering is worth a line (the ratio of RFC 4737 section 4.1)."""
FEWEST_OVERTAKEN: Final = 3
"""Overtaken packets from which they show a path: TCP, too, takes one or two for no sign (RFC 5681 section 3.2)."""
STALL_SHARE: Final = 0.05
"""Share of the active time from which a stall is worth a line."""
TRIPS: Final = 2
"""Round trips within which an acknowledgment comes, delayed or not, if nothing stalls; a choice."""
LOCAL_NS: Final = 10_000_000
"""Round trip that a network without routers seldom exceeds at its least, Wi-Fi included; a choice."""
FEWEST_LOST: Final = 10
"""Fewest packets sent again, `NOTABLE` of all or more, that are worth a line under another main limit; a choice."""
MOST: Final = 2
"""Most notes on one flow."""


def notes(flow: Flow) -> list[str]:
    """Return sentences on a flow that its verdict leaves out, gravest first; at most `MOST`."""
    said = (part("a note", partial(one, flow), lambda _: "") for one in _NOTES)
    return [sentence for sentence in said if sentence][:MOST]


def _too_big(flow: Flow) -> str:
    """Return the sentence on packets too big for the path with its remedy; empty without them, or if told."""
    finding = found(flow).of(Code.PATH_MTU)
    return (
        ""
        if finding is None or finding.remedy == remedy(flow).words
        else f"{finding.sentence} {path_mtu.AVOIDED}"
    )


def _stall(flow: Flow) -> str:
    """Return a sentence on the longest stall; empty if it is short, or the verdict has it."""
    summary = flow.summary
    stall_ns = summary["longest_stall_ns"]
    told = (
        nature(flow) in (BLACK_HOLE, DISOWNED, OUTAGE, LOSSES, LATE, FAREWELL, NO_TCP)
        or pd.isna(stall_ns)
        or bool(flow._counts["acknowledgments_missing"])
    )
    if told or stall_ns < max(NOTICED_NS, STALL_SHARE * summary["active_ns"]):
        return ""
    # A timer of a second runs out in such a wait (RFC 6298 section 2.4): the capture lacks the acknowledgment.
    if not summary["retransmits"]:
        return ""
    # The end of a connection that was closed is no news of it.
    if stall_ns < TRIPS * _least_trip_ns(flow) or farewell.is_end(flow):
        return ""
    return f"The longest wait for an acknowledgment of new data took {units.duration(stall_ns)}."


def _least_trip_ns(flow: Flow) -> int:
    """Return the least round trip of a flow between its ends, 0 if it is unknown."""
    least_ns = flow.summary["rtt_min_ns"]
    return 0 if flow._counts["sender_side_ns"] is None or pd.isna(least_ns) else int(least_ns)


def _stand_in(flow: Flow) -> str:
    """Return a sentence on a host of the Internet that seems one router away, where the advice is to act on it.

    Others are several routers away, so a proxy or a firewall answers in its place.
    """
    sides = flow.capture._contents.streams.sides(flow.stream)
    passed = {end: hops.routers(int(ttl)) for end, ttl in zip(sides["sender"], sides["ttl"], strict=True)}
    for end, other in ((flow.receiver, flow.sender), (flow.sender, flow.receiver)):
        near = (passed[end], passed[other]) == (1, 0) and flow.summary["vantage"] != "between"
        apart = is_public(host(end)) and network(host(end)) != network(host(other))
        if near and apart and host(end) in remedy(flow).where:
            return f"By its TTL, {host(end)} is one router away: a proxy may answer in its place."
    return ""


def _delay(flow: Flow) -> str:
    """Return a sentence on the delay of a path without routers, which is no distance.

    It is empty for any other path, and where round trips neither took most of the time of requests nor are noticed.
    """
    sides = flow.capture._contents.streams.sides(flow.stream)
    one, other = (network(host(end)) for end in (flow.sender, flow.receiver))
    near = one == other and np.isin(sides["ttl"], hops.INITIAL_TTLS).all()
    trip_ns = _least_trip_ns(flow)
    if not near or trip_ns < LOCAL_NS:
        return ""
    shares = requests.limited(flow)
    if trip_ns < NOTICED_NS and (shares is None or next(iter(shares.parts)) != "network"):
        return ""
    return (
        f"Packets passed no router, yet a round trip takes at least {units.duration(trip_ns)}: a set delay "
        "(tc netem), a tunnel, or a radio link."
    )


def _probes(flow: Flow) -> str:
    """Return a sentence on the zero-window probes of a flow; empty without any, or if its packets are gone."""
    if not rwnd.shut(flow.rtts).any():
        return ""
    quiet = silence.of(flow)
    if quiet is None or not quiet.probes:
        return ""
    return f"The sender asked {units.number(quiet.probes, 'time')} whether the window was open again."


def _sentence(code: Code, flow: Flow) -> str:
    """Return the sentence of a finding; empty if the flow does not have it."""
    finding = found(flow).of(code)
    return "" if finding is None else finding.sentence


def _cut(flow: Flow) -> str:
    """Return a sentence on a reset of the receiver in the middle of data; empty without one, or if the verdict has it."""
    told = not aborted.is_reset(flow) or nature(flow) in (ABORTED, DISOWNED)
    return "" if told else aborted.WORDS.format(host(flow.receiver))


def _default_size(flow: Flow) -> str:
    """Return the sentence on full segments of the size for senders without an MSS option; empty for any other.

    One sentence on the capture has a size that a device sets for all servers.
    """
    told = shared_mss.explains(flow) or not has_default_size(flow)
    return "" if told else _sentence(Code.SEGMENT_SIZE, flow)


def _reordering(flow: Flow) -> str:
    """Return a sentence on overtaken packets, and on retransmissions of data that had arrived."""
    summary = flow.summary
    overtaken, packets = int(summary["reordered"]), int(summary["packets"])
    share = overtaken / max(1, packets)
    if overtaken < FEWEST_OVERTAKEN or not NOTABLE <= share <= 1:
        return ""
    needless = int(summary["spurious_retransmits"])
    repeated = f"; {units.number(needless, 'retransmission')} had no need" if needless else ""
    share_of = f"{units.count(overtaken)} of {units.count(packets)} packets ({units.percent(share)})"
    return f"{share_of} arrived out of order{repeated}."


def _sent_again(flow: Flow) -> str:
    """Return a sentence on the bytes that were retransmitted; empty if they were few, or the verdict has them."""
    share, summary = resent_share(flow), flow.summary
    if nature(flow) is not None or summary["limit"] == "cwnd":
        return ""
    if share is None:
        lost = of_sent(summary["retransmitted_bytes"], summary["payload_bytes"])
        return f"{of_flow(flow)}." if lost >= NOTABLE and needed(flow) >= FEWEST_LOST else ""
    # No later segment shows the loss of a whole flight.
    unseen = summary["limit"] == "app" and 2 * flow._counts["lost_before_tap"] > needed(flow)
    hides = unseen and share >= NOTABLE_SHARE
    return f"{of_flow(flow)}.{' Flights lost before the capture look like pauses of the program.' if hides else ''}"


def _marks(flow: Flow) -> str:
    """Return the sentence on congestion marks; empty without them, or if the verdict has them."""
    told = flow.summary["limit"] == "cwnd" and not lost(flow)
    return "" if told else congestion_marks.sentence(flow)


def _first_byte(flow: Flow) -> str:
    """Return a sentence on the time from a first request to its answer's first byte; empty if nobody notices it."""
    waited_ns = first_answer.waited_ns(flow)
    if waited_ns < NOTICED_NS or nature(flow) in (*MUTUAL, TIMER, NO_TCP):
        return ""
    which = "the end of these data" if flow.is_from_client else "its request"
    answer = "an" if flow.is_from_client else "the first"
    return f"The first byte of {answer} answer came {units.duration(waited_ns)} after {which}."


_NOTES: Final[tuple[Callable[[Flow], str], ...]] = (
    _cut,
    partial(_sentence, Code.PROXY),
    _stand_in,
    _delay,
    _too_big,
    _stall,
    _probes,
    _marks,
    _sent_again,
    _default_size,
    partial(_sentence, Code.PATH_CHANGED),
    _reordering,
    _first_byte,
)
"""Functions that return one note, gravest first."""
