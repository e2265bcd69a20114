"""The times in which a flow stood still, shaded: no new data acknowledged, or the receive window closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap._core import NULL
from bdpcap.diagnosis.kinds import rwnd
from bdpcap.diagnosis.natures import OUTAGE, nature
from bdpcap.plots.canvas import numbers
from bdpcap.plots.kept import Kept
from bdpcap.plots.time_axis import seconds
from bdpcap.timers import LONGEST_DELAYED_ACK_NS
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.canvas import Canvas
    from bdpcap.plots.decimate import Axis

    Spans = list[tuple[float, float]]
    """Starts and ends, in seconds since the capture's first frame."""

__all__ = ["Stalls", "draw"]

SEEN: Final = 1 / 200
"""Part of the time drawn that a shade takes at least; a shorter one would be a line."""
WRITTEN: Final = 1 / 7
"""Part of the time drawn from which on a shade has room for its label."""


class Stalls(Kept):
    """
    Times with data in flight and no acknowledgment of new data, beyond a round trip and an acknowledgment's delay.

    A time begins with an acknowledgment of new data, or with the first data after all was acknowledged. So does
    `longest_stall_ns` of the table of flows.
    """

    names = ("time_ns", "sequence", "length", "acknowledged", "sack_start")

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        rtt, longest = (
            0.0 if pd.isna(flow.summary[name]) else float(flow.summary[name]) / 1e9
            for name in ("rtt_median_ns", "longest_stall_ns")
        )
        self._least = LONGEST_DELAYED_ACK_NS / 1e9 + rtt
        # The sender may see an acknowledgment a round trip later than the tap. A longer time is an error of the capture.
        self._most = longest + rtt
        self._end = float(seconds(np.array([flow.summary["end_ns"]]), self._origin_ns)[0])
        self._spans: Spans = []
        self._since = np.nan
        self._sent = self._acknowledged = -np.inf

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        length = numbers(events["length"])
        acked = np.where(np.isnan(length), numbers(events["acknowledged"]), np.nan)
        acknowledged = np.fmax.accumulate(np.append(self._acknowledged, acked))
        last = numbers(events["sequence"]) + length
        sent = np.fmax.accumulate(np.append(self._sent, last))[1:]
        new = np.flatnonzero((acknowledged[1:] > acknowledged[:-1]) | (events["sack_start"] != NULL))
        # A time begins where something is still in flight, else with the next data. Some taps see data after their ACK.
        data = np.flatnonzero((length > 0) & ~(last <= acknowledged[1:]))
        later = np.append(x[data], np.nan)
        starts = np.where(sent[new] > acknowledged[1:][new], x[new], later[data.searchsorted(new)])
        since = np.append(later[0] if np.isnan(self._since) else self._since, starts)
        self._sent, self._acknowledged = float(sent[-1]), float(acknowledged[-1])
        self._since = float(since[-1])
        for place in np.flatnonzero(x[new] - since[:-1] >= self._least).tolist():
            self._spans.append((float(since[place]), float(x[new][place])))

    @property
    def spans(self) -> Spans:
        """The stalls, that at the flow's end included."""
        every = [*self._spans, (self._since, self._end)]
        return [span for span in every if self._least <= span[1] - span[0] <= self._most]


def draw(canvas: Canvas, flow: Flow, stalls: Stalls, *, windows: bool = True) -> None:
    """Shade the stalls on the main axis, which was fitted before, and the times of closed `windows`."""
    closed = _closed(flow, canvas.origin_ns)
    # The probe of a closed window is in flight, too.
    spans = [span for span in stalls.spans if _overlap(span, closed) < (span[1] - span[0]) / 2]
    longest = max(spans, key=lambda span: span[1] - span[0], default=None)
    out = longest if nature(flow) is OUTAGE else None
    for name, colour, own in (
        ("outage: nothing new acknowledged", palette.STALL_FILL, [span for span in spans if span == out]),
        ("stall: nothing new acknowledged", palette.STALL_FILL, [span for span in spans if span != out]),
        ("receive window closed", palette.CLOSED_FILL, closed if windows else []),
    ):
        _shade(canvas, own, name, colour)


def _overlap(span: tuple[float, float], others: Spans) -> float:
    return sum(max(0.0, min(span[1], end) - max(span[0], start)) for start, end in others)


def _closed(flow: Flow, origin_ns: int) -> Spans:
    """Return the times of consecutive rounds in which a closed window held the sender."""
    shut = rwnd.shut(flow.rtts).to_numpy(dtype=bool)
    edges = np.flatnonzero(np.diff(shut, prepend=False, append=False))
    start, end = (seconds(flow.rtts[name], origin_ns) for name in ("start_ns", "end_ns"))
    return [
        (float(start[first]), float(end[beyond - 1]))
        for first, beyond in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


def _shade(canvas: Canvas, spans: Spans, name: str, colour: str) -> None:
    begin, finish = canvas.axis.start, canvas.axis.end
    shown = [(max(begin, start), min(finish, end), end - start) for start, end in spans]
    shown = [span for span in shown if span[1] - span[0] >= SEEN * (finish - begin)]
    if not shown:
        return
    slider = canvas.x_axis.get("rangeslider")
    low, high = slider["yaxis"]["range"] if slider else canvas.y_axis["range"]
    canvas.trace(
        x=np.ravel([(start, start, end, end, np.nan) for start, end, _ in shown]),
        y=np.tile([low, high, high, low, np.nan], len(shown)),
        yaxis=canvas.y,
        name=name,
        mode="lines",
        line={"width": 0, "color": colour},
        fill="toself",
        fillcolor=colour,
        hoverinfo="skip",
    )
    labelled = [span for span in shown if span[1] - span[0] >= WRITTEN * (finish - begin)]
    if labelled:
        word = name.partition(":")[0].removeprefix("receive ")
        canvas.trace(
            x=np.array([(start + end) / 2 for start, end, _ in labelled]),
            y=np.full(len(labelled), canvas.y_axis["range"][1]),
            yaxis=canvas.y,
            name=name,
            mode="text",
            text=[f"{word} {units.duration(lasting * 1e9)}" for _, _, lasting in labelled],
            textposition="bottom center",
            showlegend=False,
            hoverinfo="skip",
        )
