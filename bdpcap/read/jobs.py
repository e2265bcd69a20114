"""The number of threads that follow the connections of a capture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bdpcap.errors import is_count, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["threads"]

SMALL_BYTES: Final = 1 << 24
"""One thread reads a smaller capture faster than the work can be divided among several."""
MOST: Final = 8
"""Most threads that follow connections. Reading, a third of the work, has one thread; more threads would wait for it."""


def threads(jobs: int | None, sources: Sequence[Any], *, written: bool = False) -> int:
    """Return the number of threads for these sources; results do not depend on it.

    Parameters
    ----------
    jobs
        The number that the caller requests. None is one per processor, at most `MOST`, or one if the files are small.
    sources
        Paths and binary file objects.
    written
        Whether rows are written while the capture is read; one processor is then left for the writer.

    Raises
    ------
    ArgumentError
        `jobs` is no whole number, or below 1.
    """
    if jobs is not None:
        such = "one at least: it is the number of threads that follow connections"
        wanted("jobs", jobs, such, fits=is_count(jobs))
        return jobs
    paths = [Path(one) for one in sources if isinstance(one, str)]
    whole = len(paths) == len(sources) and all(path.is_file() for path in paths)
    if whole and sum(path.stat().st_size for path in paths) < SMALL_BYTES:
        return 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(1, processors - written), MOST)
