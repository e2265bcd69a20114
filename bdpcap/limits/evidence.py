"""What the rules look at: what follows from the core's counts per round, and from the neighbours of each.

Shapes and units as in `rounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bdpcap.limits.rounds import Bools, Floats, Rounds

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence(Rounds):
    """Rounds of all flows, with what the rules derive from them."""

    mss: Floats
    """Per round, of its flow."""
    direct: Bools
    """Per round: is the sender's state seen, and not reconstructed?"""
    facing: Bools
    """Per round: was the capture taken at the receiver?"""
    handshake_ns: Floats
    """Per round: the initial RTT of its stream."""
    others_bytes: Floats
    """Per round: what others delivered the same way meanwhile."""
    flow_acks: Floats
    """Per round: acknowledgments that the capture holds of its flow."""

    @cached_property
    def floor(self) -> Floats:
        """Least RTT of the flow, as its last round knows it; the core may have to drop what it took for RTTs at first."""
        floors = np.where(np.isnan(self.rtt_floor_ns), self.handshake_ns, self.rtt_floor_ns)
        last = floors[np.append(self.starts, self.size)[1:] - 1]
        least = np.fmin.reduceat(floors, self.starts) if self.size else floors
        return self.per_flow(np.where(np.isnan(last), least, last))

    @cached_property
    def rtt(self) -> Floats:
        """Median RTT of the round; the floor where it has none."""
        return np.where(np.isnan(self.rtt_ns), self.floor, self.rtt_ns)

    @cached_property
    def busy(self) -> Floats:
        """Share of the round in which a queue stood; what was sent again has no RTT to show it, but took its time."""
        with np.errstate(divide="ignore", invalid="ignore"):
            again_ns = np.nan_to_num(self.resent_bytes / self.capacity * 1e9, posinf=0.0)
        # A queue does not outlast a longer silence of its sender.
        wait_ns = np.fmax(self.rtt_ns, self.shifted(self.rtt_ns, -1, np.nan)) - self.floor
        idle_ns = np.maximum(self.silence_ns - np.nan_to_num(wait_ns), 0.0)
        most = np.maximum(1 - idle_ns / self.duration, 0.0)
        return np.clip((self.busy_ns + again_ns) / self.duration, 0.0, most)

    @cached_property
    def idle(self) -> Bools:
        """Was nothing sent and nothing in flight?"""
        nothing: Bools = (self.sent_bytes + self.resent_bytes == 0) & (self.share("empty_ns") > 0.99)
        return nothing

    @cached_property
    def rate(self) -> Floats:
        """Delivery rate."""
        return self.delivered_bytes / self.duration * 1e9

    @cached_property
    def smooth_rate(self) -> Floats:
        """Delivery rate over the round and its neighbours: acknowledgments do not come evenly."""
        return self.around(self.delivered_bytes, 1) / self.around(self.duration, 1) * 1e9

    @cached_property
    def long_rate(self) -> Floats:
        """Delivery rate over the round and those beside it with as much in flight."""
        return self.beside(self.delivered_bytes) / self.beside(self.duration) * 1e9

    @cached_property
    def capacity(self) -> Floats:
        """Rate of the bottleneck as far as the flow shows it.

        What it reached for whole rounds, and over runs of packets (the median of a round's runs). High percentiles,
        not the largest: rates jump after a recovery.
        """
        moving = np.where(~self.idle & (self.delivered_bytes > 0), self.duration, 0.0)
        # Away from the sender round boundaries, and so rates, are less exact: average longer, reach lower.
        near = self.percentile(self.smooth_rate, moving, 0.95), self.percentile(self.run_rate, moving, 0.75)
        far = self.percentile(self.long_rate, moving, 0.9), self.percentile(self.run_rate, moving, 0.6)
        lasting = np.where(self.direct, np.fmax(*near), np.fmax(*far))
        # Acknowledgments that a path delivers in clumps make runs as fast as clocks can tell.
        lasting = np.fmin(lasting, 2 * np.where(self.direct, near[0], far[0]))
        return self._without_jumps(lasting)

    @cached_property
    def _passed(self) -> Floats:
        """Rate of the first bursts; where none was seen, that of half of the bytes."""
        moving = np.where(~self.idle & (self.delivered_bytes > 0), self.duration, 0.0)
        usual = self.percentile(self.spacing_rate, moving, 0.5)
        return np.where(np.isnan(self.opened_rate), usual, self.opened_rate)

    def _without_jumps(self, rate: Floats) -> Floats:
        """A little above the rate of the first bursts: a jump, though a percentile. Far above, it is another by now."""
        return np.where((rate > self._passed) & (rate < 1.2 * self._passed), self._passed, rate)

    @cached_property
    def fullness(self) -> Floats:
        """Delivery rate over the capacity; 0 where the capacity is unknown."""
        # A round's neighbours say what a few packets more or less hide, unless a deep queue, or its end, lies in between;
        # a writer asleep has let the queue of its last burst drain by the next round.
        deep = (self.risen_packets >= 8) & ~(self.response < 0.5)
        near = (self.smooth_rate > 0.9 * self.long_rate) & (self.tightness <= 0.3)
        rate = np.where(deep, np.fmax(self.smooth_rate, self.rate), self.smooth_rate)
        rate = np.where(near, np.fmax(rate, self.long_rate), rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(rate / self.capacity, posinf=0.0)

    @cached_property
    def passed(self) -> Floats:
        """Share of the round that the bottleneck needed for what passed the tap; NaN where it lies beyond the tap."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (self.sent_bytes + self.resent_bytes) / self.duration * 1e9 / self.capacity
        return np.where(self.behind, share, np.nan)

    @cached_property
    def behind(self) -> Bools:
        """Was the capture taken behind the bottleneck: at the receiver, or where data come as late as they queued?"""
        deep = (self.queue_low_ns > 1.5e6) & np.isfinite(self.forth_ns)
        late = np.add.reduceat(np.where(deep, self.forth_ns, 0.0), self.starts)
        queued = np.add.reduceat(np.where(deep, self.queue_low_ns, 0.0), self.starts)
        mostly = self.per_flow((late > 0.7 * queued) & (queued > 0)) > 0
        behind: Bools = ~self.direct & (self.facing | mostly)
        return behind

    @cached_property
    def path_rate(self) -> Floats:
        """Delivery rate of all that went this way, over the round and its neighbours."""
        return self.around(self.delivered_bytes + self.others_bytes, 1) / self.around(self.duration, 1) * 1e9

    @cached_property
    def path_fullness(self) -> Floats:
        """Rate of all that went this way over the most of it; 0 where this flow was as good as alone."""
        carried = self.delivered_bytes + self.others_bytes
        moving = np.where(~self.idle & (carried > 0), self.duration, 0.0)
        long = self.beside(carried) / self.beside(self.duration) * 1e9
        near, far = self.percentile(self.path_rate, moving, 0.95), self.percentile(long, moving, 0.9)
        most = self._without_jumps(np.where(self.direct, near, far))
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.nan_to_num(self.around(self.others_bytes, 1) / self.around(carried, 1))
            full = np.nan_to_num(self.path_rate / np.fmax(most, self.capacity), posinf=0.0)
        return np.where(part >= 0.05, full, 0.0)

    @cached_property
    def evenness(self) -> Floats:
        """Delivery rate over the rate at which half of the bytes came, or faster; NaN where too few came to tell.

        1 where acknowledgments keep the spacing that a busy bottleneck gave the packets; less where the flow pauses.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.smooth_rate / self.spacing_rate)

    @cached_property
    def _bursts(self) -> tuple[Floats, Floats]:
        """Spacing rates of the first bursts, and of what may bear them out, a row per flow."""
        rounds, rate = self.columns["round"], self.spacing_rate
        waiting = self._packets(self.queue_low_ns, rate)
        # More than were sent cannot have waited at this rate: they were held up, and came all at once.
        paused = (self.share("pauses_ns") > 0.25) & ~(waiting > self.sent_segments)
        # Packets that come evenly bear out nothing, unless they come from a queue.
        queued = waiting > 4
        return self._first(rate, 5, paused & (rounds < 5)), self._first(
            rate, 12, (paused | queued) & (rounds < 12)
        )

    @cached_property
    def burst_rate(self) -> Floats:
        """Highest rate of the first bursts, borne out or not; NaN where none was seen."""
        return self.per_flow(np.fmax.reduce(self._bursts[0], axis=1))

    @cached_property
    def opened_rate(self) -> Floats:
        """Rate at which the bottleneck passed on the bursts of the first round trips; NaN where none was seen.

        Later, a full window or a pacing sender may have spread the packets evenly, and their spacing says nothing of
        the bottleneck. Of the bursts' rates the highest that another of the first rounds bears out, or the highest.
        """
        bursts, others = self._bursts
        alike = np.abs(bursts[:, :, None] - others[:, None, :]) <= 0.05 * bursts[:, :, None]
        borne_out: Floats = np.fmax.reduce(np.where(alike.sum(axis=2) > 1, bursts, np.nan), axis=1)
        best = np.where(np.isnan(borne_out), np.fmax.reduce(bursts, axis=1), borne_out)
        seen = np.isfinite(best)
        same = np.abs(bursts - best[:, None]) <= 0.05 * best[:, None]
        best[seen] = np.nanmedian(np.where(same, bursts, np.nan)[seen], axis=1)
        return self.per_flow(best)

    def _first(self, values: Floats, count: int, holds: Bools) -> Floats:
        """Values of each flow's first rounds, a row per flow; NaN where it does not hold."""
        table = np.full((len(self.starts), count), np.nan)
        table[self.flow[holds], self.columns["round"][holds]] = values[holds]
        return table

    @cached_property
    def openness(self) -> Floats:
        """Delivery rate over that of the first bursts; 1 where none was seen.

        What the link let through while a queue stood says it better, where it is nearly the same.
        """
        stood = (self.busy > 0.95) & (self.risen_packets >= 4) & (self.tightness <= 0.3)
        queued = self.percentile(self.smooth_rate, np.where(stood, self.duration, 0.0), 0.9)
        nearly = (queued < self.opened_rate) & (queued > 0.95 * self.opened_rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.maximum(self.smooth_rate, self.long_rate) / np.where(nearly, queued, self.opened_rate)
        return np.nan_to_num(over, nan=1.0, posinf=1.0)

    @cached_property
    def path_openness(self) -> Floats:
        """Delivery rate of all that went this way over that of the first bursts; 1 where none was seen."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(self.path_rate / self.opened_rate, nan=1.0, posinf=1.0)

    @cached_property
    def backed_up(self) -> Bools:
        """Does the queue stand on the way back, where acknowledgments wait and data do not?

        By the clocks of both ends (their TSvals, a tick a millisecond): waits before the tap on the way back, or none
        before a tap at the receiver on the way out.
        """
        deep = self.queue_low_ns > 1.5e6
        # What was sent in a round is acknowledged in the next, as the sender sees it.
        back_ns = np.where(self.direct, self.shifted(self.back_ns, 1, np.nan), self.back_ns)
        # Where no full window is the rest's reason, a few packets more waited on the way out: a middlebox that merges
        # acknowledgments makes them wait behind a busy link, too.
        few = self._packets(self.queue_low_ns - back_ns, self.capacity) < 3
        mostly = few | (self.tightness > 0.5) | (back_ns > 0.7 * self.queue_low_ns)
        back = (back_ns > 0.5 * self.queue_low_ns) & mostly
        no_way_out = self.facing & (self.forth_ns < 0.3 * self.queue_low_ns)
        return deep & (back | no_way_out)

    def _packets(self, wait_ns: Floats, rate: Floats) -> Floats:
        """Packets that a bottleneck of this rate passes on meanwhile."""
        packets: Floats = wait_ns * rate / self.mss / 1e9
        return packets

    @cached_property
    def queue_packets(self) -> Floats:
        """Packets that stood in the queue for four fifths of the round; 0 where unknown."""
        return np.nan_to_num(self._packets(self.queue_low_ns, self.capacity))

    @cached_property
    def risen_packets(self) -> Floats:
        """The same, above the least RTT of the flow's data: the handshake's small packets pass a slow link sooner."""
        data = np.where((self.columns["round"] >= 1) & (self.sent_bytes > 0), self.rtt_min_ns, np.nan)
        least = self.per_flow(np.fmin.reduceat(data, self.starts)) if self.size else data
        rest = np.maximum(self.queue_low_ns - np.maximum(least - self.floor, 0.0), 0.0)
        return np.nan_to_num(self._packets(rest, self.capacity))

    @cached_property
    def least_packets(self) -> Floats:
        """Packets that stood in the queue whenever one of this flow's arrived; 0 where unknown."""
        wait_ns = np.maximum(self.rtt_min_ns - self.floor, 0.0)
        return np.nan_to_num(self._packets(wait_ns, self.capacity))

    @cached_property
    def held_packets(self) -> Floats:
        """Packets that the bottleneck passes on while an acknowledgment of many waits to be merged; 0 where few are.

        What merges them, a middlebox or the receiver, may hold each for as long as lies between two of them.
        """
        acks = np.maximum(self.around(self.acks, 1), 1.0)
        many = self.around(self.delivered_bytes, 1) / acks > 3.5 * self.mss
        packets = self._packets(self.around(self.duration, 1) / acks, self.capacity)
        return np.where(many, np.nan_to_num(packets), 0.0)

    @cached_property
    def doubling(self) -> Bools:
        """Slow start: is what is in flight growing by half or more from round to round?"""
        growing = (self.growth >= 1.45) & (self.growth <= 2.6)
        return growing & (self.small_segments < 0.5 * self.sent_segments)

    @cached_property
    def draining(self) -> Bools:
        """Was much less sent than was acknowledged, with no loss, no full window and no closed one to blame?"""
        sent = self.sent_bytes + self.resent_bytes
        blameless = (
            ~self.near(self.lossy, 2, 0) & (self.tightness < 0.3) & (self.share("zero_window_ns") < 0.1)
        )
        return (sent < 0.5 * self.acked_bytes) & (self.acked_bytes > 2 * self.mss) & blameless & ~self.cut

    @cached_property
    def cut(self) -> Bools:
        """Did the capture end before the flow, and before the sender's answers to the last acknowledgments came by?"""
        late = self.end_ns.max(initial=0.0) - self.end_ns < self.rtt
        cut: Bools = (self.unheard > 0) & late & (self.after_fin == 0)
        return cut

    @cached_property
    def slight(self) -> Bools:
        """Was less in flight than any sender may send, though the window had room for more?

        Two segments are the least initial window (RFC 5681 section 3.1) and the least that a buffer holds; one is the
        least after a loss.
        """
        room = np.isnan(self.window_min_bytes) | (self.window_min_bytes > 2 * self.flight_max_bytes)
        hurt = self.near(self.lossy, 20, 0)
        least = np.where(hurt, self.mss, 2 * self.mss)
        slight: Bools = (self.flight_max_bytes < least) & room & (self.resent_bytes == 0)
        return slight

    @cached_property
    def lossy(self) -> Bools:
        """Did the round send again, or learn of a loss?"""
        return (self.resent_bytes > 0) | (self.duplicate_acks >= 3) | (self.congestion_echoes > 0)

    @cached_property
    def repairing(self) -> Bools:
        """Was a good part of what was in flight sent again?"""
        part: Bools = self.resent_bytes > 0.3 * self.flight_max_bytes
        return part

    @cached_property
    def blackout(self) -> Bools:
        """Was nothing heard because all was lost on its way to the tap? What comes next is mostly sent again."""
        soon = np.any([self.shifted(self.repairing, by, False) for by in (1, 2, 3)], axis=0)
        # No timer fires sooner, Linux TCP_RTO_MIN; acknowledgments may come for a while yet.
        nothing = self.sent_bytes + self.resent_bytes == 0
        run = np.cumsum(np.diff(nothing, prepend=False) | (np.diff(self.flow, prepend=-1) != 0))
        quiet = nothing & (np.bincount(run, self.duration)[run] >= 0.2e9)
        quiet &= np.bincount(run, self.idle)[run] > 0
        dark: Bools = (
            soon & ~self.direct & (quiet | self.shifted(quiet, 1, False) | self.shifted(quiet, 2, False))
        )
        return dark

    @cached_property
    def subdued(self) -> Bools:
        """Is much less in flight than before, since a loss not long ago? A buffer would hold as much as ever.

        Away from the sender only: there a middlebox that merges acknowledgments looks like a sleeping writer.
        """
        below = self.flight_max_bytes < 0.6 * self.most_so_far(self.flight_max_bytes)
        return below & ~self.direct & self.near(self.lossy, 60, 0)

    @cached_property
    def lossy_so_far(self) -> Bools:
        """Was anything lost in the flow up to here?"""
        losses = self.most_so_far(np.where(self.lossy, 1.0, 0.0))
        before: Bools = losses > 0
        return before

    @cached_property
    def growth(self) -> Floats:
        """Most in flight, over that of the round before."""
        before = self.shifted(self.flight_max_bytes, -1, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(before > 0, self.flight_max_bytes / before, np.nan)

    @cached_property
    def stamped(self) -> Bools:
        """Does the flow carry timestamps, whose echoes tell what the sender knew?"""
        return self.per_flow(np.add.reduceat(self.echoed_ticks, self.starts) > 1).astype(bool)

    @cached_property
    def blind(self) -> Bools:
        """Away from the sender and without echoes: is what the sender knew not to be seen?"""
        return ~self.direct & ~self.stamped

    @cached_property
    def turns(self) -> Floats:
        """Answers of the peer, over nine rounds."""
        return self.around(self.replies, 4)

    @cached_property
    def response(self) -> Floats:
        """Share of acknowledgments that data answered at once, over nine rounds; NaN where it cannot be seen.

        With timestamps: of the ticks of the receiver's clock in which acknowledgments came, those that data
        echoed. It holds wherever the capture was taken, since a segment's TSecr names the last acknowledgment
        that its sender had. Without: of the acknowledgments, those followed by data within a millisecond, at the
        sender only.
        """
        ticks = self.beside(self.ack_ticks)
        acks = self.beside(self.acks)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_echo = np.where(ticks > 0, self.beside(self.echoed_ticks) / ticks, np.nan)
            by_time = np.where((acks > 0) & self.direct, self.beside(self.answered_acks) / acks, np.nan)
        return np.where(self.stamped, by_echo, by_time)

    @cached_property
    def asleep(self) -> Floats:
        """Share of the round in which the sender left acknowledgments unanswered; NaN where that is not to be seen.

        1 between two it slept through, where the capture lost some of it. From afar the clocks hide sleeps of a few
        milliseconds, and with them whether it slept at all: seen only where it slept for longer, and sent much more
        in one round than in the next, as it does if congestion control and a send buffer take turns.
        """
        sent = [self.shifted(self.sent_bytes, by, np.nan) for by in range(-2, 3)]
        turns = self.near(self.sleep_max_ns >= 6e6, 4, 4) & (np.fmax.reduce(sent) > 2 * np.fmin.reduce(sent))
        turns = turns & self.stamped & ~self.near(self.missed_bytes > 0, 4, 4)
        share = np.where(self.direct | turns, self.share("asleep_ns"), np.nan)
        between = (self.shifted(share, -1, 0.0) > 0.8) & (self.shifted(share, 1, 0.0) > 0.8)
        return np.where(between & self.near(self.missed_bytes > 0, 1, 1), 1.0, share)

    @cached_property
    def refill(self) -> Floats:
        """What was in flight when the sender began to send again, as a share of each round's most, over nine rounds."""
        echoed = self._mean_level(self.echoed_flight_bytes, self.echoed_ticks)
        return np.where(self.stamped, echoed, self.burst_level)

    @cached_property
    def burst_level(self) -> Floats:
        """What was in flight when a burst began, as a share of each round's most, over nine rounds.

        Each counts by what was acknowledged before it: a long burst is itself sent in pieces.
        """
        freed = self.burst_freed_bytes
        return self._mean_level(self.burst_flight_bytes * freed, freed)

    def _mean_level(self, flight: Floats, weight: Floats) -> Floats:
        """Mean over nine rounds of what was in flight, added up by weight, as a share of each round's most."""
        with np.errstate(divide="ignore", invalid="ignore"):
            millionths = np.round(1e6 * flight / self.flight_max_bytes)
            return self.beside(millionths) / self.beside(weight) / 1e6

    @cached_property
    def refill_high(self) -> Floats:
        """The same, less the segment by which a small buffer is not filled evenly."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.refill - self.mss / self.flight_max_bytes

    @cached_property
    def opening(self) -> Bools:
        """Slow start or about to be: doubling, or a first flight of the ten segments of RFC 6928."""
        first = (self.columns["round"] <= 1) & (self.flight_max_bytes >= 9 * self.mss)
        return self.doubling | first

    @cached_property
    def promptness(self) -> Floats:
        """Of the bursts, over nine rounds, the share that an acknowledgment started; NaN where it cannot be seen."""
        starts = self.beside(self.bursts + self.fresh_starts)
        prompt = self.beside(self.prompt_bursts + self.prompt_starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((self.direct | self.stamped) & (starts > 0), prompt / starts, np.nan)

    @cached_property
    def burst_periods_ns(self) -> tuple[Floats, Floats]:
        """Least and longest time from the begin of one burst to that of the next, over five rounds; NaN where none."""
        spans = range(-2, 3)
        least = np.fmin.reduce([self.shifted(self.burst_period_min_ns, by, np.nan) for by in spans])
        most = np.fmax.reduce([self.shifted(self.burst_period_max_ns, by, np.nan) for by in spans])
        return least, most

    @cached_property
    def ends_short(self) -> Floats:
        """Of the bursts, over nine rounds, the share that a short segment may have ended."""
        bursts = self.around(self.bursts + self.fresh_starts, 4)
        return np.minimum(self.around(self.small_segments, 4) / np.maximum(bursts, 1.0), 1.0)

    @cached_property
    def blocks(self) -> Floats:
        """Of the bursts, over nine rounds, the share that a short segment ended, if nearly none lay within a burst."""
        bursts = np.maximum(self.around(self.bursts + self.fresh_starts, 4), 1.0)
        within = self.around(self.small_segments, 4) > 1.2 * bursts
        return np.where(within, 0.0, self.around(self.short_ends, 4) / bursts)

    @cached_property
    def tightness(self) -> Floats:
        """Share of the round in which the window was as good as used up, with a real stall in it or beside it."""
        # Away from the sender the time of a stall is uncertain where acknowledgments are merged: reaching the edge tells.
        reached = ~self.direct & (self.usable_min_bytes < self.mss) & ~self.doubling
        stalled = self.near((self.share("stalled_ns") > 0.02) | reached, 1, 1)
        return np.where(stalled, self.share("tight_ns"), 0.0)
