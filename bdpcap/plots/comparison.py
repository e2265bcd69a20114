"""Throughput against window over several captures, with what theory says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bdpcap import units
from bdpcap.plots import palette
from bdpcap.plots.canvas import floats

if TYPE_CHECKING:
    from collections.abc import Iterator

_POINTS: Final = 200
_ALIKE: Final = 0.1
"""Paths whose RTTs differ by less than this share one line of theory."""


def comparison_figure(comparison: pd.DataFrame) -> go.Figure:
    """
    Draw a point for each capture, and for each path the line min(window / RTT, link rate).

    Parameters
    ----------
    comparison
        Table as `bdpcap.compare.COMPARISON`.
    """
    known = comparison[comparison["window_max_bytes"].notna() & comparison["throughput_bps"].notna()]
    windows = floats(known["window_max_bytes"])
    reach = 1.15 * float(max(windows, default=1.0))
    axis = {"gridcolor": palette.GRID, "zeroline": False, "rangemode": "tozero", "tickformat": "~s"}
    figure = go.Figure(
        layout={
            "template": "none",
            "title": {"text": "Throughput against window", "x": 0, "xref": "paper", "font": {"size": 15}},
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
            "margin": {"l": 92, "r": 24, "t": 90, "b": 64},
            "modebar": {"bgcolor": "rgba(0,0,0,0)"},
            "hovermode": "closest",
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 11}},
            "xaxis": {**axis, "title": {"text": "largest window"}, "ticksuffix": "B", "range": [0, reach]},
            "yaxis": {**axis, "title": {"text": "throughput"}, "ticksuffix": "bit/s"},
        }
    )
    colours = (palette.WINDOW, palette.LIMIT_COLOURS["sndbuf"], palette.LIMIT_COLOURS["cwnd"], palette.FLOW)
    for index, (rtt_ns, rate_bps) in enumerate(_paths(known)):
        # The corner of the line, at the BDP, is one of its points.
        window = np.union1d(np.linspace(0, reach, _POINTS), [min(reach, rate_bps * rtt_ns / 8e9)])
        capped = "" if np.isinf(rate_bps) else f", at most {units.rate(rate_bps)}"
        figure.add_trace(
            go.Scatter(
                x=window,
                y=np.minimum(window * 8e9 / rtt_ns, rate_bps),
                mode="lines",
                name=f"window / {units.duration(rtt_ns)}{capped}",
                line={"color": colours[index % len(colours)], "width": 1.8},
                hovertemplate="%{x:.4s}B allow %{y:.4s}bit/s<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=windows,
            y=floats(known["throughput_bps"]),
            mode="markers",
            name="measured",
            marker={
                "size": 11,
                "color": [palette.LIMIT_COLOURS[limit] for limit in known["limit"]],
                "line": {"color": palette.INK, "width": 1},
            },
            customdata=np.column_stack((known["capture"], known["limit"].map(palette.LIMIT_NAMES))),
            hovertemplate="%{customdata[0]}<br>%{x:,d} bytes, %{y:.4s}bit/s<br>"
            "mostly limited by: %{customdata[1]}<extra></extra>",
        )
    )
    return figure


def _paths(known: pd.DataFrame) -> Iterator[tuple[float, float]]:
    """Return RTT in ns and link rate (infinite where no more than a lower bound is known) of paths that differ."""
    capped = known["link_rate_source"].isin(["given", "measured"])
    rates = np.where(capped, floats(known["link_rate_bps"]), np.nan)
    paths = pd.DataFrame({"rtt": floats(known["rtt_path_ns"]), "rate": rates}).dropna(subset="rtt")
    while not paths.empty:
        shortest = paths["rtt"].min()
        alike = paths["rtt"] <= shortest * (1 + _ALIKE)
        # A link is at least as fast as the fastest transfer over it.
        rate = paths.loc[alike, "rate"].max()
        yield float(shortest), float("inf") if pd.isna(rate) else float(rate)
        paths = paths[~alike]
