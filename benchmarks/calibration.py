"""How sure a verdict may be: the table behind confidences, and what confidences are worth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from grading import CONFIDENT, rows

from bdpcap.limits import doubt
from bdpcap.limits.confidence import DISTANCES, LEAST, VANTAGES, distances, measured
from bdpcap.limits.decision import NO_RULE
from bdpcap.limits.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batch import Batch

    from bdpcap.limits.decision import Verdict

__all__ = ["PRIOR", "applied", "reliability", "sure", "table"]

PRIOR: Final = 30.0
"""Transfers' worth of the limit's share at a place that a rule's share there is pulled towards.

Chosen for how well confidences fit labs that the table was not made from; from 8 to 120 little changes.
"""
FLOWS: Final = 40
"""Captures of flows that a bin of confidences holds at least, to stand alone."""


def table(batch: Batch, verdict: Verdict, labs: Sequence[str]) -> pd.Series[float]:
    """Return the share of time that is right by vantage, rule and distance from a change, from some labs only.

    Labs weigh equally, captures equally within a lab. The number of transfers that show a share is (sum of weights)² /
    (sum of squares): one transfer's many rounds are one witness.
    """
    met = rows(batch, verdict)
    met = met[met["lab"].isin(labs) & (verdict.limit != "unknown")[met["row"]]]
    met["vantage"] = np.asarray(VANTAGES)[batch.evidence.vantage.at_sender[met["row"]].astype(int)]
    met["weight"] /= met.groupby(["lab", "vantage"])["capture"].transform("nunique")
    limits = {rule.id: rule.limit for rule in RULES} | dict.fromkeys(NO_RULE, "none")
    met = met.assign(
        rule=verdict.rule[met["row"]], distance=distances(batch.evidence.rounds, verdict.limits)[met["row"]]
    )
    met["limit"] = met["rule"].map(limits)
    shares = {}
    for place, own in met.groupby("vantage"):
        by_limit, by_distance, by_rule = (
            _shares(own, by) for by in (["limit"], ["limit", "distance"], ["rule", "distance"])
        )
        for rule in sorted({rule.id for rule in RULES} | set(met["rule"])):
            for distance in DISTANCES:
                limit = by_limit["right"].get(limits[rule], LEAST)
                wide = by_distance["right"].get((limits[rule], distance), limit)
                shares[place, rule, distance] = _pulled(by_rule, (rule, distance), wide)
    return pd.Series(shares)


def _shares(met: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Share of the weight that is right, and how many transfers show it."""
    weight, right = met["weight"], met["weight"] * met["right"]
    keys = [met[name] for name in by]
    own = weight.groupby([*keys, met["transfer"]]).sum()
    number = own.groupby(level=by).sum() ** 2 / (own**2).groupby(level=by).sum()
    return pd.DataFrame({"right": right.groupby(keys).sum() / weight.groupby(keys).sum(), "number": number})


def _pulled(shares: pd.DataFrame, key: str | tuple[str, str], wide: float) -> float:
    """Return a share, pulled towards a wider one by `PRIOR`; that one where none shows it."""
    if key not in shares.index:
        return wide
    right, number = shares.loc[key]
    return float((number * right + PRIOR * wide) / (number + PRIOR))


def applied(batch: Batch, verdict: Verdict, shares: pd.Series[float]) -> Verdict:
    """Return the verdict with confidences of another table, doubts taken off."""
    found = measured(batch.evidence, verdict.limits, verdict.rules, shares)
    plain = replace(verdict, confidence=found)
    return doubt.lowered(plain, doubt.doubts(batch.evidence, plain, batch.flows))


def reliability(met: pd.DataFrame) -> pd.DataFrame:
    """Return by bin of confidence (tenths; those with few flows together): confidence, right (means over time), flows.

    Parameters
    ----------
    met
        Of `grading.rows`; what is not answered (0) is left out.
    """
    said = met[met["confidence"] > 0]
    tenth = np.minimum(said["confidence"] * 10 // 1, 9).astype(int)
    flow = said["capture"].astype(str) + "/" + said["flow"].astype(str)
    flows = flow.groupby(tenth).nunique()
    alone = flows.index[flows >= FLOWS]
    name = tenth.map(lambda at: f"{at / 10:.1f} to {(at + 1) / 10:.1f}").where(tenth.isin(alone), "the rest")
    ns = said["ns"].groupby(name).sum()
    result = {
        column: (said["ns"] * said[column]).groupby(name).sum() / ns for column in ("confidence", "right")
    }
    return pd.DataFrame({**result, "flows": flow.groupby(name).nunique()})


def sure(met: pd.DataFrame) -> tuple[float, float]:
    """Return of the time said with at least `CONFIDENT`: the share that is right, and its share of all time."""
    said = met["confidence"] >= CONFIDENT
    time = met["ns"][said].sum()
    right = met["ns"][said & met["right"]].sum()
    return (float(right / time) if time else float("nan")), float(time / met["ns"].sum())
