"""Count the instructions that the core spends on a packet, and fail where they have grown.

A shared machine times the same program differently from run to run; its instructions hardly change. Callgrind counts
them on two small captures, the same bytes every time. `make instructions` compares them with `instructions.json`;
``--update`` writes them there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import large_captures

HERE: Final = Path(__file__).resolve().parent
KEPT: Final = HERE / "instructions.json"
MANIFEST: Final = HERE.parent / "core" / "Cargo.toml"
COUNTS: Final = {"elephants": 8, "mice": 6000}
"""Flows and connections: enough that the start of the program does not show, few enough for a minute."""
GROWTH: Final = 0.05
"""Share by which they may grow: other compilers differ less, and what a change is to cost is known."""


def build() -> Path:
    """Compile the program that counts a capture and no more."""
    cargo = ["cargo", "build", "--release", "--locked", "--quiet", "--example", "count"]
    subprocess.run([*cargo, "--manifest-path", MANIFEST], check=True)
    return MANIFEST.parent / "target" / "release" / "examples" / "count"


def per_packet(program: Path, kind: str, folder: Path) -> int:
    """Count the instructions for a packet of a capture of this kind."""
    capture = folder / f"{kind}.pcap"
    large_captures.write(kind, capture, COUNTS[kind])
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'profile'}", program, capture]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    packets = int(done.stdout.split()[0])
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"callgrind did not say what it counted: {done.stderr}")
    return round(int(collected[1]) / packets)


def main() -> None:
    """Command line: compare, or ``--update``."""
    parser = argparse.ArgumentParser(description="count the instructions that the core spends on a packet")
    parser.add_argument("--update", action="store_true", help=f"write what was counted to {KEPT.name}")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions a packet: not counted, valgrind is not installed")
        return
    program = build()
    with tempfile.TemporaryDirectory() as folder:
        counted = {kind: per_packet(program, kind, Path(folder)) for kind in COUNTS}
    if options.update:
        KEPT.write_text(json.dumps(counted, indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    for kind, count in counted.items():
        print(f"{kind}: {count:,} instructions a packet, {count / kept[kind] - 1:+.1%} against {KEPT.name}")
    if any(count > (1 + GROWTH) * kept[kind] for kind, count in counted.items()):
        raise SystemExit(
            f"The core became more than {GROWTH:.0%} slower. Mend that; or, if it is worth its price, run "
            "`make instructions UPDATE=--update` and say in the commit what it buys."
        )


if __name__ == "__main__":
    main()
