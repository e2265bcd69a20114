"""When the bottleneck of the virtual machine transmitted, from what came to its router and what left it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pandas as pd
from damage import read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["transmissions"]

RECORD_HEADER = 16
ETHERNET = 14
SENDER = bytes((192, 168, 1, 3))


def packets(path: Path) -> list[tuple[int, int, bytes]]:
    """List time, length and bytes of the sender's packets in a capture; the bytes tell one from another."""
    found = []
    for time, raw in read(path)[1]:
        frame = raw[RECORD_HEADER:]
        if frame[ETHERNET + 12 : ETHERNET + 16] == SENDER:
            found.append((time, int.from_bytes(raw[12:16], "little"), frame))
    return found


def merged(intervals: Iterable[tuple[float, float]]) -> list[list[float]]:
    """Join intervals that overlap."""
    result: list[list[float]] = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(end, result[-1][1])
        else:
            result.append([begin, end])
    return result


def transmissions(arrivals: Path, departures: Path, rate_bps: float) -> pd.DataFrame:
    """Say when the bottleneck transmitted, in rows as of the link's trace.

    It did while a packet that had come had not left, and afterwards for as long as what left takes at its rate: tbf lets
    a burst go at once.
    """
    came = defaultdict(list)
    for time, _, frame in packets(arrivals):
        came[frame].append(time)
    intervals: list[tuple[float, float]] = []
    free = 0.0
    for time, length, frame in packets(departures):
        before = [at for at in came[frame] if at <= time]
        if before:
            intervals.append((before[-1], time))
        begin = max(free, time)
        free = begin + length * 8e9 / rate_bps
        intervals.append((begin, free))
    rows = [(int(begin), 0, "transmit", int(end) - int(begin)) for begin, end in merged(intervals)]
    return pd.DataFrame(rows, columns=["t_ns", "direction", "event", "duration_ns"])
