"""Where a capture was taken, and the evidence for it.

The vantage is the distance of the tap from the sending TCP, not the machine that captured. A queueing discipline of the
sending host, such as netem, may delay packets between TCP and tap. So delays decide; signs of the host, such as partial
checksums, are given in addition.

All flows between two hosts pass the same tap, so they share their least delays. On a host with several interfaces, the
packets between two hosts use one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.read import hops, quality
from bdpcap.tables import PLACES
from bdpcap.tables.columns import floats
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "DELAYS",
    "NAMES",
    "TRIPS",
    "UNKNOWN",
    "behind",
    "other_way",
    "placed",
    "places",
    "round_trips",
    "sender_sides",
    "sentence",
]

NAMES: Final = np.array(PLACES, dtype=object)
"""Names of places by their codes. A capture may have millions of directions, and a code takes a byte."""
SENDER, RECEIVER, BETWEEN, UNKNOWN = map(PLACES.index, ("sender", "receiver", "between", "unknown"))
NEAR: Final = 0.15
"""The tap is at an end if its round trip to that end is below this share of the whole round trip."""
SHORTEST_NS: Final = 100_000
"""In a shorter round trip, delays do not show to which end the tap is nearer."""
BLOCK: Final = 1 << 15
"""Directions that are placed together; an even number, since those of a stream are."""
DELAYS: Final = ("sender_side_ns", "receiver_side_ns", "rtt_min_ns", "tap_at_sender", "partial_checksum")
"""Columns about directions that show where they were captured."""
TRIPS: Final = ("sender_side_ns", "receiver_side_ns", "rtt_min_ns", "partial_checksum", "ttl")
"""Columns about directions that `round_trips` reads."""


def places(
    directions: Mapping[str, Any], paths: NDArray[np.integer[Any]], whole: Sequence[int | None] = ()
) -> NDArray[np.int8]:
    """Return the place of each direction as an index into `NAMES`, from the round trips to either end.

    Parameters
    ----------
    directions
        Columns of `bdpcap._core.Analysis.directions` for all streams of the capture.
    paths
        Number of the path from host to host of each direction, from `bdpcap._core.Analysis.paths`.
    whole
        Least round trips to the senders of the first directions in a capture of which this is an excerpt, in
        nanoseconds.
    """
    least = sender_sides(directions, paths)
    for path, known_ns in zip(paths, whole, strict=False):
        if known_ns is not None:
            least[path] = min(least[path], known_ns)
    place = np.empty(len(paths), dtype=np.int8)
    for rows, to_sender, to_receiver in _by_direction_in_blocks(directions):
        own, back = paths[rows], other_way(paths[rows])
        # Connections of a host with itself have one path for both directions.
        shared = np.isfinite(least[own]) & (own != back)
        place[rows] = placed(
            np.where(shared, least[own], to_sender), np.where(shared, least[back], to_receiver)
        )
    return place


def sender_sides(directions: Mapping[str, Any], paths: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the least round trip from the tap to the sender for each path, in nanoseconds; infinite if unknown."""
    least = np.full(int(paths.max(initial=0)) + 1, np.inf)
    for rows, to_sender, to_receiver in _by_direction_in_blocks(directions):
        # A direction that shows one end only may show a delayed acknowledgment, not the path: others show more.
        shows = to_sender + to_receiver >= SHORTEST_NS
        np.minimum.at(least, paths[rows][shows], to_sender[shows])
        np.minimum.at(least, other_way(paths[rows])[shows], to_receiver[shows])
    return least


def other_way(values: NDArray[Any]) -> NDArray[Any]:
    """Return for each direction the value of the connection's other direction."""
    return values.reshape(-1, 2)[:, ::-1].ravel()


def _by_direction_in_blocks(
    directions: Mapping[str, Any],
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield rows and their `_by_direction` block by block: arrays for millions of directions would take much memory."""
    for first in range(0, len(directions["sender_side_ns"]), BLOCK):
        rows = slice(first, first + BLOCK)
        yield rows, *_by_direction({name: values[rows] for name, values in directions.items()})


def _by_direction(directions: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least round trips from the tap to the sender and to the receiver, in nanoseconds; NaN if unknown.

    A host takes longer to answer a SYN than to acknowledge data: a socket is made for it. So on the receiver's host,
    which partial checksums show, data may measure a shorter round trip to it than the handshake.
    """
    sender, receiver, whole = (floats(np.asarray(directions[name])) for name in DELAYS[:3])
    by_data = np.maximum(whole - np.where(directions["tap_at_sender"], 0.0, sender), 0.0)
    on_receiver = np.asarray(directions["partial_checksum"]).reshape(-1, 2)[:, ::-1].ravel() > 0
    known = on_receiver & np.isfinite(receiver) & (sender + by_data >= SHORTEST_NS)
    return sender, np.where(known, np.fmin(receiver, by_data), receiver)


def round_trips(directions: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the minimum round trips from the tap to the server and to the client of each stream; NULL where unknown.

    Few packets measure one side of the tap, many measure the whole path. So a side that seems longer than the whole path
    takes the path's minimum. Where the way to the sender is unknown, its round trips begin at the tap: they show no path.

    Without a handshake and timestamps, only acknowledgments of data measure the way to an end. That end may delay each of
    them (RFC 9293 section 3.8.6.3). So that way is 0 where the packets show that they were captured at that end.

    Parameters
    ----------
    directions
        The columns `TRIPS` of `bdpcap._core.Analysis.directions`; the two directions of a stream are adjacent rows.
    """
    sender, receiver, whole, unfinished, ttl = (np.asarray(directions[name]).reshape(-1, 2) for name in TRIPS)
    paths = np.where(sender == _core.NULL, _core.NULL, whole)
    path = _least(paths[:, 0], paths[:, 1])
    partial = unfinished > 0
    at_end = (partial & ~partial[:, ::-1]) | hops.nearer(ttl, ttl[:, ::-1])
    acknowledged = np.where(at_end, 0, receiver[:, ::-1])
    side = np.where(sender == _core.NULL, acknowledged, _least(sender, receiver[:, ::-1]))
    to_client, to_server = (np.where(way == _core.NULL, way, _least(way, path)) for way in side.T)
    return to_server, to_client


def _least(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smaller of two values, element by element; if one is missing, the other."""
    missing = (one == _core.NULL) | (other == _core.NULL)
    return np.where(missing, np.maximum(one, other), np.minimum(one, other))


def placed(to_sender: NDArray[np.float64], to_receiver: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return places as indices into `NAMES`, from the round trips to sender and receiver in ns; NaN is unknown."""
    whole = to_sender + to_receiver
    with np.errstate(divide="ignore", invalid="ignore"):
        part = to_sender / whole
    place = np.full(len(whole), BETWEEN, dtype=np.int8)
    place[part < NEAR] = SENDER
    place[part > 1 - NEAR] = RECEIVER
    place[~np.isfinite(part) | (whole < SHORTEST_NS)] = UNKNOWN
    return place


def sentence(directions: Mapping[str, Any], row: int, place: str) -> str:
    """Return the evidence for the vantage of a direction: delays, the capturing host, and routers passed.

    Parameters
    ----------
    directions
        Columns of `bdpcap._core.Analysis.directions`; the two directions of a stream are adjacent rows.
    row
        The row of the direction.
    place
        Its place, from `places`.
    """
    one = _both(directions, row)
    own = PLACES[placed(*_by_direction(one))[0]]
    others = None if own == place else "placed by other flows between the same hosts"
    return "; ".join(filter(None, [_delays(one), others, _host(one, place), _routers(one)]))


def _both(directions: Mapping[str, Any], row: int) -> dict[str, list[Any]]:
    """Return the columns of a direction and of the other one of its stream."""
    return {name: [values[at] for at in (row, row ^ 1)] for name, values in directions.items()}


def _delays(one: Mapping[str, Any]) -> str:
    ways = [
        f"{units.duration(int(value))} to the {side} and back"
        for side in ("sender", "receiver")
        if (value := one[f"{side}_side_ns"][0]) != _core.NULL
    ]
    return ", ".join(ways) or "no round trip to either end was seen"


def _host(one: Mapping[str, Any], place: str) -> str | None:
    """Return which host captured, if packets have a form that exists only on a host; None otherwise.

    Such packets have partial checksums, or are larger than the MSS, since the network adapter was to complete or split
    them.
    """
    if any(one["partial_checksum"]):
        why = "unfinished checksums"
    elif quality.merged_by_offload(one)[0]:
        why = f"segments of up to {units.count(int(one['largest_bytes'][0]))} bytes, larger than the MSS"
    else:
        return None
    end, by_ttl = _end(one)
    if by_ttl:
        why += ", TTL not yet lowered"
    elif end is None and all(one["partial_checksum"]):
        return "checksums unfinished both ways: both ends on one machine"
    elif end is None and place not in ("sender", "receiver"):
        return f"on the host of an end ({why})"
    end = end or place
    where = f"on the {'sending' if end == 'sender' else 'receiving'} host ({why})"
    delay = one[f"{end}_side_ns"][0]
    if place in (end, "unknown") or delay == _core.NULL:
        return where
    return f"{where}, behind {units.duration(int(delay))} of delay on that host (a queueing discipline)"


def _end(one: Mapping[str, Any]) -> tuple[str | None, bool]:
    """Return the end that packets formed on a host show, and whether their TTL does; None if neither shows one."""
    partial = [bool(value) for value in one["partial_checksum"]]
    fresh = [value in hops.INITIAL_TTLS for value in one["ttl"]]
    for shown, by_ttl in ((partial, False), (fresh, True)):
        if shown[0] != shown[1]:
            return ("sender" if shown[0] else "receiver"), by_ttl
    return None, False


def behind(directions: Mapping[str, Any], row: int) -> tuple[str, int] | None:
    """Return the end whose host captured a direction, and the delay between tap and end in ns; None if none is shown.

    Unfinished checksums show the host. Its delay is a queueing discipline's, before the tap.
    """
    one = _both(directions, row)
    end = _end(one)[0] if any(one["partial_checksum"]) else None
    delay_ns = _core.NULL if end is None else one[f"{end}_side_ns"][0]
    return None if end is None or delay_ns == _core.NULL else (end, int(delay_ns))


def _routers(one: Mapping[str, Any]) -> str | None:
    """Return the number of routers passed from each end."""
    ways = [
        f"{units.count(passed)} from the {side}"
        for side, ttl in zip(("sender", "receiver"), one["ttl"], strict=True)
        if (passed := hops.routers(ttl)) is not None
    ]
    return f"routers passed, by TTL: {', '.join(ways)}" if ways else None
