"""The rules that people go by today, on what a capture shows as it stands, wherever it was taken.

- Window Full: a segment ends exactly where the window does (Wireshark's tcp.analysis.window_full).
- 90 %: at least 0.9 of the window is in flight.
- Plateau: the most in flight stays within a segment over four round trips; then the send buffer is said to bind.

Each of the first two is completed to a verdict: rwnd where it speaks; else cwnd within a second of a retransmission; else
sndbuf on a plateau; else app where nothing moves for a round trip; else link.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import zstandard

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RULES", "Seen", "answer", "look", "read"]

RULES = ("window full", "90 % of the window")
PLATEAU = 4  # round trips
AFTER_LOSS_NS = 10**9
UNIT_NS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}


@dataclass(frozen=True)
class Seen:
    """Segments of one connection: arrays with an element each; sequence numbers count from the sender's first."""

    time_ns: np.ndarray
    data: np.ndarray  # from the sender
    end: np.ndarray  # sequence + length; of acknowledgments, what they acknowledge
    length: np.ndarray
    window: np.ndarray  # raw, of the receiver's; scaled as its SYN says
    mss: int


def content(path: Path) -> bytes:
    """Read a file, through zstd where it is compressed."""
    raw = path.read_bytes()
    if path.suffix != ".zst":
        return raw
    return zstandard.ZstdDecompressor().decompressobj().decompress(raw)


def read(path: Path, port: int) -> Seen:
    """Read the first connection to a port from a little-endian pcap of Ethernet."""
    packed = content(path)
    unit = UNIT_NS[struct.unpack_from("<I", packed)[0]]
    starts, at = [], 24
    while at + 16 <= len(packed):
        starts.append(at)
        at += 16 + struct.unpack_from("<I", packed, at + 8)[0]
    bytes_ = np.frombuffer(packed + bytes(256), np.uint8).astype(np.int64)
    record = np.array(starts)

    def number(at: np.ndarray, size: int) -> np.ndarray:
        value: np.ndarray = bytes_[at]
        for i in range(1, size):
            value = value << 8 | bytes_[at + i]
        return value

    seconds, fraction = (sum(bytes_[record + o + i] << 8 * i for i in range(4)) for o in (0, 4))
    ip = record + 16 + 14
    v6 = number(record + 16 + 12, 2) == 0x86DD
    header = np.where(v6, 40, (bytes_[ip] & 15) * 4)
    size = np.where(v6, 40 + number(ip + 4, 2), number(ip + 2, 2))
    tcp = ip + header
    source, target = number(tcp, 2), number(tcp + 2, 2)
    is_tcp = np.where(v6, bytes_[ip + 6], bytes_[ip + 9]) == 6
    peer = source[is_tcp & (target == port)][0]
    data = is_tcp & (target == port) & (source == peer)
    own = data | (is_tcp & (source == port) & (target == peer))
    flags, length = bytes_[tcp + 13], size - header - (bytes_[tcp + 12] >> 4) * 4
    first = number(tcp + 4, 4)[data][0]
    place = np.where(data, number(tcp + 4, 4) + length, number(tcp + 8, 4))
    syn = own & (flags & 2 > 0)
    # Without a handshake nobody knows the scale; the field as it stands is what is then compared.
    scale = 0
    if syn[data].any() and syn[own & ~data].any():
        option = tcp[syn & ~data][0] + 20
        end = option + (int(bytes_[option - 8]) >> 4) * 4 - 20
        while option < end and bytes_[option] != 0:
            if bytes_[option] == 3:
                scale = int(bytes_[option + 2])
            option += 1 if bytes_[option] == 1 else max(2, int(bytes_[option + 1]))
    window = number(tcp + 14, 2) << np.where(syn, 0, scale)
    return Seen(
        time_ns=(seconds * 10**9 + fraction * unit)[own],
        data=data[own],
        end=((place - first + 2**31) % 2**32 - 2**31)[own],
        length=length[own],
        window=window[own],
        mss=int(length[data].max()),
    )


def carried(values: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """At each place the last value that is valid, 0 before the first."""
    last = np.maximum.accumulate(np.where(valid, np.arange(len(values)), -1))
    return np.where(last < 0, 0, values[last])


def look(seen: Seen, bins: pd.DataFrame) -> pd.DataFrame:
    """What the rules look at, for each bin (t0, t1): window_full, nearly_full, loss, plateau, silent."""
    sent = np.maximum.accumulate(np.where(seen.data, seen.end, 0))
    acknowledged = np.maximum.accumulate(np.where(seen.data, 0, seen.end))
    window = carried(seen.window, ~seen.data)
    flight = sent - acknowledged
    payload = seen.data & (seen.length > 0)
    full = payload & (seen.end == acknowledged + window)
    nearly = payload & (flight >= 0.9 * window)
    before = np.concatenate([[0], sent[:-1]])
    again = seen.time_ns[payload & (seen.end <= before)]
    first = np.searchsorted(seen.time_ns, bins["t0"])
    last = np.searchsorted(seen.time_ns, bins["t1"])
    rows = []
    for i, j, begin, end in zip(first, last, bins["t0"], bins["t1"], strict=True):
        moved = seen.time_ns[i:j][payload[i:j]]
        rows.append(
            {
                "window_full": full[i:j].any(),
                "nearly_full": nearly[i:j].any(),
                "loss": bool(np.searchsorted(again, end) > np.searchsorted(again, begin - AFTER_LOSS_NS)),
                "most": flight[i:j].max(initial=0),
                "silent": np.diff(moved, prepend=begin, append=end).max() >= 0.9 * (end - begin),
            }
        )
    looks = pd.DataFrame(rows, index=bins.index)
    recent = looks["most"].rolling(PLATEAU)
    looks["plateau"] = recent.max() - recent.min() <= seen.mss
    return looks


def answer(looks: pd.DataFrame, rule: str) -> np.ndarray:
    """Complete a rule to a verdict for each bin."""
    window = looks["window_full"] if rule == RULES[0] else looks["nearly_full"]
    conditions = [window, looks["loss"], looks["plateau"], looks["silent"]]
    return np.select(
        [condition.to_numpy(bool) for condition in conditions], ["rwnd", "cwnd", "sndbuf", "app"], "link"
    )
