"""Draw a figure as static SVG without a browser: for print, and for pages whose scripts do not run.

Only the elements of a flow's figures are supported: lines, steps, points, fills and the bars of limits.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from bdpcap.plots.drawing import Drawing
from bdpcap.plots.pixels import Scale

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

WIDTH: Final = 1000
_PLOT: Final = 200
"""Height of the main vertical axis in pixels; lanes above it add to the picture's height."""
_LEFT, _RIGHT, _BOTTOM = 84, 10, 36
_TICKS, _UNDER = 18, 6
"""Height of the labels of the time axis, and of the room below its title, in pixels."""
_OVERVIEW: Final = 36
"""Height of an overview in pixels."""
_TICK: Final = 40
"""Pixels between the labels of a vertical axis, about."""
_LINE: Final = 18
"""Height of a line of the legend in pixels."""
_LOOK: Final = 'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="11" fill="currentColor"'
LETTER: Final = 6.1
"""Approximate width of a letter of the legend in pixels."""
SYMBOLS: Final = {
    "circle": "h0",
    "square": "h0",
    "x": "m-3-3l6 6m0-6l-6 6",
    "cross": "m-4 0h8m-4-4v8",
    "asterisk-open": "m-3-3l6 6m0-6l-6 6m-1-3h8m-4-4v8",
    "diamond": "m0-3l3 3-3 3-3-3z",
    "diamond-open": "m0-3l3 3-3 3-3-3z",
    "circle-open": "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "square-open": "m-3-3h6v6h-6z",
    "triangle-up": "m-3 2l3-5 3 5z",
    "triangle-down": "m-3-2l3 5 3-5z",
}
"""Path of each symbol, from its centre. A path without length is drawn with the symbol's size as stroke width."""


def svg(figure: Drawing | go.Figure, label: str) -> str:
    """
    Draw a figure as it looks before any zoom.

    Parameters
    ----------
    figure
        One of the figures of a flow.
    label
        Description for screen readers (``aria-label``).

    Returns
    -------
    An ``svg`` element. Its text inherits the colour of the page's text.
    """
    drawing = figure if isinstance(figure, Drawing) else Drawing.of(figure)
    layout = drawing.layout
    low, high = layout["xaxis"]["range"]
    across = Scale(low, high, 0, WIDTH - _LEFT - _RIGHT)
    bottom, full = layout["yaxis"].get("domain", (0, 1))
    room = round(_PLOT / (full - bottom))
    scales = {
        name.replace("axis", ""): _up(axis, room) for name, axis in layout.items() if name.startswith("yaxis")
    }
    head, top = _heading(layout["title"])
    legend, lines = _legend(drawing, top)
    top += lines * _LINE
    overview = _overview(drawing, top + room) if "rangeslider" in layout["xaxis"] else []
    below = _BOTTOM + (_OVERVIEW + _TICKS) * bool(overview)
    box = f"0 0 {WIDTH} {top + room + below}"
    parts = [
        f'<svg class="still" viewBox="{box}" role="img" aria-label={quoteattr(label)} {_LOOK}>',
        *head,
        *legend,
        *_time_axis(layout["xaxis"], across, top, top + room, top + room + below - _UNDER),
        *overview,
    ]
    for name, up in scales.items():
        axis = layout[name.replace("y", "yaxis")]
        if axis.get("visible", True):
            parts += _vertical_axis(axis, across, up, top)
    shown = [trace for trace in drawing.traces if trace.get("visible") != "legendonly"]
    for name, up in scales.items():
        # Each axis has a frame that cuts the rest of a line.
        y, height = f"{top + up.to:g}", f"{up.start - up.to:g}"
        box = f"0 {up.to:g} {across.to} {height}"
        own = [part for trace in shown if trace["yaxis"] == name for part in _trace(trace, across, up)]
        parts += [
            f'<svg x="{_LEFT}" y="{y}" width="{across.to}" height="{height}" viewBox="{box}">',
            *own,
            "</svg>",
        ]
    parts.append("</svg>")
    return "".join(parts)


def _up(axis: dict[str, Any], room: int) -> Scale:
    """Return the scale of a vertical axis; 0 is the top of the plot."""
    bottom, top = axis.get("domain", (0, 1))
    low, high = axis["range"]
    return Scale(low, high, room * (1 - bottom), room * (1 - top))


def _heading(title: dict[str, Any]) -> tuple[list[str], int]:
    """Return the elements of title and subtitle, and the height that they take."""
    parts = [f'<text y="15" x="{_LEFT}" font-size="14">{escape(title["text"])}</text>']
    lines = title["subtitle"]["text"].split("<br>")  # escaped before
    parts += [
        f'<text y="{15 + _LINE * number}" x="{_LEFT}">{line}</text>' for number, line in enumerate(lines, 1)
    ]
    return parts, 15 + _LINE * len(lines)


def _time_axis(axis: dict[str, Any], across: Scale, top: int, bottom: int, title_y: int) -> list[str]:
    grid, labels = [], []
    for value in across.ticks(10):
        x = _LEFT + float(across(value))
        grid.append(f"M{x:g} {top}V{bottom}")
        labels.append(
            f'<text x="{x:g}" y="{bottom + _TICKS - 4}" text-anchor="middle">{_plain(value)}</text>'
        )
    lines = axis["title"]["text"].partition("<br>")
    note = lines[2].partition(">")[2].removesuffix("</span>")
    title = f"{lines[0]}{f'; {note}' if note else ''}"
    return [
        f'<path d="{"".join(grid)}" stroke="{axis["gridcolor"]}"/>',
        *labels,
        f'<text x="{_LEFT + across.to / 2:g}" y="{title_y}" text-anchor="middle">{escape(title)}</text>',
    ]


def _overview(drawing: Drawing, bottom: int) -> list[str]:
    """Return the overview below a plot: all that is drawn, small, and a frame around the time shown."""
    axis = drawing.layout["xaxis"]
    slider = axis["rangeslider"]
    low, high = slider["range"]
    across = Scale(low, high, 0, WIDTH - _LEFT - _RIGHT)
    low, high = slider["yaxis"]["range"]
    up = Scale(low, high, _OVERVIEW, 0)
    start, end = (float(across(at)) for at in axis["range"])
    place = f'x="{_LEFT}" y="{bottom + _TICKS}" width="{across.to}" height="{_OVERVIEW}"'
    shown = [
        trace
        for trace in drawing.traces
        if trace.get("visible") != "legendonly" and trace["mode"] in ("lines", "markers")
    ]
    return [
        f'<rect {place} fill="{slider["bgcolor"]}"/><svg {place}>',
        *(part for trace in shown for part in _trace(trace, across, up)),
        f'<path d="M{start:g} 0V{_OVERVIEW}H{end:g}V0z" fill="none" stroke="currentColor" stroke-width="2"/></svg>',
    ]


def _vertical_axis(axis: dict[str, Any], across: Scale, up: Scale, top: int) -> list[str]:
    grid, labels = [], []
    shown = axis.get("showticklabels", True)
    for value in up.ticks(max(2, round((up.start - up.to) / _TICK))) if shown else ():
        y = top + float(up(value))
        grid.append(f"M{_LEFT} {y:g}h{across.to}")
        labels.append(f'<text x="{_LEFT - 6}" y="{y + 4:g}" text-anchor="end">{_plain(value)}</text>')
    middle = top + (up.start + up.to) / 2
    named = f'<text transform="translate(14 {middle:g}) rotate(-90)" text-anchor="middle">'
    return [
        f'<path d="{"".join(grid)}" stroke="{axis["gridcolor"]}"/>',
        *labels,
        f"{named}{escape(axis['title']['text'])}</text>",
    ]


def _plain(value: float) -> str:
    return np.format_float_positional(float(f"{value:.12g}"), trim="-")


def _legend(drawing: Drawing, top: int) -> tuple[list[str], int]:
    """Return the elements of the legend below `top`, and its number of lines."""
    parts, x, line = [], float(_LEFT), 1
    for trace in drawing.traces:
        if trace.get("showlegend") is False or trace.get("visible") == "legendonly":
            continue
        width = 23 + len(trace["name"]) * LETTER
        if x > _LEFT and x + width > WIDTH - _RIGHT:
            x, line = float(_LEFT), line + 1
        y = top - 4 + line * _LINE
        if trace.get("mode") == "markers":
            parts.append(_points(trace["marker"], np.array([x + 10]), np.array([y - 4.0])))
        elif trace["type"] == "bar" or trace.get("fill") == "toself":
            colour = trace.get("fillcolor") or trace["marker"]["color"]
            parts.append(f'<path d="M{x:g} {y - 8:g}h18v8h-18z" fill="{colour}"/>')
        else:
            style = trace["line"]
            dash = ' stroke-dasharray="5 3"' if "dash" in style else ""
            stroke = f'stroke="{style["color"]}" stroke-width="3"'
            parts.append(f'<path d="M{x:g} {y - 4:g}h18" {stroke}{dash}/>')
        parts.append(f'<text x="{x + 23:g}" y="{y:g}">{escape(trace["name"])}</text>')
        x += width + 14
    return parts, line


def _trace(trace: dict[str, Any], across: Scale, up: Scale) -> list[str]:
    return _bars(trace, across, up) if trace["type"] == "bar" else _scatter(trace, across, up)


def _bars(trace: dict[str, Any], across: Scale, up: Scale) -> list[str]:
    """Draw bars that each begin at their ``x``, as high as their axis."""
    edges = zip(across(trace["x"]).tolist(), across(trace["x"] + trace["width"]).tolist(), strict=True)
    path = "".join(f"M{start:g} {up.to:g}H{end:g}V{up.start:g}H{start:g}z" for start, end in edges)
    return [f'<path d="{path}" fill="{trace["marker"]["color"]}"/>']


def _scatter(trace: dict[str, Any], across: Scale, up: Scale) -> list[str]:
    x, y = across(trace["x"]), up(trace["y"])
    if trace["mode"] == "text":
        return [
            f'<text x="{at:g}" y="{value + _LINE:g}" text-anchor="middle">{escape(text)}</text>'
            for at, value, text in zip(x, y, trace["text"], strict=True)
        ]
    if trace["mode"] == "markers":
        return [_points(trace["marker"], x, y)]
    style = trace["line"]
    stairs = style.get("shape") == "hv"
    runs = [_line(x[run], y[run], stairs=stairs) for run in _runs(y)]
    parts = []
    if trace.get("fill") == "toself":
        return [f'<path d="{"Z".join(runs)}Z" fill="{trace["fillcolor"]}"/>']
    if trace.get("fill") == "tozeroy":
        ground = float(up(0.0))
        closed = [
            f"{line}V{ground:g}H{x[run][0]:g}Z" for line, run in zip(runs, _runs(y), strict=True) if line
        ]
        parts.append(f'<path d="{"".join(closed)}" fill="{trace["fillcolor"]}"/>')
    dash = {"dash": ' stroke-dasharray="8 6"', "dot": ' stroke-dasharray="2 3"'}.get(
        style.get("dash", ""), ""
    )
    stroke = f'stroke="{style["color"]}" stroke-width="{style["width"]}"'
    parts.append(f'<path d="{"".join(runs)}" fill="none" {stroke}{dash}/>')
    if trace["mode"] == "lines+markers":
        ends = dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True))
        feet = "".join(f"M{at - 2:g} {value:g}h4" for at, value in ends if not math.isnan(value))
        parts.append(f'<path d="{feet}" fill="none" stroke="{style["color"]}"/>')
    return parts


def _runs(y: NDArray[np.float64]) -> list[slice]:
    """Return the slices of consecutive values that are not NaN."""
    edges = np.flatnonzero(np.isnan(y))
    bounds = [-1, *edges.tolist(), len(y)]
    return [slice(left + 1, right) for left, right in pairwise(bounds) if right > left + 1]


def _line(x: NDArray[np.float64], y: NDArray[np.float64], *, stairs: bool) -> str:
    last_x, last_y = float(x[0]), float(y[0])
    path = [f"M{last_x:g} {last_y:g}"]
    for at, value in zip(x[1:].tolist(), y[1:].tolist(), strict=True):
        if (at, value) == (last_x, last_y):
            continue
        if stairs or value == last_y or at == last_x:
            path += [f"H{at:g}"] * (at != last_x) + [f"V{value:g}"] * (value != last_y)
        else:
            path.append(f"L{at:g} {value:g}")
        last_x, last_y = at, value
    return "".join(path)


def _points(marker: dict[str, Any], x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Draw points as the paths of their symbol; a path without length becomes a disc or a square by its line cap."""
    symbol = marker.get("symbol", "circle")
    places = dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True))
    path = "".join(f"M{at:g} {value:g}{SYMBOLS[symbol]}" for at, value in places)
    width = marker["size"] if SYMBOLS[symbol] == "h0" else 2 if symbol in ("x", "cross") else 1.2
    cap = "round" if symbol == "circle" else "square"
    fill = "none" if symbol.endswith("-open") or width != 1.2 else marker["color"]
    look = f'stroke-width="{width}" stroke-linecap="{cap}" stroke-opacity="{marker.get("opacity", 1)}"'
    return f'<path d="{path}" fill="{fill}" stroke="{marker["color"]}" {look}/>'
