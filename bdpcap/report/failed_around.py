"""The surroundings of connections that failed: other connections, scans, routers and messages that explain them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.explain import gateways
from bdpcap.explain.once import once
from bdpcap.explain.place import on_router
from bdpcap.report import failed_words, talks
from bdpcap.report.failed_line import MANY
from bdpcap.report.failed_lines import WITHOUT_DATA, lines
from bdpcap.report.failures import LATE, TLS_UNANSWERED
from bdpcap.report.many_names import NAMED
from bdpcap.report.talks import hashes, mixed
from bdpcap.words import units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Capture
    from bdpcap.report.failed_line import Line
    from bdpcap.report.talks import Talks

__all__ = ["RACING", "SEVERAL", "Around", "around"]

_REFUSED: Final = {
    "prohibited": "{} said by ICMP that this is prohibited: a firewall there rejects it.",
    "port unreachable": "{} said by ICMP that nothing listens on the port; a firewall that rejects packets says so, too.",
    "host unreachable": "{} said by ICMP that the host does not answer: see whether it is up and has that address.",
    "no route": "{} said by ICMP that it has no route there: check the address, and the routes of that router.",
}
"""Advice on SYNs that an ICMP message refused, by its reason; the message's sender stands at the start."""
RACING: Final = ("never completed", "withdrawn")
"""Kinds that a race of two IP versions leaves."""
_TALKING: Final = ("never answered", "never completed", "refused", "unused", LATE)
"""Kinds whose advice depends on other connections of their hosts."""
_BY_PORT: Final = (*RACING, "refused", "never answered")
"""Kinds whose advice depends on other connections to their ports."""
_OWN_BITS: Final = 96
"""Bits of an IPv6 address behind those of its provider; a choice: registries give providers 32 bits or fewer."""
SEVERAL: Final = 3
"""Fewest servers that do not all lack IPv6, or are down, by chance; a choice."""


@dataclass(frozen=True, slots=True)
class _InVain:
    """The ports that a client tried in vain, and when it began to."""

    ports: set[str]
    start_ns: int


@dataclass(frozen=True, slots=True)
class Around:
    """The capture around a failed connection."""

    first_ns: int
    last_ns: int
    others: Talks
    """Other connections of the hosts and ports."""
    lacks_packets: bool
    """Whether packets are known to be missing from the capture."""
    by_router: bool
    """Whether a router captured packets on both of its sides."""
    scanned: set[tuple[str, str]]
    """Pairs of a client and the server at which it tried many ports."""
    fingerprinted: set[tuple[str, str]]
    """Pairs of a client and the server to which it sent SYNs that no TCP makes."""
    searching: set[str]
    """Clients that tried many ports of many hosts."""
    sweeping: set[str]
    """Clients that looked for hosts with a service, and sent data to none of the ports that they tried."""
    unreachable: set[str]
    """Clients that nobody answers."""
    without_ipv6: dict[str, str]
    """Advice for clients that tried several servers over IPv6 in vain, at ports that opened over IPv4 only meanwhile."""
    probed: set[str]
    """Servers that refused several hosts of the Internet at several ports: no service has such clients."""
    stand_ins: frozenset[tuple[str, int]]
    """Clients next to which one device answers for public hosts, each with the TTL of its packets.

    Only TLS hellos without an answer need them.
    """
    multipath: set[tuple[str, str]]
    """Pairs of a client and a server with connections of Multipath TCP."""
    by_icmp: dict[int, str]
    """Advice from an ICMP message, by a hash of the client, the server and its port, as `Line.every_try` has it."""
    late: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Hashes of the servers of connections that opened late next to their client, and the times of the first SYNs."""
    tick_ns: int
    """Step of the capture's clock."""


@once
def around(capture: Capture) -> Around:
    """Return the surroundings of the connections of a capture that failed."""
    made = lines(capture)
    over_ipv6 = _over_ipv6(made["never answered"])
    hosts = {name.one for kind in _TALKING for line in made[kind] for name in (line.clients, line.servers)}
    swept = _of_many_hosts(made)
    ports = {line.ports.one for kind in _BY_PORT for line in made[kind]}
    ports = ports.union(*(tried.ports for tried in over_ipv6.values()))
    others = talks.of(capture, hosts | swept.keys() | over_ipv6.keys(), ports)
    tries = [line for kind in WITHOUT_DATA for line in made[kind] if len(line.ports) >= MANY]
    return Around(
        first_ns=capture.info.first_ns or 0,
        last_ns=capture.info.last_ns or 0,
        others=others,
        lacks_packets=bool(capture.info.missed_bytes or capture.info.capture_drops),
        by_router=on_router(capture),
        scanned={line.ends for line in tries if line.ends},
        fingerprinted={
            line.ends for kind in WITHOUT_DATA for line in made[kind] if line.ends and line.crafted
        },
        searching={
            line.clients.one for line in tries if len(line.clients) == 1 and len(line.servers) >= MANY
        },
        sweeping={client for client, ports in swept.items() if not others.sent(client, ports)},
        stand_ins=gateways.stand_ins(capture) if made[TLS_UNANSWERED] else frozenset(),
        multipath=_multipath(capture),
        by_icmp=_by_icmp(capture),
        unreachable={line.clients.one for line in made["never answered"] if _is_unreachable(line, others)},
        without_ipv6={
            client: advice
            for client, tried in over_ipv6.items()
            if (advice := _without_ipv6(capture, client, tried, others))
        },
        probed=_probed(made["refused"]),
        late=_late(made[LATE]),
        tick_ns=capture.info.tick_ns or 0,
    )


def _late(late: list[Line]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the servers of connections that opened late next to their client, and the times of the first SYNs.

    Of a line of several servers, each try stands for one. Those that the client confirmed late say nothing of the way.
    """
    none = np.zeros(0, dtype=np.int64)
    servers, times = [none], [none]
    for line in late:
        for tried, at_ns in line.tries if line.at_client and not line.confirmed_late else ():
            one = len(line.servers) == 1
            servers.append(np.full(len(tried), hash(line.servers.one)) if one else tried)
            times.append(at_ns)
    return np.concatenate(servers), np.concatenate(times)


def _by_icmp(capture: Capture) -> dict[int, str]:
    """Return the advice from the ICMP messages about packets of each client to each service."""
    refused = [one for one in capture._contents.refusals if one.reason in _REFUSED]
    sides = zip(
        *((one.sender.rpartition(":")[0], *one.receiver.rpartition(":")[::2]) for one in refused), strict=True
    )
    tried = mixed(*map(hashes, sides)).tolist() if refused else []
    return {key: _REFUSED[one.reason].format(one.reporter) for key, one in zip(tried, refused, strict=True)}


def _multipath(capture: Capture) -> set[tuple[str, str]]:
    """Return the pairs of a client and a server with connections of Multipath TCP."""
    if not capture.info.multipath:
        return set()
    streams = np.flatnonzero(capture._contents.streams.directions("multipath")["multipath"][::2])
    ends = (capture._contents.streams.endpoints(2 * streams + end) for end in (0, 1))
    return {
        (client.rpartition(":")[0], server.rpartition(":")[0]) for client, server in zip(*ends, strict=True)
    }


def _over_ipv6(unanswered: list[Line]) -> dict[str, _InVain]:
    """Return the clients that tried several servers over IPv6 in vain, with the ports and the time of that."""
    own = [line for line in unanswered if len(line.clients) == 1 and line.clients.one.startswith("[")]
    servers: defaultdict[str, set[str]] = defaultdict(set)
    tried: dict[str, _InVain] = {}
    for line in own:
        client = line.clients.one
        servers[client].update(line.servers.first)
        before = tried.get(client, _InVain(set(), line.start_ns))
        tried[client] = _InVain(before.ports | set(line.ports.first), min(before.start_ns, line.start_ns))
    return {client: tried[client] for client in tried if _are_several(servers[client])}


def _without_ipv6(capture: Capture, client: str, tried: _InVain, others: Talks) -> str:
    """Return the advice for a client that tried several servers over IPv6 in vain; empty where others answered then."""
    last_ns = others.last_over_ipv6(client, tried.ports)
    if last_ns is None:
        return failed_words.NO_IPV6 if any(map(others.only_over_ipv4, tried.ports)) else ""
    end_ns = capture.info.last_ns or 0
    followed = any(others.followed(client, port, tried.start_ns, end_ns) for port in tried.ports)
    if not followed or others.answered_over_ipv6(tried.ports, tried.start_ns):
        return ""
    until_ns = last_ns - (capture.info.first_ns or 0)
    return failed_words.LOST_IPV6.format(f"{units.duration(until_ns)} after" if until_ns else "at")


def _are_several(servers: set[str]) -> bool:
    """Return whether servers over IPv6 are several, or of two networks, which differ in their first 32 bits."""
    networks = {int(IPv6Address(server.strip("[]").partition("%")[0])) >> _OWN_BITS for server in servers}
    return len(servers) >= SEVERAL or len(networks) > 1


def _probed(refused: list[Line]) -> set[str]:
    by_host: defaultdict[str, list[Line]] = defaultdict(list)
    for line in refused:
        # The host of the capture may have several addresses.
        if line.of_strangers:
            by_host[""].append(line)
        elif line.public and len(line.servers) == 1:
            by_host[line.servers.one].append(line)
    return {
        server
        for own in by_host.values()
        if all(
            len(np.unique(np.concatenate([getattr(line, side).hashes() for line in own]))) > NAMED
            for side in ("clients", "ports")
        )
        for line in own
        for server in line.servers.first
    }


def _of_many_hosts(made: dict[str, list[Line]]) -> dict[str, NDArray[np.int64]]:
    """Return the clients that tried many hosts, with hashes of the ports that they tried.

    Some hosts answered, or no TCP of an operating system made the SYNs.
    """
    by_client: defaultdict[str, list[tuple[str, Line]]] = defaultdict(list)
    for kind in WITHOUT_DATA:
        for line in made[kind]:
            if len(line.clients) == 1:
                by_client[line.clients.one].append((kind, line))
    return {
        client: np.concatenate([line.ports.hashes() for _, line in own])
        for client, own in by_client.items()
        # Where no host answers, the route may be gone.
        if any(len(line.servers) >= MANY for _, line in own)
        and any(kind != "never answered" or (line.bare and len(line.servers) >= MANY) for kind, line in own)
    }


def _is_unreachable(line: Line, others: Talks) -> bool:
    """Return whether nobody answers the only client, which tried again, though a server of it answers others."""
    client, server = line.clients.one, line.servers.one
    tried_again = len(line.clients) == 1 and not line.once_each
    return tried_again and not others.answered(client) and others.answers(server)
