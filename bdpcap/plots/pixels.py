"""Conversion of values to pixels, and the round values that axes are labelled with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def above(low: float, least: float) -> float:
    """Return ``low + least``; a larger step where ``least`` is too small to divide the range into distinct floats."""
    return low + max(least, 64 * math.ulp(low))


class Scale:
    """
    A linear scale.

    Parameters
    ----------
    low, high
        Values at both ends; they differ.
    start, to
        Pixels at ``low`` and at ``high``.
    """

    def __init__(self, low: float, high: float, start: float, to: float) -> None:
        self.low, self.high, self.start, self.to = float(low), float(high), start, to

    def __call__(self, values: Any) -> NDArray[np.float64]:
        """Return the pixels of values, rounded to a tenth."""
        part = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)
        return np.round(self.start + part * (self.to - self.start), 1)

    def ticks(self, most: int) -> list[float]:
        """Return equally spaced round values in the scale's range, about ``most`` of them."""
        least = (self.high - self.low) / most
        magnitude = 10.0 ** math.floor(math.log10(least))
        step = next(
            magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= least * (1 - 1e-9)
        )
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]
