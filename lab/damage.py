"""What befalls a capture after it was taken: packets that it lost, and a beginning that it does not have."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["damage", "read", "write"]

HEADER = 24
FRACTION_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}  # by magic number: nanoseconds of the unit of fractions


class Record(NamedTuple):
    """A packet of a pcap file: time, and the record as it stands there."""

    time_ns: int
    raw: bytes


def read(path: Path) -> tuple[bytes, list[Record]]:
    """Read a little-endian pcap file: its header, and its records."""
    content = path.read_bytes()
    unit = FRACTION_NS[struct.unpack_from("<I", content)[0]]

    def records() -> Iterator[Record]:
        at = HEADER
        while at < len(content):
            seconds, fraction, kept, _ = struct.unpack_from("<4I", content, at)
            yield Record(seconds * 10**9 + fraction * unit, content[at : at + 16 + kept])
            at += 16 + kept

    return content[:HEADER], list(records())


def write(path: Path, header: bytes, records: list[Record]) -> None:
    """Write a pcap file."""
    path.write_bytes(header + b"".join(record.raw for record in records))


def damage(
    path: Path, seed: str, *, lose_ppm: int = 0, burst_packets: int = 1, begin_ms: int = 0
) -> tuple[int, int]:
    """Take packets out of a capture: in bursts that begin at random, and all before `begin_ms` after the first.

    Returns
    -------
    tuple
        Packets lost, and where the capture now begins (ns since the epoch).
    """
    header, records = read(path)
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    begin = records[0].time_ns + begin_ms * 10**6
    kept, left = [], 0
    late = [record for record in records if record.time_ns >= begin]
    for record in late:
        if left == 0 and chance.random() < lose_ppm / 1e6:
            left = chance.randint(1, 2 * burst_packets - 1)
        if left:
            left -= 1
        else:
            kept.append(record)
    write(path, header, kept)
    return len(late) - len(kept), begin
