"""Sentences about connections that failed, and about resets of an end that was done, which are no failures."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import pandas as pd

from bdpcap.explain.once import once
from bdpcap.explain.trust import on_router
from bdpcap.report import talks
from bdpcap.report.failures import DONE, FIRST_TIMEOUT_NS, blocks
from bdpcap.report.talks import hashes
from bdpcap.words import units
from bdpcap.words.endpoints import is_public

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Capture
    from bdpcap.report.talks import Talks

__all__ = ["counted", "ends", "failed", "sentences"]

_LINES: Final = 5
"""Maximum number of lines per kind of failure; the remaining pairs of hosts share the last line."""

_AT_ONCE: Final = (
    "Both ends agreed to talk, and one left at once: a health check, a scan, or a service that is overloaded."
)
_ADVICE: Final = {
    "never answered": "Check the route and the firewalls: a host without that service would have refused.",
    "refused": "Start the service, or check the address and the port.",
    "never completed": "Check the way back to the client, and whether it meant to connect: port scans and floods of SYNs "
    "end so.",
    "withdrawn": "The client did not want it any more: it had stopped waiting, or only probed the port.",
    "timeout": "Find what broke, the path or the far end: retransmissions went unanswered to the end.",
    "unread": "Its program had stopped reading: see in its log why, and why it ended.",
    "cut off": "Ask the end that reset it: its log says why.",
    "unanswered": "See why the service reset it: its log, or a proxy before it.",
    "unused": _AT_ONCE,
}
"""Advice by the kind of failure; `_Line.advice` has better where the capture shows more."""

_FILTERED: Final = (
    "Both hosts exchanged packets at that time, so the route works: "
    "a filter, or the server itself, drops these."
)
_LOST: Final = "The port answered other connections: the SYNs or their answers were lost."
_LOST_ONCE: Final = (
    "The port answered other connections: a SYN or its answer was lost, or the client gave up at once."
)
_SCAN: Final = (
    "The client tried many ports of one host, as a port scan does: "
    "nothing to mend, unless nobody wanted the scan."
)
_PROBE: Final = (
    "Probably a scanner's probe: nothing to mend, unless the client was to have that service; then start it."
)
_PROBED: Final = (
    "The client left as soon as it was answered: it only probed the port, or had no use for the connection."
)
_RACED: Final = (
    "Nothing to mend: a connection to this port over the other IP version was just opening. "
    "Programs that try both keep the first one (RFC 8305)."
)
_FELL_BACK: Final = (
    "Probably nothing to mend: a connection to this port over the other IP version followed at once. "
    "The service may listen on that version alone."
)
_DROPPED: Final = (
    "These SYNs entered the router that captured them and never left it: "
    "it dropped them, as its filter may do."
)
_UNREACHABLE: Final = (
    "No SYN of {} was answered anywhere, while other addresses got answers. "
    "Check whether this is the right source address, and the route back to it, as of a VPN."
)
_GIVEN_UP: Final = (
    "No SYN was sent again: the client gave up at once, as probes do, or programs with several addresses."
)
_GIVEN_UP_OR_OLDER: Final = (
    "No SYN was sent again: the client gave up at once, or this was the last of a series begun before the capture."
)
_STARTED: Final = "The port accepted a later connection: the service had not started yet."
_LEFT_BY_CLIENT: Final = (
    "The answers reached the capture next to the client: "
    "see whether its firewall dropped them, or it had given up."
)
_SPARE: Final = "Nobody asked for anything: a spare connection, or a program that hung."
_NOT_NEEDED: Final = (
    "Another connection of these hosts was alive, so this one may have been needed no longer."
)
_REPEATED_NS: Final = 3_000_000_000
"""Time after which a SYN without an answer was sent again, also by hosts that wait for 3 s (RFC 2988 section 2.1)."""
_LAST_REPEAT_NS: Final = 32_000_000_000
"""Time before the last SYN of a series: of Linux's seven, doubled from 1 s on (``tcp_syn_retries``; RFC 6298)."""
_SCANNED: Final = 15
"""Fewest ports of a host that show a scan: as many as Zeek's scan.zeek takes (``port_scan_threshold``)."""
_TALKING: Final = ("never answered", "refused", "unused")
"""Kinds whose advice depends on other connections of their hosts."""
_RACING: Final = ("never completed", "withdrawn")
"""Kinds that a race of two IP versions leaves."""
_BY_PORT: Final = (*_RACING, "refused")
"""Kinds whose advice depends on other connections to their ports."""

_WITHOUT_DATA: Final = ("never answered", "refused", "never completed", "withdrawn", "unused")
"""Kinds of connections that a scan leaves: no end sent data."""

_KINDS: Final = (*_ADVICE, DONE)
_WANTED: Final = ("withdrawn", "unused")
"""Kinds that an end may have wanted: no count of failures has them."""


def sentences(capture: Capture) -> list[str]:
    """Return sentences about failed connections with advice, gravest first; empty if none failed."""
    return [sentence for sentence, _ in counted(capture)]


@once
def counted(capture: Capture) -> list[tuple[str, int]]:
    """Return the same sentences as `sentences`, each with the number of its connections."""
    lines = _lines(capture)
    hosts = {name.one for kind in _TALKING for line in lines[kind] for name in (line.clients, line.servers)}
    others = talks.of(capture, hosts, {line.ports.one for kind in _BY_PORT for line in lines[kind]})
    scans = {
        line.ends
        for kind in _WITHOUT_DATA
        for line in lines[kind]
        if line.ends and len(line.ports) >= _SCANNED
    }
    unreachable = {line.clients.one for line in lines["never answered"] if line.is_unreachable(others)}
    found, given = [], set()
    for kind in _ADVICE:
        for line in lines[kind]:
            advice = line.advice(kind, others, (capture.info.first_ns or 0, capture.info.last_ns or 0))
            if kind == "never answered" and not line.routed and on_router(capture):
                advice = _DROPPED
            elif kind in _WITHOUT_DATA and line.ends in scans:
                advice = _SCAN
            elif kind == "never answered" and len(line.clients) == 1 and line.clients.one in unreachable:
                advice = _UNREACHABLE.format(line.clients.one)
            # Advice that stands above is not repeated.
            found.append((line.sentence(kind) + ("" if advice in given else f" {advice}"), line.connections))
            given.add(advice)
    return found


def failed(capture: Capture) -> int:
    """Return the number of connections that failed, without those that an end may have wanted so."""
    lines = _lines(capture)
    return sum(line.connections for kind in _ADVICE if kind not in _WANTED for line in lines[kind])


def ends(capture: Capture) -> list[str]:
    """Return sentences about connections that an end reset once it was done; empty if there are none."""
    return [line.sentence(DONE) for line in _lines(capture)[DONE]]


@once
def _lines(capture: Capture) -> dict[str, list[_Line]]:
    """Return the lines of each kind, most connections first: one for each pair of hosts, and one for all other pairs."""
    places = _places(capture)
    found: defaultdict[tuple[str, int], _Line] = defaultdict(_Line)
    for block in blocks(capture, _KINDS) if places else ():
        place = [places.get(key, _LINES) for key in _keys(block).tolist()]
        for key, rows in block.groupby(["kind", np.array(place)]):
            found[cast("tuple[str, int]", key)].add(rows)
    lines = {kind: [found[key] for key in sorted(found) if key[0] == kind] for kind in _KINDS}
    return {kind: sorted(own, key=lambda line: -line.connections) for kind, own in lines.items()}


def _places(capture: Capture) -> dict[int, int]:
    """Return the places of the pairs of hosts that have a line for themselves, by the pair's key."""
    keys, codes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int8)]
    for block in blocks(capture, _KINDS):
        keys.append(_keys(block))
        codes.append(block["kind"].map(_KINDS.index).to_numpy(np.int8))
    pairs, first, counts = np.unique(np.concatenate(keys), return_index=True, return_counts=True)
    of_pair = np.concatenate(codes)[first]
    places: dict[int, int] = {}
    for code in range(len(_KINDS)):
        own = np.flatnonzero(of_pair == code)
        largest = own[np.lexsort((first[own], -counts[own]))]
        single = largest if len(largest) <= _LINES else largest[: _LINES - 1]
        places |= {key: place for place, key in enumerate(pairs[single].tolist())}
    return places


def _keys(block: pd.DataFrame) -> NDArray[np.int64]:
    """Return a number for the kind and the hosts of each connection.

    Names of millions of hosts would take much memory. Python's hash has a secret key, so no capture contrives equal ones.
    """
    return hashes(zip(block["kind"], block["client"], block["server"], strict=True))


@dataclass
class _Names:
    """The number of different names. Only one name is kept, and a hash of the others."""

    one: str = ""
    _hashes: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, names: pd.Series[str]) -> None:
        different = names.unique()
        self.one = str(different[0])
        self._hashes.append(hashes(different))

    def __len__(self) -> int:
        return len(pd.unique(np.concatenate(self._hashes))) if self._hashes else 0

    def text(self, noun: str) -> str:
        """Return the only name, or the number of names."""
        count = len(self)
        return self.one if count == 1 else units.number(count, noun)


@dataclass
class _Line:
    """Connections that one sentence describes."""

    connections: int = 0
    syns: int = 0
    unacknowledged_bytes: int = 0
    at_client: bool = True
    """Whether the capture was taken next to the client of each connection."""
    of_strangers: bool = True
    """Whether a host of the Internet sent each SYN to the host next to which the capture was taken."""
    bare: bool = True
    """Whether each SYN has at most the MSS as an option."""
    routed: bool = False
    """Whether a packet of a client was captured on both sides of a router."""
    longest_ns: int = 0
    """Longest time from the first packet of a connection to its last."""
    start_ns: int = sys.maxsize
    end_ns: int = -sys.maxsize
    clients: _Names = field(default_factory=_Names)
    servers: _Names = field(default_factory=_Names)
    ports: _Names = field(default_factory=_Names)
    tries: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=list)
    """A hash of the client, the server and its port for each connection, and the time of its first SYN."""
    resetters: _Names = field(default_factory=_Names)

    def add(self, rows: pd.DataFrame) -> None:
        """Add some rows of `bdpcap.report.failures.blocks`."""
        self.connections += len(rows)
        self.syns += int(rows["syns"].sum())
        self.unacknowledged_bytes += int(rows["unacknowledged_bytes"].sum())
        self.at_client &= bool(rows["at_client"].all())
        self.of_strangers &= bool(rows["at_server"].all()) and all(
            is_public(client.strip("[]")) for client in rows["client"].unique()
        )
        self.bare &= bool(rows["bare"].all())
        self.routed |= bool(rows["routed"].any())
        self.longest_ns = max(self.longest_ns, int((rows["end_ns"] - rows["start_ns"]).max()))
        self.start_ns = min(self.start_ns, int(rows["start_ns"].min()))
        self.end_ns = max(self.end_ns, int(rows["end_ns"].max()))
        self.clients.add(rows["client"])
        self.servers.add(rows["server"])
        self.ports.add(rows["port"])
        tried = hashes(zip(rows["client"], rows["server"], rows["port"], strict=True))
        self.tries.append((tried, rows["start_ns"].to_numpy(np.int64)))
        resetters = rows["ended_by"].dropna()
        if len(resetters):
            self.resetters.add(resetters)

    def sentence(self, kind: str) -> str:
        """Return the sentence on the connections, which are of one kind."""
        left = f"{units.exact_bytes(self.unacknowledged_bytes)} unacknowledged"
        what = {
            "never answered": f"never answered ({self._tries()})",
            "refused": "refused",
            "never completed": "answered, and never completed by the client",
            "withdrawn": "answered, and reset by the client before any data",
            "timeout": f"given up with {left}",
            "unread": f"reset by {self._resetter()} with its window closed",
            "cut off": f"reset with {left}",
            "unanswered": "reset without an answer",
            "unused": "reset before any data",
            DONE: f"ended by a reset of {self._resetter()}, which was done",
        }[kind]
        were = "was" if self.connections == 1 else "were"
        to = f"{self._port()} of {self.servers.text('host')}"
        return f"{units.number(self.connections, 'connection')} from {self.clients.text('host')} to {to} {were} {what}."

    def advice(self, kind: str, others: Talks, captured_ns: tuple[int, int]) -> str:
        """Return the advice on the connections, as far as the capture's time and other connections leave it open."""
        one_service = len(self.servers) == len(self.ports) == 1
        advice = _ADVICE[kind]
        if kind == "unused":
            advice = _AT_ONCE if self.longest_ns < FIRST_TIMEOUT_NS else _SPARE
            if self.ends and others.alive(*self.ends, self.start_ns, self.end_ns):
                advice = f"{advice} {_NOT_NEEDED}"
        elif kind == "never answered":
            advice = self._without_answer(others, captured_ns, one_service=one_service)
        elif kind == "refused":
            advice = self._refused(others, one_service=one_service)
        elif kind in _RACING and self._is_raced(others):
            advice = _RACED
        elif kind == "never completed" and self.at_client:
            advice = _LEFT_BY_CLIENT
        elif kind == "withdrawn" and self.syns == self.connections and self.longest_ns < FIRST_TIMEOUT_NS:
            advice = _PROBED
        return advice

    def _is_raced(self, others: Talks) -> bool:
        """Return whether as many connections over the other IP version were opening at the only port."""
        if not (self.at_client and self._is_one_service):
            return False
        return others.raced(self.clients.one, self.ports.one, self.start_ns) >= self.connections

    def _fell_back(self, others: Talks) -> bool:
        """Return whether as many connections over the other IP version followed at the only port."""
        if not self._is_one_service:
            return False
        followed = others.followed(self.clients.one, self.ports.one, self.start_ns, self.end_ns)
        return followed >= self.connections

    def is_unreachable(self, others: Talks) -> bool:
        """Return whether nobody answers the only client, which tried again, though a server of it answers others."""
        client, server = self.clients.one, self.servers.one
        tried_again = len(self.clients) == 1 and not self._once
        return tried_again and not others.answered(client) and others.answered(server)

    def _refused(self, others: Talks, *, one_service: bool) -> str:
        """Return the advice on connections that were refused."""
        if one_service and others.accepted(self.servers.one, self.ports.one, self.end_ns):
            return _STARTED
        if self._fell_back(others):
            return _FELL_BACK
        probe = self._came_once and (self.of_strangers or self.bare)
        return _PROBE if probe else _ADVICE["refused"]

    def _without_answer(self, others: Talks, captured_ns: tuple[int, int], *, one_service: bool) -> str:
        """Return the advice on SYNs that were never answered, in a capture of a time."""
        first_ns, last_ns = captured_ns
        if one_service and others.accepted(self.servers.one, self.ports.one, 0):
            return _LOST_ONCE if self._once else _LOST
        if self._once and last_ns - self.end_ns > _REPEATED_NS:
            return _GIVEN_UP if self.start_ns - first_ns > _LAST_REPEAT_NS else _GIVEN_UP_OR_OLDER
        talked = self.ends and others.passed(*self.ends, self.start_ns, self.end_ns)
        return _FILTERED if talked else _ADVICE["never answered"]

    @property
    def ends(self) -> tuple[str, str] | None:
        """The client and the server; None if there are several."""
        return (self.clients.one, self.servers.one) if len(self.clients) == len(self.servers) == 1 else None

    @property
    def _is_one_service(self) -> bool:
        """Whether one client tried one port of one server."""
        return self.ends is not None and len(self.ports) == 1

    @property
    def _once(self) -> bool:
        """Whether each client sent one SYN to each port at a time. Another source port makes no other try."""
        if self.syns != self.connections:
            return False
        tried, at_ns = map(np.concatenate, zip(*self.tries, strict=True))
        order = np.lexsort((at_ns, tried))
        again = (np.diff(tried[order]) == 0) & (np.diff(at_ns[order]) <= _REPEATED_NS)
        return not again.any()

    @property
    def _came_once(self) -> bool:
        """Whether no client came back to a port, at whatever time."""
        return self.syns == len(pd.unique(np.concatenate([tried for tried, _ in self.tries])))

    def _tries(self) -> str:
        tries = units.number(self.syns, "SYN")
        lasted_ns = self.end_ns - self.start_ns
        return f"{tries} in {units.duration(lasted_ns)}" if lasted_ns else tries

    def _resetter(self) -> str:
        return self.resetters.one if len(self.resetters) == 1 else "one end"

    def _port(self) -> str:
        ports = self.ports.text("port")
        return f"port {ports}" if ports == self.ports.one else ports
