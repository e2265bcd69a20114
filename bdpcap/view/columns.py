"""The events of one flow as compact columns, in the order of their times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.plots import marks
from bdpcap.plots.rtt import SMOOTHED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["EVENT_BYTES", "KEPT", "Columns", "Line"]

KEPT: Final = (
    "time_ns", "frame", "kind", "cause", "tcp_flags", "sequence", "length", "acknowledged", "window_bytes",
    "in_flight_bytes", "rtt_ns", "sack_start", "sack_end",
)  # fmt: skip
"""The core's columns that the figures show."""
EVENT_BYTES: Final = 10 * 8 + 3 + 8 + 9 * 4
"""Most bytes of an event: ten numbers, three codes, the smoothed RTT, and its places in nine lines."""

_MARKED: Final = np.array([kind not in marks.PLAIN and not marks.of(kind).common for kind in _core.KINDS])
"""For each kind of event, whether it has a mark that is never left out of the legend."""
_ENDS: Final = sum(flag for flag, mark in marks.BY_FLAG.items() if not mark.common)
"""TCP flags whose mark is never left out of the legend."""


@dataclass(frozen=True)
class Line:
    """One quantity of the events: the events that have it, and its value in each."""

    places: NDArray[np.uint32]
    """Ascending indices of events, shape (n,)."""
    columns: tuple[str, ...]
    """Names of the columns whose sum is the value."""


@dataclass(frozen=True)
class Columns:
    """Events of one flow."""

    by_name: Mapping[str, NDArray[Any]]
    """The columns `KEPT` and `SMOOTHED`, each of shape (n,)."""

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.by_name["time_ns"])

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """Times in ns since the epoch, ascending."""
        return self.by_name["time_ns"]

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The quantities that the figures draw, with the events that have them."""
        known = {
            name: self.by_name[name] != _core.NULL
            for name in KEPT
            if name not in ("kind", "cause", "tcp_flags")
        }
        sent = known["sequence"]
        returned = ~sent & known["acknowledged"]
        lines = [
            (known["in_flight_bytes"], ("in_flight_bytes",)),
            (known["window_bytes"], ("window_bytes",)),
            (known["rtt_ns"], ("rtt_ns",)),
            (known["rtt_ns"], (SMOOTHED,)),
            (sent, ("sequence",)),
            (sent, ("sequence", "length")),
            (returned, ("acknowledged",)),
            (returned & known["window_bytes"], ("acknowledged", "window_bytes")),
            (known["sack_start"], ("sack_start",)),
            (known["sack_end"], ("sack_end",)),
        ]
        for kind in np.flatnonzero(_MARKED):
            of_kind = self.by_name["kind"] == kind
            for cause in range(len(_core.CAUSES)):
                own = of_kind & (self.by_name["cause"] == cause)
                lines.append((own & sent, ("sequence",)))
                lines.append((own & returned, ("acknowledged",)))
        lines.append((sent & (self.by_name["tcp_flags"] & _ENDS > 0), ("sequence",)))
        return tuple(
            Line(np.flatnonzero(where).astype(np.uint32), names) for where, names in lines if where.any()
        )

    def between(self, start_ns: int, end_ns: int) -> slice:
        """Return the place of the events from a time to another, both included."""
        return slice(
            int(self.time_ns.searchsorted(start_ns)), int(self.time_ns.searchsorted(end_ns, side="right"))
        )

    def chosen(self, places: NDArray[np.integer]) -> Columns:
        """Return the events at some places."""
        return Columns({name: values[places] for name, values in self.by_name.items()})
