"""Which events make the same picture as all events: those that tsdownsample keeps for one of the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from tsdownsample import M4Downsampler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.view.columns import Columns

__all__ = ["COLUMNS", "thinned"]

COLUMNS: Final = 200
"""Time columns of the figures: lines have 800 points, so that a browser redraws them within a tenth of a second."""
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
        Time columns into which the time is divided.

    Returns
    -------
    Ascending indices of events, shape (n,). Each line keeps its first, last, lowest and highest event of every column,
    and its neighbours on either side of the time shown. If there are few enough events, all of them are kept.
    """
    shown = events.between(start_ns, end_ns)
    # Places of the lines' type: NumPy would turn all of a line into another type before it searches.
    ends = np.array((shown.start, shown.stop), np.uint32)
    parts = [np.arange(*ends, dtype=np.uint32)] if shown.stop - shown.start <= _EACH * columns else []
    for line in events.lines:
        first, beyond = line.places.searchsorted(ends)
        parts += [line.places[:first][-1:], line.places[beyond:][:1]]
        own = line.places[first:beyond]
        enough = len(own) <= _EACH * columns
        parts.append(own if enough else _extremes(events, line.columns, own, (start_ns, end_ns), columns))
    return np.unique(np.concatenate(parts)).astype(np.intp)


def _extremes(
    events: Columns, names: tuple[str, ...], own: NDArray[np.uint32], span_ns: tuple[int, int], columns: int
) -> NDArray[np.uint32]:
    """Return of a line's `own` events the first, last, lowest and highest of each time column."""
    where: slice | NDArray[np.uint32] = own
    if len(own) == own[-1] - own[0] + 1:  # a slice is not copied
        where = slice(int(own[0]), int(own[-1]) + 1)
    value = events.by_name[names[0]][where]
    for name in names[1:]:
        value = value + events.by_name[name][where]
    # tsdownsample divides the time from the first event to the last, which are kept anyway: these two stand for the ends.
    # Times begin with 0, since it reckons with floats; of equal times at the end it keeps one, so that end is later.
    time_ns = events.time_ns[where] - span_ns[0]
    time_ns[0], time_ns[-1] = 0, span_ns[1] - span_ns[0] + columns
    kept = _M4.downsample(time_ns, value, n_out=_EACH * columns).astype(np.intp)
    chosen: NDArray[np.uint32] = own[np.append(kept, -1)]
    return chosen
