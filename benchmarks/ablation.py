"""What each rule is worth: agreement without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from grading import MEAN, by_lab

from bdpcap.limits.decide import decide
from bdpcap.limits.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batch import Batch

__all__ = ["each", "without"]


def without(batch: Batch, names: Iterable[str]) -> pd.Series[float]:
    """Return by how many points the mean agreement, and each lab's, changes without some rules.

    Raises
    ------
    ValueError
        There is no such rule.
    """
    dropped = set(names)
    unknown = dropped - {rule.id for rule in RULES}
    if unknown:
        raise ValueError(f"no such rule: {', '.join(sorted(unknown))}")
    return _agreement(batch, dropped) - _agreement(batch, set())


def each(batch: Batch) -> pd.DataFrame:
    """Return what dropping each rule changes, a row a rule, the dearest first."""
    whole = _agreement(batch, set())
    rows = {rule.id: _agreement(batch, {rule.id}) - whole for rule in RULES}
    return pd.DataFrame(rows).T.sort_values(MEAN)


def _agreement(batch: Batch, dropped: set[str]) -> pd.Series[float]:
    left = [rule for rule in RULES if rule.id not in dropped]
    return by_lab(batch, decide(batch.evidence, left).limit)
