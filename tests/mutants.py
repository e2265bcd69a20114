"""Mutants of real captures, and what must be true of any result; run as a program, it looks at many.

python tests/mutants.py [COUNT] [--seed N] [--page]
"""

from __future__ import annotations

import argparse
import io
import json
import random
import struct
import sys
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import zstandard
from oracles import SAMPLES, SHARED

import bdpcap
from bdpcap import _core
from bdpcap.report import ranking, text
from bdpcap.report.document import document
from bdpcap.report.page import html

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

PACKETS = 500
"""Most packets of a mutant."""
FLOWS = 3
"""Flows of a mutant that are explained."""
HEADERS = 14 + 20 + 20 + 20
"""Bytes of a frame within which most damage is done: what lies behind is payload, which nobody reads."""
RTTS = ("rtt_min_ns", "rtt_ns", "rtt_max_ns")
EXTREMES = (b"\0\0", b"\xff\xff", b"\x7f\xff", b"\x80\0", b"\0\1", b"\xff\xfe")


def originals() -> list[tuple[bytes, list[tuple[bytes, bytes]]]]:
    """Return classic pcap files: file header, and records as header and frame."""
    paths = [*SAMPLES, *sorted((SHARED / "captures/wild").glob("*.pcap.zst"))]
    paths += sorted((SHARED / "captures/stress").glob("*.pcap"))
    found = []
    for path in paths:
        content = path.read_bytes()
        if path.suffix == ".zst":
            content = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(content)).read(4_000_000)
        if content[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
            records = list(_records(content))
            if records:
                found.append((content[:24], records))
    return found


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 24
    while at + 16 <= len(content):
        (length,) = struct.unpack_from("<I", content, at + 8)
        if length > 262_144 or at + 16 + length > len(content):
            return
        yield content[at : at + 16], content[at + 16 : at + 16 + length]
        at += 16 + length


def mutant(chance: random.Random, files: list[tuple[bytes, list[tuple[bytes, bytes]]]]) -> bytes:
    """Return a capture with damage of one to four kinds."""
    head, records = chance.choice(files)
    begin = chance.randrange(max(1, len(records) - 20))
    chosen = records[begin : begin + chance.randint(2, PACKETS)]
    for damage in chance.sample(DAMAGES, chance.randint(1, 4)):
        chosen = damage(chance, chosen, files)
    content = head + b"".join(header + frame for header, frame in chosen)
    if chance.random() < 0.1:
        content = content[: chance.randrange(len(content))]
    return content


def flip_bits(chance, records, _files):
    """Flip bits, mostly of headers."""
    records = list(records)
    for _ in range(chance.randint(1, 20)):
        index = chance.randrange(len(records))
        header, frame = records[index]
        if frame:
            changed = bytearray(frame)
            changed[chance.randrange(min(len(frame), HEADERS))] ^= 1 << chance.randrange(8)
            records[index] = header, bytes(changed)
    return records


def go_to_extremes(chance, records, _files):
    """Give one field of 16 bits an extreme value, in many packets."""
    at, value, share = chance.randrange(HEADERS), chance.choice(EXTREMES), chance.random()
    return [
        (header, frame[:at] + value + frame[at + 2 :])
        if len(frame) > at + 2 and chance.random() < share
        else (header, frame)
        for header, frame in records
    ]


def cut_short(chance, records, _files):
    """Cut every frame at a snap length."""
    most = chance.choice((20, 34, 40, 54, 60, 66, 70))
    return [
        (header[:8] + struct.pack("<I", min(most, len(frame))) + header[12:], frame[:most])
        for header, frame in records
    ]


def lose(chance, records, _files):
    """Leave packets out."""
    share = chance.random()
    return [record for record in records if chance.random() > share] or records[:1]


def repeat(chance, records, _files):
    """Capture packets twice, at once or a little later."""
    share, late = chance.random(), chance.choice((0, 1, 50, 5000))
    return [
        copy
        for header, frame in records
        for copy in ((header, frame), (_later(header, late), frame))[: 1 + (chance.random() < share)]
    ]


def swap(chance, records, _files):
    """Change the order, without the times or with them."""
    records = list(records)
    for _ in range(chance.randint(1, 50)):
        a, b = chance.randrange(len(records)), chance.randrange(len(records))
        records[a], records[b] = records[b], records[a]
    return records


def splice(chance, records, files):
    """Put another capture's packets in between."""
    _, other = chance.choice(files)
    at = chance.randrange(len(records))
    return [*records[:at], *other[: chance.randint(1, 100)], *records[at:]]


def stop_the_clock(chance, records, _files):
    """Make the clock coarse, or let it jump."""
    tick = chance.choice((1_000, 10_000, 1_000_000))
    jump_at, jump = chance.randrange(len(records)), chance.choice((0, 0, 3600, -3600, 1 << 30))
    result = []
    for index, (header, frame) in enumerate(records):
        seconds, rest = struct.unpack_from("<II", header)
        seconds = (seconds + (jump if index >= jump_at else 0)) % (1 << 32)
        result.append((struct.pack("<II", seconds, rest // tick * tick) + header[8:], frame))
    return result


def _later(header: bytes, late: int) -> bytes:
    seconds, rest = struct.unpack_from("<II", header)
    return struct.pack("<II", seconds, min(rest + late, 999_999)) + header[8:]


DAMAGES = (flip_bits, go_to_extremes, cut_short, lose, repeat, swap, splice, stop_the_clock)


def ill_formed(capture: bdpcap.Capture) -> Iterator[str]:
    """Yield what is wrong with the tables of a capture."""
    flows, rtts = capture.flows, capture.rtts
    for name, table in (("flows", flows), ("rtts", rtts), ("datagrams", capture.datagrams)):
        yield from _not_numbers(name, table)
    shares = flows[[column for column in flows if column.endswith("_share") and column != "idle_share"]].sum(
        axis=1
    )
    same = (rtts["stream"].diff() == 0) & (rtts["sender"] == rtts["sender"].shift())
    must_hold = {
        "shares sum to 1": np.allclose(shares, 1.0, atol=1e-9),
        "the minimum RTT is at most the median": not (flows["rtt_min_ns"] > flows["rtt_median_ns"]).any(),
        "a flow ends after it starts": not (flows["start_ns"] > flows["end_ns"]).any(),
        "the least window is at most the largest": not (
            rtts["window_min_bytes"] > rtts["window_max_bytes"]
        ).any(),
        # The SYN and the FIN of a flow count as a byte each, and a FIN captured after its acknowledgment once more.
        "what was acknowledged was captured": not (
            flows["throughput_bps"].astype(float) * (flows["end_ns"] - flows["start_ns"]) / 8e9
            > flows["payload_bytes"] + 3 + 1e-6
        ).any(),
        "rounds tile": not (same & (rtts["start_ns"] != rtts["end_ns"].shift())).any(),
        "a confidence is a share": rtts["confidence"].between(0, 1).all(),
    }
    counted, _ = capture._contents._core.rounds(names=RTTS)  # no table has the extremes of a round
    for low, high in pairwise(RTTS):
        known = (counted[low] != _core.NULL) & (counted[high] != _core.NULL)
        must_hold[f"{low} is at most {high}"] = not (known & (counted[low] > counted[high])).any()
    yield from (f"not so: {what}" for what, holds in must_hold.items() if not holds)


def _not_numbers(name: str, table: pd.DataFrame) -> Iterator[str]:
    for column in table.select_dtypes("number"):
        values = table[column].dropna().to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            yield f"{name}.{column} is not finite"
        if column not in ("start_ns", "end_ns") and (values < 0).any():
            yield f"{name}.{column} is below 0"


def wrong(content: bytes, *, paged: bool = False) -> list[str]:
    """Return what is wrong with what is told of a capture."""
    from test_agreement import disagreements  # noqa: PLC0415  both are tests

    try:
        capture = bdpcap.analyze(io.BytesIO(content))
    except bdpcap.CaptureError:
        return []
    found = list(ill_formed(capture))
    for flow in ranking.listed(capture, ranking.ranked(capture).head(FLOWS)):
        found += disagreements(flow)
    if paged:
        text(capture)
        html(capture)
        # Strict JSON has neither NaN nor infinity.
        json.dumps(document(capture), allow_nan=False)
        in_flight = capture.events["in_flight_bytes"].dropna()
        if (in_flight < 0).any():
            found.append("events.in_flight_bytes is below 0")
    return found


def main() -> int:
    """Look at many mutants; say which seeds show something wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--page", action="store_true", help="draw the page, too")
    asked = parser.parse_args()
    files, bad = originals(), 0
    for seed in range(asked.seed, asked.seed + asked.count):
        content = mutant(random.Random(seed), files)  # noqa: S311  the same mutants for everybody
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = wrong(content, paged=asked.page)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  a panic of the core is no Exception
            found = [f"{type(error).__name__}: {error}"]
        if found:
            bad += 1
            print(f"{seed}: {'; '.join(dict.fromkeys(found))}", flush=True)  # noqa: T201
    print(f"{asked.count} mutants, {bad} with something wrong")  # noqa: T201
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
