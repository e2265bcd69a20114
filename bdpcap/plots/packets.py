"""Time-sequence graph of every packet in the short time that has the most packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

from bdpcap._core import NULL
from bdpcap.plots import kept, stalls
from bdpcap.plots.busiest import Busiest
from bdpcap.plots.canvas import Canvas, Options, axis_of, life
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.kept import Kept
from bdpcap.plots.sequence import Y_TITLE, Segments, draw
from bdpcap.words import units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis
    from bdpcap.plots.drawing import Drawing

MOST: Final = 1000
"""Maximum number of packets that a figure shows one by one; each gets about a pixel."""


class Packets(Kept):
    """The busiest second of a flow, and its events."""

    names = Segments.names

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        self.busiest = Busiest(*life(flow), MOST)

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        self.busiest.add({"x": x, **{name: events[name] for name in self.names}})


def busiest(flow: Flow) -> tuple[float, float]:
    """
    Choose the second with the most packets; data and acknowledgments count.

    If the second has more than `MOST`, the busiest 500 ms are chosen, or 200 ms, and so on.

    Parameters
    ----------
    flow
        The flow.

    Returns
    -------
    Start and end of that time, in seconds since the capture's first frame.
    """
    return kept.of(Packets, flow, axis_of(flow), COLUMNS).busiest.span


def packets(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the time-sequence graph of the busiest second, in which every packet is visible.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each. At least 900 are used, so that `MOST`
        packets are all drawn.
    options
        Figure and subplot to draw into, and time to draw instead of the busiest second: see `bdpcap.plots.figure`.
    """
    columns = max(columns, COLUMNS)
    title, rows = "Packets", None
    if options.get("start") is None and options.get("end") is None:
        found = kept.of(Packets, flow, axis_of(flow), COLUMNS).busiest
        start, end = found.span
        rows = found.rows if _is_enough(found) else None
        options["start"], options["end"] = start, end
        lasting = units.duration((end - start) * 1e9)
        title = f"Every packet of the busiest {'second' if lasting == '1 s' else lasting}"
    canvas = Canvas(title, Y_TITLE, "B", flow, columns, **options)
    if rows is None:
        segments = kept.of(Segments, flow, canvas.axis, columns)
    else:
        segments = Segments(flow, canvas.axis, columns)
        segments.take(rows)
    draw(canvas, segments)
    stalls.draw(canvas, flow, columns)
    return canvas.finish()


def _is_enough(found: Busiest) -> bool:
    """Return whether the events that were kept reach to an acknowledgment on either side, to which lines are drawn."""
    rows, (start, end) = found.rows, found.span
    if rows is None:
        return False
    acks = rows["x"][(rows["sequence"] == NULL) & (rows["acknowledged"] != NULL)]
    before = rows["number"][0] == 0 or bool((acks < start).any())
    return before and (rows["number"][-1] == found.events - 1 or bool((acks > end).any()))
