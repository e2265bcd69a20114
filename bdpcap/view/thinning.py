"""Which events make the same picture as all events: those that tsdownsample keeps for one of the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tsdownsample import M4Downsampler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.view.columns import Columns, Line

__all__ = ["COLUMNS", "thinned"]

COLUMNS: Final = 250
"""Time columns of the figures: lines have 1000 points, so that a browser redraws them within a tenth of a second."""
_M4: Final = M4Downsampler()  # type: ignore[no-untyped-call]
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
        Time columns into which tsdownsample divides the time.

    Returns
    -------
    Ascending indices of events, shape (n,). Each line keeps its first, last, lowest and highest event of every column,
    and its neighbours on either side of the time shown. If there are few enough events, all of them are kept.
    """
    shown = events.between(start_ns, end_ns)
    parts = [_beyond(line.places, shown) for line in events.lines]
    if shown.stop - shown.start <= _EACH * columns:
        parts.append(np.arange(shown.start, shown.stop, dtype=np.uint32))
    else:
        parts += [_kept(events, line, shown, columns) for line in events.lines]
    return np.unique(np.concatenate(parts)).astype(np.intp)


def _beyond(places: NDArray[np.uint32], shown: slice) -> NDArray[np.uint32]:
    """Return the line's last event before the time shown, and its first after."""
    first, beyond = places.searchsorted([shown.start, shown.stop])
    return np.concatenate((places[:first][-1:], places[beyond:][:1]))


def _kept(events: Columns, line: Line, shown: slice, columns: int) -> NDArray[np.uint32]:
    first, beyond = line.places.searchsorted([shown.start, shown.stop])
    own = line.places[first:beyond]
    if len(own) <= _EACH * columns:
        return own
    if len(own) == own[-1] - own[0] + 1:  # a slice is not copied
        where: slice | NDArray[np.uint32] = slice(int(own[0]), int(own[-1]) + 1)
    else:
        where = own
    value = events.by_name[line.columns[0]][where]
    for name in line.columns[1:]:
        value = value + events.by_name[name][where]
    return own[_extremes(events.time_ns[where], value, columns)]


def _extremes(time_ns: NDArray[np.int64], value: NDArray[Any], columns: int) -> NDArray[np.intp]:
    """Return the indices of the extremes of each column, with the first and the last index.

    tsdownsample reckons with floats: of times since 1970 it loses the nanoseconds, and a range that ends in a last event
    may leave it out. So its times begin with 0, and an event one column later is added.
    """
    time = np.empty(len(time_ns) + 1)
    np.subtract(time_ns, time_ns[0], out=time[:-1])
    time[-1] = time[-2] + max(1.0, time[-2] / columns)
    kept = _M4.downsample(time, np.append(value, value[-1]), n_out=_EACH * (columns + 1)).astype(np.intp)
    last = len(time_ns) - 1
    return np.concatenate((kept[kept <= last], [0, last]))
