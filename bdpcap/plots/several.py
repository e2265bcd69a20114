"""Several flows in one figure, a row each; each has its own time axis, since flows may lie hours apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import plotly.graph_objects as go

    from bdpcap.capture import Flow

__all__ = ["ROWS", "several"]

ROWS: Final = 4
"""Most rows of a figure: more do not fit a screen."""
_ROW: Final = 260
"""Height of a row in pixels; a choice."""
_TITLE: Final = 40
"""Room above the first row in pixels, for its title."""
_GAP: Final = 0.2
"""Part of a row that is left for the title of the next one; a choice."""


def several(flows: Sequence[Flow], draw: Callable[..., go.Figure]) -> go.Figure:
    """Return a figure of the first `ROWS` flows, of which there is one at least; `draw` is `bdpcap.plots.figure`."""
    from plotly.subplots import make_subplots  # noqa: PLC0415 - plotly is slow to import

    drawn = flows[:ROWS]
    if len(drawn) == 1:
        return draw(drawn[0])
    titles = [
        f"stream {flow.stream}: {flow.sender} → {flow.receiver}, {flow.summary['limit']}" for flow in drawn
    ]
    figure = make_subplots(len(drawn), 1, subplot_titles=titles, vertical_spacing=_GAP / len(drawn))
    for row, flow in enumerate(drawn, 1):
        draw(flow, figure=figure, row=row, col=1)
    named: set[str] = set()
    for trace in figure.data:
        trace.update(showlegend=trace.name not in named, legendgroup=trace.name)
        named.add(trace.name)
    for row in range(1, len(drawn)):
        figure.update_xaxes(title=None, row=row)
    return figure.update_layout(
        template="none", height=_ROW * len(drawn) + _TITLE, legend={"orientation": "h"}, margin={"t": _TITLE}
    )
