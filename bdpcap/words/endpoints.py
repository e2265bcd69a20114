"""Splitting ``address:port`` (IPv6 in brackets), the form in which tables name senders and receivers."""

from __future__ import annotations

from ipaddress import ip_address

__all__ = ["host", "is_public", "port"]


def host(end: str) -> str:
    """Return the address of ``address:port``, without the brackets of IPv6."""
    return end.rpartition(":")[0].strip("[]")


def port(end: str) -> int:
    """Return the port of ``address:port``."""
    return int(end.rpartition(":")[2])


def is_public(address: str) -> bool:
    """Return whether an address belongs to the Internet; False for a pseudonym."""
    try:
        return ip_address(address).is_global
    except ValueError:
        return False
