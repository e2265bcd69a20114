"""Labels: what limited the sender, by its own kernel's account and the bottleneck's, for every round-trip time.

A sample of ``TCP_INFO`` (every 0.5 ms) has a state: see samples.py. A bin lasts one smoothed RTT. It is `link` where the
bottleneck transmitted for at least 97 % of it and the application had data; else what most of its samples are. Bins in
which the machine itself stood still are `disturbed`. Those and `nagle` are not for grading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from samples import cwnd_details, rwnd_detail, states

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LIMITS", "Busy", "label", "limit", "majority", "pauses", "round_trips"]

LIMITS = ("rwnd", "cwnd", "sndbuf", "app")
NO_LINK = ("app", "nagle", "undec")  # no link holds these back, however busy
LINK_BUSY = 0.97
SAMPLER_PAUSE_NS = 5_000_000  # ten samples missing
RAMP_RTTS = 4


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


def pauses(info: pd.DataFrame, link: pd.DataFrame, pause_ns: int = SAMPLER_PAUSE_NS) -> list[tuple[int, int]]:
    """Find when the machine stood still: no samples, or the emulator not run."""
    time = info["t_ns"].to_numpy()
    gaps = np.flatnonzero(np.diff(time) > pause_ns)
    stalls = link[link["event"] == "stall"]
    ends = stalls["t_ns"] + stalls["duration_ns"]
    return [
        *zip(time[gaps].tolist(), time[gaps + 1].tolist(), strict=True),
        *zip(stalls["t_ns"].tolist(), ends.tolist(), strict=True),
    ]


def round_trips(info: pd.DataFrame) -> Iterator[tuple[int, int, slice]]:
    """Cut a transfer into bins of one smoothed RTT: begin, end, and the samples inside, of which there are three."""
    time = info["t_ns"].to_numpy()
    rtt = np.maximum(info["rtt_us"].to_numpy(), 1000) * 1000
    begin = int(time[0])
    while begin < time[-1]:
        first = int(np.searchsorted(time, begin))
        end = begin + int(rtt[first])
        last = int(np.searchsorted(time, end))
        if last - first >= 3:
            yield begin, end, slice(first, last)
        begin = end


def limit(most: str, busy: float) -> str:
    """Name the limit of a bin, from the state of most samples and the share that the bottleneck transmitted."""
    return "link" if busy >= LINK_BUSY and most not in NO_LINK else most


def label(folder: Path, hints: dict[str, Any]) -> pd.DataFrame:
    """Label a transfer's bins from `info.csv` and `link.csv`.

    Parameters
    ----------
    folder
        What `transfer.run` left.
    hints
        What only the settings know: `paced`, `own_pace`, `slow_reader` and `small_writes` (bool).

    Returns
    -------
    DataFrame
        t0, t1 (ns since the epoch), truth, detail, window_truth (the truth were there no link), link_busy, and the
        share of samples in each state.
    """
    info = pd.read_csv(folder / "info.csv")
    link = pd.read_csv(folder / "link.csv")
    state = states(info, paced=hints["paced"])
    if hints["own_pace"]:  # had it more to send, Nagle's algorithm would hold nothing back
        state[state == "nagle"] = "app"
    congestion = cwnd_details(info)
    busy, still = Busy(link), pauses(info, link)
    time, window = info["t_ns"].to_numpy(), info["snd_wnd"].to_numpy()
    rows = []
    for begin, end, inside in round_trips(info):
        most, share = majority(state[inside]), busy.share(begin, end)
        truth = limit(most, share)
        if any(begin < b and end > a for a, b in still):
            truth = "disturbed"
        detail = None
        if truth == "rwnd":
            mss = info["snd_mss"].iloc[inside.start]
            later = window[inside.start : np.searchsorted(time, end + RAMP_RTTS * (end - begin))].max()
            detail = rwnd_detail(window[inside], later, mss, slow_reader=hints["slow_reader"])
        elif truth == "cwnd":
            detail = "pacing" if hints["paced"] else majority(congestion[inside])
        elif truth == "app":
            detail = "small writes" if hints["small_writes"] else "idle"
        shares = [float(np.mean(state[inside] == name)) for name in LIMITS]
        rows.append((begin, end, truth, detail, most, share, *shares))
    names = ["t0", "t1", "truth", "detail", "window_truth", "link_busy", *LIMITS]
    return pd.DataFrame(rows, columns=names)
