"""A figure as a still SVG, drawn without a browser: for print, and for readers that run no scripts.

It knows what the figures of a flow consist of (lines, stairs, points, fills, the strip of limits) and no more.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from bdpcap.plots.scale import Scale

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

WIDTH: Final = 1000
HEIGHT: Final = 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 10, 46, 36
_PREFIXES: Final = {-3: "n", -2: "\N{MICRO SIGN}", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T"}
_LOOK: Final = 'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="11" fill="currentColor"'
_LETTER: Final = 6.1
"""Width of a letter of the legend, about."""


def svg(figure: go.Figure, label: str) -> str:
    """
    Draw a figure as it first shows.

    Parameters
    ----------
    figure
        One of the figures of a flow.
    label
        What a reader hears who cannot see it.

    Returns
    -------
    An ``svg`` element. Text takes the colour of the text around it.
    """
    layout = figure.layout
    low, high = layout.xaxis.range
    across = Scale(low, high, 0, WIDTH - _LEFT - _RIGHT)
    beyond = layout.yaxis.range or (0.0, max(1.0, *(np.nanmax(trace.y) for trace in figure.data)) * 1.04)
    room = HEIGHT - _TOP - _BOTTOM
    part = layout.yaxis.domain or (0, 1)
    up = Scale(beyond[0], beyond[1], room, room * (1 - part[1]))
    strip = Scale(-1, 1, room * 0.07, 0)
    parts = [
        f'<svg class="still" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label={quoteattr(label)} {_LOOK}>',
        f'<text y="13" x="{_LEFT}" font-size="14">{escape(layout.title.text)}</text>',
        *_legend(figure),
        *_axes(layout, across, up),
        f'<svg x="{_LEFT}" y="{_TOP}" width="{across.to}" height="{room}">',
    ]
    before = None
    for trace in figure.data:
        parts += _trace(trace, across, strip if trace.yaxis == "y2" else up, before)
        before = trace
    parts.append("</svg></svg>")
    return "".join(parts)


def _axes(layout: go.Layout, across: Scale, up: Scale) -> list[str]:
    grid, labels = [], []
    bottom = HEIGHT - _BOTTOM
    for value in up.ticks(5):
        y = _TOP + float(up(value))
        grid.append(f"M{_LEFT} {y:g}h{across.to}")
        label = escape(_prefixed(value) + layout.yaxis.ticksuffix)
        labels.append(f'<text x="{_LEFT - 6}" y="{y + 4:g}" text-anchor="end">{label}</text>')
    for value in across.ticks(10):
        x = _LEFT + float(across(value))
        grid.append(f"M{x:g} {_TOP + up.to:g}V{bottom}")
        labels.append(f'<text x="{x:g}" y="{bottom + 14}" text-anchor="middle">{value:.10g}</text>')
    lines = layout.xaxis.title.text.partition("<br>")
    note = lines[2].partition(">")[2].removesuffix("</span>")
    title = f"{lines[0]}{f'; {note}' if note else ''}"
    middle = (_TOP + bottom) / 2
    named = f'<text transform="translate(14 {middle:g}) rotate(-90)" text-anchor="middle">'
    return [
        f'<path d="{"".join(grid)}" stroke="{layout.xaxis.gridcolor}"/>',
        *labels,
        f'<text x="{_LEFT + across.to / 2:g}" y="{HEIGHT - 6}" text-anchor="middle">{escape(title)}</text>',
        f"{named}{escape(layout.yaxis.title.text)}</text>",
    ]


def _prefixed(value: float) -> str:
    step = math.floor(math.log10(abs(value)) / 3 + 1e-9) if value else 0
    step = min(max(step, min(_PREFIXES)), max(_PREFIXES))
    return f"{value / 1000.0**step:.4g}{_PREFIXES[step]}"


def _legend(figure: go.Figure) -> list[str]:
    parts, x = [], float(_LEFT)
    for trace in figure.data:
        points = trace.mode == "markers"
        colour = trace.marker.color if points else trace.line.color
        dash = ' stroke-dasharray="5 3"' if not points and trace.line.dash else ""
        stroke = f'stroke="{colour}" stroke-width="{5 if points else 3}"'
        parts.append(f'<path d="M{x + (8 if points else 0):g} 29h{4 if points else 18}" {stroke}{dash}/>')
        parts.append(f'<text x="{x + 23:g}" y="33">{escape(trace.name)}</text>')
        x += 23 + len(trace.name) * _LETTER + 14
    return parts


def _trace(trace: Any, across: Scale, up: Scale, before: Any) -> list[str]:
    x = across(np.array([math.nan if value is None else value for value in trace.x], dtype=np.float64))
    y = up(np.array([math.nan if value is None else value for value in trace.y], dtype=np.float64))
    if trace.mode == "markers":
        return [_points(trace.marker, x, y)]
    stairs = trace.line.shape == "hv"
    runs = [_line(x[run], y[run], stairs=stairs) for run in _runs(y)]
    parts = []
    if trace.fill == "tozeroy":
        ground = float(up(0.0))
        closed = [
            f"{line}V{ground:g}H{x[run][0]:g}Z" for line, run in zip(runs, _runs(y), strict=True) if line
        ]
        parts.append(f'<path d="{"".join(closed)}" fill="{trace.fillcolor}"/>')
    elif trace.fill == "tonexty":
        floor = _line(across(before.x)[::-1], up(before.y)[::-1], stairs=False).replace("M", "L", 1)
        parts.append(f'<path d="{"".join(runs)}{floor}Z" fill="{trace.fillcolor}"/>')
    dash = {"dash": ' stroke-dasharray="8 6"', "dot": ' stroke-dasharray="2 3"'}.get(
        trace.line.dash or "", ""
    )
    stroke = f'stroke="{trace.line.color}" stroke-width="{trace.line.width}"'
    parts.append(f'<path d="{"".join(runs)}" fill="none" {stroke}{dash}/>')
    return parts


def _runs(y: NDArray[np.float64]) -> list[slice]:
    """Return the stretches between missing values."""
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


def _points(marker: Any, x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Draw a point as a line without length and with round ends; a cross as two strokes."""
    places = dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True))
    cross = marker.symbol == "x"
    stroke = "m-3-3l6 6m0-6l-6 6" if cross else "h0"
    width, cap = (2, "butt") if cross else (marker.size, "square" if marker.symbol == "square" else "round")
    path = "".join(f"M{at:g} {value:g}{stroke}" for at, value in places)
    look = f'stroke-width="{width}" stroke-linecap="{cap}" stroke-opacity="{marker.opacity or 1}"'
    return f'<path d="{path}" fill="none" stroke="{marker.color}" {look}/>'
