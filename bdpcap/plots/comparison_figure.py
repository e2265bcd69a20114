"""Throughput against window for several captures, with the theoretical limit of each path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES, STATE_COLOURS
from bdpcap.errors import wanted
from bdpcap.plots.canvas import floats, largest
from bdpcap.words import palette, rates, units

if TYPE_CHECKING:
    from collections.abc import Iterator

    import plotly.graph_objects as go


_POINTS: Final = 200
_DASHES: Final = ("solid", "dash", "dot", "dashdot")
_ALIKE: Final = 0.1
"""Captures whose RTT is at most this part above the shortest RTT count as one path, with one line."""


def comparison_figure(comparison: pd.DataFrame) -> go.Figure:
    """
    Draw a point for each capture, coloured by its limit, and for each path the line min(window / RTT, link rate).

    Parameters
    ----------
    comparison
        Table with the columns of `bdpcap.comparing.comparison.COMPARISON`.

    Examples
    --------
    >>> table = bdpcap.compare("sample_captures/linux61_advwinscale2_w50000.pcap.zst")
    >>> [trace.name for trace in bdpcap.plots.comparison_figure(table).data][0]
    'window / 40.4 ms'
    """
    fits = isinstance(comparison, pd.DataFrame)
    wanted("comparison", comparison, "the table of bdpcap.compare", fits=fits)
    known = comparison[comparison["window_max_bytes"].notna() & comparison["throughput_bps"].notna()]
    reach = 1.15 * (largest(floats(known["window_max_bytes"])) or 1.0)
    axis = {"gridcolor": palette.GRID, "zeroline": False, "rangemode": "tozero", "tickformat": "~s"}
    import plotly.graph_objects as go  # noqa: PLC0415 - plotly is slow to import, and only figures need it

    figure = go.Figure(
        layout={
            "template": "none",
            "title": {"text": "Throughput against window", "x": 0, "xref": "paper", "font": {"size": 15}},
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
            "modebar": {"bgcolor": "rgba(0,0,0,0)"},
            "hovermode": "closest",
            "legend": {"x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "font": {"size": 11}},
            "xaxis": {**axis, "title": {"text": "largest window (bytes)"}, "range": [0, reach]},
            "yaxis": {**axis, "title": {"text": "throughput (bit/s)"}},
        }
    )
    paths = list(_paths(known))
    for index, (rtt_ns, rate_bps) in enumerate(paths):
        # The line bends at the BDP, so the BDP is one of its points.
        window = np.union1d(np.linspace(0, reach, _POINTS), [min(reach, rates.bytes_at(rate_bps, rtt_ns))])
        capped = "" if np.isinf(rate_bps) else f", at most {units.rate(rate_bps)}"
        figure.add_trace(
            go.Scatter(
                x=window,
                y=np.minimum(rates.of_bytes(window, rtt_ns), rate_bps),
                mode="lines",
                name=f"window / {units.duration(rtt_ns)}{capped}",
                line={"color": palette.PATH, "width": 1.8, "dash": _DASHES[index % len(_DASHES)]},
                hovertemplate="%{x:.4s}B allow %{y:.4s}bit/s<extra></extra>",
            )
        )
    for number, row in known.iterrows():
        limit = str(row["limit"])
        figure.add_trace(
            go.Scatter(
                x=[int(row["window_max_bytes"])],
                y=[float(row["throughput_bps"])],
                mode="markers+text",
                name=f"{int(str(number)) + 1}  {row['capture']} ({LIMIT_NAMES[limit]})",
                text=[str(int(str(number)) + 1)],
                textposition="middle right",
                marker={
                    "size": 11,
                    "color": STATE_COLOURS[limit],
                    "line": {"color": palette.INK, "width": 1},
                },
                hovertemplate="%{x:,d} bytes, %{y:.4s}bit/s<extra>%{fullData.name}</extra>",
            )
        )
    # The axis covers measured, expected and link rates. A line without a known link rate may leave the plot.
    highest = largest(
        floats(known["throughput_bps"]),
        floats(known["expected_bps"]),
        *(rate for _, rate in paths if np.isfinite(rate)),
    )
    figure.update_yaxes(range=[0, 1.15 * highest or 1.0])
    legend = 20 * len(figure.data)
    figure.update_layout(height=440 + legend, margin={"l": 92, "r": 24, "t": 60, "b": 80 + legend})
    return figure


def _paths(known: pd.DataFrame) -> Iterator[tuple[float, float]]:
    """Yield RTT in ns and link rate in bit/s of each distinct path; the rate is infinite unless given or measured."""
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
