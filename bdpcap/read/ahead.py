"""Two processors for one stream of pieces: the next is made while one is dealt with."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ahead"]

T = TypeVar("T")


def ahead(pieces: Iterator[T]) -> Iterator[T]:
    """Yield the pieces; a thread makes the next one meanwhile, which pays where the core does most of it."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = thread.submit(next, pieces, None)
            yield piece
