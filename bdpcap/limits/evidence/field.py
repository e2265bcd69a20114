"""A declared quantity that rules may name: its value for every round, its unit, what it means."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.limits.evidence import Evidence

__all__ = ["Concept", "Field", "Unit", "field"]

Values = TypeVar("Values")

Unit = Literal["yes", "share", "ratio", "packets", "bytes", "rounds", "times", "ms", "RTTs"]


class Field(cached_property[Values]):
    """A quantity worked out once, with its unit; its docstring is what the documents show."""

    def __init__(self, function: Callable[[Any], Values], unit: Unit) -> None:
        super().__init__(function)
        self.unit: Final = unit


def field(unit: Unit) -> Callable[[Callable[[Any], Values]], Field[Values]]:
    """Declare a quantity of a `Concept`: floats (NaN where it is not known), or booleans for the unit ``yes``."""
    return lambda function: Field(function, unit)


class Concept:
    """Evidence about one thing. Other concepts are reached through `all`."""

    def __init__(self, evidence: Evidence) -> None:
        self.all: Final = evidence
        self.rounds: Final = evidence.rounds
