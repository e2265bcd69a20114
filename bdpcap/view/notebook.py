"""The linked figures of a flow as a widget, in which each zoom draws the events of its time."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

import ipywidgets
import plotly.graph_objects as go

from bdpcap.view.figure import FREE_AXIS, Span, draw, whole
from bdpcap.view.packet import packet
from bdpcap.view.seen import Seen
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["View"]

_Range = tuple[float, float] | None


class View(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """
    The figures of a flow in a notebook. Another time is drawn after a zoom, and a click on a packet names its frame.

    Parameters
    ----------
    flow
        The flow.

    Attributes
    ----------
    figure : plotly.graph_objects.FigureWidget
        The figure; its ``layout.xaxis.range`` is the time shown, in seconds since the capture's first frame.
    shown : ipywidgets.HTML
        What the figure shows: its time and the number of events.
    packet : ipywidgets.HTML
        The packet that was clicked on, with Wireshark's display filters.
    """

    def __init__(self, flow: Flow) -> None:
        self._seen: Final = Seen(flow)
        self._drawing = False
        self.figure: Final = go.FigureWidget()
        self.shown: Final = ipywidgets.HTML()
        self.packet: Final = ipywidgets.HTML()
        super().__init__([self.shown, self.figure, self.packet])
        self._draw(whole(flow))
        self.figure.layout.on_change(self._move, "xaxis.range", "xaxis.autorange", f"{FREE_AXIS}.range")
        self.figure.observe(self._fit, "_view_count")

    def _fit(self, views: dict[str, Any]) -> None:
        """Fit the figure to the page after it is shown: plotly drew it before it had a place, 700 pixels wide."""
        if views["new"]:
            for automatic in (None, True):  # an unchanged value is not sent
                self.figure.layout.autosize = automatic

    def _draw(self, span: Span) -> None:
        drawing, said = draw(self._seen, span)
        made = drawing.figure()
        self._drawing = True
        try:
            with self.figure.batch_update():
                self.figure.data = ()
                self.figure.add_traces(made.data)
                self.figure.layout.update(made.layout, overwrite=True)
        finally:
            self._drawing = False
        # Views that are shown follow. A later one shows the figure's state, which plotly sends of a lone figure only.
        self.figure._repr_mimebundle_()
        self._sequence: _Range = self.figure.layout[FREE_AXIS].range
        for trace in self.figure.data:
            trace.on_click(self._click)
        self.shown.value = html.escape(said)

    def _move(self, _layout: Any, time: _Range, automatic: bool | None, sequence: _Range) -> None:
        if not self._drawing:
            flow = self._seen.flow
            chosen = None if sequence == self._sequence else sequence
            self._draw(whole(flow) if automatic or not time else Span(*time, chosen).within(flow))

    def _click(self, trace: Any, points: Any, _state: Any) -> None:
        if points.point_inds and trace.customdata is not None:
            value = trace.customdata[points.point_inds[0]]
            found = packet(self._seen.flow, int(value[0] if value.ndim else value))
            filters = " ".join(f"<code>{html.escape(text)}</code>" for text in found.filters)
            self.packet.value = f"<b>{html.escape(units.printable(found.where))}</b> {filters}"
