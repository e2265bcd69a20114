"""Limits of an analysis: what lies beyond one is left out, and counted."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from oracles import ROOT
from packets import Address, pcap, tcp_packet
from scenario import HANDSHAKE, SERVER, START_NS, scenario

import bdpcap
from bdpcap.cli import main
from bdpcap.read import budget

UNNOTICED = 9 * 4096
"""Connections that may begin until the limit is noticed: batches on their way to the threads."""
SYNS = 60_000
TRANSFER = (
    HANDSHAKE
    + """
    +0    > P. 1:1001(1000)   ack 1 win 502
    +.020 < .  1:1(0)         ack 1001 win 16384
    +0    > P. 1001:2001(1000)   ack 1 win 502
    +.020 < .  1:1(0)         ack 2001 win 16384
    """
)


@pytest.fixture(scope="module")
def scan():
    """A scan of many ports from many hosts; nothing answers."""
    return pcap(
        tcp_packet(
            START_NS + number,
            Address(f"198.51.{number // 250 % 250}.{1 + number % 250}", 1024 + number),
            SERVER,
            seq=7,
            flags=2,
        )
        for number in range(SYNS)
    )


def flaw(capture, code):
    return next((one for one in capture.quality if one.code == code), None)


@pytest.mark.parametrize("jobs", [1, 2])
def test_connections_beyond_the_limit_are_counted_whatever_the_number_of_threads(scan, jobs):
    capture = bdpcap.analyze(io.BytesIO(scan), budget=bdpcap.Budget(connections=1000), jobs=jobs)
    assert 1000 <= capture.info.streams <= 1000 + UNNOTICED
    # Every connection is one segment.
    assert capture.info.streams + capture.info.left_out["connections"] == SYNS
    assert capture.info.streams == len(capture.connections)
    assert f"{SYNS - capture.info.streams:,} packets" in flaw(capture, "limit-connections").sentence


def test_nothing_is_left_out_within_the_limits(scan):
    capture = bdpcap.analyze(io.BytesIO(scan))
    assert (capture.info.streams, capture.info.left_out) == (SYNS, {})


def test_a_budget_of_memory_sets_limits_that_fit_it(scan):
    memory_bytes = budget.BASE_BYTES + 2 * 1000 * budget.CONNECTION_BYTES
    capture = bdpcap.analyze(io.BytesIO(scan), memory_bytes=memory_bytes)
    assert capture.info.streams <= 1000 + UNNOTICED
    assert capture.info.left_out["connections"] > 0
    # A larger budget than the usual limits need changes nothing.
    assert bdpcap.Budget().within(1 << 50) == bdpcap.Budget()
    with pytest.raises(ValueError, match="memory of the budget must be above"):
        bdpcap.Budget().within(1000)


def test_a_budget_of_memory_is_typed_with_its_unit():
    usual = bdpcap.Budget()
    for typed, memory_bytes in (("250MB", 250 * 10**6), ("256MiB", 256 << 20), ("250000kB", 250 * 10**6)):
        changed = usual.changed([f"memory={typed}"])
        assert changed == usual.within(memory_bytes)
        assert changed != usual
    # Whichever comes first, the lower limit holds, and other limits stay.
    few = usual.changed(["connections=5", "memory=1GB", "ranges=7"])
    assert few == usual.changed(["ranges=7", "memory=1GB", "connections=5"])
    assert (few.connections, few.ranges) == (5, 7)


def test_rows_beyond_the_limit_are_counted():
    content = pcap(scenario(TRANSFER))
    whole = bdpcap.analyze(io.BytesIO(content))
    few = bdpcap.analyze(io.BytesIO(content), budget=bdpcap.Budget(rows=1))
    assert len(whole.rtts) > 1
    assert len(few.rtts) == len(few.events) == 1
    rows = sum(len(table) for table in (whole.rtts, whole.exchanges, whole.events))
    kept = sum(len(table) for table in (few.rtts, few.exchanges, few.events))
    assert few.info.left_out["rows"] == rows - kept
    assert "--budget rows=N" in flaw(few, "limit-rows").sentence


def test_frames_of_more_headers_are_counted():
    (syn, *_) = scenario(TRANSFER)
    tags = struct.pack(">HH", 0x8100, 7) * 10
    tagged = replace(syn, data=syn.data[:12] + tags + syn.data[12:], wire_length=len(syn.data) + len(tags))
    for most, decoded in ((20, 1), (5, 0)):
        capture = bdpcap.analyze(io.BytesIO(pcap([tagged])), budget=bdpcap.Budget(headers=most))
        assert capture.info.segments == decoded
        assert capture.info.left_out.get("headers", 0) == 1 - decoded


def test_a_summary_keeps_flows_and_rounds_and_says_what_it_lacks():
    content = pcap(scenario(TRANSFER))
    whole, summary = (bdpcap.analyze(io.BytesIO(content), summarize=one) for one in (False, True))
    assert whole.flows.equals(summary.flows)
    assert whole.rtts.equals(summary.rtts)
    for lacking in ("events", "exchanges"):
        with pytest.raises(bdpcap.CaptureError, match="not kept"):
            getattr(summary, lacking)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("depth=3", "there are " + ", ".join([*asdict(bdpcap.Budget()), "memory"])),
        ("memory=100MB", "memory of the budget must be above"),
        ("memory=lots", "write a number and its unit"),
        ("memory=", "write a number and its unit"),
        ("memory=300mb", "has a small m: write Mbit or MB"),
        ("rows=-1", "whole number"),
        ("rows=0", "one at least"),
    ],
)
def test_a_limit_that_cannot_be_is_a_usage_error(typed, said, tmp_path, capsys):
    path = tmp_path / "transfer.pcap"
    path.write_bytes(pcap(scenario(TRANSFER)))
    assert main(["info", "--budget", typed, str(path)]) == 2
    assert said in capsys.readouterr().err


def test_old_names_name_the_new_ones(tmp_path, capsys):
    assert main(["info", "--limit", "rows=5", str(tmp_path / "any.pcap")]) == 2
    assert "--limit is now --budget" in capsys.readouterr().err
    with pytest.raises(AttributeError, match=r"bdpcap\.Limits is now bdpcap\.Budget"):
        _ = bdpcap.Limits


FEW, MANY = 50_000, 200_000
"""SYNs of two captures, beyond a block of streams and read by one thread: what every run takes does not count."""
PEAK = """
import resource, sys
from bdpcap.cli import main
code = main([sys.argv[2], sys.argv[1], "--format", "json", "-o", sys.argv[1] + ".json"])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("command", ["info", "flows"])
def test_a_lone_syn_takes_no_more_memory_than_documented(command, tmp_path):
    peaks = []
    for count in FEW, MANY:
        capture = tmp_path / f"{count}.pcap"
        write = [
            sys.executable,
            ROOT / "benchmarks/large_captures.py",
            "flood",
            capture,
            "--count",
            str(count),
        ]
        subprocess.run(write, check=True)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, capture, command], check=True, capture_output=True, text=True
        )
        code, kib = done.stdout.split()
        assert code == "0"
        peaks.append(int(kib) * 1024)
    # Between powers of two, tables in the core double: 0.2 kB is the mean, and 0.3 kB leaves room for one of them.
    assert (peaks[1] - peaks[0]) / (MANY - FEW) < 300
