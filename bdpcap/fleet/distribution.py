"""Pictures of how a quantity is distributed over flows: the part of the flows below each value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.fleet.sentences import cell
from bdpcap.plots.pixels import Scale, above

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HEIGHT", "WIDTH", "Picture", "picture"]

WIDTH: Final = 440
"""Width of the plotted area in pixels."""
HEIGHT: Final = 200
"""Height of the plotted area in pixels."""
LEAST_DECADES: Final = 2
"""Decades between the smallest and the largest value from which the axis is logarithmic."""
_TICKS: Final = 5
"""Most marks of an axis, about."""
_ZEROS: Final = re.compile(r"\.0+(?= )")


@dataclass(frozen=True, slots=True)
class Picture:
    """The elements of one picture: places in pixels from the upper left corner of the plotted area."""

    flows: dict[str, int]
    """Number of flows of each period."""
    lines: dict[str, str]
    """SVG path of each period."""
    ticks: list[tuple[float, str]]
    """Place and text of the marks of the axis."""
    logarithmic: bool
    medians: dict[str, str]
    """Median of each period in words."""


def picture(name: str, quantiles: dict[str, pd.DataFrame]) -> Picture | None:
    """Return the picture of a quantity; None if no flow has a value.

    `quantiles` has the number of flows and the percentiles 0 to 100 of each quantity, by period.
    """
    found = {
        period: np.array(of["percentiles"][name], dtype=np.float64)
        for period, of in quantiles.items()
        if name in of.index and of["flows"][name]
    }
    if not found:
        return None
    every = np.concatenate([*found.values()])
    positive = every[every > 0]
    low, high = float(every.min()), float(every.max())
    # A part of a whole stays on a linear axis: most flows retransmit nothing, and 0 has no logarithm.
    logarithmic = (
        not name.endswith("retransmitted")
        and len(positive) > 0
        and (high >= 10**LEAST_DECADES * positive.min())
    )
    if logarithmic:
        low, high = math.log10(positive.min()), math.log10(high)
        found_at = {period: np.log10(np.maximum(values, positive.min())) for period, values in found.items()}
    else:
        found_at = found
    across = Scale(low, max(high, above(low, 1e-9)), 0, WIDTH)
    up = Scale(0, 1, HEIGHT, 0)
    marks = _decades(low, high) if logarithmic else across.ticks(_TICKS)
    return Picture(
        flows={period: int(quantiles[period]["flows"][name]) for period in found},
        lines={period: _line(across, up, values) for period, values in found_at.items()},
        ticks=[(float(across(mark)), _text(name, 10.0**mark if logarithmic else mark)) for mark in marks],
        logarithmic=logarithmic,
        medians={period: cell(name, values[len(values) // 2]) for period, values in found.items()},
    )


def _decades(low: float, high: float) -> list[float]:
    """Return powers of ten between two logarithms; only each second or third where there are many."""
    step = max(1, math.ceil((high - low) / _TICKS))
    return [float(power) for power in range(math.ceil(low), math.floor(high) + 1) if power % step == 0]


def _text(name: str, mark: float) -> str:
    """Return a round value with its unit, without zeros after the point."""
    return _ZEROS.sub("", cell(name, mark))


def _line(across: Scale, up: Scale, values: np.ndarray) -> str:
    parts = np.linspace(0, 1, len(values))
    places = dict.fromkeys(zip(across(values).tolist(), up(parts).tolist(), strict=True))
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
