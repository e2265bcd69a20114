"""Facts about a capture, and the reasons to doubt its numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core
from bdpcap.explain import systems
from bdpcap.explain.notable import NOTABLE_SHARE as NOTABLE_PART
from bdpcap.explain.once import once
from bdpcap.read import vantage
from bdpcap.read.scale_source import UNKNOWN
from bdpcap.tables.columns import floats
from bdpcap.words import units
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.capture import Capture
    from bdpcap.read.facts import CaptureInfo

NOTABLE: Final = ("copies", "wifi-retries")
"""Flaws that change no verdict, but that a reader of the capture must know."""
NOTABLE_SHARE: Final = 0.01
"""Share of the frames from which on such a flaw is named first."""
LARGEST_SCALE: Final = 1 << 14
"""Largest factor of the window field (RFC 7323 section 2.3)."""
SCALES: Final = 5
"""Largest number of inferred window scales that are listed one by one."""

HOSTS: Final = 3
"""Most hosts next to which a capture is said to be taken; a choice. A capture on more hosts is rare."""

_BETWEEN: Final = "between the ends"
_ROUTER: Final = "on both sides of a router between the ends"
_PLACES: Final = {
    "sender": "near the sender",
    "receiver": "near the receiver",
    "between": _BETWEEN,
    "unknown": "at an unknown place",
}


def facts(capture: Capture) -> list[tuple[str, str]]:
    """Return the facts about a capture as names and values, in the order in which readers need them."""
    info = capture.info
    formats = [
        f"{form}, {compression}" if compression else form
        for form, compression in zip(info.formats, info.compression, strict=True)
    ]
    lasted = (
        units.duration(info.last_ns - info.first_ns)
        if info.first_ns is not None and info.last_ns is not None
        else units.MISSING
    )
    rows = [
        ("file" if len(info.files) == 1 else "files", ", ".join(info.files)),
        ("format", "; ".join(dict.fromkeys(formats))),
        ("link types", _counts(info.link_types)),
        ("frames", units.count(info.frames)),
        (
            "TCP segments",
            f"{units.count(info.segments)} in {units.number(info.streams - info.quoted, 'stream')}",
        ),
        *([("quoted by ICMP only", units.number(info.quoted, "stream"))] if info.quoted else []),
        *_lifecycles(capture),
        ("flows with payload", units.count(len(capture._contents.streams.carriers["stream"]))),
        *systems.fact(capture),
        ("first frame", units.instant(info.first_ns)),
        ("duration", lasted),
        ("vantage", _vantage(capture)),
        *_shown_by(capture),
        ("dropped while capturing", _drops(info)),
    ]
    if info.datagrams:
        flows = units.number(len(capture.datagrams), "flow")
        rows.append(("UDP datagrams", f"{units.count(info.datagrams)} in {flows}"))
    if info.paths:
        rows.append(("tags and tunnels", _counts(info.paths)))
    if info.filtered_out:
        rows.append(("left out by the filter", units.number(info.filtered_out, "frame")))
    if info.from_whole:
        rows.append(("excerpt, by its comment", "; ".join(info.from_whole)))
    rows.extend(("comment", comment) for comment in info.comments)
    return rows


def _lifecycles(capture: Capture) -> list[tuple[str, str]]:
    """Return the counts of handshakes and of connection endings by kind; empty if there were no connections."""
    handshakes: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    who = {0: " by the client", 1: " by the server", _core.NULL: ""}
    for columns, _ in capture._contents.streams.lifecycles(capture.info.last_ns):
        seen = columns["seen"]
        handshakes.update(columns["handshake"][seen])
        for by, named in who.items():
            of_one = Counter(columns["ended"][seen & (columns["ended_by"] == by)])
            ended.update({f"{how}{named}": count for how, count in of_one.items()})
    if not handshakes:
        return []
    return [("handshakes", _counts(handshakes)), ("ended", _counts(ended))]


def line(capture: Capture) -> str:
    """Return one line on the capture: frames, streams, duration and place."""
    info = capture.info
    said = f"{units.number(info.frames, 'frame')}, {_kinds(info)}"
    if info.first_ns is not None and info.last_ns is not None and info.first_ns < info.last_ns:
        said += f" in {units.duration(info.last_ns - info.first_ns)} from {units.instant(info.first_ns, 'seconds')}"
    return f"{said}; {_captured(capture)}.{_datagrams(capture)}" if info.segments else f"{said}."


def _datagrams(capture: Capture) -> str:
    """Return a sentence on UDP if it carried most of the payload, as with QUIC or calls; else nothing."""
    if not capture.info.datagrams:
        return ""
    by_udp = int(capture.datagrams["payload_bytes"].sum())
    whole = by_udp + int(capture._contents.streams.carriers["payload_bytes"].sum())
    if 2 * by_udp <= whole:
        return ""
    return f" UDP carried {units.data_size(by_udp)}, {units.share(by_udp / whole)} of the payload; only TCP is judged."


def _kinds(info: CaptureInfo) -> str:
    """Return the number of TCP streams; of UDP datagrams where there are no others."""
    if info.datagrams and not info.segments:
        return units.number(info.datagrams, "UDP datagram")
    return units.number(info.streams, "TCP stream")


def notable(capture: Capture) -> list[str]:
    """Return sentences on what the link or the capture did to a hundredth of the frames or more; empty if nothing."""
    least = max(1.0, NOTABLE_SHARE * capture.info.frames)
    return [flaw.sentence for flaw in capture.quality if flaw.code in NOTABLE and flaw.count >= least]


def caveats(capture: Capture) -> list[str]:
    """Return the reasons not to trust the numbers, one sentence each, doubts about verdicts first; empty if none."""
    return [*doubts(capture), *_notes(capture)]


def doubts(capture: Capture) -> list[str]:
    """Return the reasons to doubt the verdicts, one sentence each, gravest first; empty if none."""
    info = capture.info
    unscaled, matters = _unscaled(capture)
    found = [
        (
            capture.damages,
            f"The capture is damaged: {next(iter(capture.damages), '')}. What lies before is reported.",
        ),
        *((flaw, flaw.sentence) for flaw in capture.quality if flaw.grave),
        (
            info.multipath,
            (
                f"Multipath TCP: {units.number(info.multipath, 'stream')}. Windows are those of the whole connection, "
                "shared by its subflows."
            ),
        ),
        (matters, unscaled),
    ]
    return [sentence for holds, sentence in found if holds]


def _notes(capture: Capture) -> list[str]:
    """Return notes for the reader that the verdicts already allow for, one sentence each; empty if none."""
    info = capture.info
    scales = [str(scale) for scale in capture.scales]
    placeless = int((capture._contents.paths.of_carriers == "unknown").sum())
    unscaled, matters = _unscaled(capture)
    found = [
        (info.undecoded, f"Not decoded: {_counts(info.undecoded)}."),
        (not matters, unscaled),
        *((scale, f"{scale[0].upper()}{scale[1:]}.") for scale in scales[:SCALES]),
        (scales[SCALES:], f"Window scale inferred for {len(scales) - SCALES} more."),
        (placeless, f"Place of capture unknown: {units.number(placeless, 'flow')}."),
        *((flaw, flaw.sentence) for flaw in capture.quality if not flaw.grave),
    ]
    return [sentence for holds, sentence in found if holds and sentence]


def _unscaled(capture: Capture) -> tuple[str, bool]:
    """Return a sentence on flows without a known window scale, empty if there are none; and whether they carried much."""
    flows = capture._contents.streams.carriers
    # Without an acknowledgment in the capture, there is no window to scale.
    unknown = (flows["window_scale_source"] == UNKNOWN) & (flows["acks"] > 0)
    count = np.count_nonzero(unknown)
    if not count:
        return "", False
    sentence = (
        f"Window scale unknown: {units.number(count, 'flow')}. The windows may be 1 to {LARGEST_SCALE:,} "
        "times the number in the packets, so no verdict rests on their size. Capture from the handshake on."
    )
    carried = flows["payload_bytes"]
    return sentence, bool(carried[unknown].sum() >= NOTABLE_PART * carried.sum())


def _vantage(capture: Capture) -> str:
    """Return where streams were captured, by the larger flow of each; with counts if the places differ."""
    rows = _largest(capture)
    places = capture._contents.paths.of_carriers[rows]
    on_router = _on_router(capture, capture._contents.streams.carriers["stream"][rows])
    seen = Counter(
        f"on {machine}, the host of both ends" if machine else _ROUTER if router else _PLACES[place]
        for machine, place, router in zip(
            _machines(capture, rows), places.tolist(), on_router.tolist(), strict=True
        )
    )
    return next(iter(seen)) if len(seen) == 1 else _counts(seen)


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
    own, other = (map(host, capture._contents.streams.endpoints(2 * streams + end)) for end in (0, 1))
    return [one if on_one_machine(one, two) else "" for one, two in zip(own, other, strict=True)]


def _captured(capture: Capture) -> str:
    """Return the host near which most connections were captured, and the routers before it; or else the places."""
    places = set(capture._contents.paths.of_carriers.tolist())
    if not places:
        return "no flow carried payload"
    rows, flows = _largest(capture), capture._contents.streams.carriers
    machines = _machines(capture, rows)
    if 2 * sum(map(bool, machines)) > len(machines):
        return f"captured {_vantage(capture)}"
    if on_router(capture):
        return f"captured {_ROUTER}"
    if own := _own_host(capture, rows):
        return f"captured {own}"
    streams, place = flows["stream"][rows], capture._contents.paths.of_carriers[rows]
    # The sender's end is the direction's own name, the receiver's that of the other direction.
    sending = flows["direction"][rows]
    ends = 2 * streams + np.where(place == "receiver", 1 - sending, sending)
    # A connection that shows no place contradicts none, and one of a short round trip shows none for sure.
    placed = place != "unknown"
    if set(place[placed].tolist()) == {"between"}:
        where = _delayed(capture) or _BETWEEN
        return f"captured {where}{_of_all(int(placed.sum()), len(rows))}"
    for shown in (placed, placed & ~_is_short(capture, 2 * streams + sending)):
        near = ends[shown & np.isin(place, ("sender", "receiver"))]
        hosts = Counter(map(host, capture._contents.streams.endpoints(near))).most_common(HOSTS + 1)
        if hosts and 2 * hosts[0][1] > np.count_nonzero(shown):
            nearest, count = hosts[0]
            return f"captured {_distance(capture, nearest, near)} {nearest}{_of_all(count, len(rows))}"
    return _apart(place[shown], hosts, len(rows))


def _distance(capture: Capture, name: str, ends: np.ndarray) -> str:
    """Return how many routers lie between the capture and a host, of which some `ends` are, or that it is next to it."""
    ttls = capture._contents.streams.directions("ttl")["ttl"][ends].tolist()
    names = map(host, capture._contents.streams.endpoints(ends))
    passed = [vantage.routers(ttl) for own, ttl in zip(names, ttls, strict=True) if own == name]
    routers = min((one for one in passed if one is not None), default=0)
    return f"{units.number(routers, 'router')} from" if routers else "next to"


def _of_all(count: int, connections: int) -> str:
    return (
        ""
        if count == connections
        else f" ({units.count(count)} of {units.number(connections, 'connection')})"
    )


def _is_short(capture: Capture, directions: np.ndarray) -> np.ndarray:
    """Return which directions show no place for sure, as delays on the hosts may exceed the round trip."""
    read = ("sender_side_ns", "receiver_side_ns", "rtt_min_ns")
    columns = capture._contents.streams.directions(*read)
    sender, receiver, rtt = (floats(columns[name])[directions] for name in read)
    whole = sender + receiver
    # Without the round trips to both ends, the least one may be that to an end.
    short: np.ndarray = np.isfinite(whole) & (np.fmin(whole, rtt) < vantage.SHORTEST_NS)
    return short


def _apart(places: np.ndarray, hosts: list[tuple[str, int]], connections: int) -> str:
    """Return where a capture was taken that is next to no single host.

    `places` are those of the connections that show one, `hosts` the hosts next to which some were captured.
    """
    if 2 * len(places) <= connections:
        return "place of capture unknown"
    elsewhere = len(places) - sum(count for _, count in hosts)
    if len(hosts) <= HOSTS and 2 * elsewhere < len(places):
        rest = f" and elsewhere ({units.count(elsewhere)})" if elsewhere else ""
        return f"captured next to {_counts(dict(hosts))}{rest}"
    kinds = Counter(_PLACES[place] for place in places.tolist())
    if len(kinds) > 1:
        return f"place of capture differs: {_counts(kinds)}"
    return f"captured {next(iter(kinds))}{_of_all(len(places), connections)}"


def _own_host(capture: Capture, rows: np.ndarray) -> str:
    """Return the host that captured, if packet types show it and most connections of `rows` are its; else empty.

    A host may have several addresses. The one that has the connections with most payload is named.
    """
    addresses = set(capture._contents.capturing_hosts)
    if not addresses:
        return ""
    flows = capture._contents.streams.carriers
    streams = flows["stream"][rows].astype(np.int64)
    both = [list(map(host, capture._contents.streams.endpoints(2 * streams + end))) for end in (0, 1)]
    carried: Counter[str] = Counter()
    count = 0
    for ends, payload in zip(zip(*both, strict=True), flows["payload_bytes"][rows].tolist(), strict=True):
        own = addresses.intersection(ends)
        count += bool(own)
        carried.update(dict.fromkeys(own, payload))
    if 2 * count <= len(rows):
        return ""
    return f"on {carried.most_common(1)[0][0]}"


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
    read = ("packets", "routed_copies", "ttl")
    columns = capture._contents.streams.directions(*read)
    packets, copies, ttl = (np.asarray(column).reshape(-1, 2)[streams] for column in map(columns.get, read))
    whole = (2 * copies > packets) & np.isin(ttl, vantage.INITIAL_TTLS)
    on_router: np.ndarray = whole.all(axis=1)
    return on_router


def _delayed(capture: Capture) -> str:
    """Return the host that captured the largest flow behind its own delay; empty if packets do not show it."""
    stream, direction, _ = _largest_flow(capture)
    behind = vantage.behind(capture._contents.streams.sides(stream), direction)
    if behind is None:
        return ""
    end, delay_ns = behind
    at = 2 * stream + (direction if end == "sender" else 1 - direction)
    (name,) = capture._contents.streams.endpoints(np.array([at]))
    return f"on {host(name)}, behind {units.duration(delay_ns)} of delay on it"


def _largest_flow(capture: Capture) -> tuple[int, int, str]:
    """Return stream and direction of the flow with most payload, and where it was captured."""
    flows = capture._contents.streams.carriers
    largest = int(flows["payload_bytes"].argmax())
    place = str(capture._contents.paths.of_carriers[largest])
    return int(flows["stream"][largest]), int(flows["direction"][largest]), place


def _shown_by(capture: Capture) -> list[tuple[str, str]]:
    """Return the evidence for the place where the largest flow was captured, as a row of facts."""
    if not capture._contents.streams.carriers["payload_bytes"].any():
        return []
    stream, direction, place = _largest_flow(capture)
    which = f"stream {stream}: " if capture.info.streams > 1 else ""
    shown = vantage.sentence(capture._contents.streams.sides(stream), direction, place)
    own = ", ".join(capture._contents.capturing_hosts)
    by_type = [("sent by the capturing host", f"packets of {own}, by their packet types")] if own else []
    return [("vantage shown by", f"{which}{shown}"), *by_type]


def _drops(info: CaptureInfo) -> str:
    """Return how many packets the capture reports as dropped, by interface where there are several."""
    if info.capture_drops is None:
        return "not recorded"
    total = units.count(info.capture_drops)
    if len(info.interfaces) == 1:
        return total
    each = [
        f"{interface['name'] or f'interface {number}'} {units.count(interface['drops'])}"
        for number, interface in enumerate(info.interfaces)
        if interface["drops"] is not None
    ]
    return f"{total} ({', '.join(each)})" if each else total


def _counts(counts: Mapping[str, int]) -> str:
    """Return names with their counts as text, largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} ({units.count(number)})" for name, number in ordered) or units.MISSING
