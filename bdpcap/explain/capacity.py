"""How well a flow shows the rate of its path, and the words that texts and figures put before that rate."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.limits.capacity import INITIAL_WINDOW
from bdpcap.words import rates, units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "FILLED",
    "INITIAL_WINDOW",
    "Basis",
    "basis",
    "delivered_bps",
    "doublings",
    "is_burst",
    "known_bdp",
    "known_bps",
    "label",
    "sent_a_window",
    "spoken",
    "spoken_bdp",
    "word",
]

SUSTAINED_NS: Final = 3e7
"""Nanoseconds over which the core measures the rate that a flow sustained, if the round trip is shorter."""
AGREE: Final = 1.2
"""Highest over lowest rate up to which they agree: each is within 10 % of a rate between them."""
_WIDEST: Final = 10
"""Ratio of the bounds of a rate from which on the upper one is of no use: a rate of its order is not known."""
FILLED: Final = 0.1
"""Share of a flow's time in which it must fill the link to show the link's rate."""


class Basis(StrEnum):
    """Evidence behind a flow's ``capacity_bps``."""

    FILLED = "filled"
    """The flow kept the link busy, and its bursts agree on the link's rate."""
    BURSTS = "bursts"
    """The flow did not fill the link, but its bursts agree on a rate."""
    BOUND = "bound"
    """The bursts agree on no rate: only that the path carries at least ``capacity_low_bps`` is known."""


def doublings(sent_bytes: int, mss_bytes: int) -> int:
    """Return the round trips that slow start takes: 10 segments, then 20, 40 and so on (RFC 5681, RFC 6928)."""
    return math.ceil(math.log2(1 + float(sent_bytes) / (INITIAL_WINDOW * max(1, mss_bytes))))


def basis(summary: pd.Series[Any] | Mapping[str, Any]) -> Basis | None:
    """
    Return the evidence behind the rate in a row of the ``flows`` table.

    Returns
    -------
    None where the capture shows no rate.
    """
    low, high = summary["capacity_low_bps"], summary["capacity_high_bps"]
    if pd.isna(low) or pd.isna(summary["capacity_bps"]):
        return None
    if pd.isna(high) or high > AGREE * low:
        return Basis.BOUND
    return Basis.FILLED if summary["link_share"] >= FILLED else Basis.BURSTS


def known_bps(summary: pd.Series[Any] | Mapping[str, Any]) -> float | None:
    """Return the rate on which sentences rest: the capacity if bursts agree on it, else the least that it can be."""
    rests = basis(summary)
    if rests is None:
        return None
    return float(summary["capacity_low_bps" if rests is Basis.BOUND else "capacity_bps"])


def known_bdp(summary: pd.Series[Any] | Mapping[str, Any]) -> float | None:
    """Return the BDP at `known_bps`, in bytes; None without a rate or an RTT."""
    known = known_bps(summary)
    if known is None or pd.isna(summary["bdp_bytes"]):
        return None
    return _bdp(summary, known)


def _bdp(summary: pd.Series[Any] | Mapping[str, Any], rate_bps: float) -> float:
    """Return the BDP at another rate than the capacity, in bytes."""
    return float(summary["bdp_bytes"]) * rate_bps / float(summary["capacity_bps"])


def spoken(summary: pd.Series[Any] | Mapping[str, Any]) -> str:
    """Return the path's rate in words: about one rate, between two, or at least one; empty without a rate."""
    return _words(summary, units.rate)


def spoken_bdp(summary: pd.Series[Any] | Mapping[str, Any]) -> str:
    """Return the path's BDP in words, as `spoken` does; empty without a rate or an RTT."""
    if pd.isna(summary["bdp_bytes"]):
        return ""
    return _words(summary, lambda rate_bps: units.exact_bytes(math.ceil(_bdp(summary, rate_bps))))


def _words(summary: pd.Series[Any] | Mapping[str, Any], show: Callable[[float], str]) -> str:
    known, high = known_bps(summary), summary["capacity_high_bps"]
    if known is None:
        return ""
    if basis(summary) is Basis.BOUND and pd.notna(high) and high <= _WIDEST * known:
        return f"between {show(known)} and {show(float(high))}"
    return f"{word(summary)}{show(known)}"


def sent_a_window(summary: pd.Series[Any] | Mapping[str, Any]) -> bool:
    """Return whether a flow ever had ten segments (an initial window) in flight. Less shows no queue and no BDP."""
    return int(summary["in_flight_max_bytes"]) >= INITIAL_WINDOW * max(1, int(summary["mss_bytes"]))


def is_burst(summary: pd.Series[Any] | Mapping[str, Any]) -> bool:
    """Return whether all that is known of the path is the rate of a burst: less than ten segments at that rate.

    A link that the flow filled shows its rate by a queue, however slow it is.
    """
    if basis(summary) is not Basis.BOUND or summary["link_share"] >= FILLED:
        return False
    rtt_ns = summary["rtt_min_ns"]
    lasting_ns = SUSTAINED_NS if pd.isna(rtt_ns) else max(SUSTAINED_NS, float(rtt_ns))
    carried = rates.bytes_at(float(summary["capacity_low_bps"]), lasting_ns)
    return not sent_a_window(summary) or carried < INITIAL_WINDOW * max(1, int(summary["mss_bytes"]))


def word(summary: pd.Series[Any] | Mapping[str, Any]) -> str:
    """Return the qualifier of `known_bps`: "about " or "at least "; empty without a rate."""
    rests = basis(summary)
    return "" if rests is None else "at least " if rests is Basis.BOUND else "about "


def delivered_bps(rounds: pd.DataFrame) -> float:
    """Return the rate of acknowledged bytes over rounds (rows of the ``rtts`` table), in bits per second."""
    lasting = int((rounds["end_ns"] - rounds["start_ns"]).sum())
    return float(rates.of_bytes(float(rounds["acked_bytes"].sum()), max(1, lasting)))


def label(summary: pd.Series[Any] | Mapping[str, Any], name: str) -> str:
    """Return a label for `known_bps` or its BDP, marked as estimate or lower bound where it is not a measurement."""
    kinds = {Basis.BURSTS: " (estimate)", Basis.BOUND: " (at least)"}
    rests = basis(summary)
    return name if rests is None else f"{name}{kinds.get(rests, '')}"
