"""The limit of every round as a coloured strip over time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import palette, units

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.plots.canvas import Canvas

STRIPES: Final = 1000
"""Most stripes a strip is drawn with; of more, each stripe shows the limit that held longest in it."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """Consecutive rounds of one limit and detail; rounds and times are those of its first and last round."""

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
        No more stripes than these; of more, each shows what held longest in it.

    Returns
    -------
    Stripes that tile the flow's life as the rounds do, with confidence and evidence of the round that is typical of
    them: half of their time went slower, half faster.
    """
    if rtts.empty:
        return []
    detail = rtts["detail"].astype(object)
    held = list(zip(rtts["limit"], detail.where(detail.notna(), None), strict=True))
    start, end = rtts["start_ns"].to_numpy(dtype=np.int64), rtts["end_ns"].to_numpy(dtype=np.int64)
    rate = rtts["throughput_bps"].to_numpy(dtype=np.float64, na_value=0.0)
    firsts = [index for index in range(len(held)) if index == 0 or held[index] != held[index - 1]]
    if len(firsts) > most:
        edges = np.linspace(start[0], end[-1], most, endpoint=False)
        firsts = np.unique(start.searchsorted(edges).clip(max=len(held) - 1)).tolist()
    merged = []
    for first, beyond in pairwise([*firsts, len(held)]):
        lengths = end[first:beyond] - start[first:beyond]
        limit, why = _longest(held[first:beyond], lengths)
        typical = rtts.iloc[first + _typical(rate[first:beyond], lengths)]
        merged.append(
            Stripe(
                limit=limit,
                detail=why,
                first_round=int(rtts["round"].iloc[first]),
                last_round=int(rtts["round"].iloc[beyond - 1]),
                start_ns=int(start[first]),
                end_ns=int(end[beyond - 1]),
                confidence=float(typical["confidence"]),
                evidence=str(typical["evidence"]),
            )
        )
    return merged


def _typical(rate: NDArray[np.float64], lengths: NDArray[np.int64]) -> int:
    """Return the index of the round whose rate is the median of the time."""
    slowest = rate.argsort(kind="stable")
    passed = lengths[slowest].cumsum()
    return int(slowest[passed.searchsorted(passed[-1] / 2)])


def _longest(held: list[tuple[str, str | None]], lengths: NDArray[np.int64]) -> tuple[str, str | None]:
    """Return what held for most of the time."""
    total: Counter[tuple[str, str | None]] = Counter()
    for key, length in zip(held, lengths, strict=True):
        total[key] += int(length)
    return total.most_common(1)[0][0]


def draw(canvas: Canvas, rtts: pd.DataFrame) -> None:
    """Add the strip above the plot, one trace a limit so that the legend names each colour once."""
    parts = stripes(rtts)
    bottom, top = canvas.y_axis.domain or (0.0, 1.0)
    taken = [int(axis.plotly_name.removeprefix("yaxis") or 1) for axis in canvas.figure.select_yaxes()]
    number = max(taken, default=1) + 1
    canvas.y_axis.domain = [bottom, bottom + 0.9 * (top - bottom)]
    canvas.figure.update_layout(
        {
            f"yaxis{number}": {
                "domain": [bottom + 0.93 * (top - bottom), top],
                "range": [-1, 1],
                "visible": False,
                "fixedrange": True,
                "anchor": canvas.x,
            }
        }
    )
    for limit, colour in palette.LIMIT_COLOURS.items():
        x: list[float | None] = []
        text: list[str] = []
        for stripe in (stripe for stripe in parts if stripe.limit == limit):
            begin = max(canvas.start, (stripe.start_ns - canvas.origin_ns) / 1e9)
            end = min(canvas.end, (stripe.end_ns - canvas.origin_ns) / 1e9)
            # Between neighbours of one limit no gap is to show.
            gap = [None] if x and x[-1] != begin else []
            x += [*gap, begin, (begin + end) / 2, end]
            text += [_label(stripe)] * (3 + len(gap))
        if not x:
            continue
        canvas.figure.add_scatter(
            x=x,
            y=[0.0 if value is not None else None for value in x],
            xaxis=canvas.x,
            yaxis=f"y{number}",
            text=text,
            mode="lines",
            line={"color": colour, "width": 16},
            name=f"limit: {palette.LIMIT_NAMES[limit]}",
            legendgroup=limit,
            hovertemplate="%{text}<extra></extra>",
        )


def _label(stripe: Stripe) -> str:
    rounds = units.span("round", stripe.first_round, stripe.last_round)
    detail = f" ({stripe.detail})" if stripe.detail else ""
    lasting = units.duration(stripe.end_ns - stripe.start_ns)
    confident = units.confidence(stripe.confidence)
    return f"<b>{stripe.limit}{detail}</b>, {rounds}, {lasting}, confidence {confident}<br>{stripe.evidence}"
