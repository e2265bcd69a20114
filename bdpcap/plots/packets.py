"""Time-sequence graph of every packet in the short time that has the most packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from bdpcap.plots.canvas import Canvas, Options, life, origin_ns, seconds
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.pixels import above
from bdpcap.plots.sequence import Y_TITLE, draw
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.plots.drawing import Drawing

MOST: Final = 1000
"""Maximum number of packets that a figure shows one by one; each gets about a pixel."""

_SPANS: Final = [factor / 10**power for power in range(7) for factor in (1, 0.5, 0.2)]


def busiest(flow: Flow, most: int = MOST) -> tuple[float, float]:
    """
    Choose the second with the most packets; data and acknowledgments count.

    Parameters
    ----------
    flow
        The flow.
    most
        Maximum number of packets. If the second has more, the busiest 500 ms are chosen, or 200 ms, and so on.

    Returns
    -------
    Start and end of that time, in seconds since the capture's first frame.
    """
    born, gone = life(flow)
    time = np.sort(seconds(flow.events["time_ns"], origin_ns(flow)))
    # After a clock was set back, packets may have times before the flow's start.
    time = time[(time >= born) & (time <= gone)]
    if not len(time):
        return born, max(gone, above(born, _SPANS[-1]))
    for span in _SPANS:
        held = time.searchsorted(time + span, side="right") - np.arange(len(time))
        first = int(held.argmax())
        if held[first] <= most:
            break
    start = float(time[first])
    return start, max(min(start + span, float(time[-1])), above(start, _SPANS[-1]))


def packets(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the time-sequence graph of the busiest second, in which every packet is visible.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each. At least 800 are used, so that `MOST`
        packets are all drawn.
    options
        Figure and subplot to draw into, and time to draw instead of the busiest second: see `bdpcap.plots.figure`.
    """
    title = "Packets"
    if options.get("start") is None and options.get("end") is None:
        start, end = busiest(flow)
        options["start"], options["end"] = start, end
        lasting = units.duration((end - start) * 1e9)
        title = f"Every packet of the busiest {'second' if lasting == '1 s' else lasting}"
    canvas = Canvas(title, Y_TITLE, "B", flow, max(columns, COLUMNS), **options)
    draw(canvas, flow)
    return canvas.finish()
