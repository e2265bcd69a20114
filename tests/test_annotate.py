"""An annotated capture: Wireshark finds the same packets in it, and what bdpcap says of them."""

import gzip
import io
import json
import subprocess

import pytest
import zstandard
from oracles import SAMPLES, SHARED, ask_tshark_for
from packets import pcap, pcapng_file
from scenario import HANDSHAKE, scenario
from small_transfer import packets as transfer
from small_transfer import write_many, write_pcap

import bdpcap
from bdpcap.cli import main
from bdpcap.report import comments
from bdpcap.words import units

SECONDS = 120
"""Longest wait for a process."""
PACKET = (
    "frame.number",
    "frame.time_epoch",
    "frame.cap_len",
    "frame.len",
    "frame.md5_hash",
    "frame.interface_id",
)


ONE_SEGMENT = HANDSHAKE + "+.1 > P. 1:101(100) ack 1 win 502"


def annotated(source, path):
    """The capture with comments, in a file, and how many packets have one."""
    capture = source if isinstance(source, bdpcap.Capture) else bdpcap.analyze(source)
    with path.open("wb") as file:
        return path, capture.annotate(file)


def told(program, *options):
    done = subprocess.run([program, *options], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode in (0, 2), done.stderr  # 2: a damaged capture, after what could be read
    return done.stdout


def packets_of(path):
    """What tshark shows of every packet: number, time, lengths, a sum over its bytes, and its interface."""
    fields = [word for name in PACKET for word in ("-e", name)]
    shown = told(
        "tshark", "-n", "-r", str(path), "-o", "frame.generate_md5_hash:TRUE", "-T", "fields", *fields
    )
    return shown.replace("\t\n", "\t0\n")  # a pcap file has one interface, without a number


def comments_of(path):
    """Each packet's comments, as tshark lists them."""
    document = told("tshark", "-n", "-r", str(path), "-Y", "frame.comment", "-T", "json", "-e", "frame.number",
                    "-e", "frame.comment")  # fmt: skip
    layers = [packet["_source"]["layers"] for packet in json.loads(document)]
    return {int(one["frame.number"][0]): one["frame.comment"] for one in layers}


def interfaces_of(path):
    """What capinfos shows of the interfaces, where it shows them."""
    return told("capinfos", "-I", str(path)).partition("Number of interfaces")[2]


# nothing but comments is new


@pytest.mark.usefixtures("need_tshark")
@pytest.mark.parametrize(
    "sample",
    [path for path in SAMPLES if path.name.startswith(("rwnd_ipv6", "rwnd_slow", "app"))],
    ids=lambda path: path.name,
)
def test_packets_times_and_interfaces_stay(sample, tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(sample.read_bytes()))
    path, written = annotated(sample, tmp_path / "out.pcapng")
    assert packets_of(path) == packets_of(plain)
    if ".pcapng" in sample.name:
        assert interfaces_of(path) == interfaces_of(plain)
    assert len(comments_of(path)) == written >= 1


@pytest.mark.usefixtures("need_tshark", "need_shared")
def test_packets_of_other_projects_captures_stay(tmp_path):
    compared = 0
    for source in sorted((SHARED / "captures" / "public").rglob("*.pcap*"))[::20]:
        try:
            capture = bdpcap.analyze(source)
        except bdpcap.CaptureError:
            continue
        # A link type that only a pcap file can have, and what is cut short, are told apart elsewhere.
        if capture.damages or not capture.info.streams:
            continue
        path, _ = annotated(capture, tmp_path / "out.pcapng")
        assert packets_of(path) == packets_of(source), source
        compared += 1
    assert compared > 5


@pytest.mark.usefixtures("need_tshark")
@pytest.mark.parametrize("nanoseconds", [True, False])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_pcap_file_keeps_its_precision_however_it_is_packed(nanoseconds, pack, tmp_path):
    dialogue = scenario(HANDSHAKE + "+.000000123 > P. 1:101(100) ack 1 win 502")
    plain, packed = tmp_path / "plain.pcap", tmp_path / "packed"
    plain.write_bytes(pcap(dialogue, nanoseconds=nanoseconds))
    packed.write_bytes(pack(plain.read_bytes()))
    path, _ = annotated(packed, tmp_path / "out.pcapng")
    assert packets_of(path) == packets_of(plain)
    precision = "nanoseconds (9)" if nanoseconds else "microseconds (6)"
    assert f"Time precision = {precision}" in interfaces_of(path)


@pytest.mark.usefixtures("need_tshark")
def test_comments_that_were_there_come_first(tmp_path):
    made, given = tmp_path / "made.pcapng", tmp_path / "given.pcapng"
    made.write_bytes(pcapng_file(scenario(ONE_SEGMENT)))
    told("editcap", "-a", "1:a first one", "--capture-comment", "about it", str(made), str(given))
    path, written = annotated(given, tmp_path / "out.pcapng")
    assert written == len(comments_of(path)) > 0
    before, ours = comments_of(path)[1]
    assert before == "a first one"
    assert ours.startswith("bdpcap: ")
    about = [
        line for line in told("capinfos", "-k", str(path)).splitlines() if line.startswith("Capture comment:")
    ]
    assert about[0].split(maxsplit=2)[2] == "about it"
    assert "what limited the senders" in about[1]
    assert packets_of(path) == packets_of(given)
    assert interfaces_of(path) == interfaces_of(given)


@pytest.mark.usefixtures("need_tshark")
@pytest.mark.parametrize("how", [{"endianness": ">"}, {"resolution": (2, 20), "offset_seconds": 1000}])
def test_byte_order_and_clock_stay(how, tmp_path):
    given = tmp_path / "given.pcapng"
    given.write_bytes(pcapng_file(scenario(ONE_SEGMENT), **how))
    path, written = annotated(given, tmp_path / "out.pcapng")
    assert written == len(comments_of(path)) > 0
    assert packets_of(path) == packets_of(given)
    assert interfaces_of(path) == interfaces_of(given)


def test_our_own_reader_finds_the_comment_on_the_capture(tmp_path):
    path, _ = annotated(write_pcap(tmp_path / "t.pcap"), tmp_path / "out.pcapng")
    (about,) = bdpcap.analyze(path).info.comments
    assert "VERDICT" in about
    assert "The receive window held the sender back" in about


@pytest.mark.usefixtures("need_tshark")
def test_several_files_become_sections_of_one(tmp_path):
    first = write_pcap(tmp_path / "1.pcap", port=40000)
    second = tmp_path / "2.pcapng"
    second.write_bytes(pcapng_file(scenario(ONE_SEGMENT), offset_seconds=1_600_000_000))
    path, _ = annotated([first, second], tmp_path / "out.pcapng")
    earlier, later = (packets_of(one).splitlines() for one in (second, first))
    both = packets_of(path).splitlines()
    # Numbers count on.
    assert [line.split("\t")[1:5] for line in both] == [line.split("\t")[1:5] for line in earlier + later]
    assert len(earlier) + 1 in comments_of(path)


# what the comments say


def test_a_stretch_is_told_where_it_begins(tmp_path):
    path = write_pcap(tmp_path / "t.pcap")
    capture = bdpcap.analyze(path)
    _, said = comments.of_capture(capture)
    rtts = capture.flow(0).rtts
    held = rtts[rtts["limit"] == "rwnd"]
    assert len(held) > 30
    (frame, comment) = next((frame, one) for frame, one in said if "bdpcap: rwnd" in one)
    assert f"from here for {len(held)} rounds, " in comment
    # The first round of the receive window begins with a segment of the client's, of the frames that its time spans.
    events = capture.events
    assert events[events["frame"] == frame]["time_ns"].iloc[0] >= held["start_ns"].iloc[0]


@pytest.mark.usefixtures("need_tshark")
def test_wireshark_finds_where_the_window_closes_opens_again_and_shrinks(tmp_path):
    """A window of 4,000 bytes closes, opens to 8,000 after 250 ms, and is then taken back to 2,000."""
    path = tmp_path / "window.pcap"
    path.write_bytes(
        pcap(
            scenario(
                """
    0     > S  0:0(0)       win 64240 <mss 1000>
    +.020 < S. 0:0(0) ack 1 win 4000  <mss 1000>
    +0    > .  1:1(0)       ack 1 win 64240
    +0    > .  1:1001(1000) ack 1 win 64240
    +0    > .  1001:2001(1000) ack 1 win 64240
    +0    > .  2001:3001(1000) ack 1 win 64240
    +0    > .  3001:4001(1000) ack 1 win 64240
    +.020 < .  1:1(0) ack 2001 win 2000      # the edge stays: no shrinking
    +0    < .  1:1(0) ack 4001 win 0
    +.250 < .  1:1(0) ack 4001 win 8000
    +0    > .  4001:5001(1000) ack 1 win 64240
    +.020 < .  1:1(0) ack 5001 win 2000
    +0    < .  1:1(0) ack 4001 win 8000      # overtaken on its way: no news
    +0    < R. 1:1(0) ack 5001 win 0         # a reset closes no window
    """
            )
        )
    )
    out, _ = annotated(path, tmp_path / "out.pcapng")
    assert ask_tshark_for(out, 'frame.comment contains "zero window."') == [9]
    assert ask_tshark_for(out, 'frame.comment contains "opened again to 8,000 bytes, after 250 ms"') == [10]
    assert ask_tshark_for(
        out, 'frame.comment contains "shrunk to 2,000 bytes: its right edge went back by 5,000"'
    ) == [12]
    assert ask_tshark_for(out, 'frame.comment contains "shrunk"') == [12]


def test_windows_are_followed_from_piece_to_piece(monkeypatch):
    sample = next(path for path in SAMPLES if "zero_window" in path.name)
    whole = comments.of_capture(bdpcap.analyze(sample))
    monkeypatch.setattr("bdpcap.read.core_pass.EVENTS_STEP", 1)  # the least that is read at once
    assert comments.of_capture(bdpcap.analyze(sample)) == whole


def test_findings_stand_where_they_show():
    capture = bdpcap.analyze(next(path for path in SAMPLES if "advwinscale2" in path.name))
    said = dict(comments.of_capture(capture)[1])
    shown = [finding for finding in capture.flow(0).findings if finding.frames]
    assert len(shown) > 3
    for finding in shown:
        assert f"{finding.sentence} ({units.span('frame', *finding.frames)})" in said[finding.frames[0]]


def test_what_has_no_comment_for_its_number_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(comments, "STRETCHES", 2)
    monkeypatch.setattr(comments, "CHANGES", 3)
    sample = next(path for path in SAMPLES if "zero_window" in path.name)
    said = [line for _, one in comments.of_capture(bdpcap.analyze(sample))[1] for line in one.splitlines()]
    assert sum("from here for" in line for line in said) == 2
    assert sum("only the 2 longest have comments" in line for line in said) == 1
    assert sum(line.startswith(("bdpcap: zero window", "bdpcap: window opened")) for line in said) == 3
    assert sum("further changes of this window have no comments" in line for line in said) == 1
    monkeypatch.setattr(comments, "FLOWS", 2)
    about, said = comments.of_capture(bdpcap.analyze(write_many(tmp_path / "many.pcap", 5, rounds=3)))
    assert "Only the 2 flows of most weight have comments" in about
    assert len(said) < 5


def test_the_arithmetic_of_the_window_is_in_the_written_comments(tmp_path):
    sample = next(path for path in SAMPLES if path.name.startswith("linux61_advwinscale2_w50000"))
    out = tmp_path / "out.pcapng"
    assert main(["annotate", str(sample), "-o", str(out)]) == 0
    (about,) = bdpcap.analyze(out).info.comments
    # iperf -s -w 50000 under tcp_adv_win_scale=2: Linux doubles it, offers 3/4, and keeps back one MSS of 1,448 bytes.
    assert "2 x 50,000 x 3/4 - 1,448 = 73,552" in " ".join(about.split())
    # A comment on a packet has it, too.
    assert b"The window stops at 73,552 bytes: 2 x 50,000 x 3/4 - 1,448 = 73,552" in out.read_bytes()


# what cannot be done


def test_the_capture_is_not_written_over(tmp_path, capsys):
    capture = write_pcap(tmp_path / "t.pcapng")
    before = capture.read_bytes()
    assert main(["annotate", str(capture), "-o", str(capture)]) == 2
    assert "is the capture" in capsys.readouterr().err
    assert capture.read_bytes() == before


def test_a_pipe_is_told_to_be_saved_first(tmp_path, capsys, monkeypatch):
    with write_pcap(tmp_path / "t.pcap").open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        assert main(["annotate", "-", "-o", str(tmp_path / "o.pcapng")]) == 1
    assert "save the capture to a file first" in capsys.readouterr().err
    assert not (tmp_path / "o.pcapng").exists()


def test_true_addresses_are_not_written_under_other_names(tmp_path):
    capture = bdpcap.analyze(write_pcap(tmp_path / "t.pcap"), pseudonyms=bdpcap.Pseudonyms())
    with pytest.raises(ValueError, match="true addresses"):
        capture.annotate(io.BytesIO())


def test_of_a_damaged_capture_everything_before_is_written(tmp_path, capsys):
    whole, cut, out = tmp_path / "t.pcap", tmp_path / "cut.pcap", tmp_path / "out.pcapng"
    write_pcap(whole)
    cut.write_bytes(whole.read_bytes()[:-5])
    assert main(["annotate", str(cut), "-o", str(out)]) == 1
    assert "packets with comments" in capsys.readouterr().err
    assert bdpcap.analyze(out).info.frames == len(list(transfer())) - 1
