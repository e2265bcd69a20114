"""The core's counts of every round: one declared field for each column of `bdpcap._core.Analysis.rounds`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bdpcap.tables.columns import floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Column", "Counts"]

Values = TypeVar("Values")


class Column(cached_property[Values]):
    """A column of the core under its own name, converted when it is first read."""

    def __init__(self, convert: Callable[[NDArray[Any]], Values]) -> None:
        super().__init__(lambda counts: convert(counts.columns[self.attrname]))


def integers(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return a column without absent values as signed integers."""
    return values.astype(np.int64, copy=False)


@dataclass(frozen=True)
class Counts:
    """Counts, times and sizes of rounds, an entry per round; NaN where nothing was measured.

    A burst is the data sent after a pause of half the burst gap. The burst gap is a tenth of the minimum RTT, at least
    0.3 ms and at most 2 ms.
    """

    columns: dict[str, np.ndarray]
    """The core's columns, sorted by flow and round; the least 64-bit integer is absent."""

    stream = Column(integers)
    """Number of the stream."""
    direction = Column(integers)
    """0 for data of the client, 1 for data of the server."""
    round = Column(integers)
    """Number of the round in its flow, from 0."""
    first_frame = Column(integers)
    """First frame of the round."""
    last_frame = Column(integers)
    """Last frame of the round."""

    start_ns = Column(floats)
    """Start by the sender's clock, in nanoseconds since the epoch; the end of the round before."""
    end_ns = Column(floats)
    """End by the sender's clock, in nanoseconds since the epoch."""
    length_ns = Column(floats)
    """Length by the clock of the capture, which all durations below use."""
    after_fin = Column(floats)
    """1 if the sender had sent its FIN before the round, else 0."""
    turn = Column(integers)
    """Of a round with nothing in flight: 1 if it ended with payload of the peer, with the FIN or with the flow; 2 if the
    latest payload before its end was the peer's; else 0."""

    sent_bytes = Column(floats)
    """Payload bytes sent for the first time."""
    sent_segments = Column(floats)
    """Packets of at most one MSS that hold `sent_bytes`."""
    retransmitted_bytes = Column(floats)
    """Payload bytes retransmitted."""
    retransmitted_segments = Column(floats)
    """Packets of at most one MSS that hold `retransmitted_bytes`."""
    short_segments = Column(floats)
    """Segments sent whose payload is no multiple of the MSS."""

    acked_bytes = Column(floats)
    """Captured bytes by which SND.UNA advanced."""
    delivered_bytes = Column(floats)
    """Captured bytes acknowledged or SACKed for the first time."""
    acks = Column(floats)
    """ACKs that acknowledged or SACKed new bytes."""
    answered_acks = Column(floats)
    """Number of `acks` that data followed within a millisecond."""
    ack_tsvals = Column(floats)
    """TSvals of `acks` that differ from the one before: ticks of the receiver's timestamp clock (RFC 7323)."""
    answered_tsvals = Column(floats)
    """TSecrs of data that differ from the one before: ticks whose ACKs the sender answered."""
    acks_with_payload = Column(floats)
    """Acknowledgments that carried payload of the peer."""
    duplicate_acks = Column(floats)
    """Duplicate acknowledgments."""
    congestion_echoes = Column(floats)
    """ACKs with ECN-Echo set (RFC 3168)."""

    in_flight_max_bytes = Column(floats)
    """Largest number of bytes in flight."""
    in_flight_mean_bytes = Column(floats)
    """Bytes in flight, averaged over time."""
    window_min_bytes = Column(floats)
    """Smallest window in force."""
    window_max_bytes = Column(floats)
    """Largest window in force."""
    usable_window_min_bytes = Column(floats)
    """Smallest usable window after a send."""
    empty_ns = Column(floats)
    """Time with nothing in flight."""
    window_blocked_ns = Column(floats)
    """Time with less than one MSS usable, or half of the window if that is less."""
    window_full_ns = Column(floats)
    """Time with less than an eighth of the window usable; includes `window_blocked_ns`."""
    zero_window_ns = Column(floats)
    """Time with a window below one MSS, or below half of the largest window if that is less."""

    rtt_samples = Column(floats)
    """RTT samples of segments sent in the round."""
    rtt_min_ns = Column(floats)
    """Smallest RTT of the samples."""
    rtt_ns = Column(floats)
    """Median RTT of the samples."""
    rtt_max_ns = Column(floats)
    """Largest RTT of the samples."""
    flow_rtt_min_ns = Column(floats)
    """Minimum RTT of the flow so far."""
    queueing_delay_p20_ns = Column(floats)
    """20th percentile of the queueing delay: the RTT of a sample less `flow_rtt_min_ns`."""
    queueing_ns = Column(floats)
    """Time for which at least one segment waited in a queue on the path."""

    delivery_rate = Column(floats)
    """Median delivery rate over runs of 16 packets, in bytes per second."""
    ack_spacing_rate = Column(floats)
    """Rate at which half of the bytes were acknowledged, or faster, in bytes per second."""
    ack_steady_rate = Column(floats)
    """Rate over stretches of ACKs without a long gap, in bytes per second; known away from the sender."""
    ack_pauses_ns = Column(floats)
    """Time between ACKs in excess of `ack_spacing_rate`, in gaps of more than three times the expected length."""
    forward_delay_p20_ns = Column(floats)
    """20th percentile of the excess one-way delay from the sender to the tap."""
    reverse_delay_p20_ns = Column(floats)
    """20th percentile of the excess one-way delay from the receiver to the tap."""

    after_short_ns = Column(floats)
    """Time after a segment counted in `short_segments` without a further send, and with room in the window."""
    own_time_bytes = Column(floats)
    """Payload bytes in bursts that began more than a burst gap after the latest ACK, reply or window update."""
    empty_starts = Column(floats)
    """Sends of new data with nothing in flight, except the first of the flow."""
    bursts = Column(floats)
    """Bursts that began with data in flight."""
    short_ends = Column(floats)
    """Number of `bursts` and `empty_starts` before which the last segment was small."""
    burst_freed_bytes = Column(floats)
    """Bytes acknowledged in the pauses before `bursts` and `empty_starts`."""
    burst_wait_ns = Column(floats)
    """Mean time from the latest ACK to `bursts` and `empty_starts`, weighted by `burst_freed_bytes`."""
    bursts_after_payload = Column(floats)
    """Number of `bursts` and `empty_starts` whose latest ACK carried payload."""
    burst_period_min_ns = Column(floats)
    """Shortest time from one of `bursts` and `empty_starts` to the next."""
    burst_period_max_ns = Column(floats)
    """Longest time from one of `bursts` and `empty_starts` to the next."""
    silence_ns = Column(floats)
    """Longest time without a send."""
    writer_blocked_ns = Column(floats)
    """Time between two sends if the first ACK since stayed unanswered for 1 ms (3 ms away from the sender)."""
    writer_blocked_max_ns = Column(floats)
    """Longest such wait that ended in the round."""

    reordered = Column(floats)
    """Segments that later ones overtook on the path."""
    timeouts = Column(floats)
    """Retransmissions at least 200 ms after both the previous send and the latest ACK."""
    unseen_bytes = Column(floats)
    """Acknowledged bytes that the capture lacks."""
    time_reversals = Column(floats)
    """Frames of the flow with a time earlier than that of the frame before."""
