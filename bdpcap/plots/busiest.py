"""The short time in which a flow has the most packets, found as its events come, with the events around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.plots.pixels import above

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.plots.decimate import Rows

__all__ = ["Busiest"]

SPANS: Final = [factor / 10**power for power in range(7) for factor in (1, 0.5, 0.2)]
"""Times in seconds, the longest first; the first that holds few enough packets is chosen."""
AROUND: Final = 200
"""Events that are kept before and after that time, at whose values lines enter and leave; a choice."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The time from one event on that holds the most events so far."""

    start: float
    events: int
    rows: Rows
    """The events, and those around them."""
    open: bool
    """Whether events that follow may belong to it, or around it."""


class Busiest:
    """
    The time with the most packets of a flow; data and acknowledgments count.

    Parameters
    ----------
    born, gone
        Start and end of the flow, in seconds since the capture's first frame. Times outside do not count: a clock may
        have been set back.
    most
        Maximum number of packets. If the busiest second has more, the busiest 500 ms are chosen, or 200 ms, and so on.
        By a clock that stands still, more packets may share the shortest time.
    """

    def __init__(self, born: float, gone: float, most: int) -> None:
        self._born, self._gone, self._most = born, gone, most
        self._found: dict[float, _Window | None] = dict.fromkeys(SPANS)
        self._latest = -np.inf
        self._carried: Rows | None = None
        self.events = 0
        """Number of events of the flow."""

    def add(self, rows: Rows) -> None:
        """Take the next events of the flow, as arrays of one length; ``x`` has their times."""
        count = len(rows["x"])
        rows = {**rows, "number": np.arange(self.events, self.events + count)}
        self.events += count
        if self._carried is not None:
            rows = {name: np.concatenate((self._carried[name], values)) for name, values in rows.items()}
        x = rows["x"]
        living = np.flatnonzero((x >= self._born) & (x <= self._gone))
        order = living[np.argsort(x[living], kind="stable")]
        time = x[order]
        if len(time):
            self._latest = max(self._latest, float(time[-1]))
            for span in SPANS:
                if span in self._found:
                    self._look(span, time, order, rows)
            # A window that is still open begins at one of these events, or later.
            begin = time.searchsorted(time[-AROUND:][0] - next(iter(self._found))) - 1 - AROUND
            order = order[max(0, begin, len(order) - self._most - 4 * AROUND) :]
            order.sort()
        self._carried = {name: values[order] for name, values in rows.items()}

    def _look(self, span: float, time: NDArray[np.float64], order: NDArray[np.intp], rows: Rows) -> None:
        """Look for a window of this length with more events than were found before."""
        until = time + span
        if span != SPANS[-1] and (time[self._most :] <= until[: -self._most]).any():
            del self._found[span]
            return
        known = self._found[span]
        starts = np.zeros(0, dtype=np.intp)
        if known and known.open:
            starts = np.flatnonzero(time == known.start)[:1]
        events = known.events if known else 0
        more = np.flatnonzero(time[events:] <= until[: max(0, len(until) - events)])
        starts = more if len(more) else starts
        if not len(starts):
            return
        held = time.searchsorted(until[starts], side="right") - starts
        at = int(held.argmax())
        first, beyond = int(starts[at]), int(starts[at] + held[at]) + AROUND
        chosen = np.sort(order[max(0, first - AROUND) : beyond])
        self._found[span] = _Window(
            float(time[first]),
            int(held[at]),
            {name: values[chosen] for name, values in rows.items()},
            beyond > len(time),
        )

    @property
    def span(self) -> tuple[float, float]:
        """Start and end of the time, in seconds since the capture's first frame."""
        length, window = next(iter(self._found.items()))
        if window is None:
            return self._born, max(self._gone, above(self._born, SPANS[-1]))
        end = min(window.start + length, self._latest)
        return window.start, max(end, above(window.start, SPANS[-1]))

    @property
    def rows(self) -> Rows | None:
        """The events of that time and some around it, each with its number in the flow; None if there are too many."""
        window = next(iter(self._found.values()))
        return window.rows if window and window.events <= self._most else None
