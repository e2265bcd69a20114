"""Figures of a flow and of a comparison, as plotly draws them. Show them with ``CONFIG``, which has no upload button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.plots.canvas import CONFIG
from bdpcap.plots.comparison import comparison_figure
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.rtt import rtt_figure
from bdpcap.plots.sequence import sequence_figure
from bdpcap.plots.throughput import throughput_figure
from bdpcap.plots.window import window_figure

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

    from bdpcap.analysis import Flow

FIGURES: Final[dict[str, Callable[[Flow, int], go.Figure]]] = {
    "window": window_figure,
    "throughput": throughput_figure,
    "rtt": rtt_figure,
    "sequence": sequence_figure,
}


def figure(flow: Flow, kind: str = "window", columns: int = COLUMNS) -> go.Figure:
    """
    Draw a flow.

    Parameters
    ----------
    flow
        The flow to draw.
    kind
        ``window``, ``throughput``, ``rtt`` or ``sequence``.
    columns
        Time columns of which every line keeps the extremes.

    Raises
    ------
    ValueError
        No figure has that name.
    """
    if kind not in FIGURES:
        raise ValueError(f"no figure {kind!r}; there are {', '.join(FIGURES)}")
    return FIGURES[kind](flow, columns)


__all__ = [
    "CONFIG",
    "FIGURES",
    "comparison_figure",
    "figure",
    "rtt_figure",
    "sequence_figure",
    "throughput_figure",
    "window_figure",
]
