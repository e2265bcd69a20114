"""Neighbouring rounds of one limit, merged into stripes for figures and their captions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["STRIPES", "Stripe", "stripes"]

STRIPES: Final = 1000
"""Default maximum number of stripes in a figure."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """Consecutive rounds of one limit and detail."""

    limit: str
    detail: str | None
    first_round: int
    last_round: int
    start_ns: int
    end_ns: int
    confidence: float
    rule: str
    evidence: str


def stripes(rtts: pd.DataFrame, most: int = STRIPES, *, merged: bool = True) -> list[Stripe]:
    """
    Merge neighbouring rounds of equal limit and detail.

    Parameters
    ----------
    rtts
        Rows of one flow in the ``rtts`` table, in order.
    most
        Maximum number of stripes. Where there would be more, each covers a part of the time and shows its longest limit.
    merged
        Whether neighbours are merged where `most` allows a stripe for each round.

    Returns
    -------
    list of Stripe
        Stripes that cover the time from the first round to the last without gap or overlap. Confidence, rule and evidence
        are those of the round with the median throughput, by time.
    """
    if rtts.empty:
        return []
    import pandas as pd  # noqa: PLC0415 - slow to import

    limit_of, limits = pd.factorize(rtts["limit"])
    detail_of, details = pd.factorize(rtts["detail"])
    held = (len(details) + 1) * limit_of + detail_of + 1  # a missing detail has the number -1
    start, end = rtts["start_ns"].to_numpy(dtype=np.int64), rtts["end_ns"].to_numpy(dtype=np.int64)
    rate = rtts["throughput_bps"].to_numpy(dtype=np.float64, na_value=0.0)
    number, confidence, rule, evidence = (
        rtts[name].array for name in ("round", "confidence", "rule", "evidence")
    )
    firsts = np.flatnonzero(np.diff(held, prepend=-1)) if merged else np.arange(len(held))
    if len(firsts) > most:
        edges = np.linspace(start[0], end[-1], most, endpoint=False)
        firsts = np.unique(start.searchsorted(edges).clip(max=len(held) - 1))
    found = []
    for first, beyond in pairwise([*firsts.tolist(), len(held)]):
        lengths = end[first:beyond] - start[first:beyond]
        # A round without a duration counts for a nanosecond.
        longest = int(np.bincount(held[first:beyond], lengths + 1).argmax())
        limit, detail = divmod(longest, len(details) + 1)
        typical = first + _typical(rate[first:beyond], lengths)
        found.append(
            Stripe(
                limit=str(limits[limit]),
                detail=str(details[detail - 1]) if detail else None,
                first_round=int(number[first]),
                last_round=int(number[beyond - 1]),
                start_ns=int(start[first]),
                end_ns=int(end[beyond - 1]),
                confidence=float(confidence[typical]),
                rule=str(rule[typical]),
                evidence=str(evidence[typical]),
            )
        )
    return found


def _typical(rate: NDArray[np.float64], lengths: NDArray[np.int64]) -> int:
    """Return the index of the round with the median rate, each round weighted by its length."""
    slowest = rate.argsort(kind="stable")
    passed = lengths[slowest].cumsum()
    return int(slowest[passed.searchsorted(passed[-1] / 2)])
