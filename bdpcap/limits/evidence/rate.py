"""Rates: the delivery rate of the flow, the rate of the bottleneck, and the share of it in use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.rounds import HALF, SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["HIGH", "NEAR_HIGHEST", "Rate"]

SAME: Final = 0.05
"""Relative difference up to which two rates count as equal."""
TICKS: Final = 10
"""Ticks of the capture's clock that a span lasts at least to show a rate: its length is known to a tick, a tenth then."""
RUN_PACKETS: Final = 16
"""Packets of a run over which the core measures `delivery_rate`, at least."""
FIRST_BURSTS: Final = 5
"""Rounds whose bursts show the bottleneck's rate: later, a full window or pacing may have spread the packets."""
CONFIRMING: Final = 12
"""Rounds among which a second burst must confirm the first."""
NEAR_HIGHEST: Final = 0.95
"""Part of the time below the percentile that counts as the highest rate: the maximum includes jumps after a recovery."""
HIGH: Final = 0.9
"""Counterpart of `NEAR_HIGHEST` away from the sender, where the boundaries of rounds are less exact."""
HIGH_RUN: Final = 0.75
"""Part of the time below the percentile that counts as the highest rate over runs of packets, which vary more."""
HIGH_RUN_FAR: Final = 0.6
"""Counterpart of `HIGH_RUN` away from the sender."""
JUMP: Final = 1.2
"""Rate over that of the initial bursts up to which an excess is a jump after a recovery, not another bottleneck."""
EXCEEDED: Final = 1.25
"""Delivery rate over the capacity from which that is none: the ends of a round are known to a tenth each."""
PAUSED: Final = 0.25
"""Share of a round in pauses between acknowledgments that separate its bursts."""
QUEUED_PACKETS: Final = 4
"""Packets queued from which the queue, not the sender, spaced the packets: two ACKs of two segments."""
FAR_ERROR: Final = 0.04
"""Error of a rate over ten packets away from the sender, as a share: half a tick of 1 ms in 12 ms."""
PROVING_PACKETS: Final = 3
"""Packets queued that prove the capacity: an ACK of two segments delays by two."""
PROVING_RATE: Final = 0.9
"""Utilization at which a queue proves the capacity, since rounds that begin in slow start are slower."""
PROVING_SHARE: Final = 0.03
"""Share of the time, idle time left out, that proves the capacity: one round in some thirty."""


class Rate(Concept):
    """Delivery rates in bytes per second, and their ratios to the bottleneck's rate."""

    name = "rate"

    @cached_property
    def spacing(self) -> Floats:
        """Rate that the spacing of acknowledgments shows.

        It is the rate at which half of the bytes were acknowledged, or faster. Where only arrivals show rates, it is that
        over stretches of acknowledgments, if there are some: an interface that coalesces interrupts changes single gaps.
        A rate is unknown if the clock is too coarse for the time that half of the bytes took.
        """
        steady = np.where(self.all.ack_clock.unseen, self.rounds.ack_steady_rate, np.nan)
        rate = np.where(np.isnan(steady), self.rounds.ack_spacing_rate, steady)
        return self._timed(rate, HALF * self.rounds.delivered_bytes)

    @cached_property
    def timed_ns(self) -> Floats:
        """Shortest time that the clock of the capture measures well enough for a rate."""
        shortest: Floats = TICKS * self.all.vantage.tick_ns
        return shortest

    def _timed(self, rate: Floats, amount_bytes: Floats) -> Floats:
        """Return the rates, without those at which these bytes take less than `timed_ns`."""
        short = (amount_bytes > 0) & (amount_bytes * SECOND_NS < rate * self.timed_ns)
        return np.where(short, np.nan, rate)

    @cached_property
    def smooth(self) -> Floats:
        """Delivery rate over three rounds, since acknowledgments do not arrive evenly."""
        return self.rounds.rate_around(self.rounds.delivered_bytes, 1)

    @cached_property
    def long(self) -> Floats:
        """Delivery rate over up to nine rounds of similar flight."""
        return self.rounds.rate_around_similar(self.rounds.delivered_bytes)

    @cached_property
    def moving_ns(self) -> Floats:
        """Length of the round if it delivered data and was not idle; else 0."""
        return self.moving(self.rounds.delivered_bytes)

    def moving(self, delivered: Floats) -> Floats:
        """Return the length of each round that is not idle and has a positive entry in `delivered`; else 0."""
        return np.where(~self.all.writes.idle & (delivered > 0), self.rounds.duration, 0.0)

    def percentile(
        self, at_sender: tuple[Floats, float], from_afar: tuple[Floats, float], moving_ns: Floats
    ) -> Floats:
        """Return percentiles of rates, weighted by time.

        Parameters
        ----------
        at_sender, from_afar
            Rates, and the part below the percentile: for a tap at the sender, and for one elsewhere.
        moving_ns
            Weights.
        """
        seen, reconstructed = (
            self.rounds.percentile(values, moving_ns, part) for values, part in (at_sender, from_afar)
        )
        return np.where(self.all.vantage.at_sender, seen, reconstructed)

    @cached_property
    def capacity(self) -> Floats:
        """Rate of the bottleneck, as far as the flow shows it.

        It is the larger of two high percentiles: of the rate over rounds, and of the rounds' median rate over runs of
        packets. The maximum would include jumps after a recovery. Away from the sender, the boundaries of rounds are less
        exact, so the average is longer and the percentiles are lower.
        """
        run_rate = self._timed(self.rounds.delivery_rate, RUN_PACKETS * self.all.vantage.mss_bytes)
        run_rate = np.where(self.all.ack_clock.unseen, np.fmin(run_rate, self.spacing), run_rate)
        timed = self.rounds.around(self.rounds.duration, 1) >= self.timed_ns
        smooth, long = (np.where(timed, rate, np.nan) for rate in (self.smooth, self.long))
        whole = self.percentile((smooth, NEAR_HIGHEST), (long, HIGH), self.moving_ns)
        runs = self.percentile((run_rate, HIGH_RUN), (run_rate, HIGH_RUN_FAR), self.moving_ns)
        # Acknowledgments that arrive in clumps make the rate over runs arbitrarily high.
        return self.without_jumps(np.fmin(np.fmax(whole, runs), 2 * whole))

    def without_jumps(self, rate: Floats) -> Floats:
        """Return a rate, or that of the initial bursts if the rate is less than 20 % higher.

        Such an excess is a jump after a recovery; a larger one means that the bottleneck has changed. Without initial
        bursts, the median of the spacing rates stands in for them.
        """
        usual = self.rounds.percentile(self.spacing, self.moving_ns, HALF)
        burst = np.where(np.isnan(self.initial_burst), usual, self.initial_burst)
        return np.where((rate > burst) & (rate < JUMP * burst), burst, rate)

    @field("share")
    def utilization(self) -> Floats:
        """Delivery rate over the capacity; 0 where that is unknown.

        The rate is that over three rounds or over nine, whichever is larger: over three, a single packet matters.
        """
        return np.nan_to_num(self.rounds.ratio(np.fmax(self.smooth, self.long), self.capacity))

    @field("yes")
    def exceeded(self) -> Bools:
        """Is the delivery rate a quarter above the capacity or more?"""
        exceeded: Bools = self.utilization >= EXCEEDED
        return exceeded

    @field("yes")
    def alone(self) -> Bools:
        """Did the round take half of the time or data of its flow, or more? No other shows then whether it was full."""
        rounds = self.rounds
        parts = (rounds.sent_bytes, rounds.delivered_bytes, self.moving_ns)
        alone: Bools = np.any([(part > 0) & (2 * part >= rounds.total(part)) for part in parts], axis=0)
        return alone

    @field("share")
    def tap_utilization(self) -> Floats:
        """Share of three rounds that the bottleneck needed for the bytes captured behind it; else unknown."""
        rounds = self.rounds
        passed = rounds.rate_around(rounds.sent_bytes + rounds.retransmitted_bytes, 1)
        share = rounds.ratio(passed, np.fmax(self.capacity, self.initial_burst))
        return np.where(self.all.queue.before_tap, np.minimum(share, 1.0), np.nan)

    @field("ratio")
    def ack_spacing(self) -> Floats:
        """Delivery rate over three rounds, over the rate at which half of the bytes were acknowledged, or faster.

        It is 1 if acknowledgments keep the spacing that a busy bottleneck gave the packets, and less if the flow pauses.
        """
        return self.rounds.ratio(self.smooth, self.spacing)

    @cached_property
    def _bursts(self) -> tuple[Floats, Floats]:
        """Spacing rates of the initial bursts, and of the rounds that may confirm them; a row per flow."""
        rounds = self.rounds
        rate, number = self.spacing, rounds.round
        waiting = self.packets(rounds.queueing_delay_p20_ns, rate)
        # More packets than were sent cannot have queued at this rate: they were held back and released at once.
        paused = (rounds.share(rounds.ack_pauses_ns) > PAUSED) & ~(waiting > rounds.sent_segments)
        # Evenly spaced packets confirm no rate, unless a queue spaced them.
        queued = waiting > QUEUED_PACKETS
        initial = paused & (number < FIRST_BURSTS)
        # Arrivals in clumps change the rate of a burst that is too short for a stretch.
        stretch = initial & (rate == rounds.ack_steady_rate)
        initial &= stretch | (rounds.total(stretch.astype(np.float64)) == 0)
        first = rounds.first(rate, FIRST_BURSTS, initial)
        return first, rounds.first(rate, CONFIRMING, (paused | queued) & (number < CONFIRMING))

    def packets(self, wait_ns: Floats, rate: Floats) -> Floats:
        """Return the number of packets that a bottleneck of this rate forwards in a time."""
        packets: Floats = wait_ns * rate / self.all.vantage.mss_bytes / SECOND_NS
        return packets

    @cached_property
    def highest_burst(self) -> Floats:
        """Highest rate of the initial bursts, confirmed or not; NaN where none was seen."""
        return self.rounds.per_flow(np.fmax.reduce(self._bursts[0], axis=1))

    @cached_property
    def usual_burst(self) -> Floats:
        """Median rate of the initial bursts, confirmed or not; NaN where none was seen."""
        bursts = self._bursts[0]
        usual = np.full(len(bursts), np.nan)
        seen = np.isfinite(bursts).any(axis=1)
        usual[seen] = np.nanmedian(bursts[seen], axis=1)
        return self.rounds.per_flow(usual)

    @cached_property
    def initial_burst(self) -> Floats:
        """Rate at which the bottleneck forwarded the bursts of the first rounds; NaN where none was seen.

        It is the highest rate of a burst that another of the first rounds confirms, or else the highest rate. Bursts
        within 5 % of that count by their median.
        """
        bursts, others = self._bursts
        best = np.full(len(bursts), np.nan)
        seen = np.isfinite(bursts).any(axis=1)  # most short flows show no burst
        bursts, others = bursts[seen], others[seen]
        equal = np.abs(bursts[:, :, None] - others[:, None, :]) <= SAME * bursts[:, :, None]
        confirmed: Floats = np.fmax.reduce(np.where(equal.sum(axis=2) > 1, bursts, np.nan), axis=1)
        top = np.where(np.isnan(confirmed), np.fmax.reduce(bursts, axis=1), confirmed)[:, None]
        same = np.abs(bursts - top) <= SAME * top
        best[seen] = np.nanmedian(np.where(same, bursts, np.nan), axis=1)
        return self.rounds.per_flow(best)

    @field("ratio")
    def over_initial(self) -> Floats:
        """Delivery rate over that of the initial bursts; 1 without bursts.

        The delivery rate is that over three rounds or over nine, whichever is larger.
        """
        rate = np.maximum(self.smooth, self.long)
        return np.nan_to_num(self.rounds.ratio(rate, self.initial_burst), nan=1.0)

    @field("ratio")
    def over_highest(self) -> Floats:
        """`over_initial`, or the delivery rate over that of the fastest initial burst: the smaller; 1 without bursts.

        The bursts of a pacing sender confirm each other at too low a rate, so the fastest counts. Where only arrivals
        show rates, coalesced interrupts make one burst too fast, so the median counts. Away from the sender, 0.04 is
        added for the error of a rate over ten packets.
        """
        burst = np.where(self.all.ack_clock.unseen, self.usual_burst, self.highest_burst)
        far = np.where(self.all.vantage.at_sender, 0.0, FAR_ERROR)
        return np.fmin(self.over_initial, self.rounds.ratio(self.smooth, burst) + far)

    @field("ratio")
    def window_over_link(self) -> Floats:
        """Share of the bottleneck's rate that a full window uses: the mean of `over_initial` and `ack_spacing`."""
        used: Floats = (self.over_initial + self.ack_spacing) / 2
        return used

    @field("yes")
    def proven(self) -> Bools:
        """Did three packets or more queue, at 0.9 of the capacity or more, for over 3 % of the time that is not idle?"""
        rounds, queue = self.rounds, self.all.queue
        shows = (
            (queue.risen_packets >= PROVING_PACKETS) & queue.beyond_clock & (self.utilization >= PROVING_RATE)
        )
        proof = rounds.total(np.where(shows, rounds.duration, 0.0))
        moving = rounds.total(np.where(self.all.writes.idle, 0.0, rounds.duration))
        proven: Bools = proof > PROVING_SHARE * moving
        return proven
