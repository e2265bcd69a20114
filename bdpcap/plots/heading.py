"""What stands above a figure: its title, the flow and the time that it shows, and room for the legend."""

from __future__ import annotations

import html
import math
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis

__all__ = ["NARROW", "heading", "room", "time_text"]

NARROW: Final = 500
"""Pixels of a line in the narrowest figure, that of a page's first screen."""
_TITLE: Final = 34
"""Height of the title in pixels."""
_LINE: Final = 15
"""Height of a line below the title in pixels."""
_LETTERS: Final = 80
"""Maximum number of letters of such a line; each takes up to 6.2 pixels of `NARROW`."""
_ENTRY: Final = 29
"""Height of a line of the legend in pixels, as plotly leaves room for it."""
_LONGEST_NAME: Final = 60
"""Letters of a file's name at most; a longer name loses its middle."""


def heading(title: str, flow: Flow, axis: Axis) -> dict[str, Any]:
    """Return plotly's title of a figure: below the title stand the file, the stream, its ends and the time drawn."""
    return {
        "text": title,
        "subtitle": {"text": "<br>".join(_lines(flow, axis)), "font": {"size": 11}},
        "x": 0,
        "xref": "paper",
        "y": 1,
        "yanchor": "top",
        "pad": {"t": 8},
        "font": {"size": 15},
    }


def room(layout: dict[str, Any], traces: Iterable[dict[str, Any]], width: int = NARROW) -> int:
    """Return the height in pixels of the heading and of a legend that is `width` pixels wide."""
    shown = [trace for trace in traces if trace.get("showlegend") is not False]
    subtitle: str = layout["title"]["subtitle"]["text"]
    lines = subtitle.count("<br>") + 1
    return _TITLE + _LINE * lines + _ENTRY * _legend_lines(shown, width)


def _lines(flow: Flow, axis: Axis) -> list[str]:
    first, *others = flow.capture.info.files or ("capture",)
    name = PurePath(first).name or first
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 + 1 :]}"
    more = f" and {units.number(len(others), 'more file')}" if others else ""
    parts = (
        f"{name}{more}, stream {flow.stream}",
        f"{flow.sender} → {flow.receiver}",
        time_text(axis.start, axis.end),
    )
    lines = [""]
    # Plotly reads text as HTML.
    for part in parts:
        joined = f"{lines[-1]}, {part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= _LETTERS else [*lines, part]
    return [html.escape(units.printable(line), quote=False) for line in lines if line]


def time_text(start: float, end: float) -> str:
    """Return a time in seconds, with three digits of its length."""
    places = max(0, 2 - math.floor(math.log10(end - start)))
    low, high = (f"{at:.{places}f}".rstrip("0").rstrip(".") if places else f"{at:.0f}" for at in (start, end))
    return f"{low or '0'} s to {high} s"


def _legend_lines(traces: Sequence[dict[str, Any]], width: int) -> int:
    """Return the number of lines of a legend: plotly sets entries without groups in columns if one line is too short."""
    entries = [44 + 5.7 * len(trace["name"]) for trace in traces]
    if sum(entries) > width and not any("legendgroup" in trace for trace in traces):
        return math.ceil(len(entries) / max(1, width // max(entries)))
    lines, filled = 1, 0.0
    for entry in entries:
        lines, filled = (lines, filled + entry) if filled + entry <= width else (lines + 1, entry)
    return lines
