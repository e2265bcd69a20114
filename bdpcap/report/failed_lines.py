"""Connections that failed or opened late, a line for those of two hosts: how many, when, and between whom."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.explain.once import once
from bdpcap.read.hops import MOST_ROUTERS
from bdpcap.report.failed_line import MANY, Line
from bdpcap.report.failures import (
    DONE,
    HTTP_UNANSWERED,
    LATE,
    ON_THE_WAY,
    TLS_FAILED,
    TLS_UNANSWERED,
    TOO_LATE,
    blocks,
)
from bdpcap.report.talks import hashes, mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Capture
    from bdpcap.report.failures import Columns

__all__ = ["FAILED", "WITHOUT_DATA", "lines"]

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
