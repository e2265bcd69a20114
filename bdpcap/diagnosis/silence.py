"""Facts from a flow's packets that few verdicts need: the longest silence with timeouts, and window probes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.explain import reduced
from bdpcap.explain.reduced import Reduced
from bdpcap.timers import TWO_TIMERS_NS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from bdpcap.capture import Flow
    from bdpcap.contents import Taker

__all__ = ["Silence", "load", "of", "reading"]

_PROBE: Final = _core.KINDS.index("zero-window probe")
_AGAIN: Final = _core.KINDS.index("retransmission")
_TIMED: Final = [_core.CAUSES.index(name) for name in ("timeout", "after timeout")]
_FIN: Final = 1
"""FIN in the flags of a TCP header (RFC 9293 section 3.1)."""
_RST: Final = 4
"""RST in the flags of a TCP header (RFC 9293 section 3.1)."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The longest time that data of a flow waited without an acknowledgment, with a retransmission on timeout."""

    since_ns: int | None = None
    """Time since which data waited for an answer, ns since the epoch; None without such a silence.

    Where an acknowledgment reported all data but a hole, nothing was there to be answered until the timer ran out.
    """
    waited_ns: int = 0
    quiet_ns: int = 0
    """Time from the acknowledgment before it to its end; for a part of it, nothing may have waited."""
    retransmits: int = 0
    """Number of packets retransmitted in it."""
    unanswered_ns: int = 0
    """Time from the first of these retransmissions to the end of the silence."""
    answered_ns: int = 0
    """Time from the last of these retransmissions to the end of the silence."""
    news: bool = False
    """Whether other data than retransmissions were sent in it."""
    last_only: bool = False
    """Whether the acknowledgment at its end covers the last retransmission, and none of the data sent after it before."""
    in_order: bool = False
    """Whether the acknowledgments after it went on from the retransmission to data sent once: nothing was lost."""
    to_end: bool = False
    """Whether no acknowledgment followed it."""
    closed: bool = False
    """Whether the receiver had sent its FIN or a reset before it, and acknowledged nothing new since then."""
    first_frame: int = 0
    """The frame since which data waited: that of the acknowledgment before, or the first with data since then."""
    last_frame: int = 0
    """The frame of the acknowledgment at its end, or the last frame with data."""
    pieces: tuple[int, int] | None = None
    """Bytes that nobody acknowledged in one segment, and the smaller piece at their start that ended the silence.

    The segment was sent again, or it is the hole that the acknowledgment before the silence reported.
    """
    probes: int = 0
    """Number of zero-window probes of the flow, at any time."""

    @property
    def is_after_close(self) -> bool:
        """Whether it is that of a receiver that had closed the connection, and answered nothing more."""
        return self.closed and self.to_end


@dataclass(slots=True)
class _Gap:
    """The time since an acknowledgment; of the data sent since then, only the ends are kept."""

    ack_ns: int | None
    """Time of the acknowledgment; None before the first of all."""
    waiting: bool
    """Whether it left data unacknowledged."""
    closed: bool = False
    """Whether a FIN or a reset came with it, or before it with the same acknowledgment number."""
    hole_only: bool = False
    """Whether it reported that all these data had arrived, but for a hole."""
    hole: tuple[int, int] = (0, 0)
    """First byte and number of bytes of the hole that the acknowledgment reported."""
    ack_frame: int = 0
    sent_ns: int | None = None
    """Time of the first data since then."""
    first_frame: int = 0
    last_frame: int = 0
    again_ns: tuple[int, int] | None = None
    """Times of the first retransmission since then and of the last."""
    again: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    """First byte and number of bytes of the first retransmission since then, and of the last."""
    again_end: int = 0
    """The byte after the last retransmission."""
    retransmits: int = 0
    timed: int = 0
    """Number of the retransmissions on timeout."""
    sends: int = 0
    """Number of packets with data."""

    def add(self, events: _Columns, first: int, beyond: int) -> None:
        """Add the data sent from one event to another, with no acknowledgment between them."""
        sent = np.flatnonzero(events.ends[first:beyond] != _core.NULL) + first
        if not len(sent):
            return
        if self.sent_ns is None:
            self.sent_ns, self.first_frame = int(events.time_ns[sent[0]]), int(events.frame[sent[0]])
        self.last_frame = int(events.frame[sent[-1]])
        self.sends += len(sent)
        again = sent[events.again[sent]]
        if len(again):
            started_ns = self.again_ns[0] if self.again_ns else int(events.time_ns[again[0]])
            start, end = ((int(events.sequence[at]), int(events.length[at])) for at in (again[0], again[-1]))
            self.again = self.again[0] if self.again_ns else start, end
            self.again_ns = started_ns, int(events.time_ns[again[-1]])
            self.again_end = int(events.ends[again[-1]])
            self.retransmits += len(again)
            self.timed += int(np.count_nonzero(events.timed[again]))

    def pieces(self) -> tuple[int, int] | None:
        """Return the bytes of a segment, and of a smaller last retransmission that begins with them; else None."""
        (first, whole), (last, piece) = self.again
        if first == last and piece < whole:
            return whole, piece
        first, whole = self.hole
        return (whole, piece) if first == last and piece < whole else None

    def silence(self, end_ns: int) -> Silence:
        """Return the time until `end_ns` as a silence; an empty one without a retransmission on timeout."""
        if not self.timed or self.again_ns is None or self.sent_ns is None:
            return Silence()
        quiet_since_ns = self.sent_ns if self.ack_ns is None else self.ack_ns
        # A longer wait than that of a timer shows that earlier retransmissions were lost before the capture.
        waited = self.waiting and not (self.hole_only and self.sent_ns - quiet_since_ns < TWO_TIMERS_NS)
        since_ns = quiet_since_ns if waited else self.sent_ns
        return Silence(
            since_ns=since_ns,
            waited_ns=end_ns - since_ns,
            quiet_ns=end_ns - quiet_since_ns,
            retransmits=self.retransmits,
            closed=self.closed,
            unanswered_ns=end_ns - self.again_ns[0],
            answered_ns=end_ns - self.again_ns[1],
            news=self.sends > self.retransmits,
            first_frame=self.ack_frame if waited else self.first_frame,
            last_frame=self.last_frame,
        )


class _Columns:
    """A flow's next events: which sent data, and up to which byte all of them so far did."""

    def __init__(self, events: dict[str, NDArray[Any]], sent_to: int) -> None:
        length, flags = events["length"], events["tcp_flags"]
        fin = flags & _FIN != 0
        self.time_ns, self.frame, self.acknowledged = (
            events[name] for name in ("time_ns", "frame", "acknowledged")
        )
        self.acks = np.flatnonzero(length == _core.NULL)
        self.closing = self.acks[flags[self.acks] & (_FIN | _RST) != 0]
        self.sequence, self.length = events["sequence"], length
        self.sacked = events["sack_start"] != _core.NULL
        self.sacked_from = events["sack_start"]
        self.sacked_to = events["sack_end"]
        self.again = events["kind"] == _AGAIN
        self.timed = np.isin(events["cause"], _TIMED)
        data = (length > 0) | (length != _core.NULL) & fin
        # The byte after each packet's data; NULL is the least integer.
        self.ends = np.where(data, events["sequence"] + length + fin, _core.NULL)
        self.sent_to = np.maximum.accumulate(np.append(sent_to, self.ends))[1:]

    def goes_on(self, ack: int) -> bool:
        """Return whether the next packet acknowledges more: data that had arrived before (RFC 5682 section 2.1)."""
        following = ack + 1
        acknowledges = following < len(self.length) and self.length[following] == _core.NULL
        return bool(acknowledges and self.acknowledged[following] > self.acknowledged[ack])


class _Acknowledgments(Reduced):
    """The longest silence, counted as events come."""

    names = (
        "time_ns",
        "frame",
        "sequence",
        "length",
        "acknowledged",
        "tcp_flags",
        "kind",
        "cause",
        "sack_start",
        "sack_end",
    )

    def __init__(self, flow: Flow) -> None:
        """Begin without events; the last silence lasts until the flow's end."""
        self._end_ns = int(flow.summary["end_ns"])
        self._longest = Silence()
        self._probes = 0
        self._sent_to = int(_core.NULL)
        self._gap = _Gap(None, waiting=False)
        self._acknowledged_at_close = int(_core.NULL)

    def take(self, events: dict[str, NDArray[Any]]) -> None:
        """Take the next events as the core's columns."""
        self._probes += int(np.count_nonzero(events["kind"] == _PROBE))
        if not len(events["time_ns"]):
            return
        made = _Columns(events, self._sent_to)
        acks, count = made.acks.tolist(), len(made.time_ns)
        if len(made.closing) and self._acknowledged_at_close == _core.NULL:
            self._acknowledged_at_close = int(made.acknowledged[made.closing[0]])
        self._gap.add(made, 0, acks[0] if acks else count)
        if acks:
            self._end(made, acks[0])
            timed = np.searchsorted(np.flatnonzero(made.timed), made.acks)
            for place in np.flatnonzero(np.diff(timed)).tolist():
                first, last = acks[place], acks[place + 1]
                if made.time_ns[last] - made.time_ns[first] > self._longest.waited_ns:
                    self._begin(made, first, last)
                    self._end(made, last)
            self._begin(made, acks[-1], count)
        self._sent_to = int(made.sent_to[-1])

    def _begin(self, made: _Columns, ack: int, beyond: int) -> None:
        """Begin a gap at an acknowledgment, with the data sent until `beyond`."""
        sent_to = made.sent_to[ack]
        self._gap = _Gap(
            int(made.time_ns[ack]),
            waiting=bool(sent_to > made.acknowledged[ack]),
            closed=int(made.acknowledged[ack]) == self._acknowledged_at_close,
            hole_only=bool(made.sacked_to[ack] == sent_to),
            hole=(int(made.acknowledged[ack]), int(made.sacked_from[ack] - made.acknowledged[ack]))
            if made.sacked[ack]
            else (0, 0),
            ack_frame=int(made.frame[ack]),
        )
        self._gap.add(made, ack + 1, beyond)

    def _end(self, made: _Columns, ack: int) -> None:
        """End the gap at an acknowledgment, and keep its silence if it is the longest."""
        found = self._gap.silence(int(made.time_ns[ack]))
        if found.waited_ns > self._longest.waited_ns:
            reached = int(made.acknowledged[ack])
            alone = self._gap.again_end == reached < int(made.sent_to[ack]) and not made.sacked[ack]
            in_order = made.goes_on(ack)
            self._longest = replace(
                found,
                last_only=alone and not in_order,
                in_order=alone and in_order,
                last_frame=int(made.frame[ack]),
                pieces=self._gap.pieces() if self._gap.again_end == reached else None,
            )

    @property
    def longest(self) -> Silence:
        """The longest silence, the time after the last acknowledgment included."""
        last = self._gap.silence(self._end_ns)
        if last.waited_ns > self._longest.waited_ns:
            return replace(last, to_end=True, probes=self._probes)
        return replace(self._longest, probes=self._probes)


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
