"""Time-sequence graph in the style of tcptrace: segments, acknowledgments and the right edge of the window.

A flow of many packets would be a diagonal of three lines, so its busiest time is shown, with an overview to choose from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, Unpack

import numpy as np

from bdpcap.plots import kept, marks, stalls
from bdpcap.plots.busiest import Busiest
from bdpcap.plots.canvas import Canvas, Options, numbers
from bdpcap.plots.decimate import COLUMNS, Axis, Spliced, Thinned
from bdpcap.plots.kept import Kept
from bdpcap.plots.stalls import Stalls
from bdpcap.plots.time_axis import axis_of, life
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.drawing import Drawing

Y_TITLE: Final = "sequence number"
FEW: Final = 3000
"""Packets that a graph of the whole flow shows at most: about three in each pixel of its width."""
MOST: Final = 1000
"""Maximum number of packets that a figure shows one by one; each gets about a pixel."""
_EDGE: Final = "receive window's edge"
_WORTH: Final = 1.5
"""The axis includes the window's edge if that needs at most this many times the height of the data."""
_APART: Final = 0.5
"""Minimum number of time columns per packet at which common marks are listed in the legend, but hidden."""
_CLEAR: Final = 4
"""Minimum number of time columns per packet at which common marks are shown."""


Points: TypeAlias = "Thinned | Spliced"


class Lines(NamedTuple):
    """All that a time-sequence graph draws."""

    packets: int
    """Number of events within the time shown."""
    reach: tuple[float, float, float]
    """Least and largest number of data and acknowledgments, and the largest of the window's edge; NaN if unknown."""
    edge: Points
    returned: Points
    sent: Points
    sacked: Points
    marked: Mapping[str, tuple[Points, Points]]
    """Bars and points of each mark by its name in `marks`."""
    flagged: Mapping[int, Points]
    """Points of the marks by TCP flag."""

    def spliced(self, part: Lines, axis: Axis) -> Lines:
        """Return all that `part` has of a part of the time, and around it what this has."""

        def joined(whole: Points, of_part: Points | None) -> Points:
            return Spliced(whole, of_part, axis)

        return Lines(
            part.packets,
            part.reach,
            joined(self.edge, part.edge),
            joined(self.returned, part.returned),
            joined(self.sent, part.sent),
            joined(self.sacked, part.sacked),
            {
                name: (joined(bars, own[0]), joined(points, own[1]))
                for name, (bars, points) in self.marked.items()
                for own in [part.marked.get(name, (None, None))]
            },
            {flag: joined(points, part.flagged[flag]) for flag, points in self.flagged.items()},
        )


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

    @property
    def lines(self) -> Lines:
        """Everything that is drawn."""
        lines = (self.edge, self.returned, self.sent, self.sacked, self.marked, self.flagged)
        return Lines(self.packets, self.reach, *lines)


class Packets(Kept):
    """The busiest second of a flow, and its events."""

    names = Segments.names

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        self.busiest = Busiest(*life(flow), MOST)

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        self.busiest.add({"x": x, **{name: events[name] for name in self.names}})


def busiest(flow: Flow) -> tuple[float, float]:
    """
    Choose the second with the most packets; data and acknowledgments count.

    If the second has more than `MOST`, the busiest 500 ms are chosen, or 200 ms, and so on.

    Parameters
    ----------
    flow
        The flow.

    Returns
    -------
    Start and end of that time, in seconds since the capture's first frame.

    Examples
    --------
    >>> start, end = bdpcap.plots.busiest(flow)
    >>> figure = flow.plot("sequence", start=start, end=end)
    """
    return kept.of(Packets, flow, axis_of(flow), COLUMNS).busiest.span


def sequence(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the time-sequence graph.

    A tick is a segment, from its first sequence number to its last. The lower line is the acknowledgment number, the
    upper line the right edge of the receive window. Data between the lower line and the ticks are in flight. A bar
    in the colour of the lower line is an acknowledgment's SACK block of newly received data; D-SACK is left out.

    If no time is given, a flow of more than `FEW` packets is shown in its busiest time, in which each packet is visible.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    options
        Time to draw, and figure and subplot to draw into: see `bdpcap.plots.figure`.
    """
    title = "Time-sequence graph"
    if options.get("start") is None and options.get("end") is None:
        found = kept.of(Packets, flow, axis_of(flow), COLUMNS).busiest
        if found.events > FEW:
            lasting = units.duration((found.span[1] - found.span[0]) * 1e9)
            title += f" of the busiest {'second' if lasting == '1 s' else lasting}"
            return _of_part(Canvas(title, Y_TITLE, "B", flow, columns, **options), flow, found)
    canvas = Canvas(title, Y_TITLE, "B", flow, columns, **options)
    read = kept.read((Segments, Stalls), flow, canvas.axis, columns)
    draw(canvas, read.of(Segments).lines)
    stalls.draw(canvas, flow, read.of(Stalls))
    return canvas.finish()


def _of_part(canvas: Canvas, flow: Flow, found: Busiest) -> Drawing:
    """Draw the whole flow, with every packet of its busiest time, and show that time."""
    start, end = found.span
    read = kept.read((Segments, Stalls), flow, canvas.axis, canvas.columns)
    whole = read.of(Segments)
    axis = Axis(start, end, start, end)
    if found.rows is None:
        part = kept.of(Segments, flow, axis, COLUMNS)
    else:
        part = Segments(flow, axis, COLUMNS)
        part.take(found.rows)
    draw(canvas, whole.lines.spliced(part.lines, axis))
    canvas.overview(start, end, np.nanmax(whole.reach))
    stalls.draw(canvas, flow, read.of(Stalls))
    return canvas.finish()


def draw(canvas: Canvas, segments: Lines) -> None:
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


def _reach(canvas: Canvas, segments: Lines) -> str:
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
