"""One-way delays between the taps, and the place of the queue: forward path, reverse path, or beyond a tap.

A queueing delay is a delay less the smallest one of its direction, so the error of the clocks' offset cancels out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.tables import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DELAYS", "WHERE", "Delays", "row"]

WHERE: Final = ("forward", "reverse", "beyond", "nowhere")
_SHARE: Final = 0.1
"""Smallest delay that counts as a queue, as a share of the smallest round trip between the taps; see `_LEAST_NS`."""
_LEAST_NS: Final = 1_000_000
"""Smallest delay that counts as a queue: batched interrupts and schedulers also cause delays below a millisecond."""

DELAYS: Final[dict[str, Column]] = {
    "stream": Column("int64", "stream in the sender's capture"),
    "sender": Column("str", "address:port that sent the data, as in the sender's capture"),
    "packets": Column("int64", "data packets timed in both captures"),
    "acknowledgments": Column("int64", "acknowledgments timed in both captures"),
    "acknowledgments_lost": Column(
        "int64", "acknowledgments without data that are in the receiver's capture and not in the sender's"
    ),
    "forward_min_ns": Column(
        "Float64", "least delay of data between the captures; off by the offset's error at most"
    ),
    "forward_median_ns": Column("Float64", "median delay of data; off by the offset's error at most"),
    "forward_p95_ns": Column(
        "Float64", "delay that 95 % of the data do not exceed; off by the offset's error at most"
    ),
    "reverse_min_ns": Column(
        "Float64", "least delay of acknowledgments between the captures; off by the offset's error at most"
    ),
    "reverse_median_ns": Column(
        "Float64", "median delay of acknowledgments; off by the offset's error at most"
    ),
    "reverse_p95_ns": Column(
        "Float64", "delay that 95 % of the acknowledgments do not exceed; off by the offset's error at most"
    ),
    "forward_queue_ns": Column(
        "Float64", "median queueing delay of data between the captures; no offset is in it"
    ),
    "reverse_queue_ns": Column("Float64", "median queueing delay of acknowledgments; no offset is in it"),
    "beyond_queue_ns": Column(
        "Float64",
        "median of the rest of the RTT above its least: at the receiver, or between it and its capture",
    ),
    "queue": Column("str", "where most of the queueing delay arises; nowhere if it is short", WHERE),
}
"""Columns of the table of delays, with one row for each flow that passed both taps."""


@dataclass(frozen=True)
class Delays:
    """Delays of one flow between the taps in nanoseconds, and the times at the first tap, by the sender's clock."""

    forward_at_ns: NDArray[np.int64]
    forward_ns: NDArray[np.float64]
    reverse_at_ns: NDArray[np.int64]
    reverse_ns: NDArray[np.float64]
    rtt_ns: NDArray[np.float64]
    """Round-trip times, measured at the tap next to the flow's sender."""
    acknowledgments_lost: int


def row(delays: Delays, round_trip_ns: float) -> dict[str, object]:
    """Return a row of `DELAYS` without its first two columns; `round_trip_ns` is the smallest between the taps."""
    forward, reverse = _queue(delays.forward_ns), _queue(delays.reverse_ns)
    rtt = _queue(delays.rtt_ns)
    beyond = max(0.0, rtt - (forward or 0.0) - (reverse or 0.0)) if rtt is not None else None
    queues = dict(zip(WHERE, (forward or 0.0, reverse or 0.0, beyond or 0.0), strict=False))
    most = max(queues, key=queues.__getitem__)
    short = queues[most] < max(_LEAST_NS, _SHARE * round_trip_ns)
    return {
        "packets": len(delays.forward_ns),
        "acknowledgments": len(delays.reverse_ns),
        "acknowledgments_lost": delays.acknowledgments_lost,
        **_spread("forward", delays.forward_ns),
        **_spread("reverse", delays.reverse_ns),
        "forward_queue_ns": forward,
        "reverse_queue_ns": reverse,
        "beyond_queue_ns": beyond,
        "queue": "nowhere" if short else most,
    }


def _queue(values: NDArray[np.float64]) -> float | None:
    return float(np.median(values) - values.min()) if len(values) else None


def _spread(name: str, values: NDArray[np.float64]) -> dict[str, float | None]:
    known = np.percentile(values, [0, 50, 95]) if len(values) else [None] * 3
    return {f"{name}_{which}_ns": value for which, value in zip(("min", "median", "p95"), known, strict=True)}
