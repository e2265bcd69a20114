"""What each round delivered, and the ceilings over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bdpcap import units
from bdpcap.plots import palette
from bdpcap.plots.canvas import Canvas, floats, largest, seconds

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from bdpcap.analysis import Flow


def throughput_figure(flow: Flow) -> go.Figure:
    """
    Draw the throughput of every round under its two ceilings: window over RTT, and the capacity of the path.

    Parameters
    ----------
    flow
        The flow to draw.
    """
    summary, rtts = flow.summary, flow.rtts
    canvas = Canvas("Throughput of every round", "throughput", "bit/s", flow)
    start, end = seconds(rtts["start_ns"], canvas.origin_ns), seconds(rtts["end_ns"], canvas.origin_ns)
    round_ = rtts["round"].to_numpy()
    delivered = floats(rtts["throughput_bps"])
    allowed = floats(rtts["window_max_bytes"]) * 8e9 / floats(rtts["rtt_ns"])
    capacity = summary["capacity_bps"]
    # What trickles in within a sliver of a round trip is no throughput; such rounds do not set the scale.
    whole = floats(rtts["end_ns"] - rtts["start_ns"]) >= 0.25 * floats(rtts["rtt_ns"])
    used = largest(delivered[whole], float(capacity) if pd.notna(capacity) else 0.0)
    ceiling = largest(allowed)
    beyond = canvas.fit(used, ceiling)
    hover = "%{y:.4s}bit/s<br>%{x:.6f} s, round %{customdata}"
    canvas.line(
        *_steps(start, end, delivered),
        name="throughput",
        hover=hover,
        custom=np.repeat(round_, 2),
        mode="lines",
        fill="tozeroy",
        fillcolor=palette.FLOW_FILL,
        line={"color": palette.FLOW, "width": 1.2},
    )
    canvas.line(
        *_steps(start, end, allowed),
        name=f"window / RTT (up to {units.rate(ceiling)}, off the axis)" if beyond else "window / RTT",
        hover=hover,
        custom=np.repeat(round_, 2),
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.8},
    )
    if pd.notna(capacity):
        canvas.level(float(capacity), name="capacity", hover="%{y:.4s}bit/s", colour=palette.PATH)
    return canvas.finish()


def _steps(
    start: NDArray[np.float64], end: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turn rounds into the corners of a staircase."""
    return np.column_stack((start, end)).ravel(), np.repeat(value, 2)
