"""The queue: how long packets waited on the path, for how much of the round, and on which side of the capture."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.rounds import HALF, MILLISECOND_NS, SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats, Rounds

__all__ = ["Queue", "least_rtt_ns"]

SLOW_START: Final = 4
"""Rounds of slow start that show how RTTs change as a flow grows."""
RISEN: Final = 0.3
"""Rise of the RTT, as a share of the largest, from which the flow itself filled the queue."""
CLOCK_NS: Final = 1.5e6
"""Queueing delay that exceeds the error of a timestamp clock of 1 ms."""
STANDING_PACKETS: Final = 1.5
"""Packets queued that make a standing queue: one is in transmission, and half a packet is the error of a rate."""
MERGED_SEGMENTS: Final = 3.5
"""Segments per ACK from which ACKs are merged on the way: a receiver acknowledges two, at times three."""
LEAST_SAMPLES: Final = 3
"""RTT samples of a round from which its least is one of several."""
DELAYED_ACK_NS: Final = 3e7
"""Wait above the minimum RTT from which an ACK was delayed: Linux delays by 40 ms (``TCP_DELACK_MIN``), less a tick."""
DELAYED_FLIGHTS: Final = 2
"""Flights acknowledged late that show a receiver's habit: one may have met a stall of the path."""
ABOVE_MINIMUM: Final = 1.2
"""RTT over the minimum from which it rose: RTTs of an empty path vary by less."""
FEW_PACKETS: Final = 3
"""Packets below which the forward direction has no queue: an ACK of two segments delays by two."""
MOSTLY: Final = 0.7
"""Share of a queueing delay on one side of the capture that is most of it. Clocks may err by a tick in a few."""
LITTLE: Final = 0.3
"""Share of a queueing delay that is little of it: the rest of `MOSTLY`."""


class Queue(Concept):
    """Queueing delay: the RTT above the minimum, which thresholds count in packets at the capacity."""

    name = "queue"

    @cached_property
    def rtt_min_ns(self) -> Floats:
        """Minimum RTT of the path: the least of all its flows, since a new flow meets the queue of earlier ones.

        Where the path has none, it is that of the flow's last round, since the core may drop early RTTs.
        """
        of_path = self.all.vantage.path_rtt_ns
        of_flow = self.rounds.per_flow(least_rtt_ns(self.rounds, self.all.vantage.initial_rtt_ns))
        return np.where(np.isnan(of_path), of_flow, of_path)

    @cached_property
    def rtt_ns(self) -> Floats:
        """Median RTT of the round; the minimum RTT where the round has no sample."""
        return np.where(np.isnan(self.rounds.rtt_ns), self.rtt_min_ns, self.rounds.rtt_ns)

    @field("ms")
    def delay(self) -> Floats:
        """Median RTT of the round above the minimum, in ms."""
        return np.maximum(self.rtt_ns - self.rtt_min_ns, 0.0) / MILLISECOND_NS

    def _when_sent(self, values: Floats) -> Floats:
        """Return values of the queue; those of the round before where a round only delivers what that one sent."""
        rounds = self.rounds
        silent = (rounds.sent_bytes + rounds.retransmitted_bytes == 0) & (rounds.delivered_bytes > 0)
        return np.where(silent, rounds.shifted(values, -1, np.nan), values)

    @cached_property
    def delay_p20_ns(self) -> Floats:
        """20th percentile of the queueing delay of the round's data, or of the data that the round delivers."""
        return self._when_sent(self.rounds.queueing_delay_p20_ns)

    @field("share")
    def share(self) -> Floats:
        """Share of the round in which packets queued.

        It is the union of the waits of the round's segments. Retransmissions have no RTT, so their time at the capacity
        is added. Where the sender is silent for longer than the wait, the rest of the silence has no queue.
        """
        rounds = self.rounds
        retransmission_ns = np.nan_to_num(
            rounds.ratio(rounds.retransmitted_bytes, self.all.rate.capacity) * SECOND_NS
        )
        wait_ns = np.fmax(rounds.rtt_ns, rounds.shifted(rounds.rtt_ns, -1, np.nan)) - self.rtt_min_ns
        idle_ns = np.maximum(rounds.silence_ns - np.nan_to_num(wait_ns), 0.0)
        most = np.maximum(1 - idle_ns / rounds.duration, 0.0)
        return np.clip(self._when_sent(rounds.share(rounds.queueing_ns + retransmission_ns)), 0.0, most)

    @field("packets")
    def packets(self) -> Floats:
        """Packets in the queue for four fifths of the round; 0 where unknown."""
        return np.nan_to_num(self.all.rate.packets(self.delay_p20_ns, self.all.rate.capacity))

    @property
    def beyond_clock(self) -> Bools:
        """Return whether the queueing delay exceeds the error of a timestamp clock."""
        long: Bools = self.delay_p20_ns >= CLOCK_NS
        return long

    @field("yes")
    def stands(self) -> Bools:
        """Did 1.5 packets or more queue for four fifths of the round, and for 1.5 ms or more away from the sender?"""
        sure = self.all.vantage.at_sender | self.beyond_clock
        stands: Bools = (self.packets >= STANDING_PACKETS) & sure
        return stands

    @field("packets")
    def risen_packets(self) -> Floats:
        """Packets in the queue for four fifths of the round, above the minimum RTT of data instead of the path's.

        The small packets of a handshake cross a slow link faster than data.
        """
        rounds = self.rounds
        data = np.where((rounds.round >= 1) & (rounds.sent_bytes > 0), rounds.rtt_min_ns, np.nan)
        rest_ns = np.maximum(self.delay_p20_ns - np.maximum(rounds.least(data) - self.rtt_min_ns, 0.0), 0.0)
        return np.nan_to_num(self.all.rate.packets(rest_ns, self.all.rate.capacity))

    @cached_property
    def _merging_packets(self) -> Floats:
        """Packets that pass while a merged ACK is held back; 0 if each ACK covers at most 3.5 segments.

        A middlebox or the receiver merges ACKs, and may hold one back for the time between two of them.
        """
        rounds, rate = self.rounds, self.all.rate
        acks = np.maximum(rounds.around(rounds.acks, 1), 1.0)
        merged = (
            rounds.around(rounds.delivered_bytes, 1) / acks > MERGED_SEGMENTS * self.all.vantage.mss_bytes
        )
        packets = rate.packets(rounds.around(rounds.duration, 1) / acks, rate.capacity)
        return np.where(merged, np.nan_to_num(packets), 0.0)

    @field("packets")
    def unmerged_packets(self) -> Floats:
        """Packets in the queue for four fifths of the round, less those that pass while an ACK is held back."""
        return self.packets - self._merging_packets

    @field("packets")
    def always_packets(self) -> Floats:
        """Packets in the queue at every RTT sample, less those that pass while an ACK is held back.

        0 with fewer than three samples, or if the least RTT of the round is at most 1.2 times the minimum.
        """
        rounds, rate = self.rounds, self.all.rate
        wait_ns = np.maximum(rounds.rtt_min_ns - self.rtt_min_ns, 0.0)
        sampled = (rounds.rtt_samples >= LEAST_SAMPLES) & (
            rounds.rtt_min_ns > ABOVE_MINIMUM * self.rtt_min_ns
        )
        packets = np.nan_to_num(rate.packets(wait_ns, rate.capacity)) - self._merging_packets
        return np.where(sampled, packets, 0.0)

    @field("yes")
    def delayed_ack(self) -> Bools:
        """Did one ACK, delayed by 30 ms or more, cover the whole flight of over 3.5 segments, twice or more in the flow?

        A receiver is to acknowledge every second full segment at once (RFC 9293 section 3.8.6.3). Segments that queue
        arrive one by one, so that each pair of them has an ACK.
        """
        rounds = self.rounds
        whole = (rounds.acks == 1) & (rounds.acked_bytes >= rounds.in_flight_max_bytes)
        many = rounds.acked_bytes > MERGED_SEGMENTS * self.all.vantage.mss_bytes
        late = whole & many & (rounds.rtt_max_ns - self.rtt_min_ns >= DELAYED_ACK_NS)
        delayed: Bools = late & (rounds.total(late.astype(np.float64)) >= DELAYED_FLIGHTS)
        return delayed

    @field("RTTs")
    def least_rtt(self) -> Floats:
        """Least RTT of the round over the minimum RTT of the path."""
        return self.rounds.ratio(self.rounds.rtt_min_ns, self.rtt_min_ns)

    @field("yes")
    def before_tap(self) -> Bools:
        """Was it captured behind the bottleneck: at the receiver, or with over 70 % of the queueing delay before it?"""
        rounds = self.rounds
        deep = self.beyond_clock & np.isfinite(rounds.forward_delay_p20_ns)
        late = rounds.total(np.where(deep, rounds.forward_delay_p20_ns, 0.0))
        queued = rounds.total(np.where(deep, self.delay_p20_ns, 0.0))
        behind: Bools = ~self.all.vantage.at_sender & (
            self.all.vantage.at_receiver | (late > MOSTLY * queued) & (queued > 0)
        )
        return behind

    @field("yes")
    def on_return_path(self) -> Bools:
        """Is the queue on the return path, where acknowledgments wait and data do not?

        The clocks of both ends (their TSvals) show it. Most of the delay lies between the receiver and the capture. Or
        the capture is at the receiver, and less than 0.3 of the delay lies before it.
        """
        rounds, vantage = self.rounds, self.all.vantage
        # The data of a round are acknowledged in it or in the next; near the sender, most of them in the next.
        reverse_delay_p20_ns: Floats = np.fmax(
            rounds.reverse_delay_p20_ns, rounds.shifted(rounds.reverse_delay_p20_ns, 1, np.nan)
        )
        # Three packets or more in the forward direction contradict it, unless a full window explains them: a middlebox
        # that merges acknowledgments delays them behind a busy link, too.
        few = (
            self.all.rate.packets(self.delay_p20_ns - reverse_delay_p20_ns, self.all.rate.capacity)
            < FEW_PACKETS
        )
        mostly = (
            few | (self.all.window.full_share > HALF) | (reverse_delay_p20_ns > MOSTLY * self.delay_p20_ns)
        )
        back = (reverse_delay_p20_ns > HALF * self.delay_p20_ns) & mostly
        no_forward_queue = vantage.at_receiver & (rounds.forward_delay_p20_ns < LITTLE * self.delay_p20_ns)
        return self.beyond_clock & (back | no_forward_queue)

    @field("yes")
    def before_flow(self) -> Bools:
        """Did the queue exist before the flow: did RTTs rise by less than 0.3 of the largest during its slow start?

        A flow that fills the link sees its RTTs rise; one that meets a full link sees high RTTs from the start (TCP
        congestion signatures, IMC 2017, section 3). So the least of them exceeds the path's minimum by 1.5 ms or more.
        Slow starts of fewer than four rounds do not count.
        """
        rounds = self.rounds
        grows = (rounds.round <= 1) | self.all.flight.doubling
        opening = rounds.until_not(grows & ~self.all.loss.signalled)
        least = rounds.least(np.where(opening, rounds.rtt_min_ns, np.nan))
        largest = -rounds.least(-np.where(opening, rounds.rtt_max_ns, np.nan))
        long = rounds.total(opening.astype(np.float64)) >= SLOW_START
        risen: Bools = rounds.ratio(largest - least, largest) >= RISEN
        return long & ~risen & (least - self.rtt_min_ns >= CLOCK_NS)

    @field("share")
    def silent(self) -> Floats:
        """Share of the round that its longest time without a packet takes."""
        return self.rounds.share(self.rounds.silence_ns)

    @field("share")
    def pauses(self) -> Floats:
        """Share of time in gaps between acknowledgments, beyond the spacing of the bottleneck.

        It is the share of the round or of three rounds, whichever is larger.
        """
        rounds = self.rounds
        near = rounds.around(rounds.ack_pauses_ns, 1) / rounds.around(rounds.duration, 1)
        return np.fmax(near, rounds.share(rounds.ack_pauses_ns))


def least_rtt_ns(rounds: Rounds, initial_rtt_ns: Floats) -> Floats:
    """Return the minimum RTT of each flow as of its last round, or the handshake's where its rounds have none."""
    known = np.where(np.isnan(rounds.flow_rtt_min_ns), initial_rtt_ns, rounds.flow_rtt_min_ns)
    last = known[np.append(rounds.starts, rounds.size)[1:] - 1]
    return np.where(np.isnan(last), rounds.least(known)[rounds.starts], last)
