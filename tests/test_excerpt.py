"""An excerpt: the packets of one stream, whose analysis is the same, with checksums that are still right."""

import io
import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import dpkt
import pandas as pd
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import ill_formed
from oracles import SAMPLES, SHARED
from packets import Packet, pcap, pcapng_file, read_pcapng
from small_transfer import packets as transfer
from small_transfer import write_pcap

import bdpcap
from bdpcap import _core
from bdpcap.cli import main
from bdpcap.read.whole import LONGEST, MARK, Whole, read
from bdpcap.report.document import document

CLIENT, SERVER = bytes([203, 0, 113, 77]), bytes([198, 51, 100, 88])
CLIENT6 = bytes.fromhex("20014860000000000000000000008844")
SERVER6 = bytes.fromhex("20014860000000000000000000001357")
WAYPOINT6 = bytes.fromhex("20014860000000000000000000009753")
FINAL6 = bytes.fromhex("20014860000000000000000000002468")
CLIENT_MAC, SERVER_MAC = bytes.fromhex("3c22fb8a9bac"), bytes.fromhex("a4bb6dd1e2f3")
TUNNEL_ENDS = bytes([192, 0, 2, 201]), bytes([192, 0, 2, 202])


def excerpt(capture, stream, **how):
    file = io.BytesIO()
    capture.excerpt(stream, file, **how)
    return file.getvalue()


def analysed(data, **how):
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "excerpt.pcap")
        path.write_bytes(data)
        capture = bdpcap.analyze(path, **how)
        return capture, capture.events


def same_analysis(capture, stream, ours, events, *, names=None):
    """Compare all tables of a stream with those of its excerpt; streams and frames are numbered anew."""
    frames = {
        frame: number
        for number, frame in enumerate(sorted(set(capture._contents.events.of(stream)["frame"])), 1)
    }
    for whole, part in (
        (capture.flows, ours.flows),
        (capture.rtts, ours.rtts),
        (capture._contents.events.of(stream), events),
    ):
        expected = whole[whole["stream"] == stream].reset_index(drop=True).assign(stream=0)
        if "frame" in expected:
            expected["frame"] = expected["frame"].map(frames)
        if names:
            for side in ("sender", "receiver"):
                other = {end: names.endpoint(end) for end in expected[side].unique()}
                expected[side] = expected[side].map(other).astype(expected[side].dtype)
        pd.testing.assert_frame_equal(part, expected, check_exact=True)


# the analysis stays the same


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_analysis_of_an_excerpt_is_that_of_the_stream(sample):
    capture = bdpcap.analyze(sample)
    for headers_only in (False, True):
        same_analysis(capture, 0, *analysed(excerpt(capture, 0, headers_only=headers_only)))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_analysis_of_an_anonymized_excerpt_differs_in_names_only(sample):
    names = bdpcap.Pseudonyms()
    hidden = bdpcap.analyze(sample, pseudonyms=names)
    same_analysis(bdpcap.analyze(sample), 0, *analysed(excerpt(hidden, 0)), names=names)


@given(strategies.captures())
def test_any_stream_can_be_taken_out(made):
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "capture.pcap")
        path.write_bytes(pcap(made.packets))
        capture = bdpcap.analyze(path)
        names = bdpcap.Pseudonyms()
        hidden = bdpcap.analyze(path, pseudonyms=names)
        for stream in range(capture.info.streams):
            same_analysis(capture, stream, *analysed(excerpt(capture, stream)))
            same_analysis(capture, stream, *analysed(excerpt(hidden, stream)), names=names)


def has_streams(path):
    try:
        core = _core.Analysis([str(path)])
    except bdpcap.CaptureError:
        return False
    while core.advance(1_000_000):
        pass
    return core.counts()["streams"] > 0


@pytest.mark.usefixtures("need_shared")
def test_streams_of_other_projects_captures_can_be_taken_out():
    taken = 0
    for path in sorted((SHARED / "captures" / "public").rglob("*.pcap*")):
        if not has_streams(path):
            continue
        capture = bdpcap.analyze(path)
        names = bdpcap.Pseudonyms()
        hidden = bdpcap.analyze(path, pseudonyms=names)
        try:
            part, hidden_part = excerpt(capture, 0), excerpt(hidden, 0)
        except bdpcap.CaptureError as error:
            assert "two link types" in str(error), path  # noqa: PT017
            continue
        same_analysis(capture, 0, *analysed(part))
        same_analysis(capture, 0, *analysed(hidden_part), names=names)
        taken += 1
    assert taken > 100


def test_an_excerpt_is_of_the_streams_frames_at_their_nanoseconds(tmp_path):
    path = tmp_path / "two.pcapng"
    frames = [
        Packet(int(time * 1e9) + 7, frame, len(frame))
        for time, frame in sorted([*transfer(port=40000), *transfer(port=40001, start=1_700_000_000.004)])
    ]
    path.write_bytes(pcapng_file(frames))
    part = read_pcapng(excerpt(bdpcap.analyze(path), 1))[0]
    assert part == [frame for frame in frames if (40001).to_bytes(2) in frame.data[34:38]]


def test_frames_are_counted_over_all_files_as_in_the_analysis(tmp_path):
    first = write_pcap(tmp_path / "1.pcap", port=40000)
    second = write_pcap(tmp_path / "2.pcap", port=40001, start=1_700_000_100.0)
    whole = bdpcap.analyze([second, first])
    alone = bdpcap.analyze(second)
    assert excerpt(whole, 1) == excerpt(alone, 0)


# what the whole capture shows

NOTHING = Whole(None, None, None, (None, None), (None, None), (None, None))


def commented(capture, stream, comment):
    """An excerpt with another comment on its section."""
    packets, _ = read_pcapng(excerpt(capture, stream))
    return pcapng_file(packets, comment=comment)


NUMBERS = st.none() | st.integers(0, 1 << 62)
PER_ROUND = st.lists(st.integers(0, 1 << 62), max_size=20).map(tuple)
PAIRS = [st.tuples(NUMBERS, NUMBERS)] * 3
WHOLES = st.builds(Whole, NUMBERS, NUMBERS, NUMBERS, *PAIRS, st.tuples(PER_ROUND, PER_ROUND))


@given(WHOLES)
def test_a_comment_is_read_as_it_was_written(whole):
    assert len(whole.comment()) <= LONGEST
    assert read(["another", whole.comment()]) == whole
    assert read([whole.comment()] * 2) is None


def test_a_comment_without_room_leaves_out_the_cross_traffic():
    crowded = replace(NOTHING, dropped=7, cross_traffic_bytes=((123_456,) * 10_000, ()))
    assert read([crowded.comment()]) == replace(NOTHING, dropped=7)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda one: st.lists(one) | st.dictionaries(st.sampled_from([*NOTHING.__dict__, "other"]), one),
)


@given(st.text() | ANY_JSON.map(json.dumps) | st.integers(1, 100_000).map(lambda depth: "[" * depth))
def test_a_hostile_comment_is_ignored_or_well_formed(text):
    found = read([MARK + text])
    if found is not None:
        assert read([found.comment()]) == found
        assert all(0 <= one <= 1 << 62 for one in [found.tick_ns, *found.scales] if one is not None)


@given(WHOLES)
@settings(max_examples=25)
def test_whatever_a_comment_claims_tables_are_well_formed(two_hosts, whole):
    capture, _ = analysed(commented(two_hosts, 0, whole.comment()))
    assert list(ill_formed(capture)) == []
    json.dumps(document(capture), allow_nan=False)


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory):
    return bdpcap.analyze(write_pcap(tmp_path_factory.mktemp("two") / "capture.pcap"))


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("name", ["apps/curl_cross/sender", "apps/iperf3_P4/middle"])
def test_cross_traffic_travels_with_an_excerpt(name):
    capture = bdpcap.analyze(SHARED / "captures" / f"{name}.pcap.zst")
    for stream in range(capture.info.streams):
        same_analysis(capture, stream, *analysed(excerpt(capture, stream)))


def test_what_the_packets_contradict_is_not_believed(two_hosts):
    alone, _ = analysed(commented(two_hosts, 0, NOTHING.comment()))
    claims = replace(
        NOTHING,
        tick_ns=1 << 40,
        end_ns=1,
        rtt_ns=(1 << 40, 1 << 40),
        sender_side_ns=(1 << 40, 1 << 40),
        cross_traffic_bytes=((1 << 40,), (1 << 40,)),
        scales=(14, 14),
    )
    misled, _ = analysed(commented(two_hosts, 0, claims.comment()))
    for name in ("flows", "rtts"):
        pd.testing.assert_frame_equal(misled.table(name), alone.table(name))
    assert misled.info.tick_ns == alone.info.tick_ns


def test_the_output_says_what_the_comment_gave(two_hosts, tmp_path, capsys):
    path = tmp_path / "part.pcapng"
    path.write_bytes(commented(two_hosts, 0, replace(NOTHING, dropped=7, rtt_ns=(5_000_000, None)).comment()))
    assert main(["info", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "excerpt, by its comment least RTT of the path for the client's data: 5 ms; dropped while" in said
    info = bdpcap.analyze(path).info
    assert (info.capture_drops, info.comments) == (7, [])
    assert info.from_whole[1] == "dropped while capturing: 7 packets"


def test_an_excerpt_of_an_excerpt_has_the_same_comment(two_hosts):
    one = excerpt(two_hosts, 0)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "one.pcapng")
        path.write_bytes(one)
        assert excerpt(bdpcap.analyze(path), 0) == one


# what is in it


def frames_of(client, server, *, around=lambda frame: frame):
    """The small transfer between other ends, its checksums made by dpkt, in whatever is put around each frame."""
    for time, data in transfer(rounds=3):
        old = dpkt.ethernet.Ethernet(data)
        tcp = old.data.data
        tcp.sum = 0
        sent = old.data.src == b"\x0a\x00\x00\x01"
        source, target = (client, server) if sent else (server, client)
        if len(client) == 4:
            ip = dpkt.ip.IP(src=source, dst=target, p=6, ttl=64, data=tcp)
            ip.len = len(ip)
            kind = dpkt.ethernet.ETH_TYPE_IP
        else:
            ip = dpkt.ip6.IP6(src=source, dst=target, nxt=6, hlim=64, plen=len(tcp), data=tcp)
            kind = dpkt.ethernet.ETH_TYPE_IP6
        macs = (CLIENT_MAC, SERVER_MAC) if sent else (SERVER_MAC, CLIENT_MAC)
        frame = bytes(dpkt.ethernet.Ethernet(src=macs[0], dst=macs[1], type=kind, data=ip))
        yield Packet(int(time * 1e9), around(frame), 0)


def in_vlan(frame):
    return frame[:12] + bytes.fromhex("81000007") + frame[12:]


def in_vxlan(frame):
    """VXLAN with a UDP checksum."""
    vxlan = bytes.fromhex("0800000000010200")
    udp = dpkt.udp.UDP(sport=50000, dport=4789, ulen=16 + len(frame), data=vxlan + frame)
    ip = dpkt.ip.IP(src=TUNNEL_ENDS[0], dst=TUNNEL_ENDS[1], p=17, ttl=64, data=udp)
    ip.len = len(ip)
    return bytes(dpkt.ethernet.Ethernet(src=SERVER_MAC, dst=CLIENT_MAC, type=0x0800, data=ip))


def in_gre(frame):
    """GRE with a checksum."""
    body = bytes.fromhex("800008000000") + b"\0\0" + frame[14:]
    total = dpkt.in_cksum(body)
    body = body[:4] + total.to_bytes(2) + body[6:]
    ip = dpkt.ip.IP(src=TUNNEL_ENDS[0], dst=TUNNEL_ENDS[1], p=47, ttl=64, data=body)
    ip.len = len(ip)
    return bytes(dpkt.ethernet.Ethernet(src=SERVER_MAC, dst=CLIENT_MAC, type=0x0800, data=ip))


def routed(kind, addresses):
    """Put in a routing header with a segment to go, to FINAL6: TCP's checksum counts that as the destination."""

    def around(frame):
        ip = dpkt.ethernet.Ethernet(frame).data
        ip.dst, ip.data.sum = FINAL6, 0
        tcp = bytes(ip)[40:]
        routing = bytes([6, 2 * len(addresses), kind, 1, len(addresses) - 1, 0, 0, 0]) + b"".join(addresses)
        length = (len(routing) + len(tcp)).to_bytes(2)
        return frame[:18] + length + bytes([43]) + frame[21:54] + routing + tcp

    return around


KINDS = {
    "IPv4": (CLIENT, SERVER, lambda frame: frame),
    "IPv6": (CLIENT6, SERVER6, lambda frame: frame),
    "IPv4 in a VLAN": (CLIENT, SERVER, in_vlan),
    "IPv4 in VXLAN": (CLIENT, SERVER, in_vxlan),
    "IPv6 in VXLAN": (CLIENT6, SERVER6, in_vxlan),
    "IPv4 in GRE": (CLIENT, SERVER, in_gre),
    "IPv6, source route": (CLIENT6, SERVER6, routed(0, [WAYPOINT6, FINAL6])),
    "IPv6, home address": (CLIENT6, SERVER6, routed(2, [FINAL6])),
    "IPv6, segment list": (CLIENT6, SERVER6, routed(4, [FINAL6, WAYPOINT6])),
}
CHECKSUMS = ("tcp.checksum.status", "ip.checksum.status", "udp.checksum.status", "gre.checksum.status")
CHECKING = ("tcp.check_checksum", "ip.check_checksum", "udp.check_checksum")


def checksums(path):
    """What tshark says of every checksum: 1 is good, 0 bad, 2 unverified."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=a"]
    command += [word for name in CHECKING for word in ("-o", f"{name}:TRUE")]
    command += [word for name in CHECKSUMS for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr.strip() or "root" in done.stderr
    lines = [line.replace("\t", ",").split(",") for line in done.stdout.splitlines()]
    return [[status for status in line if status] for line in lines]


@pytest.fixture(params=KINDS)
def made(request, tmp_path):
    client, server, around = KINDS[request.param]
    packets = list(frames_of(client, server, around=around))
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(packets))
    return path, packets


@pytest.mark.usefixtures("need_tshark")
def test_renamed_packets_have_right_checksums(made, tmp_path):
    path, packets = made
    assert {status for line in checksums(path) for status in line} == {"1"}
    hidden = read_pcapng(excerpt(bdpcap.analyze(path, pseudonyms=bdpcap.Pseudonyms()), 0))[0]
    assert len(hidden) == len(packets)
    # The payload is put back, for tshark verifies no checksum over what is not there.
    whole = [
        Packet(ours.time_ns, ours.data + theirs.data[len(ours.data) :], 0)
        for ours, theirs in zip(hidden, packets, strict=True)
    ]
    restored = tmp_path / "restored.pcap"
    restored.write_bytes(pcap(whole))
    statuses = checksums(restored)
    assert len(statuses) == len(packets)
    assert statuses == checksums(path)


@pytest.mark.usefixtures("need_tshark")
def test_a_wrong_checksum_stays_wrong(tmp_path):
    packets = [
        Packet(packet.time_ns, packet.data[:50] + bytes([packet.data[50] ^ 0x5A]) + packet.data[51:], 0)
        for packet in frames_of(CLIENT, SERVER)
    ]
    path, hidden = tmp_path / "wrong.pcap", tmp_path / "hidden.pcap"
    path.write_bytes(pcap(packets))
    hidden.write_bytes(excerpt(bdpcap.analyze(path, pseudonyms=bdpcap.Pseudonyms()), 0))
    # TCP's stands first: bad, or not to be verified without the payload.
    assert {line[0] for line in checksums(path)} == {"0"}
    assert {line[0] for line in checksums(hidden)} == {"0", "2"}


def test_no_address_is_left_in_a_renamed_packet(made):
    path, packets = made
    true = [CLIENT, SERVER, CLIENT6, SERVER6, WAYPOINT6, FINAL6, CLIENT_MAC, SERVER_MAC, *TUNNEL_ENDS]
    there = [address for address in true if any(address in packet.data for packet in packets)]
    assert len(there) >= 4
    hidden = excerpt(bdpcap.analyze(path, pseudonyms=bdpcap.Pseudonyms()), 0)
    assert not [address for address in there if address in hidden]


def test_an_anonymized_excerpt_has_no_payload_and_no_address_in_options(tmp_path):
    secret = b"GET /secret HTTP/1.1"
    remote = bytes([203, 0, 113, 99])
    multipath = bytes([30, 8, 0x30, 1]) + remote  # ADD_ADDR (RFC 8684 section 3.4.1)
    tcp = dpkt.tcp.TCP(sport=40000, dport=80, seq=1, ack=1, flags=0x18, win=512, opts=multipath, data=secret)
    tcp.off = 7
    ip = dpkt.ip.IP(
        src=CLIENT, dst=SERVER, p=6, data=tcp, opts=bytes([7, 7, 8]) + remote + b"\0"
    )  # recorded route
    ip.hl, ip.len = 7, len(ip)
    frame = bytes(dpkt.ethernet.Ethernet(type=0x0800, data=ip))
    assert secret in frame
    assert frame.count(remote) == 2
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap([Packet(10**18, frame, 0)]))
    (hidden,) = read_pcapng(excerpt(bdpcap.analyze(path, pseudonyms=bdpcap.Pseudonyms()), 0))[0]
    assert secret[:4] not in hidden.data
    assert remote not in hidden.data
    assert (len(hidden.data), hidden.wire_length) == (len(frame) - len(secret), len(frame))
    (headers,) = read_pcapng(excerpt(bdpcap.analyze(path), 0, headers_only=True))[0]
    assert headers.data == frame[: -len(secret)]
    (whole,) = read_pcapng(excerpt(bdpcap.analyze(path), 0))[0]
    assert whole.data == frame


def test_an_interrupt_while_names_are_given_is_one(tmp_path):
    class Names(bdpcap.Pseudonyms):
        def packed(self, _address):
            raise KeyboardInterrupt

    capture = bdpcap.analyze(write_pcap(tmp_path / "t.pcap"), pseudonyms=Names())
    with pytest.raises(KeyboardInterrupt):
        excerpt(capture, 0)


# the command


def test_the_command_says_what_it_wrote(tmp_path, capsys):
    capture, target = write_pcap(tmp_path / "t.pcap"), tmp_path / "part.pcap"
    assert main(["excerpt", str(capture), "--stream", "0", "-o", str(target)]) == 0
    assert len(read_pcapng(target.read_bytes())[0]) == bdpcap.analyze(capture).info.frames
    said = capsys.readouterr()
    assert said.out == ""
    assert "stream 0 is stream 0 there" in said.err


@pytest.mark.parametrize("stream", ["1", "99"])
def test_a_stream_that_is_not_there_is_usage(stream, tmp_path, capsys):
    capture, target = write_pcap(tmp_path / "t.pcap"), tmp_path / "part.pcap"
    assert main(["excerpt", str(capture), "--stream", stream, "-o", str(target)]) == 2
    assert f"no stream {stream}" in capsys.readouterr().err
    assert not target.exists()


def test_the_capture_is_not_written_over(tmp_path, capsys):
    capture = write_pcap(tmp_path / "t.pcap")
    before = capture.read_bytes()
    assert main(["excerpt", str(capture), "--stream", "0", "-o", str(capture)]) == 2
    assert "is the capture" in capsys.readouterr().err
    assert capture.read_bytes() == before


def test_a_pipe_is_told_to_be_saved_first(tmp_path, capsys, monkeypatch):
    with write_pcap(tmp_path / "t.pcap").open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        assert main(["excerpt", "-", "--stream", "0", "-o", str(tmp_path / "o.pcap")]) == 1
    assert "save the capture to a file first" in capsys.readouterr().err


def test_two_kinds_of_link_are_told_apart(tmp_path):
    ethernet = write_pcap(tmp_path / "1.pcap")
    raw = tmp_path / "2.pcap"
    with raw.open("wb") as file:
        writer = dpkt.pcap.Writer(file, linktype=101)
        for time, frame in transfer(start=1_700_000_010.0):
            writer.writepkt(frame[14:], time)
    capture = bdpcap.analyze([ethernet, raw])
    with pytest.raises(bdpcap.CaptureError, match=r"two link types \(Ethernet, raw IP\)"):
        excerpt(capture, 0)
