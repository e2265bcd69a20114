"""A capture that comes through a pipe and never seems to end: what is kept follows the flows, not the bytes."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys

from oracles import ROOT

FLOWS, MSS_BYTES = 180, 1448
"""Of the capture that `full` makes; segments are shared out evenly."""
MOST_GROWTH_BYTES = 30 << 20
"""Less than a third of what the longer capture holds more; its rounds take a hundredth of that."""


def flows_of_a_pipe(segments: int) -> tuple[list[dict[str, str]], int]:
    """Return the flow table of full frames through a pipe, and the reader's peak memory in bytes."""
    made = [sys.executable, str(ROOT / "benchmarks/large_captures.py"), "full", "/dev/stdout"]
    with subprocess.Popen([*made, "--count", str(segments)], stdout=subprocess.PIPE) as maker:
        command = [sys.executable, "-m", "bdpcap", "flows", "-", "--format", "csv"]
        reader = subprocess.Popen(command, stdin=maker.stdout, stdout=subprocess.PIPE, text=True)
        assert maker.stdout is not None
        maker.stdout.close()
        assert reader.stdout is not None
        with reader.stdout:
            told = reader.stdout.read()
        _, status, usage = os.wait4(reader.pid, 0)
        reader.returncode = os.waitstatus_to_exitcode(status)
    assert (maker.returncode, reader.returncode) == (0, 0)
    return list(csv.DictReader(io.StringIO(told))), usage.ru_maxrss * 1024


def test_memory_follows_the_flows_and_not_the_bytes():
    short, long = FLOWS * 100, FLOWS * 600
    peaks = []
    for segments in (short, long):
        flows, peak_bytes = flows_of_a_pipe(segments)
        assert len(flows) == FLOWS
        assert {int(flow["payload_bytes"]) for flow in flows} == {segments // FLOWS * MSS_BYTES}
        peaks.append(peak_bytes)
    assert peaks[1] - peaks[0] < MOST_GROWTH_BYTES < (long - short) * MSS_BYTES / 3
