"""Figures of one flow captured at both ends of a path: one-way delays with losses, and bytes in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.pairing.passages import NONE
from bdpcap.plots.canvas import Canvas, largest
from bdpcap.plots.decimate import COLUMNS
from bdpcap.words import palette

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.pairing.ends import CommonFlow
    from bdpcap.plots.drawing import Drawing

__all__ = ["delays", "views"]

_MARKS: Final = {
    "before": ("lost before the captures", "triangle-down"),
    "between": ("lost between the captures", "x"),
    "after": ("lost after the captures", "triangle-up"),
    "near capture": ("missed by the near capture", "square-open"),
    "far capture": ("missed by the far capture", "circle-open"),
    "duplicated": ("duplicated between the captures", "cross"),
}


def delays(flow: CommonFlow, losses: pd.DataFrame, columns: int = COLUMNS) -> Drawing:
    """
    Draw the one-way delays of data and acknowledgments, and below them the time and place of every loss.

    Parameters
    ----------
    flow
        The flow to draw.
    losses
        Losses of this flow, with the columns of `bdpcap.pairing.losses.LOSSES`.
    columns
        Number of time columns; every line keeps its extreme points in each.
    """
    canvas = _canvas("One-way delays between the captures", "delay", "s", flow, columns)
    own = flow.delays
    high = largest(own.forward_ns, own.reverse_ns) / 1e9
    canvas.fit(high)
    for name, at_ns, values, colour in (
        ("data", own.forward_at_ns, own.forward_ns, palette.SENT),
        ("acknowledgments", own.reverse_at_ns, own.reverse_ns, palette.ACKNOWLEDGED),
    ):
        canvas.line(
            _seconds(at_ns, canvas),
            values / 1e9,
            name=f"delay of {name}",
            hover=f"{canvas.rounded}<br>%{{x:.6f}} s",
            mode="markers",
            marker={"color": colour, "size": 3, "opacity": 0.7},
        )
    for height, (place, (name, symbol)) in enumerate(_MARKS.items(), 1):
        lost = losses[losses["place"] == place]
        canvas.line(
            _seconds(lost["time_ns"].to_numpy(np.int64), canvas),
            np.full(len(lost), 0.02 * height * canvas.top),
            name=name,
            custom=lost[["sequence", "length"]].to_numpy(),
            hover="sequence %{customdata[0]:,d}, %{customdata[1]:,d} bytes<br>%{x:.6f} s",
            mode="markers",
            marker={"color": palette.RETRANSMITTED, "size": 8, "symbol": symbol, "line": {"width": 1}},
        )
    return canvas.finish()


def views(flow: CommonFlow, columns: int = COLUMNS) -> Drawing:
    """
    Draw the bytes in flight twice: from the capture next to the flow's sender, and inferred from the other capture.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    """
    canvas = _canvas("In flight, seen from either end", "in flight", "B", flow, columns)
    own = flow.crossing
    rows = np.flatnonzero((own.passages.near != NONE) & (own.passages.far != NONE))
    rows = rows[np.argsort(own.near.time_ns[own.passages.near[rows]], kind="stable")]
    near, far = own.passages.near[rows], own.passages.far[rows]
    true, rebuilt = own.near.in_flight[near], own.far.in_flight[far]
    canvas.fit(largest(true, rebuilt))
    times = own.near.time_ns[near]
    if flow.side != flow.both.near_side:
        times = flow.clock.to_sender(times)
    for name, values, colour, dash in (
        ("next to the sender", true, palette.SENT, None),
        ("rebuilt from the other capture", rebuilt, palette.RETRANSMITTED, "dot"),
    ):
        canvas.line(
            _seconds(times, canvas),
            values,
            name=name,
            hover=f"{canvas.exact}<br>%{{x:.6f}} s",
            mode="lines",
            line={"color": colour, "width": 1.4, "shape": "hv"} | ({"dash": dash} if dash else {}),
        )
    return canvas.finish()


def _canvas(title: str, y_title: str, y_unit: str, flow: CommonFlow, columns: int) -> Canvas:
    tap = flow.both.sender
    return Canvas(title, y_title, y_unit, tap.capture.flow(tap.stream, tap.ends[flow.side]), columns)


def _seconds(time_ns: NDArray[np.int64], canvas: Canvas) -> NDArray[np.float64]:
    return (time_ns - canvas.origin_ns) / 1e9
