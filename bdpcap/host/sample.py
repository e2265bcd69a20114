"""One sample of a connection: its time, its ends and the kernel's counters."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST: Final = 1 << 62
"""Exclusive bound of valid quantities. Larger numbers are no measurements, and might overflow a column."""
_TIME: Final = re.compile(r"(\d{9,11})(?:\.(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Sample:
    """Kernel counters of a connection at one time."""

    time_ns: int
    sender: str
    receiver: str
    said: dict[str, int]
    """Values by column of `bdpcap.tables.HOST`; unknown values are absent."""


@dataclass(slots=True)
class Reading:
    """Samples of a file, and the lines that could not be parsed."""

    samples: list[Sample]
    unread: list[int]
    """Numbers, from 1, of the lines that could not be parsed."""


def endpoint(text: str) -> str:
    """
    Return an endpoint as the tables write it: ``address:port``, IPv6 in brackets.

    An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) becomes an IPv4 address. The interface behind ``%`` is dropped.

    Raises
    ------
    ValueError
        The text is not a numeric address and port.
    """
    host, _, port = text.rpartition(":")
    address = ipaddress.ip_address(re.sub(r"[\[\]]|%.*", "", host))
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    number = int(port)
    if not 0 <= number < 1 << 16:
        raise ValueError(f"no port: {port}")
    return f"[{address}]:{number}" if address.version == 6 else f"{address}:{number}"


def nanoseconds(seconds: str) -> int | None:
    """Convert seconds since the epoch, with up to nine decimals, to nanoseconds; None if the text is no such number."""
    found = _TIME.fullmatch(seconds)
    if found is None:
        return None
    return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0"))


def numbered(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, stripped, with their numbers from 1."""
    for number, line in enumerate(lines, 1):
        if words := line.strip():
            yield number, words
