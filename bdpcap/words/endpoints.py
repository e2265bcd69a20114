"""Splitting ``address:port`` (IPv6 in brackets), the form in which tables name senders and receivers."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = [
    "both",
    "host",
    "is_link_local",
    "is_loopback",
    "is_public",
    "is_unique_local",
    "network",
    "on_one_machine",
    "port",
    "public_block",
    "same_way",
]


def host(end: str) -> str:
    """Return the address of ``address:port``, without the brackets of IPv6."""
    return end.rpartition(":")[0].strip("[]")


def both(one: str, other: str) -> tuple[str, str]:
    """Return the addresses of two ends, with their ports if the addresses are equal: so each has another name."""
    hosts = host(one), host(other)
    return hosts if hosts[0] != hosts[1] else (one, other)


def port(end: str) -> int:
    """Return the port of ``address:port``."""
    return int(end.rpartition(":")[2])


def same_way(flows: pd.DataFrame, flow: Mapping[str, Any] | pd.Series[Any]) -> pd.Series[bool]:
    """Return which rows with ``sender`` and ``receiver`` go from the host of a flow's sender to that of its receiver."""
    sender, receiver = (flows[side].map(host) == host(str(flow[side])) for side in ("sender", "receiver"))
    return sender & receiver


def is_public(address: str) -> bool:
    """Return whether an address belongs to the Internet; False for a pseudonym."""
    try:
        return ip_address(address).is_global
    except ValueError:
        return False


def public_block(address: str) -> str:
    """Return the first byte of an IPv4 address of the Internet; empty for any other address."""
    return address.partition(".")[0] if "." in address and is_public(address) else ""


def network(address: str) -> str:
    """Return the first 16 bits of an IPv4 address, or 32 of an IPv6 address: hosts that differ in it are far apart."""
    bits = 32 if ":" in address else 16
    return str(ip_network((address, bits), strict=False))


def on_one_machine(one: str, other: str) -> bool:
    """Return whether two addresses are of one machine: they are equal, or both are loopback addresses."""
    return one == other or (is_loopback(one) and is_loopback(other))


def is_link_local(address: str) -> bool:
    """Return whether an address is valid on its own network alone (RFC 4291 section 2.5.6, RFC 3927); False otherwise."""
    try:
        return ip_address(address).is_link_local
    except ValueError:
        return False


def is_unique_local(address: str) -> bool:
    """Return whether an address is one of fc00::/7, valid within a site alone (RFC 4193 section 3.1)."""
    return address.partition(":")[0][:-2] in ("fc", "fd")


def is_loopback(address: str) -> bool:
    """Return whether an address is one that hosts use for the loopback: 127.0.0.0/16, or ::1; False for a pseudonym."""
    return address.startswith("127.0.") or address == "::1"
