"""Formats, byte orders, clocks and damage, against capinfos, tshark and dpkt."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import struct
import subprocess
import weakref
from dataclasses import replace

import dpkt
import numpy as np
import pandas as pd
import pytest
from conftest import unavailable
from oracles import SHARED, frames, nanoseconds
from packets import pcap, pcapng_file, tcp_packet
from scenario import CLIENT, SERVER, START_NS, scenario
from small_transfer import packets as transfer
from small_transfer import write_many, write_pcap

import bdpcap
from bdpcap import _core
from bdpcap.read import core_pass

INDEX = SHARED / "captures/public/INDEX.tsv"
DIALOGUE = """
    0           > S  0:0(0)       win 64240 <mss 1460>
    +.020000250 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +.000000500 > P. 1:101(100) ack 1 win 502
    +.125       < .  1:1(0) ack 101 win 1000
"""


def public() -> pd.DataFrame:
    if not INDEX.exists():
        return pd.DataFrame({"file": [], "capinfos_packets": [], "ts_res": [], "endian": []})
    return pd.read_csv(INDEX, sep="\t")


def files(table: pd.DataFrame) -> list:
    """One parameter a file; where the captures are missing, one that says so."""
    return table["file"].tolist() or [None]


def count(path) -> int:
    core = _core.Analysis([str(path)])
    while core.advance(100_000):
        pass
    return core.counts()["frames"]


@pytest.mark.parametrize("name", files(public()))
def test_as_many_frames_as_capinfos_counts(name):
    if name is None:
        unavailable("../shared")
    path = INDEX.parent / name
    expected = public().set_index("file").loc[name, "capinfos_packets"]
    if pd.isna(expected):  # capinfos knows no such link type; the records can be counted all the same
        with path.open("rb") as file:
            expected = sum(1 for _ in dpkt.pcap.Reader(file))
    assert count(path) == expected


@pytest.mark.parametrize(
    "name",
    files(public().query("capinfos_packets > 0 and (ts_res not in ['us', '6', '10^-6'] or endian == 'BE')")),
)
@pytest.mark.usefixtures("need_tshark")
def test_clocks_and_lengths_as_tshark_reads_them(name):
    if name is None:
        unavailable("../shared")
    path = INDEX.parent / name
    info = bdpcap.analyze(path).info
    theirs = frames(path)
    valid = theirs["time"].dropna().str.fullmatch(r"-?\d+\.\d{1,9}")
    if (
        not valid.all()
    ):  # a fraction of more than a second, which tshark prints as it stands, even with a sign
        assert info.frames == len(theirs)
        return
    times = [nanoseconds(time) for time in theirs["time"].dropna()]
    assert (info.first_ns, info.last_ns) == ((min(times), max(times)) if times else (None, None))
    assert info.time_backwards == sum(after < before for before, after in itertools.pairwise(times))
    assert info.cut_by_snaplen == (theirs["kept"] < theirs["length"]).sum()


@pytest.mark.parametrize(
    ("magic", "extra", "name"),
    [(0xA1B2C3D4, 0, "pcap"), (0xA1B2C3D4, 4, "Nokia pcap"), (0xA1B2CD34, 8, "modified pcap")],
)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.usefixtures("need_tshark")
def test_record_headers_of_any_length_as_tshark_reads_them(magic, extra, name, order, tmp_path):
    path = tmp_path / "variant.pcap"
    out = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, 1)]
    for packet in scenario(DIALOGUE):
        seconds, fraction = divmod(packet.time_ns // 1000, 10**6)
        lengths = len(packet.data), packet.wire_length
        out += [struct.pack(f"{order}IIII", seconds, fraction, *lengths), bytes([6] * extra), packet.data]
    path.write_bytes(b"".join(out))
    capture, theirs = bdpcap.analyze(path), frames(path)
    assert capture.info.formats[0].startswith(f"{name} (")
    assert (capture.damages, capture.info.undecoded) == ([], {})
    assert event_times(path.read_bytes()) == [nanoseconds(time) for time in theirs["time"]]
    assert capture.info.frames == capture.info.segments == len(theirs) == len(out) // 3


def event_times(data: bytes) -> list[int]:
    return bdpcap.analyze(io.BytesIO(data)).events.groupby("frame")["time_ns"].first().tolist()


@pytest.mark.parametrize("resolution", [(10, 9), (10, 3), (2, 33)])
@pytest.mark.parametrize("offset_seconds", [0, -77, 1_000_000_000])
@pytest.mark.parametrize("endianness", ["<", ">"])
def test_pcapng_clocks_of_any_resolution_and_offset(resolution, offset_seconds, endianness):
    # pcapng, options if_tsresol and if_tsoffset: seconds = offset + ticks * base ** -power.
    packets = scenario(DIALOGUE)
    data = pcapng_file(packets, resolution=resolution, offset_seconds=offset_seconds, endianness=endianness)
    base, power = resolution
    ticks = [(packet.time_ns - offset_seconds * 10**9) * base**power // 10**9 for packet in packets]
    assert event_times(data) == [offset_seconds * 10**9 + tick * 10**9 // base**power for tick in ticks]


def test_a_nanosecond_pcap_keeps_every_nanosecond():
    assert [time - START_NS for time in event_times(pcap(scenario(DIALOGUE)))] == [
        0,
        20_000_250,
        20_000_750,
        145_000_750,
    ]


def test_a_fraction_of_a_second_or_more_is_no_time():
    # The format has the part of a second there: a larger number comes from another clock, and carries no seconds.
    (packet,) = scenario("0 > S 0:0(0) win 64240")
    data = bytearray(pcap([packet]))
    for fraction, wrong in ((999_999_999, 0), (1_000_000_000, 1), (2_147_483_648, 1)):
        struct.pack_into("<I", data, 24 + 4, fraction)
        info = bdpcap.analyze(io.BytesIO(bytes(data))).info
        assert info.without_time == wrong
        assert info.first_ns == (None if wrong else START_NS + fraction)


def test_a_microsecond_pcap_loses_what_it_cannot_hold():
    times = event_times(pcap(scenario(DIALOGUE), nanoseconds=False))
    assert [time - START_NS for time in times] == [0, 20_000_000, 20_000_000, 145_000_000]


def test_a_big_endian_pcap_says_the_same():
    little = pcap(scenario(DIALOGUE))
    swapped = struct.pack(">IHHiIII", *struct.unpack("<IHHiIII", little[:24]))
    at = 24
    while at < len(little):
        header = struct.unpack("<IIII", little[at : at + 16])
        swapped += struct.pack(">IIII", *header) + little[at + 16 : at + 16 + header[2]]
        at += 16 + header[2]
    pd.testing.assert_frame_equal(
        bdpcap.analyze(io.BytesIO(little)).events, bdpcap.analyze(io.BytesIO(swapped)).events
    )


@pytest.mark.parametrize("kept", [1, 15, 16, 40])
def test_a_torn_tail_gives_all_packets_before_it_and_says_where_it_broke(kept):
    packets = scenario(DIALOGUE)
    whole, before = pcap(packets), pcap(packets[:-1])
    capture = bdpcap.analyze(io.BytesIO(whole[: len(before) + kept]))
    assert capture.info.frames == len(packets) - 1
    assert (capture.damages[0].frame, capture.damages[0].offset) == (len(packets), len(before))


def test_an_empty_capture_is_no_error():
    capture = bdpcap.analyze(io.BytesIO(pcap([])))
    assert (capture.info.frames, capture.damages, len(capture.flows)) == (0, [], 0)


@pytest.mark.parametrize("junk", [b"", b"\xd4", b"not a capture at all, but text", bytes(100)])
def test_what_is_no_capture_is_an_error_of_one_line(junk):
    with pytest.raises(bdpcap.CaptureError) as error:
        bdpcap.analyze(io.BytesIO(junk))
    assert "\n" not in str(error.value)


@contextlib.contextmanager
def piped(data: bytes):
    """Give the path of a pipe that holds data, as a shell names it for ``<(...)``."""
    end, start = os.pipe()
    with os.fdopen(start, "wb") as file:
        file.write(data)
    yield f"/dev/fd/{end}"
    os.close(end)


def test_pipes_are_read_once_and_in_the_order_given():
    packets = scenario(DIALOGUE)
    with piped(pcap(packets[2:])) as later, piped(pcap(packets[:2])) as earlier:
        info = bdpcap.analyze([later, earlier]).info
    # Files would be put in the order of their times; to learn these of a pipe would take its bytes.
    assert (info.frames, info.time_backwards) == (len(packets), 1)


class Interrupted(io.BytesIO):
    """A pipe that somebody tires of when its bytes are read."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(size) or self.interrupt()

    def interrupt(self) -> bytes:
        raise KeyboardInterrupt


@pytest.mark.parametrize("kept", [0, 10, 24 + 16 + 20, None])
def test_an_interrupt_is_no_damage(kept):
    # Before the first byte, in the file's header, in a packet, between two.
    with pytest.raises(KeyboardInterrupt):
        bdpcap.analyze(Interrupted(pcap(scenario(DIALOGUE))[:kept]))


def test_a_stream_that_fails_is_damaged():
    class Failing(Interrupted):
        def interrupt(self) -> bytes:
            raise OSError("the disk is gone")

    packets = scenario(DIALOGUE)
    (damage,) = bdpcap.analyze(Failing(pcap(packets))).damages
    assert damage.frame == len(packets) + 1
    assert "the disk is gone" in damage.reason


def test_a_name_that_is_no_utf8_is_read_and_told(tmp_path):
    path = tmp_path / os.fsdecode(b"m\xfcll.pcap")
    path.write_bytes(pcap(scenario(DIALOGUE))[:-1])
    told = str(tmp_path / "m\ufffdll.pcap")
    with path.open("rb") as stream:
        for source in (path, stream):
            capture = bdpcap.analyze(source)
            assert (capture.info.files, capture.damages[0].file) == ([told], told)
            assert [one.name for one in capture.fingerprints()] == [told]
    assert bdpcap.analyze(path).excerpt(0, io.BytesIO()) == 3
    with pytest.raises(bdpcap.CaptureError, match="a\ufffd: cannot be opened"):
        bdpcap.analyze(os.fsdecode(b"a\xfc"))


def test_events_in_pieces_are_named_once_and_as_in_the_whole(tmp_path, monkeypatch):
    class Counting(bdpcap.Pseudonyms):
        asked = 0

        def endpoint(self, end: str) -> str:
            self.asked += 1
            return super().endpoint(end)

    path, names = write_many(tmp_path / "many.pcap", flows=30, rounds=40), Counting()
    whole = bdpcap.analyze(path, pseudonyms=bdpcap.Pseudonyms()).events
    monkeypatch.setattr(core_pass, "EVENTS_STEP", 20)
    pieces = list(bdpcap.stream_events(path, pseudonyms=names))
    assert len(pieces) > 2  # the core reads 4,096 frames at least
    # Both ends of both directions of each stream, however many pieces there are.
    assert names.asked == 30 * 4
    seen = pd.concat(pieces, ignore_index=True)
    pd.testing.assert_frame_equal(seen[["sender", "receiver"]], whole[["sender", "receiver"]])


def test_events_of_a_stream_are_read_as_far_as_it_has_packets(tmp_path, monkeypatch):
    path = write_many(tmp_path / "many.pcap", flows=30, rounds=40)
    later = tmp_path / "later.pcap"
    later.write_bytes(
        pcap(
            tcp_packet(START_NS + 10**12 + number, CLIENT, replace(SERVER, port=1 + number), seq=7, flags=2)
            for number in range(9000)
        )
    )
    capture = bdpcap.analyze([path, later])
    passes = []
    opened = core_pass.opened
    monkeypatch.setattr(
        core_pass, "opened", lambda *args, **how: passes.append(opened(*args, **how)) or passes[-1]
    )
    monkeypatch.setattr(core_pass, "EVENTS_STEP", 20)  # the core reads 4,096 frames at least
    events = capture.events
    for stream in (0, 29, 9029):
        own = capture._contents.events.of(stream)
        assert len(own) > 0
        pd.testing.assert_frame_equal(own, events[events["stream"] == stream].reset_index(drop=True))
    assert sum(len(piece["stream"]) for piece in capture._contents.events.columns([])) == 0
    assert len(capture._contents.events.of(9030)) == 0  # there is none of that number
    whole, first, another, last, none, absent = (one.frames for one in passes)
    assert whole == last == capture.info.frames
    assert max(first, another, none, absent) < whole / 2


@pytest.mark.parametrize("source", [io.StringIO("text"), 5])
def test_what_is_no_source_is_refused_with_what_is(source):
    with pytest.raises(bdpcap.ArgumentError, match="give a path, bytes, or a file that is open for bytes"):
        bdpcap.analyze(source)


@pytest.mark.usefixtures("need_tshark")
@pytest.mark.parametrize(
    ("form", "named"),
    [("snoop", "a snoop file"), ("ngsniffer", "a Sniffer file"), ("netmon2", "a Network Monitor")],
)
def test_a_capture_of_another_format_is_refused_with_what_converts_it(form, named, tmp_path):
    pcap = write_pcap(tmp_path / "transfer.pcap")
    other, back = tmp_path / "transfer.other", tmp_path / "out.pcapng"
    editcap(form, pcap, other)
    with pytest.raises(bdpcap.CaptureError, match=named) as refused:
        bdpcap.analyze(other)
    (command,) = re.findall(r"editcap -F (\w+) FILE out\.pcapng$", str(refused.value))
    editcap(command, other, back)
    assert bdpcap.analyze(back).info.segments == bdpcap.analyze(pcap).info.segments


@pytest.mark.usefixtures("need_tshark")
def test_an_erf_file_is_refused_with_what_converts_it(tmp_path):
    path, converted = tmp_path / "transfer.erf", tmp_path / "out.pcapng"
    with path.open("wb") as file:
        for time, frame in transfer():
            stamp = int(time * 2**32)  # little-endian, and the rest is not
            file.write(struct.pack("<Q", stamp) + struct.pack(">BBHHH", 2, 4, 18 + len(frame), 0, len(frame)))
            file.write(bytes(2) + frame)
    with pytest.raises(bdpcap.CaptureError) as refused:
        bdpcap.analyze(path)
    (command,) = re.findall(r"editcap -F (\w+) FILE out\.pcapng$", str(refused.value))
    editcap(command, path, converted)
    capture = bdpcap.analyze(converted)
    assert (capture.info.segments, capture.info.undecoded) == (len(list(transfer())), {})


def test_what_tcpdump_printed_is_refused_with_what_writes_a_capture():
    printed = b"10:01:02.345678 IP 192.0.2.1.40000 > 198.51.100.2.80: Flags [S], seq 1, win 64240, length 0\n"
    with pytest.raises(bdpcap.CaptureError, match=r'begins with the text "10:0"; .*tcpdump -w FILE$'):
        bdpcap.analyze(io.BytesIO(printed))


def test_an_etherpeek_file_is_refused_by_name():
    # Version 9 of the format; no program here writes it.
    with pytest.raises(bdpcap.CaptureError, match=r"an EtherPeek or OmniPeek file.*editcap -F pcapng"):
        bdpcap.analyze(io.BytesIO(b"\x7fver\0\0\0\x09<VersionBlock>"))


def editcap(form, source, target):
    subprocess.run(
        ["editcap", "-F", form, str(source), str(target)], check=True, capture_output=True, timeout=60
    )


@pytest.mark.parametrize(
    ("lasted_s", "frames"),
    [
        ([0.01, 0.02, 0.2, 0.2], [1, 2, 4, 4]),  # short stretches are joined until one is worth a look
        ([0.01, 0.2, 2.0, 2.0, 2.0], [1, 2, 2, 1, 1]),  # and parted where reading is slow
    ],
)
def test_whoever_waits_sees_progress_a_few_times_a_second(monkeypatch, lasted_s, frames):
    clock_s, asked = [0.0], []

    class Core:
        def advance(self, count):
            clock_s[0] += lasted_s[len(asked)]
            asked.append(count)
            return len(asked) < len(lasted_s)

    monkeypatch.setattr("time.perf_counter", lambda: clock_s[0])
    for _ in core_pass.steps(Core(), [], None):
        pass
    assert asked == [count * core_pass.STEP for count in frames]


def test_events_beyond_the_limit_are_let_go_while_a_pipe_is_read():
    columns, alive = [], []

    class Core:
        def advance(self, _count):
            return len(columns) < 10

        def take_events(self):
            column = np.zeros(10, "int64")
            columns.append(weakref.ref(column))
            alive.append(sum(ref() is not None for ref in columns))
            return {"stream": column}

    kept, left_out = core_pass.kept_events(Core(), [], None, 15)
    # Those before the first frame, two with events that there is room for, the one before, this one.
    assert max(alive) == 5
    assert len(kept["stream"]) == 10 + 15
    assert left_out == 10 * 10 - 15
