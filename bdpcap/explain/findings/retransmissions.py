"""Findings on retransmissions: the time spent waiting for timers, and spurious retransmissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import remedies
from bdpcap.explain.findings.finding import Code, Finding
from bdpcap.explain.solver import Exactness
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["explains"]

_NOTABLE_WAIT: Final = 0.01
"""Smallest share of a flow's life spent waiting for timers that is reported."""

_NOTABLE_SPURIOUS: Final = 0.1
"""Smallest share of spurious retransmissions that is reported."""

_FEWEST_SPURIOUS: Final = 2
"""Smallest number of spurious retransmissions that is reported.

A tail loss probe without loss causes one duplicate (RFC 8985 section 7.4).
"""


def explains(flow: Flow) -> list[Finding]:
    """Return findings on the time spent waiting for timers, and on retransmissions of data that had already arrived."""
    return [told for told in (_timeouts(flow), _spurious(flow)) if told is not None]


def _timeouts(flow: Flow) -> Finding | None:
    counted = flow.summary
    timed = int(counted["timeout_retransmits"] + counted["tail_loss_probes"])
    wait_ns = int(counted["timeout_wait_ns"])
    life_ns = max(1, int(counted["end_ns"] - counted["start_ns"]))
    # Data that had already arrived was no loss for a timer to detect.
    if timed <= int(counted["spurious_retransmits"]) or wait_ns < _NOTABLE_WAIT * life_ns:
        return None
    total = int(counted["retransmits"])
    sender = remedies.of(flow, "sender")
    return Finding(
        code=Code.TIMEOUTS,
        sentence=f"Timers caused {timed:,} of {units.number(total, 'retransmission')}. The sender waited "
        f"{units.duration(wait_ns)} for them, {units.share(wait_ns / life_ns)} of the time.",
        cause="Too few acknowledgments came to report the loss: all in flight was lost, or the last of it, "
        "or the acknowledgments were.",
        remedy="Find the outages or the queue that drops whole flights. Turn SACK and tail loss probes on at both ends.",
        commands=sender.linux(
            "sysctl net.ipv4.tcp_sack   # sender: 1 is on",
            "sysctl net.ipv4.tcp_early_retrans   # sender: 3 is usual",
        ),
        evidence=f"{units.number(int(counted['timeouts']), 'timeout')}, "
        f"{units.number(int(counted['tail_loss_probes']), 'tail loss probe')}, "
        f"{units.number(int(counted['fast_retransmits']), 'fast retransmission')}",
        values={
            "retransmits": total,
            "timeouts": int(counted["timeouts"]),
            "timeout_retransmits": int(counted["timeout_retransmits"]),
            "tail_loss_probes": int(counted["tail_loss_probes"]),
            "timeout_wait_ns": wait_ns,
        },
        source="RFC 6298 section 5; RFC 8985 section 7",
    )


def _spurious(flow: Flow) -> Finding | None:
    counted = flow.summary
    needless, total = int(counted["spurious_retransmits"]), int(counted["retransmits"])
    if needless < max(_FEWEST_SPURIOUS, _NOTABLE_SPURIOUS * total):
        return None
    reordered = int(counted["reordered"])
    return Finding(
        code=Code.SPURIOUS_RETRANSMISSIONS,
        sentence=f"Of {units.number(total, 'retransmission')}, {needless:,} had already arrived.",
        cause=f"The path reorders packets: {reordered:,} arrived out of order."
        if reordered
        else "Packets or acknowledgments came later than the sender's timers allow, or acknowledgments were lost.",
        remedy="Look for reordering on the path (links in parallel), and for delay that jumps.",
        commands=remedies.of(flow, "sender").linux(
            "nstat -az TcpExtTCPDSACKRecv TcpExtTCPSpuriousRTOs   # sender"
        ),
        evidence="duplicates that the receiver reported (D-SACK), or old timestamps that it echoed",
        values={"retransmits": total, "spurious_retransmits": needless, "reordered": reordered},
        exactness=Exactness.EXACT,
        source="RFC 2883; RFC 3522",
    )
