"""The events of one flow in any span of time: kept where they are few, and read again from the capture where not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.plots.rtt import SMOOTHED, smoothed
from bdpcap.view.columns import KEPT, Columns
from bdpcap.view.thinning import thinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bdpcap.capture import Flow

__all__ = ["MOST", "Seen"]

MOST: Final = 1_000_000
"""Maximum number of events of a flow in memory, beyond which an overview is kept instead; about 127 MB."""
_OVERVIEW: Final = 5_000
"""Time columns of an overview: 25 for each of the screen's, so an extreme is off by a part in 25 of one at most."""


class Seen:
    """
    The events of a flow, in bounded memory.

    Up to `most` events are kept. Beyond that an overview has the extremes of many short times. A span that holds few
    enough events is then read from the capture and kept until another span is read.

    Parameters
    ----------
    flow
        The flow.
    most
        Maximum number of events in memory, twice: for the overview while it is made, and for one span.
    """

    def __init__(self, flow: Flow, most: int = MOST) -> None:
        self.flow = flow
        self._most = most
        self._direction = int(flow._counts["direction"])
        self._ends: list[int] = []
        """Latest time up to the end of each piece of the capture, in ns."""
        self._counts: list[int] = []
        """Events of the flow up to the end of each piece."""
        self.is_whole = True
        """Whether every event is in memory."""
        self._overview = self._read_all()
        self._span: tuple[int, int, Columns] | None = None

    def __len__(self) -> int:
        """Return the number of events of the flow."""
        return self._counts[-1] if self._counts else 0

    def between(self, start_ns: int, end_ns: int) -> tuple[Columns, int | None]:
        """Return events that include those from a time to another, and their number; None if only extremes are known."""
        if self.is_whole:
            events = self._overview
        else:
            if self._span is None or not self._span[0] <= start_ns <= end_ns <= self._span[1]:
                margin_ns = end_ns - start_ns
                for more_ns in (margin_ns, 0):
                    if self._at_most(start_ns - more_ns, end_ns + more_ns) <= self._most:
                        self._span = None  # frees the events of the former span
                        self._span = self._read(start_ns - more_ns, end_ns + more_ns)
                        break
                else:
                    return self._overview, None
            events = self._span[2]
        shown = events.between(start_ns, end_ns)
        return events, shown.stop - shown.start

    def _at_most(self, start_ns: int, end_ns: int) -> int:
        """Return a number of events that those between two times do not exceed."""
        before = bisect_left(self._ends, start_ns) - 1
        upto = min(bisect_right(self._ends, end_ns), len(self._counts) - 1)
        return self._counts[upto] - (self._counts[before] if before >= 0 else 0)

    def _pieces(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the flow's events in the order of the capture."""
        last: float | None = None
        for columns in self.flow.capture._contents.events.columns(
            [self.flow.stream], ("stream", "direction", *KEPT)
        ):
            own = (columns["stream"] == self.flow.stream) & (columns["direction"] == self._direction)
            piece = {name: columns[name][own] for name in KEPT}
            measured = np.flatnonzero(piece["rtt_ns"] != _core.NULL)
            smooth = smoothed(piece["rtt_ns"][measured] / 1e9, last)
            last = float(smooth[-1]) if len(smooth) else last
            piece[SMOOTHED] = np.full(len(piece["rtt_ns"]), np.nan)
            piece[SMOOTHED][measured] = smooth
            yield piece

    def _read_all(self) -> Columns:
        pieces: list[Columns] = []
        latest_ns, count, held = -(2**63), 0, 0
        for piece in map(Columns, self._pieces()):
            if not len(piece):
                continue
            latest_ns, count = max(latest_ns, int(piece.time_ns.max())), count + len(piece)
            self._ends.append(latest_ns)
            self._counts.append(count)
            pieces.append(piece)
            held += len(piece)
            if held > self._most:
                pieces = [self._extremes(pieces)]
                held, self.is_whole = len(pieces[0]), False
        return _joined(pieces) if self.is_whole else self._extremes(pieces)

    def _extremes(self, pieces: list[Columns]) -> Columns:
        """Return the overview of pieces; the list is emptied."""
        whole = _joined(pieces)
        # A column keeps at most a hundred events of all lines; an overview takes at most half of the memory.
        columns = max(2, min(_OVERVIEW, self._most // 200))
        return whole.chosen(thinned(whole, int(whole.time_ns[0]), int(whole.time_ns[-1]), columns))

    def _read(self, start_ns: int, end_ns: int) -> tuple[int, int, Columns]:
        """Read the events between two times, with the pieces of the capture around them."""
        before: list[Columns] = []
        within: list[Columns] = []
        after: list[Columns] = []
        for piece in map(Columns, self._pieces()):
            if not len(piece):
                continue
            if piece.time_ns.max() < start_ns:
                before = [piece]
            elif piece.time_ns.min() <= end_ns:
                within.append(piece)
            elif not after:
                after = [piece]
            if after and not self.flow.capture.info.time_backwards:
                break
        return start_ns, end_ns, _joined(before + within + after)


def _joined(pieces: list[Columns]) -> Columns:
    """Return the events of all pieces in the order of their times. The list is emptied: memory holds them once."""
    names = (*KEPT, SMOOTHED)
    if not pieces:
        return Columns({name: np.zeros(0, np.int64) for name in names})
    parts = {name: [piece.by_name[name] for piece in pieces] for name in names}
    pieces.clear()
    joined = {name: np.concatenate(parts.pop(name)) for name in names}
    if (np.diff(joined["time_ns"]) < 0).any():
        order = joined["time_ns"].argsort(kind="stable")
        joined = {name: values[order] for name, values in joined.items()}
    return Columns(joined)
