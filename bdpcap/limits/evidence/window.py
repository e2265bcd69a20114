"""The receiver's window: was there room in it to send more?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Window"]

STALL: Final = 0.02
"""Share of a round with less than a segment usable that makes a full window a fact and no rounding."""


class Window(Concept):
    """Window and usable window, as the sender knew them."""

    name = "window"

    @field("share")
    def full_share(self) -> Floats:
        """Share of the round with less than a segment, or less than an eighth of the window, left to send.

        Counted only where less than one segment was left for 2 % of this round or one beside it. Linux counts itself
        limited as soon as the next segmentation-offload chunk does not fit (``tcp_tso_should_defer``), which the eighth
        stands for. Away from the sender, merged acknowledgments hide how long: to have reached the edge suffices.
        """
        rounds = self.rounds
        stalled = rounds.near((rounds.share(rounds.stalled_ns) > STALL) | self._at_edge, 1, 1)
        return np.where(stalled, rounds.share(rounds.tight_ns), 0.0)

    @property
    def _at_edge(self) -> Bools:
        """From afar: did less than a segment remain usable, outside slow start?"""
        edge: Bools = (
            ~self.all.vantage.at_sender
            & (self.rounds.usable_min_bytes < self.all.vantage.mss_bytes)
            & ~self.all.flight.doubling
        )
        return edge

    @field("share")
    def closed_share(self) -> Floats:
        """Share of the round with a window of zero, or too small to be used."""
        return self.rounds.share(self.rounds.zero_window_ns)

    @field("bytes")
    def largest(self) -> Floats:
        """Largest window in force."""
        return self.rounds.window_max_bytes

    @property
    def roomy(self) -> Bools:
        """Did the window have room for as much again as was in flight at most, or is it unknown?"""
        rounds = self.rounds
        return np.isnan(rounds.window_min_bytes) | (rounds.window_min_bytes > 2 * rounds.flight_max_bytes)

    @field("bytes")
    def filled(self) -> Floats:
        """Most in flight, as far as the window allowed it: more is an error of reconstruction."""
        return np.fmin(self.all.flight.most, self.largest)

    @field("yes")
    def rising(self) -> Bools:
        """Is the window its largest so far, and larger yet within three rounds?"""
        window = self.largest
        next_most: Floats = np.fmax.reduce([self.rounds.shifted(window, by, np.nan) for by in (1, 2, 3)])
        # Half a percent: less is the rounding of a window to its scale.
        return (self.share_of_largest >= 0.98) & (next_most > 1.005 * window)

    @field("yes")
    def closing(self) -> Bools:
        """Does the window fall by a quarter in the round, and below that of the round before?"""
        rounds = self.rounds
        before = rounds.shifted(self.largest, -1, np.nan)
        fallen: Bools = rounds.window_min_bytes < 0.75 * np.fmin(self.largest, before)
        return fallen

    @field("share")
    def share_of_largest(self) -> Floats:
        """Window over the largest that the flow had so far."""
        return self.rounds.ratio(self.largest, self.rounds.most_so_far(self.largest))

    @field("yes")
    def held_small(self) -> Bools:
        """Is the window closed, or full while a slow reader closes it or keeps it below its largest?"""
        small = self.closing | (self.share_of_largest <= 0.75)
        return (self.closed_share >= 0.3) | (self.full_share >= 0.5) & small
