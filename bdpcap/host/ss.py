"""
Logs of ``ss -tin`` with times, with or without ``-m``.

Times are seconds since the epoch. A time is either on a separate line before the output (``date +%s.%N; ss -tin``), or
in front of every line (``ss -tin | ts %.s``). Values are found by name, so their order does not matter and absent ones
are unknown. Names and units are those of iproute2 (misc/ss.c, tcp_stats_print).
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from bdpcap.host.sample import MOST, Reading, Sample, endpoint, nanoseconds, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CONNECTION: Final = re.compile(
    r"(?:tcp\s+)?(?P<state>ESTAB|SYN-(?:SENT|RECV)|FIN-WAIT-[12]|TIME-WAIT|CLOSE-WAIT|LAST-ACK|CLOSING|UNCONN|LISTEN)"
    r"\s+\d+\s+\d+\s+(?P<own>\S+:\S+)\s+(?P<peer>\S+:\S+)(?:\s+(?P<more>.*))?"
)
_HEADER: Final = re.compile(r"(Netid\s+)?State\s+Recv-Q\s")
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)")
_PREFIXES: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MEMORY: Final = {"w": "buffer_used_bytes", "tb": "buffer_bytes"}
"""Column by the letters before a number in ``skmem:(r0,rb131072,t0,tb46080,...)``."""
_WITHOUT_DETAIL: Final = ("LISTEN", "TIME-WAIT", "UNCONN")


def _count(text: str) -> int:
    """Return a quantity, with or without a decimal prefix."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"no quantity: {text}")
    return round(float(found[1]) * _PREFIXES[found[2]]) if found[2] or "." in found[1] else int(found[1])


def _milliseconds(text: str) -> int:
    return round(float(text.partition("ms")[0]) * 10**6)


_NAMED: Final[dict[str, tuple[str, Callable[[str], int]]]] = {
    "cwnd": ("cwnd_segments", _count),
    "ssthresh": ("ssthresh_segments", _count),
    "mss": ("mss_bytes", _count),
    "snd_wnd": ("window_bytes", _count),
    "unacked": ("unacked_segments", _count),
    "notsent": ("not_sent_bytes", _count),
    "bytes_acked": ("acked_bytes", _count),
    "retrans": ("retransmits", lambda text: _count(text.rpartition("/")[2])),
    "rtt": ("rtt_ns", lambda text: _milliseconds(text.partition("/")[0])),
    "minrtt": ("rtt_min_ns", _milliseconds),
    "busy": ("busy_ns", _milliseconds),
    "rwnd_limited": ("rwnd_limited_ns", _milliseconds),
    "sndbuf_limited": ("sndbuf_limited_ns", _milliseconds),
}
"""Column of `bdpcap.tables.HOST` and function that parses the value, by the name before a colon."""

_BEFORE_RATES: Final = {"pacing_rate": "pacing_rate_bps", "delivery_rate": "delivery_rate_bps"}


def read(lines: Iterator[str]) -> Reading:
    """Read a log; connections without details, such as listening ones, are skipped."""
    reading = Reading([], [])
    last_ns: int | None = None
    ends: tuple[str, str] | None = None
    skipped = False
    for number, line in numbered(lines):
        first, _, rest = line.replace("\t", " ").partition(" ")
        own_ns = nanoseconds(first)
        words = line if own_ns is None else rest.strip()
        last_ns = last_ns if own_ns is None else own_ns
        if not words or _HEADER.match(words):
            continue
        if found := _CONNECTION.fullmatch(words):
            ends = _ends(found)
            skipped = ends is None
            if skipped and found["state"] not in _WITHOUT_DETAIL:
                reading.unread.append(number)
            words = found["more"] or ""
        values = _values(words)
        if values and skipped:
            skipped = False
        elif values and ends and last_ns is not None:
            reading.samples.append(Sample(last_ns, *ends, values))
            ends = None
        elif not found:
            reading.unread.append(number)
    return reading


def _ends(found: re.Match[str]) -> tuple[str, str] | None:
    """Return the ends of a connection; None if its state has no details or the ends cannot be parsed."""
    if found["state"] in _WITHOUT_DETAIL:
        return None
    try:
        return endpoint(found["own"]), endpoint(found["peer"])
    except ValueError:
        return None


def _memory(text: str) -> dict[str, int]:
    """Return the size of the send buffer and its use, from the values of ``skmem``."""
    found = dict(re.findall(r"([a-z]+)(\d{1,18})", text))
    return {column: int(found[letters]) for letters, column in _MEMORY.items() if letters in found}


def _values(words: str) -> dict[str, int]:
    """Return the values of a line of details by column; unknown names and invalid values are left out."""
    values: dict[str, int] = {}
    before = ""
    for word in words.split():
        name, _, text = word.partition(":")
        if name == "skmem":
            values |= _memory(text)
        column, read_value = _NAMED.get(name, ("", _count))
        if before in _BEFORE_RATES:
            column, read_value, text = _BEFORE_RATES[before], _count, word.removesuffix("bps")
        before = word
        if column:
            with suppress(ValueError, OverflowError):
                values[column] = min(read_value(text), MOST)
    # ss omits counters that are 0. Old versions of ss or of the kernel omit others, but they report these.
    if "busy_ns" in values:
        values = {"rwnd_limited_ns": 0, "sndbuf_limited_ns": 0, "not_sent_bytes": 0} | values
    if "cwnd_segments" in values:
        values = {"retransmits": 0, "unacked_segments": 0} | values
    return {column: value for column, value in values.items() if value < MOST}
