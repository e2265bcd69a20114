"""What is known of a capture as a whole: plain data without a line of reading."""

from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["CaptureInfo", "Damage", "Fingerprint", "Progress"]


@dataclass(frozen=True)
class Progress:
    """How far reading has come."""

    bytes_read: int
    """Of the files as they are, compressed or not."""
    bytes_total: int | None
    """None where it cannot be known, as with a pipe."""
    frames: int


@dataclass(frozen=True)
class Damage:
    """Where a capture broke. Everything before it was read."""

    file: str
    frame: int
    """The frame that broke, counted from 1 in this file."""
    offset: int
    """Where its record begins, in bytes of the uncompressed capture."""
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: frame {self.frame}, byte {self.offset}: {self.reason}"


@dataclass(frozen=True)
class Fingerprint:
    """What tells a file from any other. What came from a pipe has only a name."""

    name: str
    size_bytes: int | None
    sha256: str | None


@dataclass(frozen=True, repr=False)
class CaptureInfo:
    """What a capture holds and how far it can be trusted."""

    def __repr__(self) -> str:
        return (
            f"<CaptureInfo of {', '.join(self.files)}: {self.frames:,} frames, {self.streams:,} TCP streams>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{field.name}</th><td>{html.escape(str(getattr(self, field.name)))}</td></tr>"
            for field in fields(self)
            if getattr(self, field.name) not in (None, [], {})
        )
        return f"<table>{rows}</table>"

    files: list[str]
    formats: list[str]
    """Of each file: format, unit of time, byte order."""
    compression: list[str | None]
    link_types: dict[str, int]
    """Frames by link type."""
    interfaces: list[dict[str, Any]]
    frames: int
    filtered_out: int
    segments: int
    """TCP segments, in `streams` connections."""
    streams: int
    """Numbered as Wireshark does; of some, `quoted`, there is nothing but what ICMP messages quote."""
    datagrams: int
    """UDP datagrams."""
    undecoded: dict[str, int]
    """Frames that hold neither, by reason."""
    first_ns: int | None
    last_ns: int | None
    time_backwards: int
    """Frames captured, by their time, before the frame before."""
    without_time: int
    cut_by_snaplen: int
    capture_drops: int | None
    """Packets that the capture says it lost; None where it says nothing."""
    tick_ns: int = 0
    """Step of a clock so coarse that many frames share a time; 0 where the times do not show it."""
    comments: list[str] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=dict)
    """Frames by what they were wrapped in: tags and tunnels."""
    left_out: dict[str, int] = field(default_factory=dict)
    """What the limits of `bdpcap.read.budget.Limits` left out, by limit: segments of connections, rows, ranges that
    became one, frames with too many headers.
    """
    copies: int = 0
    """Packets that the capture holds another time."""
    unacknowledged: int = 0
    """Flows whose receiver must have sent acknowledgments that the capture does not hold."""
    missed_bytes: int = 0
    """Bytes that were acknowledged and that the capture does not hold."""
    data_only: int = 0
    """Flows of which the capture holds no acknowledgment."""
    acknowledgments_only: int = 0
    """Flows of which it holds nothing else."""
    quoted: int = 0
    multipath: int = 0
    """Streams that are part of a multipath connection (RFC 8684)."""
    times_of_files: list[dict[str, Any]] = field(default_factory=list)
    """Of each file: ``frames``; the earliest and the latest, ``first_ns`` and ``last_ns``; ``longest_gap_ns`` between
    two; ``furthest_back_ns``, by which time runs backwards; ``missing_before``, files missing by the numbers in names.
    """
