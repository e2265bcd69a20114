"""Sequence numbers over time: what was sent, what was acknowledged and how, how far the window reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap import palette
from bdpcap.plots.canvas import Canvas, floats, seconds
from bdpcap.plots.decimate import COLUMNS

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from bdpcap.analysis import Flow


def sequence_figure(flow: Flow, columns: int = COLUMNS) -> go.Figure:
    """
    Draw the time-sequence graph: segments as sent, the acknowledgements, and the window's right edge.

    The height between the acknowledged line and what was sent is the data in flight; between that and the
    edge lies what the receiver still allowed. A bar is the SACK block that an acknowledgment reported first.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Time columns of which every line keeps the extremes.
    """
    events = flow.events
    canvas = Canvas("Time and sequence", "sequence (bytes)", "B", flow, columns)
    time = seconds(events["time_ns"], canvas.origin_ns)
    frame = events["frame"].to_numpy()
    kind = events["kind"].astype(str).to_numpy()
    length = floats(events["length"])
    end = floats(events["sequence"]) + length
    acknowledged = floats(events["acknowledged"])
    came_back = np.isnan(length)
    edge = np.where(came_back, acknowledged + floats(events["window_bytes"]), np.nan)
    again = kind == "retransmission"
    hover = "%{y:,d}<br>%{x:.6f} s, frame %{customdata}"
    sent_hover = "up to %{y:,d}, %{customdata[1]:,d} bytes<br>%{x:.6f} s, frame %{customdata[0]}"
    sent = np.column_stack((frame, np.nan_to_num(length).astype(np.int64)))
    canvas.line(
        time,
        edge,
        name="window edge",
        hover=hover,
        custom=frame,
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.5, "shape": "hv"},
    )
    canvas.line(
        time,
        np.where(came_back, acknowledged, np.nan),
        name="acknowledged",
        hover=hover,
        custom=frame,
        mode="lines",
        line={"color": palette.FLOW, "width": 1.2, "shape": "hv"},
    )
    canvas.line(
        time,
        np.where(again, np.nan, end),
        name="sent",
        hover=sent_hover,
        custom=sent,
        mode="markers",
        marker={"color": palette.FLOW, "size": 3.5},
    )
    canvas.bars(
        time,
        floats(events["sack_start"]),
        floats(events["sack_end"]),
        name="SACK block",
        hover="SACK %{customdata[1]:,d} to %{customdata[2]:,d}<br>%{x:.6f} s, frame %{customdata[0]}",
        custom=frame,
        line={"color": palette.SACK, "width": 1.5},
    )
    canvas.line(
        time,
        np.where(again, end, np.nan),
        name="retransmission",
        hover=sent_hover,
        custom=sent,
        mode="markers",
        marker={"color": palette.LOSS, "size": 7, "symbol": "x"},
    )
    canvas.line(
        time,
        np.where(kind == "zero window", acknowledged, np.nan),
        name="zero window",
        hover="zero window at %{y:,d}<br>%{x:.6f} s, frame %{customdata}",
        custom=frame,
        mode="markers",
        marker={"color": palette.WINDOW, "size": 8, "symbol": "square"},
    )
    return canvas.finish()
