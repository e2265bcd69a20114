"""The flows of a capture that can be viewed; the events of one of them are in memory."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.report import ranking
from bdpcap.view.figure import Span, draw, whole
from bdpcap.view.seen import Seen
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture, Flow
    from bdpcap.plots.drawing import Drawing

__all__ = ["LISTED", "Viewer"]

LISTED: Final = 1000
"""Maximum number of flows to choose from, as in the report's table."""


class Viewer:
    """
    The flows of a capture in the order of its report; a flow has its place in this order.

    Parameters
    ----------
    capture
        The capture.
    flow
        The flow that is shown first.
    """

    def __init__(self, capture: Capture, flow: Flow) -> None:
        self.capture: Final = capture
        flows = ranking.ordered(capture)
        places = ((flows["stream"] == flow.stream) & (flows["sender"] == flow.sender)).to_numpy().nonzero()[0]
        place = int(places[0])
        listed = list(range(min(LISTED, len(flows))))
        self._flows: Final = flows.iloc[listed if place < LISTED else [*listed, place]]
        self.first: Final = min(place, LISTED)
        """Place of the flow that is shown first."""
        self._lock: Final = Lock()
        self._seen: Seen | None = None
        self._place = self.first

    @property
    def labels(self) -> list[str]:
        """A line for each flow: its stream, its ends, its bytes and its limit."""
        return [_label(flow) for _, flow in self._flows.iterrows()]

    def flow(self, place: int) -> Flow:
        """Return a flow by its place."""
        return ranking.listed(self.capture, self._flows.iloc[[place]])[0]

    def draw(self, place: int, span: Span | None = None) -> tuple[Drawing, str]:
        """Return a flow's figure and a sentence on it; without a span, that of the whole flow.

        The events of the flow are read if another flow was drawn before.
        """
        with self._lock:
            if self._seen is None or self._place != place:
                self._seen = None  # frees the events of the other flow
                self._seen, self._place = Seen(self.flow(place)), place
            flow = self._seen.flow
            return draw(self._seen, whole(flow) if span is None else span.within(flow))


def _label(flow: pd.Series) -> str:
    limit = str(flow["limit"])
    return (
        f"stream {flow['stream']}: {flow['sender']} → {flow['receiver']}, {units.data_size(flow['payload_bytes'])}, "
        f"{LIMIT_NAMES[limit]} {units.share(flow[f'{limit}_share'])}"
    )
