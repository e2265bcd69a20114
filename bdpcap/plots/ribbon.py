"""A coloured strip over time that shows the limit of every round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.diagnosis import STATE_COLOURS, STATE_NAMES
from bdpcap.limits.stripes import Stripe, stripes
from bdpcap.plots.time_axis import seconds
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from bdpcap.plots.canvas import Canvas


HEIGHT: Final = 0.07
"""Part of a plot's height that the strip takes."""
SEAM: Final = 1
"""Pixels of a stripe's outline: stripes of one colour join, and the shortest is seen."""


def draw(canvas: Canvas, rtts: pd.DataFrame) -> None:
    """Add the strip above the plot."""
    axis = canvas.lane(HEIGHT, range=[-1, 1], visible=False)
    add(canvas, stripes(rtts), axis)


def add(canvas: Canvas, parts: Sequence[Stripe], axis: str) -> None:
    """Add stripes to an axis from -1 to 1; there is one trace per limit, so that the legend lists each colour once.

    They are bars: these tell of themselves wherever one points at them, lines only near their points.
    """
    for limit, colour in STATE_COLOURS.items():
        own = [stripe for stripe in parts if stripe.limit == limit]
        if not own:
            continue
        begin, end = (
            seconds(np.array(times), canvas.origin_ns).clip(canvas.axis.start, canvas.axis.end)
            for times in ([stripe.start_ns for stripe in own], [stripe.end_ns for stripe in own])
        )
        canvas.trace(
            type="bar",
            x=begin,
            offset=0,
            width=end - begin,
            base=-1,
            y=np.full(len(own), 2),
            yaxis=axis,
            hovertext=[_label(stripe) for stripe in own],
            marker={"color": colour, "line": {"color": colour, "width": SEAM}},
            name=f"limit: {STATE_NAMES[limit]}",
            legendgroup=limit,
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _label(stripe: Stripe) -> str:
    rounds = units.span("round", stripe.first_round, stripe.last_round)
    detail = f" ({stripe.detail})" if stripe.detail else ""
    lasting = units.duration(stripe.end_ns - stripe.start_ns)
    confident = units.confidence(stripe.confidence)
    said = f"<b>{stripe.limit}{detail}</b>, {rounds}, {lasting}, confidence {confident}<br>{stripe.evidence}"
    return f"{said}<br>rule: {stripe.rule}"
