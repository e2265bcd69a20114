"""Sequence numbers over time, as tcptrace draws them: segments, acknowledgments and the edge of the window."""

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
"""Most times as high as what was sent and acknowledged that the axis is made to show the edge."""
_APART: Final = 0.5
"""Time columns a packet from which on common marks are offered in the legend,"""
_CLEAR: Final = 4
"""and from which on they are shown."""


def sequence(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the time-sequence graph.

    A tick is a segment, from its first sequence number to its last. The lower stairs are what was acknowledged, the
    upper ones how far the receive window reaches; what lies between the lower stairs and the ticks is in flight. A
    bar in the colour of the lower stairs is the SACK block that an acknowledgment reported first, the one with news.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Time columns of which every line keeps the extremes.
    options
        What of it, and where: see `bdpcap.plots.figure`.
    """
    canvas = Canvas("Time-sequence graph", Y_TITLE, "B", flow, columns, **options)
    draw(canvas, flow)
    return canvas.finish()


def draw(canvas: Canvas, flow: Flow) -> None:
    """Draw the graph on a canvas. ``meta`` of its traces tells ``follow.js`` how the vertical axis follows a zoom."""
    events = flow.events
    time = seconds(events["time_ns"], canvas.origin_ns)
    frame = events["frame"].to_numpy()
    first, acknowledged = floats(events["sequence"]), floats(events["acknowledged"])
    last = first + floats(events["length"])
    returned = np.where(np.isnan(last), acknowledged, np.nan)
    edge = returned + floats(events["window_bytes"])
    # Lines come in at the height of the last event before.
    seen = canvas.within(time) | (np.arange(len(time)) == time.searchsorted(canvas.start) - 1)
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
    # Marks stand where a segment ends, or at the height that is acknowledged.
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
    """Fit the vertical axis to what was sent and acknowledged; return the window edge's name, which may lie beyond."""
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
