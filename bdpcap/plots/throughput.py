"""Rates at which each round sent and delivered, under the rates that window and path allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from bdpcap.explain.capacity import known_bps, label
from bdpcap.plots.canvas import Canvas, Options, floats, largest
from bdpcap.plots.decimate import COLUMNS
from bdpcap.words import palette, rates, units

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.drawing import Drawing


def throughput(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the rates of sent and acknowledged data for every round, under two ceilings.

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
    rtts, sent = flow.rtts[shown], _sent(flow.events, flow.rtts)[shown]
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
    return canvas.finish()


def _sent(events: pd.DataFrame, rtts: pd.DataFrame) -> NDArray[np.float64]:
    """Return the sending rate of each round in bit/s, shape (rounds,); NaN for a round without duration."""
    start, end = (rtts[name].to_numpy(dtype=np.int64) for name in ("start_ns", "end_ns"))
    sent = events[events["length"].fillna(0) > 0].sort_values("time_ns", kind="stable")
    time = sent["time_ns"].to_numpy(dtype=np.int64)
    total = np.concatenate(([0.0], np.cumsum(floats(sent["length"]))))
    # A round includes packets sent at its start, not those at its end; the last round includes both.
    edges = time.searchsorted(np.append(start, end[-1:] + 1))
    lasting = np.where(end > start, end - start, np.nan)
    return np.asarray(rates.of_bytes(np.diff(total[edges]), lasting))
