"""What all figures share: axes, layout, and lines that are thinned without losing an extreme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bdpcap import palette
from bdpcap.plots.decimate import COLUMNS, keep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bdpcap.analysis import Flow

CONFIG: Final[dict[str, Any]] = {
    "showSendToCloud": False,
    "displaylogo": False,
    "responsive": True,
    "doubleClick": "reset",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}
"""How a figure is to be shown: plotly's own default puts an upload button on it."""


def floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a column as float64; what is missing, or infinite, as NaN."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def seconds(column: pd.Series[Any], origin_ns: int) -> NDArray[np.float64]:
    """Return times in seconds since ``origin_ns``; the difference is taken in integers, where it is exact."""
    return (column.to_numpy(dtype=np.int64) - origin_ns) / 1e9


def largest(*values: NDArray[np.float64] | float) -> float:
    """Return the largest known value, 0 where none is known."""
    return float(np.fmax.reduce(np.hstack((0.0, *values))))


def at_least(summary: pd.Series[Any]) -> str:
    """Return "at least " for a flow that hardly ever filled its path, and so shows a lower bound of its rate."""
    return "" if summary["link_share"] >= 0.1 or pd.isna(summary["capacity_bps"]) else "at least "


class Canvas:
    """
    A figure in the making.

    Parameters
    ----------
    title
        What the figure shows, in a few words.
    y_title, y_unit
        Name of the vertical axis, and the unit its prefixed ticks end in.
    flow
        The flow to be drawn; its life is the span of the time axis, the same in all its figures. Zero is the
        capture's first frame.
    columns
        Time columns of which a line keeps the extremes.
    """

    def __init__(self, title: str, y_title: str, y_unit: str, flow: Flow, columns: int = COLUMNS) -> None:
        start_ns, end_ns = int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
        first_ns = flow.capture.info.first_ns
        self.origin_ns = start_ns if first_ns is None else first_ns
        self.start, self.end = (start_ns - self.origin_ns) / 1e9, (end_ns - self.origin_ns) / 1e9
        self.top = np.inf
        self.columns = columns
        self.points = 0
        self.drawn = 0
        axis = {
            "gridcolor": palette.GRID,
            "zeroline": False,
            "ticks": "outside",
            "ticklen": 5,
            "tickcolor": "rgba(0, 0, 0, 0)",
        }
        self.figure = go.Figure(
            layout={
                "template": "none",
                "title": {
                    "text": title,
                    "x": 0,
                    "xref": "paper",
                    "y": 0.985,
                    "yanchor": "top",
                    "font": {"size": 15},
                },
                "font": {"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
                "height": 330,
                "margin": {"l": 92, "r": 12, "t": 64, "b": 56},
                "modebar": {"bgcolor": "rgba(0,0,0,0)"},
                "hovermode": "closest",
                "hoverdistance": 60,
                "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 11}},
                "xaxis": {
                    **axis,
                    "title": {"text": "time since capture start (s)"},
                    "range": [self.start, max(self.end, self.start + 1e-6)],
                },
                "yaxis": {
                    **axis,
                    "title": {"text": y_title, "standoff": 12},
                    "rangemode": "tozero",
                    "tickformat": "~s",
                    "ticksuffix": y_unit,
                },
            }
        )

    def line(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        *,
        name: str,
        hover: str,
        custom: NDArray[Any] | None = None,
        broken: bool = False,
        **style: Any,
    ) -> None:
        """
        Add a line or points, thinned to the extremes of every time column.

        Parameters
        ----------
        x, y
            Shape (n,); points whose ``y`` is NaN are left out.
        name
            In the legend, and in the box that follows the pointer.
        hover
            What that box says: plotly's hover template.
        custom
            Shape (n,) or (n, k): values that ``hover`` names as ``customdata``.
        broken
            Break the line where points were left out.
        style
            Further properties of plotly's scatter trace.
        """
        missing = np.isnan(y)
        known = np.flatnonzero(~missing)
        chosen = known[keep(x[known], y[known], self.columns)]
        self.points += len(known)
        self.drawn += len(chosen)
        if not len(chosen):
            return
        if broken:
            chosen = np.union1d(chosen, np.flatnonzero(missing[1:] & ~missing[:-1]) + 1)
        whole = y[chosen] == np.floor(y[chosen])
        values = y[chosen].astype(np.int64) if whole.all() else y[chosen]
        self.figure.add_trace(
            go.Scatter(
                x=x[chosen],
                y=values,
                customdata=None if custom is None else custom[chosen],
                name=name,
                hovertemplate=f"{hover}<extra>{name}</extra>",
                **style,
            )
        )

    def bars(
        self,
        x: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        *,
        name: str,
        hover: str,
        custom: NDArray[Any],
        **style: Any,
    ) -> None:
        """
        Add upright bars, thinned to those with the extremes of every time column.

        Parameters
        ----------
        x, low, high
            Shape (n,); bars whose ``low`` or ``high`` is NaN are left out.
        name, hover, style
            As for `line`.
        custom
            Shape (n,): a value that ``hover`` names as ``customdata[0]``; the bar's ends are the next two.
        """
        known = np.flatnonzero(~np.isnan(low + high))
        if not len(known):
            return
        columns = self.columns // 3  # a bar takes three points
        lows, highs = (keep(x[known], ends[known], columns) for ends in (low, high))
        chosen = known[np.union1d(lows, highs)]
        self.points += len(known)
        self.drawn += len(chosen)
        ends = np.column_stack((low, high, np.full(len(low), np.nan)))[chosen]
        values = np.column_stack((custom, low, high))[chosen].astype(np.int64)
        self.figure.add_trace(
            go.Scatter(
                x=np.repeat(x[chosen], 3),
                y=ends.ravel(),
                customdata=np.repeat(values, 3, axis=0),
                name=name,
                mode="lines",
                hovertemplate=f"{hover}<extra>{name}</extra>",
                **style,
            )
        )

    def staircase(
        self, rtts: pd.DataFrame, y: NDArray[np.float64], *, name: str, unit: str, **style: Any
    ) -> None:
        """
        Add one step for each round; where a value is missing the line is broken.

        Parameters
        ----------
        rtts
            The rounds.
        y
            Their values, shape (rounds,).
        name, unit
            In the legend, and after the value in the box that follows the pointer.
        style
            Further properties of plotly's scatter trace.
        """
        start, end = seconds(rtts["start_ns"], self.origin_ns), seconds(rtts["end_ns"], self.origin_ns)
        self.line(
            np.column_stack((start, end)).ravel(),
            np.repeat(y, 2),
            name=name,
            hover="%{y:.4s}" + unit + "<br>%{x:.6f} s, round %{customdata}",
            custom=np.repeat(rtts["round"].to_numpy(), 2),
            mode="lines",
            broken=True,
            **style,
        )

    def level(self, y: float, *, name: str, hover: str, colour: str) -> None:
        """Add a dashed level over the flow's life."""
        self.line(
            np.linspace(self.start, self.end, 9),
            np.full(9, float(y)),
            name=name,
            hover=hover,
            mode="lines",
            line={"color": colour, "width": 1.5, "dash": "dash"},
        )

    def fit(self, used: float, *ceilings: float) -> None:
        """End the vertical axis above what was used and the ceilings that do not press it to the ground."""
        self.top = 1.08 * max(used, *(ceiling for ceiling in ceilings if ceiling <= 2.5 * used), 0.0) or 1.0
        self.figure.update_yaxes(range=[0, self.top])

    def named(self, name: str, highest: float, show: Callable[[float], str]) -> str:
        """Return a name for the legend, which says so if what it names goes beyond the vertical axis."""
        return name if highest <= self.top else f"{name} (up to {show(highest)}, off the axis)"

    def finish(self) -> go.Figure:
        """Return the figure; where points were left out, its time axis says so."""
        if self.drawn < self.points:
            note = f"{self.drawn:,} of {self.points:,} points drawn: every extreme of {self.columns} time columns"
            title = self.figure.layout.xaxis.title
            title.text = f'{title.text}<br><span style="font-size: 10px">{note}</span>'
        return self.figure
