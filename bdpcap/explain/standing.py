"""A constant flight: the same bytes in flight in round after round, while TCP's window had room for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow
    from bdpcap.limits.rounds import Bools

__all__ = ["Standing", "spoken", "standing"]

_ROUNDS: Final = 8
"""Rounds with data in flight that show a constant flight; a choice."""
_MOST_ROUNDS: Final = 0.6
"""Share of the rounds that have it; a choice."""
_ROOM: Final = 1.2
"""Smallest ratio of TCP's window to the flight at which the window did not stop the sender."""
_ALIKE: Final = 1.5
"""Highest over lowest tenth of flights up to which they are alike: a congestion window halves, which is a ratio of 2."""
_MOVED: Final = 1.2
"""Ratio of the usual flights at both ends of a flow from which they moved: less is within 10 % of one between them."""
_PARTS: Final = 3
"""Parts of a flow of which the first and the last show whether its flights moved; a choice."""
_MOST: Final = [0.1, 0.9]
"""Quantiles between which most rounds lie, without the first and the last."""


def spoken(flights: pd.Series[int]) -> str:
    """Return the bytes in flight, round by round, in words: how they moved, or their usual and largest number."""
    (low, high), usual, most = flights.quantile(_MOST), flights.median(), flights.max()
    part = -(-len(flights) // _PARTS)
    early, late = flights[:part].median(), flights[-part:].median()
    if max(early, late) > _MOVED * min(early, late):
        return f"about {units.exact_bytes(early)} were in flight at first, {units.exact_bytes(late)} at last"
    if usual == most:
        often = f"{(flights == most).sum()} of {units.number(len(flights), 'round')}"
        return f"the flight ended at exactly {units.exact_bytes(most)} in {often}"
    if high > _ALIKE * low:
        return f"{units.exact_bytes(usual)} were in flight in the median round, {units.exact_bytes(most)} at most"
    return f"about {units.exact_bytes(usual)} were in flight, round after round"


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
