"""Retransmissions of a flow or a stream: their share of all that was sent, and whether most of it had already arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.explain.once import once
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = [
    "FEWEST",
    "NOTED_SHARE",
    "SentAgain",
    "clause",
    "lost",
    "mostly_needless",
    "needed",
    "of_flow",
    "of_sent",
    "resent_share",
    "sent_again",
]

NOTED_SHARE: Final = 0.05
"""Share of retransmissions from which on a path is to be looked at; a choice: sound paths lose less."""
FULL: Final = 1.15
"""Most times that a flow's packets, were they full segments, carry its bytes where nearly all of them carry data."""
MOSTLY: Final = 0.75
"""Share of packets sent again that had arrived from which on delay, and not loss, held a sender.

A choice: packets lost at the end of a flight are waited for, too, and do not show as sent again after them.
"""
FEWEST: Final = 3
"""Fewest packets sent again that say something about a path: one or two may be probes of a tail."""


@dataclass(frozen=True, slots=True)
class SentAgain:
    """Packets of both directions of a stream that were sent again."""

    share: float
    """Share of their payload in all payload that was sent."""
    arrived: bool
    """Whether the first copies of most of them had arrived: then nothing was lost, but delayed."""
    overtaken: bool
    """Whether most were sent for reports of packets that had overtaken them, and not by a timer."""


def of_sent(retransmitted_bytes: float, payload_bytes: float) -> float:
    """Return the share of retransmissions in the payload that was sent, 0 to 1; `payload_bytes` counts a byte once.

    Acknowledgments, which are never retransmitted, do not count, and a packet of several segments counts as they do.
    """
    return retransmitted_bytes / max(1, payload_bytes + retransmitted_bytes)


def needed(flow: Flow) -> int:
    """Return how many retransmissions of a flow had a need, as far as the receiver's reports show it."""
    return int(flow.summary["retransmits"]) - int(flow.summary["spurious_retransmits"])


def lost(flow: Flow) -> bool:
    """Return whether any data were lost: data that had arrived when they were sent again were not."""
    summary = flow.summary
    return bool(summary["retransmitted_bytes"] and summary["spurious_retransmits"] < summary["retransmits"])


def mostly_needless(flow: Flow) -> bool:
    """Return whether most packets that were sent again had arrived: the path held them, or their acknowledgments."""
    summary = flow.summary
    return bool(0 < MOSTLY * summary["retransmits"] <= summary["spurious_retransmits"])


def resent_share(flow: Flow) -> float | None:
    """Return the share of retransmissions in what a flow sent; None if they were few, or had no need."""
    summary = flow.summary
    share = of_sent(summary["retransmitted_bytes"], summary["payload_bytes"])
    return None if share < NOTED_SHARE or needed(flow) < FEWEST else share


def clause(share: float, sent: str = "sent") -> str:
    """Return the share of retransmissions in words."""
    return f"{units.percent(share)} of the bytes {sent} were retransmissions"


def of_flow(flow: Flow) -> str:
    """Return the share of a flow's retransmissions in words, and their packets where these say the same."""
    summary = flow.summary
    again, payload = int(summary["retransmitted_bytes"]), int(summary["payload_bytes"])
    said, packets, mss = clause(of_sent(again, payload)), int(summary["packets"]), int(summary["mss_bytes"])
    # Packets of several segments count as one, but are retransmitted segment by segment. Of a flow that carries little,
    # many packets are acknowledgments.
    if packets * mss > FULL * (again + payload) or flow._counts["largest_bytes"] > mss:
        return said
    sent = packets + int(flow._counts["lost_before_tap"])
    return f"{said} ({units.count(summary['retransmits'])} of {units.count(sent)} packets)"


@once
def sent_again(flow: Flow) -> SentAgain | None:
    """Return what was sent again of a flow's stream, in both directions; None below `NOTED_SHARE` or `FEWEST`."""
    sides = flow.capture._contents.streams.sides(flow.stream)
    again, packets, needless, fast, again_bytes, payload_bytes = (
        int(sum(sides[name]))
        for name in (
            "retransmits",
            "packets",
            "spurious_retransmits",
            "fast_retransmits",
            "retransmitted_bytes",
            "payload_bytes",
        )
    )
    if again < max(FEWEST, NOTED_SHARE * packets):
        return None
    return SentAgain(of_sent(again_bytes, payload_bytes), needless >= MOSTLY * again, 2 * fast > again)
