"""How sure a verdict is: how often its rule was right in labelled transfers, as far from a change of the limit.

What is wrong is mostly wrong beside a change: there rounds hold two limits, or the rules waver. The table is made by
``benchmarks/accuracy.py --confidence``; its head says from what.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.limits.decision import DECIDING, LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bdpcap.limits.decision import Places
    from bdpcap.limits.rounds import Floats, Rounds

__all__ = ["BESIDE", "LEAST", "MANY", "NEAR", "beside", "measured"]

BESIDE: Final = ("wavering", "edge", "near", "inside")
"""How far a round is from one with another limit: beside it, at most `NEAR` rounds away, farther.

It wavers with `MANY` changes and more in `NEAR` rounds on either side.
"""
NEAR: Final = 4
MANY: Final = 3
LEAST: Final = 0.3
"""Confidence of what the table does not know."""


def beside(rounds: Rounds, limits: NDArray[Any]) -> NDArray[np.str_]:
    """Return for each round which of `BESIDE` it is; a flow begins and ends with an edge."""
    return np.asarray(BESIDE)[_place(rounds, limits)]


def _place(rounds: Rounds, limits: NDArray[Any]) -> NDArray[np.intp]:
    before, after = (rounds.shifted(limits, by, -1) != limits for by in (-1, 1))
    edge = before | after
    wavering = rounds.around(before.astype(float), NEAR) >= MANY
    near = rounds.near(edge, NEAR, NEAR)
    return np.where(wavering, 0, np.where(edge, 1, np.where(near, 2, 3)))


def measured(
    rounds: Rounds, limits: Places, rules: Places, shares: Mapping[tuple[str, str], float] | None = None
) -> Floats:
    """Return the confidence of each round, 0 where the limit is unknown.

    Parameters
    ----------
    limits, rules
        As `Verdict` has them.
    shares
        By rule and one of `BESIDE`; those of the table unless given.
    """
    table = _table() if shares is None else _by_place(shares)
    found: Floats = table[rules, _place(rounds, limits)]
    return np.where(limits == LIMITS.index("unknown"), 0.0, found)


def _by_place(shares: Mapping[tuple[str, str], float]) -> Floats:
    """Return the shares of each of `DECIDING`, in the order of `BESIDE`."""
    return np.array([[shares.get((rule, place), LEAST) for place in BESIDE] for rule in DECIDING])


@cache
def _table() -> Floats:
    """Confidence by rule and what is beside the round."""
    with resources.files("bdpcap.limits").joinpath("confidence.csv").open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return _by_place({(row["rule"], row["beside"]): float(row["right"]) for row in rows})
