"""Labels of applications that know nothing of the lab, from what the sampler and the link wrote down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from apps.blocked import UNDECIDED, YES, blocked
from samples import recovering, starting, states
from truth import LIMITS, Busy, limit, majority, round_trips

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["connections", "describe", "label_flow"]

OPEN = (1, 4, 5, 8, 9, 11)  # states in which a connection may send: see tcp_states.h
STATES = (*LIMITS, "undec", "nagle")
LEAST_SAMPLES = 20
LEAST_BYTES = 8000
LEAST_SHARE = 0.03  # of what the largest connection sent


def connections(folder: Path) -> Iterator[tuple[int, int, pd.DataFrame]]:
    """Yield local port, remote port and samples of each connection that sent enough to be judged."""
    flows = {}
    for path in sorted(folder.glob("conn_*.csv")):
        flow = pd.read_csv(path)
        flow = flow[flow["state"].isin(OPEN)].reset_index(drop=True)
        if len(flow) >= LEAST_SAMPLES:
            flows[path] = flow
    most = max((flow["bytes_sent"].iloc[-1] for flow in flows.values()), default=0)
    for path, flow in flows.items():
        if flow["bytes_sent"].iloc[-1] >= max(LEAST_BYTES, LEAST_SHARE * most):
            local, remote = path.stem.split("_")[1:]
            yield int(local), int(remote), flow


def flow_states(flow: pd.DataFrame, *, paced: bool) -> np.ndarray:
    """Name the state of each sample: as samples.py does, or `undec` between sndbuf and app."""
    waits = blocked(flow)
    found = states(flow.assign(blocked=waits == YES), paced=paced)
    return np.where((found == "app") & (waits == UNDECIDED), "undec", found)


def label_flow(
    flow: pd.DataFrame, busy: Busy, still: list[tuple[int, int]], rate_bps: float, *, paced: bool
) -> pd.DataFrame:
    """Label a connection's bins.

    Parameters
    ----------
    flow
        Its samples, from `connections`.
    busy
        When the bottleneck transmitted.
    still
        When the machine stood still: see `truth.pauses`.
    rate_bps
        Of the bottleneck.
    paced
        Whether the sender is held to a rate of its own.

    Returns
    -------
    DataFrame
        t0, t1 (ns since the epoch), truth, window_truth (the truth were there no link), link_busy, the share of samples
        in each state, `own` (the share of the link's rate that was acknowledged to this connection), and the shares of
        samples in which a loss was repaired with nothing unsent (`rec`) and in slow start (`ss`).
    """
    state = flow_states(flow, paced=paced)
    repairs = recovering(flow) | ((flow["lost"] + flow["retrans"]) > 0).to_numpy()
    repairs &= (flow["notsent"] == 0).to_numpy()
    first, acked = starting(flow), flow["bytes_acked"].to_numpy()
    rows = []
    for begin, end, inside in round_trips(flow):
        most, share = majority(state[inside]), busy.share(begin, end)
        truth = "disturbed" if any(begin < b and end > a for a, b in still) else limit(most, share)
        each = [float(np.mean(state[inside] == name)) for name in STATES]
        progress = int(acked[min(inside.stop, len(acked) - 1)] - acked[inside.start])
        own = progress * 8e9 / ((end - begin) * rate_bps)
        rows.append(
            (begin, end, truth, most, share, *each, own, repairs[inside].mean(), first[inside].mean())
        )
    names = ["t0", "t1", "truth", "window_truth", "link_busy", *STATES, "own", "rec", "ss"]
    return pd.DataFrame(rows, columns=names)


def describe(flow: pd.DataFrame) -> dict[str, Any]:
    """Say what `meta.json` keeps of a connection."""
    last = flow.iloc[-1]
    return {
        "bytes": int(last["bytes_sent"]),
        "retrans": int(last["total_retrans"]),
        "secs": float(last["t_ns"] - flow["t_ns"].iloc[0]) / 1e9,
        "rtt_ms": float(flow["rtt_us"].median()) / 1e3,
        "kernel_s": {name: float(last[f"{name}_us"]) / 1e6 for name in ("busy", "rwnd", "sndbuf")},
        "writer": {
            str(word): round(float(n), 3) for word, n in flow["writer"].value_counts(normalize=True).items()
        },
    }
