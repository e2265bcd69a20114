"""Which events make the same picture as all events: those that one of the lines keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.plots.decimate import of_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.view.columns import Columns, Line

__all__ = ["COLUMNS", "thinned"]

COLUMNS: Final = 200
"""Time columns of the figures: lines have 800 points, so that a browser redraws them within a tenth of a second."""
_EACH: Final = 4
"""Events that a line keeps in a time column: the first, the last, the lowest and the highest."""


def thinned(events: Columns, start_ns: int, end_ns: int, columns: int = COLUMNS) -> NDArray[np.intp]:
    """
    Choose events that draw the same picture as all events between two times.

    Parameters
    ----------
    events
        The events of a flow.
    start_ns, end_ns
        First and last time shown, in ns since the epoch.
    columns
        Time columns into which the time is divided.

    Returns
    -------
    Ascending indices of events, shape (n,). Each line keeps its first, last, lowest and highest event of every column,
    and its neighbours on either side of the time shown. If there are few enough events, all of them are kept.
    """
    shown = events.between(start_ns, end_ns)
    # Places of the lines' type: NumPy would turn all of a line into another type before it searches.
    ends = np.array((shown.start, shown.stop), np.uint32)
    parts = [_beyond(line.places, ends) for line in events.lines]
    if shown.stop - shown.start <= _EACH * columns:
        parts.append(np.arange(*ends, dtype=np.uint32))
    else:
        after_ns = np.arange(1, columns) * ((end_ns - start_ns) / columns)
        edges = events.time_ns.searchsorted(start_ns + after_ns.astype(np.int64)).astype(np.uint32)
        parts += [_kept(events, line, ends, edges) for line in events.lines]
    return np.unique(np.concatenate(parts)).astype(np.intp)


def _beyond(places: NDArray[np.uint32], ends: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the line's last event before the time shown, and its first after."""
    first, beyond = places.searchsorted(ends)
    return np.concatenate((places[:first][-1:], places[beyond:][:1]))


def _kept(
    events: Columns, line: Line, ends: NDArray[np.uint32], edges: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Return the line's extremes of each column; `edges` are the first events of all columns but the first."""
    first, beyond = line.places.searchsorted(ends)
    own = line.places[first:beyond]
    if len(own) <= _EACH * (len(edges) + 1):
        return own
    if len(own) == own[-1] - own[0] + 1:  # a slice is not copied
        where: slice | NDArray[np.uint32] = slice(int(own[0]), int(own[-1]) + 1)
    else:
        where = own
    value = events.by_name[line.columns[0]][where]
    for name in line.columns[1:]:
        value = value + events.by_name[name][where]
    # A search for each edge, rather than one for each event.
    first = np.unique(np.append(0, own.searchsorted(edges)))
    return own[of_columns(first[first < len(own)], [value])]
