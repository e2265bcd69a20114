"""The receive window and the bytes in flight over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

from bdpcap.explain.capacity import known_bdp, label
from bdpcap.host import samples_of
from bdpcap.plots import kept, losses, ribbon
from bdpcap.plots.canvas import Canvas, Options, floats, largest, numbers, seconds
from bdpcap.plots.decimate import COLUMNS, Thinned
from bdpcap.plots.kept import Kept
from bdpcap.plots.losses import Losses
from bdpcap.words import palette, units

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis
    from bdpcap.plots.drawing import Drawing


Y_TITLE: Final = "data"


class Windows(Kept):
    """Bytes in flight and receive windows, thinned."""

    names = ("time_ns", "frame", "in_flight_bytes", "window_bytes")

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        self.in_flight = Thinned(axis, columns, "y", joined=True)
        self.allowed = Thinned(axis, columns, "y", joined=True)

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        frame = events["frame"]
        self.in_flight.add(x=x, y=numbers(events["in_flight_bytes"]), frame=frame)
        self.allowed.add(x=x, y=numbers(events["window_bytes"]), frame=frame)


def window(flow: Flow, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """
    Draw the receive window, the bytes in flight and the BDP, with the limit of every round and every loss above.

    Parameters
    ----------
    flow
        The flow to draw.
    columns
        Number of time columns; every line keeps its extreme points in each.
    options
        Time to draw, and figure and subplot to draw into: see `bdpcap.plots.figure`.
    """
    canvas = Canvas("Receive window and bytes in flight", Y_TITLE, "B", flow, columns, **options)
    rtts = flow.rtts[canvas.rounds(flow.rtts)]
    draw(canvas, flow, rtts, kept.of(Windows, flow, canvas.axis, columns))
    ribbon.draw(canvas, rtts)
    losses.draw(canvas, kept.of(Losses, flow, canvas.axis, columns))
    return canvas.finish()


def draw(canvas: Canvas, flow: Flow, rtts: pd.DataFrame, windows: Windows) -> None:
    """Draw window, flight and BDP on a canvas; `rtts` are the rounds that it shows."""
    summary = flow.summary
    bdp = known_bdp(summary) or 0.0
    # The largest window of the rounds, not of all packets: the window of a SYN limits no round.
    most = largest(floats(rtts["window_max_bytes"]))
    canvas.fit(windows.in_flight.highest("y"), most, bdp, largest(_cwnd_bytes(samples_of(flow))))
    hover = f"{canvas.exact}<br>%{{x:.6f}} s, frame %{{customdata}}"
    canvas.curve(
        windows.in_flight,
        "y",
        name="in flight",
        hover=hover,
        custom="frame",
        mode="lines",
        fill="tozeroy",
        fillcolor=palette.SENT_FILL,
        line={"color": palette.SENT, "width": 1.2, "shape": "hv"},
    )
    canvas.curve(
        windows.allowed,
        "y",
        name=canvas.named("receive window", most, units.data_size),
        hover=hover,
        custom="frame",
        mode="lines",
        line={"color": palette.WINDOW, "width": 1.8, "shape": "hv"},
    )
    if len(samples := samples_of(flow)):
        _host_cwnd(canvas, samples)
    if bdp:
        canvas.level(bdp, name=label(summary, "BDP"), show=units.data_size, colour=palette.PATH)


def _cwnd_bytes(samples: pd.DataFrame) -> NDArray[np.float64]:
    return floats(samples["cwnd_segments"]) * floats(samples["mss_bytes"])


def _host_cwnd(canvas: Canvas, samples: pd.DataFrame) -> None:
    """Draw congestion window and slow-start threshold from the samples of the sending host's kernel."""
    time = seconds(samples["time_ns"], canvas.origin_ns)
    threshold = floats(samples["ssthresh_segments"]) * floats(samples["mss_bytes"])
    colour = palette.HOST
    for name, values, line in (
        ("cwnd x MSS, by the host", _cwnd_bytes(samples), {"color": colour, "width": 1.6, "shape": "hv"}),
        (
            "ssthresh x MSS, by the host",
            threshold,
            {"color": colour, "width": 1.2, "shape": "hv", "dash": "dot"},
        ),
    ):
        hover = f"{canvas.exact}<br>%{{x:.6f}} s"
        named = canvas.named(name, largest(values), units.data_size)
        canvas.line(time, values, name=named, hover=hover, mode="lines", line=line)
