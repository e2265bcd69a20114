"""The rate to expect once a limit of a flow is lifted, and the limit that comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain import gate
from bdpcap.explain.buffers import FIELD_MAX
from bdpcap.explain.capacity import INITIAL_WINDOW, Basis, basis, delivered_bps
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.once import once
from bdpcap.explain.reached import lacks, reached_bps
from bdpcap.limits import IDLE
from bdpcap.limits.rules.rwnd import READER
from bdpcap.words import rates

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["GAIN", "Lift", "active_bps", "can_grow", "full_bps", "lifts", "window_bps"]

GAIN: Final = 1.1
"""Smallest ratio of the expected rate to the flow's that is expected: the link's rate is known to a tenth."""
_ROOM: Final = 4
"""Largest window of the scale over the window from which it may grow. A fixed buffer's scale leaves 2, and rounding."""


@dataclass(frozen=True, slots=True)
class Lift:
    """One limit of a flow, and what lifting it gives."""

    limit: str
    """Limit that is lifted: ``rwnd``, ``sndbuf`` or ``app``."""
    now_bps: float
    """Rate of the flow's active time; of `longer` ones, past slow start."""
    then_bps: float
    """Rate to expect without the limit."""
    follows: str
    """Limit that comes next; ``reader`` is a receive window that the receiving program closes."""
    longer: bool = False
    """Whether slow start took a notable part of the flow's time, so that only a longer transfer gets there."""


@once
def lifts(flow: Flow) -> tuple[Lift, ...]:
    """
    Return the limits that can be lifted, each with the rate to expect, highest rate first.

    Rounds under the limit are taken to move their bytes at the rate that the other limits allow. That is the link's
    rate, or the window over the RTT. Where a program paused, it is the rate of the other rounds. Slow start is left out:
    it is the smaller a part the longer a transfer lasts. Empty where the capture does not show the link's rate, or lacks
    data, so that the flow's own rate is a lower bound.
    """
    summary = flow.summary
    # From rounds that lack data, no rate to expect follows.
    if lacks(flow) or basis(summary) in (None, Basis.BOUND):
        return ()
    link_bps = float(summary["capacity_bps"])
    rtts = flow.rtts[flow.rtts["limit"] != IDLE]
    now_bps = active_bps(flow)
    if not 0 < now_bps < link_bps:
        return ()
    whole_ns = float((rtts["end_ns"] - rtts["start_ns"]).sum())
    steady = rtts[rtts["detail"] != "slow start"]
    longer = (steady["end_ns"] - steady["start_ns"]).sum() < (1 - NOTABLE_SHARE) * whole_ns
    rtts = _past_the_start(flow, rtts) if longer else steady
    lasting = rtts["end_ns"] - rtts["start_ns"]
    steady_bps = delivered_bps(rtts)
    # A larger window does not make a program read.
    slow = rtts["detail"].isin(READER)
    # What a longer transfer gains is no gain of the change.
    now_bps = steady_bps if longer else now_bps
    found = []
    for limit in ("rwnd", "sndbuf", "app"):
        held = ((rtts["limit"] == limit) & ~slow).to_numpy()
        if lasting[held].sum() < NOTABLE_SHARE * lasting.sum():
            continue
        left = rtts[~held]
        allowed = min(link_bps, _allowed_bps(flow, left, limit) or link_bps)
        rest_ns = rates.duration_ns(float(rtts.loc[held, "acked_bytes"].sum()), allowed)
        took_ns = float(lasting[~held].sum()) + rest_ns
        then_bps = min(link_bps, float(rates.of_bytes(float(rtts["acked_bytes"].sum()), took_ns)))
        if then_bps >= GAIN * max(now_bps, steady_bps):
            names = left["limit"].astype(str).mask(slow[~held], "reader")
            others = {str(name): float(ns) for name, ns in lasting[~held].groupby(names).sum().items()}
            follows = "link" if allowed == link_bps else "rwnd"
            others[follows] = others.get(follows, 0) + rest_ns
            # A link that is full for less than half of the time, or not reached, is not what limits.
            idle = others.get("link", 0) < took_ns / 2 or then_bps * GAIN < link_bps
            if len(others) > 1 and idle:
                others.pop("link", None)
            follows = max(others, key=lambda name: others[name])
            # The little time that others then take changes no known rate of the link, and a path has one.
            then_bps = link_bps if follows == "link" else then_bps
            found.append(Lift(limit, now_bps, then_bps, follows, longer=longer))
    return tuple(sorted(found, key=lambda one: -one.then_bps))


def _past_the_start(flow: Flow, rtts: pd.DataFrame) -> pd.DataFrame:
    """Return some rounds without those of slow start, and without the small messages before it, as of a login."""
    starts = (rtts["detail"] == "slow start").to_numpy()
    before = rtts[: starts.argmax() if starts.any() else 0]
    few = before["acked_bytes"].sum() < INITIAL_WINDOW * flow.summary["mss_bytes"]
    return rtts[~starts][len(before) if few else 0 :]


def active_bps(flow: Flow) -> float:
    """Return the rate of acknowledged bytes over the active time, in bits per second; 0 where none is known."""
    return reached_bps(flow) or 0.0


def full_bps(flow: Flow) -> float:
    """Return the rate of a link that is the main limit, in bits per second.

    It is that of the rounds in which the link was full, and no less than the flow's: no flow is faster than its link.
    What still queued at the end of these rounds is not acknowledged in them.
    """
    return max(delivered_bps(flow.rtts[flow.rtts["limit"] == "link"]), active_bps(flow))


def can_grow(flow: Flow) -> bool:
    """Return whether the receive window is far below the largest of its scale, and nothing filled it.

    A receiver that tunes its window offers a scale for the largest, and grows the window as it is used.
    """
    summary = flow.summary
    window, scale = summary["window_max_bytes"], summary["window_scale"]
    return bool(
        pd.notna(window)
        and pd.notna(scale)
        and summary["rwnd_share"] < NOTABLE_SHARE
        and FIELD_MAX << int(scale) >= _ROOM * window
    )


def window_bps(flow: Flow) -> float | None:
    """Return the rate that the window allows at most, in bits per second; None if that is not known.

    A window that can grow is no bound.
    """
    summary = flow.summary
    return None if can_grow(flow) else gate.allowed_bps(summary["window_max_bytes"], summary["rtt_min_ns"])


def _allowed_bps(flow: Flow, left: pd.DataFrame, limit: str) -> float | None:
    """Return the rate that the other limits allow in the rounds of a lifted one; None if only the link bounds it."""
    if limit == "rwnd":
        return None
    by_window = window_bps(flow)
    if limit == "app" and left["acked_bytes"].any():
        others = delivered_bps(left)
        return others if by_window is None else min(others, by_window)
    return by_window
