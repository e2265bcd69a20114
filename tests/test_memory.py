"""Memory: what is told and drawn of a flow takes no more memory for more packets."""

import subprocess
import sys

import large_captures
import pytest

FRAMES = (300_000, 800_000)
LEAST_EVENT_BYTES = 50
"""The smallest part of an event that is worth keeping: time, frame, sequence, window, flight and RTT in 8 bytes each."""
PROGRAM = (
    "import resource, sys; from bdpcap.cli import main; code = main(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
)


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    files = [folder / f"{frames}.pcap" for frames in FRAMES]
    for file, frames in zip(files, FRAMES, strict=True):
        large_captures.write("headers", file, frames)
    return files


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
    peaks = []
    for file in captures:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *command, str(file)],
            capture_output=True, check=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        peaks.append(1024 * int(done.stderr.splitlines()[-1]))
    each = (peaks[1] - peaks[0]) / (FRAMES[1] - FRAMES[0])
    # Pieces of the pass have a fixed size: both captures have several.
    assert each < LEAST_EVENT_BYTES
