"""Packets of a stream that were sent again: their share, and whether most of them had already arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.explain.once import once

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["FEWEST", "NOTED_SHARE", "SentAgain", "sent_again"]

NOTED_SHARE: Final = 0.05
"""Share of a stream's packets sent again from which on its path is to be looked at; a choice: sound paths lose less."""
FEWEST: Final = 3
"""Fewest packets sent again that say something about a path: one or two may be probes of a tail."""


@dataclass(frozen=True, slots=True)
class SentAgain:
    """Packets of both directions of a stream that were sent again."""

    share: float
    """Their share of all packets."""
    arrived: bool
    """Whether the first copies of most of them had arrived: then nothing was lost, but delayed."""


@once
def sent_again(flow: Flow) -> SentAgain | None:
    """Return what was sent again of a flow's stream, in both directions; None below `NOTED_SHARE` or `FEWEST`."""
    sides = flow.capture._contents.streams.sides(flow.stream)
    again, packets, needless = (
        int(sum(sides[name])) for name in ("retransmits", "packets", "spurious_retransmits")
    )
    if again < max(FEWEST, NOTED_SHARE * packets):
        return None
    return SentAgain(again / packets, 2 * needless > again)
