"""A declared quantity to which rules refer: its value for every round, its unit and its meaning."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.limits.evidence import Evidence

__all__ = ["Concept", "Field", "Unit", "field"]

Values = TypeVar("Values")

Unit = Literal["yes", "share", "ratio", "packets", "bytes", "rounds", "times", "ms", "RTTs"]


class Field(cached_property[Values]):
    """A quantity of every round, computed once; the documents show its unit and its docstring.

    An instance of the concept has the values, the class has the declaration, to which rules refer.
    """

    name: str
    """Full name, as ``window.full_share``."""

    def __init__(self, function: Callable[[Any], Values], unit: Unit) -> None:
        super().__init__(function)
        self.unit: Final = unit

    def __set_name__(self, owner: type[Concept], name: str) -> None:
        super().__set_name__(owner, name)
        self.name = f"{owner.name}.{name}"


def field(unit: Unit) -> Callable[[Callable[[Any], Values]], Field[Values]]:
    """Declare a quantity of a `Concept`: floats, NaN where unknown, or booleans for the unit ``yes``."""
    return lambda function: Field(function, unit)


class Concept:
    """Evidence about one subject; `all` leads to the other concepts."""

    name: ClassVar[str]
    """Name of the concept, and of its attribute of `Evidence`."""

    def __init__(self, evidence: Evidence) -> None:
        self.all: Final = evidence
        self.rounds: Final = evidence.rounds
