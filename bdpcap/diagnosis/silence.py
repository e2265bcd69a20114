"""Facts from a flow's packets that few verdicts need: the longest silence with timeouts, and window probes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from bdpcap import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bdpcap.capture import Capture, Flow, Taker

__all__ = ["Silence", "load", "of", "reading"]

_NAMES: Final = ("time_ns", "length", "kind", "cause")
_PROBE: Final = _core.KINDS.index("zero-window probe")
_TIMED: Final = [_core.CAUSES.index(name) for name in ("timeout", "after timeout")]


class Silence:
    """The longest time without an acknowledgment in which data were retransmitted on timeout, counted as events come."""

    def __init__(self, end_ns: int) -> None:
        """Begin without events; the last silence lasts until `end_ns`, ns since the epoch."""
        self.since_ns: int | None = None
        """Time of the acknowledgment before it, ns since the epoch; None without such a silence."""
        self.lasted_ns = 0
        self.retransmits = 0
        """Number of packets retransmitted on timeout in it."""
        self.unanswered_ns = 0
        """Time from the first of these retransmissions to the end of the silence."""
        self.to_end = False
        """Whether no acknowledgment followed it."""
        self.probes = 0
        """Number of zero-window probes of the flow, at any time."""
        self._end_ns = end_ns
        self._last_ns: int | None = None
        """Time of the last acknowledgment so far; before the first of all there is no silence."""
        self._timed_ns: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Times of the retransmissions on timeout since then."""

    def take(self, events: dict[str, NDArray[Any]]) -> None:
        """Take the next events as the core's columns."""
        self.probes += int(np.count_nonzero(events["kind"] == _PROBE))
        times_ns = events["time_ns"]
        acks = np.flatnonzero(events["length"] == _core.NULL)
        timed = np.flatnonzero(np.isin(events["cause"], _TIMED))
        timed_ns = np.concatenate((self._timed_ns, times_ns[timed]))
        if len(acks):
            # Gap by gap: how many of these retransmissions precede its end.
            until = len(self._timed_ns) + np.searchsorted(timed, acks)
            ends_ns = times_ns[acks]
            first_ns = ends_ns[0] if self._last_ns is None else self._last_ns
            self._compare(np.append(first_ns, ends_ns), until, timed_ns)
            self._last_ns, timed_ns = int(ends_ns[-1]), timed_ns[until[-1] :]
        self._timed_ns = timed_ns

    def _compare(
        self, times_ns: NDArray[np.int64], until: NDArray[np.int64], timed_ns: NDArray[np.int64]
    ) -> bool:
        """
        Compare the times between acknowledgments with the longest so far; return whether one of them is longer.

        `until` has, for the end of each, the number of retransmissions of `timed_ns` before it.
        """
        since = np.append(0, until[:-1])
        lasted_ns = np.where(until > since, np.diff(times_ns), 0)
        place = int(lasted_ns.argmax())
        if lasted_ns[place] <= self.lasted_ns:
            return False
        self.since_ns, self.lasted_ns = int(times_ns[place]), int(lasted_ns[place])
        self.retransmits = int(until[place] - since[place])
        self.unanswered_ns = int(times_ns[place + 1] - timed_ns[since[place]])
        return True

    def finish(self) -> Silence:
        """Take the time after the last acknowledgment into account; return the silence."""
        if self._last_ns is not None:
            times_ns = np.array([self._last_ns, self._end_ns])
            self.to_end = self._compare(times_ns, np.array([len(self._timed_ns)]), self._timed_ns)
        return self


_READ: Final[WeakKeyDictionary[Capture, dict[tuple[int, str], Silence]]] = WeakKeyDictionary()


@contextmanager
def reading(flows: Sequence[Flow]) -> Iterator[list[Taker]]:
    """Yield the takers of these flows' events, for `Capture.give_events`; afterwards their silences are known."""
    missing = {
        (flow.stream, flow.sender): (flow, Silence(int(flow.summary["end_ns"])))
        for flow in flows
        if (flow.stream, flow.sender) not in _READ.get(flow.capture, {})
    }
    yield [(flow, silence.take, _NAMES) for flow, silence in missing.values()]
    for key, (flow, silence) in missing.items():
        _READ.setdefault(flow.capture, {})[key] = silence.finish()


def load(flows: Sequence[Flow]) -> None:
    """Read the silences of flows of one capture in one pass, if they are not known."""
    with reading(flows) as takers:
        if takers:
            flows[0].capture.give_events(takers)


def of(flow: Flow) -> Silence | None:
    """Return the silence of a flow; None if the packets of a pipe are gone."""
    try:
        load([flow])
    except _core.CaptureError:
        return None
    return _READ[flow.capture][flow.stream, flow.sender]
