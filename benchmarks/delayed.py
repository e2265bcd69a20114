"""Captures at the sender as they would be on a slower host: its answers a little later, acknowledgments as they were.

No rule may rest on how fast a host answers an acknowledgment.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["delayed"]

HEADER = struct.Struct("<IIII")
UNIT_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
ETHERNET = 14
IPV6 = 40
ACK = 16


def delayed(path: Path, sender: str, delay_ns: int) -> bytes:
    """Return a little-endian pcap of Ethernet in which what `sender` (an address) answered is so much later.

    That is every TCP packet of its but a first SYN. Packets are put in the order of their new times.
    """
    raw = path.read_bytes()
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    unit_ns = UNIT_NS[struct.unpack_from("<I", raw)[0]]
    address = ipaddress.ip_address(sender).packed
    records, at = [], 24
    while at + HEADER.size <= len(raw):
        seconds, fraction, kept, length = HEADER.unpack_from(raw, at)
        frame = raw[at + HEADER.size : at + HEADER.size + kept]
        time_ns = seconds * 10**9 + fraction * unit_ns
        later = delay_ns if answers(frame, address) else 0
        records.append((time_ns + later, len(records), kept, length, frame))
        at += HEADER.size + kept
    records.sort()
    out = [raw[:24]]
    for time_ns, _, kept, length, frame in records:
        out += [HEADER.pack(time_ns // 10**9, time_ns % 10**9 // unit_ns, kept, length), frame]
    return b"".join(out)


def answers(frame: bytes, sender: bytes) -> bool:
    """Is it a TCP packet of that address with an acknowledgment?"""
    six = len(sender) == 16
    source = ETHERNET + (8 if six else 12)
    if (
        frame[12:14] != (b"\x86\xdd" if six else b"\x08\x00")
        or frame[source : source + len(sender)] != sender
    ):
        return False
    header = IPV6 if six else (frame[ETHERNET] & 15) * 4
    is_tcp = frame[ETHERNET + (6 if six else 9)] == 6
    return is_tcp and bool(frame[ETHERNET + header + 13] & ACK)
