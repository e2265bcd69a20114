"""States: what the sending kernel waits for at each sample of ``TCP_INFO``.

rwnd, cwnd, sndbuf and app are limits. nagle is a rest shorter than a segment that waits for more data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cwnd_details", "recovering", "rwnd_detail", "starting", "states"]

HALF_WINDOW_NS = 20_000_000  # the kernel's clocks tick in jiffies of up to 10 ms: look at several
CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")  # enum tcp_ca_state


def states(info: pd.DataFrame, *, paced: bool = False) -> np.ndarray:
    """Name the state of each sample.

    `paced` says that the sender is held to a rate of its own, so that unsent data with room in both windows waits for
    the pacing timer.
    """
    mss = info["snd_mss"].to_numpy(float)
    # SIOCOUTQ less what was never sent: what is outstanding, retransmissions counted once.
    outstanding = np.maximum(0, (info["outq"] - info["notsent"]).to_numpy(float))
    flight = (info["unacked"] - info["sacked"] - info["lost"] + info["retrans"]).to_numpy(float)
    room = info["snd_wnd"].to_numpy(float) - outstanding
    cwnd = info["cwnd"].to_numpy(float)
    unsent = info["notsent"].to_numpy() > 0
    blocked = info["blocked"].to_numpy() > 0
    # Nagle's algorithm, or cork, holds back a rest that both windows have room for.
    rest = info["notsent"].to_numpy(float)
    held = unsent & (rest < mss) & (room >= rest) & (flight < cwnd)
    # The share of the time around that the kernel itself counted as limited by the receiver's window.
    time, clock = info["t_ns"].to_numpy(), info["rwnd_us"].to_numpy(float) * 1000
    first = np.searchsorted(time, time - HALF_WINDOW_NS)
    last = np.minimum(np.searchsorted(time, time + HALF_WINDOW_NS), len(time) - 1)
    stalled = (clock[last] - clock[first]) / np.maximum(1, time[last] - time[first])
    # Unsent data held back with a little room in both windows: segmentation waits for more, or pacing does. The kernel's
    # clock decides, else the smaller room.
    conditions = [
        (held | ~unsent) & blocked,  # with room in the buffer the rest were a whole segment
        held,
        ~unsent,
        room < mss,
        (flight >= cwnd) & (stalled >= 0.9),
        flight >= cwnd,
        (stalled >= 0.5) | ((room < (cwnd - flight) * mss) & (not paced)),
    ]
    return np.select(conditions, ["sndbuf", "nagle", "app", "rwnd", "rwnd", "cwnd", "rwnd"], "cwnd")


def rwnd_detail(window: np.ndarray, later: float, mss: float, *, slow_reader: bool) -> str:
    """Detail of a bin held by the window, from its samples and the largest window a few round trips later."""
    if np.mean(window < mss) >= 0.5:
        return "zero window"
    if slow_reader:
        return "slow reader"
    return "ramp" if window.max() < 0.95 * later else "buffer"


def recovering(info: pd.DataFrame) -> np.ndarray:
    """Say of each sample whether the kernel repairs a loss."""
    return np.isin(np.array(CA_STATES)[info["ca_state"].to_numpy()], ("recovery", "loss"))


def starting(info: pd.DataFrame) -> np.ndarray:
    """Say of each sample whether it is in slow start. A clamp ends slow start, though not by ssthresh."""
    later = info["cwnd"][::-1].cummax()[::-1]
    return ((info["cwnd"] < info["ssthresh"]) & (info["cwnd"] < later)).to_numpy()


def cwnd_details(info: pd.DataFrame) -> np.ndarray:
    """Detail of each sample, were it limited by congestion control."""
    return np.select([recovering(info), starting(info)], ["recovery", "slow start"], "avoidance")
