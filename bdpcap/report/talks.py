"""Connections of hosts in which both ends sent packets, for comparison with one that failed or opened late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap._core import NULL
from bdpcap.report.error_responses import FTP_PORT
from bdpcap.report.failures import next_to
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words.endpoints import is_public, is_unique_local

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from bdpcap.capture import Capture

__all__ = ["Talks", "hashes", "mixed", "of"]

_NUMBERS: Final = ("start_ns", "end_ns", "opening_ns", "carried", "complete", "settled", "at_client")
_DIRECTIONS: Final = ("packets", "start_ns", "ttl")
"""Columns about directions that are read."""

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
"""The number that splitmix64 adds before it mixes."""
_MIXING: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
"""Shifts and factors of splitmix64."""
_LAST_SHIFT: Final = np.uint64(31)
"""Shift with which splitmix64 ends."""


@dataclass(frozen=True)
class Talks:
    """Columns about connections in which both ends sent packets. Names of millions of them would take much memory."""

    hosts: NDArray[np.int64]
    """A hash of both hosts."""
    client: NDArray[np.int64]
    """A hash of the client's host."""
    server: NDArray[np.int64]
    """A hash of the server's host."""
    service: NDArray[np.int64]
    """A hash of the server's host and port."""
    port: NDArray[np.int64]
    """A hash of the server's port."""
    tried: NDArray[np.int64]
    """Hashes of the client's host, the server's host and its port, as `mixed` makes them one."""
    over_ipv6: NDArray[np.bool_]
    translated: NDArray[np.bool_]
    """Whether a host of the Internet answered an address of a site alone, which a router must have translated."""
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    opening_ns: NDArray[np.int64]
    """Time from the first packet to the end of the handshake; 0 where unknown."""
    carried: NDArray[np.bool_]
    """Whether an end sent payload."""
    complete: NDArray[np.bool_]
    """Whether the handshake was captured and completed."""
    settled: NDArray[np.bool_]
    """Whether no end was left without an answer, so the last packets are of both ends."""
    at_client: NDArray[np.bool_]
    """Whether the capture was taken next to the client."""

    def passed(self, one: str, other: str, start_ns: int, end_ns: int) -> bool:
        """Return whether two hosts exchanged packets within a time, or just after it.

        A connection began or ended then. Its end shows packets of both hosts if neither was left without an answer.
        """
        last_ns = end_ns + FIRST_TIMEOUT_NS
        began, ended = ((start_ns <= at) & (at <= last_ns) for at in (self.start_ns, self.end_ns))
        return bool((self._of(one, other) & (began | ended & self.settled)).any())

    def met(self, one: str, other: str) -> bool:
        """Return whether two hosts had another connection in the capture."""
        return bool(self._of(one, other).any())

    def alive(self, one: str, other: str, start_ns: int, end_ns: int) -> bool:
        """Return whether a connection of two hosts with payload lasted at a time."""
        lasted = (self.start_ns <= end_ns) & (self.end_ns >= start_ns)
        return bool((self._of(one, other) & lasted & self.carried).any())

    def controlled(self, client: str, server: str, start_ns: int, end_ns: int) -> bool:
        """Return whether a connection of FTP, with replies about those for its data, was open for a time."""
        own = (self.client == hash(client)) & (self.service == hash((server, str(FTP_PORT)))) & self.carried
        return bool((own & (self.start_ns <= start_ns) & (self.end_ns >= end_ns)).any())

    def accepted(self, server: str, port: str, after_ns: int) -> bool:
        """Return whether a port of a server accepted a connection after a time."""
        service = self.service == hash((server, port))
        return bool((service & self.complete & (self.start_ns > after_ns)).any())

    def accepted_around(
        self, tried: NDArray[np.int64], first_ns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the start of the last connection accepted before the first of some tries, and of the last one after it.

        A try is a hash of client, server and port, and `tried` is sorted. `NULL` is where none was accepted.
        """
        place = np.minimum(np.searchsorted(tried, self.tried), len(tried) - 1)
        own = self.complete & (tried[place] == self.tried)
        found = []
        for side in (self.start_ns < first_ns[place], self.start_ns > first_ns[place]):
            # It is less than every time.
            last_ns = np.full(len(tried), NULL)
            np.maximum.at(last_ns, place[own & side], self.start_ns[own & side])
            found.append(last_ns)
        return found[0], found[1]

    def answered_each(self, tried: NDArray[np.int64]) -> bool:
        """Return whether each server answered its client in another connection to that port. `tried` has hashes."""
        return bool(np.isin(np.unique(tried), self.tried).all())

    def at_once(self, server: str, port: str, start_ns: int, end_ns: int) -> bool:
        """Return whether a port of a server opened a connection during a time, before a SYN timed out."""
        began = (self.start_ns >= start_ns) & (self.start_ns <= end_ns)
        opened = (self.service == hash((server, port))) & self.complete & began
        return bool((opened & (self.opening_ns < FIRST_TIMEOUT_NS)).any())

    def beside(self, one: str, other: str, start_ns: int, end_ns: int) -> bool:
        """Return whether a connection of two hosts that had not opened late lasted at a time."""
        lasted = (self.start_ns <= end_ns) & (self.end_ns >= start_ns)
        return bool((self._of(one, other) & lasted & (self.opening_ns < FIRST_TIMEOUT_NS)).any())

    def raced(self, client: str, port: str, start_ns: int) -> int:
        """Return how many connections over the other IP version were opening at a port as a client tried it."""
        opening = (self.start_ns <= start_ns) & (start_ns - self.start_ns < self.opening_ns)
        return int(np.count_nonzero(self._of_other_version(client, port) & self.at_client & opening))

    def outran(self, client: str, port: str, at_ns: NDArray[np.int64]) -> int:
        """Return how many connections over the other IP version were opening at a port as a client tried it, or followed.

        `at_ns` has the times of all tries; each of the connections counts once.
        """
        others = self._of_other_version(client, port) & self.at_client
        start_ns, tries = self.start_ns[others], np.sort(at_ns)
        first = np.searchsorted(tries, start_ns - FIRST_TIMEOUT_NS)
        last = np.searchsorted(tries, start_ns + self.opening_ns[others], side="right")
        return int(np.count_nonzero(first < last))

    def followed(self, client: str, port: str, start_ns: int, end_ns: int) -> int:
        """Return how many connections over the other IP version began at a port during a time, or just after it."""
        began = (self.start_ns >= start_ns) & (self.start_ns <= end_ns + FIRST_TIMEOUT_NS)
        return int(np.count_nonzero(self._of_other_version(client, port) & began))

    def only_over_ipv4(self, port: str) -> bool:
        """Return whether a port opened connections over IPv4, and none over IPv6."""
        opened = self.over_ipv6[self.complete & (self.port == hash(port))]
        return bool(len(opened) and not opened.any())

    def last_over_ipv6(self, client: str, ports: Iterable[str]) -> int | None:
        """Return when the last connection of a client over IPv6 began that opened at some ports, in ns; else None."""
        own = self._over_ipv6(ports) & (self.client == hash(client))
        return int(self.start_ns[own].max()) if own.any() else None

    def answered_over_ipv6(self, ports: Iterable[str], after_ns: int) -> bool:
        """Return whether a connection of any client to some ports over IPv6 began after a time and opened."""
        return bool((self._over_ipv6(ports) & (self.start_ns >= after_ns)).any())

    def _over_ipv6(self, ports: Iterable[str]) -> NDArray[np.bool_]:
        """Return which connections to some ports over IPv6 opened."""
        opened: NDArray[np.bool_] = self.over_ipv6 & self.complete & np.isin(self.port, hashes(ports))
        return opened

    def answered(self, client: str) -> bool:
        """Return whether any host answered a client, or the client another as its server."""
        return hash(client) in self.client or self.answers(client)

    def reached_internet(self, client: str) -> bool:
        """Return whether a host of the Internet answered a client with an address of its site alone."""
        return bool((self.translated & (self.client == hash(client))).any())

    def opened(self, client: str, port: str) -> bool:
        """Return whether a connection of a client to a port of any host opened."""
        own = (self.client == hash(client)) & (self.port == hash(port))
        return bool((own & self.complete).any())

    def sent(self, client: str, ports: NDArray[np.int64]) -> bool:
        """Return whether a connection of a client to one of some ports, given as hashes, carried payload."""
        own = (self.client == hash(client)) & np.isin(self.port, ports)
        return bool((own & self.carried).any())

    def answers(self, server: str) -> bool:
        """Return whether a host answered any other as its server."""
        return hash(server) in self.server

    def _of_other_version(self, client: str, port: str) -> NDArray[np.bool_]:
        """Return which connections to a port were made over the IP version that a client did not use."""
        other: NDArray[np.bool_] = (
            self.complete & (self.port == hash(port)) & (self.over_ipv6 != _is_ipv6(client))
        )
        return other

    def _of(self, one: str, other: str) -> NDArray[np.bool_]:
        own: NDArray[np.bool_] = self.hosts == hash(frozenset((one, other)))
        return own


def hashes(things: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return Python's hash of each thing."""
    return np.fromiter(map(hash, things), np.int64)


def mixed(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Return one number for the numbers of each row: rows that are not equal hardly ever have the same.

    Each column goes through the mixing of splitmix64 (Steele, Lea and Flood, 2014), which maps no two numbers to one.
    Tuples of millions of rows would take their time.
    """
    state = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        state += column.astype(np.int64).view(np.uint64) + _STEP
        for shift, factor in _MIXING:
            state = (state ^ (state >> shift)) * factor
        state ^= state >> _LAST_SHIFT
    return state.view(np.int64)


def of(capture: Capture, hosts: AbstractSet[str], ports: AbstractSet[str]) -> Talks:
    """Return the connections with one of some hosts, or to one of some ports."""
    # Joined with truth values they stay so, and joined with numbers they become numbers.
    pieces = [_talks([], hosts, ports, {name: np.zeros(0, dtype=bool) for name in _NUMBERS})]
    streams = capture._contents.streams
    read = streams.lifecycles(capture.info.last_ns, *_DIRECTIONS) if hosts | ports else ()
    for life, both in read:
        rows = np.flatnonzero((both["packets"].reshape(-1, 2) > 0).all(axis=1))
        first = 2 * life["stream"][rows].astype(np.int64)
        ends = [
            end.rpartition(":")[::2] for end in streams.endpoints((first[:, None] + np.arange(2)).ravel())
        ]
        numbers = {
            "start_ns": both["start_ns"][::2][rows],
            "end_ns": both["end_ns"][::2][rows],
            "opening_ns": np.maximum(life["opening_ns"][rows], 0),
            "carried": (life["client_bytes"] + life["server_bytes"])[rows] > 0,
            "complete": life["handshake"][rows] == "complete",
            "settled": _settled(life)[rows],
            "at_client": next_to(capture, first, both["ttl"].reshape(-1, 2)[rows])[0],
        }
        pieces.append(_talks(list(zip(ends[::2], ends[1::2], strict=True)), hosts, ports, numbers))
    return Talks(*(np.concatenate([getattr(one, name) for one in pieces]) for name in Talks.__annotations__))


def _talks(
    pairs: list[tuple[tuple[str, str], tuple[str, str]]],
    hosts: AbstractSet[str],
    ports: AbstractSet[str],
    numbers: dict[str, NDArray[Any]],
) -> Talks:
    """Return the connections of some hosts or ports among pairs of client and server, each a host and a port."""
    own = np.array(
        [two[1] in ports or not hosts.isdisjoint((one[0], two[0])) for one, two in pairs], dtype=bool
    )
    columns = (
        hashes(frozenset((client[0], server[0])) for client, server in pairs),
        hashes(client[0] for client, _ in pairs),
        hashes(server[0] for _, server in pairs),
        hashes(server for _, server in pairs),
        hashes(server[1] for _, server in pairs),
        mixed(
            hashes(client[0] for client, _ in pairs),
            *(hashes(server[side] for _, server in pairs) for side in (0, 1)),
        ),
        np.array([_is_ipv6(client[0]) for client, _ in pairs], dtype=bool),
        np.array([_is_translated(client[0], server[0]) for client, server in pairs], dtype=bool),
    )
    return Talks(*(column[own] for column in columns), *(numbers[name][own] for name in _NUMBERS))


def _settled(life: dict[str, np.ndarray]) -> NDArray[np.bool_]:
    """Return which connections left no SYN, data or FIN without an answer. A reset answers one of several SYNs."""
    refused_again = (life["handshake"] == "refused") & (life["syns"] > 1)
    settled: NDArray[np.bool_] = (
        ~refused_again & (life["unacknowledged_bytes"] == 0) & (life["unanswered_fins"] == 0)
    )
    return settled


def _is_ipv6(host: str) -> bool:
    return host.startswith("[")


def _is_translated(client: str, server: str) -> bool:
    return is_unique_local(client.strip("[]")) and is_public(server.strip("[]"))
