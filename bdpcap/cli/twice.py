"""Detect two files of one capture that contain the same packets, such as captures of both ends of a transfer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture

__all__ = ["same_packets"]

_RETRANSMITTED: Final = 0.1
"""Minimum share of a flow's payload that seems retransmitted; with less, the capture is not read again."""
_RANGE: Final = 0.5
"""Minimum overlap of the two files' ranges of sequence numbers; files of a ring buffer overlap by a window at most."""
_COMMON: Final = 0.1
"""Minimum share of segments with a sequence number that is in both files; offload may have merged the others."""


def same_packets(capture: Capture) -> tuple[str, str] | None:
    """Return the names of two files that contain the same packets of a flow, None if there are no such files.

    Checks the flow with most retransmitted bytes; if these are many, its packets are read again.
    """
    files = capture.info.files
    if len(files) < 2:
        return None
    directions = capture._contents.streams.directions("sender", "retransmitted_bytes", "payload_bytes")
    retransmitted = np.asarray(directions["retransmitted_bytes"])
    if not retransmitted.any():
        return None
    row = int(retransmitted.argmax())
    if retransmitted[row] < _RETRANSMITTED * directions["payload_bytes"][row]:
        return None
    events = capture._contents.events.of(row // 2)
    events = events[(events["sender"] == directions["sender"][row]) & (events["length"] > 0)]
    file = np.searchsorted(np.cumsum(capture._contents.files.frames), events["frame"])
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
    """Return the share of the shorter range of sequence numbers that overlaps the other; negative if they are apart."""
    (start, end), (first, last) = (
        (int(part["sequence"].min()), int((part["sequence"] + part["length"]).max())) for part in (one, other)
    )
    return (min(end, last) - max(start, first)) / max(1, min(end - start, last - first))
