"""TCP headers of a few packets, as on the wire: absolute sequence numbers, timestamps, options.

The core's sequence numbers are relative to each stream, so they cannot be compared between captures. The ports and
flags that the core reports locate the TCP header in the bytes of a packet, under any encapsulation.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core
from bdpcap.words.endpoints import port

if TYPE_CHECKING:
    from bdpcap.capture import Capture

__all__ = ["SYN", "Direction", "Header", "directions"]

SYN: Final = 2
_BLOCK, _SIZE, _PACKET = struct.Struct("<II"), struct.Struct("<I"), 6
"""Type and length of a pcapng block, captured length of a packet, and the type of an enhanced packet block."""
_SIZE_AT, _DATA_AT = 20, 28
"""Offset of the captured length and of the packet's bytes in an enhanced packet block."""
_FIRST: Final = ("frame", "time_ns", "tcp_flags", "sequence")
"""Columns that are kept of the first packet of each direction."""


@dataclass(frozen=True, slots=True)
class Header:
    """A TCP header (RFC 9293 section 3.1); values of options that are absent or cut off are None."""

    sequence: int
    flags: int
    mss: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamp: int | None = None
    others: tuple[int, ...] = ()
    """IANA numbers of the other options' kinds."""

    @property
    def is_syn(self) -> bool:
        """Whether the SYN flag is set, so that the header opens its direction."""
        return bool(self.flags & SYN)


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a stream: its first packet with a sequence number, and the range of its numbers."""

    sender: str
    header: Header
    base: int
    """Absolute sequence number, modulo 2**32, of relative number 0."""
    first: int
    end: int
    """First relative sequence number, and the one after the last."""


def directions(capture: Capture) -> dict[tuple[int, int], Direction]:
    """Return the directions of all streams, by stream and side: 0 is sent by the client, 1 by the server.

    A direction without a sequence number, such as one of acknowledgments alone, is left out. The capture is read twice.
    """
    names = capture._contents.streams.directions("sender", "receiver")
    senders, receivers = names["sender"], names["receiver"]
    found = {name: np.zeros(len(senders), np.int64) for name in _FIRST}
    low = np.full(len(senders), np.iinfo(np.int64).max)
    high = np.full(len(senders), np.iinfo(np.int64).min)
    for columns in capture._contents.events.columns(range(capture.info.streams)):
        sent = np.flatnonzero(columns["sequence"] != _core.NULL)
        row = 2 * columns["stream"][sent].astype(np.int64) + columns["direction"][sent]
        start = columns["sequence"][sent]
        np.minimum.at(low, row, start)
        np.maximum.at(high, row, start + columns["length"][sent])
        rows, firsts = np.unique(row, return_index=True)
        new = found["frame"][rows] == 0
        for name, values in found.items():
            values[rows[new]] = columns[name][sent[firsts[new]]]
    there = np.flatnonzero(found["frame"])
    order = there[np.argsort(found["frame"][there], kind="stable")].tolist()
    wanted = [(int(found["frame"][row]), int(found["time_ns"][row])) for row in order]
    packets = _packets(capture, list(dict.fromkeys(wanted)))
    made: dict[tuple[int, int], Direction] = {}
    for row, (frame, _) in zip(order, wanted, strict=True):
        flags, sequence = int(found["tcp_flags"][row]), int(found["sequence"][row])
        header = read(packets[frame], port(senders[row]), port(receivers[row]), flags)
        if header is not None:
            base = (header.sequence - sequence) % 2**32
            made[divmod(row, 2)] = Direction(senders[row], header, base, int(low[row]), int(high[row]))
    return made


def _packets(capture: Capture, wanted: list[tuple[int, int]]) -> dict[int, bytes]:
    """Return the bytes of frames by frame number; `wanted` are pairs of number and time, by ascending number."""
    out = io.BytesIO()
    capture._contents.files.excerpt(wanted, out, headers_only=True)
    data, at = out.getvalue(), 0
    packets = []
    while at < len(data):
        kind, length = _BLOCK.unpack_from(data, at)
        if kind == _PACKET:
            (size,) = _SIZE.unpack_from(data, at + _SIZE_AT)
            packets.append(data[at + _DATA_AT : at + _DATA_AT + size])
        at += length
    return {frame: packet for (frame, _), packet in zip(wanted, packets, strict=True)}


def read(packet: bytes, source: int, destination: int, flags: int) -> Header | None:
    """Find the TCP header with these ports and flags, and parse it; None where the packet contains none."""
    ports = struct.pack(">HH", source, destination)
    at = packet.find(ports)
    while at >= 0 and len(packet) >= at + 20:
        length = (packet[at + 12] >> 4) * 4
        if packet[at + 13] == flags and length >= 20:
            (sequence,) = struct.unpack_from(">I", packet, at + 4)
            return _with_options(sequence, flags, packet[at + 20 : at + length])
        at = packet.find(ports, at + 1)
    return None


def _with_options(sequence: int, flags: int, options: bytes) -> Header:
    found: dict[int, bytes] = {}
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2 or at + length > len(options):
            break
        found.setdefault(options[at], options[at + 2 : at + length])
        at += length
    mss, scale, stamp = found.pop(2, b""), found.pop(3, b""), found.pop(8, b"")
    return Header(
        sequence,
        flags,
        mss=int.from_bytes(mss) if len(mss) == 2 else None,
        window_scale=scale[0] if len(scale) == 1 else None,
        sack_permitted=found.pop(4, None) is not None,
        timestamp=int.from_bytes(stamp[:4]) if len(stamp) == 8 else None,
        others=tuple(sorted(found)),
    )
