"""The ACK clock: did acknowledgments make the sender send, or something else?

Congestion control answers every acknowledgment. A writer that waits for room in its buffer answers those that free a
third of it (``sk_stream_write_space``). A timer answers none.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.evidence.flight import STRETCH
from bdpcap.limits.rounds import REACH

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["SELDOM", "AckClock"]

LONG_NS: Final = 6e6
"""A wait that the clocks of both ends show from afar."""
SELDOM: Final = 0.45
"""A `AckClock.chance` below which acknowledgments start the bursts."""


class AckClock(Concept):
    """What started segments and bursts. A burst is what follows a pause of half the burst gap."""

    name = "ack_clock"

    @cached_property
    def has_timestamps(self) -> Bools:
        """Does the flow carry timestamps, whose echoes tell what the sender knew?"""
        return self.rounds.total(self.rounds.echoed_ticks) > 1

    @field("yes")
    def unseen(self) -> Bools:
        """Away from the sender and without timestamps: can it not be seen what the sender knew when it sent?"""
        return ~self.all.vantage.at_sender & ~self.has_timestamps

    @field("share")
    def ack_response(self) -> Floats:
        """Share of acknowledgments that data answered at once, over nine rounds.

        With timestamps: of the TSvals in which acknowledgments came, those that data echoed. A segment's TSecr names the
        last acknowledgment that its sender had (RFC 7323 section 3), wherever the capture was taken. Without, at the
        sender only: of the acknowledgments, those followed by data within a millisecond.
        """
        rounds = self.rounds
        by_echo = rounds.ratio(rounds.beside(rounds.echoed_ticks), rounds.beside(rounds.ack_ticks))
        by_time = rounds.ratio(rounds.beside(rounds.answered_acks), rounds.beside(rounds.acks))
        seen = np.where(self.all.vantage.at_sender, by_time, np.nan)
        # Data may also answer acknowledgments of before, or such as were not captured.
        return np.minimum(np.where(self.has_timestamps, by_echo, seen), 1.0)

    @field("share")
    def own_time_share(self) -> Floats:
        """Share of the bytes in bursts that began well after any acknowledgment."""
        return self.rounds.unprompted_bytes / np.maximum(self.rounds.sent_bytes, 1.0)

    @field("share")
    def chance(self) -> Floats:
        """How often a burst that no acknowledgment started would follow one as closely as the bursts here did.

        The wait of bursts after an acknowledgment, in each round of the stretch, times the acknowledgments in
        that time: the median. It is small for a writer that waits for acknowledgments, however late its host wakes it.
        """
        rounds = self.rounds
        seen = self.all.vantage.at_sender | self.has_timestamps
        waits_ns = np.where(rounds.burst_freed_bytes > 0, rounds.burst_wait_ns, np.nan)
        covered = waits_ns * rounds.around(rounds.acks, 1) / rounds.around(rounds.duration, 1)
        return np.where(seen, rounds.median_around(covered, STRETCH, STRETCH), np.nan)

    @field("ratio")
    def period_spread(self) -> Floats:
        """Longest time from one burst to the next over the shortest, less one: the median of the stretch's rounds."""
        return self.rounds.ratio(self._longest_ns - self._shortest_ns, self._shortest_ns)

    @cached_property
    def _shortest_ns(self) -> Floats:
        return self.rounds.median_around(self.rounds.burst_period_min_ns, STRETCH, STRETCH)

    @cached_property
    def _longest_ns(self) -> Floats:
        return self.rounds.median_around(self.rounds.burst_period_max_ns, STRETCH, STRETCH)

    @field("RTTs")
    def period(self) -> Floats:
        """Shortest time from one burst to the next, in minimum RTTs: the median of the stretch's rounds."""
        return self.rounds.ratio(self._shortest_ns, self.all.queue.rtt_min_ns)

    @field("RTTs")
    def longest_period(self) -> Floats:
        """Longest time from one burst to the next, in minimum RTTs: the median of the stretch's rounds."""
        return self.rounds.ratio(self._longest_ns, self.all.queue.rtt_min_ns)

    @field("share")
    def blocked_share(self) -> Floats:
        """Share of the round in which the writer was blocked, leaving acknowledgments unanswered; unknown where not seen.

        1 between two rounds above 0.8, where the capture lost some of it. From afar the clocks hide waits of a few
        milliseconds, and with them whether it waited at all: seen only where one lasted 6 ms, and one round sent twice
        as much as another, as where congestion window and send buffer take turns.
        """
        rounds = self.rounds
        sent = [rounds.shifted(rounds.sent_bytes, by, np.nan) for by in range(-2, 3)]
        missed = rounds.missed_bytes > 0
        turns = rounds.near(rounds.sleep_max_ns >= LONG_NS, REACH, REACH) & (
            np.fmax.reduce(sent) > 2 * np.fmin.reduce(sent)
        )
        seen = self.all.vantage.at_sender | turns & self.has_timestamps & ~rounds.near(missed, REACH, REACH)
        share = np.where(seen, rounds.share(rounds.asleep_ns), np.nan)
        between = (rounds.shifted(share, -1, 0.0) > 0.8) & (rounds.shifted(share, 1, 0.0) > 0.8)
        return np.where(between & rounds.near(missed, 1, 1), 1.0, share)

    @field("times")
    def bursts(self) -> Floats:
        """Bursts in a round, over nine rounds, those that began with nothing in flight included."""
        return self.rounds.mean_around(self.rounds.bursts + self.rounds.fresh_starts)

    @cached_property
    def starts(self) -> Floats:
        """Bursts in nine rounds, those that began with nothing in flight included."""
        return self.rounds.around(self.rounds.bursts + self.rounds.fresh_starts)

    @field("share")
    def replied_share(self) -> Floats:
        """At the sender: share of the bursts, over nine rounds, that began after a reply of the peer's."""
        share = self.rounds.ratio(self.rounds.around(self.rounds.replied_bursts), self.starts)
        return np.where(self.all.vantage.at_sender, share, np.nan)

    @field("times")
    def own_starts(self) -> Floats:
        """Sends with nothing in flight that no acknowledgment started, in nine rounds; all of them if it got replies."""
        own = ~(self.chance <= SELDOM) | (self.all.writes.replies > 0)
        return np.where(own, self.empty_starts, 0.0)

    @field("times")
    def empty_starts(self) -> Floats:
        """Sends with nothing in flight, in nine rounds."""
        return self.rounds.around(self.rounds.fresh_starts)
