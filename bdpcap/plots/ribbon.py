"""A coloured strip over time that shows the limit of every round."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.diagnosis import STATE_COLOURS, STATE_NAMES
from bdpcap.limits.stripes import Stripe, stripes
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from bdpcap.plots.canvas import Canvas


HEIGHT: Final = 0.07
"""Part of a plot's height that the strip takes."""


def draw(canvas: Canvas, rtts: pd.DataFrame) -> None:
    """Add the strip above the plot."""
    axis = canvas.lane(HEIGHT, range=[-1, 1], visible=False)
    add(canvas, stripes(rtts), axis)


def add(canvas: Canvas, parts: Sequence[Stripe], axis: str) -> None:
    """Add stripes to an axis from -1 to 1; there is one trace per limit, so that the legend lists each colour once."""
    for limit, colour in STATE_COLOURS.items():
        x: list[float] = []
        text: list[str] = []
        for stripe in (stripe for stripe in parts if stripe.limit == limit):
            begin = max(canvas.axis.start, (stripe.start_ns - canvas.origin_ns) / 1e9)
            end = min(canvas.axis.end, (stripe.end_ns - canvas.origin_ns) / 1e9)
            # Adjacent stripes of one limit join without a gap.
            gap = [math.nan] if x and x[-1] != begin else []
            x += [*gap, begin, (begin + end) / 2, end]
            text += [_label(stripe)] * (3 + len(gap))
        if not x:
            continue
        canvas.trace(
            x=np.array(x),
            y=np.where(np.isnan(x), math.nan, 0.0),
            yaxis=axis,
            text=text,
            mode="lines",
            line={"color": colour, "width": 16},
            name=f"limit: {STATE_NAMES[limit]}",
            legendgroup=limit,
            hovertemplate="%{text}<extra></extra>",
        )


def _label(stripe: Stripe) -> str:
    rounds = units.span("round", stripe.first_round, stripe.last_round)
    detail = f" ({stripe.detail})" if stripe.detail else ""
    lasting = units.duration(stripe.end_ns - stripe.start_ns)
    confident = units.confidence(stripe.confidence)
    said = f"<b>{stripe.limit}{detail}</b>, {rounds}, {lasting}, confidence {confident}<br>{stripe.evidence}"
    return f"{said}<br>rule: {stripe.rule}"
