"""Two captures from the ends of one path, compared: connections, clocks, delays, losses, options and views."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.errors import ArgumentError
from bdpcap.pairing import delays, losses, views
from bdpcap.pairing.clocks import Clock, Differences, estimate
from bdpcap.pairing.crossings import Both
from bdpcap.pairing.headers import directions
from bdpcap.pairing.matching import Match, matches
from bdpcap.pairing.options import options
from bdpcap.tables import Column, frames

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from bdpcap.capture import Capture
    from bdpcap.pairing.delays import Delays
    from bdpcap.pairing.losses import Crossing

__all__ = ["COMPARED", "STREAMS", "CommonFlow", "Ends"]

COMPARED: Final = 8
"""Largest number of connections that are compared packet by packet; those with most payload are chosen."""

STREAMS: Final[dict[str, Column]] = {
    "stream": Column("int64", "stream in the sender's capture, as Wireshark's tcp.stream"),
    "receiver_stream": Column("int64", "the same connection in the receiver's capture"),
    "client": Column("str", "address:port of the client in the sender's capture"),
    "server": Column("str", "address:port of the server in the sender's capture"),
    "receiver_client": Column(
        "str", "address:port of the same end in the receiver's capture; another one behind NAT"
    ),
    "receiver_server": Column("str", "address:port of the same server in the receiver's capture"),
    "matched_by": Column(
        "str", "what showed it", ("initial sequence numbers", "timestamps", "sequence numbers")
    ),
    "payload_bytes": Column(
        "int64", "payload of both directions in the sender's capture, each byte counted once"
    ),
    "compared": Column("bool", "whether it was compared packet by packet"),
}
"""Columns of the table of connections that both captures contain."""


@dataclass(frozen=True)
class CommonFlow:
    """One flow at both taps."""

    stream: int
    sender: str
    both: Both
    side: int
    crossing: Crossing
    delays: Delays
    clock: Clock


class Ends:
    """
    Both ends of a path, made by `bdpcap.pair`. All times in its tables are by the sender's clock.

    Attributes
    ----------
    sender, receiver : Capture
        Capture next to the sender of most data, and the other capture.
    swapped : bool
        Whether the two captures were given in the opposite order.
    clock : Clock
        Offset and drift of the receiver's clock against the sender's.
    matches : list of Match
        Connections that both captures contain.
    """

    def __init__(self, sender: Capture, receiver: Capture) -> None:
        found = directions(sender), directions(receiver)
        common = matches(*found)
        if not common:
            raise ArgumentError(
                "the captures have no connection in common: no initial sequence numbers, timestamps or ranges of "
                "sequence numbers match (a proxy between the captures ends connections)"
            )
        carried = _carried(sender)
        main = sorted(common, key=lambda match: -int(carried[match.sender_stream].sum()))[:COMPARED]
        sender._contents.events.load([match.sender_stream for match in main])
        receiver._contents.events.load([match.receiver_stream for match in main])
        compared = [Both(match, sender, receiver) for match in main]
        heavier = int(carried[main[0].sender_stream].argmax())
        self.swapped: Final = heavier != compared[0].near_side
        if self.swapped:
            sender, receiver = receiver, sender
            found = found[1], found[0]
            common = [match.reversed() for match in common]
            compared = [Both(match.reversed(), sender, receiver) for match in main]
        self.sender: Final = sender
        self.receiver: Final = receiver
        self.matches: Final[list[Match]] = common
        self._compared = compared
        self._headers = found
        self.clock: Final[Clock] = _clock(compared, sender, receiver)

    @cached_property
    def flows(self) -> list[CommonFlow]:
        """Flows of the compared connections that passed both taps, by payload of the connection, then of the flow.

        Examples
        --------
        >>> [(flow.stream, flow.sender) for flow in both.flows]
        [(0, '192.168.1.3:33126')]
        """
        return list(self._flows())

    def _flows(self) -> Iterator[CommonFlow]:
        carried = _carried(self.sender)
        for both in self._compared:
            stream = both.match.sender_stream
            for side in np.argsort(-carried[stream], kind="stable").tolist():
                if not carried[stream][side]:
                    continue
                crossing = both.crossing(side, self.clock)
                if len(crossing.near) and len(crossing.far):
                    timed = both.delays(side, crossing, self.clock)
                    yield CommonFlow(stream, both.sender.ends[side], both, side, crossing, timed, self.clock)

    @cached_property
    def streams(self) -> pd.DataFrame:
        """Table with the columns of `STREAMS`.

        Examples
        --------
        >>> both.streams[["matched_by", "payload_bytes"]]
                         matched_by  payload_bytes
        0  initial sequence numbers        6275028
        """
        carried = _carried(self.sender)
        names = [
            np.asarray(capture._contents.streams.directions("sender")["sender"])
            for capture in (self.sender, self.receiver)
        ]
        compared = {both.match.sender_stream for both in self._compared}
        rows = [
            (
                match.sender_stream,
                match.receiver_stream,
                *(names[0][2 * match.sender_stream + side] for side in (0, 1)),
                *(names[1][2 * match.receiver_stream + match.side(side)] for side in (0, 1)),
                match.by,
                int(carried[match.sender_stream].sum()),
                match.sender_stream in compared,
            )
            for match in self.matches
        ]
        return _table(STREAMS, [dict(zip(STREAMS, row, strict=True)) for row in rows])

    @cached_property
    def options(self) -> pd.DataFrame:
        """Table with the columns of `bdpcap.pairing.options.OPTIONS`.

        Examples
        --------
        >>> int(both.options["rewritten"].sum())
        0
        """
        return options(self.matches, *self._headers)

    @cached_property
    def delays(self) -> pd.DataFrame:
        """Table with the columns of `bdpcap.pairing.delays.DELAYS`.

        Examples
        --------
        >>> both.delays[["forward_median_ns", "reverse_median_ns", "queue"]]
           forward_median_ns  reverse_median_ns   queue
        0         16370500.0         15103500.0  beyond
        """
        round_trip = self.clock.least_round_trip_ns
        return _table(
            delays.DELAYS,
            [
                {"stream": flow.stream, "sender": flow.sender} | delays.row(flow.delays, round_trip)
                for flow in self.flows
            ],
        )

    @cached_property
    def losses(self) -> pd.DataFrame:
        """Table with the columns of `bdpcap.pairing.losses.LOSSES`.

        Examples
        --------
        >>> len(both.losses)
        0
        """
        pieces = []
        for flow in self.flows:
            piece = losses.losses(flow.crossing)
            if flow.side != flow.both.near_side:
                piece["time_ns"] = self.clock.to_sender(piece["time_ns"].to_numpy(np.int64))
            pieces.append(piece.assign(stream=flow.stream, sender=flow.sender))
        return losses.placed(pieces)

    @cached_property
    def views(self) -> pd.DataFrame:
        """Table with the columns of `bdpcap.pairing.views.VIEWS`.

        Examples
        --------
        >>> both.views[["limit", "rebuilt_limit"]]
          limit rebuilt_limit
        0  rwnd          rwnd
        """
        rows: list[dict[str, Any]] = []
        for flow in self.flows:
            near, far = (
                tap.capture.flow(tap.stream, tap.ends[flow.side]) for tap in flow.both.taps(flow.side)
            )
            rows.append(
                {
                    "stream": flow.stream,
                    "sender": flow.sender,
                    **views.in_flight(flow.crossing.near, flow.crossing.far, flow.crossing.passages),
                    "limit": str(near.summary["limit"]),
                    "rebuilt_limit": str(far.summary["limit"]),
                    **views.limits(near.rtts, far.rtts, flow.crossing.departure_ns),
                }
            )
        return _table(views.VIEWS, rows)


def _carried(capture: Capture) -> np.ndarray:
    """Return payload bytes by stream and side, shape (streams, 2)."""
    return np.asarray(capture._contents.streams.directions("payload_bytes")["payload_bytes"]).reshape(-1, 2)


def _clock(compared: list[Both], sender: Capture, receiver: Capture) -> Clock:
    ways = [
        Differences(
            np.concatenate([both.differences[way].time_ns for both in compared]),
            np.concatenate([both.differences[way].apart_ns for both in compared]),
        )
        for way in (0, 1)
    ]
    ticks = [
        int(capture._contents.streams.directions("tick_ns")["tick_ns"].max(initial=1))
        for capture in (sender, receiver)
    ]
    clock = estimate(ways[0], ways[1], max(ticks))
    if clock is None:
        raise ArgumentError(
            "no packets of both directions are in both captures, so the clocks cannot be compared"
        )
    return clock


def _table(schema: dict[str, Column], rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = {name: [row[name] for row in rows] for name in schema}
    return frames.described(frames.frame(schema, columns), schema)
