"""Labels: what limited the sender, by its own kernel's account and the bottleneck's, for every round-trip time.

A sample of ``TCP_INFO`` (every 0.5 ms) has a state: rwnd, cwnd, sndbuf, app or other. A bin, one smoothed RTT long, is
`link` where the bottleneck transmitted for at least 97 % of it and the application had data; else what most of its
samples are. Bins in which the machine itself stood still are `disturbed`, and are not for grading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["label"]

LIMITS = ("rwnd", "cwnd", "sndbuf", "app")
LINK_BUSY = 0.97
SAMPLER_PAUSE_NS = 5_000_000  # ten samples missing
HALF_WINDOW_NS = 20_000_000  # the kernel's clocks tick in jiffies of up to 10 ms: look at several
RAMP_RTTS = 4
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
    # The share of the time around that the kernel itself counted as limited by the receiver's window.
    time, clock = info["t_ns"].to_numpy(), info["rwnd_us"].to_numpy(float) * 1000
    first = np.searchsorted(time, time - HALF_WINDOW_NS)
    last = np.minimum(np.searchsorted(time, time + HALF_WINDOW_NS), len(time) - 1)
    stalled = (clock[last] - clock[first]) / np.maximum(1, time[last] - time[first])
    # Unsent data held back with a little room in both windows: segmentation waits for more, or pacing does. The kernel's
    # clock decides, else the smaller room.
    conditions = [
        ~unsent & blocked,
        ~unsent,
        room < mss,
        (flight >= cwnd) & (stalled >= 0.9),
        flight >= cwnd,
        (stalled >= 0.5) | ((room < (cwnd - flight) * mss) & (not paced)),
    ]
    return np.select(conditions, ["sndbuf", "app", "rwnd", "rwnd", "cwnd", "rwnd"], "cwnd")


def rwnd_detail(window: np.ndarray, later: float, mss: float, *, slow_reader: bool) -> str:
    """Detail of a bin held by the window, from its samples and the largest window a few round trips later."""
    if np.mean(window < mss) >= 0.5:
        return "zero window"
    if slow_reader:
        return "slow reader"
    return "ramp" if window.max() < 0.95 * later else "buffer"


def cwnd_details(info: pd.DataFrame) -> np.ndarray:
    """Detail of each sample, were it limited by congestion control. A clamp ends slow start, though not by ssthresh."""
    recovery = np.isin(np.array(CA_STATES)[info["ca_state"].to_numpy()], ("recovery", "loss"))
    later = info["cwnd"][::-1].cummax()[::-1]
    starting = ((info["cwnd"] < info["ssthresh"]) & (info["cwnd"] < later)).to_numpy()
    return np.select([recovery, starting], ["recovery", "slow start"], "avoidance")


def majority(values: np.ndarray) -> str:
    """Return the most frequent of some words."""
    words, counts = np.unique(values.astype(str), return_counts=True)
    return str(words[counts.argmax()])


class Busy:
    """How long the bottleneck transmitted, from any time to any other."""

    def __init__(self, link: pd.DataFrame) -> None:
        sent = link[(link["direction"] == 0) & (link["event"] == "transmit")]
        self.start = sent["t_ns"].to_numpy()
        self.end = self.start + sent["duration_ns"].to_numpy()
        self.before = np.concatenate([[0], np.cumsum(self.end - self.start)])

    def until(self, at: int) -> int:
        """Transmission time before `at`."""
        index = int(np.searchsorted(self.start, at, side="right"))
        unfinished = max(0, self.end[index - 1] - at) if index else 0
        return int(self.before[index] - unfinished)

    def share(self, begin: int, end: int) -> float:
        """Share of an interval."""
        return (self.until(end) - self.until(begin)) / max(1, end - begin)


def pauses(info: pd.DataFrame, link: pd.DataFrame) -> list[tuple[int, int]]:
    """Find when the machine stood still: no samples, or the emulator not run."""
    time = info["t_ns"].to_numpy()
    gaps = np.flatnonzero(np.diff(time) > SAMPLER_PAUSE_NS)
    stalls = link[link["event"] == "stall"]
    ends = stalls["t_ns"] + stalls["duration_ns"]
    return [
        *zip(time[gaps].tolist(), time[gaps + 1].tolist(), strict=True),
        *zip(stalls["t_ns"].tolist(), ends.tolist(), strict=True),
    ]


def label(folder: Path, hints: dict[str, Any]) -> pd.DataFrame:
    """Label a transfer's bins from `info.csv` and `link.csv`.

    Parameters
    ----------
    folder
        What `transfer.run` left.
    hints
        What only the settings know: `paced`, `slow_reader` and `small_writes` (bool).

    Returns
    -------
    DataFrame
        t0, t1 (ns since the epoch), truth, detail, window_truth (the truth were there no link), link_busy, and the
        share of samples in each state.
    """
    info = pd.read_csv(folder / "info.csv")
    link = pd.read_csv(folder / "link.csv")
    state = states(info, paced=hints["paced"])
    congestion = cwnd_details(info)
    busy, still = Busy(link), pauses(info, link)
    time, window = info["t_ns"].to_numpy(), info["snd_wnd"].to_numpy()
    rtt = np.maximum(info["rtt_us"].to_numpy(), 1000) * 1000
    rows, begin = [], int(time[0])
    while begin < time[-1]:
        first = int(np.searchsorted(time, begin))
        end = begin + int(rtt[first])
        last = int(np.searchsorted(time, end))
        inside = slice(first, last)
        if last - first >= 3:
            most, share = majority(state[inside]), busy.share(begin, end)
            truth = "link" if share >= LINK_BUSY and most != "app" else most
            if any(begin < b and end > a for a, b in still):
                truth = "disturbed"
            detail = None
            if truth == "rwnd":
                mss = info["snd_mss"].iloc[first]
                later = window[first : np.searchsorted(time, end + RAMP_RTTS * (end - begin))].max()
                detail = rwnd_detail(window[inside], later, mss, slow_reader=hints["slow_reader"])
            elif truth == "cwnd":
                detail = "pacing" if hints["paced"] else majority(congestion[inside])
            elif truth == "app":
                detail = "small writes" if hints["small_writes"] else "idle"
            shares = [float(np.mean(state[inside] == limit)) for limit in LIMITS]
            rows.append((begin, end, truth, detail, most, share, *shares))
        begin = end
    names = ["t0", "t1", "truth", "detail", "window_truth", "link_busy", *LIMITS]
    return pd.DataFrame(rows, columns=names)
