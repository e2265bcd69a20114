"""One connection in two captures: the tap that each direction passes first, and the delays between the taps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core
from bdpcap.pairing.clocks import Clock, Differences
from bdpcap.pairing.delays import Delays
from bdpcap.pairing.losses import Crossing
from bdpcap.pairing.passages import (
    NONE,
    Acknowledgments,
    Packets,
    acknowledgments,
    answers,
    data,
    passages,
    unseen,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Capture
    from bdpcap.pairing.matching import Match

__all__ = ["Both", "Tap"]

_EARLY: Final = 1 / 8
"""Tolerance for early arrival of a copy, as a share of the smallest round trip. Copies are a round trip apart."""


@dataclass(frozen=True)
class Tap:
    """One connection in one capture. `ends` and `shifts` are indexed by side in the sender's capture."""

    capture: Capture
    stream: int
    ends: tuple[str, str]
    shifts: tuple[int, int]

    @property
    def events(self) -> pd.DataFrame:
        """Events of the connection."""
        return self.capture._contents.events.of(self.stream)

    def data(self, side: int) -> Packets:
        """Return the data packets from the end of a side."""
        return data(self.events, self.ends[side], self.shifts[side])

    def acknowledgments(self, side: int) -> Acknowledgments:
        """Return the acknowledgments of data from the end of a side."""
        return acknowledgments(self.events, self.ends[side], self.shifts[side])

    @property
    def span(self) -> tuple[int, int]:
        """First and last time of the capture, in nanoseconds."""
        return self.capture.info.first_ns or 0, self.capture.info.last_ns or 0


class Both:
    """One connection at both taps."""

    def __init__(self, match: Match, sender: Capture, receiver: Capture) -> None:
        self.match: Final = match
        ours, theirs = (
            sender._contents.streams.sides(match.sender_stream),
            receiver._contents.streams.sides(match.receiver_stream),
        )
        self.sender: Final = Tap(sender, match.sender_stream, tuple(ours["sender"]), (0, 0))
        names = tuple(theirs["sender"][match.side(side)] for side in (0, 1))
        self.receiver: Final = Tap(receiver, match.receiver_stream, names, match.shifts)
        apart = [self._time_differences(side) for side in (0, 1)]
        least = [one.apart_ns.min(initial=np.iinfo(np.int64).max) for one in apart]
        most = [one.apart_ns.max(initial=np.iinfo(np.int64).min) for one in apart]
        # Time differences are larger towards the receiver's tap, for any clocks. If side 0 has the smaller ones, the
        # server (side 1) is next to the sender's tap.
        known = all(len(one.time_ns) for one in apart)
        self.near_side: Final = 1 if known and int(least[0]) < int(most[1]) else 0
        """Side whose end is next to the sender's tap."""
        self.differences: Final = apart[self.near_side], apart[1 - self.near_side]
        """Time differences of packets towards the receiver's tap, and of packets towards the sender's."""

    def _time_differences(self, side: int) -> Differences:
        """Return the differences of data and acknowledgments from one end that passed each tap exactly once."""
        one, other = self.sender.data(side), self.receiver.data(side)
        own = passages(one, other)
        both = own.alone & (own.far != NONE)
        acks, their_acks = self.sender.acknowledgments(1 - side), self.receiver.acknowledgments(1 - side)
        at_one, at_other = answers(acks, their_acks)
        times = np.concatenate([one.time_ns[own.near[both]], acks.time_ns[at_one]])
        others = np.concatenate([other.time_ns[own.far[both]], their_acks.time_ns[at_other]])
        return Differences(times, others - times)

    def taps(self, side: int) -> tuple[Tap, Tap]:
        """Return the tap that packets from a side pass first, and the other tap."""
        return (self.sender, self.receiver) if side == self.near_side else (self.receiver, self.sender)

    def crossing(self, side: int, clock: Clock) -> Crossing:
        """Return the packets from the end of a side at both taps, and their acknowledgments."""
        near_tap, far_tap = self.taps(side)
        early = round(_EARLY * clock.least_round_trip_ns)
        outward = near_tap is self.sender
        arrival = partial(clock.at_receiver if outward else clock.at_sender, early_ns=early)
        near, far = near_tap.data(side), far_tap.data(side)
        acks = near_tap.acknowledgments(side), far_tap.acknowledgments(side)
        counted = far_tap.capture._contents.streams.sides(far_tap.stream)
        turn = int(counted["receiver_side_ns"][counted["sender"].index(far_tap.ends[side])])
        return Crossing(
            near,
            far,
            *acks,
            passages(near, far, arrival(near.time_ns)),
            arrival,
            clock.left_sender if outward else clock.left_receiver,
            near_tap.span,
            far_tap.span,
            0 if turn == _core.NULL else turn,
            bool((acks[1].sack_end > acks[1].sack_start).any()),
        )

    def delays(self, side: int, crossing: Crossing, clock: Clock) -> Delays:
        """Return the delays of data from the end of a side, and of the acknowledgments that came back."""
        own = crossing.passages
        both = np.flatnonzero((own.near != NONE) & (own.far != NONE))
        # A packet has arrived when its last piece has.
        _, last = np.unique(own.far[both][::-1], return_index=True)
        rows = both[::-1][last]
        near, far = crossing.near.time_ns[own.near[rows]], crossing.far.time_ns[own.far[rows]]
        order = np.argsort(near, kind="stable")
        back, left = answers(crossing.near_acks, crossing.far_acks)
        outward = side == self.near_side
        events = self.taps(side)[0].events
        measured = (events["sender"] == self.taps(side)[0].ends[side]) & events["rtt_ns"].notna()
        return Delays(
            _sender_time(clock, near[order], outward=outward),
            _delay(clock, near[order], far[order], outward=outward),
            _sender_time(clock, crossing.far_acks.time_ns[left], outward=not outward),
            _delay(
                clock, crossing.far_acks.time_ns[left], crossing.near_acks.time_ns[back], outward=not outward
            ),
            events.loc[measured, "rtt_ns"].to_numpy(np.float64),
            unseen(crossing.near_acks, crossing.far_acks),
        )


def _sender_time(clock: Clock, time_ns: NDArray[np.int64], *, outward: bool) -> NDArray[np.int64]:
    return time_ns if outward else clock.to_sender(time_ns)


def _delay(
    clock: Clock, left_ns: NDArray[np.int64], came_ns: NDArray[np.int64], *, outward: bool
) -> NDArray[np.float64]:
    """Return delays between the taps in nanoseconds, for packets to the receiver if `outward`."""
    if outward:
        return (came_ns - left_ns) - clock.offset_at(left_ns)
    return (came_ns - left_ns) + clock.offset_at(came_ns)
