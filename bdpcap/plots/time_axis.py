"""The time axis of figures: seconds since the capture's first frame, and which part of a flow's life is drawn."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from bdpcap.errors import ArgumentError, wanted
from bdpcap.plots.decimate import Axis
from bdpcap.plots.pixels import above

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Flow


def origin_ns(flow: Flow) -> int:
    """Return the time at which a figure's time axis is 0: the capture's first frame, in ns since the epoch."""
    first_ns = flow.capture.info.first_ns
    return int(flow.summary["start_ns"]) if first_ns is None else first_ns


def life(flow: Flow) -> tuple[float, float]:
    """Return the start and end of a flow, in seconds since the capture's first frame."""
    start, end = (int(flow.summary[name]) - origin_ns(flow) for name in ("start_ns", "end_ns"))
    return start / 1e9, end / 1e9


def seconds(column: pd.Series[Any] | NDArray[np.int64], origin_ns: int) -> NDArray[np.float64]:
    """Return times in seconds since ``origin_ns``; the subtraction is in integers, so it is exact."""
    return (np.asarray(column, dtype=np.int64) - origin_ns) / 1e9


def axis_of(flow: Flow, start: float | None = None, end: float | None = None) -> Axis:
    """Return the time axis of a figure of a flow, from ``start`` to ``end``; None is the start or end of the flow.

    Raises
    ------
    ArgumentError
        The flow does not overlap that time.
    """
    low, high = _span(flow, start, end)
    return Axis(low, high, -np.inf if start is None else low, np.inf if end is None else high)


def _span(flow: Flow, start: float | None, end: float | None) -> tuple[float, float]:
    """Return start and end of the time axis, in seconds."""
    for name, given in {"start": start, "end": end}.items():
        such = "seconds since the capture's first frame, such as 1.5"
        wanted(name, given, such, fits=given is None or isinstance(given, Real))
    born, gone = life(flow)
    low, high = born if start is None else float(start), gone if end is None else float(end)
    if start is None and end is None:
        return low, max(high, above(low, 1e-6))
    if not (low <= gone and high >= born):
        asked = (
            f"between {low:g} s and {high:g} s"
            if None not in (start, end)
            else (f"from {low:g} s on" if end is None else f"up to {high:g} s")
        )
        raise ArgumentError(
            f"stream {flow.stream} has no packet {asked}: it lasts from {born:.6g} s to {gone:.6g} s"
        )
    if not low < high < np.inf:
        raise ArgumentError(f"no time from {low:g} s to {high:g} s: the end comes after the start")
    return low, high
