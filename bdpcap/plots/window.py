"""What the receiver allowed against what was under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bdpcap import units
from bdpcap.plots import palette, ribbon
from bdpcap.plots.canvas import Canvas, floats, seconds

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from bdpcap.analysis import Flow


def window_figure(flow: Flow, origin_ns: int | None = None) -> go.Figure:
    """
    Draw the advertised window, the bytes in flight and the BDP, with the limit of every round above.

    Parameters
    ----------
    flow
        The flow to draw.
    origin_ns
        Zero of the time axis, normally the capture's first frame; the flow's start where None.
    """
    summary, events = flow.summary, flow.events
    canvas = Canvas("Window and bytes in flight", "bytes", "B", flow, origin_ns)
    time = seconds(events["time_ns"], canvas.origin_ns)
    frame = events["frame"].to_numpy()
    in_flight, window = floats(events["in_flight_bytes"]), floats(events["window_bytes"])
    hover = "%{y:,d} bytes<br>%{x:.6f} s, frame %{customdata}"
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
        name="window",
        hover=hover,
        custom=frame,
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.8, "shape": "hv"},
    )
    highest = [0.0] if np.isnan(in_flight).all() else [float(np.nanmax(in_flight))]
    if pd.notna(summary["bdp_bytes"]):
        bdp = float(summary["bdp_bytes"])
        canvas.level(bdp, name="bandwidth-delay product", hover="%{y:,d} bytes", colour=palette.PATH)
        highest.append(bdp)
    _fit(canvas, max(highest), window)
    ribbon.draw(canvas, flow.rtts)
    return canvas.finish()


def _fit(canvas: Canvas, used: float, window: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """Keep a window far above what was used from pressing everything else to the ground."""
    if np.isnan(window).all() or not used:
        return
    largest = float(np.nanmax(window))
    if largest <= 2.5 * used:
        canvas.ceiling(1.08 * max(largest, used))
    else:
        canvas.ceiling(2 * used, f"window up to {units.data_size(largest)}, beyond this axis")
