"""Memory: a report takes no more for more packets of a flow, and little for connections that it only counts."""

import subprocess
import sys

import large_captures
import pytest

FRAMES = (500_000, 1_800_000)
"""Packets of two captures: both have several full pieces of a pass, and tables that grow in steps grow several times."""
LEAST_EVENT_BYTES = 50
"""The smallest part of an event that is worth keeping: time, frame, sequence, window, flight and RTT in 8 bytes each."""
SYNS = (100_000, 300_000)
LEAST_TEXT_BYTES = 600
"""The names of a connection's ends, as texts in a table and once more split into host and port, take at least as much.

The core keeps some 200 bytes of a lone SYN, and a report a few numbers.
"""
BUDGET_BYTES = 250_000_000
FLOOD = 1_000_000
"""The core alone keeps 200 MB of so many lone SYNs, and Python and its libraries take 100 MB and more."""
PROGRAM = """
import re, sys
from bdpcap.cli import main
code = main(sys.argv[1:])
# ru_maxrss would have the peak of the process that started this one (Linux exec_mmap).
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    files = [folder / f"{frames}.pcap" for frames in FRAMES]
    for file, frames in zip(files, FRAMES, strict=True):
        large_captures.write("headers", file, frames)
    return files


def peak_bytes(command, file, folder):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command, str(file)],
        capture_output=True, check=True, text=True, cwd=folder,
    )  # fmt: skip
    return 1024 * int(done.stderr.splitlines()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the peak in kilobytes")
@pytest.mark.parametrize(
    "command",
    [
        ["report", "--text", "-"],
        ["report", "-o", "page.html"],
        ["plot", "--stream", "0", "-o", "figure.svg"],
        ["annotate", "-o", "commented.pcapng"],
    ],
    ids=lambda command: f"{command[0]} {command[-1]}",
)
def test_more_packets_of_a_flow_take_no_more_memory(captures, command, tmp_path):
    peaks = [peak_bytes(command, file, tmp_path) for file in captures]
    each = (peaks[1] - peaks[0]) / (FRAMES[1] - FRAMES[0])
    # Pieces of the pass have a fixed size: both captures have several.
    assert each < LEAST_EVENT_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the peak in kilobytes")
def test_connections_that_failed_are_not_kept_as_text(tmp_path):
    peaks = []
    for syns in SYNS:
        large_captures.write("flood", tmp_path / "flood.pcap", syns)
        peaks.append(peak_bytes(["report", "--text", "-"], tmp_path / "flood.pcap", tmp_path))
    each = (peaks[1] - peaks[0]) / (SYNS[1] - SYNS[0])
    # Both captures have several blocks of streams.
    assert each < LEAST_TEXT_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the peak in kilobytes")
def test_a_budget_of_memory_bounds_the_peak(tmp_path):
    large_captures.write("flood", tmp_path / "flood.pcap", FLOOD)
    usual, bounded = (
        peak_bytes(["report", *budget, "--text", "-"], tmp_path / "flood.pcap", tmp_path)
        for budget in ([], ["--budget", f"memory={BUDGET_BYTES}"])
    )
    assert bounded < BUDGET_BYTES < usual
