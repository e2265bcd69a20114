"""Rates: what the flow delivered, what the bottleneck passes, and how much of that was used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.rounds import SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Rate"]

SAME: Final = 0.05
"""Rates that differ by less are taken for one."""
FIRST_BURSTS: Final = 5
"""Rounds whose bursts show the bottleneck's rate: later, a full window or a pacing sender may have spread the packets."""
BEARING_OUT: Final = 12
"""Rounds among which a second burst must bear out the first."""


class Rate(Concept):
    """Delivery rates in bytes per second, and their ratios to the bottleneck's."""

    name = "rate"

    @cached_property
    def smooth(self) -> Floats:
        """Delivery rate over the round and its neighbours: acknowledgments do not come evenly."""
        return self.rounds.rate_around(self.rounds.delivered_bytes, 1)

    @cached_property
    def long(self) -> Floats:
        """Delivery rate over the round and those beside it with as much in flight."""
        return self.rounds.rate_beside(self.rounds.delivered_bytes)

    @cached_property
    def moving_ns(self) -> Floats:
        """Length of the rounds that delivered something; 0 for others."""
        return self.moving(self.rounds.delivered_bytes)

    def moving(self, delivered: Floats) -> Floats:
        """Length of the rounds in which this much was delivered, if anything was and the flow was not idle; else 0."""
        return np.where(~self.all.writes.idle & (delivered > 0), self.rounds.duration, 0.0)

    def percentile(
        self, at_sender: tuple[Floats, float], from_afar: tuple[Floats, float], moving_ns: Floats
    ) -> Floats:
        """Percentiles of rates, weighed by time: of one where the sender's state is seen, of the other elsewhere."""
        seen, reconstructed = (
            self.rounds.percentile(values, moving_ns, part) for values, part in (at_sender, from_afar)
        )
        return np.where(self.all.vantage.at_sender, seen, reconstructed)

    @cached_property
    def capacity(self) -> Floats:
        """Rate of the bottleneck as far as the flow shows it.

        What it reached for whole rounds, and over runs of packets (the median of a round's runs). High percentiles,
        not the largest: rates jump after a recovery. Away from the sender round boundaries, and so rates, are less
        exact: averaged longer, and lower percentiles.
        """
        run_rate = self.rounds.run_rate
        whole = self.percentile((self.smooth, 0.95), (self.long, 0.9), self.moving_ns)
        runs = self.percentile((run_rate, 0.75), (run_rate, 0.6), self.moving_ns)
        # Acknowledgments that a path delivers in clumps make runs as fast as clocks can tell.
        return self.without_jumps(np.fmin(np.fmax(whole, runs), 2 * whole))

    def without_jumps(self, rate: Floats) -> Floats:
        """A little above the rate of the initial bursts: a jump, though a percentile. Far above, it is another by now."""
        usual = self.rounds.percentile(self.rounds.spacing_rate, self.moving_ns, 0.5)
        passed = np.where(np.isnan(self.initial_burst), usual, self.initial_burst)
        return np.where((rate > passed) & (rate < 1.2 * passed), passed, rate)

    @field("share")
    def utilization(self) -> Floats:
        """Delivery rate over the capacity; 0 where that is unknown.

        Over three rounds, or over nine if that is more: a packet more or less shows in three.
        """
        return np.nan_to_num(self.rounds.ratio(np.fmax(self.smooth, self.long), self.capacity))

    @field("share")
    def tap_utilization(self) -> Floats:
        """Share of three rounds that the bottleneck needed for what passed a tap behind it."""
        rounds = self.rounds
        passed = rounds.rate_around(rounds.sent_bytes + rounds.resent_bytes, 1)
        share = rounds.ratio(passed, np.fmax(self.capacity, self.initial_burst))
        return np.where(self.all.queue.before_tap, np.minimum(share, 1.0), np.nan)

    @field("ratio")
    def ack_spacing(self) -> Floats:
        """Delivery rate over three rounds, over the rate at which half of the bytes were acknowledged, or faster.

        1 where acknowledgments keep the spacing that a busy bottleneck gave the packets; less where the flow pauses.
        """
        return self.rounds.ratio(self.smooth, self.rounds.spacing_rate)

    @cached_property
    def _bursts(self) -> tuple[Floats, Floats]:
        """Spacing rates of the initial bursts, and of what may bear them out, a row per flow."""
        rounds = self.rounds
        rate, number = rounds.spacing_rate, rounds.round
        waiting = self.packets(rounds.queue_low_ns, rate)
        # More than were sent cannot have waited at this rate: they were held up, and came all at once.
        paused = (rounds.share(rounds.pauses_ns) > 0.25) & ~(waiting > rounds.sent_segments)
        # Packets that come evenly bear out nothing, unless they come from a queue.
        queued = waiting > 4
        first = rounds.first(rate, FIRST_BURSTS, paused & (number < FIRST_BURSTS))
        return first, rounds.first(rate, BEARING_OUT, (paused | queued) & (number < BEARING_OUT))

    def packets(self, wait_ns: Floats, rate: Floats) -> Floats:
        """Packets that a bottleneck of this rate passes on meanwhile."""
        packets: Floats = wait_ns * rate / self.all.vantage.mss_bytes / SECOND_NS
        return packets

    @cached_property
    def highest_burst(self) -> Floats:
        """Highest rate of the initial bursts, borne out or not; NaN where none was seen."""
        return self.rounds.per_flow(np.fmax.reduce(self._bursts[0], axis=1))

    @cached_property
    def initial_burst(self) -> Floats:
        """Rate at which the bottleneck passed on the bursts of the first round trips; NaN where none was seen.

        Of the bursts' rates the highest that another of the first rounds bears out, or the highest; of those alike, the
        median.
        """
        bursts, others = self._bursts
        best = np.full(len(bursts), np.nan)
        seen = np.isfinite(bursts).any(axis=1)  # of most short flows nothing is
        bursts, others = bursts[seen], others[seen]
        alike = np.abs(bursts[:, :, None] - others[:, None, :]) <= SAME * bursts[:, :, None]
        borne_out: Floats = np.fmax.reduce(np.where(alike.sum(axis=2) > 1, bursts, np.nan), axis=1)
        top = np.where(np.isnan(borne_out), np.fmax.reduce(bursts, axis=1), borne_out)[:, None]
        same = np.abs(bursts - top) <= SAME * top
        best[seen] = np.nanmedian(np.where(same, bursts, np.nan), axis=1)
        return self.rounds.per_flow(best)

    @field("ratio")
    def over_initial(self) -> Floats:
        """Delivery rate, over three rounds or nine, over that of the initial bursts; 1 where none was seen."""
        rate = np.maximum(self.smooth, self.long)
        return np.nan_to_num(self.rounds.ratio(rate, self.initial_burst), nan=1.0)

    @field("ratio")
    def over_highest(self) -> Floats:
        """Delivery rate over that of the fastest initial burst, or over their usual rate: the smaller; 1 without bursts.

        A pacing sender's bursts bear each other out: the fastest counts, from afar less what ten packets miss it by.
        """
        far = np.where(self.all.vantage.at_sender, 0.0, 0.04)
        return np.fmin(self.over_initial, self.rounds.ratio(self.smooth, self.highest_burst) + far)

    @field("ratio")
    def window_over_link(self) -> Floats:
        """Share of the bottleneck's rate that a full window uses: the mean of `over_initial` and `ack_spacing`."""
        used: Floats = (self.over_initial + self.ack_spacing) / 2
        return used

    @field("yes")
    def proven(self) -> Bools:
        """Did a queue of three packets, at 0.9 of the capacity, once stand for 3 % of the flow's moving time?"""
        rounds, queue = self.rounds, self.all.queue
        shows = (queue.risen_packets >= 3) & queue.beyond_clock & (self.utilization >= 0.9)
        proof = rounds.total(np.where(shows, rounds.duration, 0.0))
        moving = rounds.total(np.where(self.all.writes.idle, 0.0, rounds.duration))
        proven: Bools = proof > 0.03 * moving
        return proven
