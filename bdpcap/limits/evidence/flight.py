"""The flight: the bytes in flight, and how they change from round to round.

A congestion window doubles, grows by a segment a round, or falls after a loss. A full send buffer and a clamped
congestion window keep the flight constant.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.rounds import HALF

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Flight"]

STRETCH: Final = 16
"""Rounds on either side that show whether the flight is constant."""
REGROWTH: Final = 0.6
"""Rounds, as a share of the flight in segments, in which a loss-based window grows back after a loss.

CUBIC falls to 0.7 and its Reno-friendly region adds 0.53 segments a round (RFC 9438 section 4.3): 0.3 / 0.53. Reno falls
to a half and adds one (RFC 5681 section 3.1): 0.5.
"""
EARLY: Final = 3
"""Number of the last round in which the first flight may not have grown yet.

The handshake, a request and delayed acknowledgments come before.
"""
LEAST_DOUBLING: Final = 1.45
"""Growth of the flight from which it is slow start: 1.5 with an ACK for each two segments (RFC 3465), less rounding."""
MOST_DOUBLING: Final = 2.6
"""Growth of the flight up to which it is slow start: 2, and a round's end may fall into the next burst."""
REDUCED: Final = 0.6
"""Flight over the largest so far below which a loss has reduced it. CUBIC falls to 0.7, Reno to 0.5 (RFC 9438)."""
REDUCED_ROUNDS: Final = 64
"""Rounds after a loss in which a reduced flight may be growing back: `REGROWTH` for a flight of a hundred segments."""
EXACT_ROUNDS: Final = 8
"""Rounds with one largest flight to the byte, from which a bound in bytes sets it; fewer may be equal messages."""
INITIAL_WINDOW: Final = 10
"""Segments of the initial window (RFC 6928); a short segment may add one or leave one out."""
WOKEN: Final = 1 / 3
"""Share of the send buffer that is free when Linux wakes its writer (``sk_stream_write_space``)."""
WRITTEN: Final = 2
"""Rounds in which a blocked writer writes again: the next one, or the one after where a loss is repaired first."""


class Flight(Concept):
    """Largest and mean flight of each round, and of the stretch: the round and sixteen on either side."""

    name = "flight"

    @field("bytes")
    def most(self) -> Floats:
        """Largest number of bytes in flight."""
        return self.rounds.in_flight_max_bytes

    @field("packets")
    def segments(self) -> Floats:
        """Largest flight, in segments of one MSS."""
        return self.most / self.all.vantage.mss_bytes

    @field("ratio")
    def growth(self) -> Floats:
        """Largest flight over that of the round before."""
        return self.rounds.ratio(self.most, self.rounds.shifted(self.most, -1, np.nan))

    @field("yes")
    def doubling(self) -> Bools:
        """Is it slow start: a flight of 1.45 to 2.6 times the one before, with less than half of the segments short?"""
        growing = (self.growth >= LEAST_DOUBLING) & (self.growth <= MOST_DOUBLING)
        return growing & ~(self.all.writes.short_share >= HALF)

    @field("yes")
    def opening(self) -> Bools:
        """Is it slow start, or the first data or the first two rounds, with a flight that fills the initial window?"""
        rounds = self.rounds
        sent = rounds.latest(np.where(rounds.sent_bytes > 0, rounds.round, np.nan))
        first = (rounds.round <= 1) | np.isnan(rounds.shifted(sent, -1, np.nan))
        opening: Bools = self.doubling | first & (self.segments >= INITIAL_WINDOW - 1)
        return opening

    @field("yes")
    def second(self) -> Bools:
        """Is it the flight that slow start releases after the initial window: doubling, before any loss?

        Its few acknowledgments may each cover many segments, as those of a host that merges segments do.
        """
        before = self.rounds.shifted(self.segments, -1, np.nan)
        first = (self.rounds.round <= EARLY + 1) & np.isnan(self.all.loss.rounds_since)
        second: Bools = first & self.doubling & (before <= INITIAL_WINDOW + 1)
        return second

    @field("yes")
    def whole(self) -> Bools:
        """Were all of the flow's data in flight at once, with nothing retransmitted?"""
        rounds = self.rounds
        sent, flow = rounds.sent_bytes, rounds.total(rounds.sent_bytes)
        complete = (sent > 0) & (np.fmin(sent, rounds.in_flight_max_bytes) >= flow)
        whole: Bools = complete & (rounds.total(rounds.retransmitted_bytes) == 0)
        return whole

    @field("yes")
    def below_least(self) -> Bools:
        """Was less in flight than the least congestion window, with room in the window and nothing retransmitted?

        The least is two segments (RFC 5681 section 3.1), and one segment within sixteen rounds after a loss.
        """
        after_loss = self.all.loss.recent(STRETCH)
        little = self.segments < np.where(after_loss, 1, 2)
        below: Bools = little & self.all.window.roomy & (self.rounds.retransmitted_bytes == 0)
        return below

    @field("packets")
    def drift(self) -> Floats:
        """Segments per round by which the mean flight changes over sixteen rounds: before or after, the smaller."""
        rounds = self.rounds
        before = rounds.median_around(rounds.in_flight_mean_bytes, STRETCH, 0)
        after, long_before = (rounds.shifted(before, by, np.nan) for by in (STRETCH, -STRETCH))
        change = np.fmin(np.abs(after - before), np.abs(before - long_before))
        drift: Floats = change / self.all.vantage.mss_bytes / STRETCH
        return drift

    @field("ratio")
    def spread(self) -> Floats:
        """Relative difference of a round's mean flight from the median of its stretch; the median over the stretch."""
        rounds = self.rounds
        mean = rounds.in_flight_mean_bytes
        level = rounds.median_around(mean, STRETCH, STRETCH)
        return rounds.median_around(rounds.ratio(np.abs(mean - level), level), STRETCH, STRETCH)

    @field("share")
    def level_share(self) -> Floats:
        """Share of the stretch's rounds with data in flight whose largest flight is the median, within a segment.

        A full buffer shows one largest flight even where RTTs wander, and the mean flight with them.
        """
        rounds = self.rounds
        level = rounds.median_around(self.most, STRETCH, STRETCH)
        flying = self.most > 0
        equal = flying & (np.abs(self.most - level) <= self.all.vantage.mss_bytes)
        return rounds.share_around(equal, flying, STRETCH)

    @cached_property
    def _peaks(self) -> Bools:
        """Whether the largest flight is the median of the stretch, to the byte."""
        level = self.rounds.median_around(self.most, STRETCH, STRETCH)
        peaks: Bools = (self.most > 0) & (self.most == level)
        return peaks

    @field("share")
    def peak_share(self) -> Floats:
        """Share of the stretch's rounds with data in flight whose largest flight is the median, to the byte."""
        return self.rounds.share_around(self._peaks, self.most > 0, STRETCH)

    @field("rounds")
    def run(self) -> Floats:
        """Consecutive rounds with this one whose largest flight is the same, to the byte, and half the window or less.

        0 without data in flight, and where the window is smaller.
        """
        rounds = self.rounds
        counts = (self.most > 0) & self.all.window.roomy
        number = np.cumsum(
            ~counts | (self.most != rounds.shifted(np.where(counts, self.most, np.nan), -1, np.nan))
        )
        return np.where(counts, np.bincount(number)[number].astype(np.float64), 0.0)

    @field("yes")
    def exact(self) -> Bools:
        """Is the largest flight that of eight rounds of the stretch, to the byte, and no whole number of segments?

        A congestion window holds whole segments, and a short one among them would change the flight from round to round.
        """
        again = self.rounds.around(self._peaks.astype(np.float64), STRETCH) >= EXACT_ROUNDS
        exact: Bools = self._peaks & again & (self.most % self.all.vantage.mss_bytes > 0)
        return exact

    @field("yes")
    def regrown(self) -> Bools:
        """Has a loss-based congestion window had time to grow back since the latest loss, or was there no loss?"""
        since = self.all.loss.rounds_since
        return np.isnan(since) | (since > np.maximum(REGROWTH * self.segments, STRETCH))

    @field("yes")
    def reduced(self) -> Bools:
        """Away from the sender: is the flight below 0.6 of its largest so far, after a loss within 64 rounds?

        A send buffer would hold as much as before. A middlebox that merges acknowledgments looks like a blocked writer.
        """
        below = self.most < REDUCED * self.rounds.most_so_far(self.most)
        return below & ~self.all.vantage.at_sender & self.all.loss.recent(REDUCED_ROUNDS)

    @field("yes")
    def refilled(self) -> Bools:
        """Did new data of a third of the largest flight follow, within the two rounds after this one?

        A writer that waits for room writes as soon as a third of its buffer is free. Where a loss holds up the
        acknowledgment, it is repaired a round later. A writer that has written all its data waits for no room.
        """
        rounds = self.rounds
        most = np.fmax.reduce([rounds.shifted(rounds.sent_bytes, by, 0.0) for by in range(1, WRITTEN + 1)])
        refilled: Bools = most >= WOKEN * self.most
        return refilled

    @field("yes")
    def initial(self) -> Bools:
        """Is it a flight of at most ten segments before any loss, in the first four rounds or after idle time?

        Idle time takes the congestion window back to the initial one (RFC 5681 section 4.1). After idle time all segments
        must be full.
        """
        rounds = self.rounds
        after_idle = (rounds.empty_starts > 0) & (rounds.short_segments == 0)
        first = (rounds.round <= EARLY) | after_idle
        small = self.segments < INITIAL_WINDOW + 1
        initial: Bools = first & small & np.isnan(self.all.loss.rounds_since) & self.moved
        return initial

    @field("yes")
    def moved(self) -> Bools:
        """Were data sent or acknowledged?"""
        rounds = self.rounds
        return rounds.sent_bytes + rounds.retransmitted_bytes + rounds.reported_bytes > 0
