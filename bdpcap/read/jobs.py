"""How many threads follow the connections of a capture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["threads"]

SMALL_BYTES: Final = 1 << 24
"""A capture below this is read in less time than it takes to share it out."""
MOST: Final = 8
"""One thread reads, which takes a third of the work: more that follow connections would wait for it."""


def threads(jobs: int | None, sources: Sequence[Any], *, written: bool = False) -> int:
    """Return how many threads to use for these sources; what they find does not depend on their number.

    Parameters
    ----------
    jobs
        What was asked for; None for as many as there are processors, and one where files are small.
    sources
        Paths and binary file objects.
    written
        Whether rows are written while the capture is read: a processor is kept for that.

    Raises
    ------
    ValueError
        Fewer than one was asked for.
    """
    if jobs is not None:
        if jobs < 1:
            raise ValueError(f"jobs is {jobs}: one thread at least follows the connections")
        return jobs
    paths = [Path(one) for one in sources if isinstance(one, str)]
    whole = len(paths) == len(sources) and all(path.is_file() for path in paths)
    if whole and sum(path.stat().st_size for path in paths) < SMALL_BYTES:
        return 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(1, processors - written), MOST)
