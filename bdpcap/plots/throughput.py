"""What each round delivered, and the ceilings over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap import units
from bdpcap.plots import palette
from bdpcap.plots.canvas import Canvas, at_least, floats, largest

if TYPE_CHECKING:
    import plotly.graph_objects as go

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
    delivered = floats(rtts["throughput_bps"])
    allowed = floats(rtts["window_max_bytes"]) * 8e9 / floats(rtts["rtt_ns"])
    capacity = float(summary["capacity_bps"]) if pd.notna(summary["capacity_bps"]) else 0.0
    # What trickles in within a sliver of a round trip is no throughput; such rounds do not set the scale.
    whole = floats(rtts["end_ns"] - rtts["start_ns"]) >= 0.25 * floats(rtts["rtt_ns"])
    canvas.fit(largest(delivered[whole]), largest(allowed), capacity)
    canvas.staircase(
        rtts,
        delivered,
        name=canvas.named("throughput", largest(delivered), units.rate),
        unit="bit/s",
        fill="tozeroy",
        fillcolor=palette.FLOW_FILL,
        line={"color": palette.FLOW, "width": 1.2},
    )
    canvas.staircase(
        rtts,
        allowed,
        name=canvas.named("window / RTT", largest(allowed), units.rate),
        unit="bit/s",
        line={"color": palette.WINDOW, "width": 1.8},
    )
    if capacity:
        name = canvas.named(f"{at_least(summary)}the capacity", capacity, units.rate)
        canvas.level(capacity, name=name, hover="%{y:.4s}bit/s", colour=palette.PATH)
    return canvas.finish()
