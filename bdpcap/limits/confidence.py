"""The confidence of a verdict: how often its rule was right in labelled transfers, by vantage and distance from a change.

Most errors lie next to a change of the limit, where a round holds two limits or the rules disagree. Away from the sender,
what the sender knew is reconstructed. The table is made by
``benchmarks/accuracy.py --confidence``; its head lists the transfers.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.limits.decision import DECIDING, IDLE, LIMITS, STATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bdpcap.limits.decision import Places
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Floats, Rounds

__all__ = ["ACCOUNT", "DISTANCES", "LEAST", "MANY", "NEAR", "OBSERVED", "VANTAGES", "distances", "measured"]

VANTAGES: Final = ("away", "sender")
"""Places of the tap whose confidences differ: anywhere away from the sender, and at the sender."""

DISTANCES: Final = ("wavering", "edge", "near", "inside")
"""Distances of a round from one with another limit: adjacent (edge), at most `NEAR` rounds (near), more (inside).

A round is wavering if at least `MANY` changes lie within `NEAR` rounds on either side.
"""
NEAR: Final = 4
"""Rounds from a change of the limit within which a round is near it; `REACH`, over which evidence is summed."""
MANY: Final = 3
"""Changes of the limit within `NEAR` rounds on either side from which a round wavers."""
LEAST: Final = 0.3
"""Confidence where the table has no entry for the rule and the distance."""
OBSERVED: Final = 1.0
"""Confidence of idle rounds: the packets themselves show that all is acknowledged, and who sends next."""
ACCOUNT: Final = 0.98
"""Confidence of rounds that the sending kernel's account decides.

In labelled transfers with samples every 20, 100 and 400 ms, 0.98 to 1 of their time was right.
"""


def distances(rounds: Rounds, limits: NDArray[Any]) -> NDArray[np.str_]:
    """Return the entry of `DISTANCES` for each round; a flow begins and ends with an edge."""
    return np.asarray(DISTANCES)[_distance(rounds, limits)]


def _distance(rounds: Rounds, limits: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index in `DISTANCES` for each round. Labels call idle time `app`, so that the two are one limit here."""
    limits = np.where(limits == STATES.index(IDLE), LIMITS.index("app"), limits)
    before, after = (rounds.shifted(limits, by, -1) != limits for by in (-1, 1))
    edge = before | after
    wavering = rounds.around(before.astype(float), NEAR) >= MANY
    near = rounds.near(edge, NEAR, NEAR)
    return np.where(wavering, 0, np.where(edge, 1, np.where(near, 2, len(DISTANCES) - 1)))


def measured(
    evidence: Evidence,
    limits: Places,
    rules: Places,
    shares: Mapping[tuple[str, str, str], float] | None = None,
) -> Floats:
    """Return the confidence of each round, 0 where the limit is unknown, and `OBSERVED` where the round is idle.

    Parameters
    ----------
    limits, rules
        Indexes, as in `Verdict`.
    shares
        Confidence by vantage, rule and distance; the default is the table of the package.
    """
    table = _table() if shares is None else _as_array(shares)
    place = evidence.vantage.at_sender.astype(np.intp)
    known = table[place, rules, _distance(evidence.rounds, limits)]
    found: Floats = np.where(limits == STATES.index(IDLE), OBSERVED, known)
    return np.where(limits == LIMITS.index("unknown"), 0.0, found)


def _as_array(shares: Mapping[tuple[str, str, str], float]) -> Floats:
    """Return an array of confidences by entry of `VANTAGES`, of `DECIDING` and of `DISTANCES`."""
    return np.array(
        [
            [[shares.get((place, rule, distance), LEAST) for distance in DISTANCES] for rule in DECIDING]
            for place in VANTAGES
        ]
    )


@cache
def _table() -> Floats:
    """Return the confidences of confidence.csv, in the form of `_as_array`."""
    with resources.files("bdpcap.limits").joinpath("confidence.csv").open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return _as_array(
            {(row["vantage"], row["rule"], row["distance"]): float(row["right"]) for row in rows}
        )
