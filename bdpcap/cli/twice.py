"""Whether two files of one capture hold the same packets: both ends of a transfer, read as if one followed the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture

__all__ = ["same_packets"]

_AGAIN: Final = 0.1
"""Least share of a flow's payload that seems retransmitted; below that, its packets are not looked at."""
_RANGE: Final = 0.5
"""Least share of the sequence numbers of one file that lie in the other's; pieces of a ring share a window at most."""
_COMMON: Final = 0.1
"""Least share of one file's segments that begin where one of the other's does; offload may have merged the rest."""


def same_packets(capture: Capture) -> tuple[str, str] | None:
    """Return two files of a capture that hold the same packets of a flow, None if no two do.

    Looks at the flow with most bytes retransmitted, and reads the capture again if these are many.
    """
    files = capture.info.files
    if len(files) < 2:
        return None
    directions = capture.directions("sender", "retransmitted_bytes", "payload_bytes")
    again = np.asarray(directions["retransmitted_bytes"])
    if not again.any():
        return None
    row = int(again.argmax())
    if again[row] < _AGAIN * directions["payload_bytes"][row]:
        return None
    events = capture.events_of(row // 2)
    events = events[(events["sender"] == directions["sender"][row]) & (events["length"] > 0)]
    file = np.searchsorted(np.cumsum(capture.frames_of_files), events["frame"])
    parts = {int(number): part for number, part in events.groupby(file)}
    pairs: Counter[tuple[int, int]] = Counter()
    for held in events.groupby("sequence").indices.values():
        first, *others = np.unique(file[held]).tolist()
        pairs.update((first, other) for other in others)
    for (one, other), common in pairs.most_common(1):
        least = min(len(parts[one]), len(parts[other]))
        if common >= _COMMON * least and _overlap(parts[one], parts[other]) >= _RANGE:
            return files[one], files[other]
    return None


def _overlap(one: pd.DataFrame, other: pd.DataFrame) -> float:
    """Return the share of the shorter range of sequence numbers that lies in the other."""
    (start, end), (first, last) = (
        (int(part["sequence"].min()), int((part["sequence"] + part["length"]).max())) for part in (one, other)
    )
    return (min(end, last) - max(start, first)) / max(1, min(end - start, last - first))
