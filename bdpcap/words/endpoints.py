"""Splitting ``address:port`` (IPv6 in brackets), the form in which tables name senders and receivers."""

from __future__ import annotations

__all__ = ["host", "port"]


def host(end: str) -> str:
    """Return the address of ``address:port``, without the brackets of IPv6."""
    return end.rpartition(":")[0].strip("[]")


def port(end: str) -> int:
    """Return the port of ``address:port``."""
    return int(end.rpartition(":")[2])
