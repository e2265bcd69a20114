"""Every packet of a short time, chosen where most of them are."""

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
"""Most packets that a figure shows one by one: about a pixel each."""

_SPANS: Final = [factor / 10**power for power in range(7) for factor in (1, 0.5, 0.2)]


def busiest(flow: Flow, most: int = MOST) -> tuple[float, float]:
    """
    Choose the second with the most packets, data and acknowledgments.

    Parameters
    ----------
    flow
        The flow.
    most
        No more packets than these: a second with more of them gives way to the busiest 500 ms, 200 ms, and so on.

    Returns
    -------
    Its ends, in seconds since the capture's first frame.
    """
    born, gone = life(flow)
    time = np.sort(seconds(flow.events["time_ns"], origin_ns(flow)))
    # A clock that was set back puts packets before the first one.
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
    Draw the time-sequence graph of the busiest second, so that every packet shows.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Time columns of which every line keeps the extremes; never fewer than keep `MOST` packets.
    options
        What of it, and where: see `bdpcap.plots.figure`. With ``start`` or ``end`` it is that time which is drawn.
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
