"""Round-trip times over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.plots import palette
from bdpcap.plots.canvas import Canvas, floats, largest, seconds

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from bdpcap.analysis import Flow


def rtt_figure(flow: Flow) -> go.Figure:
    """
    Draw every RTT sample, the RTT of each round and the least RTT of the flow.

    Parameters
    ----------
    flow
        The flow to draw.
    """
    summary, events, rtts = flow.summary, flow.events, flow.rtts
    canvas = Canvas("Round-trip time", "RTT", "s", flow)
    time = seconds(events["time_ns"], canvas.origin_ns)
    samples, rounds = floats(events["rtt_ns"]) / 1e9, floats(rtts["rtt_ns"]) / 1e9
    canvas.fit(largest(samples, rounds))
    canvas.line(
        time,
        samples,
        name="sample",
        custom=events["frame"].to_numpy(),
        hover="%{y:.4s}s<br>%{x:.6f} s, frame %{customdata}",
        mode="markers",
        marker={"color": palette.FLOW, "size": 3, "opacity": 0.55},
    )
    canvas.staircase(rtts, rounds, name="round", unit="s", line={"color": palette.FLOW, "width": 1.5})
    if pd.notna(summary["rtt_min_ns"]):
        least = float(summary["rtt_min_ns"]) / 1e9
        canvas.level(least, name="least RTT", hover="%{y:.4s}s", colour=palette.PATH)
    return canvas.finish()
