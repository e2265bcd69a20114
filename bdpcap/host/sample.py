"""One look at a connection: when, whose, and what the kernel said of it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST: Final = 1 << 62
"""No quantity is as large: what says so is no quantity, and would have no room in a table."""
_TIME: Final = re.compile(r"(\d{9,11})(?:\.(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Sample:
    """A look at a connection."""

    time_ns: int
    sender: str
    receiver: str
    said: dict[str, int]
    """By column of `bdpcap.tables.HOST`; what is not known is not there."""


@dataclass(slots=True)
class Reading:
    """The samples of a file, and the lines that were not understood."""

    samples: list[Sample]
    unread: list[int]
    """Their numbers, counted from 1."""


def endpoint(text: str) -> str:
    """
    Return an end as the tables write it: ``address:port``, IPv6 in brackets.

    An IPv4 address that stands in IPv6 (RFC 4291 section 2.5.5.2) becomes one again, and the interface behind ``%`` goes.

    Raises
    ------
    ValueError
        It is no address and port in numbers.
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
    """Return seconds since the epoch, with up to nine decimals, exactly; None where it is none of them."""
    found = _TIME.fullmatch(seconds)
    if found is None:
        return None
    return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0"))


def numbered(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold something, with their numbers."""
    for number, line in enumerate(lines, 1):
        if words := line.strip():
            yield number, words
