"""A rule: what must hold of the evidence for a limit to be in force, what excludes it, and what it then says.

Each condition holds in a round or does not, so that a written threshold is the one that acts: no weights, no products.
What is not known does not hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.evidence.field import Field
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Condition", "Named", "Rule", "all_of", "any_of", "at_least", "at_most", "it", "not_"]


class Condition(ABC):
    """Something that holds in a round or does not. As a string it is written for the documents."""

    @abstractmethod
    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        """Return for every round whether it holds; only those rounds count that are `among`, where given."""

    def parts(self) -> tuple[Condition, ...]:
        """Conditions that it is made of."""
        return ()

    def lines(self) -> list[str]:
        """Write it as a list in Markdown, what belongs together indented."""
        return [f"- {self}"]

    def named(self, name: str, means: str = "") -> Named:
        """Return it under a name, by which the documents refer to it, with what it means."""
        return Named(self, name, means)


@dataclass(frozen=True)
class Named(Condition):
    """A condition that several rules share, or that is told better by its name."""

    inner: Condition
    name: str
    means: str

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        """Return where the condition itself holds."""
        return self.inner.met(evidence, among)

    def parts(self) -> tuple[Condition, ...]:
        """Return the condition itself."""
        return (self.inner,)

    def __str__(self) -> str:
        return f"*{self.name}*"


@dataclass(frozen=True)
class _Threshold(Condition):
    quantity: Field[Floats]
    value: float
    sign: int

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:  # noqa: ARG002
        result: Bools = self.sign * evidence.value(self.quantity) >= self.sign * self.value
        return result

    def __str__(self) -> str:
        return self._written("≥" if self.sign > 0 else "≤")

    def opposite(self) -> str:
        """Write when it does not hold."""
        return f"{self._written('<' if self.sign > 0 else '>')}, or unknown"

    def _written(self, sign: str) -> str:
        unit = self.quantity.unit
        if unit == "share":
            return f"`{self.quantity.name}` {sign} {100 * self.value:g} %"
        counted = (
            "" if unit in ("ratio", "times") else f" {unit.removesuffix('s') if self.value == 1 else unit}"
        )
        return f"`{self.quantity.name}` {sign} {self.value:g}{counted}"


@dataclass(frozen=True)
class _Is(Condition):
    quantity: Field[Bools]

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:  # noqa: ARG002
        return evidence.value(self.quantity)

    def __str__(self) -> str:
        return f"`{self.quantity.name}`"


@dataclass(frozen=True)
class _Not(Condition):
    inner: Condition

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        return ~self.inner.met(evidence, among)

    def parts(self) -> tuple[Condition, ...]:
        return (self.inner,)

    def __str__(self) -> str:
        return f"not {self.inner}"

    def lines(self) -> list[str]:
        if isinstance(self.inner, _Threshold):
            return [f"- {self.inner.opposite()}"]
        first, *rest = self.inner.lines()
        return [f"- not {first.removeprefix('- ')}", *rest]


@dataclass(frozen=True)
class _Several(Condition):
    inner: tuple[Condition, ...]
    every: bool

    def parts(self) -> tuple[Condition, ...]:
        return self.inner

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        # What is decided by some conditions need not be asked of the others: most quantities are never worked out.
        left = np.ones(evidence.rounds.size, dtype=bool) if among is None else among
        held = np.zeros(evidence.rounds.size, dtype=bool)
        for condition in self.inner:
            met = condition.met(evidence, left)
            if self.every:
                left = left & met
            else:
                held |= left & met
                left = left & ~met
            if not left.any():
                break
        return left if self.every else held

    def __str__(self) -> str:
        return f"({(' and ' if self.every else ' or ').join(map(str, self.inner))})"

    def lines(self) -> list[str]:
        inner = [line for part in self._flat() for line in part.lines()]
        return [f"- {'all' if self.every else 'any'} of:", *(f"  {line}" for line in inner)]

    def _flat(self) -> Iterator[Condition]:
        for part in self.inner:
            if isinstance(part, _Several) and part.every == self.every:
                yield from part._flat()  # noqa: SLF001  of its own kind
            else:
                yield part


def at_least(quantity: Field[Floats], value: float) -> Condition:
    """A quantity is that large."""
    return _Threshold(quantity, value, 1)


def at_most(quantity: Field[Floats], value: float) -> Condition:
    """A quantity is that small."""
    return _Threshold(quantity, value, -1)


def it(quantity: Field[Bools]) -> Condition:
    """A quantity of the unit ``yes`` is so."""
    return _Is(quantity)


def not_(condition: Condition) -> Condition:
    """The condition does not hold, or is not known to."""
    return _Not(condition)


def all_of(*conditions: Condition) -> Condition:
    """Every one of them holds."""
    return _Several(conditions, every=True)


def any_of(*conditions: Condition) -> Condition:
    """At least one of them holds."""
    return _Several(conditions, every=False)


@dataclass(frozen=True)
class Rule:
    """What must hold for a limit to be in force."""

    id: str
    limit: str
    holds: Condition
    says: str
    """The sentence shown, with the quantities that decided in braces."""
    why: str
    """From which law of TCP it follows."""
    unless: Condition | None = None
    blind: str = ""
    """Where it is wrong, as far as is known."""
    source: str = ""
    detail: str | None = None
    """The kind of its limit, if it claims one kind only."""
    alternatives: Mapping[str, Condition] = field(default_factory=dict)
    """Limits that the capture cannot rule out while their conditions hold."""

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        """Return for every round whether it holds and nothing excludes it; of rounds as `Condition.met`."""
        held = self.holds.met(evidence, among)
        if among is not None:
            held = held & among
        return held & ~self.unless.met(evidence, held) if self.unless and held.any() else held
