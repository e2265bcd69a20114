"""The events of flows as figures keep them: read in one pass, and reduced as they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from bdpcap.plots.canvas import axis_of, origin_ns, seconds
from bdpcap.plots.decimate import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bdpcap.capture import Capture, Flow, Taker
    from bdpcap.plots.decimate import Axis

__all__ = ["Kept", "of", "reading"]


class Kept(ABC):
    """The events of a flow as a figure keeps them. Their size depends on the figure's time columns, not on the events."""

    names: ClassVar[tuple[str, ...]]
    """The core's columns of events that it needs, with ``time_ns``."""

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        """Begin without events; a subclass must not keep `flow`."""
        self.axis: Final = axis
        self.columns: Final = columns
        self._origin_ns = origin_ns(flow)

    def take(self, events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow as the core's columns."""
        self.add(seconds(events["time_ns"], self._origin_ns), events)

    @abstractmethod
    def add(self, x: NDArray[np.float64], events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow; `x` has their times on the axis."""


Some = TypeVar("Some", bound=Kept)

_KEPT: Final[WeakKeyDictionary[Capture, dict[tuple[int, str, type[Kept]], Kept]]] = WeakKeyDictionary()
"""Events kept of flows that are drawn whole, by stream, sender and type."""


@contextmanager
def reading(
    kinds: Iterable[type[Kept]], flows: Sequence[Flow], columns: int = COLUMNS
) -> Iterator[list[Taker]]:
    """Yield the takers of these flows' events, for `Capture.give_events`; afterwards the flows can be drawn whole."""
    wanted = {
        (flow.stream, flow.sender, kind): (flow, kind(flow, axis_of(flow), columns))
        for flow in flows
        for kind in kinds
        if not _fits(_KEPT.get(flow.capture, {}).get((flow.stream, flow.sender, kind)), columns)
    }
    yield [(flow, kept.take, kept.names) for flow, kept in wanted.values()]
    for key, (flow, kept) in wanted.items():
        _KEPT.setdefault(flow.capture, {})[key] = kept


def of(kind: type[Some], flow: Flow, axis: Axis, columns: int) -> Some:
    """Return a flow's events as a figure of so many time columns needs them, read now unless they are known."""
    fine = COLUMNS if COLUMNS % columns == 0 else columns
    key = flow.stream, flow.sender, kind
    if axis != axis_of(flow):
        kept = kind(flow, axis, fine)
        flow.capture.give_events([(flow, kept.take, kept.names)])
        return kept
    if not _fits(_KEPT.get(flow.capture, {}).get(key), columns):
        with reading([kind], [flow], fine) as takers:
            flow.capture.give_events(takers)
    return cast("Some", _KEPT[flow.capture][key])


def _fits(kept: Kept | None, columns: int) -> bool:
    """Return whether a figure of so many time columns can be drawn of this."""
    return kept is not None and kept.columns % columns == 0
