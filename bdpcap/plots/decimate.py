"""Thin a line without changing its picture: keep the first, last, lowest and highest point of every pixel column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS: Final = 800
"""Default number of time columns, about the width of a figure in pixels."""


def keep(x: NDArray[np.float64], y: NDArray[np.float64], columns: int = COLUMNS) -> NDArray[np.intp]:
    """
    Choose the points of a line that are enough to draw the same picture.

    Parameters
    ----------
    x, y
        Points in drawing order, shape (n,), without NaN. ``x`` need not be sorted.
    columns
        Number of equal parts into which the range of ``x`` is divided.

    Returns
    -------
    Ascending indices, at most four per column; all indices if there are at most ``4 * columns`` points.

    Notes
    -----
    The method is M4 of U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014.
    In a raster image of that many columns, the thinned line looks the same as the whole line.
    """
    n = len(x)
    if n <= 4 * columns:
        return np.arange(n)
    low, high = x.min(), x.max()
    scale = columns / (high - low) if high > low else 0.0
    column = np.minimum(((x - low) * scale).astype(np.intp), columns - 1)
    _, first = np.unique(column, return_index=True)
    last = n - 1 - np.unique(column[::-1], return_index=True)[1]
    by_height = np.lexsort((y, column))
    starts = np.flatnonzero(np.diff(column[by_height], prepend=-1))
    ends = np.append(starts[1:], n) - 1
    return np.unique(np.concatenate((first, last, by_height[starts], by_height[ends])))
