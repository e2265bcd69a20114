"""Measure what a connection takes in memory: by captures of two sizes, so that what every run takes does not count."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import large_captures
import speed

COUNT: Final = Path(speed.HERE.parent / "core" / "target" / "release" / "examples" / "count")
"""Built by ``cargo build --release --example count``: the core alone."""


class Case(NamedTuple):
    """What is measured, of captures of which kind and of how many connections."""

    what: str
    kind: str
    counts: tuple[int, int]
    command: str


CASES: Final = (
    Case("a connection that ended, with its rounds, in the core", "mice", (20_000, 120_000), "core"),
    Case("a connection that ended, `bdpcap flows`", "mice", (20_000, 120_000), "flows --format json"),
    Case("a connection of a scan, most a lone SYN, in the core", "scan", (250_000, 1_000_000), "core"),
    Case("a connection of a scan, `bdpcap info`", "scan", (100_000, 500_000), "info --format json"),
    Case("a connection of a scan, `bdpcap flows`", "scan", (250_000, 1_000_000), "flows --format json"),
    Case("a lone SYN of a flood, `bdpcap info`", "flood", (100_000, 1_100_000), "info --format json"),
    Case("a lone SYN of a flood, `bdpcap flows`", "flood", (100_000, 1_100_000), "flows --format json"),
    Case("a lone SYN of a flood, `bdpcap report`", "flood", (100_000, 1_100_000), "report --text -"),
)


def peak(case: Case, count: int, folder: Path, bdpcap: list[str]) -> int:
    """Return the peak resident memory of one run in bytes."""
    capture = folder / "capture.pcap"
    large_captures.write(case.kind, capture, count)
    command = [str(COUNT)] if case.command == "core" else [*bdpcap, *case.command.split()]
    return speed.run([*command, str(capture)], folder / "output").peak_bytes


def main() -> None:
    """Command line: measure every case, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description="measure what connections take in memory")
    parser.add_argument("--bdpcap", type=shlex.split, default=["bdpcap"], help="command to measure as bdpcap")
    options = parser.parse_args()
    print("| | bytes each | of 5 million |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            few, many = case.counts
            small, large = (peak(case, count, Path(folder), options.bdpcap) for count in case.counts)
            each = (large - small) / (many - few)
            print(f"| {case.what} | {each:,.0f} | {5e6 * each / 2**30:.1f} GiB |")


if __name__ == "__main__":
    main()
