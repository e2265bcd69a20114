"""Facts from a flow's packets that few verdicts need: the longest silence with timeouts, and window probes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.explain import reduced
from bdpcap.explain.reduced import Reduced

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.contents import Taker

__all__ = ["Silence", "load", "of", "reading"]

_PROBE: Final = _core.KINDS.index("zero-window probe")
_TIMED: Final = [_core.CAUSES.index(name) for name in ("timeout", "after timeout")]


@dataclass(frozen=True, slots=True)
class Silence:
    """The longest time without an acknowledgment of a flow in which data were retransmitted on timeout."""

    since_ns: int | None = None
    """Time of the acknowledgment before it, ns since the epoch; None without such a silence."""
    lasted_ns: int = 0
    retransmits: int = 0
    """Number of packets retransmitted on timeout in it."""
    unanswered_ns: int = 0
    """Time from the first of these retransmissions to the end of the silence."""
    to_end: bool = False
    """Whether no acknowledgment followed it."""
    probes: int = 0
    """Number of zero-window probes of the flow, at any time."""


class _Acknowledgments(Reduced):
    """The longest silence, counted as events come."""

    names = ("time_ns", "length", "kind", "cause")

    def __init__(self, flow: Flow) -> None:
        """Begin without events; the last silence lasts until the flow's end."""
        self._end_ns = int(flow.summary["end_ns"])
        self._longest = Silence()
        self._probes = 0
        self._last_ns: int | None = None
        """Time of the last acknowledgment so far; before the first of all there is no silence."""
        self._first_ns: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Time of the first retransmission on timeout since then; empty without one."""
        self._further = 0
        """Number of the retransmissions on timeout after that one."""

    def take(self, events: dict[str, NDArray[Any]]) -> None:
        """Take the next events as the core's columns."""
        self._probes += int(np.count_nonzero(events["kind"] == _PROBE))
        times_ns = events["time_ns"]
        acks = np.flatnonzero(events["length"] == _core.NULL)
        timed = np.flatnonzero(np.isin(events["cause"], _TIMED))
        timed_ns = np.concatenate((self._first_ns, times_ns[timed]))
        if len(acks):
            # Gap by gap: where its retransmissions begin, and how many they are.
            until = len(self._first_ns) + np.searchsorted(timed, acks)
            starts = np.append(0, until[:-1])
            counts = until - starts
            counts[0] += self._further
            ends_ns = times_ns[acks]
            since_ns = ends_ns[0] if self._last_ns is None else self._last_ns
            self._longest = _longer(self._longest, np.append(since_ns, ends_ns), counts, timed_ns, starts)
            self._last_ns, timed_ns, self._further = int(ends_ns[-1]), timed_ns[until[-1] :], 0
        self._further += max(0, len(timed_ns) - 1)
        self._first_ns = timed_ns[:1]

    @property
    def longest(self) -> Silence:
        """The longest silence, the time after the last acknowledgment included."""
        last = self._longest
        if self._last_ns is not None:
            times_ns = np.array([self._last_ns, self._end_ns])
            counts = np.array([len(self._first_ns) + self._further])
            last = _longer(last, times_ns, counts, self._first_ns, np.array([0]))
        return replace(last, to_end=last is not self._longest, probes=self._probes)


def _longer(
    than: Silence,
    times_ns: NDArray[np.int64],
    counts: NDArray[np.int64],
    timed_ns: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> Silence:
    """
    Return the longest time between acknowledgments if it is longer than a silence, else that silence.

    `counts` has the number of retransmissions in each, of which the first is at ``timed_ns[starts]``.
    """
    lasted_ns = np.where(counts > 0, np.diff(times_ns), 0)
    place = int(lasted_ns.argmax())
    if lasted_ns[place] <= than.lasted_ns:
        return than
    return Silence(
        since_ns=int(times_ns[place]),
        lasted_ns=int(lasted_ns[place]),
        retransmits=int(counts[place]),
        unanswered_ns=int(times_ns[place + 1] - timed_ns[starts[place]]),
    )


def reading(flows: Sequence[Flow]) -> AbstractContextManager[list[Taker]]:
    """Return a context of takers of these flows' events, after which their silences are known."""
    return reduced.reading(
        [(flow, _Acknowledgments(flow)) for flow in flows if reduced.known(_Acknowledgments, flow) is None]
    )


def load(flows: Sequence[Flow]) -> None:
    """Read the silences of flows of one capture in one pass, if they are not known."""
    with reading(flows) as takers:
        if takers:
            flows[0].capture._contents.events.give(takers)


def of(flow: Flow) -> Silence | None:
    """Return the silence of a flow; None if the packets of a pipe are gone."""
    try:
        load([flow])
    except _core.CaptureError:
        return None
    read = reduced.known(_Acknowledgments, flow)
    return None if read is None else read.longest
