"""A constant flight: the same bytes in flight in round after round, while TCP's window had room for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow
    from bdpcap.limits.rounds import Bools

__all__ = ["Standing", "alike", "standing"]

_ROUNDS: Final = 8
"""Rounds with data in flight that show a constant flight; a choice."""
_MOST_ROUNDS: Final = 0.6
"""Share of the rounds that have it; a choice."""
_ROOM: Final = 1.2
"""Smallest ratio of TCP's window to the flight at which the window did not stop the sender."""
_ALIKE: Final = 1.5
"""Highest over lowest tenth of flights up to which they are alike: a congestion window halves, which is a ratio of 2."""
_MOST: Final = [0.1, 0.9]
"""Quantiles between which most rounds lie, without the first and the last."""


def alike(flights: pd.Series[int]) -> bool:
    """Return whether the bytes in flight, round by round, are about the same in most rounds."""
    low, high = flights.quantile(_MOST)
    return bool(high <= _ALIKE * low)


@dataclass(frozen=True, slots=True)
class Standing:
    """A constant flight and the rounds that have it."""

    flight: int
    """Bytes in flight."""
    rounds: Bools


def standing(flow: Flow, within: float = 0.0) -> Standing | None:
    """
    Return the constant flight of most rounds of a flow; None if there is none, or if TCP's window was full.

    Parameters
    ----------
    within
        Share of the flight by which rounds may differ; the tolerance is never below one segment.
    """
    flights = flow.rtts["in_flight_max_bytes"].to_numpy(dtype=np.int64)
    windows = flow.rtts["window_max_bytes"].to_numpy(dtype=np.float64, na_value=np.nan)
    mss = max(1, int(flow.summary["mss_bytes"]))
    if (flights > 0).sum() < _ROUNDS:
        return None
    flight = int(np.median(flights[flights > 0]))
    # A congestion window changes by a segment or more.
    rounds = np.abs(flights - flight) < max(mss, within * flight)
    known = windows[rounds & np.isfinite(windows)]
    full = known.size > 0 and np.median(known) < _ROOM * flight
    if full or flight < 2 * mss or rounds.mean() < _MOST_ROUNDS:
        return None
    return Standing(flight, rounds)
