"""Round-trip times over time: samples, smoothed RTT, the minimum, and the delay above the minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
import pandas as pd

from bdpcap._core import NULL
from bdpcap.limits.rules.rwnd import READER
from bdpcap.plots import kept, stalls
from bdpcap.plots.canvas import Canvas, Options, floats, largest
from bdpcap.plots.decimate import COLUMNS, Thinned
from bdpcap.plots.kept import Kept
from bdpcap.plots.stalls import Stalls
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis, Rows
    from bdpcap.plots.drawing import Drawing

Y_TITLE: Final = "RTT"
SMOOTHED: Final = "smoothed_s"
"""Column of the smoothed RTT in seconds after each event, where not every event is given; NaN without an RTT."""
_GAIN: Final = 1 / 8


def smoothed(samples: NDArray[np.float64], last: float | None = None) -> NDArray[np.float64]:
    """
    Smooth RTT samples as a sender does (SRTT, RFC 6298 section 2).

    Parameters
    ----------
    samples
        RTT samples in order of time, shape (n,), without NaN.
    last
        The smoothed RTT before the first sample; None if there was no sample before.

    Returns
    -------
    The smoothed RTT after each sample, shape (n,).
    """
    smooth = np.empty_like(samples)
    if last is None:
        last = samples[0] if len(samples) else 0.0
    for index, sample in enumerate(samples.tolist()):
        last += (sample - last) * _GAIN
        smooth[index] = last
    return smooth


class Samples(Kept):
    """RTT samples and the smoothed RTT, thinned."""

    names = ("time_ns", "frame", "rtt_ns", "window_bytes")

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        self.samples = Thinned(axis, columns, "y")
        self.smooth = Thinned(axis, columns, "y", joined=True)
        self._last: float | None = None
        self._starts_ns = flow.rtts["start_ns"].to_numpy()
        self._closing = flow.rtts["detail"].isin(READER).to_numpy()

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        timed = np.flatnonzero(events["rtt_ns"] != NULL)
        if not len(timed):
            return
        x, (time_ns, frame, rtt_ns, window) = x[timed], (events[name][timed] for name in self.names)
        samples = rtt_ns / 1e9
        smooth = events[SMOOTHED][timed] if SMOOTHED in events else smoothed(samples, self._last)
        self._last = float(smooth[-1])
        self.samples.add(x=x, y=samples, frame=frame)
        self.smooth.add(x=x, y=smooth, frame=frame, closing=self._is_closing(time_ns - rtt_ns, window))

    def _is_closing(self, sent_ns: NDArray[np.int64], window: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which samples are of segments sent while the receiver closed its window."""
        place = (self._starts_ns.searchsorted(sent_ns, side="right") - 1).clip(min=0)
        return np.asarray((window == 0) | self._closing[place])


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
    read = kept.read((Samples, Stalls), flow, canvas.axis, columns)
    draw(canvas, flow, read.of(Samples))
    stalls.draw(canvas, flow, read.of(Stalls), windows=False)  # these have their own shade
    return canvas.finish()


def draw(canvas: Canvas, flow: Flow, measured: Samples) -> None:
    """Draw samples and smoothed RTT on a canvas."""
    summary, rtts = flow.summary, flow.rtts
    of_rounds = largest(floats(rtts["rtt_ns"][canvas.rounds(rtts)]) / 1e9)
    canvas.fit(max(measured.samples.highest("y"), measured.smooth.highest("y"), of_rounds))
    hover = f"{canvas.rounded}<br>%{{x:.6f}} s, frame %{{customdata}}"
    canvas.curve(
        measured.samples,
        "y",
        name="RTT sample",
        custom="frame",
        hover=hover,
        mode="markers",
        marker={"color": palette.SENT, "size": 3, "opacity": 0.55},
    )
    if pd.notna(summary["rtt_min_ns"]):
        least = float(summary["rtt_min_ns"]) / 1e9
        _shade(canvas, measured.smooth.rows(canvas.columns), least)
        canvas.level(
            least, name="minimum RTT", show=lambda value: units.duration(value * 1e9), colour=palette.PATH
        )
    canvas.curve(
        measured.smooth,
        "y",
        name="smoothed RTT",
        custom="frame",
        hover=hover,
        mode="lines",
        line={"color": palette.SENT, "width": 1.6, "shape": "hv"},
    )


def _shade(canvas: Canvas, smooth: Rows, least: float) -> None:
    """Fill the area between the minimum and the steps of the smoothed RTT, each cause in its colour."""
    if not smooth:
        return
    time, top, closing = smooth["x"], np.maximum(smooth["y"], least), smooth["closing"]
    for where, name, colour in (
        (~closing, "queueing delay or delayed ACKs", palette.PATH_FILL),
        (closing, "receiver closing its window", palette.WINDOW_FILL),
    ):
        _fill(canvas, time, top, least, where, name=name, colour=colour)


def _fill(
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
    edges = np.flatnonzero(np.diff(where, prepend=False, append=False))
    x: list[NDArray[np.float64]] = []
    y: list[NDArray[np.float64]] = []
    for first, beyond in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        own = slice(first, beyond)
        until = min(beyond, len(time) - 1)
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
