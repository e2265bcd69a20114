"""
How well a flow shows the rate of its path, and the one word that texts and figures put before that rate.

Measured on 423 captures of transfers over links of a known rate, ``capacity_bps`` over the payload's share of it:

=========  ========  ============  ==============  ==============
basis      captures  within 10 %   5th percentile  95th percentile
=========  ========  ============  ==============  ==============
FILLED     121       90 %          0.90            1.09
BURSTS     249       84 %          0.80            1.34
BOUND      53        62 %          0.01            1.02
=========  ========  ============  ==============  ==============

So only the last may be called a lower bound, and nothing can be advised from it. Where several flows filled a link,
each shows its own part of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INITIAL_WINDOW", "Basis", "basis", "delivered_bps", "label", "sent_a_window", "word"]

INITIAL_WINDOW: Final = 10
"""Segments that a sender may send at once (RFC 6928): fewer never show how fast the path is."""
_FILLED: Final = 0.1
"""Share of its time in which a flow filled the link, from which that shows the link's rate."""


class Basis(StrEnum):
    """What a flow's ``capacity_bps`` rests on."""

    FILLED = "filled"
    """The flow kept the link busy."""
    BURSTS = "bursts"
    """It did not, but sent bursts that the bottleneck spaced out: an estimate, too high or too low."""
    BOUND = "bound"
    """It sent too little at a time: the path carries this, and maybe much more."""


def basis(summary: pd.Series[Any] | Mapping[str, Any]) -> Basis | None:
    """
    Return what the rate in a row of the ``flows`` table rests on.

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
    """Tell whether a flow ever had an initial window, ten segments, in flight; less shows no queue and no BDP."""
    return int(summary["in_flight_max_bytes"]) >= INITIAL_WINDOW * max(1, int(summary["mss_bytes"]))


def word(summary: pd.Series[Any] | Mapping[str, Any]) -> str:
    """Return what is said before the path's rate or its BDP: "about " or "at least "; nothing without a rate."""
    rests = basis(summary)
    return "" if rests is None else "at least " if rests is Basis.BOUND else "about "


def delivered_bps(rounds: pd.DataFrame) -> float:
    """Return the rate at which rounds, rows of the ``rtts`` table, were acknowledged."""
    lasting = int((rounds["end_ns"] - rounds["start_ns"]).sum())
    return float(rounds["acked_bytes"].sum()) * 8e9 / max(1, lasting)


def label(summary: pd.Series[Any] | Mapping[str, Any], name: str) -> str:
    """Return a figure's name for the path's rate or its BDP, with what it is where it is no measurement."""
    kinds = {Basis.BURSTS: " (estimate)", Basis.BOUND: " (at least)"}
    rests = basis(summary)
    return name if rests is None else f"{name}{kinds.get(rests, '')}"
