"""A rule: the condition under which a limit is in force, its exclusions, and the sentence shown.

Each condition is true or false in a round, without weights or products, so a threshold acts exactly as written. A
comparison with an unknown quantity is false.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.evidence.field import Field
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["MEASURED", "Condition", "Named", "Rule", "all_of", "any_of", "at_least", "at_most", "it", "not_"]


MEASURED: Final = "measured"
"""The source of a number that no law gives; docs/thresholds.md shows what moving it changes in labelled transfers."""


class Condition(ABC):
    """A condition that is true or false in each round. Its string is the form shown in the documents."""

    @abstractmethod
    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        """Return whether the condition holds in each round; rounds that are not `among` may have either value."""

    def parts(self) -> tuple[Condition, ...]:
        """Return the conditions of which it consists; none if it looks at a quantity itself."""
        return ()

    def lines(self) -> list[str]:
        """Return the condition as a Markdown list; the parts of a condition are indented."""
        return [f"- {self}"]

    def named(self, name: str, means: str = "") -> Named:
        """Return the condition under a name, by which the documents refer to it, with its meaning."""
        return Named(self, name, means)


@dataclass(frozen=True)
class Named(Condition):
    """A condition with a name, which several rules may share."""

    inner: Condition
    name: str
    means: str

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        """Return whether the inner condition holds in each round."""
        return self.inner.met(evidence, among)

    def parts(self) -> tuple[Condition, ...]:
        """Return the inner condition."""
        return (self.inner,)

    def __str__(self) -> str:
        return f"*{self.name}*"


@dataclass(frozen=True)
class _Threshold(Condition):
    """A quantity is at least a value (`sign` 1), or at most the value (`sign` -1)."""

    quantity: Field[Floats]
    value: float
    sign: int
    because: str

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:  # noqa: ARG002
        result: Bools = self.sign * evidence.value(self.quantity) >= self.sign * self.value
        return result

    def __str__(self) -> str:
        return self._written("≥" if self.sign > 0 else "≤")

    def lines(self) -> list[str]:
        return [f"- {self}{self._reason}"]

    def opposite(self) -> str:
        """Return the text of the case that it does not hold."""
        return f"{self._written('<' if self.sign > 0 else '>')}, or unknown{self._reason}"

    @property
    def _reason(self) -> str:
        return f" ({self.because})" if self.because else ""

    def _written(self, sign: str) -> str:
        unit = self.quantity.unit
        if unit == "share":
            return f"`{self.quantity.name}` {sign} {100 * self.value:.3g} %"
        counted = (
            "" if unit in ("ratio", "times") else f" {unit.removesuffix('s') if self.value == 1 else unit}"
        )
        return f"`{self.quantity.name}` {sign} {self.value:.3g}{counted}"


@dataclass(frozen=True)
class _Is(Condition):
    """A quantity of the unit ``yes`` is true."""

    quantity: Field[Bools]

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:  # noqa: ARG002
        return evidence.value(self.quantity)

    def __str__(self) -> str:
        return f"`{self.quantity.name}`"


@dataclass(frozen=True)
class _Not(Condition):
    """A condition does not hold."""

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
    """Every one of several conditions holds, or any of them."""

    inner: tuple[Condition, ...]
    every: bool

    def parts(self) -> tuple[Condition, ...]:
        return self.inner

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        # Rounds that some conditions decide are not asked of the others, so most quantities are never computed.
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
                yield from part._flat()  # noqa: SLF001 - of this class
            else:
                yield part


def at_least(quantity: Field[Floats], value: float, because: str = "") -> Condition:
    """Return the condition that a quantity is at least `value`; `because` is the source of the value."""
    return _Threshold(quantity, value, 1, because)


def at_most(quantity: Field[Floats], value: float, because: str = "") -> Condition:
    """Return the condition that a quantity is at most `value`; `because` is the source of the value."""
    return _Threshold(quantity, value, -1, because)


def it(quantity: Field[Bools]) -> Condition:
    """Return the condition that a quantity of the unit ``yes`` is true."""
    return _Is(quantity)


def not_(condition: Condition) -> Condition:
    """Return the condition that `condition` does not hold, or depends on an unknown quantity."""
    return _Not(condition)


def all_of(*conditions: Condition) -> Condition:
    """Return the condition that every condition holds."""
    return _Several(conditions, every=True)


def any_of(*conditions: Condition) -> Condition:
    """Return the condition that at least one condition holds."""
    return _Several(conditions, every=False)


@dataclass(frozen=True)
class Rule:
    """A rule by which a limit is in force."""

    id: str
    limit: str
    holds: Condition
    says: str
    """The sentence shown, with quantities in braces."""
    why: str
    """The property of TCP from which the rule follows."""
    unless: Condition | None = None
    """The condition under which the rule does not apply."""
    blind: str = ""
    """Known cases in which the rule is wrong."""
    source: str = ""
    """RFC, kernel function or paper."""
    detail: str | None = None
    """The detail of the limit, if the rule implies one."""
    alternatives: Mapping[str, Condition] = field(default_factory=dict)
    """Other limits that the capture cannot rule out, and the condition of each."""

    def met(self, evidence: Evidence, among: Bools | None = None) -> Bools:
        """Return whether the rule applies in each round; among the rounds given, as for `Condition.met`."""
        held = self.holds.met(evidence, among)
        if among is not None:
            held = held & among
        return held & ~self.unless.met(evidence, held) if self.unless and held.any() else held
