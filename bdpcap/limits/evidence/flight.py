"""The flight: how much was in flight, and how it moves from round to round.

A congestion window moves: it doubles, or grows by a segment a round, or falls after a loss. A buffer and a clamp stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Flight"]

STRETCH: Final = 16
"""Rounds on either side that show whether a flight stands."""
REGROWTH: Final = 0.6
"""Rounds, as a share of the flight in segments, in which a loss-based window regains what a loss took.

CUBIC falls to 0.7 and its Reno-friendly region adds 0.53 segments a round (RFC 9438 section 4.3): 0.3 / 0.53. Reno falls
to a half and adds one (RFC 5681 section 3.1): 0.5.
"""
EARLY: Final = 3
"""Rounds in which a first flight may stand before it grows: the handshake, a request, delayed acknowledgments."""
INITIAL_WINDOW: Final = 10
"""Segments of a first flight (RFC 6928); one more or less may be short."""


class Flight(Concept):
    """Largest and mean flight of each round, and of the stretch around it."""

    name = "flight"

    @field("bytes")
    def most(self) -> Floats:
        """Most bytes in flight."""
        return self.rounds.flight_max_bytes

    @field("packets")
    def segments(self) -> Floats:
        """Most in flight, in segments."""
        return self.most / self.all.vantage.mss_bytes

    @field("ratio")
    def growth(self) -> Floats:
        """Most in flight, over that of the round before."""
        return self.rounds.ratio(self.most, self.rounds.shifted(self.most, -1, np.nan))

    @field("yes")
    def doubling(self) -> Bools:
        """Does the flight grow by half or more from one round to the next, in full segments: slow start?"""
        growing = (self.growth >= 1.45) & (self.growth <= 2.6)
        return growing & ~(self.all.writes.short_share >= 0.5)

    @field("yes")
    def opening(self) -> Bools:
        """Is it slow start, or a first flight that fills the initial window?"""
        first = (self.rounds.round <= 1) & (self.segments >= INITIAL_WINDOW - 1)
        return self.doubling | first

    @field("yes")
    def below_least(self) -> Bools:
        """Was less in flight than any sender may send, with room in the window and nothing retransmitted?

        Two segments are the least initial window (RFC 5681 section 3.1), and one the least after a loss.
        """
        hurt = self.all.loss.recent(STRETCH)
        little = self.segments < np.where(hurt, 1, 2)
        below: Bools = little & self.all.window.roomy & (self.rounds.resent_bytes == 0)
        return below

    @field("packets")
    def drift(self) -> Floats:
        """By how many segments a round the mean flight rises or falls over a stretch: before or after, the lesser."""
        rounds = self.rounds
        before = rounds.median_around(rounds.flight_mean_bytes, STRETCH, 0)
        after, long_before = (rounds.shifted(before, by, np.nan) for by in (STRETCH, -STRETCH))
        change = np.fmin(np.abs(after - before), np.abs(before - long_before))
        drift: Floats = change / self.all.vantage.mss_bytes / STRETCH
        return drift

    @field("ratio")
    def spread(self) -> Floats:
        """How far a round's mean flight is from the median of the stretch, as a share of it: the median of that."""
        rounds = self.rounds
        mean = rounds.flight_mean_bytes
        level = rounds.median_around(mean, STRETCH, STRETCH)
        return rounds.median_around(rounds.ratio(np.abs(mean - level), level), STRETCH, STRETCH)

    @field("yes")
    def regrown(self) -> Bools:
        """Is the newest loss so long ago that a loss-based congestion window would have grown since?"""
        since = self.all.loss.rounds_since
        return np.isnan(since) | (since > np.maximum(REGROWTH * self.segments, STRETCH))

    @field("yes")
    def reduced(self) -> Bools:
        """Away from the sender: is much less in flight than before, since a loss not long ago?

        A buffer would hold as much as ever; a middlebox that merges acknowledgments looks like a blocked writer.
        """
        below = self.most < 0.6 * self.rounds.most_so_far(self.most)
        return below & ~self.all.vantage.at_sender & self.all.loss.recent(4 * STRETCH)

    @field("yes")
    def initial(self) -> Bools:
        """Is it a first flight of at most ten segments, before any loss: of the connection, or in full after idle time?

        Idle time takes the congestion window back to the initial one (RFC 5681 section 4.1).
        """
        rounds = self.rounds
        again = (rounds.fresh_starts > 0) & (rounds.small_segments == 0)
        first = (rounds.round <= EARLY) | again
        small = self.segments < INITIAL_WINDOW + 1
        initial: Bools = first & small & np.isnan(self.all.loss.rounds_since) & self.moved
        return initial

    @field("yes")
    def moved(self) -> Bools:
        """Were data sent or acknowledged?"""
        rounds = self.rounds
        return rounds.sent_bytes + rounds.resent_bytes + rounds.acked_bytes > 0
