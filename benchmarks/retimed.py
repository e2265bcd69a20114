"""Captures as other hosts would have made them: a slower sender, packets in clumps, or a capturing host that stalls.

No rule may rest on how fast a host answers an acknowledgment, or on how soon it notices a packet.
"""

from __future__ import annotations

import ipaddress
import random
import struct
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["clumped", "delayed", "stalled"]

HEADER = struct.Struct("<IIII")
UNIT_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
ETHERNET = 14
IPV6 = 40
ACK = 16
STALL_NS = (2e6, 10e6)
BETWEEN_NS = (50e6, 200e6)

Record = tuple[int, int, int, bytes]  # time in ns, bytes kept, bytes on the wire, frame


def delayed(path: Path, sender: str, delay_ns: int) -> bytes:
    """Return a little-endian pcap of Ethernet in which what `sender` (an address) answered is so much later.

    That is every TCP packet of its but a first SYN. Packets are put in the order of their new times.
    """
    address = ipaddress.ip_address(sender).packed
    head, unit_ns, records = _read(path)
    later = [(time_ns + delay_ns * answers(rest[-1], address), *rest) for time_ns, *rest in records]
    return _written(head, unit_ns, sorted(later, key=lambda record: record[0]))


def clumped(path: Path, receiver: str, clump_ns: int) -> bytes:
    """Return a capture at `receiver` (an address) whose interface interrupts it only once in so much time.

    The time of each packet that arrives is rounded up to a multiple of `clump_ns`. The packets that the receiver sends
    keep their times, but never come before those that arrived before them. The order of packets stays the same.
    """
    address = ipaddress.ip_address(receiver).packed
    head, unit_ns, records = _read(path)
    now_ns, later = 0, []
    for time_ns, *rest in records:
        own = is_from(rest[-1], address)
        now_ns = max(now_ns, time_ns if own else -(-time_ns // clump_ns) * clump_ns)
        later.append((now_ns, *rest))
    return _written(head, unit_ns, later)


def stalled(path: Path, seed: str) -> bytes:
    """Return a capture of a host that stalls at times: all packets of a stall get the time of its end.

    A stall lasts `STALL_NS`, with `BETWEEN_NS` between two, drawn from `seed`.
    """
    draw = random.Random(seed)  # noqa: S311 - no secret
    head, unit_ns, records = _read(path)
    begin = end = float(records[0][0]) if records else 0.0
    later = []
    for time_ns, *rest in records:
        while time_ns >= end:
            begin = end + draw.uniform(*BETWEEN_NS)
            end = begin + draw.uniform(*STALL_NS)
        later.append((int(end) if time_ns >= begin else time_ns, *rest))
    return _written(head, unit_ns, later)


def _read(path: Path) -> tuple[bytes, int, list[Record]]:
    """Return the file header, the unit of time in ns, and the records of a pcap file, which may be compressed."""
    raw = path.read_bytes()
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    unit_ns = UNIT_NS[struct.unpack_from("<I", raw)[0]]
    records, at = [], 24
    while at + HEADER.size <= len(raw):
        seconds, fraction, kept, length = HEADER.unpack_from(raw, at)
        frame = raw[at + HEADER.size : at + HEADER.size + kept]
        records.append((seconds * 10**9 + fraction * unit_ns, kept, length, frame))
        at += HEADER.size + kept
    return raw[:24], unit_ns, records


def _written(head: bytes, unit_ns: int, records: Iterable[Record]) -> bytes:
    """Return a pcap file of these records."""
    out = [head]
    for time_ns, kept, length, frame in records:
        out += [HEADER.pack(time_ns // 10**9, time_ns % 10**9 // unit_ns, kept, length), frame]
    return b"".join(out)


def is_from(frame: bytes, address: bytes) -> bool:
    """Return whether a frame carries an IP packet from that address."""
    six = len(address) == 16
    source = ETHERNET + (8 if six else 12)
    is_ip = frame[12:14] == (b"\x86\xdd" if six else b"\x08\x00")
    return is_ip and frame[source : source + len(address)] == address


def answers(frame: bytes, sender: bytes) -> bool:
    """Return whether a frame carries a TCP packet of that address with an acknowledgment."""
    if not is_from(frame, sender):
        return False
    six = len(sender) == 16
    header = IPV6 if six else (frame[ETHERNET] & 15) * 4
    is_tcp = frame[ETHERNET + (6 if six else 9)] == 6
    return is_tcp and bool(frame[ETHERNET + header + 13] & ACK)
