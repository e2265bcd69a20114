"""Where a capture was taken, in words: next to a host, on a router, or between the ends."""

from __future__ import annotations

from collections import Counter
from itertools import filterfalse
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bdpcap.explain.once import once
from bdpcap.read import hops, vantage
from bdpcap.read.flaws import TIMES_OF_BATCHES
from bdpcap.tables.columns import floats
from bdpcap.words import units
from bdpcap.words.endpoints import host, is_loopback, on_one_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.capture import Capture

__all__ = ["captured", "common", "in_batches", "of_connections", "on_router", "own", "shown_by"]

HOSTS: Final = 3
"""Most hosts next to which a capture is said to be taken; a choice. A capture on more hosts is rare."""

_PROCESSING_NS: Final = 1_000_000
"""Delay of a host's own packets below which it is its work, and no emulated path; a choice."""

_NEXT_TO: Final = "next to"
_NEAR: Final = "near"
_BETWEEN: Final = "between the ends"
_ROUTER: Final = "on both sides of a router between the ends"
_BOTH_ENDS: Final = ", the host of both ends"
_SHARED: Final = "at a place that several hosts share, such as a router or a mirror port"
_UNKNOWN: Final = "place of capture unknown"
_PLACES: Final = {
    "sender": "near the sender",
    "receiver": "near the receiver",
    "between": _BETWEEN,
    "unknown": "at an unknown place",
}


def of_connections(capture: Capture) -> str:
    """Return where streams were captured, by the larger flow of each; with counts if the places differ."""
    rows = _largest(capture)
    places = capture._contents.paths.of_carriers[rows]
    on_router = _on_router(capture, capture._contents.streams.carriers["stream"][rows])
    seen = Counter(
        f"on {machine}{_BOTH_ENDS}" if machine else _ROUTER if router else _PLACES[place]
        for machine, place, router in zip(
            _machines(capture, rows), places.tolist(), on_router.tolist(), strict=True
        )
    )
    return next(iter(seen)) if len(seen) == 1 else units.counted(seen)


def _largest(capture: Capture) -> np.ndarray:
    """Return the rows of `capture._contents.streams.carriers` that are the larger flow of each connection."""
    flows = capture._contents.streams.carriers
    most_first = np.argsort(-flows["payload_bytes"], kind="stable")
    _, largest = np.unique(flows["stream"][most_first], return_index=True)
    rows: np.ndarray = most_first[largest]
    return rows


def _machines(capture: Capture, rows: np.ndarray) -> list[str]:
    """Return the host on which both ends run for each connection of some rows of carriers; empty if there are two."""
    streams = capture._contents.streams.carriers["stream"][rows].astype(np.int64)
    return [one if on_one_machine(one, two) else "" for one, two in _ends(capture, streams)]


def _ends(capture: Capture, streams: np.ndarray) -> Iterator[tuple[str, str]]:
    """Return both hosts of each connection."""
    own, other = (map(host, capture._contents.streams.endpoints(2 * streams + end)) for end in (0, 1))
    return zip(own, other, strict=True)


@once
def common(capture: Capture) -> str:
    """Return the host that is an end of most connections, with several others; empty if there is none."""
    streams = capture._contents.streams.carriers["stream"][_largest(capture)].astype(np.int64)
    pairs = set(_ends(capture, streams))
    of: Counter[str] = Counter(name for pair in pairs for name in set(pair))
    (name, peers), *_ = of.most_common(1) or [("", 0)]
    return name if peers > HOSTS and 2 * _of_hosts(capture, streams, [name]) > len(streams) else ""


class _Where(NamedTuple):
    """The place of a capture in words, and the addresses of the host on which or next to which it is, if there is one."""

    words: str
    own: tuple[str, ...] = ()


def captured(capture: Capture) -> str:
    """Return the host near which most connections were captured, and the routers before it; or else the places."""
    return _where(capture).words


def own(capture: Capture) -> tuple[str, ...]:
    """Return the addresses of the host on which or next to which most connections were captured; empty without one."""
    return _where(capture).own


@once
def _where(capture: Capture) -> _Where:
    if not len(capture._contents.paths.of_carriers):
        return _Where("no TCP payload in it")
    if on_router(capture):
        return _Where(f"captured {_ROUTER}")
    rows = _largest(capture)
    machines = _machines(capture, rows)
    inner = np.array(list(map(bool, machines)))
    if name := _own_host(capture, rows, machines):
        return _Where(f"captured on {name}{_BOTH_ENDS if inner.all() else ''}", (name,))
    # The host that captured has the connections of its loopback, so only others tell more of the place.
    where = _shown(capture, rows[~inner]) if not inner.all() else None
    if where and (where.own or 2 * np.count_nonzero(inner) <= len(rows)):
        return where
    (name, _), *_ = Counter(filter(None, machines)).most_common(1)
    return _Where(f"captured on {name}{_BOTH_ENDS}{_of_all(int(inner.sum()), len(rows))}", (name,))


def in_batches(capture: Capture) -> bool:
    """Return whether packets have the times of batches in which they came to the capture, so no wait is sure."""
    return any(flaw.code == TIMES_OF_BATCHES for flaw in capture.quality)


def _shown(capture: Capture, rows: np.ndarray) -> _Where:
    """Return where most connections of `rows` were captured; times of batches show no delay."""
    streams = capture._contents.streams.carriers["stream"][rows].astype(np.int64)
    if in_batches(capture):
        return _by_ttls(capture, streams) or _Where(_UNKNOWN)
    found = _by_delays(capture, rows)
    if not found.own and not _delayed(capture) and (unpadded := _by_padding(capture, streams)):
        return unpadded
    # A NAT that answers at once looks near.
    made = _by_checksums(capture, streams) or _by_padding(capture, streams) if found.own else None
    return made if made and not set(made.own) & set(found.own) else found


def _by_delays(capture: Capture, rows: np.ndarray) -> _Where:
    """Return where most connections of `rows` were captured, as delays and times to live show it."""
    flows, place = capture._contents.streams.carriers, capture._contents.paths.of_carriers[rows]
    # The sender's end is the direction's own name, the receiver's that of the other direction.
    streams, sending = flows["stream"][rows], flows["direction"][rows]
    ends = 2 * streams + np.where(place == "receiver", 1 - sending, sending)
    # A connection that shows no place contradicts none, and one of a short round trip shows none for sure.
    placed = place != "unknown"
    if set(place[placed].tolist()) == {"between"}:
        where = _delayed(capture) or _BETWEEN
        return _Where(f"captured {where}{_of_all(int(placed.sum()), len(rows))}")
    near = np.isin(place, ("sender", "receiver"))
    sure = ~_is_short(capture, 2 * streams + sending)
    for shown in (placed, placed & sure):
        hosts = Counter(map(host, capture._contents.streams.endpoints(ends[shown & near])))
        if not hosts:
            continue
        (nearest, _), *_ = hosts.most_common(1)
        distance = _distance(capture, nearest, ends[near])
        others = _of_other_family(capture, nearest, ends[near & sure], streams)
        apart = {name: _distance(capture, name, ends[near]) for name in others}
        # The hop limit of IPv6 may hide that the host is as near as its address of IPv4 shows.
        if distance in (_NEAR, _NEXT_TO) and set(apart.values()) <= {_NEAR, _NEXT_TO}:
            distance = _NEXT_TO if _NEXT_TO in (distance, *apart.values()) else distance
            apart = dict.fromkeys(apart, distance)
        names = [nearest, *(name for name in others if apart[name] == distance)]
        count = sum(hosts[name] for name in names)
        if 2 * count <= np.count_nonzero(shown):
            continue
        own = _of_hosts(capture, streams, names)
        # Next to one host, most connections are its, or no place of another one contradicts it.
        if 2 * own > len(rows) or count == np.count_nonzero(shown):
            of_all = _of_all(own, len(rows))
            return _Where(
                f"captured {distance} {' and '.join(names)}{of_all}",
                tuple(names) if distance == _NEXT_TO else (),
            )
    if host_of := _by_checksums(capture, streams):
        return host_of
    if 2 * np.count_nonzero(placed) <= len(rows) and (host_of := _by_ttls(capture, streams)):
        return host_of
    return _Where(_apart(place[shown], hosts.most_common(HOSTS + 1), len(rows)))


def _of_other_family(capture: Capture, name: str, ends: np.ndarray, streams: np.ndarray) -> list[str]:
    """Return the host of most of some ends whose address is of IPv6 where that of host `name` is of IPv4, or the reverse.

    A host has addresses of both families (RFC 4213 section 2), so a capture next to it is next to both. Where none of
    these ends has one, it is the one address that all `streams` of the other family share, with several peers.
    """

    def is_other(one: str) -> bool:
        return (":" in one) != (":" in name)

    others = Counter(filter(is_other, map(host, capture._contents.streams.endpoints(ends))))
    if others:
        return [one for one, _ in others.most_common(1)]
    pairs = {frozenset(pair) for pair in _ends(capture, streams) if all(map(is_other, pair))}
    return list(frozenset.intersection(*pairs)) if len(pairs) > 1 else []


def _by_checksums(capture: Capture, streams: np.ndarray) -> _Where | None:
    """Return where unfinished checksums of most connections show that they were captured; None if they do not.

    An adapter was to complete them, so the packets were captured on the host that sent them. Between programs of one
    machine, as in its containers, nobody completes them.
    """
    own, other = _of_ends(capture, streams, "partial_checksum")["partial_checksum"].T > 0
    if 2 * np.count_nonzero(own & other) > len(streams):
        return _Where("captured inside one machine, which runs both ends")
    return _of_most(capture, streams, own, other, "on")


def _by_padding(capture: Capture, streams: np.ndarray) -> _Where | None:
    """Return where unpadded frames of most connections show that they were captured; None if they do not.

    A virtual network may carry such frames, so the capture may be next to the host that sent them, not on it.
    """
    if not (unpadded := capture._contents.unpadded_hosts):
        return None
    own, other = (
        np.isin(list(map(host, capture._contents.streams.endpoints(2 * streams + end))), unpadded)
        for end in (0, 1)
    )
    return _of_most(capture, streams, own, other, _NEXT_TO)


def _of_most(
    capture: Capture, streams: np.ndarray, own: np.ndarray, other: np.ndarray, distance: str
) -> _Where | None:
    """Return the host at this distance that evidence of ends shows in most `streams`; None without one."""
    ends = np.sort((2 * streams + other)[own != other])
    names = Counter(map(host, capture._contents.streams.endpoints(ends))).most_common(1)
    if not names or 2 * names[0][1] <= len(streams):
        return None
    return _Where(f"captured {distance} {names[0][0]}", (names[0][0],))


def _by_ttls(capture: Capture, streams: np.ndarray) -> _Where | None:
    """Return next to which host the TTLs of most connections show that they were captured; None if they do not.

    A router lowers the TTL (RFC 1812 section 5.3.1): packets of that host passed none, and those of its peers did.
    """
    own, other = hops.passed(_of_ends(capture, streams, "ttl")["ttl"]).T
    return _of_most(capture, streams, (own == 0) & (other > 0), (other == 0) & (own > 0), _NEXT_TO)


def _distance(capture: Capture, name: str, ends: np.ndarray) -> str:
    """Return how many routers lie between the capture and a host, of which some `ends` are, or that it is next to it.

    Unfinished checksums of its packets alone outrank their TTL. In IPv6, a router sets the hop limit with which hosts
    begin (RFC 4861 section 4.2). A telephone that shares its access sets one less.
    """
    columns = capture._contents.streams.at(ends, "ttl", "partial_checksum")
    peers = capture._contents.streams.at(ends ^ 1, "partial_checksum")
    if ((columns["partial_checksum"] > 0) & (peers["partial_checksum"] <= 0)).any():
        return _NEXT_TO
    ttls = columns["ttl"].tolist()
    names = map(host, capture._contents.streams.endpoints(ends))
    passed = [hops.routers(ttl) for own, ttl in zip(names, ttls, strict=True) if own == name]
    routers = min((one for one in passed if one is not None), default=0)
    if routers == 1 and ":" in name:
        return _NEAR
    return f"{units.number(routers, 'router')} from" if routers else _NEXT_TO


def _of_hosts(capture: Capture, streams: np.ndarray, names: list[str]) -> int:
    """Return how many of some connections are of hosts: next to one, all of its connections are captured next to it."""
    return sum(not set(names).isdisjoint(ends) for ends in _ends(capture, streams))


def _of_all(count: int, connections: int) -> str:
    return (
        ""
        if count == connections
        else f" ({units.count(count)} of {units.number(connections, 'connection')})"
    )


def _is_short(capture: Capture, directions: np.ndarray) -> np.ndarray:
    """Return which directions show no place for sure, as delays on the hosts may exceed the round trip."""
    read = ("sender_side_ns", "receiver_side_ns", "rtt_min_ns")
    columns = capture._contents.streams.at(directions, *read)
    sender, receiver, rtt = (floats(columns[name]) for name in read)
    whole = sender + receiver
    # Without the round trips to both ends, the least one may be that to an end.
    short: np.ndarray = np.isfinite(whole) & (np.fmin(whole, rtt) < vantage.SHORTEST_NS)
    return short


def _apart(places: np.ndarray, hosts: list[tuple[str, int]], connections: int) -> str:
    """Return where a capture was taken that is next to no single host.

    `places` are those of the connections that show one, `hosts` the hosts next to which some were captured.
    """
    if len(hosts) > HOSTS:
        return f"captured {_SHARED}"
    if 2 * len(places) <= connections:
        return _UNKNOWN
    elsewhere = len(places) - sum(count for _, count in hosts)
    if 2 * elsewhere <= len(places):
        rest = f" and elsewhere ({units.count(elsewhere)})" if elsewhere else ""
        return f"captured next to {units.counted(dict(hosts))}{rest}"
    return f"captured mostly {_BETWEEN}"


def _own_host(capture: Capture, rows: np.ndarray, machines: list[str]) -> str:
    """Return the host that captured, if most connections of `rows` are its; empty if nothing shows it.

    A cooked capture gives its packets another type. Packets from an address to itself leave no host, so a host
    captured its own, and those of its loopback. It may have several addresses. The one that has the connections with
    most payload is named.
    """
    addresses = {*capture._contents.capturing_hosts, *filterfalse(is_loopback, filter(None, machines))}
    if not addresses:
        return ""
    flows = capture._contents.streams.carriers
    streams = flows["stream"][rows].astype(np.int64)
    carried: Counter[str] = Counter()
    count = 0
    carried_bytes = flows["payload_bytes"][rows].tolist()
    for machine, ends, payload in zip(machines, _ends(capture, streams), carried_bytes, strict=True):
        own = addresses.intersection(ends)
        count += bool(own or machine)
        carried.update(dict.fromkeys(own, payload))
    if 2 * count <= len(rows) or not carried:
        return ""
    return carried.most_common(1)[0][0]


@once
def on_router(capture: Capture) -> bool:
    """Return whether the capture has both sides of a router for most connections."""
    rows = _largest(capture)
    on = _on_router(capture, capture._contents.streams.carriers["stream"][rows])
    return bool(2 * np.count_nonzero(on) > len(rows))


def _on_router(capture: Capture, streams: np.ndarray) -> np.ndarray:
    """Return for which streams the capture has both sides of a router that is the only one on the path.

    The packets of both ends passed no router, and most have a copy with another TTL (RFC 791 section 3.2).
    """
    columns = _of_ends(capture, streams, "packets", "routed_copies", "ttl")
    copied = 2 * columns["routed_copies"] > columns["packets"]
    on_router: np.ndarray = np.all(copied & np.isin(columns["ttl"], hops.INITIAL_TTLS), axis=1)
    return on_router


def _of_ends(capture: Capture, streams: np.ndarray, *names: str) -> dict[str, np.ndarray]:
    """Return columns about some streams, each of shape (n, 2): both directions, the client's first."""
    both = (2 * streams[:, None] + np.arange(2)).ravel()
    columns = capture._contents.streams.at(both, *names)
    return {name: column.reshape(-1, 2) for name, column in columns.items()}


def _delayed(capture: Capture) -> str:
    """Return the host that captured the largest flow behind its own delay; empty if packets do not show it."""
    stream, direction, _ = _largest_flow(capture)
    behind = vantage.behind(capture._contents.streams.sides(stream), direction)
    if behind is None:
        return ""
    end, delay_ns = behind
    at = 2 * stream + (direction if end == "sender" else 1 - direction)
    (name,) = capture._contents.streams.endpoints(np.array([at]))
    if delay_ns < _PROCESSING_NS:
        return f"{_NEXT_TO} {host(name)}"
    return f"on {host(name)}, behind {units.duration(delay_ns)} of delay on it"


def _largest_flow(capture: Capture) -> tuple[int, int, str]:
    """Return stream and direction of the flow with most payload, and where it was captured."""
    flows = capture._contents.streams.carriers
    largest = int(flows["payload_bytes"].argmax())
    place = str(capture._contents.paths.of_carriers[largest])
    return int(flows["stream"][largest]), int(flows["direction"][largest]), place


def shown_by(capture: Capture) -> list[tuple[str, str]]:
    """Return the evidence for the place where the largest flow was captured, as a row of facts."""
    if not capture._contents.streams.carriers["payload_bytes"].any():
        return []
    stream, direction, place = _largest_flow(capture)
    which = f"stream {stream}: " if capture.info.streams > 1 else ""
    shown = vantage.sentence(capture._contents.streams.sides(stream), direction, place)
    own, unpadded = map(", ".join, (capture._contents.capturing_hosts, capture._contents.unpadded_hosts))
    by_type = [("sent by the capturing host", f"packets of {own}, by their packet types")] if own else []
    by_padding = (
        [("not on a wire yet", f"frames of {unpadded}, without Ethernet's padding")] if unpadded else []
    )
    return [("place shown by", f"{which}{shown}"), *by_type, *by_padding]
