"""Time-sequence graph in the style of tcptrace: segments, acknowledgments and the right edge of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from bdpcap.plots import marks
from bdpcap.plots.canvas import Canvas, Options, floats, seconds
from bdpcap.plots.decimate import COLUMNS
from bdpcap.words import palette

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.drawing import Drawing

Y_TITLE: Final = "sequence number"
_EDGE: Final = "receive window's edge"
_WORTH: Final = 1.5
"""The axis includes the window's edge if that needs at most this many times the height of the data."""
_APART: Final = 0.5
"""Minimum number of time columns per packet at which common marks are listed in the legend, but hidden."""
_CLEAR: Final = 4
"""Minimum number of time columns per packet at which common marks are shown."""


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
    draw(canvas, flow)
    return canvas.finish()


def draw(canvas: Canvas, flow: Flow) -> None:
    """Draw the graph on a canvas. ``follow.js`` reads the traces' ``meta`` to fit the vertical axis to a zoom."""
    events = flow.events
    time = seconds(events["time_ns"], canvas.origin_ns)
    frame = events["frame"].to_numpy()
    first, acknowledged = floats(events["sequence"]), floats(events["acknowledged"])
    last = first + floats(events["length"])
    returned = np.where(np.isnan(last), acknowledged, np.nan)
    edge = returned + floats(events["window_bytes"])
    seen = canvas.seen(time)
    edge_name = _reach(canvas, first[seen], last[seen], acknowledged[seen], edge[seen])
    hover = f"{canvas.exact}<br>%{{x:.6f}} s, frame %{{customdata}}"
    canvas.line(
        time,
        edge,
        name=edge_name,
        hover=hover,
        custom=frame,
        meta="ceiling",
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.5, "shape": "hv"},
    )
    names = marks.names(events)
    plain = np.where(np.isin(names, marks.PLAIN), first, np.nan)
    canvas.ticks(time, plain, last, name="sent", frame=frame, colour=palette.SENT, meta="follow")
    canvas.line(
        time,
        returned,
        name="acknowledged",
        hover=hover,
        custom=frame,
        mode="lines",
        line={"color": palette.ACKNOWLEDGED, "width": 1.5, "shape": "hv"},
    )
    canvas.ticks(
        time,
        floats(events["sack_start"]),
        floats(events["sack_end"]),
        name="SACK block",
        frame=frame,
        colour=palette.ACKNOWLEDGED,
        width=3,
    )
    # A mark is at the end of its segment, or at the number of its acknowledgment.
    place = np.where(np.isnan(last), returned, last)
    marked = []
    for name in marks.ordered(names[canvas.within(time)]):
        mark, own = marks.of(name), names == name
        marked.append((mark, own))
        canvas.ticks(
            time,
            np.where(own, first, np.nan),
            last,
            name=mark.label,
            frame=frame,
            colour=mark.colour,
            legendgroup=mark.label,
            showlegend=False,
        )
    flags = np.where(np.isnan(last), 0, events["tcp_flags"].to_numpy())
    marked += [(mark, flags.astype(int) & flag > 0) for flag, mark in marks.BY_FLAG.items()]
    columns_each = canvas.columns / max(1, int(np.count_nonzero(canvas.within(time))))
    for mark, own in marked:
        if columns_each >= _APART or not mark.common:
            canvas.line(
                time,
                np.where(own, place, np.nan),
                name=mark.label,
                hover=hover,
                custom=frame,
                legendgroup=mark.label,
                mode="markers",
                visible="legendonly" if mark.common and columns_each < _CLEAR else None,
                cliponaxis=False,
                marker={"color": mark.colour, "size": mark.size, "symbol": mark.symbol},
            )


def _reach(
    canvas: Canvas,
    first: NDArray[np.float64],
    last: NDArray[np.float64],
    acknowledged: NDArray[np.float64],
    edge: NDArray[np.float64],
) -> str:
    """Fit the vertical axis to data and acknowledgments; return the legend name of the window's edge."""
    low = float(np.fmin.reduce(np.hstack((np.inf, first, acknowledged))))
    high = float(np.fmax.reduce(np.hstack((-np.inf, last, acknowledged))))
    if low > high:
        low, high = 0.0, 0.0
    length = max(high - low, 1.0)
    most = float(np.fmax.reduce(np.hstack((high, edge))))
    beyond = most - low > _WORTH * length
    above = high if beyond else most
    margin = 0.04 * (above - low) or 1.0
    canvas.reach(max(0.0, low - margin), above + margin)
    return f"{_EDGE} (above the axis)" if beyond else _EDGE
