"""Arithmetic over the rounds of many flows: neighbours, sums and percentiles that never leave a flow.

All arrays are one-dimensional, one entry per round, all flows one after the other; a flow's rounds are
consecutive. Bytes, nanoseconds, bytes per second. Absent measurements are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bdpcap import _core
from bdpcap.limits.counts import Counts

__all__ = ["MILLION", "REACH", "SECOND_NS", "Bools", "Floats", "Ints", "Rounds"]

REACH: Final = 4
"""Rounds on either side that bear a round out: of nine, one more or less decides nothing."""
SECOND_NS: Final = 1e9
MILLION: Final = 1e6
"""Sums are of whole numbers, so that they are exact: fractions are summed in millionths."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rounds(Counts):
    """Rounds of all flows, as the core counted them."""

    flow: Ints
    """Which flow each round belongs to, 0 to the number of flows - 1, ascending."""

    def total(self, values: Floats) -> Floats:
        """Sum over each flow, spread over its rounds."""
        return self.per_flow(np.bincount(self.flow, values, len(self.starts)))

    def least(self, values: Floats) -> Floats:
        """Least of each flow, spread over its rounds; NaN where nothing is known."""
        return self.per_flow(np.fmin.reduceat(values, self.starts)) if self.size else values

    def until_not(self, holds: Bools) -> Bools:
        """Is the round among those of its flow before the first in which it does not hold, or that one?"""
        failed: Ints = np.cumsum(~holds) - ~holds
        until: Bools = failed == failed[self._place[1]]
        return until

    def first(self, values: Floats, count: int, holds: Bools) -> Floats:
        """Values of each flow's first rounds, a row per flow; NaN where it does not hold."""
        table = np.full((len(self.starts), count), np.nan)
        table[self.flow[holds], self.round[holds]] = values[holds]
        return table

    @property
    def size(self) -> int:
        """Number of rounds."""
        return len(self.flow)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Index of each flow's first round."""
        return np.flatnonzero(np.diff(self.flow, prepend=-1))

    def per_flow(self, values: Any) -> Floats:
        """Spread one value per flow over its rounds."""
        return np.asarray(values, dtype=np.float64)[self.flow]

    @cached_property
    def _spans(self) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        return {}

    @cached_property
    def _place(self) -> tuple[Ints, Ints, Ints]:
        """Index of each round, of its flow's first, and of the one past its flow's last."""
        ends = np.append(self.starts, self.size)[1:]
        return np.arange(self.size), self.starts[self.flow], ends[self.flow]

    def shifted(self, values: NDArray[Any], by: int, missing: Any) -> NDArray[Any]:
        """The value `by` rounds later (earlier where negative) in the same flow."""
        result = np.full(self.size, missing, dtype=values.dtype)
        at, first, past = self._place
        if 0 < by < self.size:
            result[:-by] = values[by:]
            result[past - at <= by] = missing
        elif 0 < -by < self.size:
            result[-by:] = values[:by]
            result[at - first < -by] = missing
        elif by == 0:
            result[:] = values
        return result

    def _span(self, before: int | Ints, after: int | Ints) -> tuple[Ints, Ints]:
        """First round and the one past the last of a span around each round, within its flow."""
        at, first, past = self._place
        return np.maximum(at - before, first), np.minimum(at + (after + 1), past)

    def _around(self, before: int, after: int) -> tuple[Ints, Ints]:
        """Return the same for a span of any round's; made once."""
        if (before, after) not in self._spans:
            self._spans[before, after] = self._span(before, after)
        return self._spans[before, after]

    def near(self, values: Bools, before: int, after: int) -> Bools:
        """Is it so in this round, or up to so many rounds before or after?"""
        return _core.somewhere(np.ascontiguousarray(values), *self._around(before, after))

    def around(self, values: Floats, reach: int = REACH) -> Floats:
        """Sum over the round and `reach` rounds on either side; NaN counts as nothing.

        Values are whole numbers, so that differences of running sums are exact.
        """
        return self._sums(values, *self._around(reach, reach))

    def beside(self, values: Floats) -> Floats:
        """Sum over the round and the four on either side, but none of a side on which another regime reigned."""
        return self._sums(values, *self._regime)

    @staticmethod
    def _sums(values: Floats, first: Ints, past: Ints) -> Floats:
        return _core.sums(values, first, past)

    @cached_property
    def _regime(self) -> tuple[Ints, Ints]:
        """Span of up to nine rounds, cut where what is in flight is alike on one side only."""
        here = self.flight_max_bytes

        def off(before: int, after: int) -> Floats:
            first, past = self._around(before, after)
            return np.abs(self._sums(here, first, past) / (past - first) - here) / np.maximum(here, 1.0)

        earlier, later = off(REACH, 0), off(0, REACH)
        before = np.where((later < 0.1) & (earlier > 0.2), 0, REACH)
        after = np.where((earlier < 0.1) & (later > 0.2), 0, REACH)
        return self._span(before, after)

    def percentile(self, values: Floats, weights: Floats, part: float) -> Floats:
        """Weighted percentile within each flow, spread over its rounds; NaN where nothing is known."""
        return self.per_flow(_core.percentiles(values, weights, self.starts, part))

    def mean_around(self, values: Floats, reach: int = REACH) -> Floats:
        """Mean over the round and `reach` rounds on either side; NaN counts as nothing."""
        return (
            self.around(np.round(MILLION * values), reach) / self.around(np.ones(self.size), reach) / MILLION
        )

    def rate_around(self, values: Floats, reach: int) -> Floats:
        """Sum over the round and `reach` rounds on either side, per second."""
        return self.around(values, reach) / self.around(self.duration, reach) * SECOND_NS

    def rate_beside(self, values: Floats) -> Floats:
        """Sum over the round and those `beside` it, per second."""
        return self.beside(values) / self.beside(self.duration) * SECOND_NS

    def median_around(self, values: Floats, before: int, after: int) -> Floats:
        """Median of what is known over a span around each round, within its flow; NaN where nothing is."""
        return _core.median_around(np.ascontiguousarray(values), self.starts, before, after)

    def latest(self, values: Floats) -> Floats:
        """The newest known value up to each round, within its flow; NaN before the first."""
        at, first, _ = self._place
        last = np.maximum.accumulate(np.where(np.isfinite(values), at, -1))
        return np.where(last >= first, values[last], np.nan)

    @staticmethod
    def ratio(value: Floats, whole: Floats) -> Floats:
        """One over the other; NaN where the other is nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(whole > 0, value / whole, np.nan)

    def most_so_far(self, values: Floats) -> Floats:
        """Largest value up to each round within its flow; NaN counts as nothing."""
        known = np.nan_to_num(values)
        # Each flow is lifted above the one before, so that one accumulation serves them all.
        lift = self.flow * (float(known.max(initial=0.0)) + 1.0)
        most: Floats = np.maximum.accumulate(known + lift) - lift
        return most

    @cached_property
    def duration(self) -> Floats:
        """Length of the round; at least 1 ns, so that it may divide."""
        return np.maximum(self.length_ns, 1.0)

    def share(self, time_ns: Floats) -> Floats:
        """Share of the round that a time takes."""
        return np.clip(time_ns / self.duration, 0.0, 1.0)
