"""Loss: what was sent again, what the acknowledgments told of it, and how long ago that was."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Loss"]

DUPLICATE_ACKS: Final = 3
"""RFC 5681 section 3.2."""
RTO_MIN_NS: Final = 2e8
"""Linux ``TCP_RTO_MIN``: no retransmission timer fires sooner."""


class Loss(Concept):
    """Losses, retransmissions and silences that they explain."""

    name = "loss"

    @cached_property
    def signalled(self) -> Bools:
        """Did the sender retransmit, or learn of a loss: three duplicate acknowledgments, or an ECN echo?"""
        rounds = self.rounds
        return (
            (rounds.resent_bytes > 0)
            | (rounds.duplicate_acks >= DUPLICATE_ACKS)
            | (rounds.congestion_echoes > 0)
        )

    @field("rounds")
    def rounds_since(self) -> Floats:
        """Rounds since the newest signal of a loss; unknown before the first."""
        at = np.arange(self.rounds.size, dtype=np.float64)
        last = self.rounds.latest(np.where(self.signalled, at, np.nan))
        return at - last

    @field("yes")
    def none_recent(self) -> Bools:
        """Was no loss signalled in this round or the two before?"""
        return ~self.recent(2)

    def recent(self, rounds: int) -> Bools:
        """Was a loss signalled in this round or so many before?"""
        return self.rounds.near(self.signalled, rounds, 0)

    @field("packets")
    def retransmitted(self) -> Floats:
        """Packets retransmitted in the round."""
        return self.rounds.resent_segments

    @field("yes")
    def outage(self) -> Bools:
        """Away from the sender: was nothing heard for an RTO because all was lost before the tap?

        What follows within three rounds is then mostly retransmitted.
        """
        rounds = self.rounds
        repaired = rounds.near(rounds.shifted(self._retransmitting, 1, False), 0, 2)
        nothing = rounds.sent_bytes + rounds.resent_bytes == 0
        run = np.cumsum(np.diff(nothing, prepend=False) | (np.diff(rounds.flow, prepend=-1) != 0))
        silent = nothing & (np.bincount(run, rounds.duration)[run] >= RTO_MIN_NS)
        silent &= np.bincount(run, self.all.writes.idle)[run] > 0
        # Acknowledgments may come for a while yet: the silence begins a round or two later.
        return repaired & ~self.all.vantage.at_sender & rounds.near(silent, 0, 2)

    @cached_property
    def _retransmitting(self) -> Bools:
        """Was a good part of what was in flight sent again?"""
        part: Bools = self.rounds.resent_bytes > 0.3 * self.rounds.flight_max_bytes
        return part

    @field("yes")
    def timer_fired(self) -> Bools:
        """Did a retransmission timeout fire in this round or one beside it, or does this one repair an outage?"""
        fired = self.rounds.near(self.rounds.timeouts > 0, 1, 1)
        return fired | (self._retransmitting & self.rounds.near(self.outage, 3, 0))
