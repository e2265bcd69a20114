"""Time-sequence graph in the style of tcptrace: segments, acknowledgments and the right edge of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from bdpcap.plots import kept, marks, stalls
from bdpcap.plots.canvas import Canvas, Options, numbers
from bdpcap.plots.decimate import COLUMNS, Thinned
from bdpcap.plots.kept import Kept
from bdpcap.words import palette

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis
    from bdpcap.plots.drawing import Drawing

Y_TITLE: Final = "sequence number"
_EDGE: Final = "receive window's edge"
_WORTH: Final = 1.5
"""The axis includes the window's edge if that needs at most this many times the height of the data."""
_APART: Final = 0.5
"""Minimum number of time columns per packet at which common marks are listed in the legend, but hidden."""
_CLEAR: Final = 4
"""Minimum number of time columns per packet at which common marks are shown."""


class Segments(Kept):
    """Segments, acknowledgments, the window's edge and marks, thinned."""

    names = (
        "time_ns", "frame", "kind", "cause", "tcp_flags", "sequence", "length", "acknowledged", "window_bytes",
        "sack_start", "sack_end",
    )  # fmt: skip

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        self.packets = 0
        """Number of events within the time drawn."""
        self.edge, self.returned = (self._thinned("y", joined=True) for _ in range(2))
        self.sent, self.sacked = (self._thinned("first", "last") for _ in range(2))
        self.marked: dict[str, tuple[Thinned, Thinned]] = {}
        """Bars and points of each mark by its name in `marks`."""
        self.flagged: dict[int, Thinned] = {flag: self._thinned("y") for flag in marks.BY_FLAG}
        """Points of the marks by TCP flag."""
        self._entry, self._least, self._most = (np.full(4, np.nan) for _ in range(3))

    def _thinned(self, *lines: str, joined: bool = False) -> Thinned:
        return Thinned(self.axis, self.columns, *lines, joined=joined)

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        frame, flags = events["frame"], events["tcp_flags"]
        first, acknowledged = numbers(events["sequence"]), numbers(events["acknowledged"])
        last = first + numbers(events["length"])
        returned = np.where(np.isnan(last), acknowledged, np.nan)
        edge = returned + numbers(events["window_bytes"])
        within = self.axis.within(x)
        self.packets += int(np.count_nonzero(within))
        self._see(x, within, np.stack((first, last, acknowledged, edge)))
        self.edge.add(x=x, y=edge, frame=frame)
        self.returned.add(x=x, y=returned, frame=frame)
        self.sacked.add(
            x=x, first=numbers(events["sack_start"]), last=numbers(events["sack_end"]), frame=frame
        )
        # A mark is at the end of its segment, or at the number of its acknowledgment.
        place = np.where(np.isnan(last), returned, last)
        codes = marks.codes(events)
        plain = np.isin(codes, marks.PLAIN_CODES)
        for code in np.unique(codes[within & ~plain]).tolist():
            name = marks.NAMES[code]
            if name not in self.marked:
                self.marked[name] = self._thinned("first", "last"), self._thinned("y")
            bars, points = self.marked[name]
            own = codes == code
            bars.add(x=x[own], first=first[own], last=last[own], frame=frame[own])
            points.add(x=x[own], y=place[own], frame=frame[own])
        self.sent.add(x=x[plain], first=first[plain], last=last[plain], frame=frame[plain])
        for flag, points in self.flagged.items():
            own = (flags & flag > 0) & ~np.isnan(last)
            if own.any():
                points.add(x=x[own], y=place[own], frame=frame[own])

    def _see(self, x: NDArray[np.float64], within: NDArray[np.bool_], values: NDArray[np.float64]) -> None:
        """Widen the ranges by the values within the time drawn; keep those of the last event before it."""
        before = np.flatnonzero(x < self.axis.low)
        if len(before):
            self._entry = values[:, before[-1]]
        self._least = np.fmin(self._least, np.fmin.reduce(values[:, within], axis=1, initial=np.nan))
        self._most = np.fmax(self._most, np.fmax.reduce(values[:, within], axis=1, initial=np.nan))

    @property
    def reach(self) -> tuple[float, float, float]:
        """Least and largest number of data and acknowledgments, and the largest of the window's edge; NaN if unknown."""
        # Lines enter the plot at the value of the last event before its start.
        least, most = np.fmin(self._least, self._entry), np.fmax(self._most, self._entry)
        return float(np.fmin(least[0], least[2])), float(np.fmax(most[1], most[2])), float(most[3])


def sequence(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the time-sequence graph.

    A tick is a segment, from its first sequence number to its last. The lower line is the acknowledgment number, the
    upper line the right edge of the receive window. Data between the lower line and the ticks are in flight. A bar
    in the colour of the lower line is an acknowledgment's SACK block of newly received data; D-SACK is left out.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    options
        Time to draw, and figure and subplot to draw into: see `bdpcap.plots.figure`.
    """
    canvas = Canvas("Time-sequence graph", Y_TITLE, "B", flow, columns, **options)
    draw(canvas, kept.of(Segments, flow, canvas.axis, columns))
    stalls.draw(canvas, flow, columns)
    return canvas.finish()


def draw(canvas: Canvas, segments: Segments) -> None:
    """Draw the graph on a canvas. ``figures.js`` reads the traces' ``meta`` to fit the vertical axis to a zoom."""
    edge_name = _reach(canvas, segments)
    hover = f"{canvas.exact}<br>%{{x:.6f}} s, frame %{{customdata}}"
    canvas.curve(
        segments.edge,
        "y",
        name=edge_name,
        hover=hover,
        custom="frame",
        meta="ceiling",
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.5, "shape": "hv"},
    )
    canvas.ticks(segments.sent, name="sent", colour=palette.SENT, meta="follow")
    canvas.curve(
        segments.returned,
        "y",
        name="acknowledged",
        hover=hover,
        custom="frame",
        mode="lines",
        line={"color": palette.ACKNOWLEDGED, "width": 1.5, "shape": "hv"},
    )
    canvas.ticks(segments.sacked, name="SACK block", colour=palette.ACKNOWLEDGED, width=3)
    marked = []
    for name in marks.ordered(segments.marked):
        mark, (bars, points) = marks.of(name), segments.marked[name]
        marked.append((mark, points))
        canvas.ticks(bars, name=mark.label, colour=mark.colour, legendgroup=mark.label, showlegend=False)
    marked += [(mark, segments.flagged[flag]) for flag, mark in marks.BY_FLAG.items()]
    columns_each = canvas.columns / max(1, segments.packets)
    for mark, points in marked:
        if columns_each >= _APART or not mark.common:
            canvas.curve(
                points,
                "y",
                name=mark.label,
                hover=hover,
                custom="frame",
                legendgroup=mark.label,
                mode="markers",
                visible="legendonly" if mark.common and columns_each < _CLEAR else None,
                cliponaxis=False,
                marker={"color": mark.colour, "size": mark.size, "symbol": mark.symbol},
            )


def _reach(canvas: Canvas, segments: Segments) -> str:
    """Fit the vertical axis to data and acknowledgments; return the legend name of the window's edge."""
    low, high, edge = segments.reach
    if not low <= high:
        low, high = 0.0, 0.0
    length = max(high - low, 1.0)
    most = float(np.fmax(high, edge))
    beyond = most - low > _WORTH * length
    above = high if beyond else most
    margin = 0.04 * (above - low) or 1.0
    canvas.reach(max(0.0, low - margin), above + margin)
    return f"{_EDGE} (above the axis)" if beyond else _EDGE
