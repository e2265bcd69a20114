"""Figures that stand still, for notebooks that are read where no script runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.errors import wanted
from bdpcap.plots.svg import svg

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["Still"]


class Still:
    """A figure of a flow as an SVG picture, which a notebook shows; ``str`` gives the picture.

    Parameters
    ----------
    figure
        A figure of `Flow.plot`.
    label
        Description for screen readers; by default the figure's title.

    Examples
    --------
    >>> str(bdpcap.plots.Still(flow.plot()))[:18]
    '<svg class="still"'
    """

    def __init__(self, figure: go.Figure, label: str | None = None) -> None:
        wanted("figure", figure, "a figure, such as flow.plot()", fits=hasattr(figure, "layout"))
        self._label: Final = label or str(figure.layout.title.text)
        self._picture: Final = svg(figure, self._label)

    def __repr__(self) -> str:
        return f"<Still: {self._label}>"

    def __str__(self) -> str:
        return self._picture

    def _repr_svg_(self) -> str:
        return self._picture
