"""
Thin a line without changing its picture: keep the first, last, lowest and highest point of every time column.

Figures and reports are drawn without any extra, so NumPy chooses here, and tsdownsample only in `bdpcap view`. That
library also takes neither times that run backwards nor several lines through the same points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Rows = dict[str, NDArray[Any]]
    """Arrays of one length by name; ``x`` is in seconds since the capture's first frame."""

COLUMNS: Final = 900
"""Default number of time columns, about the width of a figure in pixels."""


class Axis(NamedTuple):
    """A time axis, in seconds since the capture's first frame."""

    start: float
    end: float
    low: float = -np.inf
    """Time of the first points drawn; a flow that is drawn whole has no bound, since a clock may have been set back."""
    high: float = np.inf
    """Time of the last points drawn."""

    def within(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return a boolean array: which of these times are drawn."""
        return (x >= self.low) & (x <= self.high)

    def column(self, x: NDArray[np.float64], columns: int) -> NDArray[np.intp]:
        """Return the column of each time, if the axis is divided into so many; those beyond it are in the outermost."""
        place = (x - self.start) * (columns / (self.end - self.start))
        return np.clip(place, 0, columns - 1).astype(np.intp)


def extremes(column: NDArray[np.intp], lines: Sequence[NDArray[np.float64]]) -> NDArray[np.intp]:
    """
    Choose the points that are enough to draw the same picture.

    Parameters
    ----------
    column
        Time column of each point, in drawing order, shape (n,).
    lines
        Heights of the points, one array of shape (n,) without NaN for each line through them.

    Returns
    -------
    Ascending indices: in each column the first and the last point, and the lowest and highest of every line.

    Notes
    -----
    The method is M4 of U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014.
    In a raster image of that many columns, the thinned line looks the same as the whole line. Points that were
    chosen from parts of a line, and then from what was chosen, are those chosen from the whole line.
    """
    # Times seldom run backwards, and sorting takes several times as long as the rest.
    order = None if (column[1:] >= column[:-1]).all() else np.argsort(column, kind="stable")
    if order is not None:
        column, lines = column[order], [line[order] for line in lines]
    first = np.flatnonzero(np.diff(column, prepend=-1))
    sizes = np.diff(first, append=len(column))
    found = [first, first + sizes - 1]
    for y in lines:
        for extreme in (np.minimum, np.maximum):
            reached = np.flatnonzero(y == np.repeat(extreme.reduceat(y, first), sizes))
            found.append(reached[reached.searchsorted(first)])
    chosen = np.unique(np.concatenate(found))
    return chosen if order is None else np.sort(order[chosen])


class Thinned:
    """
    Points of lines that come in pieces, thinned as they come.

    Up to four points for each time column are all kept. Of more, each column keeps those of `extremes`.

    Parameters
    ----------
    axis
        The time axis.
    columns
        Number of time columns.
    lines
        Names of the heights that are drawn; points at which one of them is NaN are left out.
    joined
        Keep the nearest point on either side of the time drawn, too: there a line enters and leaves the figure.
    """

    def __init__(self, axis: Axis, columns: int, *lines: str, joined: bool = False) -> None:
        self.axis: Final = axis
        self.columns: Final = columns
        self.count: int = 0
        """Number of points within the time drawn."""
        self._lines = lines
        self._joined = joined
        self._before: list[Rows] = []
        self._after: list[Rows] = []
        self._kept: list[Rows] = []
        self._held = 0

    def add(self, **rows: NDArray[Any]) -> None:
        """Add the next points: ``x``, the heights, and whatever else a point has."""
        x = rows["x"]
        known = ~np.isnan(sum(rows[line] for line in self._lines))
        inside = known & self.axis.within(x)
        if self._joined:
            self._before = _some(rows, np.flatnonzero(known & (x < self.axis.low))[-1:]) or self._before
            self._after = self._after or _some(rows, np.flatnonzero(known & (x > self.axis.high))[:1])
        own = _some(rows, np.flatnonzero(inside))
        if not own:
            return
        added = len(own[0]["x"])
        self.count += added
        self._held += added
        self._kept += own
        if self._held > 8 * self.columns:
            self._kept = [self._thin(1)]
            self._held = len(self._kept[0]["x"])

    def rows(self, columns: int) -> Rows:
        """Return the points for a figure of so many time columns; they must divide those that were kept.

        The points on either side are the first and the last of them. Without any point the result is empty.
        """
        inside = [self._thin(self.columns // columns)] if self._kept else []
        return _joined([*self._before, *inside, *self._after])

    def highest(self, line: str) -> float:
        """Return the largest height of the line in the time drawn, with that at which it enters; at least 0."""
        return max(0.0, 0.0, *(float(rows[line].max()) for rows in (*self._before, *self._kept)))

    def _thin(self, factor: int) -> Rows:
        """Return the points inside, thinned to columns that are `factor` times as wide."""
        rows = _joined(self._kept)
        if self.count <= 4 * (self.columns // factor):
            return rows
        column = self.axis.column(rows["x"], self.columns) // factor
        chosen = extremes(column, [rows[line] for line in self._lines])
        return {name: values[chosen] for name, values in rows.items()}


class Spliced:
    """
    Points of a line that was thinned over a long time, and in a part of that time its points as another has them.

    Parameters
    ----------
    whole
        The line over the whole time.
    part
        The line in a part of it, in which its axis is bounded; None if it has no points there.
    axis
        The time axis of that part.
    """

    def __init__(self, whole: Thinned | Spliced, part: Thinned | Spliced | None, axis: Axis) -> None:
        self._whole, self._part, self._axis = whole, part, axis
        self.count: int = whole.count

    def rows(self, columns: int) -> Rows:
        """Return the points, those outside the part for so many columns; the result is empty without any point."""
        rows = self._whole.rows(columns)
        if not rows:
            return rows
        x = rows["x"]
        inside = self._part.rows(COLUMNS) if self._part else {}
        pieces = (
            _some(rows, np.flatnonzero(x < self._axis.low)),
            _some(inside, np.flatnonzero(self._axis.within(inside["x"]))) if inside else [],
            _some(rows, np.flatnonzero(x > self._axis.high)),
        )
        return _joined([piece for own in pieces for piece in own])


def _some(rows: Rows, chosen: NDArray[np.intp]) -> list[Rows]:
    """Return the chosen rows in a list, which is empty if there are none."""
    return [{name: values[chosen] for name, values in rows.items()}] if len(chosen) else []


def _joined(pieces: list[Rows]) -> Rows:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in (pieces[0] if pieces else ())}
