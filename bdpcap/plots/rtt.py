"""Round-trip times over time: samples, smoothed RTT, the minimum, and the delay above the minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np
import pandas as pd

from bdpcap.plots.canvas import Canvas, Options, floats, largest, seconds
from bdpcap.plots.decimate import COLUMNS
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.drawing import Drawing

Y_TITLE: Final = "RTT"
_GAIN: Final = 1 / 8
_CLOSING: Final = ("slow reader", "zero window")
"""Details of rounds in which the receiving application read slowly, so that acknowledgments came late."""


def smoothed(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    Smooth RTT samples as a sender does (SRTT, RFC 6298 section 2).

    Parameters
    ----------
    samples
        RTT samples in order of time, shape (n,), without NaN.

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


def rtt(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw every RTT sample, the smoothed RTT, and the minimum.

    The area between the smoothed RTT and the minimum is queueing delay or delayed acknowledgments (RFC 1122 section
    4.2.3.2). While the receiver closes its window, acknowledgments wait for the receiving application. That delay has
    another colour, since it is not a queue of the path.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    options
        Time to draw, and figure and subplot to draw into: see `bdpcap.plots.figure`.
    """
    canvas = Canvas("Round-trip time", Y_TITLE, "s", flow, columns, **options)
    events = flow.events[flow.events["rtt_ns"].notna()]
    draw(canvas, flow, events, smoothed(floats(events["rtt_ns"]) / 1e9))
    return canvas.finish()


def draw(canvas: Canvas, flow: Flow, events: pd.DataFrame, smooth: NDArray[np.float64]) -> None:
    """Draw samples and smoothed RTT on a canvas; `smooth` has the latter in seconds, after each of `events`."""
    summary, rtts = flow.summary, flow.rtts
    time, frame = seconds(events["time_ns"], canvas.origin_ns), events["frame"].to_numpy()
    samples = floats(events["rtt_ns"]) / 1e9
    shown = canvas.seen(time)
    canvas.fit(largest(samples[shown], floats(rtts["rtt_ns"][canvas.rounds(rtts)]) / 1e9))
    canvas.line(
        time,
        samples,
        name="RTT sample",
        custom=frame,
        hover=f"{canvas.rounded}<br>%{{x:.6f}} s, frame %{{customdata}}",
        mode="markers",
        marker={"color": palette.SENT, "size": 3, "opacity": 0.55},
    )
    if pd.notna(summary["rtt_min_ns"]):
        least = float(summary["rtt_min_ns"]) / 1e9
        closing = _closing(flow, events)
        for where, name, colour in (
            (~closing, "queueing delay or delayed ACKs", palette.PATH_FILL),
            (closing, "receiver closing its window", palette.WINDOW_FILL),
        ):
            _shade(canvas, time, np.maximum(smooth, least), least, where, name=name, colour=colour)
        canvas.level(
            least, name="minimum RTT", show=lambda value: units.duration(value * 1e9), colour=palette.PATH
        )
    canvas.line(
        time,
        smooth,
        name="smoothed RTT",
        custom=frame,
        hover=f"{canvas.rounded}<br>%{{x:.6f}} s, frame %{{customdata}}",
        mode="lines",
        line={"color": palette.SENT, "width": 1.6, "shape": "hv"},
    )


def _closing(flow: Flow, samples: pd.DataFrame) -> NDArray[np.bool_]:
    """Return a boolean array: which samples are of segments sent while the receiver closed its window."""
    sent_ns = (samples["time_ns"] - samples["rtt_ns"]).to_numpy(dtype=np.int64)
    place = (flow.rtts["start_ns"].to_numpy().searchsorted(sent_ns, side="right") - 1).clip(min=0)
    closed = (samples["window_bytes"] == 0).fillna(value=False).to_numpy(dtype=bool)
    return np.asarray(closed | flow.rtts["detail"].iloc[place].isin(_CLOSING).to_numpy())


def _shade(
    canvas: Canvas,
    time: NDArray[np.float64],
    top: NDArray[np.float64],
    ground: float,
    where: NDArray[np.bool_],
    *,
    name: str,
    colour: str,
) -> None:
    """Fill the area between ``ground`` and the steps of ``top``, from each point in ``where`` to the next point."""
    chosen = canvas.chosen(time, top)
    edges = np.flatnonzero(np.diff(where[chosen], prepend=False, append=False))
    x: list[NDArray[np.float64]] = []
    y: list[NDArray[np.float64]] = []
    for first, beyond in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        own = chosen[first:beyond]
        until = chosen[min(beyond, len(chosen) - 1)]
        across = np.repeat(np.append(time[own], time[until]), 2)[1:-1]
        x += [across, across[[-1, 0]], np.full(1, np.nan)]
        y += [np.repeat(top[own], 2), np.full(2, ground), np.full(1, np.nan)]
    if x:
        canvas.add(
            np.concatenate(x),
            np.concatenate(y),
            name=name,
            mode="lines",
            line={"width": 0, "color": colour},
            fill="toself",
            fillcolor=colour,
            hoverinfo="skip",
        )
