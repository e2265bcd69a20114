"""A verdict: limit, detail, deciding rule, confidence and alternative of each round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bdpcap.limits.rules import DETAILS, RULES, kernel
from bdpcap.tables.schema import LIMITS, STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["DECIDING", "IDLE", "KINDS", "LIMITS", "NO_RULE", "STATES", "Places", "Verdict"]

IDLE: Final = "idle"
"""The state of a round in which nothing was asked of the sender. It is no limit: a flow's shares leave it out."""

NO_RULE: Final = {
    "missed": "The capture lacks most of the data of this time.",
    "silent": "The capture lacks acknowledgments that the receiver must have sent.",
    "rested": "No timer fired in a long silence: all data had arrived, and nothing was to be sent.",
    "years": "The time stamps jump by a year or more: nothing shows how long this took.",
    "shifted": "The timestamp clocks of both ends stopped: the capture's times are wrong here.",
    "uncaptured": "The capture holds hardly anything of this time, though data were sent.",
    "unmeasured": "No handshake measured the round trip to the sender: after full segments, a silence may be one.",
    "coarse": "The clock of the capture is too coarse for this round trip.",
    "bridged": "The capture shows too little here; the rounds before and after have this limit.",
    "prevailing": "No rule holds here; this limit holds for most of the flow.",
    "alike": "A full send buffer and a program's own pace look alike here; this one holds for most of the flow.",
    "none": "No rule holds.",
}
"""Sentences of rounds that no rule decides."""


DECIDING: Final = (*(rule.id for rule in RULES), *NO_RULE, *(rule.id for rule in kernel.RULES))
"""Names of all that can decide a round: ids of the rules, keys of `NO_RULE`, ids of the kernel's rules."""

KINDS: Final = tuple(
    dict.fromkeys([
        *(kind for kinds in DETAILS.values() for kind in kinds),
        *(rule.detail for rule in RULES if rule.detail is not None),
    ])
)  # fmt: skip
"""Details of all limits."""

Places = NDArray[np.int8]
"""Indexes of names, since comparing numbers is much faster than comparing texts."""


@dataclass(frozen=True)
class Verdict:
    """A verdict for each round. Names are indexes; -1 stands for none."""

    limits: Places
    """Indexes in `STATES`."""
    details: Places
    """Indexes in `KINDS`."""
    rules: Places
    """Indexes of the deciding rule in `DECIDING`."""
    confidence: Floats
    """0 to 1."""
    alternatives: Places
    """Indexes in `LIMITS` of another limit that the capture cannot rule out."""
    account: Places
    """Indexes in `bdpcap.limits.rules.kernel.RULES` of the rule of the sending kernel's account that holds."""
    overruled: Places
    """Indexes in `LIMITS` of the limit that the capture alone suggested, where the kernel's account has another."""

    @property
    def limit(self) -> NDArray[np.object_]:
        """Limits or `IDLE`, by name."""
        return _texts(STATES, self.limits)

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
        """Return whether the state of each round is one of `names`."""
        return _among(self.limits, STATES, names)

    def is_by(self, *names: str) -> Bools:
        """Return whether one of `names`, ids of rules or keys of `NO_RULE`, decided each round."""
        return _among(self.rules, DECIDING, names)


def _texts(names: Sequence[str], places: Places) -> NDArray[np.object_]:
    return np.array([*names, None], dtype=object)[places]


def _among(places: Places, names: Sequence[str], wanted: Sequence[str]) -> Bools:
    found: Bools = places == names.index(wanted[0])
    for name in wanted[1:]:
        found |= places == names.index(name)
    return found
