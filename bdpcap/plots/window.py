"""What the receiver allowed against what was under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap import palette, units
from bdpcap.plots import ribbon
from bdpcap.plots.canvas import Canvas, at_least, floats, largest, seconds
from bdpcap.plots.decimate import COLUMNS

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from bdpcap.analysis import Flow


def window_figure(flow: Flow, columns: int = COLUMNS) -> go.Figure:
    """
    Draw the advertised window, the bytes in flight and the BDP, with the limit of every round above.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Time columns of which every line keeps the extremes.
    """
    summary, events, rtts = flow.summary, flow.events, flow.rtts
    canvas = Canvas("Window and bytes in flight", "bytes", "B", flow, columns)
    time = seconds(events["time_ns"], canvas.origin_ns)
    frame = events["frame"].to_numpy()
    in_flight, window = floats(events["in_flight_bytes"]), floats(events["window_bytes"])
    hover = "%{y:,d} bytes<br>%{x:.6f} s, frame %{customdata}"
    bdp = float(summary["bdp_bytes"]) if pd.notna(summary["bdp_bytes"]) else 0.0
    # Not the largest window of all: that of a SYN is no limit to a round.
    allowed = largest(floats(rtts["window_max_bytes"]))
    canvas.fit(largest(in_flight), allowed, bdp)
    canvas.line(
        time,
        in_flight,
        name="in flight",
        hover=hover,
        custom=frame,
        mode="lines",
        fill="tozeroy",
        fillcolor=palette.FLOW_FILL,
        line={"color": palette.FLOW, "width": 1.2, "shape": "hv"},
    )
    canvas.line(
        time,
        window,
        name=canvas.named("window", allowed, units.data_size),
        hover=hover,
        custom=frame,
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.8, "shape": "hv"},
    )
    if bdp:
        name = canvas.named(f"{at_least(summary)}the BDP", bdp, units.data_size)
        canvas.level(bdp, name=name, hover="%{y:,d} bytes", colour=palette.PATH)
    ribbon.draw(canvas, rtts)
    return canvas.finish()
