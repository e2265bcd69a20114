"""A verdict: what limited each round, which kind of that it was, what decided, how surely, and what else it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bdpcap.limits.rules import DETAILS, RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["DECIDING", "KINDS", "LIMITS", "NO_RULE", "Places", "Verdict"]

LIMITS: Final = ("rwnd", "cwnd", "sndbuf", "link", "app", "unknown")
"""What can limit a round."""

NO_RULE: Final = {
    "missed": "The capture lost most of the round's data, or holds one direction only.",
    "silent": "The capture holds no acknowledgment of this flow, or not those that its receiver must have sent.",
    "bridged": "The capture lost too much here; the rounds before and after have this limit.",
    "prevailing": "No rule holds here; this limit holds for most of the flow.",
    "none": "No rule holds.",
}
"""What is said where no rule decides."""


DECIDING: Final = (*(rule.id for rule in RULES), *NO_RULE)
"""What a round's limit may be taken from: a rule, by its id, or what stands in for one."""

KINDS: Final = tuple(
    dict.fromkeys([
        *(kind for kinds in DETAILS.values() for kind in kinds),
        *(rule.detail for rule in RULES if rule.detail is not None),
    ])
)  # fmt: skip
"""Details of all limits."""

Places = NDArray[np.int8]
"""Places among names: comparing numbers takes a small part of the time that comparing texts takes."""


@dataclass(frozen=True)
class Verdict:
    """One entry per round; what has a name is told by its place among the names, and -1 stands for none."""

    limits: Places
    """Among `LIMITS`."""
    details: Places
    """Among `KINDS`."""
    rules: Places
    """Of the rule that decided, among `DECIDING`."""
    confidence: Floats
    alternatives: Places
    """Another limit that the capture cannot rule out, among `LIMITS`."""

    @property
    def limit(self) -> NDArray[np.object_]:
        """Limits by name."""
        return _texts(LIMITS, self.limits)

    @property
    def detail(self) -> NDArray[np.object_]:
        """Details by name; None where the limit has none."""
        return _texts(KINDS, self.details)

    @property
    def rule(self) -> NDArray[np.object_]:
        """Ids of rules, or keys of `NO_RULE`."""
        return _texts(DECIDING, self.rules)

    @property
    def alternative(self) -> NDArray[np.object_]:
        """Other limits by name; None where there is none."""
        return _texts(LIMITS, self.alternatives)

    def is_limit(self, *names: str) -> Bools:
        """Is it one of these limits?"""
        return _among(self.limits, LIMITS, names)

    def is_by(self, *names: str) -> Bools:
        """Was it decided by one of these rules, or of `NO_RULE`?"""
        return _among(self.rules, DECIDING, names)


def _texts(names: Sequence[str], places: Places) -> NDArray[np.object_]:
    return np.array([*names, None], dtype=object)[places]


def _among(places: Places, names: Sequence[str], wanted: Sequence[str]) -> Bools:
    found: Bools = places == names.index(wanted[0])
    for name in wanted[1:]:
        found |= places == names.index(name)
    return found
