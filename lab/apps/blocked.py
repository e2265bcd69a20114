"""Whether a writer waits for room in its send buffer, from what the sampler saw of its threads.

Asleep in a call that writes, or in one that waits until the socket has room, it waits. One that is woken waits until it
has run and written. An epoll that asks for edges does not tell: its writer waited if the buffer was full, and was
written to as soon as there was room. If only one of these holds, that is undecided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

__all__ = ["NO", "UNDECIDED", "YES", "blocked"]

NO, YES, UNDECIDED = 0, 1, 2
PROMPT_NS = 4_000_000  # between room and a write


def written(flow: pd.DataFrame) -> np.ndarray:
    """Bytes written so far: those acknowledged, and those in the buffer. The two are read one after the other."""
    total = (flow["bytes_acked"] + flow["outq"]).to_numpy()
    return np.minimum.accumulate(total[::-1])[::-1]


def asleep(words: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Say of each sample whether a thread sleeps for want of room, or has been woken and has not written yet."""
    waits = np.isin(words, ("write", "poll"))
    for i in range(1, len(waits)):
        woken = words[i] == "running" and total[i] == total[i - 1]
        waits[i] |= waits[i - 1] and woken
    return waits


def spells(true: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], true, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def blocked(flow: pd.DataFrame) -> np.ndarray:
    """Say of each sample of a connection whether its writer waits for room: NO, YES or UNDECIDED."""
    time, total = flow["t_ns"].to_numpy(), written(flow)
    words = flow["writer"].to_numpy().astype(str)
    result = np.where(asleep(words, total), YES, NO)
    queued, room = flow["wmem_queued"].to_numpy(), flow["sndbuf"].to_numpy()
    clock = flow["sndbuf_us"].to_numpy()
    unwriteable = 3 * queued > 2 * room  # sk_stream_is_writeable()
    for begin, end in spells(unwriteable):
        edge = words[begin:end] == "edge"
        if not edge.any():
            continue
        after = min(end, len(time) - 1)
        prompt = int(np.searchsorted(time, time[after] + PROMPT_NS, side="right")) - 1
        full = (queued[begin:end] >= room[begin:end]).any() or clock[after] > clock[max(0, begin - 1)]
        resumed = total[prompt] > total[end - 1]
        found = YES if full and resumed else UNDECIDED if full or resumed else NO
        result[begin:end] = np.where(edge & (result[begin:end] == NO), found, result[begin:end])
    return result
