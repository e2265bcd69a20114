"""Make a large capture out of a small one: many copies of its flows, side by side in time.

Every copy keeps the times, sequence numbers and options of the sample, so each of its flows is as valid
as the original; only the addresses differ. Copies run in batches of ``SIDE_BY_SIDE``, which interleave
packet by packet, and batches follow one another in time.
"""

import argparse
import struct
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIDE_BY_SIDE = 64  # flows alive at once
FILE_HEADER, RECORD_HEADER, ETHERNET_HEADER = 24, 16, 14
SOURCE, DESTINATION = (RECORD_HEADER + ETHERNET_HEADER + offset for offset in (12, 16))
MAGIC = 0xA1B2C3D4  # microseconds, in this file's byte order


def read(path: Path) -> tuple[bytes, list[bytes]]:
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
        records.append(data[at : at + RECORD_HEADER + captured])
        at += RECORD_HEADER + captured
    ether_types = {record[RECORD_HEADER + 12 : RECORD_HEADER + 14] for record in records}
    if ether_types != {b"\x08\x00"}:
        raise SystemExit(f"{path}: a frame is not IPv4")
    return data[:FILE_HEADER], records


def word_at(batch: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the big-endian 16-bit words of `batch` that start at the offsets `at`."""
    return batch[at].astype(np.int64) << 8 | batch[at + 1]


def put_word(batch: NDArray[np.uint8], at: NDArray[np.int64], word: NDArray[np.int64]) -> None:
    """Write big-endian 16-bit words into `batch` at the offsets `at`."""
    batch[at], batch[at + 1] = word >> 8, word & 0xFF


def replicate(sample: Path, output: Path, packets: int) -> tuple[int, int]:
    """Write at least `packets` packets to `output`; return how many, and how many copies of the sample."""
    header, records = read(sample)
    sizes = np.array([len(record) for record in records]).repeat(SIDE_BY_SIDE)
    starts = np.cumsum(sizes) - sizes
    batch = np.frombuffer(b"".join(record * SIDE_BY_SIDE for record in records), np.uint8).copy()
    # A copy adds its number to the first word of one host's address and takes it from the other's: the
    # sum stays, and with it the checksums of IP and of TCP (RFC 1071), however many copies there are.
    copy = np.tile(np.arange(1, SIDE_BY_SIDE + 1), len(records))
    client = records[0][SOURCE : SOURCE + 4]
    from_client = np.array([record[SOURCE : SOURCE + 4] == client for record in records])
    sign = np.where(from_client, 1, -1).repeat(SIDE_BY_SIDE)
    source, destination = word_at(batch, starts + SOURCE), word_at(batch, starts + DESTINATION)
    seconds = np.array([struct.unpack_from("<I", record)[0] for record in records]).repeat(SIDE_BY_SIDE)
    seconds_at = starts[:, None] + np.arange(4)
    batches = -(-packets // len(sizes))
    with output.open("wb") as out:
        out.write(header)
        for number in range(batches):
            shift = sign * (copy + number * SIDE_BY_SIDE)
            put_word(batch, starts + SOURCE, source + shift)
            put_word(batch, starts + DESTINATION, destination - shift)
            later = seconds + number * (seconds.max() - seconds.min() + 1)
            batch[seconds_at] = later.astype("<u4").view(np.uint8).reshape(-1, 4)
            out.write(batch.data)
    return batches * len(sizes), batches * SIDE_BY_SIDE


def main() -> None:
    """Command line: SAMPLE OUTPUT --packets N; prints the packets written and the copies of the sample."""
    parser = argparse.ArgumentParser(description="make a large capture out of a small one")
    parser.add_argument("sample", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--packets", type=int, default=4_000_000)
    options = parser.parse_args()
    print(*replicate(options.sample, options.output, options.packets))


if __name__ == "__main__":
    main()
