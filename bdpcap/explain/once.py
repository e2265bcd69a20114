"""What several parts of a report ask of one flow, made once."""

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
    """Keep what is made of a thing for as long as the thing lives, to which what is made must not refer."""
    kept: WeakKeyDictionary[Of, Made] = WeakKeyDictionary()

    @wraps(make)
    def made(of: Of) -> Made:
        if of not in kept:
            kept[of] = make(of)
        return kept[of]

    return made
