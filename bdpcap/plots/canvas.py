"""Common parts of all figures: axes, layout, the time drawn, and lines that are thinned but keep their extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np

from bdpcap._core import NULL
from bdpcap.errors import ArgumentError
from bdpcap.plots.decimate import COLUMNS, Axis, Spliced, Thinned
from bdpcap.plots.drawing import Drawing
from bdpcap.plots.heading import heading, room
from bdpcap.plots.time_axis import axis_of, origin_ns, seconds
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Rows

CONFIG: Final[dict[str, Any]] = {
    "showSendToCloud": False,
    "displaylogo": False,
    "responsive": True,
    "doubleClick": "reset",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}
"""Plotly configuration for showing a figure; plotly's default shows an upload button."""


PLOT_PX: Final = 240
"""Height of a plot in pixels."""
MAIN_PX: Final = 200
"""Least height of its main vertical axis in pixels; many lanes above it make the plot higher."""
BELOW_PX: Final = 64
"""Height of the labels and the title of the time axis in pixels."""
GAP: Final = 0.03
"""Part of a plot's height that separates two vertical axes above one another."""
OVERVIEW: Final = 0.15
"""Part of a plot's height that an overview below it takes."""
FAR: Final = 2.5
"""Times the height of the data in use from which a ceiling is far above: the data would take less than half the plot."""
EMPTY: Final = "no values in this time"
"""What a figure shows where the capture has nothing to draw."""
BAR_POINTS: Final = 3
"""Points of a bar: its two ends, and the break after it."""


_AXIS: Final[dict[str, Any]] = {
    "gridcolor": palette.GRID,
    "zeroline": False,
    "ticks": "outside",
    "ticklen": 5,
    "tickcolor": "rgba(0, 0, 0, 0)",
}
_VERTICAL: Final = {**_AXIS, "tickformat": ",.12~r"}
_LAYOUT: Final[dict[str, Any]] = {
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
    "modebar": {"bgcolor": "rgba(0,0,0,0)"},
    "hovermode": "closest",
    "hoverdistance": 60,
    "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 11}},
}


class Options(TypedDict, total=False):
    """The time to draw, and the figure and subplot to draw into; every key is optional. See `Canvas`."""

    start: float | None
    end: float | None
    figure: go.Figure | None
    row: int | None
    col: int


def floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a column as float64; missing and infinite values become NaN."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def numbers(column: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a column of the core as float64; missing values become NaN."""
    values = column.astype(np.float64)
    values[column == NULL] = np.nan
    return values


def largest(*values: NDArray[np.float64] | float) -> float:
    """Return the largest value, at least 0; NaN is ignored."""
    return float(np.fmax.reduce(np.hstack((0.0, *values))))


def fitting(used: float, *ceilings: float) -> float:
    """Return the top of an axis: 8 % above ``used`` and the ceilings of at most `FAR` times ``used``."""
    return 1.08 * max(used, *(ceiling for ceiling in ceilings if ceiling <= FAR * used), 0.0) or 1.0


class Canvas:
    """
    A figure, or a subplot of one, while it is being drawn.

    Call `fit` or `reach` before anything is drawn: they choose the unit of the vertical axis.

    Parameters
    ----------
    title
        Title of the figure.
    y_title, y_unit
        Name of the vertical axis, and the unit of the values without prefix: B, s or bit/s.
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    start, end
        Range of the time axis, in seconds since the capture's first frame; None is the start or end of the flow.
    figure
        Figure to draw into; None makes a new one.
    row, col
        Subplot of that figure, counted from 1; without ``row``, the figure's only axes.

    Raises
    ------
    ArgumentError
        The flow does not overlap the time from ``start`` to ``end``, or ``row`` is given without ``figure``.
    """

    def __init__(
        self,
        title: str,
        y_title: str,
        y_unit: str,
        flow: Flow,
        columns: int = COLUMNS,
        *,
        start: float | None = None,
        end: float | None = None,
        figure: go.Figure | None = None,
        row: int | None = None,
        col: int = 1,
    ) -> None:
        self.origin_ns = origin_ns(flow)
        self.axis = axis_of(flow, start, end)
        self.columns = columns
        self._title, self._flow = title, flow
        self.points = 0
        self.drawn = 0
        self._figure = figure
        self._layout = {"title": heading(title, flow, self.axis), **_LAYOUT} if figure is None else {}
        self._traces: list[dict[str, Any]] = []
        names = ["xaxis", "yaxis"]
        if row is not None:
            if figure is None:
                raise ArgumentError("row names a subplot of a figure: name the figure, too")
            place = figure.get_subplot(row, col)
            names = [axis.plotly_name for axis in (place.xaxis, place.yaxis)]
        self.x_axis, self.y_axis = (
            self._layout.setdefault(name, figure.layout[name].to_plotly_json() if figure else {})
            for name in names
        )
        self.x, self.y = (name.replace("axis", "") for name in names)
        self.y_title, self.y_unit = y_title, y_unit
        self._height = 0.0
        self.x_axis |= {
            **_AXIS,
            "title": {"text": "time since capture start (s)", "standoff": 10},
            "range": [self.axis.start, self.axis.end],
        }
        self.y_axis |= {**_VERTICAL, "showticklabels": True, "showgrid": True}

    def overview(self, start: float, end: float, top: float) -> None:
        """Show a part of the time drawn, and below it the whole time to choose from; ``top`` is its highest value.

        Of a subplot only the time is chosen: other subplots may share its axis.
        """
        self.x_axis["range"] = [start, end]
        if self._figure is None:
            self._layout["title"] = heading(self._title, self._flow, Axis(start, end))
            self.x_axis["rangeslider"] = {
                "range": [self.axis.start, self.axis.end],
                "yaxis": {"rangemode": "fixed", "range": [0, top / self.size]},
                "thickness": OVERVIEW,
                "bgcolor": palette.OVERVIEW_FILL,
            }

    def rounds(self, rtts: pd.DataFrame) -> NDArray[np.bool_]:
        """Return a boolean array: which rounds overlap the time drawn."""
        start, end = seconds(rtts["start_ns"], self.origin_ns), seconds(rtts["end_ns"], self.origin_ns)
        return (end >= self.axis.low) & (start <= self.axis.high)

    def fit(self, used: float, *ceilings: float) -> None:
        """Set the vertical axis from 0 to above ``used`` and the ceilings of at most `FAR` times ``used``."""
        self.reach(0.0, fitting(used, *ceilings))

    def reach(self, low: float, high: float) -> None:
        """Set the vertical axis, in a unit that suits ``high``; an axis that was drawn on before keeps its unit."""
        scales = units.scales(self.y_unit)
        fitting = [scale for scale in scales if high >= scale[0]]
        titled = self.y_axis.get("title", {}).get("text", "")
        used = [scale for scale in scales if titled.endswith(f" ({scale[1]})")]
        self.size, self.unit = (used or fitting[-1:] or scales)[0]
        if used:
            low = min(low, self.y_axis["range"][0] * self.size)
            high = max(high, self.y_axis["range"][1] * self.size)
        self.top = high
        self.y_axis |= {
            "title": self.axis_title(self.y_title),
            "range": [low / self.size, high / self.size],
        }

    def axis_title(self, name: str) -> dict[str, Any]:
        """Return plotly's title of a vertical axis with the unit of the main axis."""
        return {"text": f"{name} ({self.unit})", "standoff": 12}

    def named(self, name: str, highest: float, show: Callable[[float], str]) -> str:
        """Return a name for the legend, with the highest value if that lies above the vertical axis."""
        return name if highest <= self.top else f"{name} (up to {show(highest)}, above the axis)"

    @property
    def exact(self) -> str:
        """Plotly hover format of the vertical value, exact for whole numbers of the unit without prefix."""
        return f"%{{y:,.{max(0, round(np.log10(self.size)))}~f}} {self.unit}"

    @property
    def rounded(self) -> str:
        """Plotly hover format of the vertical value, rounded to four digits."""
        return f"%{{y:,.4~r}} {self.unit}"

    def add(self, x: NDArray[np.float64], y: NDArray[np.float64], **style: Any) -> None:
        """Add a plotly trace; ``y`` is in the unit without prefix."""
        self.trace(x=x, y=y / self.size, **{"yaxis": self.y, **style})

    def trace(self, **style: Any) -> None:
        """Add a plotly trace; its ``y`` is not scaled."""
        self._traces.append({"type": "scatter", "xaxis": self.x, **style})

    def lane(self, part: float, **style: Any) -> str:
        """Take a part of the plot's height from its top for another vertical axis, below those taken before; name it."""
        bottom, top = self.y_axis.get("domain") or (0.0, 1.0)
        self._height = self._height or top - bottom
        part *= self._height
        self.y_axis["domain"] = [bottom, top - part - GAP * self._height]
        number = 1 + max(int(name.removeprefix("yaxis") or 1) for name in self._vertical_axes())
        self._layout[f"yaxis{number}"] = {
            **_VERTICAL, "domain": [top - part, top], "anchor": self.x, "fixedrange": True, **style,
        }  # fmt: skip
        return f"y{number}"

    def _vertical_axes(self) -> list[str]:
        there = [] if self._figure is None else [axis.plotly_name for axis in self._figure.select_yaxes()]
        return [*there, *(name for name in self._layout if name.startswith("yaxis")), "yaxis"]

    def line(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        *,
        custom: NDArray[Any] | None = None,
        broken: bool = False,
        **style: Any,
    ) -> None:
        """
        Add a line or points given as arrays, thinned to the extremes of every time column.

        Parameters
        ----------
        x, y
            Shape (n,); points whose ``y`` is NaN are left out.
        custom
            Shape (n,) or (n, k): values that ``hover`` refers to as ``customdata``.
        broken
            Break the line where ``y`` is NaN.
        style
            The other parameters of `curve`.
        """
        thinned = Thinned(self.axis, self.columns, "y", joined=True)
        thinned.add(x=x, y=y, at=np.arange(len(x)))
        rows = thinned.rows(self.columns)
        if broken and rows:
            missing = np.isnan(y)
            at = np.union1d(rows["at"], np.flatnonzero(missing[1:] & ~missing[:-1]) + 1)
            rows = {"x": x[at], "y": y[at], "at": at}
        self._curve(
            rows, thinned.count, custom=None if custom is None else custom[rows.get("at", [])], **style
        )

    def curve(self, thinned: Thinned | Spliced, y: str, *, custom: str, **style: Any) -> None:
        """
        Add a line or points that were thinned as they came.

        Parameters
        ----------
        thinned
            The points.
        y, custom
            Names of the heights, and of the values that ``hover`` refers to as ``customdata``.
        name
            Name in the legend and in the hover box.
        hover
            Plotly's template for the hover box.
        style
            Further properties of plotly's scatter trace.
        """
        rows = thinned.rows(self.columns)
        rows = {"x": rows["x"], "y": rows[y], "custom": rows[custom]} if rows else rows
        self._curve(rows, thinned.count, custom=rows.get("custom"), **style)

    def _curve(
        self, rows: Rows, count: int, *, name: str, hover: str, custom: NDArray[Any] | None, **style: Any
    ) -> None:
        """Add a line through the rows that are left of `count` points."""
        if not rows:
            return
        x, y = rows["x"], rows["y"]
        inside = self.axis.within(x)
        self.points += count
        self.drawn += int(np.count_nonzero(inside & ~np.isnan(y)))
        if style["mode"] == "markers":
            x, y = x[inside], y[inside]
            custom = None if custom is None else custom[inside]
        if len(x):
            self.add(
                x,
                y,
                customdata=custom,
                name=name,
                hovertemplate=f"{hover}<extra>{name}</extra>",
                **style,
            )

    def ticks(
        self, thinned: Thinned | Spliced, *, name: str, colour: str, width: float = 2, **style: Any
    ) -> None:
        """
        Add vertical bars of sequence numbers. A foot at each end makes even short bars visible.

        Parameters
        ----------
        thinned
            The bars: ``first`` and ``last`` are the numbers at their ends, ``frame`` their frames.
        name, style
            Name and further trace properties, as in `curve`.
        colour, width
            Colour and width of the bars.
        """
        rows = thinned.rows(max(1, self.columns // BAR_POINTS))
        if not rows:
            return
        x, low, high = (rows[of] for of in ("x", "first", "last"))
        self.points += thinned.count
        self.drawn += len(x)
        values = np.column_stack((rows["frame"], low, high)).astype(np.int64)
        self.add(
            np.repeat(x, BAR_POINTS),
            np.column_stack((low, high, np.full(len(low), np.nan))).ravel(),
            customdata=np.repeat(values, BAR_POINTS, axis=0),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": width},
            marker={"symbol": "line-ew", "size": 4, "line": {"color": colour, "width": 1.5}},
            hovertemplate="%{customdata[1]:,d} to %{customdata[2]:,d}<br>%{x:.6f} s, frame %{customdata[0]}"
            f"<extra>{name}</extra>",
            **style,
        )

    def staircase(self, rtts: pd.DataFrame, y: NDArray[np.float64], *, name: str, **style: Any) -> None:
        """
        Add one step for each round; a missing value breaks the line.

        Parameters
        ----------
        rtts
            The rounds.
        y
            One value per round, shape (rounds,).
        name
            Name in the legend and in the hover box.
        style
            Further properties of plotly's scatter trace.
        """
        start, end = seconds(rtts["start_ns"], self.origin_ns), seconds(rtts["end_ns"], self.origin_ns)
        self.line(
            np.column_stack((start, end)).ravel(),
            np.repeat(y, 2),
            name=name,
            hover=f"{self.rounded}<br>%{{x:.6f}} s, round %{{customdata}}",
            custom=np.repeat(rtts["round"].to_numpy(), 2),
            mode="lines",
            broken=True,
            **style,
        )

    def level(
        self, y: float, *, name: str, show: Callable[[float], str], colour: str, axis: str | None = None
    ) -> None:
        """Add a dashed horizontal line across the time drawn, to the main axis or another; its name has its value."""
        above = "" if y <= self.top or axis else ", above the axis"
        self.line(
            np.linspace(self.axis.start, self.axis.end, 9),
            np.full(9, float(y)),
            name=f"{name} {show(y)}{above}",
            hover=self.rounded,
            mode="lines",
            yaxis=axis or self.y,
            line={"color": colour, "width": 1.5, "dash": "dash"},
        )

    def _has_values(self) -> bool:
        """Return whether the main axis has values, of this flow or of one that was drawn on it before."""
        others = () if self._figure is None else self._figure.data
        return any(
            trace["yaxis"] == self.y and trace.get("hoverinfo") != "skip" for trace in self._traces
        ) or any((trace.yaxis or "y") == self.y and trace.hoverinfo != "skip" for trace in others)

    def finish(self) -> Drawing:
        """
        Return the drawing.

        If points were left out, the title of the time axis shows how many were drawn. Without any value the vertical axis
        has no numbers, and a note says so.
        """
        if self.drawn < self.points:
            note = f"{self.drawn:,} of {self.points:,} points drawn: every extreme of {self.columns} time columns"
            title = self.x_axis["title"]
            title["text"] += f'<br><span style="font-size: 10px">{note}</span>'
        if not self._has_values():
            self.y_axis |= {"showticklabels": False, "showgrid": False}
            self.trace(
                x=np.array([(self.axis.start + self.axis.end) / 2]),
                y=np.array([sum(self.y_axis["range"]) / 2]),
                yaxis=self.y,
                name=EMPTY,
                mode="text",
                text=[EMPTY],
                showlegend=False,
                hoverinfo="skip",
            )
        if self._figure is None:
            above = room(self._layout, self._traces)
            below = BELOW_PX + round(OVERVIEW * PLOT_PX) * ("rangeslider" in self.x_axis)
            bottom, top = self.y_axis.get("domain") or (0.0, 1.0)
            self._layout |= {
                "height": above + max(PLOT_PX, round(MAIN_PX / (top - bottom))) + below,
                "margin": {"l": 92, "r": 12, "t": above, "b": below},
            }
        return Drawing(self._traces, self._layout, self._figure)
