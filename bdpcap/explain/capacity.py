"""
How well a flow shows the rate of its path, and the qualifier that texts and figures put before that rate.

The table shows ``capacity_bps`` over the payload's share of the link rate, for 423 captures over links of known rate:

=========  ========  ============  ==============  ==============
basis      captures  within 10 %   5th percentile  95th percentile
=========  ========  ============  ==============  ==============
FILLED     121       90 %          0.90            1.09
BURSTS     249       84 %          0.80            1.34
BOUND      53        62 %          0.01            1.02
=========  ========  ============  ==============  ==============

So only BOUND is reported as a lower bound, and no advice is based on it. Where several flows filled a link, each
shows only its own part of the link's rate.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.words import rates

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INITIAL_WINDOW", "Basis", "basis", "delivered_bps", "label", "sent_a_window", "word"]

INITIAL_WINDOW: Final = 10
"""Segments that a sender may send at once (RFC 6928). Fewer in flight never show the rate of the path."""
_FILLED: Final = 0.1
"""Share of a flow's time in which it must fill the link to show the link's rate."""


class Basis(StrEnum):
    """Evidence behind a flow's ``capacity_bps``."""

    FILLED = "filled"
    """The flow kept the link busy."""
    BURSTS = "bursts"
    """The flow did not fill the link, but the bottleneck spaced out its bursts: an estimate, too high or too low."""
    BOUND = "bound"
    """The flow sent too little at a time: the path carries at least this rate, perhaps much more."""


def basis(summary: pd.Series[Any] | Mapping[str, Any]) -> Basis | None:
    """
    Return the evidence behind the rate in a row of the ``flows`` table.

    Returns
    -------
    None where the capture shows no rate.
    """
    if pd.isna(summary["capacity_bps"]):
        return None
    if summary["link_share"] >= _FILLED:
        return Basis.FILLED
    return Basis.BURSTS if sent_a_window(summary) and summary["limit"] != "app" else Basis.BOUND


def sent_a_window(summary: pd.Series[Any] | Mapping[str, Any]) -> bool:
    """Return whether a flow ever had ten segments (an initial window) in flight. Less shows no queue and no BDP."""
    return int(summary["in_flight_max_bytes"]) >= INITIAL_WINDOW * max(1, int(summary["mss_bytes"]))


def word(summary: pd.Series[Any] | Mapping[str, Any]) -> str:
    """Return the qualifier of the path's rate or its BDP: "about " or "at least "; empty without a rate."""
    rests = basis(summary)
    return "" if rests is None else "at least " if rests is Basis.BOUND else "about "


def delivered_bps(rounds: pd.DataFrame) -> float:
    """Return the rate of acknowledged bytes over rounds (rows of the ``rtts`` table), in bits per second."""
    lasting = int((rounds["end_ns"] - rounds["start_ns"]).sum())
    return float(rates.of_bytes(float(rounds["acked_bytes"].sum()), max(1, lasting)))


def label(summary: pd.Series[Any] | Mapping[str, Any], name: str) -> str:
    """Return a label for the path's rate or its BDP, marked as estimate or lower bound where it is not a measurement."""
    kinds = {Basis.BURSTS: " (estimate)", Basis.BOUND: " (at least)"}
    rests = basis(summary)
    return name if rests is None else f"{name}{kinds.get(rests, '')}"
