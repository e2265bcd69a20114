"""Plotly figures of a flow and of a comparison. Show them with ``CONFIG``, which removes plotly's upload button.

Examples
--------
>>> figure = bdpcap.plots.figure(flow, "throughput")
>>> figure.show(config=bdpcap.plots.CONFIG)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol, Unpack

from bdpcap.errors import ArgumentError, is_count, of_flow, wanted
from bdpcap.plots import kept
from bdpcap.plots.canvas import CONFIG, Options
from bdpcap.plots.comparison_figure import comparison_figure
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.losses import Losses
from bdpcap.plots.rtt import Samples, rtt
from bdpcap.plots.sequence import Packets, Segments, busiest, sequence
from bdpcap.plots.stalls import Stalls
from bdpcap.plots.still import Still
from bdpcap.plots.throughput import Sent, throughput
from bdpcap.plots.window import Windows, window

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import plotly.graph_objects as go

    from bdpcap.capture import Flow
    from bdpcap.contents import Taker
    from bdpcap.plots.drawing import Drawing


class Draw(Protocol):
    """Type of the functions in `FIGURES`, which draw a flow."""

    def __call__(self, flow: Flow, columns: int = ..., **options: Unpack[Options]) -> Drawing: ...


Kind = Literal["window", "throughput", "rtt", "sequence"]
"""Names of the figures."""

FIGURES: Final[dict[Kind, Draw]] = {
    "window": window,
    "throughput": throughput,
    "rtt": rtt,
    "sequence": sequence,
}


def figure(
    flow: Flow, kind: Kind = "window", columns: int = COLUMNS, **options: Unpack[Options]
) -> go.Figure:
    """
    Draw a flow.

    Parameters
    ----------
    flow
        The flow to draw.
    kind
        ``window``, ``throughput``, ``rtt`` or ``sequence``.
    columns
        Number of time columns; every line keeps its extreme points in each.
    options
        ``start`` and ``end``: the time to draw, in seconds since the capture's first frame; by default the whole flow.
        ``figure``, ``row`` and ``col``: the figure to draw into, and its subplot. Rows and columns count from 1, as in
        ``plotly.subplots.make_subplots``. The title, legend and size of that figure stay as they are.

    Raises
    ------
    ArgumentError
        No figure has that name, the flow does not overlap that time, or ``row`` is given without ``figure``. An argument
        is of another type.

    Examples
    --------
    >>> figure = bdpcap.plots.figure(flow, "rtt")
    >>> figure.layout.title.text
    'Round-trip time'
    """
    return drawing(flow, kind, columns, **options).figure()


def drawing(flow: Flow, kind: Kind, columns: int = COLUMNS, **options: Unpack[Options]) -> Drawing:
    """Return the figure that `figure` draws as a `Drawing`, before plotly checks it."""
    of_flow(flow)
    wanted("columns", columns, "a number, one at least", fits=is_count(columns))
    into = options.get("figure")
    wanted("figure", into, "a figure of plotly", fits=into is None or hasattr(into, "layout"))
    if kind not in FIGURES:
        raise ArgumentError(f"no figure {kind!r}: there are {', '.join(FIGURES)}")
    if options.get("start") is None and options.get("end") is None:
        with reading([flow]) as takers:  # another figure of the flow is often next
            if takers:
                flow.capture._contents.events.give(takers)
    return FIGURES[kind](flow, columns, **options)


def reading(flows: Sequence[Flow]) -> AbstractContextManager[list[Taker]]:
    """Return a context that yields takers of events; after these were given, all figures of the flows can be drawn."""
    return kept.reading((Windows, Losses, Sent, Samples, Segments, Packets, Stalls), flows)


__all__ = ["CONFIG", "FIGURES", "Kind", "Still", "busiest", "comparison_figure", "figure"]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
