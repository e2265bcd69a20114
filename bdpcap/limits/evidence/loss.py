"""Loss: retransmissions, signs of a loss in the acknowledgments, and the rounds since then."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Loss"]

DUPLICATE_ACKS: Final = 3
"""Duplicate acknowledgments that signal a loss (RFC 5681 section 3.2)."""
BACKOFF_SILENCE: Final = 0.25
"""Least share of a round that its longest silence takes if the timer backs off for most of the round.

The timeout doubles each time (RFC 6298 section 5.5). So the last wait is about half of all waits, and the one before a
quarter; the last may be cut short by the end of the capture.
"""
RTO_MIN_NS: Final = 2e8
"""Minimum retransmission timeout of Linux (``TCP_RTO_MIN``)."""
REPAIR: Final = 2
"""Rounds after duplicate acknowledgments within which a lost segment is retransmitted; from afar, a round later."""

RESENT: Final = 0.3
"""Share of the flight that a sender retransmits after an outage at least; single losses are fewer."""
SEVERAL: Final = 2
"""Segments retransmitted after an outage at least: one alone is a single loss, whatever its share of the flight."""
AFTER_OUTAGE: Final = 3
"""Rounds in which retransmissions after an outage may go on: slow start from one segment (RFC 5681 section 3.1)."""


class Loss(Concept):
    """Losses, retransmissions, and silences that losses explain."""

    name = "loss"

    @cached_property
    def signalled(self) -> Bools:
        """Did the sender retransmit, or receive an ECN echo, or three duplicate acknowledgments before a retransmission?

        Reordered segments cause duplicate acknowledgments, too. Without a retransmission soon after, nothing was lost.
        """
        rounds = self.rounds
        return (
            ((rounds.retransmitted_bytes > 0) & ~self._probed)
            | (rounds.duplicate_acks >= DUPLICATE_ACKS)
            & rounds.near(rounds.retransmitted_bytes > 0, 0, REPAIR)
            | (rounds.congestion_echoes > 0)
        )

    @cached_property
    def _probed(self) -> Bools:
        """Was one segment sent again that had arrived, just before a turn, or the end of all data?

        A tail loss probe goes out only where no new data wait (RFC 8985 section 7.2): the congestion window holds none.
        """
        rounds = self.rounds
        writes = self.all.writes
        ran_out = rounds.near(writes.peers_turn | writes.answering | writes.parting | writes.over, 0, 2)
        return self.all.vantage.needless & (rounds.retransmitted_segments <= 1) & ran_out

    @field("rounds")
    def rounds_since(self) -> Floats:
        """Rounds since the latest signal of a loss; unknown before the first."""
        at = np.arange(self.rounds.size, dtype=np.float64)
        last = self.rounds.latest(np.where(self.signalled, at, np.nan))
        return at - last

    @field("yes")
    def none_recent(self) -> Bools:
        """Was no loss signalled in this round or the two before?"""
        return ~self.recent(2)

    def recent(self, rounds: int) -> Bools:
        """Return whether a loss was signalled in this round or in the `rounds` before it."""
        return self.rounds.near(self.signalled, rounds, 0)

    @field("packets")
    def retransmitted(self) -> Floats:
        """Packets retransmitted in the round."""
        return self.rounds.retransmitted_segments

    @field("yes")
    def outage(self) -> Bools:
        """Did nothing get through: did the timer back off, or, away from the sender, did no data come for an RTO?

        All data may be lost before the capture. That silence outlasts a round trip by 200 ms or more, and begins within
        two rounds. It ends with a round that retransmits, as a timer does before any new data. One of the next three
        rounds retransmits more than 0.3 of the flight.
        """
        rounds = self.rounds
        repaired = rounds.near(rounds.shifted(self._retransmitting, 1, False), 0, 2)
        nothing = rounds.sent_bytes + rounds.retransmitted_bytes == 0
        run = np.cumsum(np.diff(nothing, prepend=False) | (np.diff(rounds.flow, prepend=-1) != 0))
        # The timer is the smoothed RTT and four times its variation (RFC 6298 section 2.3), or RTO_MIN_NS for these.
        timer_ns = RTO_MIN_NS + np.nan_to_num(self.all.queue.rtt_min_ns)
        # No data can be lost before the handshake is complete.
        open_ns = rounds.duration - self.all.writes.handshake_ns
        silent = nothing & (np.bincount(run, open_ns)[run] >= timer_ns)
        silent &= np.bincount(run, self.all.writes.idle)[run] > 0
        # Data that were first sent after the silence were not lost in it.
        older = (rounds.retransmitted_bytes > 0) & (rounds.in_flight_max_bytes > rounds.sent_bytes)
        silent &= np.bincount(run, nothing & rounds.shifted(older, 1, False))[run] > 0
        # Acknowledgments may still arrive for a while, so the silence may begin a round or two later.
        dark: Bools = repaired & ~self.all.vantage.at_sender & rounds.near(silent, 0, 2)
        return dark | self.timer_backed_off

    @field("yes")
    def timer_backed_off(self) -> Bools:
        """Did the retransmission timer fire again and again, for most of the round?

        A second timeout shows that the first retransmission was not acknowledged either, wherever the capture was taken.
        A timer at its maximum fires often, so a round in which nothing was acknowledged needs no long silence.
        """
        rounds = self.rounds
        long = (self.all.queue.silent >= BACKOFF_SILENCE) | (rounds.acked_bytes == 0)
        backed_off: Bools = (rounds.timeouts >= 2) & long
        return backed_off

    @cached_property
    def _retransmitting(self) -> Bools:
        """Did the sender retransmit more than 0.3 of the largest flight, in two segments or more?"""
        rounds = self.rounds
        part: Bools = (rounds.retransmitted_bytes > RESENT * rounds.in_flight_max_bytes) & (
            rounds.retransmitted_segments >= SEVERAL
        )
        return part

    @field("yes")
    def timer_fired(self) -> Bools:
        """Did a retransmission timeout fire in this round or an adjacent one, or does this round follow an outage?"""
        fired = self.rounds.near(self.rounds.timeouts > 0, 1, 1)
        return fired | (self._retransmitting & self.rounds.near(self.outage, AFTER_OUTAGE, 0))
