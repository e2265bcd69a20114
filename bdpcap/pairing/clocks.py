"""Offset and drift between the clocks of two taps, bounded by one-way differences in both directions.

A packet cannot arrive before it was sent, so the smallest difference of each direction bounds the offset. The distance
between the bounds is the smallest round trip between the taps. The estimate is the middle, which is right if both
directions take equally long (D. Mills, RFC 5905 section 8). Drift tilts the smallest differences of the two directions
in opposite ways. The drift is the slope of the line under the differences that lies closest to them (S. Moon, P.
Skelly, D. Towsley, "Estimation and removal of clock skew from network delay measurements", INFOCOM 1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Clock", "Differences", "estimate"]

_COLUMNS: Final = 2000
"""Number of time columns of which only the smallest difference is kept: larger ones do not lower the line."""


@dataclass(frozen=True)
class Differences:
    """Time differences between the taps, of packets that passed both, in nanoseconds."""

    time_ns: NDArray[np.int64]
    """Times at the sender's tap."""
    apart_ns: NDArray[np.int64]
    """Times at the receiver's tap less `time_ns`."""


@dataclass(frozen=True, slots=True)
class Clock:
    """
    Time of the receiver's clock less that of the sender's, as a line over the sender's time.

    Attributes
    ----------
    reference_ns
        Time of the sender's clock at which the offset holds.
    offset_ns, offset_error_ns
        Estimated offset, and its largest error: half the smallest round trip between the taps.
    drift, drift_error
        Seconds by which the offset grows per second, and the error of that. A drift within its error is not applied.
    jumped
        Whether no line fits between both directions, because a clock was set during the capture.
    """

    reference_ns: int
    offset_ns: float
    offset_error_ns: float
    drift: float
    drift_error: float
    jumped: bool

    @property
    def applied_drift(self) -> float:
        """Drift that is applied: 0 where it lies within its error."""
        return self.drift if abs(self.drift) > self.drift_error else 0.0

    @property
    def has_drift(self) -> bool:
        """Whether enough packets passed both taps to estimate the drift; otherwise its error is infinite."""
        return bool(np.isfinite(self.drift_error))

    def offset_at(self, time_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the offset at times of the sender's clock, in nanoseconds."""
        since = (time_ns - self.reference_ns).astype(np.float64)
        return self.offset_ns + self.applied_drift * since

    def to_sender(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert times of the receiver's clock to times of the sender's."""
        apart = time_ns - round(self.offset_ns)
        drifted = (apart - self.reference_ns) * (self.applied_drift / (1 + self.applied_drift))
        moved: NDArray[np.int64] = apart - np.round(drifted).astype(np.int64)
        return moved

    @property
    def least_round_trip_ns(self) -> float:
        """Smallest round trip between the taps."""
        return 2 * self.offset_error_ns

    def to_receiver(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert times of the sender's clock to times of the receiver's."""
        moved: NDArray[np.int64] = time_ns + np.round(self.offset_at(time_ns)).astype(np.int64)
        return moved

    def at_receiver(self, time_ns: NDArray[np.int64], early_ns: int = 0) -> NDArray[np.int64]:
        """Return the earliest times at which packets that pass the sender's tap at `time_ns` pass the receiver's.

        Each tap's times are by its clock. The offset's error cancels out: the smallest observed difference, less
        `early_ns`, is added.
        """
        return self.to_receiver(time_ns) + round(self.offset_error_ns) - early_ns

    def at_sender(self, time_ns: NDArray[np.int64], early_ns: int = 0) -> NDArray[np.int64]:
        """Return the earliest times at which packets that pass the receiver's tap at `time_ns` pass the sender's.

        Each tap's times are by its clock. As in `at_receiver`, the offset's error cancels out and `early_ns` is deducted.
        """
        return self.to_sender(time_ns) + round(self.offset_error_ns) - early_ns

    def left_sender(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the latest times at which packets that pass the receiver's tap at `time_ns` passed the sender's."""
        return self.to_sender(time_ns) - round(self.offset_error_ns)

    def left_receiver(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the latest times at which packets that pass the sender's tap at `time_ns` passed the receiver's."""
        return self.to_receiver(time_ns) - round(self.offset_error_ns)


def estimate(forward: Differences, reverse: Differences, tick_ns: int) -> Clock | None:
    """
    Estimate offset and drift between the two clocks.

    Parameters
    ----------
    forward, reverse
        Differences of packets towards the receiver, and of packets towards the sender.
    tick_ns
        Coarser resolution of the two clocks, in nanoseconds.

    Returns
    -------
    None if a direction has no packet that passed both taps.
    """
    if not len(forward.time_ns) or not len(reverse.time_ns):
        return None
    times = np.concatenate([forward.time_ns, reverse.time_ns])
    reference = int(times.min() + (times.max() - times.min()) // 2)
    base = int(forward.apart_ns[0])  # floats would round differences of years
    lines = []
    for side, sign in ((forward, 1), (reverse, -1)):
        x = (side.time_ns - reference).astype(np.float64)
        lines.append((x, sign * (side.apart_ns - base).astype(np.float64)))
    (slope, error), (slope_back, error_back) = (_slope(x, y, tick_ns) for x, y in lines)
    drift, drift_error = _weighted_mean((slope, error), (-slope_back, error_back))
    applied = drift if abs(drift) > drift_error else 0.0
    least, least_back = (
        float((y - sign * applied * x).min()) for (x, y), sign in zip(lines, (1, -1), strict=True)
    )
    half = (least + least_back) / 2
    return Clock(
        reference,
        base + (least - least_back) / 2,
        max(half, 0.0),
        drift,
        drift_error,
        jumped=half < -tick_ns,
    )


def _slope(x: NDArray[np.float64], y: NDArray[np.float64], tick: float) -> tuple[float, float]:
    """Return the slope of the line below all points that lies closest to them, and the error of the slope.

    The error is the tilt of the line if the smallest delays at one end were larger. They are taken as larger by a tick
    and the median distance from the line.
    """
    span = float(np.ptp(x))
    if len(x) < 3 or span <= 0:
        return 0.0, np.inf
    corner_x, corner_y = _hull(x, y)
    at = int(np.clip(np.searchsorted(corner_x, x.mean()), 1, len(corner_x) - 1))
    rise, run = corner_y[at] - corner_y[at - 1], corner_x[at] - corner_x[at - 1]
    slope = float(rise / run)
    above = y - (corner_y[at] + slope * (x - corner_x[at]))
    return slope, (float(np.median(above)) + tick) / float(run)


def _hull(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of the lower convex hull, from left to right (A. Andrew, 1979)."""
    column = ((x - x.min()) * (_COLUMNS / np.ptp(x))).astype(np.int64)
    order = np.lexsort((y, column))
    lowest = order[np.flatnonzero(np.diff(column[order], prepend=-1))]
    lowest = lowest[np.argsort(x[lowest], kind="stable")]
    corners: list[tuple[float, float]] = []
    for point in zip(x[lowest].tolist(), y[lowest].tolist(), strict=True):
        while len(corners) > 1 and _turns_right(corners[-2], corners[-1], point):
            corners.pop()
        if not corners or point[0] > corners[-1][0]:
            corners.append(point)
    made = np.array(corners)
    return made[:, 0], made[:, 1]


def _turns_right(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    return (middle[0] - first[0]) * (last[1] - first[1]) <= (middle[1] - first[1]) * (last[0] - first[0])


def _weighted_mean(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the mean of two estimates, weighted by their standard errors, and twice its error, as for 95 %.

    The error of the mean is at least half the difference of the two estimates.
    """
    known = [estimate for estimate in (one, other) if np.isfinite(estimate[1])]
    if not known:
        return 0.0, np.inf
    slopes, errors = np.array(known).T
    weights = errors**-2.0
    mean = float((slopes * weights).sum() / weights.sum())
    apart = float(np.ptp(slopes)) / 2
    return mean, 2 * max(float(weights.sum() ** -0.5), apart)
