"""Comparison of the sender's view as rebuilt from the receiver's capture with that in the sender's capture.

Rules and figures use the sender's view, which the core rebuilds for captures elsewhere. Two captures show both views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.pairing.passages import NONE
from bdpcap.tables import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.pairing.passages import Packets, Passages

__all__ = ["VIEWS", "in_flight", "limits"]

VIEWS: Final[dict[str, Column]] = {
    "stream": Column("int64", "stream in the sender's capture"),
    "sender": Column("str", "address:port that sent the data, as in the sender's capture"),
    "in_flight_median_bytes": Column("Float64", "median in flight, from the capture next to the sender"),
    "rebuilt_median_bytes": Column(
        "Float64", "median in flight of the same packets, rebuilt from the other capture"
    ),
    "in_flight_error_share": Column(
        "Float64", "median difference of the two packet by packet, as a share of the first median"
    ),
    "limit": Column("str", "the limit with most time, from the capture next to the sender"),
    "rebuilt_limit": Column("str", "the limit with most time, from the other capture"),
    "overlap_ns": Column("int64", "time for which both captures have rounds of the flow"),
    "limits_agree_share": Column("Float64", "share of that time for which both give the same limit"),
}
"""Columns of the table of views, with one row for each flow that passed both taps."""


def in_flight(near: Packets, far: Packets, passages: Passages) -> dict[str, float | None]:
    """Return the columns of `VIEWS` on bytes in flight, from packets that have the same bytes at both taps."""
    both = (passages.near != NONE) & (passages.far != NONE)
    one, other = passages.near[both], passages.far[both]
    alike = (near.start[one] == far.start[other]) & (near.end[one] == far.end[other])
    true, rebuilt = near.in_flight[one[alike]], far.in_flight[other[alike]]
    known = np.isfinite(true) & np.isfinite(rebuilt)
    if not known.any():
        return dict.fromkeys(("in_flight_median_bytes", "rebuilt_median_bytes", "in_flight_error_share"))
    median = float(np.median(true[known]))
    error = float(np.median(np.abs(rebuilt[known] - true[known])))
    return {
        "in_flight_median_bytes": median,
        "rebuilt_median_bytes": float(np.median(rebuilt[known])),
        "in_flight_error_share": error / median if median else None,
    }


def limits(
    near: pd.DataFrame, far: pd.DataFrame, departure_ns: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> dict[str, Any]:
    """
    Return the columns of `VIEWS` on limits, over the time for which both captures have rounds.

    Parameters
    ----------
    near, far
        Rounds of one flow from each capture, tables with the columns of `bdpcap.tables.RTTS`.
    departure_ns
        Function from times at the far tap to the latest times at which those packets passed the near tap.
    """
    starts, ends, names = _rounds(near)
    far_starts, far_ends, far_names = _rounds(far)
    far_starts, far_ends = departure_ns(far_starts), departure_ns(far_ends)
    edges = np.unique(np.concatenate([starts, ends, far_starts, far_ends]))
    lasted, middle = np.diff(edges), edges[:-1]
    one, other = _at(middle, starts, ends), _at(middle, far_starts, far_ends)
    both = (one != NONE) & (other != NONE)
    overlap = int(lasted[both].sum())
    agreed = lasted[both][names[one[both]] == far_names[other[both]]].sum()
    return {
        "overlap_ns": overlap,
        "limits_agree_share": float(agreed / overlap) if overlap else None,
    }


def _rounds(rtts: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]:
    return (
        rtts["start_ns"].to_numpy(np.int64),
        rtts["end_ns"].to_numpy(np.int64),
        rtts["limit"].to_numpy(object),
    )


def _at(times: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the round at each time; `NONE` where there is none."""
    if not len(starts):
        return np.full(len(times), NONE)
    found = np.searchsorted(starts, times, side="right") - 1
    inside = (found >= 0) & (times < ends[found.clip(0)])
    return np.where(inside, found, NONE)
