"""Write the large captures that are measured: many bulk flows, many short connections, lone SYNs, or full frames.

Each is made of the same bytes every time. Times, sequence numbers, acknowledgments and lengths are those of valid TCP;
the checksums of the made-up packets are 0, which no reader here looks at.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]

SAMPLES: Final = Path(__file__).resolve().parent.parent / "sample_captures"
BULK: Final = ("link_5_100ms_bloat", "rwnd_zero_window", "sndbuf_24k_15ms", "rwnd_slow_reader")
"""Samples, captured at the sender, that the bulk flows copy in turn."""
ALIVE: Final = 704
"""Bulk flows that are alive at once; more of them follow when these have ended."""
STARTS_WITHIN_US: Final = 2_000_000
BEGIN_S: Final = 1_700_000_000
CHUNK: Final = 1 << 16
"""Packets put together at a time."""
FILE_HEADER, RECORD, HEADERS, TIMESTAMPS = 24, 16, 14 + 20 + 20, 12
SOURCE, DESTINATION = (RECORD + 14 + offset for offset in (12, 16))
MAGIC: Final = 0xA1B2C3D4  # microseconds, little-endian
MSS: Final = 1448
RTT_US: Final = 20_000


def elephants(flows: int) -> Iterator[bytes]:
    """Yield a capture of so many bulk flows, `ALIVE` of them at once."""
    samples = [_sample(SAMPLES / f"{name}.sender.pcap.zst") for name in BULK]
    yield samples[0][0]
    of_flow = np.arange(flows) % len(samples)
    after, place = np.divmod(np.arange(flows), ALIVE)
    lasts_us = STARTS_WITHIN_US + max(sample[1].max() for sample in samples)
    starts_us = after * lasts_us + place * STARTS_WITHIN_US // max(min(flows, ALIVE), 1)
    counts = np.array([len(samples[of][1]) for of in of_flow])
    flow = np.repeat(np.arange(flows), counts)
    packet = np.concatenate([np.arange(count) for count in counts])
    time_us = np.concatenate([samples[of][1] + starts_us[at] for at, of in enumerate(of_flow)])
    order = np.lexsort((packet, flow, time_us))
    for part in _chunks(order):
        pieces = [
            samples[of_flow[at]][2][number] for at, number in zip(flow[part], packet[part], strict=True)
        ]
        sizes = np.array([len(piece) for piece in pieces])
        batch = np.frombuffer(b"".join(pieces), np.uint8).copy()
        starts = np.cumsum(sizes) - sizes
        client = np.array([samples[of][3] for of in of_flow])[flow[part]]
        source = _word_at(batch, starts + SOURCE) << 16 | _word_at(batch, starts + SOURCE + 2)
        shift = np.where(source == client, 1, -1) * (flow[part] + 1)
        # What one address gains the other loses: the checksums stay right.
        _put_word(batch, starts + SOURCE, (_word_at(batch, starts + SOURCE) + shift) & 0xFFFF)
        _put_word(batch, starts + DESTINATION, (_word_at(batch, starts + DESTINATION) - shift) & 0xFFFF)
        stamps = np.stack(np.divmod(time_us[part], 1_000_000), axis=1) + np.array([BEGIN_S, 0])
        batch[starts[:, None] + np.arange(8)] = stamps.astype("<u4").view(np.uint8).reshape(-1, 8)
        yield batch.tobytes()


def _sample(path: Path) -> tuple[bytes, Ints, list[bytes], int]:
    """Return a sample's file header, times in microseconds from its first packet, records and client."""
    header, records = _read(path)
    stamps = np.array([struct.unpack_from("<II", record) for record in records], dtype=np.int64)
    time_us = stamps @ [1_000_000, 1]
    (client,) = struct.unpack_from(">I", records[0], SOURCE)
    return header, time_us - time_us[0], records, client


def _read(path: Path) -> tuple[bytes, list[bytes]]:
    """Read a little-endian pcap of Ethernet and IPv4, plain or zstd: its file header and its records."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    magic, link_type = struct.unpack_from("<I16xI", data)
    if (magic, link_type) != (MAGIC, 1):
        raise SystemExit(f"{path}: not a little-endian microsecond pcap of Ethernet frames")
    records, at = [], FILE_HEADER
    while at < len(data):
        (captured,) = struct.unpack_from("<8xI", data, at)
        records.append(data[at : at + RECORD + captured])
        at += RECORD + captured
    ether_types = {record[RECORD + 12 : RECORD + 14] for record in records}
    if ether_types != {b"\x08\x00"}:
        raise SystemExit(f"{path}: a frame is not IPv4")
    return data[:FILE_HEADER], records


def _word_at(batch: Bytes, at: Ints) -> Ints:
    """Return the big-endian 16-bit words of `batch` that start at the offsets `at`."""
    return batch[at].astype(np.int64) << 8 | batch[at + 1]


def _put_word(batch: Bytes, at: Ints, word: Ints) -> None:
    """Write big-endian 16-bit words into `batch` at the offsets `at`."""
    batch[at], batch[at + 1] = word >> 8, word & 0xFF


def mice(connections: int) -> Iterator[bytes]:
    """Yield a capture of so many connections of eleven packets: a short request and an answer of two segments."""
    yield from _short(connections, lambda number: number < 0)


def _short(connections: int, unanswered: Callable[[Ints], NDArray[np.bool_]]) -> Iterator[bytes]:
    # From the client?, flags, payload, bytes that either end had sent before, microseconds after the first packet.
    script = np.array([
        (1, 0x02, 0, 0, 0, 0),
        (0, 0x12, 0, 0, 1, RTT_US),
        (1, 0x10, 0, 1, 1, RTT_US + 50),
        (1, 0x18, 200, 1, 1, RTT_US + 100),
        (0, 0x10, 0, 1, 201, 2 * RTT_US + 100),
        (0, 0x10, MSS, 1, 201, 2 * RTT_US + 5100),
        (0, 0x18, 700, 1 + MSS, 201, 2 * RTT_US + 5200),
        (1, 0x10, 0, 201, 701 + MSS, 2 * RTT_US + 5300),
        (1, 0x11, 0, 201, 701 + MSS, 2 * RTT_US + 6300),
        (0, 0x11, 0, 701 + MSS, 202, 3 * RTT_US + 6300),
        (1, 0x10, 0, 202, 702 + MSS, 3 * RTT_US + 6350),
    ])  # fmt: skip
    steps = len(script)
    yield _file_header(96)
    number, step = np.arange(connections).repeat(steps), np.tile(np.arange(steps), connections)
    there = (step == 0) | ~unanswered(number)
    number, step = number[there], step[there]
    time_us = number * 250 + script[step, 5]
    for part in _chunks(np.lexsort((step, number, time_us))):
        who = number[part]
        out, flags, payload, sequence, acknowledged, _ = script[step[part]].T
        client, server = 0x0A000000 + who // 50, 0xC0A80000 + who % 64
        port = 20_000 + who % 40_000
        yield _packets(
            time_us[part],
            source=np.where(out, client, server),
            destination=np.where(out, server, client),
            ports=np.where(out, port << 16 | 80, 80 << 16 | port),
            sequence=sequence + 1000,
            acknowledgment=np.where(flags & 0x10, acknowledged + 1000, 0),
            flags=flags,
            payload=payload,
            snaplen=96,
        )


def full_frames(segments: int, flows: int = 180, snaplen: int = 65535) -> Iterator[bytes]:
    """Yield a capture of so many full segments, and an acknowledgment for every second; by default kept whole."""
    yield _file_header(snaplen)
    flight = 40
    flow, segment = (grid.ravel() for grid in np.indices((flows, segments // flows)))
    sent_us = flow * 107 + segment // flight * RTT_US + segment % flight * 12
    acks = segment % 2 == 1
    time_us = np.concatenate([sent_us, sent_us[acks] + RTT_US - 600])
    whose, which = (np.concatenate([values, values[acks]]) for values in (flow, segment))
    is_data = np.arange(len(time_us)) < len(flow)
    for part in _chunks(np.lexsort((which, is_data, time_us)), CHUNK // 16):
        out = is_data[part]
        sender, receiver = 0x0A000000 + whose[part], 0xC0A80001
        yield _packets(
            time_us[part],
            source=np.where(out, sender, receiver),
            destination=np.where(out, receiver, sender),
            ports=np.where(out, 40_000 << 16 | 5001, 5001 << 16 | 40_000),
            sequence=np.where(out, which[part] * MSS, 0) + 1000,
            acknowledgment=np.where(out, 0, (which[part] + 1) * MSS) + 1000,
            flags=np.full(len(part), 0x10),
            payload=np.where(out, MSS, 0),
            snaplen=snaplen,
        )


def headers(frames: int) -> Iterator[bytes]:
    """Yield a capture of about so many frames of one bulk flow, of which only the headers are kept."""
    yield from full_frames(2 * frames // 3, flows=1, snaplen=HEADERS)


def equal(frames: int) -> Iterator[bytes]:
    """Yield a capture of so many equal frames, each with the same bytes of payload."""
    yield _file_header(65535)
    numbers = np.zeros(CHUNK, dtype=np.int64)
    piece = _packets(
        numbers,
        source=numbers + 0x0A000001,
        destination=numbers + 0xC0A80001,
        ports=numbers + (40_000 << 16 | 5001),
        sequence=numbers,
        acknowledgment=numbers,
        flags=numbers + 0x10,
        payload=numbers + 4,
        snaplen=65535,
    )
    for _ in range(frames // CHUNK):
        yield piece
    yield piece[: frames % CHUNK * (len(piece) // CHUNK)]


def scan(connections: int) -> Iterator[bytes]:
    """Yield a capture of so many connections, nine in ten of which are a SYN that nobody answers.

    The others are as those of `mice`.
    """
    yield from _short(connections, lambda number: number % 10 != 0)


def flood(syns: int) -> Iterator[bytes]:
    """Yield a capture of so many SYNs without options that nobody answers, each from another address."""
    yield _file_header(65535)
    for part in _chunks(np.arange(syns)):
        everywhere = np.ones(len(part), dtype=np.int64)
        yield _packets(
            part * 10,
            # A factor that is odd gives every number another address, in no order.
            source=part * 2_654_435_761 & 0xFFFFFFFF,
            destination=0xC0A80001 * everywhere,
            ports=(1024 + part % 60_000) << 16 | 80,
            sequence=part * 40_503,
            acknowledgment=0 * everywhere,
            flags=0x02 * everywhere,
            payload=0 * everywhere,
            snaplen=65535,
            timestamps=False,
        )


def _chunks(order: Ints, size: int = CHUNK) -> list[Ints]:
    """Return the packets in their order, as many at a time as are put together at once."""
    return np.array_split(order, len(order) // size + 1)


def _file_header(snaplen: int) -> bytes:
    return struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, snaplen, 1)


def _packets(
    time_us: Ints,
    *,
    source: Ints,
    destination: Ints,
    ports: Ints,
    sequence: Ints,
    acknowledgment: Ints,
    flags: Ints,
    payload: Ints,
    snaplen: int,
    timestamps: bool = True,
) -> bytes:
    """Return records of IPv4 and TCP, with or without timestamps; the payload is zeros."""
    length = HEADERS + TIMESTAMPS * timestamps + payload
    kept = np.minimum(length, snaplen)
    width = RECORD + int(kept.max())
    # Headers are written whole; what the snap length cuts is left out below.
    batch = np.zeros((len(time_us), max(width, RECORD + HEADERS + TIMESTAMPS * timestamps)), np.uint8)

    def put(at: int, values: Ints, order: str) -> None:
        raw = np.asarray(values).astype(order).view(np.uint8).reshape(len(time_us), -1)
        batch[:, at : at + raw.shape[1]] = raw

    everywhere = np.ones(len(time_us), dtype=np.int64)
    put(0, BEGIN_S + time_us // 1_000_000, "<u4")
    put(4, time_us % 1_000_000, "<u4")
    put(8, kept, "<u4")
    put(12, length, "<u4")
    put(28, 0x0800 * everywhere, ">u2")
    put(30, 0x4500 * everywhere, ">u2")
    put(32, length - 14, ">u2")
    put(34, (time_us // 50) & 0xFFFF, ">u2")
    put(36, 0x4000 * everywhere, ">u2")
    put(38, 0x4006 * everywhere, ">u2")
    put(42, source, ">u4")
    put(46, destination, ">u4")
    put(50, ports, ">u4")
    put(54, sequence & 0xFFFFFFFF, ">u4")
    put(58, acknowledgment & 0xFFFFFFFF, ">u4")
    put(62, (0x8000 if timestamps else 0x5000) | flags, ">u2")
    put(64, 0xFFFF * everywhere, ">u2")
    if timestamps:
        put(70, 0x0101080A * everywhere, ">u4")
        put(74, time_us // 1000 + 7, ">u4")
        put(78, time_us // 1000, ">u4")
    return bytes(batch[:, :width][np.arange(width) < (RECORD + kept)[:, None]].data)


KINDS: Final[dict[str, tuple[Callable[[int], Iterator[bytes]], int]]] = {
    "elephants": (elephants, ALIVE),
    "mice": (mice, 400_000),
    "full": (full_frames, 1_500_000),
    "scan": (scan, 5_000_000),
    "headers": (headers, 3_000_000),
    "equal": (equal, 9_000_000),
    "flood": (flood, 3_000_000),
}
"""How each is made, and of how many flows, connections or segments."""


def write(kind: str, output: Path, count: int | None = None) -> None:
    """Write one of `KINDS`, of its own size unless `count` says another."""
    make, usual = KINDS[kind]
    with output.open("wb") as file:
        for piece in make(usual if count is None else count):
            file.write(piece)


def main() -> None:
    """Command line: KIND OUTPUT [--count N]."""
    parser = argparse.ArgumentParser(description="write a large capture")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--count", type=int, help="flows, connections or segments instead of the usual number"
    )
    options = parser.parse_args()
    write(options.kind, options.output, options.count)


if __name__ == "__main__":
    main()
