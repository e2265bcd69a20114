"""Hosts behind a NAT, by the TTLs of the packets that bear its address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.explain.once import once
from bdpcap.read import hops
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow

__all__ = ["is_behind"]

_ROUTERS: Final = 3
"""Most routers between a NAT and a host of its site; a choice."""
_MOST: Final = 20_000
"""Most directions whose senders are looked at: a flood has millions."""


def is_behind(flow: Flow, end: str) -> bool:
    """Return whether a host behind the address of a flow's end sent its packets: they passed a router, and others none.

    A router takes one from the TTL of each packet (RFC 1812 section 5.3.1), and one host sends all with one TTL.

    Parameters
    ----------
    flow
        A flow.
    end
        ``flow.sender`` or ``flow.receiver``.
    """
    ttl = flow.capture._contents.streams.counts_of(flow.stream, end)["ttl"]
    passed = hops.routers(ttl)
    if passed is None or not 0 < passed <= _ROUTERS:
        return False
    return (host(end), ttl + passed) in _direct(flow.capture)


@once
def _direct(capture: Capture) -> frozenset[tuple[str, int]]:
    """Return the addresses whose packets came past no router in some connection, each with their TTL."""
    direct = capture._contents.streams.where(
        lambda columns: np.isin(columns["ttl"], hops.INITIAL_TTLS), "ttl"
    )
    names = capture._contents.streams.endpoints(direct["row"][:_MOST])
    return frozenset(
        (host(name), ttl) for name, ttl in zip(names.tolist(), direct["ttl"][:_MOST].tolist(), strict=True)
    )
