"""Neighbouring rounds of one limit, merged into stripes for figures and their captions."""

from __future__ import annotations

from collections import Counter
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
    evidence: str


def stripes(rtts: pd.DataFrame, most: int = STRIPES) -> list[Stripe]:
    """
    Merge neighbouring rounds of equal limit and detail.

    Parameters
    ----------
    rtts
        Rows of one flow in the ``rtts`` table, in order.
    most
        Maximum number of stripes. Where there would be more, each covers a part of the time and shows its longest limit.

    Returns
    -------
    list of Stripe
        Stripes that cover the time from the first round to the last without gap or overlap. Confidence and evidence are
        those of the round with the median throughput, by time.
    """
    if rtts.empty:
        return []
    detail = rtts["detail"].astype(object)
    held = list(zip(rtts["limit"], detail.where(detail.notna(), None), strict=True))
    start, end = rtts["start_ns"].to_numpy(dtype=np.int64), rtts["end_ns"].to_numpy(dtype=np.int64)
    rate = rtts["throughput_bps"].to_numpy(dtype=np.float64, na_value=0.0)
    number, confidence, evidence = (rtts[name].array for name in ("round", "confidence", "evidence"))
    firsts = [index for index in range(len(held)) if index == 0 or held[index] != held[index - 1]]
    if len(firsts) > most:
        edges = np.linspace(start[0], end[-1], most, endpoint=False)
        firsts = np.unique(start.searchsorted(edges).clip(max=len(held) - 1)).tolist()
    merged = []
    for first, beyond in pairwise([*firsts, len(held)]):
        lengths = end[first:beyond] - start[first:beyond]
        limit, why = _longest(held[first:beyond], lengths)
        typical = first + _typical(rate[first:beyond], lengths)
        merged.append(
            Stripe(
                limit=limit,
                detail=why,
                first_round=int(number[first]),
                last_round=int(number[beyond - 1]),
                start_ns=int(start[first]),
                end_ns=int(end[beyond - 1]),
                confidence=float(confidence[typical]),
                evidence=str(evidence[typical]),
            )
        )
    return merged


def _typical(rate: NDArray[np.float64], lengths: NDArray[np.int64]) -> int:
    """Return the index of the round with the median rate, each round weighted by its length."""
    slowest = rate.argsort(kind="stable")
    passed = lengths[slowest].cumsum()
    return int(slowest[passed.searchsorted(passed[-1] / 2)])


def _longest(held: list[tuple[str, str | None]], lengths: NDArray[np.int64]) -> tuple[str, str | None]:
    """Return the limit and detail with the largest total length."""
    total: Counter[tuple[str, str | None]] = Counter()
    for key, length in zip(held, lengths, strict=True):
        total[key] += int(length)
    return total.most_common(1)[0][0]
