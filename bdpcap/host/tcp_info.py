"""
Logs of ``TCP_INFO`` as JSON lines: one object per line.

``time`` is in seconds since the epoch. ``source`` and ``destination`` are ``address:port`` of the host and of its peer.
All other names and units are those of struct tcp_info (Linux, include/uapi/linux/tcp.h), with or without ``tcpi_``.
Unknown names are ignored.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from bdpcap.host.sample import MOST, Reading, Sample, endpoint, nanoseconds, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

_US_NS: Final = 1000
_BYTE_BITS: Final = 8
_NAMED: Final = {
    "snd_cwnd": ("cwnd_segments", 1),
    "snd_ssthresh": ("ssthresh_segments", 1),
    "snd_mss": ("mss_bytes", 1),
    "snd_wnd": ("window_bytes", 1),
    "unacked": ("unacked_segments", 1),
    "notsent_bytes": ("not_sent_bytes", 1),
    "bytes_acked": ("acked_bytes", 1),
    "total_retrans": ("retransmits", 1),
    "rtt": ("rtt_ns", _US_NS),
    "min_rtt": ("rtt_min_ns", _US_NS),
    "busy_time": ("busy_ns", _US_NS),
    "rwnd_limited": ("rwnd_limited_ns", _US_NS),
    "sndbuf_limited": ("sndbuf_limited_ns", _US_NS),
    "delivery_rate": ("delivery_rate_bps", _BYTE_BITS),
    "pacing_rate": ("pacing_rate_bps", _BYTE_BITS),
}
"""Column of `bdpcap.tables.HOST`, and the factor from the kernel's unit to the column's, by name."""

_UNKNOWN: Final = {
    "snd_ssthresh": 0x7FFFFFFF,  # TCP_INFINITE_SSTHRESH
    "min_rtt": 0xFFFFFFFF,  # not measured yet
    "pacing_rate": (1 << 64) - 1,  # no limit
}
"""Smallest value that means that the quantity is unknown or unlimited, by name."""


def read(lines: Iterator[str]) -> Reading:
    """Read a log; lines that cannot be parsed are listed as unread."""
    reading = Reading([], [])
    for number, line in numbered(lines):
        try:
            reading.samples.append(_sample(json.loads(line, parse_float=Decimal)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            reading.unread.append(number)
    return reading


def _sample(said: dict[str, Any]) -> Sample:
    time_ns = nanoseconds(str(said["time"]))
    if time_ns is None:
        raise ValueError("no time")
    values = {}
    for given, value in said.items():
        name = given.removeprefix("tcpi_")
        column, factor = _NAMED.get(name, (None, 1))
        if column and isinstance(value, int) and 0 <= value < min(MOST // factor, _UNKNOWN.get(name, MOST)):
            values[column] = value * factor
    return Sample(time_ns, endpoint(said["source"]), endpoint(said["destination"]), values)
