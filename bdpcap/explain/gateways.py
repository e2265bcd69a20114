"""NATs and proxies next to a capture, such as that of a virtual machine, which end TCP in place of a far host."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bdpcap.explain.buffers import UNSCALED
from bdpcap.explain.once import once
from bdpcap.read.hops import INITIAL_TTLS
from bdpcap.read.scale_source import DECLINED
from bdpcap.words.endpoints import host, is_public, public_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Capture, Flow

__all__ = ["REMEDY", "Gateway", "gateway", "stand_ins"]

REMEDY: Final = (
    "Capture there, on its interface to the network: only there is the path seen. A virtual machine's NAT is the machine "
    "that runs it."
)
"""Advice on a flow that waits for a gateway or for what lies behind it."""

_NEAR_NS: Final = 1_000_000
"""Round trip within which data are acknowledged on the same host or its network, but not across the Internet."""
_MOST: Final = 10_000
"""Most connections in which signs are looked for: a host's gateway is the same in all of them."""
_BY_RADIO_NS: Final = 5_000_000
"""Round trip to the next device over Wi-Fi without a queue; a choice."""
_LATER: Final = 10
"""How many times as long as the acknowledgment of data a SYN-ACK takes at least if another host sends it; a choice."""
_OPENED: Final = 2
"""Fewest connections that show such a device: one SYN-ACK may be late by chance."""
_NETWORKS: Final = 3
"""Fewest networks of the Internet, by the first byte of addresses, that are near no host at once; a choice."""


class Gateway(NamedTuple):
    """A NAT or proxy that ends TCP in place of a far host."""

    address: str
    """The far host's."""
    ttl: int
    rtt_ns: int
    """Least round trip of data to the gateway."""
    sign: str
    """Its sign in words, apart from TTLs and round trip."""
    opened_ns: int | None = None
    """Time of the far host's SYN-ACK, where that is the sign."""
    behind_ns: int | None = None
    """Time of the handshake, where the gateway opened the far connection first; None if it did not, or unknown."""


@once
def gateway(flow: Flow) -> Gateway | None:
    """Return the NAT or proxy that ends the TCP of a flow's far end near its private one; None without its signs.

    The packets of both ends passed no router, and the private end's data take little time there and back.
    Besides, the far end has the SYN of a virtual machine's NAT. Or it is public, and the windows are not scaled, or hosts
    of several networks are as near. Without the SYNs in the capture, the scale is unknown. Then other connections of the
    private host show it: its packets to public hosts go through one gateway, which has one TTL.

    A device that lets SYNs pass and acknowledges data itself may also lie behind a router.
    """
    ends_of = _ends(flow)
    if ends_of is None:
        return None
    far, near = ends_of
    ends = {
        flow.sender: flow._counts,
        flow.receiver: flow.capture._contents.streams.counts_of(flow.stream, flow.receiver),
    }
    rtt_ns, ttl = ends[near]["rtt_min_ns"], ends[far]["ttl"]
    # Equal time stamps show no round trip.
    if rtt_ns is None or ttl is None or not 0 < rtt_ns < _BY_RADIO_NS:
        return None
    initial = all(one["ttl"] in INITIAL_TTLS for one in ends.values())
    opened_ns = ends[near]["initial_rtt_ns"] or 0
    split = _is_split(np.array([rtt_ns]), np.array([opened_ns]))
    if initial and (sign := _sign(flow, host(near), int(ttl), int(rtt_ns))):
        return Gateway(host(far), int(ttl), int(rtt_ns), sign, None, int(opened_ns) if split.all() else None)
    if split.all() and (host(near), ttl) in _splits(flow.capture):
        return Gateway(host(far), int(ttl), int(rtt_ns), "that of its SYN-ACK", int(opened_ns))
    return None


def stand_ins(capture: Capture) -> frozenset[tuple[str, int]]:
    """Return the private hosts next to which one device answers for public hosts, each with the TTL of its packets."""
    return _shown(capture)[1]


def _ends(flow: Flow) -> tuple[str, str] | None:
    """Return the far end, which is public or has the SYN of a virtual machine's NAT, and the private one; else None."""
    both = {"sender": (flow.sender, flow.receiver), "receiver": (flow.receiver, flow.sender)}
    for side, (far, near) in both.items():
        if not is_public(host(near)) and (is_public(host(far)) or _is_virtual(flow, side)):
            return far, near
    return None


def _is_virtual(flow: Flow, side: str) -> bool:
    """Return whether an end in another network has a SYN that is likely of a virtual machine's NAT."""
    summary = flow.summary
    networks = {host(str(summary[one])).rpartition(".")[0] for one in ("sender", "receiver")}
    likely = summary[f"{side}_system"] == "virtual-nat" and summary[f"{side}_system_certainty"] != "possible"
    return bool(len(networks) > 1 and likely)


def _sign(flow: Flow, near: str, ttl: int, rtt_ns: int) -> str:
    """Return the sign of a device that answers near a private host, with packets of such a TTL; empty without one."""
    if (near, ttl) in stand_ins(flow.capture):
        return "public hosts of several networks that are as near"
    if rtt_ns >= _NEAR_NS:
        return ""
    if flow.summary["window_scale_source"] == UNSCALED:
        return "a SYN without window scale"
    if not flow._counts["handshake"] and (near, ttl) in _shown(flow.capture)[0]:
        return "a SYN without window scale of another connection of the same host"
    return ""


def _is_split(rtt_ns: NDArray[np.int64], opened_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where data are acknowledged so much sooner than SYNs that another host acknowledges them.

    Missing times are negative, and split nothing.
    """
    sooner = (rtt_ns > 0) & (rtt_ns < _NEAR_NS) & (rtt_ns <= opened_ns // _LATER)
    split: NDArray[np.bool_] = sooner & (opened_ns >= _BY_RADIO_NS)
    return split


@once
def _splits(capture: Capture) -> frozenset[tuple[str, int]]:
    """Return the private clients next to which a device acknowledges data, each with the TTL of its packets."""
    streams = capture._contents.streams
    split = streams.where(
        lambda columns: _is_split(columns["rtt_min_ns"], columns["initial_rtt_ns"]),
        "rtt_min_ns",
        "initial_rtt_ns",
    )["row"]
    clients = split[split % 2 == 0][:_MOST]
    names = streams.endpoints(clients), streams.endpoints(clients + 1)
    found = Counter(
        (host(client), ttl)
        for client, server, ttl in zip(*names, streams.at(clients + 1, "ttl")["ttl"].tolist(), strict=True)
        if not is_public(host(client)) and is_public(host(server))
    )
    return frozenset(key for key, count in found.items() if count >= _OPENED)


def _is_near(rtt_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which round trips are shorter than a radio's; a missing one is negative."""
    near: NDArray[np.bool_] = (rtt_ns > 0) & (rtt_ns < _BY_RADIO_NS)
    return near


def _are_direct(columns: dict[str, Any]) -> NDArray[np.bool_]:
    """Return the directions of connections with an end that is near, and no router on either way."""
    near, fresh = _is_near(columns["rtt_min_ns"]), np.isin(columns["ttl"], INITIAL_TTLS)
    direct = near.reshape(-1, 2).any(axis=1) & fresh.reshape(-1, 2).all(axis=1)
    return np.repeat(direct, 2)


@once
def _shown(capture: Capture) -> tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]:
    """Return the private hosts whose SYNs show a NAT or proxy, each with the TTL of the far end's packets.

    Then, in the same way, those that public hosts of several networks are near.
    """
    columns = capture._contents.streams.where(_are_direct, "ttl", "rtt_min_ns", "window_scale_source")
    row, ttl, rtt_ns = (columns[name].reshape(-1, 2) for name in ("row", "ttl", "rtt_min_ns"))
    near = _is_near(rtt_ns)
    unscaled = (columns["window_scale_source"].reshape(-1, 2) == DECLINED).all(axis=1)
    chosen = np.concatenate([np.flatnonzero(unscaled), np.flatnonzero(~unscaled)])[:_MOST]
    names = capture._contents.streams.endpoints(row[chosen].ravel()).reshape(-1, 2)
    hosts: set[tuple[str, int]] = set()
    networks: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for ends, at in zip(names.tolist(), chosen.tolist(), strict=True):
        for own in (0, 1):
            one, other = host(ends[own]), host(ends[1 - own])
            if near[at, own] and not is_public(one) and is_public(other):
                key = (one, int(ttl[at, 1 - own]))
                hosts |= {key} if unscaled[at] and rtt_ns[at, own] < _NEAR_NS else set()
                networks[key] |= {public_block(other)} - {""}
    several = (key for key, blocks in networks.items() if len(blocks) >= _NETWORKS)
    return frozenset(hosts), frozenset(several)
