"""The queue: how long packets waited on the way, for how much of the round, and on which side of the tap."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.rounds import SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats, Rounds

__all__ = ["Queue", "least_rtt_ns"]

SLOW_START: Final = 4
"""Rounds that show how RTTs move as a flow grows."""
RISEN: Final = 0.3
"""By how much of the largest RTT a queue raises it that the flow fills itself."""
CLOCK_NS: Final = 1.5e6
"""Queueing delay that a clock of 1 ms cannot feign."""


class Queue(Concept):
    """Queueing delay: RTT above the minimum, in packets at the capacity where it is compared."""

    name = "queue"

    @cached_property
    def rtt_min_ns(self) -> Floats:
        """Minimum RTT of the path, the least that its flows measured: a new flow meets the queue of those before it.

        As the last round of each knows it, since the core may drop what it took for RTTs at first.
        """
        path = self.all.vantage.path
        of_flow = self.rounds.per_flow(least_rtt_ns(self.rounds, self.all.vantage.initial_rtt_ns))
        least = np.full(path.max(initial=-1) + 1, np.nan)
        np.fmin.at(least, path, of_flow)
        return np.fmin(least[path], self.all.vantage.path_rtt_ns)

    @cached_property
    def rtt_ns(self) -> Floats:
        """Median RTT of the round; the minimum where it has none."""
        return np.where(np.isnan(self.rounds.rtt_ns), self.rtt_min_ns, self.rounds.rtt_ns)

    @field("ms")
    def delay(self) -> Floats:
        """Median RTT of the round above the minimum, ms."""
        return np.maximum(self.rtt_ns - self.rtt_min_ns, 0.0) / 1e6

    @field("share")
    def share(self) -> Floats:
        """Share of the round in which a queue stood.

        The union of the waits of its segments. What was retransmitted has no RTT to show it, but took its time at the
        capacity. No queue outlasts a longer silence of its sender.
        """
        rounds = self.rounds
        again_ns = np.nan_to_num(rounds.ratio(rounds.resent_bytes, self.all.rate.capacity) * SECOND_NS)
        wait_ns = np.fmax(rounds.rtt_ns, rounds.shifted(rounds.rtt_ns, -1, np.nan)) - self.rtt_min_ns
        idle_ns = np.maximum(rounds.silence_ns - np.nan_to_num(wait_ns), 0.0)
        most = np.maximum(1 - idle_ns / rounds.duration, 0.0)
        return np.clip((rounds.busy_ns + again_ns) / rounds.duration, 0.0, most)

    @field("packets")
    def packets(self) -> Floats:
        """Packets that stood in the queue for four fifths of the round; 0 where unknown."""
        return np.nan_to_num(self.all.rate.packets(self.rounds.queue_low_ns, self.all.rate.capacity))

    @property
    def beyond_clock(self) -> Bools:
        """Is the queueing delay longer than a tick of a timestamp clock could feign?"""
        long: Bools = self.rounds.queue_low_ns >= CLOCK_NS
        return long

    @field("yes")
    def stands(self) -> Bools:
        """Did a queue of a packet or more stand, and for a tick of the timestamp clock where RTTs are known to one?"""
        sure = self.all.vantage.at_sender | (self.rounds.queue_low_ns >= CLOCK_NS / 1.5)
        stands: Bools = (self.packets >= 1.5) & sure
        return stands

    @field("packets")
    def risen_packets(self) -> Floats:
        """Packets that stood for four fifths of the round, by the minimum RTT of data instead of the path's.

        The small packets of a handshake pass a slow link sooner.
        """
        rounds = self.rounds
        data = np.where((rounds.round >= 1) & (rounds.sent_bytes > 0), rounds.rtt_min_ns, np.nan)
        rest_ns = np.maximum(rounds.queue_low_ns - np.maximum(rounds.least(data) - self.rtt_min_ns, 0.0), 0.0)
        return np.nan_to_num(self.all.rate.packets(rest_ns, self.all.rate.capacity))

    @cached_property
    def _merging_packets(self) -> Floats:
        """Packets that pass while an acknowledgment of many waits to be merged; 0 where few are.

        What merges them, a middlebox or the receiver, may hold each for as long as lies between two of them.
        """
        rounds, rate = self.rounds, self.all.rate
        acks = np.maximum(rounds.around(rounds.acks, 1), 1.0)
        many = rounds.around(rounds.delivered_bytes, 1) / acks > 3.5 * self.all.vantage.mss_bytes
        packets = rate.packets(rounds.around(rounds.duration, 1) / acks, rate.capacity)
        return np.where(many, np.nan_to_num(packets), 0.0)

    @field("packets")
    def unmerged_packets(self) -> Floats:
        """Packets that stood for four fifths of the round, less those that pass while acknowledgments are merged."""
        return self.packets - self._merging_packets

    @field("packets")
    def always_packets(self) -> Floats:
        """Packets in the queue whenever one of this flow's came, less those that pass while acknowledgments are merged.

        0 where fewer than three RTTs tell, or the RTT never rose by a fifth: a single acknowledgment looks once.
        """
        rounds, rate = self.rounds, self.all.rate
        wait_ns = np.maximum(rounds.rtt_min_ns - self.rtt_min_ns, 0.0)
        looked = (rounds.rtt_samples >= 3) & (rounds.rtt_min_ns > 1.2 * self.rtt_min_ns)
        packets = np.nan_to_num(rate.packets(wait_ns, rate.capacity)) - self._merging_packets
        return np.where(looked, packets, 0.0)

    @field("RTTs")
    def least_rtt(self) -> Floats:
        """Least RTT of the round, in minimum RTTs of the flow."""
        return self.rounds.ratio(self.rounds.rtt_min_ns, self.rtt_min_ns)

    @field("yes")
    def before_tap(self) -> Bools:
        """Was the capture taken behind the bottleneck: at the receiver, or where data come as late as they queued?"""
        rounds = self.rounds
        deep = self.beyond_clock & np.isfinite(rounds.forth_ns)
        late = rounds.total(np.where(deep, rounds.forth_ns, 0.0))
        queued = rounds.total(np.where(deep, rounds.queue_low_ns, 0.0))
        behind: Bools = ~self.all.vantage.at_sender & (
            self.all.vantage.at_receiver | (late > 0.7 * queued) & (queued > 0)
        )
        return behind

    @field("yes")
    def on_return_path(self) -> Bools:
        """Does the queue stand on the way back, where acknowledgments wait and data do not?

        By the clocks of both ends (their TSvals): waits before the tap on the way back, or none before a tap at the
        receiver on the way out.
        """
        rounds, vantage = self.rounds, self.all.vantage
        # What was sent in a round is acknowledged in the next, as the sender sees it.
        back_ns = np.where(vantage.at_sender, rounds.shifted(rounds.back_ns, 1, np.nan), rounds.back_ns)
        # Where no full window is the rest's reason, a few packets more waited on the way out: a middlebox that merges
        # acknowledgments makes them wait behind a busy link, too.
        few = self.all.rate.packets(rounds.queue_low_ns - back_ns, self.all.rate.capacity) < 3
        mostly = few | (self.all.window.full_share > 0.5) | (back_ns > 0.7 * rounds.queue_low_ns)
        back = (back_ns > 0.5 * rounds.queue_low_ns) & mostly
        no_way_out = vantage.at_receiver & (rounds.forth_ns < 0.3 * rounds.queue_low_ns)
        return self.beyond_clock & (back | no_way_out)

    @field("yes")
    def before_flow(self) -> Bools:
        """Was the queue there before the flow came, by its slow start: did RTTs rise by less than 0.3 of the largest?

        A flow that fills the link itself sees RTTs rise as it does; who meets a full one sees them high from the start
        (TCP congestion signatures, IMC 2017, section 3). Asked of slow starts of four rounds and more.
        """
        rounds = self.rounds
        grows = (rounds.round <= 1) | self.all.flight.doubling
        opening = rounds.until_not(grows & ~self.all.loss.signalled)
        least = rounds.least(np.where(opening, rounds.rtt_min_ns, np.nan))
        largest = -rounds.least(-np.where(opening, rounds.rtt_max_ns, np.nan))
        long = rounds.total(opening.astype(np.float64)) >= SLOW_START
        risen: Bools = rounds.ratio(largest - least, largest) >= RISEN
        return long & ~risen

    @field("share")
    def pauses(self) -> Floats:
        """Share of the round in pauses between acknowledgments longer than the bottleneck's spacing explains.

        Of the round, or of three: the larger.
        """
        rounds = self.rounds
        near = rounds.around(rounds.pauses_ns, 1) / rounds.around(rounds.duration, 1)
        return np.fmax(near, rounds.share(rounds.pauses_ns))


def least_rtt_ns(rounds: Rounds, initial_rtt_ns: Floats) -> Floats:
    """Return the least RTT of each flow, as its last round knows it; of the handshake where its rounds have none."""
    known = np.where(np.isnan(rounds.rtt_floor_ns), initial_rtt_ns, rounds.rtt_floor_ns)
    last = known[np.append(rounds.starts, rounds.size)[1:] - 1]
    return np.where(np.isnan(last), rounds.least(known)[rounds.starts], last)
