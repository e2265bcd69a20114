"""TCP headers of a few packets, as they are on the wire: absolute sequence numbers, timestamps, options.

The core's numbers are relative to each stream, so two captures cannot be compared by them. The core says where it
found each stream, by ports and flags; these tell where in a packet's bytes the TCP header stands, whatever carries it.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap import reading
from bdpcap.endpoints import port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.capture import Capture

__all__ = ["SYN", "Direction", "Header", "directions"]

SYN: Final = 2
_FILE_HEADER, _PACKET_HEADER = 24, struct.Struct("<IIII")
"""A pcap file's header in bytes, and what stands before each packet: seconds, nanoseconds, bytes kept, bytes sent."""


@dataclass(frozen=True, slots=True)
class Header:
    """A TCP header (RFC 9293 section 3.1); an option that is not there, or was cut off, is None."""

    sequence: int
    flags: int
    mss: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamp: int | None = None
    others: tuple[int, ...] = ()
    """Kinds of the other options, as IANA numbers them."""

    @property
    def is_syn(self) -> bool:
        """Whether the header opens its direction."""
        return bool(self.flags & SYN)


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a stream: its first packet with a sequence number, and how far its numbers reach."""

    sender: str
    header: Header
    base: int
    """The absolute number, modulo 2**32, that the core counts from."""
    first: int
    end: int
    """The first relative number, and the one after the last."""


def directions(capture: Capture) -> dict[tuple[int, int], Direction]:
    """Return the directions of all streams, by stream and side: 0 sends from the client, 1 from the server.

    A direction without a packet that has a sequence number, as one of acknowledgments alone, is left out. Reads the
    capture twice.
    """
    ends = capture.directions("sender", "receiver")
    clients = ends["sender"][::2]
    found: list[pd.DataFrame] = []
    for columns in capture.event_columns(range(capture.info.streams)):
        piece = reading.events(columns, ends)
        sent = piece[piece["sequence"].notna()]
        after = (sent["sequence"] + sent["length"]).astype("int64")
        sent = sent.assign(start=sent["sequence"].astype("int64"), end=after)
        grouped = sent.groupby(["stream", "sender"], sort=False, observed=True)
        found.append(
            grouped.agg(
                frame=("frame", "first"),
                time_ns=("time_ns", "first"),
                flags=("tcp_flags", "first"),
                sequence=("start", "first"),
                receiver=("receiver", "first"),
                first=("start", "min"),
                end=("end", "max"),
            )
        )
    if not found:
        return {}
    pieces = pd.concat(found).reset_index().groupby(["stream", "sender"], sort=False)
    table = pieces.agg(
        dict.fromkeys(("frame", "time_ns", "flags", "sequence", "receiver"), "first")
        | {"first": "min", "end": "max"}
    ).reset_index()
    table = table.sort_values("frame")
    made: dict[tuple[int, int], Direction] = {}
    row: Any
    for row, packet in zip(table.itertuples(), _packets(capture, table), strict=True):
        header = read(packet, port(row.sender), port(row.receiver), row.flags)
        if header is not None:
            base = (header.sequence - row.sequence) % 2**32
            side = int(clients[row.stream] != row.sender)
            made[row.stream, side] = Direction(row.sender, header, base, row.first, row.end)
    return made


def _packets(capture: Capture, wanted: pd.DataFrame) -> Iterator[bytes]:
    """Yield the bytes of the frames in a table, which ascend; a frame that stands there twice comes twice."""
    out = io.BytesIO()
    frames = wanted[["frame", "time_ns"]].drop_duplicates("frame")
    capture.excerpted(list(frames.itertuples(index=False, name=None)), out, headers_only=True)
    data, at = out.getvalue(), _FILE_HEADER
    kept = {}
    for frame in frames["frame"]:
        _, _, size, _ = _PACKET_HEADER.unpack_from(data, at)
        at += _PACKET_HEADER.size
        kept[frame] = data[at : at + size]
        at += size
    yield from (kept[frame] for frame in wanted["frame"])


def read(packet: bytes, source: int, destination: int, flags: int) -> Header | None:
    """Find the TCP header of these ports and flags, and read it; None where the packet holds none."""
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
