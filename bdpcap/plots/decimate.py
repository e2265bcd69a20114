"""Fewer points, same picture: a pixel column shows of a line its first, last, lowest and highest point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS: Final = 800
"""Time columns kept apart; about the pixels that a figure is wide."""


def keep(x: NDArray[np.float64], y: NDArray[np.float64], columns: int = COLUMNS) -> NDArray[np.intp]:
    """
    Choose the points that draw the same line.

    Parameters
    ----------
    x, y
        Points in drawing order, shape (n,), without NaN. ``x`` need not be sorted.
    columns
        Equal parts into which the range of ``x`` is cut.

    Returns
    -------
    Ascending indices, at most four for each column; all of them where the points are so few anyway.

    Notes
    -----
    M4 of U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014: a raster
    of that many columns cannot tell the result from the whole.
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
