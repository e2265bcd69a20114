"""Answers from tools that nobody here wrote: tshark for TCP, capinfos for files.

tshark's answers for `sample_captures/` are kept in `tests/data/`, so that the comparison runs where tshark is
missing; `python tests/oracles.py --update` writes them anew.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import zstandard

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SHARED = ROOT.parent / "shared"
SAMPLES = sorted((ROOT / "sample_captures").glob("*.zst"))
KEPT = TESTS / "data"

PREFERENCES = {
    "tcp.bif_seq_based": "TRUE",  # SND.NXT - SND.UNA, not the span of remembered segments
    "tcp.desegment_tcp_streams": "FALSE",  # each frame on its own
    "ip.defragment": "FALSE",
    "ipv6.defragment": "FALSE",
}
FIELDS = {
    "frame": "frame.number",
    "stream": "tcp.stream",
    "source": "tcp.srcport",
    "sequence": "tcp.seq",
    "acknowledgment": "tcp.ack",
    "length": "tcp.len",
    "flags": "tcp.flags",
    "scale": "tcp.window_size_scalefactor",
    "window": "tcp.window_size",
    "in_flight": "tcp.analysis.bytes_in_flight",
    "initial_rtt": "tcp.analysis.initial_rtt",
    "sack_left": "tcp.options.sack_le",
    "sack_right": "tcp.options.sack_re",
    "protocols": "frame.protocols",
    "more_fragments": "ip.flags.mf",
    "gre": "gre.proto",
}
TEXTS = ("initial_rtt", "protocols", "more_fragments", "gre")
NUMBERS = [name for name in FIELDS if name not in (*TEXTS, "sack_left", "sack_right")]


def ask_tshark(capture: Path) -> str:
    """Ask for FIELDS of every TCP frame, a line each."""
    options = [word for name, value in PREFERENCES.items() for word in ("-o", f"{name}:{value}")]
    fields = [word for field in FIELDS.values() for word in ("-e", field)]
    command = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        *options,
        "-Y",
        "tcp",
        "-T",
        "fields",
        "-E",
        "occurrence=a",
        "-E",
        "aggregator=,",
        *fields,
    ]
    # Damaged captures make tshark exit with 2 after what could be read.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    return done.stdout


def ask_tshark_for(capture: Path, display_filter: str) -> list[int]:
    """Ask which frames a display filter selects."""
    command = ["tshark", "-n", "-r", str(capture), "-Y", display_filter, "-T", "fields", "-e", "frame.number"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [int(line) for line in done.stdout.split()]


def kept(capture: Path) -> str:
    """What tshark said of a sample when its answers were written down."""
    return zstandard.decompress((KEPT / f"{capture.name}.csv.zst").read_bytes()).decode()


def parse(text: str) -> pd.DataFrame:
    """One row a TCP frame; what tshark does not say is NA."""
    rows = []
    for line in text.splitlines():
        cells = dict(zip(FIELDS, line.split("\t"), strict=True))
        left, right = (filter(None, cells.pop(name).split(",")) for name in ("sack_left", "sack_right"))
        row = {
            name: cell.rpartition(",")[2] for name, cell in cells.items()
        }  # of several TCP headers, the innermost
        numbers = {name: int(row[name], 0) if row[name] else pd.NA for name in NUMBERS}
        sacked = sum((int(b) - int(a)) % 2**32 for a, b in zip(left, right, strict=True))
        rows.append(row | numbers | {"sacked": sacked, "protocols": cells["protocols"]})
    types = dict.fromkeys([*NUMBERS, "sacked"], "Int64")
    return pd.DataFrame(rows, columns=[*TEXTS, *types]).astype(types).set_index("frame")


def frames(capture: Path) -> pd.DataFrame:
    """Time and lengths of every frame, as tshark reads them."""
    command = ["tshark", "-n", "-r", str(capture), "-T", "fields"]
    for name in ("frame.number", "frame.time_epoch", "frame.cap_len", "frame.len"):
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    return pd.read_csv(
        io.StringIO(done.stdout), sep="\t", names=["frame", "time", "kept", "length"], dtype={"time": "str"}
    )


def nanoseconds(seconds: str) -> int:
    """Parse seconds with up to nine decimals, exactly."""
    whole, _, fraction = seconds.lstrip("-").partition(".")
    value = int(whole) * 10**9 + int(fraction.ljust(9, "0")[:9] or 0)
    return -value if seconds.startswith("-") else value


def chromium() -> str:
    """Return where Chromium lies; without one the test is skipped, as `conftest.unavailable` says."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        from conftest import unavailable  # noqa: PLC0415  which imports from here

        unavailable("Chromium")
    return str(found)


def update() -> None:
    """Write what the installed tshark says of the sample captures."""
    KEPT.mkdir(exist_ok=True)
    for capture in SAMPLES:
        text = ask_tshark(capture)
        (KEPT / f"{capture.name}.csv.zst").write_bytes(zstandard.compress(text.encode(), 19))


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: python tests/oracles.py --update")
    update()
