"""Places of losses: before the sender's tap, between the taps, after the receiver's tap, or in a capture only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.pairing.passages import NONE
from bdpcap.tables import Column, frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from bdpcap.pairing.passages import Acknowledgments, Packets, Passages

__all__ = ["LOSSES", "PLACES", "Crossing", "losses"]

PLACES: Final = ("before", "between", "after", "near capture", "far capture", "duplicated")

LOSSES: Final[dict[str, Column]] = {
    "stream": Column("int64", "stream in the sender's capture"),
    "sender": Column("str", "address:port that sent the bytes, as in the sender's capture"),
    "time_ns": Column(
        "int64", "when they passed the first capture, or were missed there; the sender's clock"
    ),
    "place": Column(
        "str",
        "before: lost on the way to the capture next to their sender; between: seen there and not in the other; after: "
        "seen in both and not taken by the receiver; near capture, far capture: delivered, and missed by the capture "
        "next to their sender or by the other; duplicated: passed the other capture once more than the first",
        PLACES,
    ),
    "sequence": Column("int64", "first of the bytes, relative, as in the sender's capture"),
    "length": Column("int64", "how many bytes; SYN and FIN count as one"),
    "near_frame": Column("Int64", "frame in the capture next to their sender; null where that lacks it"),
    "far_frame": Column("Int64", "frame in the other capture; null where that lacks it"),
}
"""Columns of the table of losses, with one row for the bytes that one packet lost."""


@dataclass(frozen=True)
class Crossing:
    """A direction of a connection at the tap next to its sender (near), and at the other tap (far)."""

    near: Packets
    far: Packets
    near_acks: Acknowledgments
    far_acks: Acknowledgments
    passages: Passages
    arrival_ns: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    """Function from times at the near tap to the earliest times at which those packets pass the far tap."""
    departure_ns: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    """Function from times at the far tap to the latest times at which those packets passed the near tap."""
    near_span: tuple[int, int]
    far_span: tuple[int, int]
    """First and last time of each capture, by the capture's clock."""
    turn_ns: int
    """Smallest time from the far tap to the receiver and back; 0 if unknown."""
    has_sack: bool
    """Whether the receiver sent a SACK block."""

    @cached_property
    def most_ns(self) -> int:
        """Largest delay of a packet beyond its earliest arrival: packets so close to a capture's edge may be missing."""
        both = (self.passages.near != NONE) & (self.passages.far != NONE)
        near, far = self.near.time_ns[self.passages.near[both]], self.far.time_ns[self.passages.far[both]]
        return int((far - self.arrival_ns(near)).max(initial=0))


def losses(crossing: Crossing) -> pd.DataFrame:
    """Return a table with the columns of `LOSSES` but the first two; times are by the near tap's clock."""
    rows = [*_unseen_afar(crossing), *_unseen_near(crossing), *_before(crossing), *_after(crossing)]
    names = [name for name in LOSSES if name not in ("stream", "sender")]
    table = pd.DataFrame(rows, columns=names).astype({"time_ns": "int64"})
    return _merged(table.sort_values(["time_ns", "sequence"], ignore_index=True))


_Row = tuple[int, str, int, int, int | None, int | None]


def _unseen_afar(crossing: Crossing) -> Iterator[_Row]:
    """Yield copies that passed only the near tap: lost between the taps, unless the receiver acknowledged them."""
    own = crossing.passages
    for row in np.flatnonzero((own.near != NONE) & (own.far == NONE)).tolist():
        packet, start, end = int(own.near[row]), int(own.start[row]), int(own.end[row])
        time = crossing.near.time_ns[packet : packet + 1]
        arrival = int(crossing.arrival_ns(time)[0])
        if not crossing.far_span[0] <= arrival <= crossing.far_span[1] - crossing.most_ns:
            continue
        known = _acknowledged_ns(crossing.far_acks, start, end)
        copies = crossing.far.time_ns[_holding(crossing.far, start, end)]
        later = crossing.near.time_ns[_holding(crossing.near, start, end)]
        later = later[later > time[0]]
        # Among copies that were missed, the receiver acknowledged the last one that could have arrived by then.
        is_last = not len(later) or bool((crossing.arrival_ns(later) > (known or 0)).all())
        missed = known is not None and arrival <= known and is_last and not (copies <= known).any()
        place = "far capture" if missed else "between"
        yield int(time[0]), place, start, end - start, int(crossing.near.frame[packet]), None


def _unseen_near(crossing: Crossing) -> Iterator[_Row]:
    """Yield copies that passed only the far tap: missed by the near capture, or duplicated on the path."""
    own = crossing.passages
    for row in np.flatnonzero(own.near == NONE).tolist():
        packet, start, end = int(own.far[row]), int(own.start[row]), int(own.end[row])
        left = int(crossing.departure_ns(crossing.far.time_ns[packet : packet + 1])[0])
        if not crossing.near_span[0] + crossing.most_ns <= left <= crossing.near_span[1]:
            continue
        sent = crossing.near.time_ns[_holding(crossing.near, start, end)]
        place = "duplicated" if (sent <= left).any() else "near capture"
        yield left, place, start, end - start, None, int(crossing.far.frame[packet])


def _before(crossing: Crossing) -> Iterator[_Row]:
    """Yield holes at the near tap that a retransmission filled and that did not reach the far tap earlier."""
    near, own = crossing.near, crossing.passages
    if not len(near):
        return
    for packet in np.flatnonzero(near.kind == "retransmission").tolist():
        for row in np.flatnonzero(own.near == packet).tolist():
            start, end = int(own.start[row]), int(own.end[row])
            earlier = _holding(near, start, end)
            if start < near.start[0] or near.time_ns[earlier].min() < near.time_ns[packet]:
                continue
            arrival = int(crossing.arrival_ns(near.time_ns[packet : packet + 1])[0])
            if (crossing.far.time_ns[_holding(crossing.far, start, end)] < arrival).any():
                continue  # the bytes reached the far tap: the near capture missed them
            passed = near.time_ns[near.start >= end]
            # The lost packet was sent no later than the first packet with higher sequence numbers.
            yield int(passed.min(initial=near.time_ns[packet])), "before", start, end - start, None, None


def _after(crossing: Crossing) -> Iterator[_Row]:
    """Yield copies that passed the far tap, but whose bytes the receiver awaited until another copy passed."""
    far, own, acks = crossing.far, crossing.passages, crossing.far_acks
    twice = np.flatnonzero((far.kind == "retransmission") | (far.kind == "duplicate"))
    for packet in twice.tolist():
        for row in np.flatnonzero(own.far == packet).tolist():
            start, end = int(own.start[row]), int(own.end[row])
            copies = _holding(far, start, end)
            copies = copies[far.time_ns[copies] < far.time_ns[packet]]
            if not len(copies):
                continue
            first, second = int(far.time_ns[copies[-1]]), int(far.time_ns[packet])
            known = _acknowledged_ns(acks, start, end)
            between = (acks.time_ns > first + 2 * crossing.turn_ns) & (acks.time_ns < second)
            reached = int(acks.number[between].max(initial=np.iinfo(np.int64).min))
            waits = reached == start or (crossing.has_sack and reached < start)
            if between.any() and waits and (known is None or known > second):
                lost = int(copies[-1])
                sent = own.near[(own.far == lost) & (own.start == start)]
                near = int(sent[0]) if len(sent) and sent[0] != NONE else None
                if near is None:
                    time = int(crossing.departure_ns(far.time_ns[lost : lost + 1])[0])
                else:
                    time = int(crossing.near.time_ns[near])
                frame = None if near is None else int(crossing.near.frame[near])
                yield time, "after", start, end - start, frame, int(far.frame[lost])


def _holding(packets: Packets, start: int, end: int) -> NDArray[np.int64]:
    """Return the indices of packets that contain all bytes from `start` to `end`, by time."""
    return np.flatnonzero((packets.start <= start) & (packets.end >= end))


def _acknowledged_ns(acks: Acknowledgments, start: int, end: int) -> int | None:
    """Return when all bytes from `start` to `end` were first acknowledged, cumulatively or by SACK; None if never."""
    covered = (acks.number >= end) | ((acks.sack_start <= start) & (acks.sack_end >= end))
    first = np.flatnonzero(covered)
    return int(acks.time_ns[first[0]]) if len(first) else None


def _merged(table: pd.DataFrame) -> pd.DataFrame:
    """Join adjacent pieces that have the same time, place and frames."""
    if table.empty:
        return table
    ends = table["sequence"] + table["length"]
    same = (table[["time_ns", "place"]] == table[["time_ns", "place"]].shift()).all(axis=1)
    for name in ("near_frame", "far_frame"):
        before = table[name].shift()
        same &= (table[name] == before) | (table[name].isna() & before.isna())
    run = (~(same & (table["sequence"] == ends.shift()))).cumsum()
    grouped = table.groupby(run)
    merged = grouped.first()
    merged["length"] = grouped["length"].sum()
    return merged.reset_index(drop=True)[table.columns]


def placed(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the losses of several directions as one table, ordered by time."""
    whole = pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=list(LOSSES))
    ordered = whole.sort_values("time_ns", kind="stable", ignore_index=True)
    return frames.described(frames.frame(LOSSES, {name: ordered[name] for name in LOSSES}), LOSSES)
