"""Arithmetic over the rounds of many flows: neighbours, sums and percentiles that never leave a flow.

All arrays have one dimension and one entry per round. The flows follow each other, and the rounds of a flow are
consecutive. Units are bytes, nanoseconds and bytes per second; absent measurements are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bdpcap import _core
from bdpcap.limits.counts import Counts

__all__ = ["HALF", "MILLION", "MILLISECOND_NS", "REACH", "SECOND_NS", "Bools", "Floats", "Ints", "Rounds"]

REACH: Final = 4
"""Default number of rounds on either side that a sum includes: among nine rounds, one more or less decides nothing."""
SIMILAR: Final = 0.1
"""Relative difference of peak flights up to which the rounds on one side of a round are like it."""
DIFFERENT: Final = 0.2
"""Relative difference of peak flights from which the rounds on one side show another limit; twice `SIMILAR`."""
HALF: Final = 0.5
"""More than half is the most, and the percentile of a half is the median."""
MILLISECOND_NS: Final = 1e6
"""Nanoseconds in a millisecond."""
SECOND_NS: Final = 1e9
"""Nanoseconds in a second."""
MILLION: Final = 1e6
"""Factor from fractions to whole numbers, since running sums are exact for whole numbers only."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rounds(Counts):
    """Rounds of all flows: the core's counts, and arithmetic over them."""

    flow: Ints
    """Index of the flow of each round, from 0, ascending."""

    def total(self, values: Floats) -> Floats:
        """Return for each round the sum over its flow."""
        return self.per_flow(np.bincount(self.flow, values, len(self.starts)))

    def after(self, values: Floats) -> Floats:
        """Return for each round the sum over the later rounds of its flow; the values must be whole numbers."""
        at, _, past = self._place
        return self._sums(values, at + 1, past)

    def least(self, values: Floats) -> Floats:
        """Return for each round the minimum over its flow; NaN where all values are NaN."""
        return self.per_flow(np.fmin.reduceat(values, self.starts)) if self.size else values

    def until_not(self, holds: Bools) -> Bools:
        """Return whether a condition held in all rounds of the flow before this one."""
        failed: Ints = np.cumsum(~holds) - ~holds
        until: Bools = failed == failed[self._place[1]]
        return until

    def first(self, values: Floats, count: int, holds: Bools) -> Floats:
        """Return a table of the values of the first `count` rounds, a row per flow; NaN where the condition fails."""
        table = np.full((len(self.starts), count), np.nan)
        table[self.flow[holds], self.round[holds]] = values[holds]
        return table

    @property
    def size(self) -> int:
        """Number of rounds."""
        return len(self.flow)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Index of the first round of each flow."""
        return np.flatnonzero(np.diff(self.flow, prepend=-1))

    def per_flow(self, values: Any) -> Floats:
        """Return for each round the value of its flow, from one value per flow."""
        return np.asarray(values, dtype=np.float64)[self.flow]

    @cached_property
    def _spans(self) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        return {}

    @cached_property
    def _place(self) -> tuple[Ints, Ints, Ints]:
        """Index of each round, of the first round of its flow, and of the first round of the next flow."""
        ends = np.append(self.starts, self.size)[1:]
        return np.arange(self.size), self.starts[self.flow], ends[self.flow]

    def shifted(self, values: NDArray[Any], by: int, missing: Any) -> NDArray[Any]:
        """Return the value `by` rounds later in the flow, or earlier if negative; `missing` beyond its ends."""
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
        """Return the first round and the end (exclusive) of a span around each round, within its flow."""
        at, first, past = self._place
        return np.maximum(at - before, first), np.minimum(at + (after + 1), past)

    def _around(self, before: int, after: int) -> tuple[Ints, Ints]:
        """Return `_span` for numbers that all rounds share; it is computed once for each pair."""
        if (before, after) not in self._spans:
            self._spans[before, after] = self._span(before, after)
        return self._spans[before, after]

    def near(self, values: Bools, before: int, after: int) -> Bools:
        """Return whether a condition holds in a span: this round, `before` rounds before it and `after` rounds after."""
        return _core.somewhere(np.ascontiguousarray(values), *self._around(before, after))

    def around(self, values: Floats, reach: int = REACH) -> Floats:
        """Return the sum over the round and `reach` rounds on either side; NaN counts as 0.

        The values must be whole numbers, so that differences of running sums are exact.
        """
        return self._sums(values, *self._around(reach, reach))

    def around_similar(self, values: Floats) -> Floats:
        """Return the sum over nine rounds, without a side whose flight differs; NaN counts as 0.

        A side is left out if its mean peak flight differs by more than 20 % from this round's. The other side's must
        differ by less than 10 %.
        """
        return self._sums(values, *self._similar)

    @staticmethod
    def _sums(values: Floats, first: Ints, past: Ints) -> Floats:
        return _core.sums(values, first, past)

    @cached_property
    def _similar(self) -> tuple[Ints, Ints]:
        """Span of `around_similar`."""
        here = self.in_flight_max_bytes

        def difference(before: int, after: int) -> Floats:
            first, past = self._around(before, after)
            return np.abs(self._sums(here, first, past) / (past - first) - here) / np.maximum(here, 1.0)

        earlier, later = difference(REACH, 0), difference(0, REACH)
        before = np.where((later < SIMILAR) & (earlier > DIFFERENT), 0, REACH)
        after = np.where((earlier < SIMILAR) & (later > DIFFERENT), 0, REACH)
        return self._span(before, after)

    def percentile(self, values: Floats, weights: Floats, part: float) -> Floats:
        """Return for each round the weighted percentile of its flow; NaN where all values are NaN."""
        return self.per_flow(_core.percentiles(values, weights, self.starts, part))

    def mean_around(self, values: Floats, reach: int = REACH) -> Floats:
        """Return the mean over the round and `reach` rounds on either side; NaN counts as 0."""
        return (
            self.around(np.round(MILLION * values), reach) / self.around(np.ones(self.size), reach) / MILLION
        )

    def share_around(self, holds: Bools, among: Bools, reach: int) -> Floats:
        """Return how many rounds hold over how many are `among`, in the round and `reach` rounds on either side.

        NaN where none is among them.
        """
        held, all_ = (self.around(which.astype(np.float64), reach) for which in (holds, among))
        return self.ratio(held, all_)

    def rate_around(self, values: Floats, reach: int) -> Floats:
        """Return the sum over the round and `reach` rounds on either side, per second."""
        return self.around(values, reach) / self.around(self.duration, reach) * SECOND_NS

    def rate_around_similar(self, values: Floats) -> Floats:
        """Return the sum over the rounds of `around_similar`, per second."""
        return self.around_similar(values) / self.around_similar(self.duration) * SECOND_NS

    def median_around(self, values: Floats, before: int, after: int) -> Floats:
        """Return the median over a span around each round, within its flow; NaN where all values are NaN."""
        return _core.median_around(np.ascontiguousarray(values), self.starts, before, after)

    def latest(self, values: Floats) -> Floats:
        """Return the latest finite value of the flow up to each round; NaN before the first."""
        at, first, _ = self._place
        last = np.maximum.accumulate(np.where(np.isfinite(values), at, -1))
        return np.where(last >= first, values[last], np.nan)

    @staticmethod
    def ratio(value: Floats, whole: Floats) -> Floats:
        """Return `value` over `whole`; NaN where `whole` is 0 or less."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(whole > 0, value / whole, np.nan)

    def most_so_far(self, values: Floats) -> Floats:
        """Return the largest value of the flow up to each round; NaN counts as 0."""
        known = np.nan_to_num(values)
        # Each flow is lifted above the one before, so that one accumulation serves all flows.
        lift = self.flow * (float(known.max(initial=0.0)) + 1.0)
        most: Floats = np.maximum.accumulate(known + lift) - lift
        return most

    @cached_property
    def reported_bytes(self) -> Floats:
        """Bytes acknowledged, with those that the capture lacks."""
        reported: Floats = self.acked_bytes + self.unseen_bytes
        return reported

    @cached_property
    def duration(self) -> Floats:
        """Length of the round in nanoseconds, at least 1 so that it can divide."""
        return np.maximum(self.length_ns, 1.0)

    def share(self, time_ns: Floats) -> Floats:
        """Return a time within the round as a share of its length, 0 to 1."""
        return np.clip(time_ns / self.duration, 0.0, 1.0)
