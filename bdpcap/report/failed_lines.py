"""Connections that failed or opened late, a line for those of two hosts: how many, when, and between whom."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap.explain.once import once
from bdpcap.read.hops import MOST_ROUTERS
from bdpcap.report import tls
from bdpcap.report.failures import (
    DONE,
    HTTP_UNANSWERED,
    LATE,
    ON_THE_WAY,
    REPEATED_NS,
    TLS_FAILED,
    TLS_UNANSWERED,
    TOO_LATE,
    blocks,
)
from bdpcap.report.talks import hashes, mixed
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words import units
from bdpcap.words.endpoints import is_public, public_block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from bdpcap.capture import Capture
    from bdpcap.report.failures import Columns

__all__ = ["FAILED", "MANY", "NAMED", "WITHOUT_DATA", "Line", "lines"]

FAILED: Final = (
    "never answered",
    "refused",
    "challenged",
    "never completed",
    "withdrawn",
    TLS_FAILED,
    HTTP_UNANSWERED,
    TLS_UNANSWERED,
    "timeout",
    "unread",
    ON_THE_WAY,
    "cut off",
    "unanswered",
    TOO_LATE,
    "unclosed",
    "unused",
)
"""Kinds of failures, the gravest first."""

WITHOUT_DATA: Final = ("never answered", "refused", "never completed", "withdrawn", "unused")
"""Kinds of connections that a scan leaves: no end sent data."""

KINDS: Final = (*FAILED, LATE, DONE)
MOST: Final = 5
"""Maximum number of lines per kind of failure; the remaining pairs of hosts share the last line."""
OF_KIND: Final = MOST + 2
"""Maximum number of lines per kind of failure, with two of pairs that share one: next to the server, and elsewhere."""
MANY: Final = 15
"""Fewest ports or hosts that one client tries in a scan: as many as Zeek's scan.zeek takes (``port_scan_threshold``)."""
NAMED: Final = 3
"""Maximum number of ports, and of servers, that a sentence names; of more, it gives the number."""
UPDATES_PORT: Final = "7680"
"""Port on which Windows offers updates to its peers (Microsoft, Delivery Optimization, "ports")."""
MOST_STRANGERS: Final = 1000
"""Most clients of a line whose addresses are looked at: a flood of SYNs has millions, and is no probe."""
TRACED: Final = 5
"""Fewest TTLs of one client's SYNs, from 1 on, that show a path trace; a choice. A host sends all SYNs with one TTL.

Routers let a SYN of TTL 1 pass no further (RFC 1812 section 5.3.1), so a host that wants an answer sends none. Scanners
that choose TTLs by chance begin far above 1.
"""


_OF_EACH: Final = (
    *("at_client", "at_server", "by_client", "by_server", "reset", "reset_late", "only_opened"),
    *("confirmed_in_vain", "with_data", "bare", "reached", "answered_again", "retried"),
)
"""Columns of `bdpcap.report.failures.blocks`, and fields of a line, that hold if they hold for each connection."""
_SUMMED: Final = ("syns", "syn_acks", "unanswered_fins", "unacknowledged_bytes", "deaf", "had_closed")
"""Columns of `bdpcap.report.failures.blocks`, and fields of a line, that are added up."""


@once
def lines(capture: Capture) -> dict[str, list[Line]]:
    """Return the lines of each kind, most connections first: one for each pair of hosts, and two for all other pairs.

    Those that came to a host next to the capture are apart from those that it or others sent.
    The pairs of a client that tried many servers without data are one for each such kind, too. SYNs that a router near
    the capture lets expire have lines for themselves, and path traces come last.
    """
    places = _places(capture)
    found: defaultdict[tuple[str, int], Line] = defaultdict(Line)
    read = 0
    for block in blocks(capture, KINDS) if len(places) else ():
        kind = block["kind"]
        place = places[read : read + len(kind)]
        read += len(kind)
        # The shared line of a kind is two.
        of = OF_KIND * kind + place + (block["at_server"] & (place == MOST))
        for number in np.unique(of).tolist():
            rows = np.flatnonzero(of == number)
            line = found[KINDS[number // OF_KIND], number % OF_KIND]
            line.add({name: column[rows] for name, column in block.items()})
    made = {kind: [found[key] for key in sorted(found) if key[0] == kind] for kind in KINDS}
    return {
        kind: sorted(own, key=lambda line: (line.is_trace, -line.connections)) for kind, own in made.items()
    }


def _places(capture: Capture) -> NDArray[np.int8]:
    """Return the place of each connection of `blocks` among the lines of its kind; `MOST` has those without a line.

    A pair of hosts has one, or a client that tried many servers.
    """
    columns: list[list[NDArray[Any]]] = [[], [], [], []]
    for block in blocks(capture, KINDS):
        for column, own in zip(columns, _keys(block), strict=True):
            column.append(own)
    if not columns[0]:
        return np.zeros(0, dtype=np.int8)
    # Of millions, one column at a time is there twice.
    clients, of_clients, pairs, kinds = (np.concatenate(columns.pop()) for _ in range(len(columns)))
    some, tried = np.unique(clients, return_counts=True)
    often = np.isin(clients, some[tried >= MANY])
    _, first_of_pair = np.unique(pairs[often], return_index=True)
    some, tried = np.unique(clients[often][first_of_pair], return_counts=True)
    of_lines = np.where(np.isin(clients, some[tried >= MANY]), of_clients, pairs)
    del clients, of_clients, pairs
    different, first, counts = np.unique(of_lines, return_index=True, return_counts=True)
    places = np.full(len(of_lines), MOST, dtype=np.int8)
    for code in range(len(KINDS)):
        own = np.flatnonzero(kinds[first] == code)
        largest = own[np.lexsort((first[own], -counts[own]))]
        single = largest if len(largest) <= MOST else largest[: MOST - 1]
        for place, number in enumerate(different[single].tolist()):
            places[of_lines == number] = place
    return places


def _keys(block: Columns) -> tuple[NDArray[Any], ...]:
    """Return the kind of each connection, and numbers for its kind, client and server, its kind and client, its client.

    With data, all three are the first. Names of millions of hosts would take much memory. Python's hash has a secret key,
    so no capture contrives equal ones.
    """
    kinds, clients = block["kind"], hashes(block["client"])
    # No host lets its other SYNs expire so soon.
    soon = (block["ttl"] >= 1) & (block["ttl"] <= MOST_ROUTERS)
    expiring = (kinds == KINDS.index("never answered")) & soon
    # Whichever servers are gone, one line names their client, and another the client that is gone itself.
    unclosed = kinds == KINDS.index("unclosed")
    # One alert of many servers has its cause at their client.
    alike = unclosed | (kinds == KINDS.index(TLS_FAILED))
    servers, closes = np.where(alike, 0, hashes(block["server"])), unclosed & block["fins_by_client"]
    pairs = mixed(kinds, clients, servers, expiring, closes, block["alert"], block["alert_by_client"])
    searches = np.isin(kinds, [KINDS.index(kind) for kind in WITHOUT_DATA])
    # A connection with data has its own hosts' line, whatever its client tried.
    of_clients = np.where(searches, mixed(kinds, clients, expiring), pairs)
    return kinds.astype(np.int8), pairs, of_clients, np.where(searches, clients, pairs)


@dataclass
class _Names:
    """The number of different names. Only the first names are kept, and a hash of each."""

    first: list[str] = field(default_factory=list)
    _hashes: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, names: NDArray[np.object_], hashes_: NDArray[np.int64]) -> NDArray[np.object_]:
        """Add names, each with its hash; return those that differ."""
        first = np.flatnonzero(~pd.Series(hashes_).duplicated().to_numpy())
        different = names[first]
        self._keep(different[:NAMED])
        self._hashes.append(hashes_[first])
        return different

    def join(self, others: _Names) -> None:
        """Add other names."""
        self._keep(others.first)
        self._hashes += others._hashes

    def _keep(self, names: Iterable[str]) -> None:
        self.first = list(dict.fromkeys([*self.first, *names]))[:NAMED]

    @property
    def one(self) -> str:
        """The first name; empty before it."""
        return self.first[0] if self.first else ""

    def __len__(self) -> int:
        return len(self.hashes())

    def hashes(self) -> NDArray[np.int64]:
        """Return a hash of each name."""
        if len(self._hashes) != 1:
            self._hashes = [pd.unique(np.concatenate([np.zeros(0, dtype=np.int64), *self._hashes]))]
        return self._hashes[0]

    def text(self, noun: str) -> str:
        """Return the only name, or the number of names."""
        count = len(self)
        return self.one if count == 1 else units.number(count, noun)


@dataclass
class Line:
    """Connections that one sentence describes."""

    connections: int = 0
    syns: int = 0
    most_syns: int = 0
    """Most SYNs of one connection."""
    least_syns: int = sys.maxsize
    """Fewest SYNs of one connection."""
    syn_acks: int = 0
    unanswered_fins: int = 0
    unacknowledged_bytes: int = 0
    at_client: bool = True
    """Whether the capture was taken next to the client of each connection."""
    at_server: bool = True
    """Whether the capture was taken next to the server of each connection."""
    by_client: bool = True
    """Whether the client ended each connection."""
    by_server: bool = True
    """Whether the server ended each connection."""
    alerts: set[tuple[int, bool]] = field(default_factory=set)
    """Descriptions of the TLS alerts, each with whether the client sent it."""
    reset: bool = True
    """Whether a reset ended each connection."""
    deaf: int = 0
    """Number of connections in which neither end got what the other sent again and again."""
    had_closed: int = 0
    """Number of connections in which the end that answered no FIN had sent the first one."""
    reset_late: bool = True
    """Whether a reset came to each client after the timers of all its SYNs had run out."""
    only_opened: bool = True
    """Whether no data passed in any connection after its handshake."""
    confirmed_in_vain: bool = True
    """Whether each server sent its SYN-ACK again after its client had confirmed it, and no data passed."""
    public: bool = True
    """Whether each client has an address of the Internet."""
    with_data: bool = True
    """Whether each client sent payload."""
    bare: bool = True
    """Whether each SYN has at most the MSS as an option."""
    crafted: bool = False
    """Whether a SYN has its options in an order of no TCP."""
    spoke_late: bool = False
    """Whether a server sent more than a farewell; after a TLS hello without an answer, it came once an end had closed."""
    ttls: set[int] = field(default_factory=set)
    """TTLs of the clients."""
    answer_ttls: set[int] = field(default_factory=set)
    """TTLs of the servers' answers."""
    networks: set[str] = field(default_factory=set)
    """First bytes of the servers' IPv4 addresses of the Internet."""
    reached: bool = True
    """Whether the capture was taken next to the end of each connection that answered nothing."""
    routed: bool = False
    """Whether a packet of a client was captured on both sides of a router."""
    longest_ns: int = 0
    """Longest time from the first packet of a connection to its last."""
    open_ns: int = 0
    """Longest time from the end of a handshake to the last packet."""
    in_vain_ns: tuple[int, int] = (sys.maxsize, -sys.maxsize)
    """Shortest and longest time for which a TLS hello or an HTTP request waited in vain."""
    opening_ns: tuple[int, int] = (sys.maxsize, -sys.maxsize)
    """Shortest and longest time from the first SYN to the end of the handshake."""
    confirmed_late: bool = True
    """Whether the server answered each client in time, and the client confirmed late."""
    retried: bool = True
    """Whether the first SYN-ACK of each came a round trip after a SYN that was sent again."""
    fins_by_client: set[bool] = field(default_factory=set)
    """Whether the client sent the FINs without an answer; two values where connections differ."""
    answered_again: bool = True
    """Whether each only SYN-ACK came as late as a second one would."""
    opened_ns: int = -sys.maxsize
    """When the last handshake ended."""
    start_ns: int = sys.maxsize
    end_ns: int = -sys.maxsize
    clients: _Names = field(default_factory=_Names)
    servers: _Names = field(default_factory=_Names)
    ports: _Names = field(default_factory=_Names)
    tries: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=list)
    """A hash of the client, the server and its port for each connection, and the time of its first SYN."""
    resetters: _Names = field(default_factory=_Names)

    def add(self, rows: Columns) -> None:
        """Add some rows of `bdpcap.report.failures.blocks`."""
        for name in _OF_EACH:
            setattr(self, name, getattr(self, name) and bool(rows[name].all()))
        self.connections += len(rows["syns"])
        self.most_syns = max(self.most_syns, int(rows["syns"].max()))
        self.least_syns = min(self.least_syns, int(rows["syns"].min()))
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + int(rows[name].sum()))
        self.fins_by_client |= set(np.unique(rows["fins_by_client"]).tolist())
        for by_client in (False, True):
            alerts = np.unique(rows["alert"][rows["alert_by_client"] == by_client])
            self.alerts |= {(alert, by_client) for alert in alerts.tolist()}
        self.crafted |= bool(rows["crafted"].any())
        self.spoke_late |= bool(rows["spoke_late"].any())
        self.ttls |= set(np.unique(rows["ttl"]).tolist())
        self.answer_ttls |= set(np.unique(rows["answer_ttl"]).tolist())
        self.routed |= bool(rows["routed"].any())
        start_ns, end_ns, opening_ns = rows["start_ns"], rows["end_ns"], rows["opening_ns"]
        lasted_ns, opened_ns = end_ns - start_ns, np.maximum(opening_ns, 0)
        self.longest_ns = max(self.longest_ns, int(lasted_ns.max()))
        self.open_ns = max(self.open_ns, int((lasted_ns - opened_ns).max()))
        self.opening_ns = _spanned(self.opening_ns, opening_ns)
        self.in_vain_ns = _spanned(self.in_vain_ns, rows["in_vain_ns"])
        answered_ns = rows["answered_ns"]
        in_time = (answered_ns >= 0) & (answered_ns < FIRST_TIMEOUT_NS)
        self.confirmed_late &= bool((in_time & (opening_ns - answered_ns >= FIRST_TIMEOUT_NS)).all())
        self.opened_ns = max(self.opened_ns, int((start_ns + opened_ns).max()))
        self.start_ns = min(self.start_ns, int(start_ns.min()))
        self.end_ns = max(self.end_ns, int(end_ns.max()))
        self._name(rows)

    def _name(self, rows: Columns) -> None:
        """Add the hosts and ports of some rows of `bdpcap.report.failures.blocks`."""
        ends = client, server, port = tuple(hashes(rows[name]) for name in ("client", "server", "port"))
        clients = self.clients.add(rows["client"], client)
        self.public = (
            self.public
            and len(clients) <= MOST_STRANGERS
            and all(is_public(name.strip("[]")) for name in clients)
        )
        servers = self.servers.add(rows["server"], server)
        if len(self.networks) < MANY:
            self.networks |= {*map(public_block, servers[:MOST_STRANGERS])} - {""}
        self.ports.add(rows["port"], port)
        self.tries.append((mixed(*ends), rows["start_ns"]))
        ended, by_client = rows["by_client"] | rows["by_server"], rows["by_client"]
        if ended.any():
            names = np.where(by_client, rows["client"], rows["server"])[ended]
            self.resetters.add(names, np.where(by_client, client, server)[ended])

    def join(self, other: Line) -> None:
        """Add the connections of another line of the same kind, none of which was answered."""
        self.reset_late &= other.reset_late
        self.connections += other.connections
        self.syns += other.syns
        self.most_syns = max(self.most_syns, other.most_syns)
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        self.start_ns = min(self.start_ns, other.start_ns)
        self.end_ns = max(self.end_ns, other.end_ns)
        self.tries += other.tries
        for own, others in (
            (self.clients, other.clients),
            (self.servers, other.servers),
            (self.ports, other.ports),
        ):
            own.join(others)

    def sentence(self, kind: str) -> str:
        """Return the sentence on the connections, which are of one kind."""
        servers = self.servers
        named = _listed(servers.first) if len(servers) <= NAMED else servers.text("host")
        to = f"{self._port()} of {named}"
        subject = f"{units.number(self.connections, 'connection')} from {self.clients.text('host')} to {to}"
        if kind == LATE:
            return f"{subject} opened only after {self._opening()}."
        if kind == TLS_FAILED:
            return f"{subject} ended in a failed TLS handshake: {self._alert()}."
        if kind in (TLS_UNANSWERED, HTTP_UNANSWERED):
            # Times that run backwards show no wait.
            after = f", and ended after {_span(self.in_vain_ns)}" if self.in_vain_ns[0] > 0 else ""
            what = "a TLS hello" if kind == TLS_UNANSWERED else "an HTTP request"
            return f"{subject} got no answer to {what}{after}."
        left = f"{units.exact_bytes(self.unacknowledged_bytes)} unacknowledged"
        fins = units.number(self.unanswered_fins, "FIN")
        unread = " without the data in the SYN" if self.with_data else ""
        what = {
            "never answered": f"never answered ({self._tries()})",
            "refused": "refused",
            "challenged": f"answered only by ACKs of an older one ({self._tries()})",
            "never completed": "answered, and never completed by the client",
            "withdrawn": f"answered{unread}, and reset by the client{'' if unread else ' before any data'}",
            "timeout": f"left with {left}",
            "unread": f"reset by {self._resetter()} with its window closed",
            ON_THE_WAY: "reset by a device on the way",
            "cut off": f"reset with {left}",
            "unanswered": "reset without an answer",
            TOO_LATE: f"closed{self._side()} before all data came, which a reset answered ({left})",
            "unclosed": f"closed, and no FIN of {self._closer()} was answered ({fins})",
            "unused": f"reset{self._side()} before any data",
            DONE: f"ended by a reset of {self._resetter()}, which was done",
        }[kind]
        were = "was" if self.connections == 1 else "were"
        return f"{subject} {were} {what}."

    @property
    def ends(self) -> tuple[str, str] | None:
        """The client and the server; None if there are several."""
        return (self.clients.one, self.servers.one) if len(self.clients) == len(self.servers) == 1 else None

    @property
    def nearest(self) -> str:
        """The hosts next to which the connections were captured."""
        return (self.clients if self.at_client else self.servers).text("host")

    @property
    def of_strangers(self) -> bool:
        """Whether hosts of the Internet sent each SYN to the host next to which the capture was taken."""
        return self.public and self.at_server

    @property
    def of_updates(self) -> bool:
        """Whether Windows seems to have looked for peers with updates, by the port and the first hosts' addresses."""
        local = not any(is_public(server.strip("[]")) for server in self.servers.first)
        return len(self.ports) == 1 and self.ports.one == UPDATES_PORT and local and not self.networks

    @property
    def is_one_port(self) -> bool:
        """Whether the clients tried one port of one server."""
        return len(self.servers) == len(self.ports) == 1

    @property
    def by_one_device(self) -> bool:
        """Whether one device answered for hosts of many networks: such hosts are not all equally far away."""
        return len(self.networks) >= MANY and len(self.answer_ttls) == 1

    @property
    def is_one_service(self) -> bool:
        """Whether one client tried one port of one server."""
        return self.ends is not None and len(self.ports) == 1

    @property
    def once_each(self) -> bool:
        """Whether each client sent one SYN to each port at a time. Another source port makes no other try."""
        if self.syns != self.connections:
            return False
        tried, at_ns = self.every_try
        order = np.lexsort((at_ns, tried))
        again = (np.diff(tried[order]) == 0) & (np.diff(at_ns[order]) <= REPEATED_NS)
        return not again.any()

    @property
    def every_try(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Hashes and times of all `tries`, one after the other."""
        if len(self.tries) > 1:
            tried, at_ns = map(np.concatenate, zip(*self.tries, strict=True))
            self.tries = [(tried, at_ns)]
        return self.tries[0]

    @property
    def first_tries(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The different hashes of `tries`, sorted, and the time of the first SYN of each."""
        tried, at_ns = self.every_try
        order = np.lexsort((at_ns, tried))
        different, first = np.unique(tried[order], return_index=True)
        return different, at_ns[order][first]

    @property
    def came_once(self) -> bool:
        """Whether no client came back to a port, at whatever time."""
        tried, _ = self.every_try
        return self.syns == len(pd.unique(tried))

    @property
    def is_trace(self) -> bool:
        """Whether the SYNs of the only client were to expire on the way, to show its routers."""
        expiring = 1 in self.ttls and max(self.ttls) <= MOST_ROUTERS
        return expiring and len(self.ttls) >= TRACED and len(self.clients) == 1

    @property
    def alert(self) -> tuple[int | None, bool]:
        """The description of the only TLS alert, None if there are several, and whether the client sent it."""
        return next(iter(self.alerts)) if len(self.alerts) == 1 else (None, False)

    def _alert(self) -> str:
        description, by_client = self.alert
        if description is None:
            return f"the ends sent {units.number(len(self.alerts), 'different alert')}"
        return f"the {'client' if by_client else 'server'} sent the alert {tls.name(description)}"

    def _tries(self) -> str:
        # Of many servers, it shows how long the client tried each.
        if len(self.servers) > 1 and self.most_syns > 1:
            most = units.number(self.most_syns, "SYN")
            return f"up to {most} in {units.duration(self.longest_ns)} each"
        tries = units.number(self.syns, "SYN")
        lasted_ns = self.end_ns - self.start_ns
        if self.reset_late:
            resets = "a reset" if self.connections == 1 else "resets up to"
            return f"{tries}, and {resets} {units.duration(self.longest_ns)} after the first"
        return f"{tries} in {units.duration(lasted_ns)}" if lasted_ns else tries

    def _opening(self) -> str:
        """Return how long the handshakes took, with their SYNs, and with their SYN-ACKs if these are more."""
        tries = units.number(self.syns, "SYN")
        answers = f", {units.number(self.syn_acks, 'SYN-ACK')}" if self.syn_acks > self.syns else ""
        return f"{_span(self.opening_ns)} ({tries}{answers})"

    def _side(self) -> str:
        """Return the words on the end that ended each connection; empty if it was not always the same."""
        return " by the server" if self.by_server else " by the client" if self.by_client else ""

    def _closer(self) -> str:
        """Return the end that sent the FINs without an answer."""
        if len(self.fins_by_client) > 1:
            return "one end"
        return "the client" if True in self.fins_by_client else "the server"

    def _resetter(self) -> str:
        return self.resetters.one if len(self.resetters) == 1 else "one end"

    def _port(self) -> str:
        if len(self.ports) > NAMED:
            return self.ports.text("port")
        ports = sorted(self.ports.first, key=int)
        return f"port{'' if len(ports) == 1 else 's'} {_listed(ports)}"


def _spanned(span_ns: tuple[int, int], times_ns: NDArray[np.int64]) -> tuple[int, int]:
    """Return the shortest and the longest of two times and others."""
    shortest_ns, longest_ns = span_ns
    return min(shortest_ns, int(times_ns.min())), max(longest_ns, int(times_ns.max()))


def _span(span_ns: tuple[int, int]) -> str:
    shortest, longest = map(units.duration, span_ns)
    return longest if shortest == longest else f"{shortest} to {longest}"


def _listed(names: list[str]) -> str:
    """Return names with commas between them, and the last after "and"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
