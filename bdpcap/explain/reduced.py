"""The events of flows, reduced as they are read, and remembered while their capture lives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, cast
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bdpcap.capture import Capture, Flow
    from bdpcap.contents import Taker

__all__ = ["Reduced", "known", "reading"]


class Reduced(ABC):
    """The kept part of a flow's events. Its size does not depend on their number, and it must not refer to the flow."""

    names: ClassVar[tuple[str, ...]]
    """The core's columns of events that it needs."""

    @abstractmethod
    def take(self, events: dict[str, NDArray[Any]]) -> None:
        """Take the next events of the flow as the core's columns."""


Some = TypeVar("Some", bound=Reduced)

_KNOWN: Final[WeakKeyDictionary[Capture, dict[tuple[int, str, type[Reduced]], Reduced]]] = WeakKeyDictionary()
"""By capture; there by stream, sender and type."""


def known(kind: type[Some], flow: Flow) -> Some | None:
    """Return the part of a flow's events that was kept; None if they were not read for it."""
    return cast("Some | None", _KNOWN.get(flow.capture, {}).get((flow.stream, flow.sender, kind)))


@contextmanager
def reading(missing: Sequence[tuple[Flow, Reduced]]) -> Iterator[list[Taker]]:
    """Yield the takers of these flows' events, for `EventReader.give`; afterwards they are known."""
    yield [(flow, reduced.take, reduced.names) for flow, reduced in missing]
    for flow, reduced in missing:
        _KNOWN.setdefault(flow.capture, {})[flow.stream, flow.sender, type(reduced)] = reduced
