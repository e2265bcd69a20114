"""Computing the next piece of a stream in a second thread while the current one is processed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ahead"]

T = TypeVar("T")


def ahead(pieces: Iterator[T]) -> Iterator[T]:
    """Yield the pieces; a thread computes the next one meanwhile.

    This saves time where the core does most of the work, since the core releases the interpreter lock.
    """
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = thread.submit(next, pieces, None)
            yield piece
