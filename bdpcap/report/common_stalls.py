"""Stalls of several connections at the same time, which show that the path near their common host stalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bdpcap import _core
from bdpcap.diagnosis.decide import cause
from bdpcap.diagnosis.kinds import ALL
from bdpcap.diagnosis.kinds.rwnd import ETHERNET_MSS
from bdpcap.diagnosis.natures import LATE, OUTAGE, nature
from bdpcap.diagnosis.natures.outage import acknowledged_within
from bdpcap.explain import place
from bdpcap.limits.capacity import INITIAL_WINDOW
from bdpcap.read import hops, vantage
from bdpcap.report import failures
from bdpcap.report.failed_lines import lines
from bdpcap.report.ranking import KEEP_ALIVE_BYTES
from bdpcap.timers import FIRST_TIMEOUT_NS, LEAST_TIMER_NS, LONGEST_DELAYED_ACK_NS
from bdpcap.words import units
from bdpcap.words.endpoints import host, is_public

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from bdpcap.capture import Capture, Flow

__all__ = ["Shared", "explains", "shared"]

ROUND_TRIPS: Final = 4
"""Fewest round trips of a path that a stall lasts; a choice: queues delay acknowledgments by one or two."""
TWO: Final = 2
"""Fewest connections, and fewest hosts at their other ends: one host may stall by itself."""
ONE_AGAIN: Final = 2
"""SYNs of a connection whose first one, or its answer, was lost."""
MANY_BYTES: Final = INITIAL_WINDOW * ETHERNET_MSS
"""Bytes of one connection that a link which stalls does not carry meanwhile: a whole flight; a choice."""
TRIED: Final = 50
"""Most common stalls of which it is asked what the link carried meanwhile, those of most connections; a choice."""
MOST: Final = 1000
"""Most stalls that are compared; a capture with more has stalls at any time."""


_OF_STALLS: Final = (
    "longest_stall_ns", "longest_stall_start_ns", "rtt_min_ns", "payload_bytes",
    "acked_bytes", "ttl", "retransmits", "lost_before_tap",
)  # fmt: skip
"""Columns about directions that show their stalls."""
_PAUSED: Final = [ALL["app"].causes[detail] for detail in ("idle", "small writes", "response time")]
"""Causes that data look like which a link delivers late."""


class Shared(NamedTuple):
    """What stalled, and where to act."""

    fact: str
    """A sentence on the connections of one host that waited at the same time."""
    advice: str
    """A sentence on the link to see first."""
    streams: frozenset[int]
    """The connections that waited with others, whenever that was."""
    host: str
    spans: tuple[tuple[int, int], ...]
    """Start and end of each such wait."""

    def __str__(self) -> str:
        return f"{self.fact} {self.advice}"


class _Stall(NamedTuple):
    """A time in which one connection waited for its peer."""

    start_ns: int
    end_ns: int
    stream: int
    ends: tuple[str, str]
    direct: bool
    """Whether both ends have private addresses, and no router between them: a common wait is that of their link."""
    afar: frozenset[str]
    """Ends on the Internet behind routers: their links are not for who captured to mend."""
    tried_ns: int
    """Time until which the path may have held it: after its last try in vain, it waited for a timer."""


class _Common(NamedTuple):
    """Stalls of connections of one host, in the time that all of them have in common."""

    host: str
    peers: int
    away: bool
    """Whether one of the peers is on the Internet."""
    streams: list[int]
    start_ns: int
    end_ns: int


def shared(capture: Capture) -> Shared | None:
    """Return the longest common wait of the most connections of one host; None without any. Batches show no wait."""
    stalls = [] if place.in_batches(capture) else list(_stalls(capture))
    if not TWO <= len(stalls) <= MOST:
        return None
    found = [common for name, own in _by_host(stalls).items() for common in _common(name, own)]
    largest = sorted(found, key=lambda common: (-len(common.streams), common.start_ns - common.end_ns))
    found = [common for common in largest[:TRIED] if not _carried(capture, common)]
    if not found:
        return None
    one = found[0]
    found = [common for common in found if common.host == one.host]
    since_ns = one.start_ns - capture._contents.begin_ns(one.start_ns)
    since = units.duration(since_ns) if since_ns else "the start"
    return Shared(
        f"{units.streams(one.streams)} to {units.number(one.peers, 'host')} waited at the same time "
        f"for {units.duration(one.end_ns - one.start_ns)}, from {since} on.{_again(one, found)} "
        f"They share the path near {one.host}. Pauses of other flows to it may be such waits, too.",
        f"Near {one.host}: See its wireless or access link first.",
        frozenset(stream for common in found for stream in common.streams),
        one.host,
        tuple((common.start_ns, common.end_ns) for common in found),
    )


def _carried(capture: Capture, common: _Common) -> bool:
    """Return whether the link of a host carried data of as many connections as waited, or a flight of one.

    A round trip within that time shows it. Of the other connections, those with most bytes are looked at.
    """
    names, flows = _addresses(capture, common.host), capture.flows
    beside = flows[
        ~flows["stream"].isin(common.streams)
        & (flows["sender"].map(host).isin(names) | flows["receiver"].map(host).isin(names))
    ]
    # Other hosts of a network say nothing about its link to the Internet.
    ends = zip(beside["sender"].map(host), beside["receiver"].map(host), strict=True)
    away = [any(is_public(end) for end in pair if end not in names) for pair in ends]
    beside = beside[np.array(away, dtype=bool) == common.away]
    times = common.start_ns, common.end_ns
    carried = list(acknowledged_within(capture, beside, *times, least_bytes=KEEP_ALIVE_BYTES + 1))
    several = len({stream for stream, _ in carried}) >= len(common.streams)
    return several or any(acked_bytes >= MANY_BYTES for _, acked_bytes in carried)


def _addresses(capture: Capture, name: str) -> Sequence[str]:
    """Return the addresses of a host, those of both families where the capture is its own."""
    own = place.own(capture)
    return own if name in own else [name]


def explains(stalls: Shared, flow: Flow) -> bool:
    """Return whether a flow was held by a wait that other connections shared, or may have been."""
    held = flow.stream in stalls.streams and nature(flow) in (OUTAGE, LATE)
    return held or _may_be_held(stalls, flow)


def _may_be_held(stalls: Shared, flow: Flow) -> bool:
    """Return whether pauses of a flow to the host of common waits were no longer than these, and one met one of them.

    Data that such a link delivers late look like a pause of the program that sent them.
    """
    if nature(flow) is not None or cause(flow)[0] not in _PAUSED:
        return False
    if host(flow.receiver) not in _addresses(flow.capture, stalls.host):
        return False
    rtts = flow.rtts[(flow.rtts["limit"] == "app") & (flow.rtts["in_flight_max_bytes"] == 0)]
    longest_ns = max(end_ns - start_ns for start_ns, end_ns in stalls.spans)
    met = any(
        ((rtts["start_ns"] < end_ns) & (rtts["end_ns"] > start_ns)).any() for start_ns, end_ns in stalls.spans
    )
    return bool(met and (rtts["end_ns"] - rtts["start_ns"]).mean() <= longest_ns)


def _again(one: _Common, found: list[_Common]) -> str:
    """Return a sentence on the other times at which connections waited together; empty without any."""
    apart: list[_Common] = []
    for common in sorted(found, key=lambda common: common.start_ns - common.end_ns):
        if all(common.start_ns >= known.end_ns or common.end_ns <= known.start_ns for known in [one, *apart]):
            apart.append(common)
    if not apart:
        return ""
    longest = units.duration(max(common.end_ns - common.start_ns for common in apart))
    return f" Connections waited so together {units.number(len(apart), 'more time')}, for {longest} at most."


def _stalls(capture: Capture) -> Iterator[_Stall]:
    """Yield the longest wait of each direction for an acknowledgment, and the handshakes that opened late."""
    streams = capture._contents.streams
    rows = streams.where(_waited, *_OF_STALLS)
    found = rows["row"]
    passed = np.stack([hops.passed(rows["ttl"]), hops.passed(streams.at(found ^ 1, "ttl")["ttl"])], axis=1)
    near, near_peer = (passed == 0).T
    # Data that reached a capture next to their receiver, and came again, wait for that host alone.
    arrived = 2 * rows["lost_before_tap"] < rows["retransmits"]
    beside = (vantage.NAMES[capture._contents.paths.places[found]] == "receiver") & near_peer
    twins = np.isin(found // 2, [two for _, two in capture._contents.twins])
    kept = np.flatnonzero(~(arrived & beside) & ~twins)
    if len(kept) > MOST:
        return
    # A host with addresses of both families has one link.
    own = place.own(capture)

    def named(name: str) -> str:
        return own[0] if name in own else name

    names = [map(named, map(host, streams.endpoints(found[kept] ^ peer))) for peer in (0, 1)]
    for at, *pair in zip(kept.tolist(), *names, strict=True):
        since_ns = int(rows["longest_stall_start_ns"][at])
        direct = bool(near[at] and near_peer[at]) and not any(map(is_public, pair))
        until_ns = since_ns + int(rows["longest_stall_ns"][at])
        afar = _afar(pair, passed[at], own)
        yield _Stall(since_ns, until_ns, int(found[at]) // 2, (pair[0], pair[1]), direct, afar, until_ns)
    for block in failures.blocks(capture, [failures.LATE]) if lines(capture)[failures.LATE] else ():
        columns = (
            block[name].tolist() for name in ("start_ns", "opening_ns", "stream", "client", "server", "syns")
        )
        both_passed = np.stack([hops.passed(block[name]) for name in ("ttl", "answer_ttl")], axis=1)
        for since_ns, opening_ns, stream, client, server, syns, ways in zip(
            *columns, both_passed, strict=True
        ):
            ends = named(client.strip("[]")), named(server.strip("[]"))
            until_ns = since_ns + opening_ns
            # The second SYN opened it, and before that nothing was tried.
            tried_ns = since_ns if syns == ONE_AGAIN else until_ns
            afar = _afar(ends, ways, own)
            yield _Stall(since_ns, until_ns, stream, ends, direct=False, afar=afar, tried_ns=tried_ns)


def _afar(ends: Iterable[str], passed: NDArray[np.int64], own: Sequence[str]) -> frozenset[str]:
    """Return which ends are on the Internet behind routers, and not next to the capture."""
    both = zip(ends, passed.tolist(), strict=True)
    return frozenset(name for name, routers in both if routers > 0 and is_public(name) and name not in own)


def _waited(columns: dict[str, Any]) -> np.ndarray:
    """Return which directions waited for an acknowledgment for longer than queues and delayed acknowledgments take."""
    lasted_ns, start_ns, rtt_ns = (
        columns[name] for name in ("longest_stall_ns", "longest_stall_start_ns", "rtt_min_ns")
    )
    least_ns = np.where(rtt_ns == _core.NULL, 0, rtt_ns).astype(float) * ROUND_TRIPS
    waited: np.ndarray = (start_ns != _core.NULL) & (
        lasted_ns >= np.maximum(least_ns, LONGEST_DELAYED_ACK_NS)
    )
    # Data that never passed may be what a filter drops.
    waited &= (columns["payload_bytes"] > KEEP_ALIVE_BYTES) & (columns["acked_bytes"] > 0)
    return waited


def _by_host(stalls: list[_Stall]) -> dict[str, list[_Stall]]:
    """Return the stalls of the connections of each host whose link may be mended."""
    of: dict[str, list[_Stall]] = {}
    for stall in stalls:
        for name in {*stall.ends} - stall.afar:
            of.setdefault(name, []).append(stall)
    return of


def _common(name: str, stalls: list[_Stall]) -> Iterator[_Common]:
    """Yield the time common to stalls of a host, at the start of each stall, if it lasts as long as a timer."""
    running: list[_Stall] = []
    for stall in sorted(stalls):
        running = [
            one
            for one in running
            if one.end_ns - stall.start_ns >= LEAST_TIMER_NS
            and stall.start_ns - one.tried_ns <= LEAST_TIMER_NS
        ]
        running.append(stall)
        long = [one for one in running if one.end_ns - stall.start_ns >= FIRST_TIMEOUT_NS]
        for group in (long, running if any(one.direct for one in running) else []):
            streams = sorted({one.stream for one in group})
            peers = {end for one in group for end in one.ends} - {name}
            if min(len(streams), len(peers)) >= TWO:
                away = any(map(is_public, peers))
                yield _Common(
                    name, len(peers), away, streams, stall.start_ns, min(one.end_ns for one in group)
                )
