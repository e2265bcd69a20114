"""Links that kept no rate: much of their busy time was far slower than a rate that the flow reached for a while.

A full link forwards at one rate, so that rounds far below it, or far longer than most, are no full link's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pandas as pd

from bdpcap.explain.capacity import sent_a_window
from bdpcap.explain.once import once
from bdpcap.words import rates

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["ADVICE", "KEPT_TRIPS", "LONG", "Varying", "varying"]

ADVICE: Final = "Find what slows the link for moments: a wireless or shared link, or a busy device."
KEPT_TRIPS: Final = 20
"""Median round trips over which the best rate counts: what a stall held back makes shorter times too fast (measured)."""
SLOW: Final = 1 / 2
"""Share of the best rate below which a full link does not forward: utilization from which a queue shows one is 0.75."""
VARIED: Final = 1 / 4
"""Share of the busy time in slow rounds from which a link kept no rate: at one rate, it is 0.09 or less (measured)."""
LONG: Final = 5
"""Median round trips from which a round is a stall: a queue that a flow fills itself lengthens rounds by less."""
REPEATED: Final = 2
"""Stalls that are no accident. Other flows that take a share of a link make rounds slower, but not so long."""


class Varying(NamedTuple):
    """How far a link's rate varied."""

    best_bps: float
    """Highest rate over `KEPT_TRIPS` median round trips."""
    stalls: int
    """Rounds of the flow with data in flight that took `stall_ns` or longer."""
    stall_ns: float
    """`LONG` median round trips."""


@once
def varying(flow: Flow) -> Varying | None:
    """Return how far the rate of a busy link varied; None if it kept one rate, or the flow is too small to show it."""
    rounds, trip = flow.rtts, flow.summary["rtt_median_ns"]
    busy = (rounds["limit"] == "link").to_numpy()
    if pd.isna(trip) or not busy.any() or not sent_a_window(flow.summary):
        return None
    lasting = (rounds["end_ns"] - rounds["start_ns"]).to_numpy(dtype=np.float64)
    acked = rounds["acked_bytes"].to_numpy(dtype=np.float64)
    time, amount = (np.cumsum(np.append(0.0, one)) for one in (lasting, acked))
    ends = np.searchsorted(time, time + KEPT_TRIPS * float(trip))
    begins = np.flatnonzero(ends < len(time))
    if not len(begins):
        return None
    ends = ends[begins]
    best = ((amount[ends] - amount[begins]) / (time[ends] - time[begins])).max()
    slow = busy & (acked < SLOW * best * lasting)
    if lasting[slow].sum() < VARIED * lasting[busy].sum():
        return None
    long = rounds["limit"].isin(("link", "cwnd")).to_numpy() & (lasting >= LONG * float(trip))
    stalls = int(long.sum())
    if stalls < REPEATED:
        return None
    return Varying(float(rates.of_bytes(best, 1.0)), stalls, LONG * float(trip))
