"""Facts of a capture as a whole, as plain data."""

from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["CaptureInfo", "Damage", "Fingerprint", "Progress"]


@dataclass(frozen=True)
class Progress:
    """The progress of reading a capture.

    Examples
    --------
    >>> seen = []
    >>> capture = bdpcap.analyze("sample_captures/linux61_advwinscale2_w50000.pcap.zst", progress=seen.append)
    >>> seen[-1].frames, seen[-1].bytes_read
    (8912, 106315)
    """

    bytes_read: int
    """Bytes read from the files, before decompression."""
    bytes_total: int | None
    """Size of all files in bytes; None where it is unknown, as with a pipe."""
    frames: int
    """Frames read."""
    captures: tuple[int, int] | None = None
    """Captures finished, and their number in all; None where one capture is read."""


@dataclass(frozen=True)
class Damage:
    """Where a capture broke. Everything before it was read.

    Examples
    --------
    >>> with open("sample_captures/linux61_advwinscale2_w50000.pcap.zst", "rb") as file:
    ...     broken = bdpcap.analyze(file.read(50_000))
    >>> broken.damages[0].frame
    3822
    """

    file: str
    frame: int
    """The frame that broke, counted from 1 in this file."""
    offset: int
    """Where the frame's record begins, in bytes of the uncompressed capture; 0 if the file cannot be read at all."""
    reason: str

    def __str__(self) -> str:
        if not self.offset:
            return f"{self.file}: {self.reason}"
        return f"{self.file}: frame {self.frame}, byte {self.offset}: {self.reason}"


@dataclass(frozen=True)
class Fingerprint:
    """Name, size and SHA-256, which identify a source. A pipe or a file object has a name only."""

    name: str
    size_bytes: int | None
    sha256: str | None


@dataclass(frozen=True, repr=False)
class CaptureInfo:
    """The contents of a capture, and facts that show how far it can be trusted.

    Examples
    --------
    >>> capture.info
    <CaptureInfo of sample_captures/linux61_advwinscale2_w50000.pcap.zst: 8,912 frames, 1 TCP streams>
    >>> capture.info.link_types
    {'Ethernet': 8912}
    """

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
    """The format of each file with its time unit and byte order."""
    compression: list[str | None]
    link_types: dict[str, int]
    """Frames by link type."""
    interfaces: list[dict[str, Any]]
    frames: int
    filtered_out: int
    segments: int
    """TCP segments, in `streams` connections."""
    streams: int
    """TCP connections, numbered as Wireshark's ``tcp.stream``. Of `quoted` streams only ICMP messages show segments."""
    datagrams: int
    """UDP datagrams."""
    undecoded: dict[str, int]
    """Frames without a TCP segment or UDP datagram, by reason."""
    first_ns: int | None
    last_ns: int | None
    time_backwards: int
    """Frames whose time is before that of the previous frame."""
    without_time: int
    """Frames without a valid time."""
    cut_by_snaplen: int
    capture_drops: int | None
    """Packets dropped while capturing, as the file reports them; None where it does not."""
    tick_ns: int = 1
    """Resolution of the clock in nanoseconds: the unit of the times, or the step of a clock so coarse that many frames
    share a time."""
    comments: list[str] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=dict)
    """Frames by the tags and tunnels around their segments."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Counts of data left out beyond a limit, by the names of `bdpcap.Budget`.

    ``connections`` counts segments of connections that were not followed, ``rows`` rows, ``ranges`` ranges that were
    merged, ``headers`` frames with too many headers.
    """
    wifi_segments: int = 0
    """TCP segments in frames of IEEE 802.11."""
    wifi_retries: int = 0
    """Those of `wifi_segments` whose station had sent the frame before, without an acknowledgment of the link."""
    copies: int = 0
    """Packets that are copies of a packet captured before."""
    delivered_twice: int = 0
    """Copies that the network made: their receivers reported most of those with payload (RFC 2883)."""
    unacknowledged: int = 0
    """Flows whose receiver must have sent acknowledgments that the capture does not hold."""
    missed_bytes: int = 0
    """Bytes that were acknowledged but are missing from the capture (Wireshark: ACKed unseen segment)."""
    data_only: int = 0
    """Flows of which the capture holds data but no acknowledgment."""
    acknowledgments_only: int = 0
    """Flows of which the capture holds acknowledgments but no data."""
    quoted: int = 0
    """Streams of which the capture holds only segments quoted in ICMP messages."""
    multipath: int = 0
    """Streams that are part of a multipath connection (RFC 8684)."""
    from_whole: list[str] = field(default_factory=list)
    """Facts of the capture of which this is an excerpt, from the comment that `Capture.excerpt` writes.

    They add to what the packets show where these do not contradict them.
    """
    times_of_files: list[dict[str, Any]] = field(default_factory=list)
    """Times of each file.

    ``frames`` is the number of frames, ``first_ns`` and ``last_ns`` are the times of the earliest and of the latest.
    ``longest_gap_ns`` is the longest time from a frame to the next, ``furthest_back_ns`` the furthest step back in time.
    ``missing_before`` is the number of files missing before the file, by the numbers in the file names.
    """
