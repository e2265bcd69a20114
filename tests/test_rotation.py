"""Files of one capture that was rotated: read as if never cut, and what is missing between them is said."""

from __future__ import annotations

import itertools
import subprocess
from dataclasses import replace

import pandas as pd
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import ROOT
from packets import pcap, pcapng_file, read_pcap
from small_transfer import write_many, write_pcap

import bdpcap
from bdpcap import report
from bdpcap.cli import main
from bdpcap.read import rotation
from bdpcap.report import page

TABLES = ("flows", "rtts", "connections", "exchanges", "events")


def sample(name):
    with (ROOT / "sample_captures" / f"{name}.sender.pcap.zst").open("rb") as file:
        return list(read_pcap(zstandard.ZstdDecompressor().stream_reader(file).read()))


@pytest.fixture(scope="module")
def lossy():
    """A transfer with losses, so that holes in sequence numbers span cuts."""
    return sample("cwnd_loss_2pct")


@pytest.fixture(scope="module")
def whole(lossy, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.pcap"
    path.write_bytes(pcap(lossy))
    capture = bdpcap.analyze(path)
    return path, {name: capture.table(name) for name in TABLES}


def write_ring(folder, pieces, kind=pcap, name="ring_{:05}.pcap"):
    folder.mkdir(exist_ok=True)
    for number, piece in enumerate(pieces, start=1):
        (folder / name.format(number)).write_bytes(kind(piece))
    return folder


def assert_as_if_never_cut(source, tables):
    capture = bdpcap.analyze(source)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(capture.table(name), table)
    return capture


def cut_by_size(packets, size_bytes):
    """Cut as tcpdump -C does: the next file begins once this one is larger."""
    pieces, written = [[]], 0
    for packet in packets:
        if written > size_bytes:
            pieces.append([])
            written = 0
        pieces[-1].append(packet)
        written += 16 + len(packet.data)
    return pieces


def cut_by_time(packets, seconds):
    """Cut as tcpdump -G does, empty files where nothing was captured left out."""
    pieces = {}
    for packet in packets:
        pieces.setdefault((packet.time_ns - packets[0].time_ns) // (seconds * 10**9), []).append(packet)
    return [*pieces.values()]


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_cut_gives_the_tables_of_the_uncut_capture(data, lossy, whole, tmp_path_factory):
    cuts = data.draw(st.lists(st.integers(1, len(lossy) - 1), unique=True, max_size=6).map(sorted))
    kind = data.draw(st.sampled_from([pcap, pcapng_file]))
    edges = [0, *cuts, len(lossy)]
    pieces = [lossy[first:last] for first, last in itertools.pairwise(edges)]
    folder = write_ring(tmp_path_factory.mktemp("ring") / "set", pieces, kind)
    capture = assert_as_if_never_cut(folder, whole[1])
    assert capture._contents.files.frames == [len(piece) for piece in pieces]


@pytest.mark.parametrize("size_bytes", [1000, 100_000, 1_000_000])
def test_files_of_a_size_as_tcpdump_cuts_them(size_bytes, lossy, whole, tmp_path):
    pieces = cut_by_size(lossy, size_bytes * 10)
    folder = tmp_path / "set"
    write_ring(folder, pieces, name="trace.pcap{}")
    (folder / "trace.pcap1").rename(folder / "trace.pcap")  # the first has no number, the second number 1
    for number in range(2, len(pieces) + 1):
        (folder / f"trace.pcap{number}").rename(folder / f"trace.pcap{number - 1}")
    capture = assert_as_if_never_cut(str(folder / "trace.pcap*"), whole[1])
    assert [flaw.code for flaw in capture.quality if "file" in flaw.code] == []


@pytest.mark.parametrize("seconds", [1, 3])
def test_files_of_a_time_as_tcpdump_cuts_them(seconds, lossy, whole, tmp_path):
    folder = write_ring(tmp_path / "set", cut_by_time(lossy, seconds), name="trace_{:03}.pcap")
    assert_as_if_never_cut(folder, whole[1])


@pytest.mark.parametrize("how", [("-c", "700"), ("-i", "1.5")])
def test_files_that_editcap_cuts(how, whole, tmp_path):
    (tmp_path / "set").mkdir()
    command = ["editcap", *how, str(whole[0]), str(tmp_path / "set" / "ring.pcap")]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("editcap is not installed")
    assert len(list((tmp_path / "set").iterdir())) > 2
    capture = assert_as_if_never_cut(tmp_path / "set", whole[1])
    assert [flaw.code for flaw in capture.quality if "file" in flaw.code] == []


def test_many_connections_across_files_in_any_order(tmp_path):
    path = write_many(tmp_path / "many.pcap", 60)
    packets = list(read_pcap(path.read_bytes()))
    one = bdpcap.analyze(path)
    folder = write_ring(tmp_path / "set", [packets[at : at + 97] for at in range(0, len(packets), 97)])
    names = sorted(folder.iterdir(), reverse=True)
    assert_as_if_never_cut(names, {name: one.table(name) for name in TABLES})


# what stands for files


def test_a_quoted_pattern_and_a_directory_are_the_files_themselves(tmp_path, capsys):
    packets = list(read_pcap(write_pcap(tmp_path / "one.pcap").read_bytes()))
    folder = write_ring(tmp_path / "set", [packets[:100], packets[100:]])
    (folder / "notes.txt").write_text("no capture")
    (folder / "later").mkdir()
    (folder / ".hidden").write_text("not looked at")
    assert main(["flows", str(folder), "--format", "csv"]) == 0
    of_directory, said = capsys.readouterr()
    assert said == f"bdpcap: {folder}: skipped what is no capture: later, notes.txt\n"
    assert main(["flows", str(folder / "ring_*.pcap"), "--format", "csv"]) == 0
    assert capsys.readouterr() == (of_directory, "")
    assert main(["flows", str(tmp_path / "one.pcap"), "--format", "csv"]) == 0
    assert capsys.readouterr().out == of_directory
    assert main([str(folder / "ring_*.pcap")]) == 0


BROKEN = {
    "cut.pcap": (b"\xd4\xc3\xb2\xa1\2\0", "cut short"),
    "empty.pcapng": (b"", "the file is empty"),
    "magic_alone": (b"\x0a\x0d\x0d\x0a", "cut short"),
    "packed.cap.zst": (b"no zstd", "not a packet capture"),
    "text.pcap1": (b"a text", "not a packet capture"),
}
"""Files with the name or the first bytes of a capture that do not read as one, and why."""


@pytest.mark.parametrize("command", ["flows", "events", "report", "info", "compare"])
def test_the_broken_captures_of_a_directory_are_named_and_the_others_are_reported(command, tmp_path, capsys):
    folder = write_ring(tmp_path / "set", [list(read_pcap(write_pcap(tmp_path / "one.pcap").read_bytes()))])
    options = ["--text", "-"] if command == "report" else []
    assert main([command, str(folder), *options]) == 0
    whole, _ = capsys.readouterr()
    (folder / "readme").write_text("no capture")
    for name, (content, _) in BROKEN.items():
        (folder / name).write_bytes(content)
    assert main([command, str(folder), *options]) == 1
    told, said = capsys.readouterr()
    assert len(told.splitlines()) >= len(whole.splitlines())
    for name, (_, reason) in BROKEN.items():
        assert f"{folder / name}: {reason}" in said.replace("frame 1, byte 0: ", "")
    assert "skipped what is no capture: readme\n" in said


def test_a_directory_of_broken_captures_alone_is_an_error_that_names_them(tmp_path, capsys):
    for name, (content, _) in BROKEN.items():
        (tmp_path / name).write_bytes(content)
    assert main(["flows", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"bdpcap: {tmp_path}: no capture in this directory can be read; ")
    assert all(f"{tmp_path / name}: {reason}" in said for name, (_, reason) in BROKEN.items())


def test_the_library_has_the_broken_captures_of_a_directory_as_damages(tmp_path):
    write_pcap(tmp_path / "one.pcap")
    (tmp_path / "two.pcap").write_bytes(b"")
    capture = bdpcap.analyze(tmp_path)
    assert [(one.file, one.reason) for one in capture.damages] == [
        (str(tmp_path / "two.pcap"), "the file is empty")
    ]
    with pytest.raises(bdpcap.CaptureError, match="the file is empty"):
        list(bdpcap.stream_events(tmp_path))


def test_a_file_whose_name_is_a_pattern_is_itself(tmp_path):
    path = write_pcap(tmp_path / "a[1].pcap")
    assert bdpcap.analyze(path).info.files == [str(path)]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none_*.pcap", "no file matches"),
        (".", "no capture in this directory"),
        ("", "the name of the capture is empty"),
    ],
)
def test_a_name_that_stands_for_nothing(name, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bdpcap.CaptureError, match=why):
        bdpcap.analyze(name)


def test_no_output_takes_the_place_of_a_capture_that_a_pattern_names(tmp_path, capsys):
    path = write_pcap(tmp_path / "ring_00001.pcap")
    assert main(["flows", str(tmp_path / "ring_*"), "-o", str(path), "--format", "csv"]) == 2
    assert "the capture itself" in capsys.readouterr().err
    assert path.read_bytes()[:4] == b"\xd4\xc3\xb2\xa1"


# what is missing


def test_a_missing_number_is_said_and_is_no_loss(lossy, tmp_path):
    third = len(lossy) // 3
    pieces = [lossy[:third], lossy[third : third + 300], lossy[third + 300 :]]
    folder = write_ring(tmp_path / "set", pieces)
    complete = bdpcap.analyze(folder)
    (folder / "ring_00002.pcap").unlink()
    capture = bdpcap.analyze(folder)
    (flaw,) = [flaw for flaw in capture.quality if flaw.code == "files-missing"]
    assert (flaw.count, flaw.grave) == (1, True)
    assert "between ring_00001.pcap and ring_00003.pcap" in flaw.sentence
    assert capture.info.missed_bytes > 0
    # What the missing file held is no retransmission, and no gap of a sequence that the path lost.
    assert capture.flows["retransmitted_bytes"].sum() <= complete.flows["retransmitted_bytes"].sum()
    assert "ring_00003.pcap" in report.text(capture)


def test_without_numbers_a_pause_beyond_the_traffics_own_is_said(tmp_path):
    packets = list(read_pcap(write_pcap(tmp_path / "one.pcap").read_bytes()))
    later = [replace(packet, time_ns=packet.time_ns + 10 * 10**9) for packet in packets[200:]]
    folder = write_ring(tmp_path / "set", [packets[:200], later], name="{}.pcap")
    (flaw,) = [flaw for flaw in bdpcap.analyze(folder).quality if flaw.code == "gap-between-files"]
    assert flaw.count == later[0].time_ns - packets[199].time_ns
    assert "between 1.pcap and 2.pcap" in flaw.sentence


def test_a_pause_that_the_traffic_has_elsewhere_is_none(tmp_path):
    packets = list(read_pcap(write_pcap(tmp_path / "one.pcap").read_bytes()))
    paused = [*packets[:100], *(replace(one, time_ns=one.time_ns + 5 * 10**9) for one in packets[100:])]
    later = [replace(one, time_ns=one.time_ns + 15 * 10**9) for one in packets[200:]]
    folder = write_ring(tmp_path / "set", [paused[:200], later], name="{}.pcap")
    assert [flaw.code for flaw in bdpcap.analyze(folder).quality if "file" in flaw.code] == []


def test_files_that_overlap_are_said(tmp_path):
    packets = list(read_pcap(write_pcap(tmp_path / "one.pcap").read_bytes()))
    folder = write_ring(tmp_path / "set", [packets[:200], packets[150:]], name="{}.pcap")
    (flaw,) = [flaw for flaw in bdpcap.analyze(folder).quality if flaw.code == "files-overlap"]
    assert flaw.count == packets[199].time_ns - packets[150].time_ns


@pytest.mark.parametrize(
    ("names", "absent"),
    [
        (["ring_00003", "ring_00005"], [0, 1]),
        (["r_00001_20260101120000.pcapng", "r_00004_20260101120300.pcapng.gz"], [0, 2]),
        (["r_20260101120000_00001.pcap", "r_20260101120100_00003.pcap"], [0, 1]),
        (["t.pcap", "t.pcap1", "t.pcap3"], [0, 0, 1]),
        (["t.pcap8", "t.pcap9", "t.pcap0", "t.pcap1"], [0, 0, 0, 0]),  # a ring begins anew
        (["eth0_00001.pcap", "eth1_00001.pcap", "eth0_00002.pcap", "eth1_00003.pcap"], [0, 0, 0, 1]),
        (["trace_20260101_120000.pcap", "trace_20260101_120500.pcap"], [0, 0]),  # tcpdump -G
        (["before.pcap", "after.pcap"], [0, 0]),
    ],
)
def test_numbers_of_a_ring(names, absent):
    assert rotation.missing(names) == absent


# where a frame is


@pytest.mark.parametrize(
    ("span", "said"),
    [
        ((3, 3), "frame 3 (3 of a.pcap)"),
        ((11, 12), "frames 11 to 12 (1 to 2 of b.pcap)"),
        ((10, 21), "frames 10 to 21 (10 of a.pcap to 1 of c.pcap)"),
    ],
)
def test_frames_are_named_by_set_and_file(span, said):
    assert rotation.frames(*span, ["in/a.pcap", "in/b.pcap", "in/c.pcap"], [10, 10, 10]) == said
    assert rotation.frames(*span, ["one"], [30]) == said.partition(" (")[0]


def test_a_report_names_frames_of_files_and_filters_by_time(tmp_path):
    packets = list(read_pcap(write_pcap(tmp_path / "one.pcap").read_bytes()))
    folder = write_ring(tmp_path / "set", [packets[:100], packets[100:]])
    text = report.text(bdpcap.analyze(folder), full=True)
    assert "of ring_00001.pcap" in " ".join(text.split())
    assert "frame.time_epoch >= 17" in text
    assert "tcp.stream eq" not in text
    assert "of ring_00002.pcap" in page.html(bdpcap.analyze(folder))
