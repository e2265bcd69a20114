"""One direction of a connection at two taps: pairs of packets at the near and the far tap.

Offload makes packets at the two taps differ in size, so bytes are compared and not packets. The packet boundaries of
both taps cut the sequence space into pieces. The copies of a piece at the two taps are paired in order of time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

__all__ = [
    "NONE",
    "Acknowledgments",
    "Packets",
    "Passages",
    "acknowledgments",
    "answers",
    "data",
    "passages",
    "unseen",
]

NONE: Final = -1
"""Index of the packet at the other tap where there is none."""
_PROBES: Final = ("keep-alive", "zero-window probe", "keep-alive ack", "rst")
"""Kinds of packets that repeat an earlier sequence number, or deliver no data."""
_FIN, _SYN = 1, 2


@dataclass(frozen=True)
class Packets:
    """Packets of a direction at one tap, by time; ``start`` and ``end`` are numbers of the sender's capture."""

    time_ns: NDArray[np.int64]
    frame: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    kind: NDArray[np.object_]
    in_flight: NDArray[np.float64]
    """Bytes in flight by this tap's capture; NaN where unknown."""

    def __len__(self) -> int:
        """Return the number of packets."""
        return len(self.time_ns)


@dataclass(frozen=True)
class Acknowledgments:
    """Acknowledgments of a direction's data at one tap, by time; sequence numbers are as in `Packets`."""

    time_ns: NDArray[np.int64]
    number: NDArray[np.int64]
    sack_start: NDArray[np.int64]
    sack_end: NDArray[np.int64]
    """End of the new SACK block; both its start and end are 0 where the packet reported none."""
    alone: NDArray[np.bool_]
    """Whether the packet carried no data."""


@dataclass(frozen=True)
class Passages:
    """Copies of pieces, paired between the taps; arrays of one length, with one row for each pair or single copy."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    near: NDArray[np.int64]
    far: NDArray[np.int64]
    """Index of the packet at the far tap, or `NONE`; `near` is that at the near tap."""
    alone: NDArray[np.bool_]
    """Whether the piece passed each tap exactly once, so that the pair is unambiguous."""


def data(events: pd.DataFrame, sender: str, shift: int = 0) -> Packets:
    """Return the packets of a direction that carry bytes, SYN or FIN; `shift` is added to their sequence numbers."""
    sent = events[
        (events["sender"] == sender) & events["sequence"].notna() & ~events["kind"].isin(_PROBES)
    ].sort_values(["time_ns", "frame"])
    flags = sent["tcp_flags"].to_numpy(np.int64)
    start = sent["sequence"].to_numpy(np.int64)
    end = start + sent["length"].to_numpy(np.int64) + (flags & _SYN > 0) + (flags & _FIN > 0)
    some = end > start
    return Packets(
        sent["time_ns"].to_numpy(np.int64)[some],
        sent["frame"].to_numpy(np.int64)[some],
        start[some] + shift,
        end[some] + shift,
        sent["kind"].to_numpy(object)[some],
        sent["in_flight_bytes"].to_numpy(np.float64, na_value=np.nan)[some],
    )


def acknowledgments(events: pd.DataFrame, sender: str, shift: int = 0) -> Acknowledgments:
    """Return the acknowledgments of data from `sender`; `shift` is added to their numbers. SYN-ACKs are left out."""
    answered = events[
        (events["sender"] == sender)
        & events["sequence"].isna()
        & events["acknowledged"].notna()
        & (events["kind"] != "rst")
    ].sort_values(["time_ns", "frame"])
    carriers = events.loc[(events["sender"] != sender) & events["sequence"].notna(), "frame"]
    blocks = {
        name: answered[name].fillna(-shift).to_numpy(np.int64) + shift for name in ("sack_start", "sack_end")
    }
    return Acknowledgments(
        answered["time_ns"].to_numpy(np.int64),
        answered["acknowledged"].to_numpy(np.int64) + shift,
        **blocks,
        alone=~answered["frame"].isin(carriers).to_numpy(bool),
    )


def answers(near: Acknowledgments, far: Acknowledgments) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices, at each tap, of acknowledgments without data whose number passed each tap exactly once."""
    (numbers, one), (others, other) = _single(near), _single(far)
    _, at_one, at_other = np.intersect1d(numbers, others, assume_unique=True, return_indices=True)
    return one[at_one], other[at_other]


def unseen(near: Acknowledgments, far: Acknowledgments) -> int:
    """Return how many acknowledgments without data passed the far tap, which they reach first, but not the near tap."""
    left, came = (Counter(acks.number[acks.alone].tolist()) for acks in (far, near))
    return (left - came).total()


def _single(acks: Acknowledgments) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    alone = np.flatnonzero(acks.alone)
    numbers, first, count = np.unique(acks.number[alone], return_index=True, return_counts=True)
    return numbers[count == 1], alone[first[count == 1]]


def passages(near: Packets, far: Packets, earliest: NDArray[np.int64] | None = None) -> Passages:
    """
    Pair the copies of every piece between the two taps.

    Parameters
    ----------
    near, far
        Packets at the tap that they pass first, and packets at the other tap.
    earliest
        Earliest time, by the far tap's clock, at which each packet of the near tap can pass the far tap. None pairs
        only pieces that passed each tap exactly once.
    """
    bounds = np.unique(np.concatenate([near.start, near.end, far.start, far.end]))
    near_piece, near_packet = _cut(near, bounds)
    far_piece, far_packet = _cut(far, bounds)
    pieces = max(0, len(bounds) - 1)
    sent = np.bincount(near_piece, minlength=pieces)
    seen = np.bincount(far_piece, minlength=pieces)
    far_of = np.full(len(near_piece), NONE)
    # Both lists are sorted by piece, then by time.
    first_sent, first_seen = np.cumsum(sent) - sent, np.cumsum(seen) - seen
    once = np.flatnonzero((sent == 1) & (seen == 1))
    far_of[first_sent[once]] = far_packet[first_seen[once]]
    taken = np.zeros(len(far_piece), bool)
    taken[first_seen[once]] = True
    if earliest is not None:
        late = far_of != NONE
        early = np.flatnonzero(late)[far.time_ns[far_of[late]] < earliest[near_packet[late]]]
        taken[first_seen[near_piece[early]]] = False
        far_of[early] = NONE
        for piece in np.flatnonzero((sent > 0) & (seen > 0) & (sent + seen > 2)).tolist():
            own = slice(first_sent[piece], first_sent[piece] + sent[piece])
            other = slice(first_seen[piece], first_seen[piece] + seen[piece])
            arrived = far.time_ns[far_packet[other]].tolist()
            for copy, place in _paired(earliest[near_packet[own]].tolist(), arrived):
                far_of[own.start + copy] = far_packet[other.start + place]
                taken[other.start + place] = True
    left = np.flatnonzero(~taken)
    rows = np.concatenate([near_piece, far_piece[left]])
    return Passages(
        bounds[rows],
        bounds[rows + 1] if len(rows) else bounds[:0],
        np.concatenate([near_packet, np.full(len(left), NONE)]),
        np.concatenate([far_of, far_packet[left]]),
        ((sent == 1) & (seen == 1))[rows],
    )


def _cut(packets: Packets, bounds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the piece and the packet of each copy, as indices, ordered by piece and time."""
    first = np.searchsorted(bounds, packets.start)
    count = np.searchsorted(bounds, packets.end) - first
    packet = np.repeat(np.arange(len(packets)), count)
    piece = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[packet]
    order = np.argsort(piece, kind="stable")
    return piece[order], packet[order]


def _paired(earliest: list[int], arrived: list[int]) -> Iterator[tuple[int, int]]:
    """Pair every copy that arrived, last one first, with the latest copy sent that could have arrived by then."""
    copy = len(earliest) - 1
    for place in range(len(arrived) - 1, -1, -1):
        while copy >= 0 and earliest[copy] > arrived[place]:
            copy -= 1
        if copy < 0:
            return
        yield copy, place
        copy -= 1
