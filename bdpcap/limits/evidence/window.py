"""The receiver's window: whether it left room to send more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.rounds import HALF, REACH

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["SMALL", "STANDING", "Window"]

STALL: Final = 0.02
"""Share of a round with less than one segment usable, from which a full window is no rounding error."""

LARGEST_YET: Final = 0.98
"""Window over the largest so far from which it is the largest yet, but for the rounding of the window scale."""
GROWN: Final = 1.005
"""Growth of a window from which it is no rounding of the window scale: a half per cent."""
RISING_ROUNDS: Final = 3
"""Rounds within which a growing window grows again: Linux adds to it once a round trip (``tcp_rcv_space_adjust``)."""
SMALL: Final = 0.75
"""Window over the largest below which data may be unread. A buffer that is read at once is nearly all free."""
STANDING: Final = 0.005
"""Part of a window by which it varies though it is steady: the rounding of the window scale, a half per cent."""
SHUT: Final = 0.3
"""Share of a round with a closed window from which the wait lies there, not in a queue."""


class Window(Concept):
    """Window and usable window, as the sender knew them."""

    name = "window"

    @field("share")
    def full_share(self) -> Floats:
        """Share of the round with less than a segment, or less than an eighth of the window, usable.

        It counts only if less than one segment was usable for 2 % of this round or an adjacent one. The eighth allows for
        segmentation offload: Linux waits as soon as the next chunk does not fit (``tcp_tso_should_defer``). Away from the
        sender, merged acknowledgments hide the duration, so a moment with less than one segment usable suffices.
        """
        rounds = self.rounds
        stalled = rounds.near((rounds.share(rounds.window_blocked_ns) > STALL) | self._at_edge, 1, 1)
        return np.where(stalled, rounds.share(rounds.window_full_ns), 0.0)

    @property
    def _at_edge(self) -> Bools:
        """Return whether, away from the sender and outside slow start, less than one segment was usable."""
        edge: Bools = (
            ~self.all.vantage.at_sender
            & (self.rounds.usable_window_min_bytes < self.all.vantage.mss_bytes)
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
    def outrun(self) -> Bools:
        """Return whether, within the minimum RTT of the flow, more bytes were acknowledged than its largest window holds.

        All that is acknowledged within a round trip was in flight at its start, so that round-trip time is too long.
        """
        rounds = self.rounds
        rtt_ns, most = rounds.flow_rtt_min_ns, -rounds.least(-self.largest)
        acked = rounds.acked_bytes
        total, outrun = np.zeros(rounds.size), np.zeros(rounds.size, dtype=bool)
        for by in range(REACH + 1):
            total += rounds.shifted(acked, by, 0.0)
            within = rounds.shifted(rounds.end_ns, by, np.nan) - rounds.start_ns <= rtt_ns
            # An acknowledgment may cover a segment more than the window, such as a probe or a FIN.
            outrun |= within & (total > most + self.all.vantage.mss_bytes)
        return outrun

    @property
    def roomy(self) -> Bools:
        """Return whether the window always held twice the largest flight, or is unknown."""
        rounds = self.rounds
        return np.isnan(rounds.window_min_bytes) | (rounds.window_min_bytes > 2 * rounds.in_flight_max_bytes)

    @field("bytes")
    def filled(self) -> Floats:
        """Largest flight, at most the largest window: an excess is an error of reconstruction."""
        return np.fmin(self.all.flight.most, self.largest)

    @field("yes")
    def rising(self) -> Bools:
        """Is the window the largest so far, and does it exceed that within three rounds? Or opens it in this round?"""
        most = self.rounds.most_so_far(self.largest)
        next_most: Floats = np.fmax.reduce(
            [self.rounds.shifted(self.largest, by, np.nan) for by in range(1, RISING_ROUNDS + 1)]
        )
        # An increase of less than half a percent is a rounding error of the window scale.
        return (self.largest >= LARGEST_YET * most) & (next_most > GROWN * most) | self._opens

    @property
    def _opens(self) -> Bools:
        """Return whether the flight filled the smallest window of a round, which was the largest before, and it grew.

        A SYN bears no scale, so Windows offers 8,192 bytes in it, and more in the next packet (RFC 7323 section 2.2).
        """
        rounds = self.rounds
        first = rounds.window_min_bytes
        before = rounds.shifted(rounds.most_so_far(self.largest), -1, 0.0)
        opens: Bools = (
            (before <= first) & (rounds.in_flight_max_bytes <= first) & (self.largest > GROWN * first)
        )
        return opens

    @field("yes")
    def stands(self) -> Bools:
        """Is the largest window the usual one of nine rounds, and does the window keep still in most of them?

        A buffer has one size. What a slow reader has not read takes a part of it that varies.
        """
        rounds = self.rounds
        usual = rounds.median_around(self.largest, REACH, REACH)
        change = rounds.ratio(self.largest - rounds.window_min_bytes, self.largest)
        still = rounds.median_around(change, REACH, REACH) <= STANDING
        return still & (np.abs(self.largest - usual) <= STANDING * usual)

    @field("share")
    def share_of_largest(self) -> Floats:
        """Window over the largest before the round, by time: a dip lasts no longer than the flight is below it.

        The flight of a sender that uses the window up shows for how long the window was how large. The first share is 1.
        """
        rounds = self.rounds
        held = np.clip(rounds.in_flight_mean_bytes, rounds.window_min_bytes, self.largest)
        before = rounds.shifted(rounds.most_so_far(self.largest), -1, np.nan)
        return rounds.ratio(held, np.where(np.isnan(before), held, before))

    @field("yes")
    def unread(self) -> Bools:
        """Is the window below 0.75 of its largest without standing there, or falls it to that? Data are unread then."""
        rounds = self.rounds
        small = (self.share_of_largest <= SMALL) & ~self.stands
        falling = rounds.window_min_bytes < SMALL * self.largest
        unread: Bools = small | falling & rounds.shifted(small, 1, missing=False)
        return unread

    @field("yes")
    def held_small(self) -> Bools:
        """Is the window closed for 0.3 of the round, or full for 0.5 with data unread?"""
        return (self.closed_share >= SHUT) | (self.full_share >= HALF) & self.unread
