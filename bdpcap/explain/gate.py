"""Bounds that every number of a report passes: a number outside of them is left out, since it cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.words import rates, units

if TYPE_CHECKING:
    from bdpcap.read.facts import CaptureInfo

__all__ = ["allowed_bps", "full_bdp", "idle_ns", "is_untimed", "part", "reached_bps"]

LEAST_RTT_NS: Final = 100_000
"""Least RTT whose quotient is a bound: below, both ends are on one host or switch, and scheduling decides the rate."""
MOST_BPS: Final = 400e9
"""Rate of the fastest Ethernet in use (IEEE 802.3bs)."""
FEWEST_SEGMENTS: Final = 2
"""Least bandwidth-delay product in segments: a sender may always send that much (RFC 5681 section 3.1)."""


def allowed_bps(window_bytes: Any, rtt_ns: Any) -> float | None:
    """Return the rate that a window allows, in bits per second; None if either is missing, or the rate cannot be."""
    if pd.isna(window_bytes) or pd.isna(rtt_ns) or window_bytes <= 0 or rtt_ns < LEAST_RTT_NS:
        return None
    allowed = rates.of_bytes(window_bytes, rtt_ns)
    return allowed if allowed <= MOST_BPS else None


def full_bdp(bdp_bytes: Any, mss_bytes: int) -> float | None:
    """Return a bandwidth-delay product in bytes; None if it is missing or below `FEWEST_SEGMENTS`."""
    if pd.isna(bdp_bytes) or bdp_bytes < FEWEST_SEGMENTS * max(1, mss_bytes):
        return None
    return float(bdp_bytes)


def is_untimed(info: CaptureInfo) -> bool:
    """Return whether most frames of a capture bear no valid time."""
    return 2 * info.without_time > info.frames


def idle_ns(flow: pd.Series[Any]) -> int | None:
    """Return the idle time of a row of the table of flows; None if its time stamps jump by a year."""
    idle = int(flow["end_ns"] - flow["start_ns"] - flow["active_ns"])
    return idle if idle < units.YEAR_NS else None


def part(share: Any) -> float | None:
    """Return a share of 0 to 1; None if it is missing, or above 1."""
    return None if pd.isna(share) or not 0 <= share <= 1 else float(share)


def reached_bps(rate_bps: Any) -> float | None:
    """Return a measured rate in bits per second; None if it is missing, or faster than any Ethernet."""
    return None if pd.isna(rate_bps) or rate_bps > MOST_BPS else float(rate_bps)
