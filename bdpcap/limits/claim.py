"""What a rule answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Claim"]


@dataclass(frozen=True)
class Claim:
    """How strongly a rule holds that its limit was in force, for every round."""

    strength: Floats
    """0 to 1: how sure the rule is; below one half it does not claim the round."""
    detail: NDArray[np.object_]
    """Which kind of the limit, or None."""

    @classmethod
    def build(cls, evidence: Evidence, strength: Floats, details: list[tuple[str, Bools]]) -> Claim:
        """Claim with the first detail whose condition holds."""
        detail = np.full(evidence.size, None, dtype=object)
        for name, holds in reversed(details):
            detail[holds] = name
        return cls(np.clip(np.nan_to_num(strength), 0.0, 1.0), detail)


def grade(value: Floats, low: float | Floats, high: float | Floats) -> Floats:
    """0 at `low` and below, 1 at `high` and above, a straight line between; falling where high < low."""
    return np.clip((value - low) / (np.asarray(high) - low), 0.0, 1.0)
