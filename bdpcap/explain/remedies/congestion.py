"""Advice on losses, on queues and on congestion control: one line for each kind of loss."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap import _core
from bdpcap.explain.capacity import FILLED, sent_a_window
from bdpcap.explain.remedies.remedy import Remedy
from bdpcap.explain.sent_again import of_sent
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.remedies.host import Host

__all__ = [
    "NEARLY_ALL",
    "ON_ONE_MACHINE",
    "Losses",
    "fair_queue",
    "losses",
    "lost_before_capture",
    "may_be_policed",
    "on_losses",
    "repair",
]

_FLAT: Final = 1.25
"""Largest ratio of median to minimum RTT without a standing queue: a quarter, by which ACKs are often delayed."""
_WAITED: Final = 1.5
"""Least ratio of repair time to minimum RTT that shows a queue.

ACKs are often delayed by a quarter of an RTT, and a sender may allow another quarter for reordering (RFC 8985 section
6.2).
"""
_POLICED: Final = 0.05
"""Smallest share of retransmissions in the bytes sent that shows a policer.

Loss of 5 % holds Reno below four segments per RTT (Mathis et al. 1997), so no queue of a link loses that much for long.
"""
_FEWEST: Final = 10
"""Fewest retransmissions that show a device which drops all the time: a choice, as a few are lost by chance anywhere."""
_RISES: Final = 2
"""Least loss share of the faster half of the rounds over that of the slower half, behind a policer.

It drops nothing below its rate, while random loss takes the same share of both. A choice between the two.
"""


_BUNCHED: Final = 0.5
"""Rounds with a loss, of those that independent losses would hit, below which losses came in bunches."""

NEARLY_ALL: Final = 0.9
"""Share of the losses on one side of the capture from which that side is to be mended first; a choice."""

ON_ONE_MACHINE: Final = (
    "No path lies between the ends: see what drops packets on this machine, a filter or an emulator of loss."
)


class Losses(StrEnum):
    """Kind of a flow's losses, by how many there are, how they are spread, and whether a queue stood before them."""

    LOCAL = "local"
    """Both ends are on one machine, so no path lies between them."""
    POLICED = "policed"
    """Many, all the time and more at higher rates, without a queue: something drops what exceeds a rate."""
    OVERFLOW = "overflow"
    """A queue stood: it overflows."""
    WAITED = "waited"
    """Packets waited where they were lost, and the flow did not fill a link: others' queue, or a wireless link."""
    UNSEEN = "unseen"
    """The capture does not show whether packets waited where they were lost."""
    SHALLOW = "shallow"
    """Many were lost at once, and no queue stood: a queue is too short for a burst, or a policer's bucket is."""
    HEAVY = "heavy"
    """Many, without a queue, and of fast rounds no more than of slow ones: errors, or a policer always exceeded."""
    THIN = "thin"
    """Of little data: fewer segments in flight than a sender may send at once fill no queue."""
    SCATTERED = "scattered"
    """One by one, without a queue, and of fast rounds no more than of slow ones: errors on a link."""


def losses(flow: Flow) -> Losses:
    """Return the kind of a flow's losses."""
    summary = flow.summary
    if on_one_machine(host(str(summary["sender"])), host(str(summary["receiver"]))):
        return Losses.LOCAL
    if not sent_a_window(summary):
        return Losses.THIN
    share = of_sent(summary["retransmitted_bytes"], summary["payload_bytes"])
    queued = _queued(flow)
    if queued is None or queued:
        return _of_queue(flow, queued)
    if _are_bunched(flow.rtts["retransmits"]):
        return Losses.SHALLOW
    if share < _POLICED or int(summary["retransmits"]) < _FEWEST:
        return Losses.SCATTERED
    return Losses.POLICED if _rise(flow.rtts) else Losses.HEAVY


def may_be_policed(flow: Flow) -> bool:
    """Return whether losses have a policer among their possible causes.

    Bursts that a policer passes then show a rate far above its own.
    """
    possible = {Losses.SHALLOW, Losses.UNSEEN, Losses.HEAVY}
    return int(flow.summary["retransmits"]) > 0 and losses(flow) in possible


def _of_queue(flow: Flow, queued: bool | None) -> Losses:
    """Return the kind of losses where packets queued, or where that is unknown."""
    if queued is None:
        return Losses.UNSEEN
    filled = flow.summary["link_share"] >= FILLED
    return Losses.OVERFLOW if filled or not _is_round_trip_unseen(flow) else Losses.WAITED


def lost_before_capture(flow: Flow) -> float | None:
    """Return the share of the losses that were before a capture between the ends; None elsewhere, or without losses."""
    again, before = int(flow.summary["retransmits"]), int(flow._counts["lost_before_tap"])
    return before / again if flow.summary["vantage"] == "between" and again else None


def _queued(flow: Flow) -> bool | None:
    """Return whether packets queued where they were lost, for as much of the time as shows a standing queue.

    None where the capture does not show it.
    """
    summary, rtts = flow.summary, flow.rtts
    if _is_round_trip_unseen(flow):
        return _repaired_late(flow)
    if _lost_before(flow):
        # Round trips show the queue behind the capture, too; the clock of the sender shows the one before it alone.
        delays_ns = flow._hidden["forward_delay_p20_ns"]
        before_ns = delays_ns[delays_ns != _core.NULL].median()
        return not _is_flat(flow, summary["rtt_min_ns"] + (0.0 if pd.isna(before_ns) else before_ns))
    full = rtts[rtts["limit"] == "link"]
    queued = summary["link_share"] >= FILLED and not _is_flat(flow, full["rtt_ns"].median())
    return queued or not _is_flat(flow, summary["rtt_median_ns"])


def _lost_before(flow: Flow) -> bool:
    """Return whether nearly all losses were before a capture between the ends."""
    return (lost_before_capture(flow) or 0.0) >= NEARLY_ALL


def _is_round_trip_unseen(flow: Flow) -> bool:
    """Return whether no round trip of data shows the path to the capture: without timestamps, the handshake's stays."""
    return not flow._counts["has_timestamps"] and (
        flow.summary["vantage"] == "receiver" or _lost_before(flow)
    )


def _repaired_late(flow: Flow) -> bool | None:
    """Return whether packets queued before the capture, as the time of repairs shows; None if in doubt."""
    repair_ns, least_ns = repair(flow)
    if repair_ns is None or _FLAT * least_ns < repair_ns < _WAITED * least_ns:
        return None
    return bool(repair_ns > _FLAT * least_ns)


def repair(flow: Flow) -> tuple[int | None, int]:
    """Return the time from the third duplicate ACK to the fast retransmission, None if unknown, and the least one; in ns.

    A sender repairs a reported loss at once (RFC 5681 section 3.2), so that time is a round trip from the capture through
    the queue. Next to the receiver, the least one may be that of the other direction's data: it passes the same path.
    """
    trips_ns = [flow._counts["sender_side_ns"]]
    if flow.summary["vantage"] == "receiver":
        other = flow.capture._contents.streams.counts_of(flow.stream, flow.receiver)
        trips_ns.append(other["rtt_min_ns"])
    return flow._counts["repair_ns"], min((ns for ns in trips_ns if ns), default=0)


def _rise(rtts: pd.DataFrame) -> bool:
    """Return whether fast rounds lose clearly more than slow ones.

    Round trips are flat, so the flight is the rate. The losses of a flight are retransmitted a round later.
    """
    rounds = pd.DataFrame(
        {"flight": rtts["in_flight_max_bytes"], "lost": rtts["retransmits"].shift(-1, fill_value=0)}
    )
    rounds = rounds[rounds["flight"] > 0].sort_values("flight", kind="stable")
    half = len(rounds) // 2
    slow, fast = (
        part["lost"].sum() / max(1, part["flight"].sum()) for part in (rounds[:half], rounds[half:])
    )
    return bool(half and fast >= _RISES * slow)


def _is_flat(flow: Flow, median_ns: float) -> bool:
    """Return whether a median RTT shows no standing queue."""
    least_ns = flow.summary["rtt_min_ns"]
    return bool(pd.notna(least_ns) and pd.notna(median_ns) and median_ns <= _FLAT * least_ns)


def _are_bunched(retransmits: pd.Series[int]) -> bool:
    """Return whether losses hit fewer rounds than independent ones would: a share of 1 - exp(-mean) (Poisson)."""
    hit, mean = int((retransmits > 0).sum()), float(retransmits.mean())
    return hit < _BUNCHED * len(retransmits) * -math.expm1(-mean)


_WORDS: Final = {
    Losses.LOCAL: ON_ONE_MACHINE,
    Losses.POLICED: (
        "Look for a policer: a device on the path drops what exceeds its rate. Shape the sender below that rate, "
        "or buy more. BBR does not help: it sends on in spite of losses, and more is dropped."
    ),
    Losses.OVERFLOW: (
        "Find the queue that overflows: its drop counters show it. A fair queue there (fq_codel, CAKE) keeps round "
        "trips short."
    ),
    Losses.WAITED: (
        "Find where packets wait and are lost: a buffer that overflows, or a weak wireless link. Retransmissions of "
        "reported losses took far longer than the shortest round trip."
    ),
    Losses.UNSEEN: (
        "Find where packets are lost: a buffer that overflows, a policer, or a weak wireless link. The capture does not "
        "show whether lost packets had waited."
    ),
    Losses.SHALLOW: (
        "See in drop counters whether a policer drops, or a buffer too short for bursts. Pacing at the sender (fq) "
        "shortens bursts."
    ),
    Losses.HEAVY: (
        "Find what drops so many packets: a policer, a buffer too short for bursts, or a link with errors. "
        "Drop counters on the path show it, and so does a transfer by another path."
    ),
    Losses.THIN: (
        "Find what drops or holds packets: a weak wireless link, a link with errors, or a queue that others fill. "
        "So little data fill none."
    ),
    Losses.SCATTERED: (
        "Find where packets are lost: counters of errors and drops on the interfaces of the path. Random loss slows "
        "CUBIC and Reno most."
    ),
}


def on_losses(kind: Losses, sender: Host) -> Remedy:
    """Return advice on losses: what to look for, and at most one command, for the sender."""
    return Remedy(_WORDS[kind], sender.linux(_BBR) if kind is Losses.SCATTERED else ())


_NAME: Final = "net.ipv4.tcp_congestion_control"
_BBR: Final = (
    f"[ $(sysctl -n {_NAME}) = bbr ] || sysctl -w {_NAME}=bbr   "
    "# sender: only where losses stay, since BBR slows less for them"
)

_SHAPERS: Final = "tbf|htb|hfsc|cake|netem"
"""Queueing disciplines that limit the rate or emulate a path: replacing one would remove the limit (tc(8))."""


def fair_queue(*hosts: Host) -> tuple[str, ...]:
    """Return the commands for a fair queue at the bottleneck; none where that is on the Internet."""
    if not all(host.ours for host in hosts):
        return ()
    show = "tc qdisc show dev eth0"
    return (
        f"{show}   # bottleneck, on its outgoing interface: a shaper takes fq_codel below it",
        f"{show} root | grep -qE '{_SHAPERS}' || tc qdisc replace dev eth0 root fq_codel   # bottleneck: no shaper there",
    )
