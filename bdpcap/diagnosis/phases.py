"""The phase of congestion control in which a flow spent most of its time: repair, growth, pacing, a clamp, an outage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain.findings import path_mtu
from bdpcap.explain.sent_again import FEWEST, lost, mostly_needless

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["is_stall_brief", "losses_span", "phase_of"]

_REPAIRS: Final = ("cwnd-recovery", "cwnd-regrowth")
"""Rules of rounds in which a loss is repaired, or its reduction of the congestion window regained."""
REPEATED: Final = 2
"""Fewest timers that ran out in spite of an acknowledgment: one may have crossed it on the way."""


def phase_of(flow: Flow, held: pd.DataFrame) -> str:
    """Return the phase of most of the time in rounds under congestion control: a detail of the limit ``cwnd``."""
    lasting = (held["end_ns"] - held["start_ns"]).groupby(held["detail"]).sum()
    most = "avoidance" if lasting.empty else str(lasting.idxmax())
    if most == "outage" and flow.summary["timeouts"] >= REPEATED and not lost(flow):
        return "ignored"
    # Acknowledgments came between the timers, so the path and its far end were there.
    if most == "outage" and is_stall_brief(flow):
        most = "recovery"
    # After a loss, the growth that follows is part of its repair.
    if most in ("avoidance", "recovery") and lost(flow) and path_mtu.most_resent(flow):
        return "too big"
    if most in ("outage", "recovery") and flow.summary["retransmits"] >= FEWEST and mostly_needless(flow):
        return "needless"
    if most not in ("avoidance", "recovery"):
        return most
    if not lost(flow):
        return "marks" if _by_marks(flow, held) else "avoidance"
    return "recovery" if _by_losses(flow, held) else "brief losses"


def is_stall_brief(flow: Flow) -> bool:
    """Return whether the longest wait for an acknowledgment was less than half of the waits for timers."""
    stall_ns = flow.summary["longest_stall_ns"]
    return bool(pd.notna(stall_ns) and 2 * stall_ns < flow.summary["timeout_wait_ns"])


def losses_span(flow: Flow) -> tuple[int, int] | None:
    """Return the start of the first and the end of the last round with retransmissions, ns; None without any."""
    hit = flow.rtts[flow.rtts["retransmits"] > 0]
    return None if hit.empty else (int(hit["start_ns"].iloc[0]), int(hit["end_ns"].iloc[-1]))


def _by_losses(flow: Flow, held: pd.DataFrame) -> bool:
    """Return whether losses explain most of the time in rounds under congestion control.

    A loss explains the time until the congestion window has its former size. Between two losses that is all the time:
    the second one ended the growth.
    """
    return _by_reductions(held, losses_span(flow))


def _by_marks(flow: Flow, held: pd.DataFrame) -> bool:
    """Return whether congestion marks explain most of the time in rounds under congestion control.

    A sender answers an echoed mark as it would a loss (RFC 3168 section 6.1.2).
    """
    hit = flow.rtts[(flow._hidden["congestion_echoes"] > 0).to_numpy()]
    return not hit.empty and _by_reductions(held, (int(hit["start_ns"].iloc[0]), int(hit["end_ns"].iloc[-1])))


def _by_reductions(held: pd.DataFrame, span: tuple[int, int] | None) -> bool:
    """Return whether most of the time under congestion control is repair, regrowth, or lies between two reductions."""
    if span is None:
        return True
    lasting = held["end_ns"] - held["start_ns"]
    between = (held["start_ns"] < span[1]) & (held["end_ns"] > span[0])
    return bool(2 * lasting[between | held["rule"].isin(_REPAIRS)].sum() >= lasting.sum())
