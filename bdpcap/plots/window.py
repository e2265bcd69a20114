"""The receive window and the bytes in flight over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from bdpcap.explain import gate
from bdpcap.explain.capacity import known_bdp, label
from bdpcap.host import samples_of
from bdpcap.plots import kept, losses, ribbon, stalls
from bdpcap.plots.canvas import FAR, Canvas, Options, fitting, floats, largest, numbers
from bdpcap.plots.decimate import COLUMNS, Thinned
from bdpcap.plots.kept import Kept
from bdpcap.plots.losses import Losses
from bdpcap.plots.stalls import Stalls
from bdpcap.plots.time_axis import seconds
from bdpcap.words import palette, units

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.decimate import Axis
    from bdpcap.plots.drawing import Drawing


Y_TITLE: Final = "window, in flight"
USUAL: Final = 0.95
"""Share of time columns in which the flight is at most its usual size; slow start of a long transfer takes fewer."""
HEADROOM: Final = 1.5
"""Times the usual flight that its axis reaches: the teeth of congestion control stay below (RFC 9438: 1 / 0.7)."""
ALL: Final = 0.3
"""Part of the plot's height of the axis that has everything to one scale."""
COARSER: Final = 3
"""Time columns of the figure for each one of that axis."""
_FLIGHT: Final[dict[str, Any]] = {
    "mode": "lines",
    "fill": "tozeroy",
    "fillcolor": palette.SENT_FILL,
    "line": {"color": palette.SENT, "width": 1.2, "shape": "hv"},
}


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
    ribbon.draw(canvas, rtts)
    read = kept.read((Windows, Losses, Stalls), flow, canvas.axis, columns)
    losses.draw(canvas, read.of(Losses))
    draw(canvas, flow, rtts, read.of(Windows))
    stalls.draw(canvas, flow, read.of(Stalls))
    return canvas.finish()


def draw(canvas: Canvas, flow: Flow, rtts: pd.DataFrame, windows: Windows) -> None:
    """
    Draw window, flight and BDP on a canvas; `rtts` are the rounds that it shows.

    Where the window, or a peak, is far above the usual flight, the flight has an axis that suits it. Another axis above
    has everything to one scale.
    """
    summary, samples = flow.summary, samples_of(flow)
    bdp = gate.full_bdp(known_bdp(summary), int(summary["mss_bytes"])) or 0.0
    # The largest window of the rounds, not of all packets: the window of a SYN limits no round.
    most = largest(floats(rtts["window_max_bytes"]))
    peak, cwnd = windows.in_flight.highest("y"), largest(_cwnd_bytes(samples))
    usual = min(peak, HEADROOM * _usual_flight(canvas, windows)) or peak
    apart = max(most, peak) > FAR * usual
    canvas.fit(usual, *(() if apart else (most,)), bdp, cwnd)
    above = _scale_of_all(canvas, windows, fitting(max(most, peak), bdp, cwnd)) if apart else None
    hover = f"{canvas.exact}<br>%{{x:.6f}} s, frame %{{customdata}}"
    canvas.curve(windows.in_flight, "y", name="in flight", hover=hover, custom="frame", **_FLIGHT)
    canvas.curve(
        windows.allowed,
        "y",
        name="receive window" if above else canvas.named("receive window", most, units.data_size),
        hover=hover,
        custom="frame",
        mode="lines",
        yaxis=above or canvas.y,
        line={"color": palette.WINDOW, "width": 1.8, "shape": "hv"},
    )
    if len(samples):
        _host_cwnd(canvas, samples, above if cwnd > canvas.top else None)
    if bdp:
        axis = above if bdp > canvas.top and bdp <= FAR * max(most, peak) else None
        canvas.level(bdp, name=label(summary, "BDP"), show=units.data_size, colour=palette.PATH, axis=axis)


def _usual_flight(canvas: Canvas, windows: Windows) -> float:
    """Return the bytes in flight that the highest point of `USUAL` of the time columns with points does not exceed."""
    rows = windows.in_flight.rows(canvas.columns)
    if not rows:
        return 0.0
    tops = np.full(canvas.columns, np.nan)
    np.fmax.at(tops, canvas.axis.column(rows["x"], canvas.columns), rows["y"])
    return float(np.nanquantile(tops, USUAL))


def _scale_of_all(canvas: Canvas, windows: Windows, top: float) -> str:
    """Add an axis up to `top` above the plot with the flight, coarsely; return its name. The two get different titles."""
    canvas.y_axis["title"] = canvas.axis_title("in flight")
    axis = canvas.lane(
        ALL,
        title=canvas.axis_title("window"),
        range=[0, top / canvas.size],
        nticks=4,
    )
    if rows := windows.in_flight.rows(max(1, canvas.columns // COARSER)):
        canvas.add(
            rows["x"], rows["y"], yaxis=axis, name="in flight", showlegend=False, hoverinfo="skip", **_FLIGHT
        )
    return axis


def _cwnd_bytes(samples: pd.DataFrame) -> NDArray[np.float64]:
    return floats(samples["cwnd_segments"]) * floats(samples["mss_bytes"])


def _host_cwnd(canvas: Canvas, samples: pd.DataFrame, axis: str | None) -> None:
    """Draw congestion window and slow-start threshold from the samples of the sending host's kernel."""
    time = seconds(samples["time_ns"], canvas.origin_ns)
    threshold = floats(samples["ssthresh_segments"]) * floats(samples["mss_bytes"])
    for name, values, line in (
        ("cwnd x MSS, by the host", _cwnd_bytes(samples), {"width": 1.6}),
        ("ssthresh x MSS, by the host", threshold, {"width": 1.2, "dash": "dot"}),
    ):
        canvas.line(
            time,
            values,
            name=name if axis else canvas.named(name, largest(values), units.data_size),
            hover=f"{canvas.exact}<br>%{{x:.6f}} s",
            mode="lines",
            yaxis=axis or canvas.y,
            line={**line, "color": palette.HOST, "shape": "hv"},
        )
