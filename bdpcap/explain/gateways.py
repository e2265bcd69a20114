"""NATs and proxies next to a capture, such as that of a virtual machine, which end TCP in place of a far host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bdpcap.explain.buffers import UNSCALED
from bdpcap.explain.once import once
from bdpcap.read.hops import INITIAL_TTLS
from bdpcap.read.scale_source import DECLINED
from bdpcap.words.endpoints import host, is_public

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow

__all__ = ["REMEDY", "Gateway", "gateway"]

REMEDY: Final = (
    "Capture there, on its interface to the network: only there is the path seen. A virtual machine's NAT is the machine "
    "that runs it."
)
"""Advice on a flow that waits for a gateway or for what lies behind it."""

_NEAR_NS: Final = 1_000_000
"""Round trip within which data are acknowledged on the same host or its network, but not across the Internet."""


class Gateway(NamedTuple):
    """A NAT or proxy that ends TCP in place of a far host."""

    address: str
    """The far host's."""
    ttl: int
    rtt_ns: int
    """Least round trip of data to the gateway."""
    own_syn: bool
    """Whether a SYN of this connection shows it; else one of another connection of the same near host does."""


@once
def gateway(flow: Flow) -> Gateway | None:
    """Return the NAT or proxy that ends the TCP of a flow's public end near its private one; None without its signs.

    The packets of both ends passed no router, and the windows are not scaled. The private end's data take less than a
    millisecond there and back. Without the SYNs in the capture, the scale is unknown. Then other connections of the
    private host show it: its packets to public hosts go through one gateway, which has one TTL.
    """
    far, near = flow.sender, flow.receiver
    if is_public(host(near)):
        far, near = near, far
    if not is_public(host(far)) or is_public(host(near)):
        return None
    ends = {
        flow.sender: flow._counts,
        flow.receiver: flow.capture._contents.streams.counts_of(flow.stream, flow.receiver),
    }
    rtt_ns, ttl = ends[near]["rtt_min_ns"], ends[far]["ttl"]
    initial = all(one["ttl"] in INITIAL_TTLS for one in ends.values())
    # Equal time stamps show no round trip.
    is_near = rtt_ns is not None and 0 < rtt_ns < _NEAR_NS
    if not initial or not is_near:
        return None
    own_syn = flow.summary["window_scale_source"] == UNSCALED
    shown = own_syn or (not flow._counts["handshake"] and (host(near), int(ttl)) in _shown(flow.capture))
    return Gateway(host(far), int(ttl), int(rtt_ns), own_syn) if shown else None


@once
def _shown(capture: Capture) -> frozenset[tuple[str, int]]:
    """Return the private hosts whose SYNs show a NAT or proxy, each with the TTL of the far end's packets."""
    columns = capture._contents.streams.directions("ttl", "rtt_min_ns", "window_scale_source")
    ttl = columns["ttl"].reshape(-1, 2)
    # A missing round trip is negative.
    near = ((columns["rtt_min_ns"] > 0) & (columns["rtt_min_ns"] < _NEAR_NS)).reshape(-1, 2)
    unscaled = (columns["window_scale_source"].reshape(-1, 2) == DECLINED).all(axis=1)
    streams = np.flatnonzero(near.any(axis=1) & unscaled & np.isin(ttl, INITIAL_TTLS).all(axis=1))
    names = capture._contents.streams.endpoints((2 * streams[:, None] + np.arange(2)).ravel()).reshape(-1, 2)
    return frozenset(
        (host(ends[own]), int(ttl[stream, 1 - own]))
        for ends, stream in zip(names.tolist(), streams.tolist(), strict=True)
        for own in (0, 1)
        if near[stream, own] and not is_public(host(ends[own])) and is_public(host(ends[1 - own]))
    )
