"""Rates at which each round sent and delivered, under the rates that window and path allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bdpcap.explain.capacity import known_bps, label
from bdpcap.plots import kept, losses, stalls
from bdpcap.plots.canvas import Canvas, Options, floats, largest
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.kept import Kept
from bdpcap.plots.losses import Losses
from bdpcap.plots.stalls import Stalls
from bdpcap.words import palette, rates, units

if TYPE_CHECKING:
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
        self._lasting_ns = np.where(end_ns > start_ns, end_ns - start_ns, np.nan)
        self._bytes = np.zeros(len(self._edges_ns) + 1)

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:  # noqa: ARG002 - by the clock
        """Take the next events of the flow."""
        sent = events["length"] > 0
        place = self._edges_ns.searchsorted(events["time_ns"][sent], side="right")
        self._bytes += np.bincount(place, events["length"][sent], len(self._bytes))

    @property
    def bps(self) -> NDArray[np.float64]:
        """The sending rate of each round in bit/s, shape (rounds,); NaN for a round without duration."""
        return np.asarray(rates.of_bytes(self._bytes[1:-1], self._lasting_ns))


def throughput(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the rates of sent and acknowledged data for every round, under two ceilings, and every loss above.

    The ceilings are window over RTT, and the capacity of the path. Retransmitted bytes count as sent.

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
    rtts, sent = flow.rtts[shown], read.of(Sent).bps[shown]
    delivered = floats(rtts["throughput_bps"])
    allowed = rates.of_bytes(floats(rtts["window_max_bytes"]), floats(rtts["rtt_ns"]))
    capacity = known_bps(summary) or 0.0
    # The rate of a round shorter than a quarter of its RTT means little, so such rounds do not set the scale.
    whole = floats(rtts["end_ns"] - rtts["start_ns"]) >= 0.25 * floats(rtts["rtt_ns"])
    canvas.fit(largest(delivered[whole], sent[whole]), largest(allowed), capacity)
    canvas.staircase(
        rtts,
        delivered,
        name=canvas.named("acknowledged", largest(delivered[whole]), units.rate),
        fill="tozeroy",
        fillcolor=palette.ACKNOWLEDGED_FILL,
        line={"color": palette.ACKNOWLEDGED, "width": 1.2},
    )
    canvas.staircase(
        rtts,
        sent,
        name=canvas.named("sent", largest(sent[whole]), units.rate),
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
