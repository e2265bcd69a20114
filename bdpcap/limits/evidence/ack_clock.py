"""The ACK clock: whether acknowledgments made the sender send.

Congestion control sends data in response to every acknowledgment. A writer that waits for room in its send buffer
responds when a third of the buffer is free (``sk_stream_write_space``). A timer responds to none.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.evidence.flight import STRETCH
from bdpcap.limits.rounds import HALF, REACH, SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["SELDOM", "AckClock"]

LONG_NS: Final = 6e6
"""Length of a wait that is visible wherever the capture was taken, given the resolution of both ends' clocks."""
WHOLLY: Final = 0.8
"""Share of a round from which the writer was blocked throughout. A gap in the capture between two such rounds is, too."""
TURNS: Final = 1.5
"""Bytes sent in one round over those of another from which send buffer and congestion window take turns.

A writer fills a third of the buffer, twice or three times a round.
"""
JITTER: Final = 0.2
"""Part of the minimum RTT by which the RTTs of an empty path vary; see `ABOVE_MINIMUM` of the queue."""
SELDOM: Final = 0.5
"""Value of `AckClock.chance` up to which acknowledgments start the bursts."""


class AckClock(Concept):
    """The causes of segments and bursts. A burst is the data sent after a pause of half the burst gap."""

    name = "ack_clock"

    @cached_property
    def unmeasured(self) -> Bools:
        """May the capture be next to the receiver, without a handshake or timestamps that show the way to the sender?"""
        unmeasured: Bools = self.all.vantage.unmeasured & ~self.has_timestamps
        return unmeasured

    @cached_property
    def has_timestamps(self) -> Bools:
        """Does the flow carry TCP timestamps, whose TSecr shows the acknowledgments that the sender had?"""
        return self.rounds.total(self.rounds.answered_tsvals) > 1

    @field("yes")
    def unseen(self) -> Bools:
        """Is it unknown which acknowledgments the sender had when it sent: away from the sender, without timestamps?"""
        return ~self.all.vantage.at_sender & ~self.has_timestamps

    @field("yes")
    def reconstructed(self) -> Bools:
        """Is the capture away from the sender, so that each burst's cause is known to a tick of the clocks at best?"""
        return ~self.all.vantage.at_sender

    @field("share")
    def ack_response(self) -> Floats:
        """Share of acknowledgments that released data at once, over up to nine rounds of similar flight.

        With timestamps, it is the share of the receiver's TSvals that data echoed. A segment's TSecr names the last
        acknowledgment that its sender had (RFC 7323 section 3), wherever the capture was taken. Without timestamps, it is
        the share of acknowledgments that data followed within a millisecond; known only at the sender.
        """
        rounds = self.rounds
        by_tsecr = rounds.ratio(
            rounds.around_similar(rounds.answered_tsvals), rounds.around_similar(rounds.ack_tsvals)
        )
        by_time = rounds.ratio(
            rounds.around_similar(rounds.answered_acks), rounds.around_similar(rounds.acks)
        )
        seen = np.where(self.all.vantage.at_sender, by_time, np.nan)
        # Data may also answer earlier acknowledgments, or ones that the capture lacks.
        return np.minimum(np.where(self.has_timestamps, by_tsecr, seen), 1.0)

    @field("share")
    def own_time_share(self) -> Floats:
        """Share of the bytes sent in bursts that began more than a burst gap after any acknowledgment."""
        return self.rounds.own_time_bytes / np.maximum(self.rounds.sent_bytes, 1.0)

    @field("share")
    def chance(self) -> Floats:
        """Chance that a burst at a random time follows an acknowledgment as closely as the bursts here did.

        The wait of bursts after an acknowledgment times the rate of acknowledgments; the median over the stretch. It is
        small for a writer that waits for acknowledgments, even if its host wakes it late.
        """
        rounds = self.rounds
        covered = self._wait_ns * rounds.around(rounds.acks, 1) / rounds.around(rounds.duration, 1)
        return rounds.median_around(covered, STRETCH, STRETCH)

    @field("share")
    def started_share(self) -> Floats:
        """Share of the stretch's rounds whose bursts came in the first half of the time between two acknowledgments.

        A timer's bursts come at any time in it. The time is that of acknowledgments in a row, without the pauses between.
        """
        rounds = self.rounds
        each = rounds.ratio(rounds.delivered_bytes, rounds.acks)
        gap_ns = rounds.ratio(each, rounds.ack_spacing_rate) * SECOND_NS
        waits = self._wait_ns / gap_ns
        started, known = waits <= HALF, np.isfinite(waits)
        return rounds.share_around(started, known, STRETCH)

    @field("share")
    def freed_share(self) -> Floats:
        """Share of the largest flight that was acknowledged in the pause before a burst; the median over the stretch.

        Linux wakes a writer when a third of its send buffer is free, other stacks when half of it is.
        """
        rounds = self.rounds
        freed = rounds.ratio(rounds.burst_freed_bytes, rounds.bursts + rounds.empty_starts)
        return rounds.median_around(rounds.ratio(freed, rounds.in_flight_max_bytes), STRETCH, STRETCH)

    @cached_property
    def _wait_ns(self) -> Floats:
        """Wait of the round's bursts after an acknowledgment; NaN where hidden."""
        rounds = self.rounds
        seen = self.all.vantage.at_sender | self.has_timestamps
        return np.where(seen & (rounds.burst_freed_bytes > 0), rounds.burst_wait_ns, np.nan)

    @field("ratio")
    def period_spread(self) -> Floats:
        """Longest time from one burst to the next over the shortest, less one; both are medians over the stretch."""
        return self.rounds.ratio(self._longest_ns - self._shortest_ns, self._shortest_ns)

    @cached_property
    def _shortest_ns(self) -> Floats:
        """Shortest time from one burst to the next; the median over the stretch."""
        return self.rounds.median_around(self.rounds.burst_period_min_ns, STRETCH, STRETCH)

    @cached_property
    def _longest_ns(self) -> Floats:
        """Longest time from one burst to the next; the median over the stretch."""
        return self.rounds.median_around(self.rounds.burst_period_max_ns, STRETCH, STRETCH)

    @field("RTTs")
    def period(self) -> Floats:
        """Shortest time from one burst to the next, in minimum RTTs; the median over the stretch."""
        return self.rounds.ratio(self._shortest_ns, self.all.queue.rtt_min_ns)

    @field("RTTs")
    def longest_period(self) -> Floats:
        """Longest time from one burst to the next, in minimum RTTs; the median over the stretch."""
        return self.rounds.ratio(self._longest_ns, self.all.queue.rtt_min_ns)

    @field("share")
    def blocked_share(self) -> Floats:
        """Share of the round in which the writer was blocked and left acknowledgments unanswered; unknown where hidden.

        Away from the sender, the resolution of the clocks hides waits of a few milliseconds. There the share is known
        only with timestamps, a wait of 6 ms within four rounds, and no missing bytes within four rounds. One of five
        rounds must also send more than 1.5 times as much as another: congestion window and send buffer take turns.
        Between two rounds above 0.8, the share is 1 if the capture lacks bytes of this round or a neighbour.
        """
        rounds = self.rounds
        sent = [rounds.shifted(rounds.sent_bytes, by, np.nan) for by in (-2, -1, 0, 1, 2)]
        missed = rounds.unseen_bytes > 0
        turns = rounds.near(rounds.writer_blocked_max_ns >= LONG_NS, REACH, REACH) & (
            np.fmax.reduce(sent) > TURNS * np.fmin.reduce(sent)
        )
        seen = self.all.vantage.at_sender | turns & self.has_timestamps & ~rounds.near(missed, REACH, REACH)
        share = np.where(seen, rounds.share(rounds.writer_blocked_ns), np.nan)
        between = (rounds.shifted(share, -1, 0.0) > WHOLLY) & (rounds.shifted(share, 1, 0.0) > WHOLLY)
        return np.where(between & rounds.near(missed, 1, 1), 1.0, share)

    @field("times")
    def bursts(self) -> Floats:
        """Bursts per round, averaged over nine rounds; sends with nothing in flight count as bursts."""
        return self.rounds.mean_around(self.rounds.bursts + self.rounds.empty_starts)

    @cached_property
    def starts(self) -> Floats:
        """Bursts in nine rounds; sends with nothing in flight count as bursts."""
        return self.rounds.around(self.rounds.bursts + self.rounds.empty_starts)

    @field("share")
    def replied_share(self) -> Floats:
        """Share of the bursts over nine rounds that began after a reply of the peer; known only at the sender."""
        share = self.rounds.ratio(self.rounds.around(self.rounds.bursts_after_payload), self.starts)
        return np.where(self.all.vantage.at_sender, share, np.nan)

    @field("times")
    def own_starts(self) -> Floats:
        """Sends with nothing in flight, in nine rounds; 0 if acknowledgments started the bursts and no reply came.

        While a window grows back after a loss, it may be so small that one acknowledgment empties the flight. A send soon
        after it, with no short segment before, does not count: such data waited for the acknowledgment.
        """
        own = ~(self.chance <= SELDOM) | (self.all.writes.replies > 0)
        return np.where(own, self.rounds.around(np.where(self._emptied, 0.0, self.rounds.empty_starts)), 0.0)

    @cached_property
    def _emptied(self) -> Bools:
        """Did acknowledgments start all sends with nothing in flight, while a window grew back after a loss?"""
        rounds = self.rounds
        soon = rounds.empty_ns <= rounds.empty_starts * JITTER * self.all.queue.rtt_min_ns
        emptied: Bools = soon & (rounds.short_ends == 0) & ~self.all.flight.regrown
        return emptied

    @field("times")
    def empty_starts(self) -> Floats:
        """Sends with nothing in flight, in nine rounds."""
        return self.rounds.around(self.rounds.empty_starts)
