"""Connections of one kind that one sentence describes: their sums, times, hosts, and what holds for each of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.read.hops import MOST_ROUTERS
from bdpcap.report.failures import REPEATED_NS
from bdpcap.report.many_names import Names
from bdpcap.report.talks import hashes, mixed
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words.endpoints import is_public, public_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.report.failures import Columns

__all__ = ["MANY", "Line"]

MANY: Final = 15
"""Fewest ports or hosts that one client tries in a scan: as many as Zeek's scan.zeek takes (``port_scan_threshold``)."""
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
    clients: Names = field(default_factory=Names)
    servers: Names = field(default_factory=Names)
    ports: Names = field(default_factory=Names)
    tries: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=list)
    """A hash of the client, the server and its port for each connection, and the time of its first SYN."""
    resetters: Names = field(default_factory=Names)

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


def _spanned(span_ns: tuple[int, int], times_ns: NDArray[np.int64]) -> tuple[int, int]:
    """Return the shortest and the longest of two times and others."""
    shortest_ns, longest_ns = span_ns
    return min(shortest_ns, int(times_ns.min())), max(longest_ns, int(times_ns.max()))
