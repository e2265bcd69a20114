"""The linked figures of a flow in a span of time, as one plotly figure with a common time axis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from bdpcap import plots
from bdpcap.limits.stripes import stripes
from bdpcap.plots import losses, ribbon, stalls
from bdpcap.plots.canvas import Canvas
from bdpcap.plots.drawing import Drawing
from bdpcap.plots.losses import Losses
from bdpcap.plots.rtt import Y_TITLE as RTT
from bdpcap.plots.rtt import Samples
from bdpcap.plots.rtt import draw as draw_rtt
from bdpcap.plots.sequence import Y_TITLE as SEQUENCE
from bdpcap.plots.sequence import Segments
from bdpcap.plots.sequence import draw as draw_sequence
from bdpcap.plots.stalls import Stalls
from bdpcap.plots.time_axis import life, origin_ns
from bdpcap.plots.window import Y_TITLE as WINDOW
from bdpcap.plots.window import Windows
from bdpcap.plots.window import draw as draw_window
from bdpcap.view.thinning import COLUMNS, thinned
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow
    from bdpcap.plots.kept import Kept
    from bdpcap.view.columns import Columns
    from bdpcap.view.seen import Seen

__all__ = ["CONFIG", "FREE_AXIS", "HEIGHT", "Span", "draw", "shown"]

Some = TypeVar("Some", bound="Kept")

CONFIG: Final[dict[str, Any]] = {**plots.CONFIG, "doubleClick": "autosize"}
"""Plotly's configuration: a double click asks for the whole flow."""

LEAST_S: Final = 1e-6
"""Shortest time shown, in seconds; captures seldom have finer times."""
_STRIPES: Final = 250
"""Maximum number of stripes; each round has its own where there are no more."""

_OF_SAMPLES: Final = COLUMNS // 2
"""Time columns of the RTT: each of its samples is an element of the page, and costs as much as many points of a line."""

_TITLE: Final = "Limits, window, round-trip time and sequence numbers"
_ROWS: Final = ((20, 100), (240, 52), (190, 52), (340, 20))
"""Heights of the figures from above, and the room above each for its legend, in pixels; the last has its legend below.

Above the first stands the heading, too.
"""
_BOTTOM: Final = 150
"""Room below all figures in pixels, for the time axis and a legend."""
HEIGHT: Final = sum(map(sum, _ROWS)) + _BOTTOM
"""Height of the whole figure in pixels."""
FREE_AXIS: Final = f"yaxis{len(_ROWS)}"
"""The vertical axis that can be zoomed: that of the sequence numbers."""


@dataclass(frozen=True)
class Span:
    """A time shown, in seconds since the capture's first frame."""

    start: float
    end: float
    sequence: tuple[float, float] | None = None
    """Range of the axis of sequence numbers, in its unit; None fits it to what is shown."""

    def within(self, flow: Flow) -> Span:
        """Return the span moved into the life of a flow: as long as before, unless the flow is shorter."""
        born, gone = life(flow)
        gone = max(gone, born + LEAST_S)
        lasting = min(max(self.end - self.start, LEAST_S), gone - born)
        start = min(max(self.start, born), gone - lasting)
        return Span(start, start + lasting, self.sequence)


def whole(flow: Flow) -> Span:
    """Return the life of a flow."""
    return Span(*life(flow)).within(flow)


def _of(kind: type[Some], events: Columns, flow: Flow, canvas: Canvas) -> Some:
    """Return the events as a figure keeps them."""
    kept = kind(flow, canvas.axis, canvas.columns)
    kept.take({**events.by_name})
    return kept


def _edges_ns(flow: Flow, span: Span) -> tuple[int, int]:
    """Return the edges of a span in ns since the epoch, a nanosecond outside: a time in seconds is rounded."""
    origin = origin_ns(flow)
    return origin + round(span.start * 1e9) - 1, origin + round(span.end * 1e9) + 1


def shown(seen: Seen, span: Span) -> tuple[Columns, int | None]:
    """Return the events that the figures draw, and the number of events in the span; None if it is not known."""
    start_ns, end_ns = _edges_ns(seen.flow, span)
    events, number = seen.between(start_ns, end_ns)
    return events.chosen(thinned(events, start_ns, end_ns)), number


def draw(seen: Seen, span: Span) -> tuple[Drawing, str]:
    """
    Draw the figures of a flow.

    Parameters
    ----------
    seen
        The events of the flow.
    span
        Time to draw, within the flow's life.

    Returns
    -------
    The figure, and a sentence on the events that it shows.
    """
    flow = seen.flow
    events, number = shown(seen, span)

    def limits(canvas: Canvas) -> None:
        canvas.y_axis |= {
            "range": [-1, 1], "showticklabels": False, "showgrid": False, "title": {"text": "limit", "standoff": 12},
        }  # fmt: skip
        rounds = flow.rtts[canvas.rounds(flow.rtts)]
        ribbon.add(canvas, stripes(rounds, _STRIPES, merged=False), canvas.y)

    def windows(canvas: Canvas) -> None:
        losses.draw(canvas, _of(Losses, events, flow, canvas), counted=False)
        draw_window(canvas, flow, flow.rtts[canvas.rounds(flow.rtts)], _of(Windows, events, flow, canvas))
        stalls.draw(canvas, flow, _of(Stalls, events, flow, canvas))

    def samples(canvas: Canvas) -> None:
        draw_rtt(canvas, flow, _of(Samples, events, flow, canvas))

    def segments(canvas: Canvas) -> None:
        draw_sequence(canvas, _of(Segments, events, flow, canvas).lines)

    parts: list[tuple[str, str, int, Callable[[Canvas], None]]] = [
        ("", "", COLUMNS, limits),
        (WINDOW, "B", COLUMNS, windows),
        (RTT, "s", _OF_SAMPLES, samples),
        (SEQUENCE, "B", COLUMNS, segments),
    ]
    drawings = []
    is_all = True
    for title, unit, columns, add in parts:
        canvas = Canvas(_TITLE, title, unit, flow, columns, start=span.start, end=span.end)
        add(canvas)
        drawings.append(canvas.finish())
        is_all &= canvas.drawn == canvas.points
    return _stacked(drawings, span), _status(flow, span, events, number, is_all=is_all)


def _stacked(drawings: list[Drawing], span: Span) -> Drawing:
    """Return figures above one another, with one time axis and a legend for each."""
    traces = []
    above = _ROWS[0][1]
    inner = HEIGHT - above - _BOTTOM
    layout: dict[str, Any] = {
        **{
            name: drawings[0].layout[name]
            for name in ("title", "font", "modebar", "hovermode", "hoverdistance")
        },
        "margin": {"l": 76, "r": 12, "t": above, "b": _BOTTOM},
        "height": HEIGHT,
        "showlegend": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    top = inner + above
    lanes = 0
    for number, (drawing, (height, room)) in enumerate(zip(drawings, _ROWS, strict=True), 1):
        top -= room
        suffix = "" if number == 1 else str(number)
        last = number == len(drawings)
        bottom = max(0.0, (top - height) / inner)
        # The main axes are numbered by row; the lanes of a row follow after them.
        axes = {"y": f"y{suffix}"}
        for name in drawing.layout:
            if name.startswith("yaxis") and name != "yaxis":
                lanes += 1
                axes[name.replace("axis", "")] = f"y{len(_ROWS) + lanes}"
        for name, placed in axes.items():
            axis = drawing.layout[name.replace("y", "yaxis")]
            low, high = axis.get("domain", (0.0, 1.0))
            layout[placed.replace("y", "yaxis")] = {
                **axis,
                "domain": [bottom + part * (top / inner - bottom) for part in (low, high)],
                "fixedrange": name != "y" or not last,
                "anchor": "x",
            }
        layout[f"legend{suffix}"] = {
            **drawing.layout["legend"],
            "y": -52 / inner if last else (top + 2) / inner,
            "yanchor": "top" if last else "bottom",
            "uirevision": "kept",
        }
        for trace in drawing.traces:
            # By its uid a trace that was hidden stays hidden; a name may end in a value in brackets.
            told = f"{trace['yaxis']} {trace['name'].partition(' (')[0]} {trace.get('mode', 'bar')}"
            uid = re.sub(r"\W+", "-", f"{number} {told}")
            traces.append({**trace, "yaxis": axes[trace["yaxis"]], "legend": f"legend{suffix}", "uid": uid})
        top -= height
    layout["xaxis"] = {
        **drawings[-1].layout["xaxis"],
        "title": {"text": "time since capture start (s)", "standoff": 6},
        "anchor": f"y{len(drawings)}",
        "range": [span.start, span.end],
        "autorange": False,
        "showspikes": True,
        "spikemode": "across",
        "spikethickness": 1,
        "spikedash": "dot",
        "spikecolor": "rgba(128, 128, 128, .7)",
        "spikesnap": "cursor",
    }
    if span.sequence is not None:
        layout[FREE_AXIS]["range"] = [*span.sequence]
    return Drawing(traces, layout)


def _status(flow: Flow, span: Span, events: Columns, number: int | None, *, is_all: bool) -> str:
    """Return a sentence on the events drawn of `number`: `events` were chosen; `is_all`: each of these is drawn."""
    start_ns, end_ns = _edges_ns(flow, span)
    chosen = int(np.count_nonzero((events.time_ns >= start_ns) & (events.time_ns <= end_ns)))
    lasting = units.duration((span.end - span.start) * 1e9)
    if number is None:
        return f"{lasting}: {units.number(chosen, 'event')} drawn, the extremes of many more"
    how = "all drawn" if is_all and chosen >= number else "every extreme drawn"
    return f"{lasting}: {units.number(number, 'event')}, {how}"
