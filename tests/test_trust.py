"""What a capture lacks, or shows wrongly: inferred where the traffic tells, marked where it does not, never made up."""

from __future__ import annotations

import io
import re
import struct
from collections import Counter
from dataclasses import replace

import dpkt
import pandas as pd
import pytest
import zstandard
from dialogues import bursts
from oracles import ROOT, SHARED
from packets import LINUX_SLL, Address, cooked, pcap, read_pcap, tcp_packet
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.explain import place, trust
from bdpcap.explain.trust import caveats, doubts
from bdpcap.read.scale import choose
from bdpcap.read.scale_source import UNKNOWN
from bdpcap.report import headline, ranking
from bdpcap.report.page import html
from bdpcap.words import units

SAMPLES = ROOT / "sample_captures"
LAB = SHARED / "captures/lab"
SYN, ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
MSS = 1000


def packets_of(path):
    with path.open("rb") as file:
        return read_pcap(zstandard.ZstdDecompressor().stream_reader(file).read())


def tcp_of(packet):
    tcp = dpkt.ethernet.Ethernet(packet.data).data.data
    return tcp if isinstance(tcp, dpkt.tcp.TCP) else None


def is_syn(packet):
    tcp = tcp_of(packet)
    return tcp is not None and bool(tcp.flags & SYN)


def block(kind, body):
    """Write a block of pcapng, little-endian."""
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def test_a_frame_without_a_time_counts_as_captured_with_the_one_before():
    packets = scenario("""
        +0    > S  0:0(0) win 1000
        +.010 < S. 0:0(0) ack 1 win 1000
        +.010 > .  1:1(0) ack 1 win 1000
        +0    > .  1:101(100) ack 1 win 1000
        +.010 < .  1:1(0) ack 101 win 1000
    """)
    blocks = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 0)),
    ]
    for number, packet in enumerate(packets):
        microseconds, size = packet.time_ns // 1000, len(packet.data)
        times = struct.pack("<5I", 0, microseconds >> 32, microseconds & 0xFFFFFFFF, size, size)
        # The payload stands in a simple packet block, which has no time (pcapng draft section 4.4).
        whole = (
            block(3, struct.pack("<I", size) + packet.data) if number == 3 else block(6, times + packet.data)
        )
        blocks.append(whole)
    capture = bdpcap.analyze(b"".join(blocks))
    assert (capture.info.frames, capture.info.without_time) == (5, 1)
    (sent,) = capture.flow(0).events.query("length > 0").itertuples()
    assert sent.time_ns == packets[2].time_ns // 1000 * 1000
    assert "No valid time in 1 frame of 5" in doubts(capture)[0]


def analyse(packets, folder):
    """From a file: what is inferred from the whole takes a second reading."""
    path = folder / "capture.pcap"
    path.write_bytes(pcap(packets))
    return bdpcap.analyze(path)


def main_flow(capture):
    return capture.flows.loc[capture.flows["payload_bytes"].idxmax()]


def transfer(field, in_flight, *, shift=None, rounds=12, extra=""):
    """A server that keeps `in_flight` segments on a path of 20 ms, against a window field that never changes."""
    told = "mss 1000" + ("" if shift is None else f",wscale {shift}")
    lines = []
    if shift is not None or extra:
        lines += [
            f"0     > S  0:0(0)       win 60000 <{told}{extra}>",
            f"+0    < S. 0:0(0) ack 1 win 60000 <{told}{extra}>",
            f"+.020 > .  1:1(0) ack 1 win {field}",
        ]
    else:
        lines.append(f"0     > .  1:1(0) ack 1 win {field}")
    sent = 1
    for number in range(rounds):
        base = 1 + number * in_flight * MSS
        for _ in range(in_flight):
            lines.append(f"+.00001 < . {sent}:{sent + MSS}({MSS}) ack 1 win 500")
            sent += MSS
        lines.append(f"+.020 > . 1:1(0) ack {base + in_flight * MSS} win {field}")
    return scenario("\n".join(lines))


# Window scale


def test_the_least_scale_that_allows_the_flight_is_no_windows(tmp_path):
    # 60,000 bytes against a field of 1000: a shift of 6 (64,000 bytes) or any larger one. At 6, nearly all is used.
    capture = analyse(transfer(1000, 60, rounds=20), tmp_path)
    assert capture.scales == []
    flow = main_flow(capture)
    assert flow["window_scale_source"] == "unknown"
    assert flow["rwnd_share"] == 0


@pytest.mark.parametrize(
    ("packets", "limit"),
    [
        # A closed flight may be that of the window. Bursts of one size with nothing in flight between them are not.
        (transfer(1000, 60, rounds=20), "cwnd"),
        (scenario(bursts(30, lambda _: 0.2).split("\n", 3)[3]), "app"),
    ],
)
def test_the_first_screen_doubts_windows_only_where_a_verdict_may_depend_on_them(packets, limit, tmp_path):
    capture = analyse(packets, tmp_path)
    flow = main_flow(capture)
    assert (flow["window_scale_source"], flow["limit"]) == ("unknown", limit)
    doubt = "Window scale unknown: 1 flow."
    assert (doubt in report.text(capture)) == (limit == "cwnd")
    assert report.text(capture, full=True).count(doubt) == 2
    assert html(capture).count(doubt) == (2 if limit == "cwnd" else 1)


def test_a_window_kept_to_the_brim_tells_its_scale(tmp_path):
    # Each acknowledgment of a segment lets one go that ends at the edge of 64,000 bytes.
    lines = ["0 < . 1:1(0) ack 1 win 1000"]
    for i in range(12 * 64):
        if i >= 64:
            later = ".020" if i % 64 == 0 else ".00001"
            lines.append(f"+{later} < . 1:1(0) ack {1 + (i - 63) * MSS} win 1000")
        lines.append(f"+.00001 > . {1 + i * MSS}:{1 + (i + 1) * MSS}({MSS}) ack 1 win 500")
    capture = analyse(scenario("\n".join(lines)), tmp_path)
    (scale,) = capture.scales
    assert (scale.shift, scale.least, scale.most, scale.handshake) == (6, 6, 14, None)
    flow = main_flow(capture)
    assert flow["limit"] == "rwnd"
    rounds = capture.flow(0).rtts
    assert (
        rounds.loc[rounds["limit"] == "rwnd", "evidence"].str.endswith(" The window scale is inferred.").all()
    )


def test_another_connection_of_the_host_tells_the_scale(tmp_path):
    other = scenario(
        """
        0     > S  0:0(0)       win 60000 <mss 1000,wscale 9>
        +.020 < S. 0:0(0) ack 1 win 60000 <mss 1000,wscale 4>
        +.001 > .  1:1(0) ack 1 win 500
        """,
        client=replace(CLIENT, port=50000),
    )
    capture = analyse([*other, *transfer(1000, 40)], tmp_path)
    (scale,) = capture.scales
    assert (scale.shift, scale.because) == (9, "its host negotiated it in another connection")


def test_windows_that_close_as_data_arrive_bound_the_scale_from_above(tmp_path):
    # The application reads nothing: each 6400 bytes take 100 off the field, which is a shift of 6.
    lines = ["0 > . 1:1(0) ack 1 win 2000"]
    for i in range(12):
        lines += [
            f"+.001 < . {1 + 6400 * i + 800 * j}:{1 + 6400 * i + 800 * (j + 1)}(800) ack 1 win 500"
            for j in range(8)
        ]
        lines.append(f"+.020 > . 1:1(0) ack {1 + 6400 * (i + 1)} win {2000 - 100 * (i + 1)}")
    capture = analyse(scenario("\n".join(lines)), tmp_path)
    (scale,) = capture.scales
    assert (scale.shift, scale.most) == (6, 6)


def test_nothing_in_flight_tells_nothing_of_the_scale(tmp_path):
    capture = analyse(transfer(1000, 1, rounds=3), tmp_path)
    assert capture.scales == []
    assert main_flow(capture)["window_scale_source"] == "unknown"


def test_a_rewritten_scale_is_contradicted_by_what_was_in_flight(tmp_path):
    # The handshake as captured says 2, a window of 4000; the sender keeps 64,000 bytes in flight all the time.
    capture = analyse(transfer(1000, 64, shift=2), tmp_path)
    (scale,) = capture.scales
    assert (scale.handshake, scale.shift) == (2, 6)
    flow = main_flow(capture)
    assert (flow["window_scale"], flow["window_scale_source"], flow["limit"]) == (6, "inferred", "rwnd")
    assert any("rewritten or stripped" in caveat for caveat in caveats(capture))


def test_a_stripped_scale_is_contradicted_by_what_was_in_flight(tmp_path):
    packets = transfer(1000, 64, extra=",nop")
    (scale,) = analyse(packets, tmp_path).scales
    assert (scale.handshake, scale.shift) == (0, 6)


def test_a_window_kept_contradicts_no_handshake(tmp_path):
    capture = analyse(transfer(1000, 64, shift=6), tmp_path)
    assert capture.scales == []
    assert main_flow(capture)["window_scale_source"] == "negotiated"


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("rwnd_100k_30ms", True),  # the window is full
        ("rwnd_unscaled_60ms", True),
        ("rwnd_slow_reader", True),  # the window closes
        ("link_30_20ms_reno", True),  # losses hold the window's edge
        ("sndbuf_24k_15ms", False),
        ("app_small_writes", False),
    ],
)
@pytest.mark.parametrize("view", ["sender", "middle", "receiver"])
def test_without_its_handshake_a_capture_allows_the_true_scale(name, exact, view, tmp_path):
    path = LAB / name / f"{view}.pcap.zst"
    truth = main_flow(bdpcap.analyze(path))["window_scale"]
    truth = 0 if truth is pd.NA else int(truth)
    capture = analyse([packet for packet in packets_of(path) if not is_syn(packet)], tmp_path)
    found = [one for one in capture.scales if one.stream == main_flow(capture)["stream"]]
    assert [scale.shift for scale in found] == [truth] * exact
    assert all(scale.least <= truth <= scale.most for scale in found)


# What the capture lost


@pytest.mark.parametrize("name", ["rwnd_zero_window", "sndbuf_24k_15ms", "cwnd_loss_2pct"])
def test_what_the_capture_lost_was_not_lost_on_the_way(name, tmp_path):
    whole = packets_of(SAMPLES / f"{name}.sender.pcap.zst")
    before = analyse(whole, tmp_path)
    capture = analyse([p for i, p in enumerate(whole) if is_syn(p) or i % 37], tmp_path)
    after = main_flow(capture)
    # Less, where what the capture lost had itself been sent again.
    assert after["retransmitted_bytes"] <= main_flow(before)["retransmitted_bytes"]
    assert capture.scales == []
    assert capture.info.missed_bytes > 0
    rounds = capture.flow(int(after["stream"])).rtts
    marked = rounds["evidence"].str.contains("The capture lost part of the round's data.", regex=False)
    assert marked.any()
    assert rounds.loc[marked, "confidence"].max() < 0.9
    assert rounds["retransmits"].sum() <= before.flow(int(after["stream"])).rtts["retransmits"].sum()


@pytest.mark.parametrize(("length", "limit"), [(4, "rwnd"), (40, "unknown")])
def test_what_the_capture_lost_most_of_is_bridged_where_it_is_short(length, limit, tmp_path):
    # A full window before and after; the data of some RTTs of 20 ms in between did not reach the file.
    packets = transfer(1000, 64, shift=6, rounds=60)
    begin_ns = packets[0].time_ns + 200_000_000
    lost = range(begin_ns, begin_ns + length * 20_000_000)
    kept = [p for p in packets if not (tcp_of(p).sport == SERVER.port and p.time_ns in lost)]
    rounds = analyse(kept, tmp_path).flow(0).rtts
    marked = rounds["evidence"].str.contains("The capture (?:lost part|lacks most) of")
    assert marked.sum() > 0.9 * length  # a round lasts 64 times 10 microseconds more than the RTT
    assert set(rounds.loc[marked, "limit"]) == {limit}
    assert rounds.loc[marked, "confidence"].max() < 0.5
    assert set(rounds.loc[~marked, "limit"][1:]) <= {"rwnd", limit}


def test_time_that_ran_backwards_is_marked(tmp_path):
    packets = transfer(1000, 64, shift=6)
    packets[400] = replace(packets[400], time_ns=packets[399].time_ns - 10_000)
    rounds = analyse(packets, tmp_path).flow(0).rtts
    marked = rounds["evidence"].str.contains("Time ran backwards in the round.", regex=False)
    assert marked.sum() == 1
    assert rounds.loc[marked, "confidence"].item() <= 0.8


@pytest.mark.parametrize(("back_ns", "doubtful"), [(400_000, False), (5_000_000, True)])
def test_steps_back_that_are_short_for_the_round_trip_are_no_doubt(back_ns, doubtful, tmp_path):
    packets = transfer(1000, 64, shift=6)
    for at in range(100, len(packets), 40):
        packets[at] = replace(packets[at], time_ns=packets[at - 1].time_ns - back_ns)
    capture = analyse(packets, tmp_path)
    said = f"by {units.duration(back_ns)} at most."
    assert any(said in sentence for sentence in caveats(capture))
    assert any(said in sentence for sentence in doubts(capture)) == doubtful


def test_data_without_acknowledgments_decide_nothing(tmp_path):
    packets = [p for p in transfer(1000, 64, shift=6) if tcp_of(p).sport == SERVER.port]
    capture = analyse(packets, tmp_path)
    flow = main_flow(capture)
    assert (flow["limit"], flow["unknown_share"]) == ("unknown", 1.0)
    assert capture.info.data_only == 1
    assert flow["payload_bytes"] == 12 * 64 * MSS
    assert flow["retransmitted_bytes"] == 0


def test_acknowledgments_without_data_are_counted_as_such(tmp_path):
    packets = [p for p in transfer(1000, 64, shift=6) if tcp_of(p).sport == CLIENT.port]
    capture = analyse(packets, tmp_path)
    assert capture.flows.empty
    assert capture.info.acknowledgments_only == 1


@pytest.mark.parametrize(("second", "pairs"), [((7, 9), 1), ((7, 10), 0), ((8, 9), 0)])
def test_two_ways_with_other_addresses_are_one_connection_by_both_sequence_numbers(second, pairs, tmp_path):
    text = f"""{HANDSHAKE}
    +.001 > P. 1:101(100)   ack 1 win 502
    +.020 < P. 1:1001(1000) ack 101 win 512
    +.001 > . 101:101(0)    ack 1001 win 502
    """
    way = [p for p in scenario(text, isn=(7, 9)) if tcp_of(p).dport == SERVER.port]
    outside = scenario(text, isn=second, client=Address("203.0.113.9", 5072))
    back = [p for p in outside if tcp_of(p).sport == SERVER.port]
    capture = analyse(sorted(way + back, key=lambda packet: packet.time_ns), tmp_path)
    codes = {flaw.code: flaw.count for flaw in capture.quality}
    assert codes.get("halves", 0) == pairs
    assert codes.get("no-data", 0) == codes.get("no-acknowledgments", 0) == (0 if pairs else 2)
    assert not any("Window scale" in doubt for doubt in trust.doubts(capture))
    assert (capture.flow(0).verdict.startswith("Half of a connection: Stream 1 is its other way")) == bool(
        pairs
    )


def test_streams_of_a_program_that_makes_packets_are_not_two_ways_of_a_connection(tmp_path):
    # Both ask a server, and no acknowledgment number ever moves: nothing relates them but the number 0.
    clients = [Address("192.0.2.9", 56033), Address("192.0.2.12", 49193)]
    servers = [Address("203.0.113.10", 21), Address("203.0.113.20", 443)]
    packets = [
        tcp_packet(start + index * 1_000_000, client, server, seq=100 * index, payload_bytes=100)
        for start, client, server in zip((0, 10_000_000), clients, servers, strict=True)
        for index in range(3)
    ]
    codes = {flaw.code: flaw.count for flaw in analyse(packets, tmp_path).quality}
    assert "halves" not in codes
    assert codes["no-acknowledgments"] == 2


def test_most_fractions_beyond_a_second_leave_no_time_to_judge(tmp_path):
    packets = transfer(1000, 64, shift=6)
    whole = bytearray(pcap(packets))
    at = 24
    for number, packet in enumerate(packets):
        if number % 3 < 2:
            whole[at + 4 : at + 8] = struct.pack("<I", 3_018_506_000)
        at += 16 + len(packet.data)
    path = tmp_path / "invalid.pcap"
    path.write_bytes(whole)
    capture = bdpcap.analyze(path)
    invalid = sum(1 for number in range(len(packets)) if number % 3 < 2)
    flaw = next(flaw for flaw in capture.quality if flaw.code == "no-time")
    assert (flaw.count, flaw.grave) == (invalid, True)
    assert f"No valid time in {invalid} frames of {len(packets)}" in doubts(capture)[0]
    assert (capture.flows["end_ns"] == capture.flows["start_ns"]).all()


@pytest.mark.parametrize(("share", "told"), [(0.002, False), (0.02, True)])
def test_flows_that_cannot_be_judged_are_doubts_where_they_carried_a_hundredth(share, told, tmp_path):
    packets = transfer(1000, 64, shift=6)
    left = int(share * 12 * 64 * MSS)
    other = Address("192.0.2.77", 40077)
    packets += [
        tcp_packet(packets[-1].time_ns, SERVER, other, seq=1 + first, payload_bytes=min(MSS, left - first))
        for first in range(0, left, MSS)
    ]
    doubts = trust.doubts(analyse(packets, tmp_path))
    assert any(one.startswith("Without an acknowledgment of the receiver: 1 flow.") for one in doubts) == told


# Where it was captured


def unfinished(packet):
    """The packet as its host captures it before the adapter makes the checksum."""
    ethernet = dpkt.ethernet.Ethernet(packet.data)
    ip = ethernet.data
    length = ip.len - 20
    total = sum(struct.unpack(">4H", ip.src + ip.dst)) + dpkt.ip.IP_PROTO_TCP + length
    at = 14 + 20 + 16
    checksum = (total & 0xFFFF) + (total >> 16)
    return replace(packet, data=packet.data[:at] + checksum.to_bytes(2) + packet.data[at + 2 :])


def captured_at(packets, port):
    """As captured on the host that has this port."""
    return [unfinished(packet) if tcp_of(packet).sport == port else packet for packet in packets]


def test_unfinished_checksums_tell_the_host(tmp_path):
    flow = analyse(captured_at(transfer(1000, 4, shift=6), CLIENT.port), tmp_path).flow(0)
    assert "on the receiving host (unfinished checksums)" in flow.vantage_evidence


@pytest.mark.parametrize(
    ("types", "ttl", "said"),
    [
        ({True: 4, False: 0}, 64, "captured on 192.0.2.1."),
        ({True: 0, False: 4}, 64, "captured on 198.51.100.2."),
        ({True: 3, False: 3}, 64, "captured between the ends."),
        ({True: 0, False: 0}, 64, "captured between the ends."),  # a tool that writes no types
        ({True: 4, False: 4}, 63, "captured between the ends."),  # a router's way out
    ],
)
def test_the_packet_types_of_a_cooked_capture_name_the_host(types, ttl, said):
    # The delays alone place it in the middle.
    dialogue = f"""
    0     > S  0:0(0) win 64240 ttl {ttl} <mss 1460>
    +.010 < S. 0:0(0) ack 1 win 65535 ttl {ttl} <mss 1460>
    +.010 > .  1:1(0) ack 1 win 64240 ttl {ttl}
    +0    > P. 1:201(200) ack 1 win 64240 ttl {ttl}
    +.010 < .  1:1(0) ack 201 win 65535 ttl {ttl}
    """
    client = CLIENT.packed
    packets = [cooked(one, types[one.data[26:30] == client]) for one in scenario(dialogue)]
    capture = bdpcap.analyze(io.BytesIO(pcap(packets, link_type=LINUX_SLL)))
    assert said in trust.line(capture)
    hidden = bdpcap.analyze(io.BytesIO(pcap(packets, link_type=LINUX_SLL)), pseudonyms=bdpcap.Pseudonyms())
    assert not any(address.host in str(trust.facts(hidden)) for address in (CLIENT, SERVER))


def test_a_delay_of_the_host_itself_leaves_the_vantage_to_the_delays(tmp_path):
    dialogue = scenario(
        """
        0     > S  0:0(0)       win 60000 <mss 1000,wscale 6>
        +.020 < S. 0:0(0) ack 1 win 60000 <mss 1000,wscale 6>
        +.020 > .  1:1(0) ack 1 win 1000
        +0    > .  1:1001(1000) ack 1 win 1000
        +.020 < .  1:1(0) ack 1001 win 1000
        """
    )
    flow = analyse(captured_at(dialogue, CLIENT.port), tmp_path).flow(0)
    assert flow.summary["vantage"] == "between"
    assert (
        "on the sending host (unfinished checksums), behind 20 ms of delay on that host (a queueing discipline)"
        in flow.vantage_evidence
    )


@pytest.mark.parametrize(
    ("ack_ms", "port", "place"),
    [(0.02, CLIENT.port, "receiver"), (4, CLIENT.port, "between"), (0.02, SERVER.port, "between")],
)
def test_data_show_a_nearer_receiver_than_its_slow_handshake(tmp_path, ack_ms, port, place):
    # The server takes 4 ms to answer a SYN, of 20 ms in all. On its host, an acknowledgment of data may be sooner.
    dialogue = scenario(
        f"""
        0     < S  0:0(0)       win 60000 <mss 1000,wscale 6>
        +.004 > S. 0:0(0) ack 1 win 60000 <mss 1000,wscale 6>
        +.016 < .  1:1(0) ack 1 win 1000
        +.001 < .  1:1001(1000) ack 1 win 1000
        +.001 < .  1001:2001(1000) ack 1 win 1000
        +{ack_ms / 1e3:.6f} > . 1:1(0) ack 2001 win 1000
        +.020 < .  2001:3001(1000) ack 1 win 1000
        +.001 < .  3001:4001(1000) ack 1 win 1000
        +{ack_ms / 1e3:.6f} > . 1:1(0) ack 4001 win 1000
        """
    )
    assert analyse(captured_at(dialogue, port), tmp_path).flow(0).summary["vantage"] == place


def test_both_ends_of_a_loopback_are_one_machine(tmp_path):
    dialogue = scenario(
        f"{HANDSHAKE}+0 > . 1:1001(1000) ack 1 win 502\n+.02 < . 1:1(0) ack 1001 win 502",
        client=Address("127.0.0.1", 40000),
        server=Address("127.0.0.2", 80),
    )
    capture = analyse(dialogue, tmp_path)
    assert trust.line(capture).endswith("captured on 127.0.0.1, the host of both ends.")


MEASURED = """
    0     > S  0:0(0)       win 60000 <mss 1000,wscale 6>
    +.020 < S. 0:0(0) ack 1 win 60000 <mss 1000,wscale 6>
    +.001 > .  1:1(0) ack 1 win 1000
    +0    > .  1:1001(1000) ack 1 win 1000
    +.020 < .  1:1(0) ack 1001 win 1000
"""
"""A transfer captured 1 ms from its sender, of 21 ms there and back."""
LATE = """
    1     < .  1:1001(1000) ack 1 win 1000
    +.040 > .  1:1(0) ack 1001 win 1000 # delayed: RFC 1122 section 4.2.3.2
"""
"""A transfer the other way, of which neither handshake nor timestamps show how far its sender is."""


def together(first, second, *, server=SERVER):
    """Packets of two connections of one client, the second one from another port."""
    return scenario(first) + scenario(second, client=replace(CLIENT, port=40_001), server=server)


def test_flows_between_two_hosts_were_captured_at_one_place(tmp_path):
    capture = analyse(together(MEASURED, LATE), tmp_path)
    assert capture.flows["vantage"].tolist() == ["sender", "receiver"]
    assert capture._contents.paths.of_carriers.tolist() == ["sender", "receiver"]
    assert "placed by other flows between the same hosts" in capture.flow(1).vantage_evidence
    assert "placed by" not in capture.flow(0).vantage_evidence


def test_flows_between_other_hosts_show_nothing_about_a_place(tmp_path):
    other = replace(SERVER, host="198.51.100.3")
    assert analyse(together(MEASURED, LATE, server=other), tmp_path)._contents.paths.of_carriers.tolist() == [
        "sender",
        "unknown",
    ]


def test_a_delayed_acknowledgment_alone_shows_no_place(tmp_path):
    """Each direction shows the delay of one end, and one of the two waited for a timer."""
    request = """
        0     > .  1:101(100) ack 1 win 1000
        +.004 < .  1:1(0) ack 101 win 1000
    """
    assert analyse(together(request, LATE), tmp_path)._contents.paths.of_carriers.tolist() == [
        "unknown",
        "unknown",
    ]


def test_the_least_delays_of_all_flows_count(tmp_path):
    """A queue between tap and sender makes the first of two flows look as if captured between the ends."""
    queued = MEASURED.replace("+.001 >", "+.010 >")
    assert analyse(scenario(queued), tmp_path)._contents.paths.of_carriers.tolist() == ["between"]
    assert analyse(together(queued, MEASURED), tmp_path)._contents.paths.of_carriers.tolist() == [
        "sender",
        "sender",
    ]


def test_two_ends_on_one_host_are_two_ends(tmp_path):
    loopback = Address("127.0.0.1", 80)
    packets = scenario(MEASURED, client=Address("127.0.0.1", 40_000), server=loopback)
    packets += scenario(LATE, client=Address("127.0.0.1", 40_001), server=loopback)
    assert analyse(packets, tmp_path)._contents.paths.of_carriers.tolist() == ["sender", "unknown"]


def test_netem_before_the_tap_is_told_from_the_wire():
    # iperf on one machine of two namespaces; its README says: captured on the sender behind 20 ms of netem.
    flow = bdpcap.analyze(SAMPLES / "linux61_advwinscale2_w50000.pcap.zst").flow(0)
    assert flow.summary["vantage"] == "between"
    assert "on the sending host" in flow.vantage_evidence
    assert "behind 20 ms of delay on that host" in flow.vantage_evidence


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("name", ["cwnd_loss_2pct", "sndbuf_24k_15ms", "app_small_writes", "rwnd_100k_30ms"])
def test_without_its_handshake_a_capture_at_the_receiver_is_judged_the_same(name, tmp_path):
    # Until the first echoes tell where the tap is, its round trips are those to the receiver alone.
    path = LAB / name / "receiver.pcap.zst"
    whole = main_flow(bdpcap.analyze(path))
    cut = main_flow(analyse([packet for packet in packets_of(path) if not is_syn(packet)], tmp_path))
    assert (cut["limit"], cut["vantage"]) == (whole["limit"], "receiver")


def test_near_the_receiver_no_round_ends_before_an_echo_tells_how_far_the_sender_is(tmp_path):
    # Joined in the middle: ten segments every 50 ms, acknowledged at once; each flight echoes the ACKs of the one before.
    lines, at = [], 1
    for flight in range(10):
        for number in range(10):
            wait = "+.0495" if number == 0 and flight else "+.00005"
            stamps = f"TS val {1000 + 50 * flight} ecr {100 + 50 * (flight - 1)}"
            lines.append(f"{wait} > . {at}:{at + 1448}(1448) ack 1 win 502 <{stamps}>")
            lines.append(f"+0 < . 1:1(0) ack {at + 1448} win 9000 <TS val {100 + 50 * flight} ecr 0>")
            at += 1448
    rounds = analyse(scenario("\n".join(lines)), tmp_path).flow(0).rtts
    length_ns = rounds["end_ns"] - rounds["start_ns"]
    # A flight is there at once; until the second comes, nothing tells that it took its sender 50 ms.
    assert length_ns.iloc[:-1].min() >= 45e6
    assert "app" not in set(rounds["limit"])


def test_the_pauses_of_a_program_far_away_are_no_round_trips():
    # Beside the receiver, 20 ms from the sender, which sends two segments every 200 ms.
    lines = [
        "0      > S  0:0(0)       win 64240 <mss 1460,sackOK,TS val 1 ecr 0,wscale 7>",
        "+.0001 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,TS val 1 ecr 1,wscale 7>",
        "+.0200 > .  1:1(0) ack 1 win 502 <TS val 21 ecr 1>",
    ]
    for at in range(40):
        first, tick = 1 + 2896 * at, 200 * (at + 1)
        lines += [
            f"{tick / 1000} > P. {start}:{start + 1448}(1448) ack 1 win 502 <TS val {tick} ecr {tick - 200 or 1}>"
            for start in (first, first + 1448)
        ]
        lines.append(f"+.0001 < . 1:1(0) ack {first + 2896} win 512 <TS val {tick} ecr {tick}>")
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines))))).flow(0)
    assert flow.summary["rtt_median_ns"] == pytest.approx(20.1e6, rel=0.01)


def test_a_handshake_slower_than_the_data_is_no_round_trip():
    # Beside the client. A proxy beside it asks the server before it answers the SYN, and acknowledges data at once.
    lines = [
        "0     > S  0:0(0)       win 64240 <mss 1460>",
        "+.025 < S. 0:0(0) ack 1 win 65535 <mss 1460>",
        "+0    > .  1:1(0) ack 1 win 64240",
    ]
    for at in range(10):
        asked, told = 1 + 100 * at, 1 + 1460 * at
        lines += [
            f"+.010  > P. {asked}:{asked + 100}(100) ack {told} win 64240",
            f"+.0001 < .  {told}:{told}(0) ack {asked + 100} win 65535",
            f"+.010  < P. {told}:{told + 1460}(1460) ack {asked + 100} win 65535",
            f"+.0001 > .  {asked + 100}:{asked + 100}(0) ack {told + 1460} win 64240",
        ]
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines)))))
    assert (capture.flows["rtt_median_ns"] < 1e6).all()


@pytest.mark.usefixtures("need_shared")
def test_no_round_vanishes_where_the_path_stalls_and_the_senders_clock_is_coarse():
    # The bottleneck stalls for 200 ms at times, and how late a packet came is known to a tick: rounds are as long.
    (path,) = (SHARED / "captures" / "public" / "m-lab__etl").glob("*5B9EA.pcap.gz")
    capture = bdpcap.analyze(path)
    rounds = capture.flow(0, main_flow(capture)["sender"]).rtts
    acked = rounds[(rounds["acked_bytes"] > 0) & (rounds["round"] > 0)]
    assert len(acked) > 500
    assert acked["throughput_bps"].notna().all()


@pytest.mark.parametrize(
    ("delay_ns", "said"),
    [(158_000, "next to 192.168.1.3"), (20_000_000, "on 192.168.1.3, behind 20 ms of delay on it")],
)
def test_work_of_a_host_is_no_delay_on_it(delay_ns, said, monkeypatch):
    capture = bdpcap.analyze(ROOT / "sample_captures/linux61_advwinscale2_w50000.pcap.zst")
    monkeypatch.setattr(place.vantage, "behind", lambda _sides, _direction: ("sender", delay_ns))
    assert place._delayed(capture) == said


def test_a_delay_on_the_capturing_host_names_that_host():
    # netem delayed what left 192.168.1.3 by 20 ms, and the tap saw packets behind it (sample_captures/README.md).
    line = trust.line(bdpcap.analyze(ROOT / "sample_captures/linux61_advwinscale2_w50000.pcap.zst"))
    assert line.endswith("; captured on 192.168.1.3, behind 20 ms of delay on it.")
    # Without unfinished checksums, nothing shows the host.
    line = trust.line(bdpcap.analyze(ROOT / "sample_captures/cwnd_loss_2pct.middle.pcap.zst"))
    assert line.endswith("; captured between the ends.")


@pytest.mark.parametrize(
    ("lowered", "second", "pairs"),
    [((63, 54), (7, 9), 1), ((63, 52), (7, 9), 0), ((64, 53), (7, 9), 0), ((63, 54), (7, 10), 0)],
)
def test_a_connection_on_both_sides_of_a_nat_counts_once(lowered, second, pairs, tmp_path):
    def side(ttls, isn, **ends):
        text = f"""{HANDSHAKE}
        +.001 > P. 1:101(100)   ack 1 win 502
        +.020 < P. 1:1001(1000) ack 101 win 512
        +.001 > . 101:101(0)    ack 1001 win 502
        """
        lines = [
            re.sub(r"win \d+", rf"\g<0> ttl {ttls['<' in line.split()[1]]}", line)
            for line in text.splitlines()
            if line.strip()
        ]
        return scenario("\n".join(lines), isn=isn, **ends)

    packets = side((64, 53), (7, 9)) + side(lowered, second, client=Address("203.0.113.9", 5072))
    capture = analyse(sorted(packets, key=lambda packet: packet.time_ns), tmp_path)
    codes = {flaw.code: flaw.count for flaw in capture.quality}
    assert codes.get("both-sides", 0) == pairs
    assert headline.summary(capture, ranking.groups(capture)).startswith(
        "2 flows carried 1.10 kB" if pairs else "4 flows carried 2.20 kB"
    )
    assert any("(streams 0 and 1)" in doubt for doubt in trust.doubts(capture)) == bool(pairs)
    # Sum, entries and the rest leave out the same stream.
    shown = ranking.groups(capture)
    assert {stream for group in shown for stream in group.flows["stream"]} == ({0} if pairs else {0, 1})
    assert headline.rest(capture, shown) == ""


@pytest.mark.parametrize(("skipped", "pairs"), [(0, 1), (1, 0)])
def test_both_syns_relate_two_ways_of_which_neither_acknowledges_data(skipped, pairs, tmp_path):
    way = [p for p in scenario(HANDSHAKE, isn=(7, 9)) if tcp_of(p).dport == SERVER.port][skipped:]
    outside = scenario(HANDSHAKE, isn=(7, 9), client=Address("203.0.113.9", 5072))
    back = [p for p in outside if tcp_of(p).sport == SERVER.port]
    capture = analyse(sorted(way + back, key=lambda packet: packet.time_ns), tmp_path)
    assert len(capture._contents.halves) == 2 * pairs


def placed(to_server_s, to_client_s, number, acknowledged_s=None):
    """A connection of hosts of its own: the round trips from the capture to its server and to its client."""
    near = 1 + number % 4 if (to_server_s, to_client_s) == NEAR_CLIENT else 100 + number
    client, server = Address(f"192.0.2.{near}", 40_000 + number), Address(f"198.51.100.{number}", 80)
    return connection(client, server, number, to_server_s, to_client_s, acknowledged_s)


def connection(client, server, number, to_server_s, to_client_s, acknowledged_s=None, ttls=(64, 64)):
    """A connection that begins after a number of seconds, with round trips to its server and to its client."""
    own, its = (f"ttl {ttl}" for ttl in ttls)
    text = f"""
    {number} > S 0:0(0) win 64240 {own} <mss 1460>
    +{to_server_s} < S. 0:0(0) ack 1 win 65535 {its} <mss 1460>
    +{to_client_s} > . 1:1(0) ack 1 win 502 {own}
    +.001 > P. 1:101(100) ack 1 win 502 {own}
    +{acknowledged_s or to_server_s} < . 1:1(0) ack 101 win 500 {its}
    """
    return scenario(text, client=client, server=server)


NEAR_CLIENT, BETWEEN_BOTH, SHORT = (".02", ".0001"), (".01", ".01"), (".00004", ".00008", ".00001")


@pytest.mark.parametrize(
    ("client", "partial", "said"),
    [
        (CLIENT.host, True, "captured next to 192.0.2.1."),
        (CLIENT.host, False, "captured 1 router from 192.0.2.1."),
        ("2001:db8::1", False, "captured near 2001:db8::1."),
    ],
)
def test_unfinished_checksums_outrank_the_hop_limit(client, partial, said, tmp_path):
    # The client begins with a hop limit of 63: in IPv6, its router may have set that.
    dialogue = """
    0      > S 0:0(0) win 64240 ttl 63 <mss 1460>
    +.02   < S. 0:0(0) ack 1 win 65535 ttl 50 <mss 1460>
    +.0001 > . 1:1(0) ack 1 win 502 ttl 63
    +.001  > P. 1:101(100) ack 1 win 502 ttl 63
    +.02   < . 1:1(0) ack 101 win 500 ttl 50
    """
    server = Address("2001:db8::2", 80) if ":" in client else SERVER
    packets = scenario(dialogue, client=Address(client, CLIENT.port), server=server)
    own = captured_at(packets, CLIENT.port) if partial else packets
    assert trust.line(analyse(own, tmp_path)).endswith(said)


@pytest.mark.parametrize(
    ("partial", "said"),
    [
        ([CLIENT.port], "captured on 192.0.2.1."),
        ([CLIENT.port, SERVER.port], "captured inside one machine, which runs both ends."),
        ([], "captured next to 198.51.100.2."),
    ],
)
def test_a_nat_that_answers_at_once_is_not_where_checksums_are_unfinished(partial, said, tmp_path):
    # The server's acknowledgments come at once, and the client's answers late.
    packets = connection(CLIENT, SERVER, 0, ".0001", ".02")
    for port in partial:
        packets = captured_at(packets, port)
    assert trust.line(analyse(packets, tmp_path)).endswith(said)


@pytest.mark.parametrize(
    ("ports", "said"),
    [
        ([CLIENT.port], "captured on 192.0.2.1."),
        ([CLIENT.port, SERVER.port], "captured inside one machine, which runs both ends."),
        ([], "place of capture unknown."),
    ],
)
def test_unfinished_checksums_show_the_host_where_delays_are_too_short(ports, said, tmp_path):
    packets = scenario("""
    0       > S 0:0(0) win 64240 <mss 1460>
    +.00002 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +.00002 > . 1:1(0) ack 1 win 502
    +.001   > P. 1:101(100) ack 1 win 502
    +.00002 < . 1:1(0) ack 101 win 500
    """)
    for port in ports:
        packets = captured_at(packets, port)
    assert trust.line(analyse(packets, tmp_path)).endswith(said)


def padded(packet):
    """As an adapter pads the frame when it sends it (IEEE 802.3 section 4A.4.2)."""
    missing = max(60 - packet.wire_length, 0)
    return replace(packet, data=packet.data + bytes(missing), wire_length=packet.wire_length + missing)


@pytest.mark.parametrize(
    ("ports", "client_ttl", "said"),
    [
        ([SERVER.port], 64, "captured next to 192.0.2.1."),
        ([CLIENT.port], 64, "captured next to 198.51.100.2."),
        # A router removes the padding, and lowers the TTL.
        ([SERVER.port], 63, "captured between the ends."),
        ([SERVER.port, CLIENT.port], 64, "captured between the ends."),
        ([], 64, "captured between the ends."),
    ],
)
def test_unpadded_frames_show_the_host_next_to_the_capture(ports, client_ttl, said, tmp_path):
    # Delays alone place the capture halfway.
    packets = scenario(f"""
    0    > S 0:0(0) win 64240 ttl {client_ttl} <mss 1460>
    +.01 < S. 0:0(0) ack 1 win 65535 ttl 64 <mss 1460>
    +.01 > . 1:1(0) ack 1 win 502 ttl {client_ttl}
    +.01 > P. 1:101(100) ack 1 win 502 ttl {client_ttl}
    +.01 < . 1:1(0) ack 101 win 500 ttl 64
    """)
    sent = [padded(packet) if tcp_of(packet).sport in ports else packet for packet in packets]
    assert trust.line(analyse(sent, tmp_path)).endswith(said)


@pytest.mark.parametrize(
    ("client_ttl", "server_ttl", "said"),
    [
        (64, 48, "captured next to 192.0.2.1."),
        (243, 128, "captured next to 198.51.100.2."),
        # Two hosts of one link: it may be next to either.
        (64, 128, "place of capture unknown."),
        (63, 48, "place of capture unknown."),
        # No path has 34 routers: the device begins with a TTL of its own, maybe on the same link.
        (128, 30, "place of capture unknown."),
    ],
)
def test_hop_limits_show_the_host_where_delays_show_one_side(client_ttl, server_ttl, said, tmp_path):
    """Each router lowers the TTL (RFC 1812 section 5.3.1), so packets with an initial one passed none."""
    packets = scenario(f"""
    0      < P. 1:1001(1000) ack 1 win 500 ttl {server_ttl}
    +.0001 > . 1:1(0) ack 1001 win 502 ttl {client_ttl}
    +1     < P. 1001:2001(1000) ack 1 win 500 ttl {server_ttl}
    +.0001 > . 1:1(0) ack 2001 win 502 ttl {client_ttl}
    """)
    assert trust.line(analyse(packets, tmp_path)).endswith(said)


OWN, OTHER = "192.0.2.1", "192.0.2.9"
IPV6, IPV6_PEER = "2001:db8::1", "2001:db8:1::80"


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        # A host captures its loopback wherever its other connections go.
        ([(OWN, "198.51.100.1", NEAR_CLIENT), ("127.0.0.1", "127.0.0.1", SHORT)], "next to 192.0.2.1."),
        ([(OWN, "198.51.100.1", NEAR_CLIENT), *[("::1", "::1", SHORT)] * 2], "next to 192.0.2.1."),
        ([("127.0.0.1", "127.0.0.2", BETWEEN_BOTH)], "on 127.0.0.1, the host of both ends."),
        (
            [(OWN, OTHER, SHORT), *[("127.0.0.1", "127.0.0.1", SHORT)] * 2],
            "on 127.0.0.1, the host of both ends (2 of 3 connections).",
        ),
        # Packets from an address to itself leave no host.
        ([(OWN, OWN, SHORT)], "on 192.0.2.1, the host of both ends."),
        (
            [(OWN, OTHER, SHORT), (OWN, OWN, SHORT), ("127.0.0.1", "127.0.0.1", SHORT)],
            "on 192.0.2.1.",
        ),
        (
            [("192.0.2.8", OTHER, SHORT), (OWN, OWN, SHORT), ("127.0.0.1", "127.0.0.1", SHORT)],
            "on 192.0.2.1.",
        ),
        # One host has an address of each family.
        (
            [(OWN, "198.51.100.1", NEAR_CLIENT), (IPV6, IPV6_PEER, NEAR_CLIENT)],
            "next to 192.0.2.1 and 2001:db8::1.",
        ),
        (
            [(OWN, "198.51.100.1", NEAR_CLIENT), *[(IPV6, IPV6_PEER, NEAR_CLIENT)] * 2, (OWN, OTHER, SHORT)],
            "next to 2001:db8::1 and 192.0.2.1.",
        ),
        (
            [(OWN, "198.51.100.1", NEAR_CLIENT), (OTHER, "198.51.100.1", NEAR_CLIENT)],
            "next to 192.0.2.1 (1), 192.0.2.9 (1).",
        ),
        # A round trip as short as delays of hosts shows no second address.
        (
            [*[(OWN, "198.51.100.1", NEAR_CLIENT)] * 2, (IPV6, IPV6_PEER, (".00008", ".00002", ".00008"))],
            "next to 192.0.2.1 (2 of 3 connections).",
        ),
        # Unless it is the one of its family that speaks with several peers.
        (
            [
                *[(OWN, "198.51.100.1", NEAR_CLIENT)] * 3,
                (IPV6, IPV6_PEER, (".00008", ".00002", ".00008")),
                (IPV6, "2001:db8:1::81", (".00008", ".00002", ".00008")),
            ],
            "next to 192.0.2.1 and 2001:db8::1.",
        ),
    ],
)
def test_the_connections_of_one_host_are_captured_at_one_place(ends, said, tmp_path):
    packets = [
        packet
        for number, (client, server, how) in enumerate(ends)
        for packet in connection(Address(client, 40_000 + number), Address(server, 80), number, *how)
    ]
    assert trust.line(analyse(packets, tmp_path)).endswith(f"; captured {said}")


def test_a_hop_limit_that_a_router_set_hides_no_host(tmp_path):
    """A telephone that shares its access may set one less (RFC 4861 section 4.2)."""
    packets = [
        packet
        for number, (client, server, ttl) in enumerate([(IPV6, IPV6_PEER, 254), (OWN, "198.51.100.1", 128)])
        for packet in connection(
            Address(client, 40_000), Address(server, 80), number, *NEAR_CLIENT, ttls=(ttl, 50)
        )
    ]
    said = trust.line(analyse(packets, tmp_path))
    assert said.endswith("; captured next to 2001:db8::1 and 192.0.2.1.")


def test_connections_between_machines_of_one_host_are_captured_on_it(tmp_path):
    """No adapter completes the checksums between containers, so delays of their queues show no path."""
    packets = [*placed(".02", ".0001", 0), *placed(".02", ".0001", 1), *placed(".01", ".01", 2)]
    for port in (80, 40_000, 40_001):
        packets = captured_at(packets, port)
    assert trust.line(analyse(packets, tmp_path)).endswith(
        "; captured inside one machine, which runs both ends."
    )


@pytest.mark.parametrize(
    ("connections", "said"),
    [
        ([NEAR_CLIENT], "captured next to 192.0.2.1."),
        ([BETWEEN_BOTH, BETWEEN_BOTH], "captured between the ends."),
        # What shows no place contradicts none.
        (
            [BETWEEN_BOTH, BETWEEN_BOTH, (".00001", ".00001")],
            "captured between the ends (2 of 3 connections).",
        ),
        # The hosts take longer than the path.
        ([NEAR_CLIENT, SHORT, SHORT], "captured next to 192.0.2.1 (1 of 3 connections)."),
        # Two of three places are at a host that has two of five connections.
        (
            [NEAR_CLIENT, BETWEEN_BOTH, SHORT, SHORT, NEAR_CLIENT],
            "captured next to 192.0.2.1 (2) and elsewhere (1).",
        ),
        ([NEAR_CLIENT, BETWEEN_BOTH, SHORT, SHORT], "place of capture unknown."),
        (
            [NEAR_CLIENT, NEAR_CLIENT, NEAR_CLIENT],
            "captured next to 192.0.2.1 (1), 192.0.2.2 (1), 192.0.2.3 (1).",
        ),
        (
            [NEAR_CLIENT, NEAR_CLIENT, NEAR_CLIENT, BETWEEN_BOTH],
            "captured next to 192.0.2.1 (1), 192.0.2.2 (1), 192.0.2.3 (1) and elsewhere (1).",
        ),
        ([NEAR_CLIENT, BETWEEN_BOTH], "captured next to 192.0.2.1 (1) and elsewhere (1)."),
        ([NEAR_CLIENT, BETWEEN_BOTH, BETWEEN_BOTH], "captured mostly between the ends."),
        # Four hosts are near, so it is next to none of them alone.
        (
            [*[NEAR_CLIENT] * 4, SHORT, SHORT, SHORT, SHORT],
            "captured at a place that several hosts share, such as a router or a mirror port.",
        ),
    ],
)
def test_the_place_of_a_capture_is_that_of_the_connections_that_show_one(connections, said, tmp_path):
    packets = [
        packet for number, how in enumerate(connections) for packet in placed(*how[:2], number, *how[2:])
    ]
    assert trust.line(analyse(packets, tmp_path)).endswith(said)


@pytest.mark.parametrize(
    ("elsewhere", "shift"),
    [
        ([8, 8, 8], 8),
        # Two may be of one program, which sets its buffer.
        ([8, 8], 6),
        ([8, 8, 8, 7], 6),
        # The packets allow at most 9.
        ([10, 10, 10], 6),
    ],
)
def test_the_one_scale_of_a_host_outranks_a_flight_that_seems_to_fill_a_window(elsewhere, shift):
    """A system has one scale (tcp_select_initial_window() of Linux), but where a program sets its own buffer."""
    direction = {
        "scale_min": 6,
        "scale_max": 9,
        "scale_reached": 1,
        "window_scale_source": UNKNOWN,
        "window_scale": 0,
        "stream": 5,
        "first_frame": 1,
        "direction": 0,
        "sender": "198.51.100.2:443",
        "receiver": "192.0.2.1:40000",
    }
    (found,) = choose([direction], {"192.0.2.1": Counter(elsewhere)})
    assert found.shift == shift
