"""Picture of all flows over the time of the capture: a row for each important flow, and counts of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.limits import LIMITS
from bdpcap.limits.stripes import stripes
from bdpcap.plots.pixels import Scale, above
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture

ROWS: Final = 12
"""Maximum number of flows with a row."""

WIDTH: Final = 900
"""Width of the overview in pixels."""
_STRIPES: Final = 120
"""Most stripes of a row."""
_COLUMNS: Final = 300
"""Time columns in which the other flows are counted."""
_TICKS: Final = 10
"""Marks of the time axis, about."""
_UNITS: Final = ((units.YEAR_NS / 1e9, "years"), (86_400.0, "days"), (3600.0, "h"), (1.0, "s"))
"""Units of the time axis in seconds, with their names, the longest first."""
_FEWEST: Final = 3
"""Fewest units that an axis spans, but of seconds; labels stay short so."""
_THINNEST: Final = 0.5
"""Least width of a stripe in pixels: thinner ones are not seen."""
_WAYS: Final = "←→"


@dataclass(frozen=True, slots=True)
class Row:
    """A flow with a row: its summary, its label, and per stripe the limit, the left edge and the width in pixels."""

    flow: pd.Series
    label: str
    stripes: list[tuple[str, float, float]]


@dataclass(frozen=True, slots=True)
class Crowd:
    """The flows without a row: their number, the most at one time, and per limit an SVG path of a stacked area."""

    flows: int
    most: int
    areas: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Overview:
    """Elements of the picture of all flows; positions are pixels from 0 to `WIDTH`."""

    rows: list[Row]
    crowd: Crowd | None
    ticks: list[tuple[float, str]]
    unit: str
    """Unit of the labels of `ticks`."""
    both: bool
    """Whether both directions of a stream carried payload, so that labels have arrows."""


def overview(capture: Capture, flows: pd.DataFrame) -> Overview:
    """
    Return the elements of the picture of all flows.

    Parameters
    ----------
    capture
        The capture.
    flows
        The ``flows`` table of the capture, in order of importance.
    """
    start, end = int(flows["start_ns"].min()), int(flows["end_ns"].max())
    origin = start if capture.info.first_ns is None else capture.info.first_ns
    born = (start - origin) / 1e9
    time = Scale(born, max((end - origin) / 1e9, above(born, 1e-9)), 0, WIDTH)
    rows = []
    capture._contents.verdicts.load(flows["stream"].head(ROWS).tolist())
    for _, summary in flows.head(ROWS).iterrows():
        own = capture.flow(int(summary["stream"]), str(summary["sender"])).rtts
        parts = stripes(own, _STRIPES)
        edges = time([((part.start_ns - origin) / 1e9, (part.end_ns - origin) / 1e9) for part in parts])
        drawn = [
            (part.limit, float(left), max(_THINNEST, round(float(right - left), 1)))
            for part, (left, right) in zip(parts, edges, strict=True)
        ]
        rows.append(Row(summary, _label(capture, summary), drawn))
    rest = flows.iloc[ROWS:]
    both = any(row.label.endswith(tuple(_WAYS)) for row in rows)
    crowd = _crowd(rest, start, end) if len(rest) else None
    return Overview(rows, crowd, *_axis(time), both)


def _axis(time: Scale) -> tuple[list[tuple[float, str]], str]:
    """Return the places and labels of the marks of a scale in seconds, and the unit of the labels."""
    spanned_s = time.high - time.low
    seconds, unit = next((one for one in _UNITS if spanned_s >= _FEWEST * one[0]), _UNITS[-1])
    scaled = Scale(time.low / seconds, time.high / seconds, time.start, time.to)
    return [(float(scaled(value)), f"{value:.10g}") for value in scaled.ticks(_TICKS)], unit


def _label(capture: Capture, flow: pd.Series[Any]) -> str:
    """Return a flow's stream, with an arrow if both directions carried payload; → is client to server."""
    stream = int(flow["stream"])
    if (capture.flows["stream"] == stream).sum() == 1:
        return f"stream {stream}"
    client = capture._contents.streams.sides(stream)["sender"][0]
    return f"stream {stream} {_WAYS[bool(flow['sender'] == client)]}"


def _crowd(flows: pd.DataFrame, start: int, end: int) -> Crowd:
    """Return the stacked areas: flows per limit in each time column; the largest total has the height 100."""
    edges = np.linspace(start, max(end, start + 1), _COLUMNS + 1)
    alive = np.zeros((len(LIMITS), _COLUMNS))
    for row, limit in enumerate(LIMITS):
        own = flows[flows["limit"] == limit]
        born = np.sort(own["start_ns"].to_numpy()).searchsorted(edges[1:], side="right")
        gone = np.sort(own["end_ns"].to_numpy()).searchsorted(edges[:-1], side="left")
        alive[row] = born - gone
    tops = np.cumsum(alive, axis=0)
    most = int(tops[-1].max())
    x = np.round(np.arange(_COLUMNS + 1) * (WIDTH / _COLUMNS), 1)
    areas = []
    for row, limit in enumerate(LIMITS):
        if not alive[row].any():
            continue
        upper, lower = (100 - 100 * level / most for level in (tops[row], tops[row] - alive[row]))
        areas.append((limit, f"{_stairs(x, upper, 'M')}{_stairs(x[::-1], lower[::-1], 'L')}Z"))
    return Crowd(len(flows), most, areas)


def _stairs(x: np.ndarray, y: np.ndarray, first: str) -> str:
    """Return an SVG path of steps: n values ``y`` between n + 1 places ``x``; ``first`` is the first command."""
    steps = (np.flatnonzero(np.diff(y)) + 1).tolist()
    path = "".join(f"H{x[index]:g}V{y[index]:.1f}" for index in steps)
    return f"{first}{x[0]:g} {y[0]:.1f}{path}H{x[-1]:g}"
