"""The events of flows as figures keep them: read in one pass, and reduced as they come."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from bdpcap.explain import reduced
from bdpcap.explain.reduced import Reduced
from bdpcap.plots.decimate import COLUMNS
from bdpcap.plots.time_axis import axis_of, origin_ns, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.contents import Taker
    from bdpcap.plots.decimate import Axis

__all__ = ["Kept", "Read", "of", "read", "reading"]


class Kept(Reduced):
    """The events of a flow as a figure keeps them; their size depends on the figure's time columns."""

    def __init__(self, flow: Flow, axis: Axis, columns: int) -> None:
        """Begin without events; `names` of a subclass include ``time_ns``."""
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


def reading(
    kinds: Iterable[type[Kept]], flows: Sequence[Flow], columns: int = COLUMNS
) -> AbstractContextManager[list[Taker]]:
    """Return a context of takers of these flows' events, after which the flows can be drawn whole."""
    return reduced.reading(
        [
            (flow, kind(flow, axis_of(flow), columns))
            for flow in flows
            for kind in kinds
            if _whole(kind, flow, columns) is None
        ]
    )


class Read:
    """The events of a flow in the ways that one figure keeps them."""

    def __init__(self, kept: Iterable[Kept]) -> None:
        """Take one of each kind."""
        self._kept: Final = {type(one): one for one in kept}

    def of(self, kind: type[Some]) -> Some:
        """Return the events as this kind keeps them."""
        return cast("Some", self._kept[kind])


def read(kinds: Iterable[type[Kept]], flow: Flow, axis: Axis, columns: int) -> Read:
    """Return a flow's events as a figure of so many time columns needs them; one pass reads those that are not known."""
    whole = axis == axis_of(flow)
    fine = COLUMNS if COLUMNS % columns == 0 else columns
    known = {kind: _whole(kind, flow, columns) if whole else None for kind in kinds}
    missing = [kind(flow, axis, fine) for kind, kept in known.items() if kept is None]
    if missing:
        with reduced.reading([(flow, kept) for kept in missing] if whole else []):
            flow.capture._contents.events.give([(flow, kept.take, kept.names) for kept in missing])
    return Read([*missing, *(kept for kept in known.values() if kept is not None)])


def of(kind: type[Some], flow: Flow, axis: Axis, columns: int) -> Some:
    """Return a flow's events as `read` does, of one kind."""
    return read([kind], flow, axis, columns).of(kind)


def _whole(kind: type[Some], flow: Flow, columns: int) -> Some | None:
    """Return the events of the whole flow, if they are known as finely as a figure of so many time columns needs."""
    kept = reduced.known(kind, flow)
    return kept if kept and kept.columns % columns == 0 else None
