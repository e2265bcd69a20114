"""Cache of results that several parts of a report need of one flow."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["once"]

Of = TypeVar("Of")
Made = TypeVar("Made")


def once(make: Callable[[Of], Made]) -> Callable[[Of], Made]:
    """Cache the result of `make` for as long as its argument lives. The result must not refer to the argument."""
    kept: WeakKeyDictionary[Of, Made] = WeakKeyDictionary()

    @wraps(make)
    def made(of: Of) -> Made:
        if of not in kept:
            kept[of] = make(of)
        return kept[of]

    return made
