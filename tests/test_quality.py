"""Captures that mislead: packets held twice, out of order or not at all are recognised, and nothing false follows."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from observe import observe
from oracles import ROOT
from packets import Address, pcap, read_pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain import place
from bdpcap.explain.findings import Code
from bdpcap.explain.trust import caveats, doubts, facts, line
from bdpcap.read.flaws import DECLARED
from bdpcap.read.quality import flaws
from bdpcap.read.seen import ReceivedTwice, Seen
from bdpcap.report import connections, no_flows, screen
from bdpcap.words import units

SAMPLES = ROOT / "sample_captures"
TTL = 14 + 8
"""Where an Ethernet frame holds the time to live of IPv4."""
SAME = (
    "packets",
    "payload_bytes",
    "retransmitted_bytes",
    "retransmits",
    "timeouts",
    "reordered",
    "window_max_bytes",
    "in_flight_max_bytes",
    "rtt_min_ns",
    "rtt_median_ns",
    "vantage",
    "limit",
    "confidence",
)


def packets_of(path):
    with path.open("rb") as file:
        return read_pcap(zstandard.ZstdDecompressor().stream_reader(file).read())


def analysed(packets):
    return bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))


def routed(packet, hops, later_ns):
    """The packet as it is captured behind so many routers."""
    data = bytearray(packet.data)
    data[TTL] -= hops
    return replace(packet, data=bytes(data), time_ns=packet.time_ns + later_ns)


# Packets that the capture holds several times


@pytest.mark.parametrize("name", ["cwnd_loss_2pct", "rwnd_zero_window", "sndbuf_24k_15ms"])
@pytest.mark.parametrize(
    "copies",
    [
        pytest.param([(0, 40_000)], id="mirrored"),
        pytest.param([(1, 3_000_000)], id="behind a router"),
        pytest.param([(0, 10_000), (1, 200_000), (1, 210_000)], id="four times"),
    ],
)
def test_packets_captured_several_times_change_nothing(name, copies):
    whole = packets_of(SAMPLES / f"{name}.sender.pcap.zst")
    once = analysed(whole).flows
    often = analysed([*whole, *(routed(packet, *copy) for copy in copies for packet in whole)]).flows
    assert [column for column in SAME if not once[column].equals(often[column])] == []
    assert (often["copies"] == len(copies) * once["packets"]).all()


def test_both_sides_of_a_firewall_that_renumbers_are_one_connection():
    # The capture holds the server's packets twice, first with the numbers of the far side.
    near = scenario(f"""{HANDSHAKE}
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < . 1:1001(1000) ack 101 win 500
    +.001 > . 101:101(0) ack 1001 win 502
    """)
    far = [
        packet
        for packet in scenario(
            f"""{HANDSHAKE}
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < . 1:1001(1000) ack 101 win 500
    """,
            isn=(700_000_000, 2_000_000_000),
        )
        if packet not in near
    ]
    far = [replace(packet, time_ns=packet.time_ns - 1000) for packet in (far[1], far[4])]
    flows = analysed([*near, *far]).flows.set_index("sender")
    server = flows.loc[str(SERVER)]
    assert (server["packets"], server["copies"], server["payload_bytes"]) == (2, 2, 1000)
    assert flows["retransmits"].sum() == 0
    assert analysed([*near, *far]).info.missed_bytes == 0


def test_the_same_bytes_in_a_new_packet_behind_a_router_are_no_copy():
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502 id 500
    +.300 > P. 1:1001(1000) ack 1 win 502 id 501
    +.020 < . 1:1(0) ack 1001 win 500
    """
    packets = scenario(dialogue)
    packets[4] = routed(packets[4], 1, 0)
    flow = analysed(packets).flows.iloc[0]
    assert (flow["copies"], flow["retransmits"]) == (0, 1)


@pytest.mark.parametrize(("mirrored", "copies"), [(False, 0), (True, 1)])
def test_two_equal_syn_acks_may_answer_two_syns(mirrored, copies):
    # Linux numbers no SYN-ACK (identification 0). A port mirror that copies them copies the SYN before, too.
    again = "+.00001 > S 0:0(0) win 64240 id 7 <mss 1460>" if mirrored else ""
    capture = analysed(
        scenario(f"""
    0      > S 0:0(0) win 64240 id 7 <mss 1460>
    {again}
    +1     > S 0:0(0) win 64240 id 8 <mss 1460>
    +.0001 < S. 0:0(0) ack 1 win 65535 id 0 <mss 1460>
    +.0001 < S. 0:0(0) ack 1 win 65535 id 0 <mss 1460>
    +.0001 > . 1:1(0) ack 1 win 502
    """)
    )
    assert capture.info.copies == 2 * copies


def test_a_packet_captured_whole_and_then_cut_is_one_packet():
    # Two sides of a virtual switch: segmentation offload cuts the packet between them.
    dialogue = f"""{HANDSHAKE}
    +.001    > P. 1:3921(3920) ack 1 win 502 id 500
    +.00001  > . 1:1449(1448) ack 1 win 502 id 500
    +.000001 > . 1449:2897(1448) ack 1 win 502 id 501
    +.000001 > P. 2897:3921(1024) ack 1 win 502 id 502
    +.020 < . 1:1(0) ack 3921 win 500
    """
    flow = analysed(scenario(dialogue)).flows.iloc[0]
    assert (flow["packets"], flow["copies"], flow["retransmits"]) == (3, 3, 0)
    assert flow["rtt_min_ns"] == pytest.approx(20_000_000, rel=0.01)


def test_the_rest_of_a_packet_sent_again_is_no_copy():
    # As above, but the identification does not count on from the whole packet: it is another one.
    dialogue = f"""{HANDSHAKE}
    +.001   > P. 1:3921(3920) ack 1 win 502 id 500
    +.00001 > . 1449:2897(1448) ack 1 win 502 id 503
    +.020 < . 1:1(0) ack 3921 win 500
    """
    flow = analysed(scenario(dialogue)).flows.iloc[0]
    assert (flow["copies"], flow["retransmits"]) == (0, 1)


def test_a_frame_that_wifi_sends_again_is_a_copy():
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502 id 500
    +.004 > P. 1:1001(1000) ack 1 win 502 id 500
    +.009 > P. 1:1001(1000) ack 1 win 502 id 500
    +.020 < . 1:1(0) ack 1001 win 500
    """
    flow = analysed(scenario(dialogue)).flows.iloc[0]
    assert (flow["copies"], flow["retransmits"]) == (2, 0)


@pytest.mark.parametrize(
    ("second", "third", "sent", "copies"),
    [
        # A device pads the payload of 33 bytes to 256, and another removes the padding.
        ("1:257(256) ack 1 win 502 id 500", "1:34(33) ack 1 win 502 id 500", 33, 2),
        # A retransmission of 33 bytes with the next 223 has an identification of its own.
        ("1:257(256) ack 1 win 502 id 501", "257:290(33) ack 1 win 502 id 502", 289, 0),
        # As behind offload: the shorter packet is a part of the first.
        ("1:11(10) ack 1 win 502 id 500", "11:34(23) ack 1 win 502 id 501", 33, 0),
    ],
    ids=["padded", "retransmitted with more", "cut"],
)
def test_what_a_device_adds_to_a_payload_is_no_data(second, third, sent, copies):
    capture = analysed(
        scenario(f"""{HANDSHAKE}
    +.001 > P. 1:34(33) ack 1 win 502 id 500
    +.039 > P. {second}
    +.063 > P. {third}
    +.001 < . 1:1(0) ack {sent + 1} win 500
    +25   > P. {sent + 1}:{sent + 34}(33) ack 1 win 502 id 510
    +.060 < . 1:1(0) ack {sent + 34} win 500
    """)
    )
    flow = capture.flow(0).summary
    assert (flow["payload_bytes"], flow["copies"]) == (sent + 33, copies)
    assert flow["longest_stall_ns"] < 1_000_000_000
    found = {flaw.code: (flaw.count, flaw.grave) for flaw in capture.quality}
    assert found.get("payload-changed") == ((1, True) if copies else None)


def test_packets_of_one_identification_that_nothing_answers_are_of_a_program():
    data = "> P. 1:13(12) ack 1 win 502 id 1\n+.04 > P. 1:15(14) ack 1 win 502 id 1"
    capture = analysed(scenario(f"0 {data}"))
    assert "no-acknowledgments" in [flaw.code for flaw in capture.quality]
    assert "payload-changed" not in [flaw.code for flaw in capture.quality]


def test_a_syn_that_a_program_repeats_is_no_copy(tmp_path):
    # Programs that make packets give each the same identification. No packet is under way at a regular beat.
    sent = 8
    path = tmp_path / "repeated.pcap"
    path.write_bytes(pcap(scenario("+.124 > S 0:7(7) win 8192 id 1\n" * sent)))
    capture = bdpcap.analyze(path)
    flow = capture.flows.iloc[0]
    assert (flow["packets"], flow["copies"]) == (sent, 0)
    said = " ".join(report.text(capture).split())
    assert "CONNECTIONS THAT FAILED" in said
    assert "A single packet" not in said


@pytest.mark.parametrize(
    ("answer", "copies"),
    [("", 1), (" <sack 1:1001>", 0), (" <sack 1001:2001>", 1)],
    ids=["once", "D-SACK", "SACK"],
)
def test_a_packet_that_the_receiver_got_twice_is_no_copy(answer, copies):
    # After a stall of the Wi-Fi link, a retransmission comes with the first packet. RFC 2883 reports both.
    dialogue = f"""{HANDSHAKE}
    +.001   > P. 1:1001(1000) ack 1 win 502 id 0
    +.00001 > P. 1:1001(1000) ack 1 win 502 id 0
    +.020 < . 1:1(0) ack 1001 win 500{answer}
    """
    capture = analysed(scenario(dialogue))
    flow = capture.flows.iloc[0]
    assert (flow["copies"], flow["copies"] + flow["packets"]) == (copies, 4)
    # Nothing shows whether the sender or the network doubled it.
    assert capture.info.delivered_twice == 0


@pytest.mark.parametrize(("forwarded", "sent_again"), [("both ways", 2), ("from the client", 1 + 12)])
def test_data_without_an_identification_are_copies_as_far_apart_as_known_ones(forwarded, sent_again):
    # A host between the ends forwards each packet after 5 ms, with its TTL. A phone leaves the identification 0.
    data = "".join(
        f"""
    +.030 > P. {first}:{first + 1000}(1000) ack 1 win 502 id 0
    +.020 < .  1:1(0) ack {first + 1000} win 500 id {number}
    """
        for number, first in enumerate(range(1, 10_001, 1000), 1)
    )
    lost = """
    +.030 > P. 10001:11001(1000) ack 1 win 502 id 0
    +.250 > P. 10001:11001(1000) ack 1 win 502 id 0
    +.020 < .  1:1(0) ack 11001 win 500 id 99
    """
    packets = scenario(f"{HANDSHAKE}{data}{lost}")
    again = [
        replace(packet, time_ns=packet.time_ns + 5_000_000)
        for packet in packets[3:]
        if forwarded == "both ways" or packet.wire_length > 1000
    ]
    flow = analysed([*packets, *again]).flow(0).summary
    # One was sent again, and the first was forwarded before any known copy. Without such a copy, all twelve forwarded
    # packets may have been sent again.
    assert flow["retransmits"] == sent_again


@pytest.mark.parametrize(
    ("hops", "reported", "delivered", "device"),
    [(1, 3, 4, "Find the router"), (0, 2, 4, "Find the switch"), (1, 1, 1, None), (1, 0, 0, None)],
)
def test_copies_that_the_receiver_reports_are_of_the_network(hops, reported, delivered, device):
    # Each of three segments and a bare ACK come twice. RFC 2883: a receiver reports each segment that came twice, but
    # knows nothing of the ACK. Where it reports most segments, the network doubled the ACK, too.
    segments = "".join(
        f"""
    +.010 > P. {first}:{first + 1000}(1000) ack 1 win 502 id {number}
    +.020 < .  1:1(0) ack {first + 1000} win 500
    """
        + (
            f"+.001 < . 1:1(0) ack {first + 1000} win 500 <sack {first}:{first + 1000}>"
            if number <= reported
            else ""
        )
        for number, first in enumerate((1, 1001, 2001), 1)
    )
    packets = scenario(f"{HANDSHAKE}{segments}\n+.010 > . 3001:3001(0) ack 1 win 502 id 4")
    sent = [packet for packet in packets if packet.data[18:20] in {bytes([0, one]) for one in (1, 2, 3, 4)}]
    capture = analysed([*packets, *(routed(packet, hops, 15_000) for packet in sent)])
    assert (capture.info.delivered_twice, capture.info.copies) == (delivered, 4 - delivered)
    said = {flaw.code: flaw.sentence for flaw in capture.quality}
    assert ("copies" in said) == (device is None)
    if device is not None:
        assert f"4 packets reached {SERVER.host} again" in said["delivered-twice"]
        assert device in said["delivered-twice"]


@pytest.mark.parametrize(("hops", "server_ttl", "on_router"), [(1, 64, True), (0, 64, False), (1, 50, False)])
def test_both_sides_of_a_router_are_no_place_next_to_an_end(hops, server_ttl, on_router):
    # 20 ms to the server by the handshake: delays alone place the capture next to the client.
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 500
    """
    packets = [
        routed(packet, 64 - server_ttl if number in (1, 4) else 0, 0)
        for number, packet in enumerate(scenario(dialogue))
    ]
    copies = [routed(packet, hops, 10_000) for packet in packets]
    capture = analysed([*packets, *copies])
    assert ("captured on both sides of a router between the ends" in line(capture)) == on_router
    assert ("next to 192.0.2.1" in line(capture)) != on_router
    assert ("router" in dict(facts(capture))["place of capture"]) == on_router


@pytest.mark.parametrize(("retries", "again"), [(0, 83), (80, 3), (91, 0)])
def test_retries_of_the_wifi_link_were_not_captured_several_times(retries, again):
    info = replace(analysed(scenario(HANDSHAKE)).info, copies=83, wifi_segments=404, wifi_retries=retries)
    found = {flaw.code: flaw.count for flaw in flaws(info, [], {}, [], ReceivedTwice(), changed=[])}
    assert found.get("copies", 0) == again


@pytest.mark.parametrize(("foreign", "missing"), [(-180_000_000, 0), (-50_000, 50_000)])
def test_a_keep_alive_of_a_middlebox_with_foreign_numbers_shows_no_missing_bytes(foreign, missing):
    # The device on the way acknowledges other bytes than the host has sent. The host answers with its own number at once
    # (RFC 9293 section 3.10.7.4) and sends data half a minute later, which its peer acknowledges.
    capture = analysed(
        scenario(f"""
    0       < . 900000000:900000000(0) ack {1 + foreign} win 500
    +.0002  > . 1:1(0) ack 1 win 502
    +30     < . 900000000:900000000(0) ack {1 + foreign} win 500
    +.0002  > . 1:1(0) ack 1 win 502
    +10     > P. 1:101(100) ack 1 win 502
    +.020   < P. 1:201(200) ack 101 win 500
    +.040   > . 101:101(0) ack 201 win 502
    """)
    )
    assert capture.info.missed_bytes == missing
    assert capture.flows["payload_bytes"].tolist() == [100, 200]
    assert missing or capture.flows["in_flight_max_bytes"].tolist() == [100, 200]


def test_a_probe_of_a_middlebox_with_foreign_numbers_acknowledges_nothing():
    # Its numbers are of no byte of the connection, so the host drops it and answers (RFC 9293 section 3.10.7.4).
    capture = analysed(
        scenario("""
    0       < P. 1:54(53) ack 1 win 500
    +.040   > . 1:1(0) ack 54 win 502
    +28     < . 900000000:900000000(0) ack 430000000 win 500
    +.0002  > . 1:1(0) ack 54 win 502
    +1      < P. 54:107(53) ack 1 win 500
    +.040   > P. 1:101(100) ack 107 win 502
    +.020   < . 107:107(0) ack 101 win 500
    """)
    )
    assert capture.info.missed_bytes == 0
    assert capture.flows["payload_bytes"].tolist() == [100, 106]
    assert capture.flows["in_flight_max_bytes"].tolist() == [100, 53]


# Packets that the capture holds in another order


@pytest.mark.parametrize("name", ["rwnd_slow_reader"])
def test_acknowledgments_captured_before_their_data_make_no_hole(name):
    # As two interfaces give it: what the receiver sends overtakes what came a moment before.
    whole = packets_of(SAMPLES / f"{name}.receiver.pcap.zst")
    port = max(whole, key=lambda packet: packet.wire_length).data[34:36]
    moved = [
        packet
        if packet.data[34:36] == port or packet.time_ns == whole[0].time_ns
        else routed(packet, 0, -30_000)
        for packet in whole
    ]
    before, after = analysed(whole), analysed(moved)
    assert after.info.missed_bytes == before.info.missed_bytes == 0
    for column in ("payload_bytes", "retransmitted_bytes", "retransmits", "limit"):
        assert before.flows[column].equals(after.flows[column]), column


def test_what_comes_long_after_its_acknowledgment_was_sent_again():
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 2001 win 500
    +.300 > P. 1001:2001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 2001 win 500
    """
    seen = observe(scenario(dialogue))
    assert [row.kind for row in seen.sent(CLIENT)][-2:] == ["data", "retransmission"]
    assert seen.capture.info.missed_bytes == 1000


# Packets that the capture does not hold


def without(name, kept, folder):
    """A sample of which the capture lost what is not `kept`; read from a file, as scales are inferred from these only."""
    path = folder / "capture.pcap"
    path.write_bytes(pcap([p for at, p in enumerate(packets_of(SAMPLES / name)) if at < 3 or kept(at, p)]))
    return bdpcap.analyze(path)


def is_payload(packet):
    return packet.wire_length > 100


@pytest.mark.parametrize(
    "name", ["cwnd_loss_2pct.sender", "rwnd_zero_window.sender", "rwnd_slow_reader.receiver"]
)
def test_without_the_receivers_acknowledgments_nothing_is_judged(name, tmp_path):
    capture = without(f"{name}.pcap.zst", lambda _, packet: is_payload(packet), tmp_path)
    flow = capture.flow(0)
    assert (flow.summary["limit"], flow.summary["confidence"]) == ("unknown", 0)
    assert capture.scales == []
    assert flow.summary["window_scale_source"] != "inferred"
    assert caveats(capture)[0].startswith(
        "Acknowledgments that the receiver must have sent are missing: 1 flow."
    )
    assert [one.code for one in flow.findings] == [Code.CAPTURE_INCOMPLETE]


@pytest.mark.parametrize("later", [0x3000_0000, -0x3000_0000], ids=["higher numbers", "lower numbers"])
def test_another_connection_without_its_syn_lacks_nothing_in_between(later):
    numbers = [(1_000_000_000, 2_000_000_000), (1_000_000_000 + later, 2_000_000_000 + later)]
    packets = []
    for second, isn in zip((0, 300), numbers, strict=True):
        exchange = f"""
            {second} > P. 1:401(400) ack 1
            +.020    < P. 1:101(100) ack 401
            +.020    > .  401:401(0) ack 101
        """
        packets += scenario(exchange, isn=isn)
    seen = observe(packets)
    assert not any(said.startswith("The capture lacks ") for said in caveats(seen.capture))
    assert seen.capture.flows["payload_bytes"].tolist() == [800, 200]
    assert seen.capture.flows["retransmitted_bytes"].tolist() == [0, 0]


@pytest.mark.parametrize("name", ["cwnd_loss_2pct.sender", "sndbuf_24k_15ms.sender"])
def test_with_half_of_the_packets_nothing_is_sure(name, tmp_path):
    capture = without(f"{name}.pcap.zst", lambda at, _: at % 4 < 2, tmp_path)
    flow = capture.flow(0)
    assert flow.summary["confidence"] < 0.5
    assert capture.scales == []
    assert caveats(capture)[0].startswith("The capture lacks ")
    assert [one.code for one in flow.findings] == [Code.CAPTURE_INCOMPLETE]


def payload_alone(last):
    """A request, its answer of 40 segments within 40 ms, and one more message at `last` seconds."""
    answer = [f"+.001 < . {1 + 1460 * at}:{1461 + 1460 * at}(1460) ack 301" for at in range(40)]
    return observe(
        scenario("\n".join(["0 > P. 1:301(300) ack 1", *answer, f"{last} < P. 58401:58447(46) ack 301"]))
    ).capture


def test_a_silence_without_a_retransmission_is_idle_though_acknowledgments_were_filtered_out():
    capture = payload_alone(120)
    assert capture.flow(0, str(SERVER)).summary["active_ns"] < 10**9
    assert caveats(capture)[0].startswith("No packet without payload was captured. Acknowledgments that ")


def test_who_filtered_on_payload_captures_without_that_filter():
    flow = payload_alone(1).flow(0, str(SERVER))
    assert flow.summary["limit"] == "unknown"
    advice = remedy(flow)
    assert (advice.where, advice.words) == (
        "the capturing machine",
        "Capture again without a filter on payload: it left out every acknowledgment.",
    )


def most_acknowledged(capture):
    """Bytes acknowledged by the throughput of each flow, and of the rounds of each, over the captured payload."""
    flows, rtts = capture.flows, capture.rtts
    lasted = rtts["end_ns"] - rtts["start_ns"]
    carried = (rtts["throughput_bps"].astype(float) * lasted / 8e9).groupby([rtts["stream"], rtts["sender"]])
    by_rounds = carried.sum().reindex(pd.MultiIndex.from_frame(flows[["stream", "sender"]])).to_numpy()
    by_flow = flows["throughput_bps"].astype(float) * (flows["end_ns"] - flows["start_ns"]) / 8e9
    # A SYN and a FIN count as a byte each.
    return [(bytes_ - flows["payload_bytes"]).max() for bytes_ in (by_flow, by_rounds)]


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.pcap.zst")), ids=lambda path: path.name)
def test_what_the_capture_lost_is_no_throughput(sample, tmp_path):
    whole = bdpcap.analyze(sample)
    packets = packets_of(sample)
    span = len(packets) // 5
    for begin in range(span, len(packets) - span, span):  # a fifth of the frames at a time
        capture = without(sample.name, lambda at, _, begin=begin: not begin <= at < begin + span, tmp_path)
        assert max(most_acknowledged(capture)) <= 2 + 1e-3
        assert capture.flows["capacity_low_bps"].max() <= 1.05 * whole.flows["capacity_bps"].max()


BEFORE_THE_GAP = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
"""


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("+.0001 < . 1:1(0) ack 50002001 win 500", id="by number"),
        pytest.param("+.0001 < . 1:1(0) ack 1001 win 500 <sack 1001:50002001>", id="by SACK"),
    ],
)
def test_an_acknowledgment_of_bytes_in_a_gap_shows_no_rate(after):
    dialogue = f"""{BEFORE_THE_GAP}
    +9.00 > P. 50001001:50002001(1000) ack 1 win 502 # 50 MB went by meanwhile
    {after}
    """
    rounds, _ = observe(scenario(dialogue)).capture._contents._core.rounds(0, 1)
    assert rounds["delivered_bytes"].sum() == 2000
    assert rounds["acked_bytes"].sum() <= 2000


def test_bytes_in_flight_when_the_capture_begins_are_no_throughput():
    dialogue = """
    0     > P. 50001:51001(1000) ack 1 win 502
    +.010 < .  1:1(0) ack 1001 win 500
    +.001 < .  1:1(0) ack 50001 win 500
    +.009 < .  1:1(0) ack 51001 win 500
    """
    seen = observe(scenario(dialogue))
    assert seen.capture.rtts["acked_bytes"].tolist() == [1000]
    assert seen.capture.info.missed_bytes == 0


def test_a_whole_capture_has_no_grave_flaw():
    capture = bdpcap.analyze(SAMPLES / "cwnd_loss_2pct.sender.pcap.zst")
    assert [flaw.code for flaw in capture.quality] == ["cut"]


def test_every_flaw_is_on_the_page_in_its_order():
    page = (ROOT / "docs/capture-flaws.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    assert [one.code for one in DECLARED] == [code for row in rows for code in re.findall(r"`([\w-]+)`", row)]


# Times


@pytest.mark.parametrize("name", ["cwnd_loss_2pct", "sndbuf_24k_15ms"])
def test_a_clock_of_10_ms_is_told_and_leaves_nothing_sure(name):
    # Round trips are of 15 and 50 ms.
    tick_ns = 10_000_000
    whole = packets_of(SAMPLES / f"{name}.sender.pcap.zst")
    capture = analysed(replace(p, time_ns=p.time_ns // tick_ns * tick_ns) for p in whole)
    (coarse,) = (flaw for flaw in capture.quality if flaw.code == "clock-coarse")
    assert coarse.count == tick_ns
    assert "times at least 10 ms apart" in caveats(capture)[0]
    assert capture.flows["confidence"].max() <= 0.8


@pytest.mark.parametrize(
    ("ttl", "trip_s", "batches"),
    [(58, 0.0002, True), (59, 0.0002, False), (58, 0.0003, False), (200, 0.0002, False), (64, 0.0002, False)],
)
def test_an_answer_of_a_far_host_at_once_has_the_time_of_a_batch(ttl, trip_s, batches):
    """A round trip of 0.5 ms is too short for six routers: light passes 50 km of fibre and back in this time."""
    lines = [
        HANDSHAKE.replace(
            "+.020 < S. 0:0(0) ack 1 win 65535", f"+{trip_s} < S. 0:0(0) ack 1 win 65535 ttl {ttl}"
        )
    ]
    for at in range(1, 1001, 100):
        lines += [
            f"+.1 > P. {at}:{at + 100}(100) ack {at} win 502",
            f"+{trip_s} < P. {at}:{at + 100}(100) ack {at + 100} win 500 ttl {ttl}",
            f"+{trip_s} > . {at + 100}:{at + 100}(0) ack {at + 100} win 502",
        ]
    capture = analysed(scenario("\n".join(lines)))
    assert ("times-of-batches" in [flaw.code for flaw in capture.quality]) == batches
    assert any("Packets came to the capture in batches" in doubt for doubt in doubts(capture)) == batches
    # TTLs show the host that captured; delays of batches show nothing.
    assert place.captured(capture) == f"captured next to {CLIENT.host}" or not batches


@pytest.mark.parametrize(("again", "batches"), [(False, True), (True, True), (False, False)])
def test_batches_open_no_connection_late(again, batches):
    """One batch a second has all packets of that second: a SYN that came again still shows one without an answer."""
    first = "0 > S 0:0(0) win 64240 <mss 1460,sackOK>\n" if again else ""
    late = (
        f"{first}1 > S 0:0(0) win 64240 <mss 1460,sackOK>\n"
        "2.1 < S. 0:0(0) ack 1 win 65535 ttl 58 <mss 1460,sackOK>\n+.0001 > . 1:1(0) ack 1 win 502"
    )
    trip_s = 0.0002 if batches else 0.02
    asked = "+.1 > P. 1:101(100) ack 1 win 502"
    answered = f"+{trip_s} < P. 1:101(100) ack 101 win 500 ttl 58\n+{trip_s} > . 101:101(0) ack 101 win 502"
    beside = HANDSHAKE.replace(
        "+.020 < S. 0:0(0) ack 1 win 65535", f"+{trip_s} < S. 0:0(0) ack 1 win 65535 ttl 58"
    )
    talks = [f"{opening}\n{asked}\n{answered}" for opening in (beside, late)]
    packets = scenario(talks[0]) + scenario(talks[1], client=Address(CLIENT.host, 40_001))
    capture = analysed(sorted(packets, key=lambda packet: packet.time_ns))
    assert ("times-of-batches" in [flaw.code for flaw in capture.quality]) == batches
    assert len(connections.late(capture)) == (again or not batches)


def test_a_round_without_a_round_trip_is_as_clear_as_that_of_its_path():
    # The round trip takes four ticks of 15.625 ms. Every second answer comes after a delayed acknowledgment.
    tick_ns, lines = 15_625_000, [HANDSHAKE]
    for ask in range(1, 2001, 100):
        late = "" if ask % 200 == 1 else f"+.125 < . {ask}:{ask}(0) ack {ask + 100} win 500"
        lines.append(f"""
    +0    > P. {ask}:{ask + 100}(100) ack {ask} win 502
    {late}
    +{".015625" if late else ".078125"} < P. {ask}:{ask + 100}(100) ack {ask + 100} win 500
    """)
    packets = scenario("\n".join(lines).replace("+.020", "+.0625"))
    capture = analysed(replace(p, time_ns=p.time_ns // tick_ns * tick_ns) for p in packets)
    asking = capture.flow(0, str(CLIENT))
    assert "clock-coarse" in [flaw.code for flaw in capture.quality]
    assert asking.rtts["rtt_ns"].isna().any()
    assert "unknown" not in set(asking.rtts["limit"])


@pytest.mark.parametrize("ticks", [0, 300], ids=["both clocks stood still", "time passed"])
def test_times_that_jump_while_both_timestamp_clocks_stand_still_are_the_files(ticks):
    # Three seconds lie between SYN-ACK and ACK, and three between a flight and its acknowledgment.
    capture = analysed(
        scenario(f"""
    0      > S  0:0(0) win 64240 <mss 1460,sackOK,TS val 700 ecr 0,wscale 7>
    +.001  < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,TS val 900 ecr 700,wscale 7>
    +3     > .  1:1(0) ack 1 win 502 <TS val {700 + ticks} ecr 900>
    +.001  > P. 1:101(100) ack 1 win 502 <TS val {700 + ticks} ecr 900>
    +.001  < .  1:1(0) ack 101 win 500 <TS val {900 + ticks} ecr {700 + ticks}>
    +.001  > P. 101:2101(2000) ack 1 win 502 <TS val {701 + ticks} ecr {900 + ticks}>
    +3     < .  1:1(0) ack 2101 win 500 <TS val {900 + 2 * ticks} ecr {701 + ticks}>
    +.001  > P. 2101:2201(100) ack 1 win 502 <TS val {701 + 2 * ticks} ecr {900 + 2 * ticks}>
    +.001  < .  1:1(0) ack 2201 win 500 <TS val {901 + 2 * ticks} ecr {701 + 2 * ticks}>
    """)
    )
    flow = capture.flow(0)
    assert ("clock-shifted" in [flaw.code for flaw in capture.quality]) == (ticks == 0)
    assert bool(connections.late(capture)) == (ticks > 0)
    assert pd.isna(flow.summary["longest_stall_ns"]) == (ticks == 0)
    assert (flow.summary["active_ns"] < 1_000_000_000) == (ticks == 0)


def test_packets_of_one_time_stamp_ask_for_times_not_for_a_handshake():
    dialogue = scenario(f"{HANDSHAKE}+0 > . 1:1001(1000) ack 1 win 502\n+0 < . 1:1(0) ack 1001 win 502")
    capture = analysed(replace(packet, time_ns=0) for packet in dialogue)
    assert "one-time" in [flaw.code for flaw in capture.quality]
    assert "a separate time stamp for each packet" in remedy(capture[0]).words


@pytest.mark.parametrize(("segments", "missing"), [(9, 0), (24, 1)])
def test_more_than_an_initial_window_in_flight_shows_acknowledgments_that_a_filter_took(segments, missing):
    """A sender has ten segments in flight at first (RFC 6928), and more only once some are acknowledged."""
    asked = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 100 * n} win 502\n"
        f"+.001 < P. {1 + 100 * n}:{101 + 100 * n}(100) ack {101 + 100 * n} win 500\n"
        for n in range(8)
    )
    answer = "".join(
        f"+0 < . {801 + 1460 * n}:{2261 + 1460 * n}(1460) ack 901 win 500\n" for n in range(segments)
    )
    end = 801 + 1460 * segments
    dialogue = (
        f"{asked}+.001 > P. 801:901(100) ack 801 win 502\n{answer}+1 > P. 901:1001(100) ack {end} win 502"
    )
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(dialogue.removeprefix("+")))))
    assert capture.info.unacknowledged == missing
    assert (capture.flow(0, str(SERVER)).summary["limit"] == "unknown") == bool(missing)


def test_times_that_the_file_lacks_are_those_of_its_writer():
    """A fraction of a second of a second or more is no time."""
    packets = scenario(f"{HANDSHAKE}+0 > . 1:1001(1000) ack 1 win 502\n+0 < . 1:1(0) ack 1001 win 502")
    written = bytearray(pcap(packets))
    at = 24
    for packet in packets:
        written[at + 4 : at + 8] = (3_018_506_000).to_bytes(4, "little")
        at += 16 + len(packet.data)
    capture = bdpcap.analyze(io.BytesIO(bytes(written)))
    assert capture.info.without_time == len(packets)
    flow = capture.flow(0)
    assert flow.verdict.startswith("Most packets bear no valid time")
    assert "what wrote this file gave most packets no valid time" in remedy(flow).words


@pytest.mark.parametrize(("later", "asks"), [("+5", False), ("+0", True)])
def test_times_are_asked_for_where_the_stamps_are_equal_not_where_data_took_no_time(later, asks):
    flow = analysed(
        scenario(f"""
        0       > P. 1:1001(1000)    ack 1    win 502
        +0      < .  1:1(0)          ack 1001 win 502
        {later} > .  1001:1001(0)    ack 1    win 502
        """)
    )[0]
    assert flow.summary["active_ns"] == 0
    assert ("a separate time stamp for each packet" in remedy(flow).words) == asks
    assert (remedy(flow).where == "") != asks


@pytest.mark.parametrize(("second", "told"), [(3001, True), (1001, False)], ids=["data missing", "a pause"])
def test_a_gap_longer_than_the_capture_with_data_missing_after_it_is_told(second, told):
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 500
    +9    > P. {second}:{second + 1000}(1000) ack 1 win 502
    +.020 < . 1:1(0) ack {second + 1000} win 500
    """
    capture = analysed(scenario(dialogue))
    found = {flaw.code: flaw.count for flaw in capture.quality}
    assert found.get("stopped", 0) == (9_000_000_000 if told else 0)
    assert any("No frame was captured for 9 s of" in doubt for doubt in doubts(capture)) == told


def test_stray_frames_long_after_a_flow_do_not_hide_its_verdict():
    paced = "+.100 > P. {a}:{b}(1000) ack 1 win 502\n+.020 < . 1:1(0) ack {b} win 500\n"
    whole = "".join(paced.format(a=1 + 1000 * turn, b=1001 + 1000 * turn) for turn in range(100))
    stray = """
    +900 > P. 700001:701001(1000) ack 1 win 502
    +60  < . 1:1(0) ack 900001 win 500
    """
    both = analysed(scenario(f"{HANDSHAKE}{whole}{stray}"))[0]
    alone = analysed(scenario(f"{HANDSHAKE}{whole}"))[0]
    assert (both.summary["limit"], both.verdict.partition(" For another")[0]) == ("app", alone.verdict)
    lost = both.rtts["rule"] == "uncaptured"
    assert set(both.rtts["limit"][lost]) == {"idle"}
    # Of the 972 s, the flow was captured for the first 12.
    assert 10e9 < both.summary["active_ns"] < 15e9


@pytest.mark.parametrize(("wrong", "again"), [((5,), False), ((5, 9, 20), True)])
def test_single_frames_of_another_year_bear_a_wrong_time(wrong, again):
    """A stamp that the kernel misread is wrong on one frame; one such frame may also begin another capture."""
    whole = packets_of(SAMPLES / "cwnd_loss_2pct.sender.pcap.zst")
    years_ns = 10 * units.YEAR_NS
    stamped = [replace(p, time_ns=p.time_ns - years_ns * (at in wrong)) for at, p in enumerate(whole)]
    said = " ".join(doubts(bdpcap.analyze(io.BytesIO(pcap(stamped)))))
    assert ("some frames bear a wrong time" in said) == again
    assert ("captures of different times were merged" in said) != again
    assert "The file was changed" not in said or not again


def test_frames_of_different_years_are_told():
    whole = packets_of(SAMPLES / "cwnd_loss_2pct.sender.pcap.zst")
    half = len(whole) // 2
    merged = [*whole[:half], *(replace(p, time_ns=p.time_ns + 2 * units.YEAR_NS) for p in whole[half:])]
    capture = analysed(merged)
    assert "years-apart" in [flaw.code for flaw in capture.quality]
    assert any(doubt.startswith("The frames lie 2.0 years apart") for doubt in doubts(capture))
    (summary,) = (flow.summary for flow in capture)
    assert summary["active_ns"] < units.YEAR_NS / 1000
    assert pd.isna(summary["longest_stall_ns"])
    assert not any("years" in sentence for sentence in screen.sentences(capture[0]))


@pytest.mark.parametrize("keeps_acks", [False, True])
def test_a_capture_without_pure_acks_shows_no_wait_for_one(keeps_acks):
    # A server answers thirty requests, and closes 1.3 s after it has acknowledged the last.
    asks = "".join(
        f"+.1 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.02 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        f"+0 > . {101 + 100 * n}:{101 + 100 * n}(0) ack {201 + 200 * n} win 502\n"
        for n in range(30)
    )
    packets = scenario(f"{HANDSHAKE}{asks}+1.3 < F. 6001:6001(0) ack 3001 win 500")
    # A filter on payload keeps the FIN that ends a message.
    kept = [packet for packet in packets if keeps_acks or len(packet.data) > 54 or packet.data[47] & 1]
    flow = bdpcap.analyze(io.BytesIO(pcap(kept))).flow(0, str(SERVER))
    assert pd.isna(flow.summary["longest_stall_ns"]) != keeps_acks


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.sampled_from([1, 1_000, 10_000_000]))
def test_the_median_round_trip_is_never_below_the_least(delays_ms, tick_ns):
    # One segment at a time; a handshake's round trip of 20 ms stands before. Captures of coarse clocks told otherwise.
    lines = [
        f"+.01 > . {at * 100 + 1}:{at * 100 + 101}(100) ack 1 win 502\n"
        f"+{delay / 1000:.3f} < . 1:1(0) ack {at * 100 + 101} win 500"
        for at, delay in enumerate(delays_ms)
    ]
    packets = scenario("\n".join([HANDSHAKE, *lines]))
    capture = analysed(replace(p, time_ns=p.time_ns // tick_ns * tick_ns) for p in packets)
    (flow,) = capture.flows.to_dict("records")
    if tick_ns == 1:
        assert flow["rtt_min_ns"] == 1_000_000 * min(20, *delays_ms)
    # A clock that shows no round trip has neither.
    both = pd.Series([flow["rtt_min_ns"], flow["rtt_median_ns"]]).dropna()
    assert both.is_monotonic_increasing
    assert len(both) == 2 or tick_ns > 1_000


# By the RFC


def test_a_second_syn_ack_with_another_number_changes_nothing():
    stray = "+.001 < S. 99000000:99000000(0) ack 1 win 65535 <mss 1460,sackOK,wscale 9>"
    dialogue = f"""{HANDSHAKE}
    {{}}
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < P. 1:1001(1000) ack 101 win 500
    +.001 > .  101:101(0) ack 1001 win 502
    """
    # RFC 9293 section 3.10.7.4: the client answers it with an acknowledgment and goes on.
    plain, seen = (observe(scenario(dialogue.format(line))) for line in ("", stray))
    same = ["window_scale", "window_max_bytes", "in_flight_max_bytes", "payload_bytes", "limit"]
    assert seen.capture.flows[same].equals(plain.capture.flows[same])
    assert seen.capture.info.missed_bytes == 0
    assert [row.kind for row in seen.frame(4)] == ["syn-ack"]


def test_a_syn_that_overtakes_the_fin_of_the_connection_before_begins_a_new_one():
    # Both in one capture, the older FIN after the SYN.
    older = 700_000_000
    dialogue = f"""
    0     > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.001 > F. {older}:{older}(0) ack 1 win 502
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  1:1(0) ack 1 win 502
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < .  1:1(0) ack 101 win 500
    """
    capture = observe(scenario(dialogue)).capture
    flow = capture.flows.iloc[0]
    assert (capture.info.streams, capture.info.missed_bytes) == (1, 0)
    assert (flow["in_flight_max_bytes"], flow["retransmits"]) == (100, 0)
    assert capture.connections["ended"].iloc[0] == "open"


def test_the_window_of_a_reset_is_none():
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < .  1:1(0) ack 101 win 500
    +.001 < R. 1:1(0) ack 101 win 65535
    """
    seen = observe(scenario(dialogue))
    assert seen.capture.flows["window_max_bytes"].iloc[0] == 500 << 2
    reset = [row for row in seen.rows if row.kind == "rst"]
    assert reset
    assert {(row.window_bytes, row.advertised_bytes) for row in reset if row.length is None} <= {(None, None)}


def test_a_keep_alive_with_a_byte_of_garbage_is_no_payload():
    dialogue = f"""{HANDSHAKE}
    +60 > . 0:1(1) ack 1 win 502
    +.020 < . 1:1(0) ack 1 win 500
    +60 > . 0:1(1) ack 1 win 502
    +.020 < . 1:1(0) ack 1 win 500
    """
    seen = observe(scenario(dialogue))
    assert [row.kind for row in seen.sent(CLIENT)][-2:] == ["keep-alive", "keep-alive"]
    assert seen.capture.flows.empty


@pytest.mark.parametrize(
    ("first", "kinds"), [(".", ["keep-alive", "keep-alive"]), ("P.", ["data", "keep-alive"])]
)
def test_a_first_byte_that_ends_no_write_is_a_keep_alive(first, kinds):
    # RFC 9293 section 3.9.1.2: what a program writes ends with PSH.
    dialogue = f"""
    0 > {first} 500:501(1) ack 1 win 502
    +.020 < . 1:1(0) ack 501 win 500
    +60 > . 500:501(1) ack 1 win 502
    +.020 < . 1:1(0) ack 501 win 500
    """
    seen = observe(scenario(dialogue))
    assert [row.kind for row in seen.sent(CLIENT)] == kinds
    assert seen.capture.flows["payload_bytes"].tolist() == [1] * (first == "P.")


def test_the_text_of_a_reset_is_no_payload():
    # RFC 1122 section 4.2.2.12: a reset may carry its reason as text.
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < R. 1:59(58) ack 101 win 0
    """
    seen = observe(scenario(dialogue))
    assert seen.capture.flows["sender"].tolist() == [str(CLIENT)]
    assert [row.kind for row in seen.sent(SERVER)] == ["syn-ack", "rst"]


@pytest.mark.parametrize("probe", ["1000:1001(1)", "1001:1002(1)", "1000:1000(0)"])
def test_zero_window_probes_are_neither_lost_nor_sent_again(probe):
    # The byte below, or the next one; Linux sends none (tcp_xmit_probe_skb).
    dialogue = f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 0
    +.200 > . {probe} ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 0
    +.400 > . {probe} ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 500
    +0    > P. 1001:2001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 2001 win 500
    """
    seen = observe(scenario(dialogue))
    flow = seen.capture.flows.iloc[0]
    assert [row.kind for row in seen.sent(CLIENT)].count("zero-window probe") == 2
    assert (flow["payload_bytes"], flow["retransmits"]) == (2000, 0)
    assert seen.capture.info.missed_bytes == 0


def test_the_way_to_the_receiver_alone_is_no_round_trip_of_the_path():
    # The tap is beside the server. A connection whose handshake and request it missed shows it the last 0.2 ms alone.
    whole = scenario(
        """
        0      > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +.0001 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
        +.030  > .  1:1(0) ack 1 win 502
        +0     > P. 1:1001(1000) ack 1 win 502
        +.0002 < .  1:1(0) ack 1001 win 502
        """
    )
    part = scenario(
        """
        .2     > P. 1:101(100) ack 1 win 502
        +.0002 < .  1:1(0) ack 101 win 502
        +.1    > P. 101:201(100) ack 1 win 502
        +.0002 < .  1:1(0) ack 201 win 502
        """,
        client=replace(CLIENT, port=CLIENT.port + 1),
    )

    def rtt_ns(packets):
        paths = analysed(packets)._contents.paths
        return paths.delays_of(0)[0][0]

    assert rtt_ns([*whole, *part]) == rtt_ns(whole) == pytest.approx(30.2e6, rel=0.01)
    # No other flow shows more.
    assert rtt_ns(part) == pytest.approx(0.2e6, rel=0.01)


def test_what_acknowledgments_show_of_data_elsewhere_is_said_in_bytes():
    # The tap sees one way: a request is captured, and of its answer the acknowledgments alone, up to 150,000 bytes.
    one_way = scenario(
        """
        0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +.020 > .  1:1(0) ack 1 win 502
        +0    > P. 1:101(100) ack 1 win 502
        +.020 > .  101:101(0) ack 100001 win 502
        +.020 > .  101:101(0) ack 150001 win 502
        """
    )
    said = {flaw.code: flaw.sentence for flaw in analysed(one_way)._contents.quality}
    assert "1 flow, 150 kB. Their data went another way" in said["no-data"]


def test_data_that_the_capture_lacks_may_be_in_fragments():
    def fragmented(packet):
        # The flag "more fragments" of IPv4.
        return replace(packet, data=packet.data[:20] + b"\x20\x00" + packet.data[22:])

    packets = scenario(f"{HANDSHAKE}\n+.001 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500")
    capture = analysed([*packets[:3], fragmented(packets[3]), packets[4]])
    said = {flaw.code: flaw.sentence for flaw in capture._contents.quality}
    assert said["no-data"].endswith("Their data may be in 1 IP fragment, which bdpcap does not put together.")
    assert no_flows.sentence(capture) == (
        "The capture holds no payload of 1 connection, though some was acknowledged. There is nothing to judge."
    )
    # Another connection was refused.
    refused = scenario(
        "9 > S 0:0(0) win 64240\n+.02 < R. 0:0(0) ack 1 win 0", client=Address(CLIENT.host, 40_001)
    )
    both = analysed([*packets[:3], fragmented(packets[3]), packets[4], *refused])
    assert "2 connections, though some was acknowledged: 1 opened, 1 refused." in no_flows.sentence(both)
    # Of two segments, one was cut.
    more = scenario(
        f"{HANDSHAKE}\n+.001 > P. 1:101(100) ack 1 win 502\n+.02 > P. 101:201(100) ack 1 win 502\n"
        "+.02 < . 1:1(0) ack 201 win 500"
    )
    capture = analysed([*more[:3], fragmented(more[3]), *more[4:]])
    said = {flaw.code: flaw.sentence for flaw in capture._contents.quality}
    assert said["data-missing"].endswith("(filtered, dropped, or in 1 IP fragment).")


@pytest.mark.parametrize(("data_s", "missing_bytes"), [(0.2, 0), (1.5, 5000)])
def test_bytes_in_flight_as_the_capture_began_are_not_missing(data_s, missing_bytes):
    # Acknowledgments of 3000 bytes precede the first data, whose 2000 predecessors are acknowledged later.
    capture = analysed(
        scenario(f"""
        0      < . 1:1(0) ack 1001 win 500
        +.001  < . 1:1(0) ack 4001 win 500
        {data_s} > . 6001:7001(1000) ack 1 win 502
        +.02   < . 1:1(0) ack 6001 win 500
        +.001  < . 1:1(0) ack 7001 win 500
        """)
    )
    assert capture.info.missed_bytes == missing_bytes
    flow = capture.flow(0, str(CLIENT))
    assert (flow.summary["payload_bytes"], flow._counts["acked_bytes"]) == (1000, 1000)


@pytest.mark.parametrize(("back_s", "grave"), [(2.5, True), (0.001, False)])
def test_a_large_step_of_the_clock_makes_all_times_doubtful(back_s, grave):
    packets = scenario(
        HANDSHAKE
        + "".join(
            f"+.5 > P. {at}:{at + 100}(100) ack 1 win 502\n+.02 < . 1:1(0) ack {at + 100} win 500\n"
            for at in range(1, 2001, 100)
        )
    )
    first = len(packets) // 2
    stepped = [
        replace(packet, time_ns=packet.time_ns - round(back_s * 1e9) * (number >= first))
        for number, packet in enumerate(packets)
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(stepped)))
    said = [doubt for doubt in doubts(capture) if doubt.startswith("Time runs backwards")]
    assert bool(said) == grave


@pytest.mark.parametrize(("missed_bytes", "grave"), [(0, False), (1460, True)])
def test_drops_are_grave_only_if_acknowledged_data_are_missing(missed_bytes, grave):
    # A dropped packet of TCP data that arrived is acknowledged, so the capture lacks acknowledged data.
    info = SimpleNamespace(capture_drops=900, frames=100, missed_bytes=missed_bytes)
    (dropped,) = (one for one in DECLARED if one.code == "dropped")
    assert dropped.is_grave(Seen(info, {}, {}, 10_000)) == grave
