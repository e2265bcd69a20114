"""A lane over time with the losses of a flow by kind: retransmissions by cause, and segments out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.plots import marks
from bdpcap.plots.decimate import Thinned
from bdpcap.plots.kept import Kept
from bdpcap.words import units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.plots.canvas import Canvas
    from bdpcap.plots.decimate import Axis

__all__ = ["Losses", "draw"]

ROW: Final = 0.05
"""Part of a plot's height that each kind takes."""


class Losses(Kept):
    """The packets of each kind of loss, thinned to the first and the last of every time column."""

    names = ("time_ns", "frame", "kind", "cause")

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        super().__init__(flow, axis, columns)
        self.kinds: dict[str, Thinned] = {}
        """Points of each kind by its name in `bdpcap.plots.marks`; ``y`` is 0."""

    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow."""
        codes = marks.codes(events)
        for code in np.unique(codes[np.isin(codes, marks.LOSS_CODES)]).tolist():
            own = codes == code
            points = self.kinds.setdefault(marks.NAMES[code], Thinned(self.axis, self.columns, "y"))
            points.add(x=x[own], y=np.zeros(np.count_nonzero(own)), frame=events["frame"][own])


def draw(canvas: Canvas, losses: Losses, *, counted: bool = True) -> None:
    """Add the lane above the plot: a row for each kind that occurs in the time drawn, `counted` in the legend.

    Of events that were thinned before, the number is unknown.
    """
    shown = [name for name in marks.ordered(losses.kinds) if losses.kinds[name].count]
    if not shown:
        return
    lane = canvas.lane(ROW * len(shown), range=[0.5 - len(shown), 0.5], visible=False)
    for row, name in enumerate(shown):
        mark, points = marks.of(name), losses.kinds[name].rows(canvas.columns)
        label = f"{mark.label} ({units.count(losses.kinds[name].count)})" if counted else mark.label
        canvas.trace(
            x=points["x"],
            y=points["y"] - row,
            yaxis=lane,
            customdata=points["frame"],
            name=label,
            mode="markers",
            cliponaxis=False,
            marker={"color": mark.colour, "size": mark.size, "symbol": mark.symbol},
            hovertemplate=f"%{{x:.6f}} s, frame %{{customdata}}<extra>{mark.label}</extra>",
        )
