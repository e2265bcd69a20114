"""From values to pixels, and the round values worth a label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def above(low: float, least: float) -> float:
    """Return a value above ``low``: by ``least``, or by the little more that keeps floats apart and can be divided."""
    return low + max(least, 64 * math.ulp(low))


class Scale:
    """
    A linear scale.

    Parameters
    ----------
    low, high
        The values at both ends; they differ.
    start, to
        The pixels there.
    """

    def __init__(self, low: float, high: float, start: float, to: float) -> None:
        self.low, self.high, self.start, self.to = float(low), float(high), start, to

    def __call__(self, values: Any) -> NDArray[np.float64]:
        """Return pixels, to a tenth."""
        part = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)
        return np.round(self.start + part * (self.to - self.start), 1)

    def ticks(self, most: int) -> list[float]:
        """Return at most so many round values in its range."""
        least = (self.high - self.low) / most
        magnitude = 10.0 ** math.floor(math.log10(least))
        step = next(
            magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= least * (1 - 1e-9)
        )
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]
