"""How sure a verdict is: how often its rule was right in labelled transfers, as far from a change of the limit.

What is wrong is mostly wrong beside a change: there rounds hold two limits, or the rules waver. The table is made by
``benchmarks/accuracy.py --confidence``; its head says from what.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def beside(rounds: Rounds, limit: NDArray[np.object_]) -> NDArray[np.str_]:
    """Return for each round which of `BESIDE` it is; a flow begins and ends with an edge."""
    return np.asarray(BESIDE)[_place(rounds, limit)]


def _place(rounds: Rounds, limit: NDArray[np.object_]) -> NDArray[np.intp]:
    before, after = (rounds.shifted(limit, by, None) != limit for by in (-1, 1))
    edge = before | after
    wavering = rounds.around(before.astype(float), NEAR) >= MANY
    near = rounds.near(edge, NEAR, NEAR)
    return np.where(wavering, 0, np.where(edge, 1, np.where(near, 2, 3)))


def measured(
    rounds: Rounds,
    limit: NDArray[np.object_],
    rule: NDArray[np.object_],
    shares: pd.Series[float] | None = None,
) -> Floats:
    """Return the confidence of each round, 0 where the limit is unknown.

    Parameters
    ----------
    shares
        By rule and one of `BESIDE`; those of the table unless given.
    """
    table = _table() if shares is None else _by_rule(shares)
    place = _place(rounds, limit)
    found = np.full(rounds.size, LEAST)
    for name in table.keys() & set(rule.tolist()):
        rows = np.flatnonzero(rule == name)
        found[rows] = table[name][place[rows]]
    return np.where(limit == "unknown", 0.0, found)


def _by_rule(shares: pd.Series[float]) -> dict[str, Floats]:
    """Return the shares of each rule in the order of `BESIDE`."""
    of_rule = shares.groupby(level=0)
    return {
        str(name): np.asarray(rows.droplevel(0).reindex(list(BESIDE)).fillna(LEAST), dtype=np.float64)
        for name, rows in of_rule
    }


@cache
def _table() -> dict[str, Floats]:
    """Confidence by rule and what is beside the round."""
    with resources.files("bdpcap.limits").joinpath("confidence.csv").open(encoding="utf-8") as file:
        return _by_rule(pd.read_csv(file, comment="#", index_col=["rule", "beside"])["right"])
