"""Round-trip times over time: what the path takes at least, and what its queue adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap import palette
from bdpcap.plots.canvas import Canvas, floats, largest, seconds
from bdpcap.plots.decimate import COLUMNS

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from bdpcap.analysis import Flow

_GAIN: Final = 1 / 8


def smoothed(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    Smooth RTT samples as a sender does (SRTT, RFC 6298 section 2).

    Parameters
    ----------
    samples
        In order of time, shape (n,), without NaN.

    Returns
    -------
    The smoothed RTT after each sample, shape (n,).
    """
    smooth = np.empty_like(samples)
    last = samples[0] if len(samples) else 0.0
    for index, sample in enumerate(samples.tolist()):
        last += (sample - last) * _GAIN
        smooth[index] = last
    return smooth


def rtt_figure(flow: Flow, columns: int = COLUMNS) -> go.Figure:
    """
    Draw every RTT sample, the smoothed RTT, and the least one; what lies between these two is queueing delay.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Time columns of which every line keeps the extremes.
    """
    summary, events, rtts = flow.summary, flow.events, flow.rtts
    canvas = Canvas("Round-trip time and queueing delay", "RTT", "s", flow, columns)
    measured = floats(events["rtt_ns"]) / 1e9
    known = np.flatnonzero(~np.isnan(measured))
    time = seconds(events["time_ns"], canvas.origin_ns)[known]
    frame, samples = events["frame"].to_numpy()[known], measured[known]
    smooth = smoothed(samples)
    least = float(summary["rtt_min_ns"]) / 1e9 if pd.notna(summary["rtt_min_ns"]) else np.nan
    canvas.fit(largest(samples, floats(rtts["rtt_ns"]) / 1e9))
    canvas.line(
        time,
        samples,
        name="sample",
        custom=frame,
        hover="%{y:.4s}s<br>%{x:.6f} s, frame %{customdata}",
        mode="markers",
        marker={"color": palette.FLOW, "size": 3, "opacity": 0.55},
    )
    if np.isfinite(least):
        canvas.level(least, name="least RTT", hover="%{y:.4s}s", colour=palette.PATH)
    queue = np.maximum(smooth - least, 0.0)
    hover = "%{y:.4s}s<br>%{x:.6f} s, frame %{customdata[0]}"
    canvas.line(
        time,
        smooth,
        name="smoothed; shaded: queueing delay" if np.isfinite(least) else "smoothed",
        custom=np.column_stack((frame, queue)),
        hover=hover + ("<br>%{customdata[1]:.3s}s of it queueing" if np.isfinite(least) else ""),
        mode="lines",
        line={"color": palette.QUEUE, "width": 1.6, "shape": "hv"},
        fill="tonexty" if np.isfinite(least) else None,
        fillcolor=palette.QUEUE_FILL,
    )
    return canvas.finish()
