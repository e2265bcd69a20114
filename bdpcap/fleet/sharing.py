"""Whether several workers analyse a set of files so much faster than one that it is divided among them.

What one worker does alone costs less than the same divided: files are first split, connections followed twice. The
costs were measured as processor time on captures of bulk flows, of short connections and of lone SYNs (docs/scale.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.read import core_pass

if TYPE_CHECKING:
    from bdpcap.fleet.captures import Task
    from bdpcap.fleet.work import Order

__all__ = ["Load", "estimated", "pays"]

MOST_TIME: Final = 0.7
"""Largest part of one worker's time that a divided set may take. To divide it must save more than estimates are wrong."""
CONNECTION_FRAMES: Final = 125
"""A short connection with payload costs as much as so many frames of a bulk flow: its rounds are classified."""
DIVIDED_CONNECTION_FRAMES: Final = 150
"""So many it costs in a divided set."""
DIVIDED_FRAME: Final = 2.8
"""A frame of a divided set costs as much as so many frames of a set that one worker reads."""
BUCKET_FRAMES: Final = 15_000
"""A bucket costs as much as so many frames, whatever is in it."""
SAMPLE_BYTES: Final = 64_000_000
"""Bytes of the first file that are read for an estimate: some tenths of a second."""
STEP: Final = 1 << 12
"""Frames that are read at a time for an estimate."""


@dataclass(frozen=True)
class Load:
    """The work that a set of files is."""

    frames: float
    connections: float
    """Connections with payload."""


def estimated(task: Task, order: Order) -> Load:
    """Estimate the load of a set from the beginning of its first file.

    Of the connections there, those that begin in the second half count: long ones began before, and are few.

    Raises
    ------
    CaptureError
        The file cannot be read at all.
    FilterError
        The filter has an error, or does not fit a link type in the file.
    """
    core = core_pass.opened([task.files[0]], order.filter, events=False, jobs=1)
    most_bytes = min(SAMPLE_BYTES, task.sizes_bytes[0])
    while core.advance(STEP) and core.bytes_read < most_bytes / 2:
        pass
    streams, half_bytes = core.streams, core.bytes_read
    while core.advance(STEP) and core.bytes_read < most_bytes:
        pass
    carried = core.directions(streams, None, ("carried",))["carried"].reshape(-1, 2).any(axis=1)
    begun = int(np.count_nonzero(carried))
    size_bytes = sum(task.sizes_bytes)
    return Load(
        frames=core.frames * size_bytes / max(core.bytes_read, 1),
        connections=begun * size_bytes / max(core.bytes_read - half_bytes, 1),
    )


def pays(load: Load, workers: int, buckets: int) -> bool:
    """Return whether so many workers divide a load in `MOST_TIME` of one worker's time, or less."""
    alone = load.frames + CONNECTION_FRAMES * load.connections
    divided = (
        DIVIDED_FRAME * load.frames + DIVIDED_CONNECTION_FRAMES * load.connections + BUCKET_FRAMES * buckets
    )
    return divided / workers <= MOST_TIME * alone
