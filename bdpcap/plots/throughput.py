"""Rates at which each round sent and delivered, under the rates that window and path allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from bdpcap.explain.capacity import known_bps, label
from bdpcap.plots import kept, losses, stalls
from bdpcap.plots.canvas import Canvas, Options, floats, largest
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.kept import Kept
from bdpcap.plots.losses import Losses
from bdpcap.plots.stalls import Stalls
from bdpcap.read.quality import FINE_TICKS
from bdpcap.words import palette, rates, units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis
    from bdpcap.plots.drawing import Drawing


class Sent(Kept):
    """Bytes sent in each round of the flow, retransmissions included."""

    names = ("time_ns", "length")

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        start_ns, end_ns = (flow.rtts[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        # A round includes packets sent at its start, not those at its end; the last round includes both.
        self._edges_ns = np.maximum.accumulate(np.append(start_ns, end_ns[-1:] + 1))
        self._bytes = np.zeros(len(self._edges_ns) + 1)

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:  # noqa: ARG002 - by the clock
        """Take the next events of the flow."""
        sent = events["length"] > 0
        place = self._edges_ns.searchsorted(events["time_ns"][sent], side="right")
        self._bytes += np.bincount(place, events["length"][sent], len(self._bytes))

    @property
    def bytes(self) -> NDArray[np.float64]:
        """The bytes sent in each round, shape (rounds,)."""
        return self._bytes[1:-1]


class Spans:
    """Consecutive rounds that together last long enough for a rate: a minimum RTT, and ten ticks of the clock.

    Rounds that end early, or whose times a coarse clock rounds, have rates far above that of any link.
    """

    def __init__(self, flow: Flow) -> None:
        lasting_ns = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).to_numpy(np.int64)
        trip_ns = flow.summary["rtt_min_ns"]
        self._least_ns = max(
            0 if pd.isna(trip_ns) else int(trip_ns), FINE_TICKS * int(flow._counts["tick_ns"])
        )
        self._of = np.array(list(self._numbered(lasting_ns.tolist())), dtype=np.int64)
        self._lasting_ns = np.maximum(np.bincount(self._of, lasting_ns), self._least_ns)

    def _numbered(self, lasting_ns: list[int]) -> Iterator[int]:
        """Yield the number of each round's span. A round that lasts long enough is a whole span."""
        span, lasted = 0, 0
        for lasting in lasting_ns:
            if lasted >= self._least_ns or (lasted and lasting >= self._least_ns):
                span, lasted = span + 1, 0
            yield span
            lasted += lasting

    def bps(self, moved_bytes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each round the rate of its span in bit/s, from bytes by round, shape (rounds,)."""
        return np.asarray(rates.of_bytes(np.bincount(self._of, moved_bytes), self._lasting_ns))[self._of]


def throughput(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the rates of sent and acknowledged data for every round, under two ceilings, and every loss above.

    The ceilings are window over RTT, and the capacity of the path. Retransmitted bytes count as sent. Short rounds have
    the rate of several.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    options
        Time to draw, and figure and subplot to draw into: see `bdpcap.plots.figure`.
    """
    summary = flow.summary
    title = "Throughput of every round, with window / RTT and path capacity"
    canvas = Canvas(title, "throughput", "bit/s", flow, columns, **options)
    shown = canvas.rounds(flow.rtts)
    read = kept.read((Sent, Losses, Stalls), flow, canvas.axis, columns)
    rtts, spans = flow.rtts[shown], Spans(flow)
    sent, delivered = (
        spans.bps(moved)[shown] for moved in (read.of(Sent).bytes, floats(flow.rtts["acked_bytes"]))
    )
    allowed = rates.of_bytes(floats(rtts["window_max_bytes"]), floats(rtts["rtt_ns"]))
    capacity = known_bps(summary) or 0.0
    canvas.fit(largest(delivered, sent), largest(allowed), capacity)
    canvas.staircase(
        rtts,
        delivered,
        name=canvas.named("acknowledged", largest(delivered), units.rate),
        fill="tozeroy",
        fillcolor=palette.ACKNOWLEDGED_FILL,
        line={"color": palette.ACKNOWLEDGED, "width": 1.2},
    )
    canvas.staircase(
        rtts,
        sent,
        name=canvas.named("sent", largest(sent), units.rate),
        line={"color": palette.SENT, "width": 1.2, "dash": "dot"},
    )
    canvas.staircase(
        rtts,
        allowed,
        name=canvas.named("window / RTT", largest(allowed), units.rate),
        line={"color": palette.WINDOW, "width": 1.8},
    )
    if capacity:
        name = label(summary, "path capacity")
        canvas.level(capacity, name=name, show=units.rate, colour=palette.PATH)
    losses.draw(canvas, read.of(Losses))
    stalls.draw(canvas, flow, read.of(Stalls))
    return canvas.finish()
