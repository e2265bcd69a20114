"""A small MSS in the answers of unrelated servers to one client: a device that all their paths share sets it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bdpcap.explain.once import once
from bdpcap.words import units
from bdpcap.words.endpoints import host, is_public, network

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow

__all__ = ["explains", "sentence"]

LEAST_BYTES: Final = 1220
"""MSS over the least MTU of IPv6 (RFC 8200 section 5). PPPoE, tunnels and VPNs leave as much; a smaller one is small."""
UNRELATED: Final = 3
"""Fewest networks of the Internet whose servers answer with one MSS that is not their own; a choice."""
NEARLY_ALL: Final = 0.9
"""Share of a client's answered connections that have this MSS; a choice."""


class Shared(NamedTuple):
    """The MSS that a device sets in the answers to one client."""

    client: str
    mss_bytes: int
    offered_bytes: int
    """Least MSS of the client's own SYNs."""
    connections: int
    """Connections whose answer has this MSS."""
    answered: int
    """Connections of the client whose answer has an MSS."""


def sentence(capture: Capture) -> str:
    """Return the words on the MSS, its consequence and its place; empty if no device sets a small one."""
    found = _shared(capture)
    if found is None:
        return ""
    some = "All" if found.connections == found.answered else f"{units.count(found.connections)} of"
    return (
        f"{some} {units.number(found.answered, 'SYN-ACK')} to {found.client} have MSS {found.mss_bytes:,}, its own SYNs "
        f"{found.offered_bytes:,}, and the servers are unrelated: a device that their paths share sets it. "
        f"Transfers take {found.offered_bytes / found.mss_bytes:.1f} times the packets, and begin with as much less. "
        f"Ask the network of {found.client} to clamp the MSS no lower than its paths need."
    )


def explains(flow: Flow) -> bool:
    """Return whether such a device set the MSS of a flow's sender."""
    found = _shared(flow.capture)
    own = (host(flow.receiver), flow._counts["syn_mss_bytes"])
    return found is not None and own == (found.client, found.mss_bytes)


@once
def _shared(capture: Capture) -> Shared | None:
    """Return the MSS in the answers to the client that got most small ones; None if none sets it for all its servers."""
    blocks = [block["syn_mss_bytes"] for block in capture._contents.streams.blocks(("syn_mss_bytes",))]
    mss = np.concatenate([np.zeros(0, dtype=np.int64), *blocks]).reshape(-1, 2)
    # An absent MSS is a negative number.
    answered = np.flatnonzero((mss > 0).all(axis=1))
    own, theirs = mss[answered].T
    small = (theirs < LEAST_BYTES) & (theirs < own)
    # Hardly a capture has so many. Names of millions of hosts would take long.
    if np.count_nonzero(small) < UNRELATED:
        return None
    ends = capture._contents.streams.endpoints((2 * answered[:, None] + np.arange(2)).ravel())
    clients, servers = np.array(list(map(host, ends)), dtype=object).reshape(-1, 2).T
    ((client, _),) = Counter(clients[small].tolist()).most_common(1)
    of_client = clients == client
    usual, count = Counter(theirs[of_client & small].tolist()).most_common(1)[0]
    by_device = of_client & small & (theirs == usual)
    networks = {network(server) for server in set(servers[by_device]) if is_public(server)}
    offered, connections = int(own[by_device].min()), int(np.count_nonzero(of_client))
    if len(networks) < UNRELATED or count < NEARLY_ALL * connections:
        return None
    return Shared(client, usual, offered, count, connections)
