"""The plateau of a flow's window, and the settings that explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.explain.buffers import UNSCALED, Knob
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.once import once
from bdpcap.explain.solver import Observed, Solution, solve
from bdpcap.limits import IDLE
from bdpcap.limits.evidence.window import STANDING

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.solver import Facts

__all__ = ["observed", "solved", "starts", "was_limit"]

STOOD_NS: Final = 1_000_000_000
"""Time for which a window limits from which on no autotuning grows it; Windows' grew within 0.6 s where it was seen."""

_NEARLY: Final = 0.95
"""Window over the largest from which it is the largest, but for moments."""
_PART_AT_MOST: Final = 0.5
"""Share of the rounds in which a plateau stands at the largest window; a choice."""
_PART_BELOW: Final = 0.8
"""Share of the rounds in which a plateau stands below the largest window; a choice."""
_FEWEST_ROUNDS: Final = 3
"""Rounds in which a plateau stands; a choice."""


@once
def observed(flow: Flow) -> Observed | None:
    """
    Return the plateau of a flow's window.

    SO_RCVBUF set after the handshake lowers a window, which then stands. A slow reader lowers it to many sizes.
    None if the window was not steady, holds less than two segments, or if the receiver's SYN was not captured.
    """
    receiver_syn = 1 << (1 - int(flow._counts["direction"]))
    rounds = flow.rtts[flow.rtts["window_max_bytes"].notna()]
    windows = rounds["window_max_bytes"].to_numpy(dtype=np.int64)
    if not windows.size or not int(flow._counts["handshake"]) & receiver_syn:
        return None
    values, counts = np.unique(windows, return_counts=True)
    most = counts.argmax()
    mss = max(1, int(flow.summary["mss_bytes"]))
    part = _PART_AT_MOST if values[most] >= _NEARLY * values[-1] else _PART_BELOW
    # A measured share wavers with the packets, by less than a half per cent.
    near = np.abs(windows - values[most]) <= STANDING * values[most]
    if near.sum() < max(_FEWEST_ROUNDS, part * windows.size) or values[most] < 2 * mss:
        return None
    stood = rounds[near & (rounds["limit"] != IDLE).to_numpy()]
    higher = np.flatnonzero(windows > (1 + STANDING) * values[most])
    rose = higher.size and higher[0] > np.flatnonzero(near)[-1]
    scale, source = flow.summary["window_scale"], str(flow.summary["window_scale_source"])
    first = flow._counts["syn_window_bytes"]
    # In a client's SYN the window is rounded to segments without timestamps, which are not agreed yet.
    answered = flow._counts["direction"] == 0 and first is not None
    unscaled, system = source == UNSCALED, flow.summary.get("receiver_system")
    return Observed(
        window=int(values[most]),
        mss=mss,
        scale=0 if unscaled else None if pd.isna(scale) else int(scale),
        syn=int(first) if answered else None,
        doubt=_doubt(flow, source),
        unscaled=unscaled,
        system="" if pd.isna(system) else str(system),
        bare=unscaled and not int(flow._counts["has_timestamps"]),
        limited=was_limit(flow),
        rose_to=int(values[-1]) if rose else None,
        stood_ns=int((stood["end_ns"] - stood["start_ns"]).sum()),
    )


@once
def was_limit(flow: Flow) -> bool:
    """Return whether the receive buffer was the limit in a tenth of the rounds."""
    held = (flow.rtts["limit"] == "rwnd") & (flow.rtts["detail"] == "buffer")
    return bool(held.mean() >= NOTABLE_SHARE)


def _doubt(flow: Flow, source: str) -> str:
    if source not in ("negotiated", UNSCALED):
        return "the window scale is inferred" if source == "inferred" else "the sender's SYN was not captured"
    if int(flow._counts["unseen_bytes"]) > 0:
        return "the capture is incomplete (filtered, or packets dropped)"
    return ""


def solved(flow: Flow, facts: Facts | None = None) -> Solution | None:
    """Return the settings that explain the plateau of a flow's window, whatever the limit was; None without a plateau."""
    seen = observed(flow)
    return None if seen is None else solve(seen, facts)


def starts(flow: Flow, facts: Facts | None = None) -> bool:
    """Return whether a window most likely is one with which autotuning starts, and has not stood for long."""
    if flow.summary["rwnd_share"] * flow.summary["active_ns"] >= STOOD_NS:
        return False
    if flow.summary.get("receiver_system") == "windows":
        return True  # it doubles its window from a few segments on, and any size may be a buffer's
    solution = solved(flow, facts)
    return bool(solution and solution.best and solution.best[0].setting.knob is Knob.START)
