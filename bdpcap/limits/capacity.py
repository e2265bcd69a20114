"""The capacity of each flow's path, from all bursts of the flow: an estimate, and the range in which it lies.

A bottleneck spaces the packets that queue in front of it, so bursts show its rate (Keshav, SIGCOMM 1991). Pacing, stalls
of the capturing host and merged acknowledgments change the spacing too, each burst by another factor. So a rate is a
level only if several bursts share it; the capacity is the highest level that more bursts share than exceed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bdpcap.limits.evidence.rate import CONFIRMING, PAUSED, QUEUED_PACKETS, SAME
from bdpcap.limits.rounds import HALF, SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Capacity", "capacity"]

SHARING: Final = 3
"""Rounds with the same rate that make a level: two are often the same by chance (measured)."""
SHARE_OF_FIRST: Final = 0.4
"""Share of the bursts of the first rounds that a level needs: below, clumps of arrivals make levels (measured)."""
SHARE_OF_ALL: Final = 0.2
"""Share of all bursts that a level needs: less than of the first, since a window spreads later packets (measured)."""
ALL_QUEUED: Final = 1.3
"""Ratio of packets queued to packets in flight up to which a burst queued: not more than all can, and rates err."""
PROVED: Final = 0.1
"""Share of a level's rounds with a queue from which a bottleneck made the level, not the sender's pace (measured)."""
OTHER: Final = 1.1
"""Ratio of two rates from which they differ: each is within `SAME` of a rate between them."""
INITIAL_WINDOW: Final = 10
"""Segments that a sender may send at once (RFC 6928 section 2). Fewer in flight never show the capacity."""
PACED: Final = 1.25
"""Ratio of a level to the flow's mean rate up to which a paced program may have made it: pauses take the rest."""
APART: Final = 64.0
"""Distance of flows on a common axis of logarithms of rates: no two rates of 64-bit integers are so far apart."""


class Capacity(NamedTuple):
    """Rates of the bottleneck in bytes per second, an entry per flow; NaN where unknown."""

    estimate: Floats
    low: Floats
    """Rate that the path carries at least."""
    high: Floats
    """Rate that the path carries at most, if a level shows it."""


class Level(NamedTuple):
    """A rate that several bursts share, an entry per flow: the median of their rates, the least and the largest."""

    rate: Floats
    low: Floats
    high: Floats


def capacity(evidence: Evidence, sustained: Floats) -> Capacity:
    """Return the capacity of each flow; `low` is never below the rate that the flow sustained, but for a proved level.

    `high` is unknown without a level, with less than an initial window in flight, and where the return path spaced the
    acknowledgments. It is also unknown where the level may be the program's pace. That is so if no queue stood at it and
    it is the flow's mean rate, or if the initial bursts were slower.

    Parameters
    ----------
    sustained
        Rate that each flow reached over a round trip or 30 ms, whichever is longer, in bytes per second; NaN if unknown.
    """
    rounds, first, bursts = evidence.rounds, evidence.rounds.starts, Bursts(evidence)
    level, initial = bursts.level, evidence.rate.initial_burst[first]
    # A rate at which more packets waited than were in flight in every round is one of clumps.
    real = bursts.share(level.rate, bursts.possible) > 0
    level = Level(*(np.where(real, one, np.nan) for one in level))
    waited = bursts.share(level.rate, bursts.queued)
    # The most of a flow's rates errs upwards, so it does not raise a level that a queue proves.
    proved = (waited >= HALF) & (sustained <= OTHER * level.rate)
    sustained = np.where(proved, np.fmin(sustained, level.rate), sustained)
    # A level without a queue, at which the flow went on the whole, may be the program's pace.
    own_pace = (waited < HALF) & (level.rate <= PACED * bursts.mean_rate)
    # A level without a queue is the sender's pace, so that a faster burst shows more.
    paced = (initial > OTHER * level.rate) & (waited < PROVED)
    possible = np.where(bursts.share(initial, bursts.possible) > 0, initial, np.nan)
    shows_more = np.isnan(level.rate) | paced
    estimate = np.fmax.reduce([np.where(shows_more, possible, np.nan), level.rate, sustained])
    most = -rounds.least(-rounds.in_flight_max_bytes / evidence.vantage.mss_bytes)[first]
    shown = (most >= INITIAL_WINDOW) & ~(bursts.share(level.rate, bursts.returned) > HALF)
    low = np.where(shown, np.fmax(level.low, sustained), sustained)
    high = np.where(shown & ~own_pace & ~(OTHER * initial < level.rate), np.fmax(level.high, initial), np.nan)
    return Capacity(estimate, low, np.where(np.isnan(level.rate), np.nan, np.maximum(high, estimate)))


class Bursts:
    """The rounds whose acknowledgments show bursts, and their rates."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        rounds, rate = evidence.rounds, evidence.rate.spacing
        self._rate = rate
        standing = evidence.rate.packets(rounds.queueing_delay_p20_ns, rate)
        # More packets than were sent cannot have queued at this rate: a host released them at once.
        paused = (rounds.share(rounds.ack_pauses_ns) > PAUSED) & ~(standing > rounds.sent_segments)
        self._seen: Bools = (rate > 0) & (paused | (standing > QUEUED_PACKETS))
        self._packets: Floats = (
            np.fmax(rounds.in_flight_max_bytes, rounds.delivered_bytes) / evidence.vantage.mss_bytes
        )

    @cached_property
    def _waiting(self) -> Floats:
        """Packets that the largest RTT of the round means in front of a bottleneck of the round's rate."""
        rounds, evidence = self._evidence.rounds, self._evidence
        wait_ns = rounds.rtt_max_ns - evidence.queue.rtt_min_ns
        return evidence.rate.packets(wait_ns, self._rate)

    @cached_property
    def possible(self) -> Bools:
        """Whether no more packets waited than were in flight."""
        return ~(self._waiting > ALL_QUEUED * self._packets)

    @cached_property
    def queued(self) -> Bools:
        """Whether packets of the round waited in front of the bottleneck of the data."""
        return (self._waiting > QUEUED_PACKETS) & self.possible & ~self._evidence.queue.on_return_path

    @cached_property
    def returned(self) -> Bools:
        """Whether acknowledgments queued on the return path before the tap, which gave them another spacing."""
        return self._evidence.queue.on_return_path & ~self._evidence.vantage.at_receiver

    @cached_property
    def mean_rate(self) -> Floats:
        """Rate of each flow over the rounds in which data were acknowledged, bytes per second."""
        rounds = self._evidence.rounds
        moving = rounds.acked_bytes > 0
        carried, lasting = (
            rounds.total(np.where(moving, one, 0.0)) for one in (rounds.acked_bytes, rounds.duration)
        )
        mean: Floats = (rounds.ratio(carried, lasting) * SECOND_NS)[rounds.starts]
        return mean

    @cached_property
    def level(self) -> Level:
        """The higher of two levels of each flow: of the first rounds, and of all."""
        early = self._evidence.rounds.round < CONFIRMING
        first, whole = (
            self._level(seen, least)
            for seen, least in ((self._seen & early, SHARE_OF_FIRST), (self._seen, SHARE_OF_ALL))
        )
        higher = ~(first.rate >= whole.rate) & np.isfinite(whole.rate)
        return Level(*(np.where(higher, one, other) for one, other in zip(whole, first, strict=True)))

    def share(self, rate: Floats, holds: Bools) -> Floats:
        """Return the share of the bursts of a flow's `rate` for which a condition holds; NaN without such bursts."""
        rounds = self._evidence.rounds
        level = rounds.per_flow(rate)
        near = self._seen & (np.abs(self._rate - level) <= SAME * level)
        count = len(rounds.starts)
        held, all_ = (
            np.bincount(rounds.flow[which], minlength=count).astype(np.float64)
            for which in (near & holds, near)
        )
        return rounds.ratio(held, all_)

    def _level(self, seen: Bools, least: float) -> Level:
        """Return the highest rate of each flow that enough rounds share, and more than exceed it; NaN where none is.

        Parameters
        ----------
        seen
            Rounds that count.
        least
            Share of these rounds that must have the rate.
        """
        rounds = self._evidence.rounds
        count = len(rounds.starts)
        flow = rounds.flow[seen]
        # All flows on one axis, so that a single search finds the rounds with the same rate.
        place = np.sort(flow * APART + np.log(self._rate[seen]))
        begin = np.searchsorted(place, place - SAME, "left")
        end = np.searchsorted(place, place + SAME, "right")
        of_flow = np.bincount(flow, minlength=count)
        sharing, faster = end - begin, np.cumsum(of_flow)[flow] - end
        enough = (sharing >= np.maximum(SHARING, least * of_flow[flow])) & (sharing > faster)
        result = np.full((len(Level._fields), count), np.nan)
        found = np.flatnonzero(enough)
        top = np.full(count, -1)
        top[flow[found]] = found  # the last of each flow, its highest
        # The window around the highest may hold only the upper part of the rounds that share its rate.
        near = found[place[found] >= place[top[flow[found]]] - SAME]
        near = near[np.lexsort((sharing[near], flow[near]))]
        densest = np.full(count, -1)
        densest[flow[near]] = near
        known = np.flatnonzero(densest >= 0)
        low, past = begin[densest[known]], end[densest[known]]
        for row, at in zip(result, ((low + past - 1) // 2, low, past - 1), strict=True):
            row[known] = np.exp(place[at] - known * APART)
        return Level(*result)
