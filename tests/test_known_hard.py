"""What TCP implementations and captures do at the edges of the protocol, each as a dialogue of a few packets."""

from __future__ import annotations

import io
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packets import Address, Packet, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap.report import connections

URGENT, URGENT_POINTER_AT = 32, 14 + 20 + 18
FLAGS_AT = 14 + 20 + 13


def analyzed(*dialogues, **how):
    packets = [packet for dialogue in dialogues for packet in scenario(dialogue, **how)]
    return of(packets)


def of(packets):
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def kinds(capture, stream=0):
    """Frame and kind of every segment that does more than acknowledge."""
    events = capture._contents.events.of(stream)
    sent = events[events["sequence"].notna()]
    return dict(zip(sent["frame"], sent["kind"], strict=True))


def changed(packet, at, data):
    return replace(packet, data=packet.data[:at] + data + packet.data[at + len(data) :])


EXCHANGE = (
    HANDSHAKE
    + """
    +.001 > .  1:1461(1460)    ack 1 win 502
    +0    > .  1461:2921(1460) ack 1 win 502
    +.020 < .  1:1(0)    ack 2921 win 500
    +.001 < P. 1:201(200)      ack 2921 win 500
    +0    > .  2921:2921(0)    ack 201 win 502
"""
)


@given(st.integers(-3100, 100))
def test_sequence_numbers_that_wrap_at_any_offset(before):
    """RFC 9293 section 3.4: arithmetic is modulo 2**32."""
    wrapped = analyzed(EXCHANGE, isn=((1 << 32) + before & 0xFFFFFFFF, (1 << 32) + before // 16 & 0xFFFFFFFF))
    plain = analyzed(EXCHANGE)
    columns = [name for name in plain.events if name != "time_ns"]
    assert wrapped.events[columns].equals(plain.events[columns])


def test_ports_used_again_within_a_second():
    capture = analyzed(
        HANDSHAKE
        + "+.1 > F. 1:1(0) ack 1 win 502\n+.02 < F. 1:1(0) ack 2 win 500\n+0 > . 2:2(0) ack 2 win 502",
    )
    again = scenario(EXCHANGE, isn=(77, 99))
    first = scenario(HANDSHAKE)
    later = [replace(packet, time_ns=packet.time_ns + 500_000_000) for packet in again]
    both = of([*first, *later])
    assert (capture.info.streams, both.info.streams) == (1, 2)
    assert both.flow(1).summary["payload_bytes"] == 2920


def test_a_reset_that_carries_data():
    """RFC 9293 section 3.5.2 allows a text that says why; it is no payload of the flow."""
    capture = analyzed(EXCHANGE + "+.1 < R. 201:231(30) ack 2921 win 0")
    assert kinds(capture)[9] == "rst"
    assert capture.connections["ended"][0] == "rst"
    assert capture.connections["server_bytes"][0] == 200


def test_a_half_closed_connection_goes_on_the_other_way():
    capture = analyzed(
        HANDSHAKE
        + """
    +.001 > F. 1:1(0) ack 1 win 502
    +.020 < .  1:1461(1460) ack 2 win 500
    +0    > .  2:2(0) ack 1461 win 502
    +.5   < .  1461:2921(1460) ack 2 win 500
    +0    > .  2:2(0) ack 2921 win 502
    """
    )
    assert capture.connections["ended"][0] == "half-closed"
    assert capture.flow(0).summary["payload_bytes"] == 2920


def test_a_window_that_shrinks_takes_no_promise_back():
    """RFC 9293 section 3.8.6: what was granted may be on its way; the sender's edge stays."""
    capture = analyzed(
        HANDSHAKE
        + """
    +.001 > . 1:1461(1460)    ack 1 win 502
    +.020 < . 1:1(0) ack 1461 win 10000
    +.001 < . 1:1(0) ack 1461 win 100
    +.001 > . 1461:2921(1460) ack 1 win 502
    +.020 < . 1:1(0) ack 2921 win 10000
    """
    )
    # 400 bytes are advertised; the segment is within the 40,000 of before, and nothing contradicts the scale.
    assert list(capture.events["window_bytes"].dropna())[-2:] == [400, 40_000]
    assert capture.scales == []


def test_zero_window_probes_with_and_without_data_are_the_receivers_time():
    """RFC 9293 section 3.8.6.1: the wait between probe and answer is the receiver's, not the application's."""
    lines = HANDSHAKE + "+.001 > . 1:1461(1460) ack 1 win 502\n+.020 < . 1:1(0) ack 1461 win 0\n"
    for number in range(4):
        probe = "1461:1462(1)" if number % 2 else "1460:1460(0)"
        lines += f"+{0.2 * 2**number:.3f} > . {probe} ack 1 win 502\n+.020 < . 1:1(0) ack 1461 win 0\n"
    lines += """
    +.5    < . 1:1(0) ack 1461 win 10000
    +.0001 > . 1461:2921(1460) ack 1 win 502
    +.020  < . 1:1(0) ack 2921 win 10000
    """
    capture = analyzed(lines)
    probes = [frame for frame, kind in kinds(capture).items() if kind == "zero-window probe"]
    assert probes == [6, 8, 10, 12]
    flow = capture.flow(0)
    assert flow.summary["limit"] == "rwnd"
    assert flow.summary["app_share"] < 0.05  # the handshake's share: 20 ms of 3.6 s
    assert flow.summary["payload_bytes"] == 2920


def test_a_keep_alive_with_a_byte_of_garbage_is_no_data():
    """RFC 9293 section 3.8.4."""
    capture = analyzed(
        EXCHANGE + "+60 > . 2920:2921(1) ack 201 win 502\n+.02 < . 201:201(0) ack 2921 win 500"
    )
    assert kinds(capture)[9] == "keep-alive"
    summary = capture.flow(0).summary
    assert (summary["payload_bytes"], summary["retransmitted_bytes"]) == (2920, 0)


def test_an_urgent_pointer_changes_nothing():
    packets = scenario(EXCHANGE)
    urgent = changed(packets[3], FLAGS_AT, bytes([packets[3].data[FLAGS_AT] | URGENT]))
    urgent = changed(urgent, URGENT_POINTER_AT, struct.pack(">H", 100))
    assert of([*packets[:3], urgent, *packets[4:]]).flows.equals(of(packets).flows)


def test_data_in_the_syn():
    """RFC 7413: the SYN with a cookie carries a request, and its acknowledgment covers both."""
    capture = analyzed(
        """
    0     > S  0:500(500) win 64240 <mss 1460,sackOK,wscale 7,FO 0011223344556677>
    +.020 < S. 0:0(0) ack 501 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  501:501(0) ack 1 win 502
    +.001 < P. 1:301(300) ack 501 win 500
    """
    )
    assert kinds(capture)[1] == "syn"
    assert capture.flow(0, "192.0.2.1:40000").summary["payload_bytes"] == 500
    assert capture.flow(0).summary["retransmits"] == 0


def test_congestion_that_is_echoed_is_counted_and_not_lost():
    """RFC 3168 section 6.1: ECE and CWR in the SYNs agree on it; later ECE echoes a mark."""
    capture = analyzed(
        """
    0     > SEW 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S.E 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  1:1(0) ack 1 win 502
    +.001 > .  1:1461(1460) ack 1 win 502
    +.020 < .E 1:1(0) ack 1461 win 500
    +0    > .W 1461:2921(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 2921 win 500
    """
    )
    flow = capture.flow(0)
    assert flow.summary["retransmits"] == 0
    assert int(capture._contents.verdicts.gathered[0].rounds.congestion_echoes.sum()) == 1


def test_a_multipath_subflow_is_told():
    """RFC 8684: options of kind 30."""
    subflow = bytes([30, 12, 0x10, 0]) + bytes(8)
    packets = scenario(EXCHANGE)
    both = [*(with_option(syn, subflow) for syn in packets[:2]), *packets[2:]]
    assert of(both).info.multipath == 1
    # A server that does not answer with it speaks plain TCP.
    assert of([both[0], *packets[1:]]).info.multipath == 0


def test_a_refused_subflow_of_multipath_tcp_is_no_service_that_is_down():
    """RFC 8684 section 3.2: a host resets a subflow of a connection that it does not know any more."""
    subflow = bytes([30, 12, 0x10, 0]) + bytes(8)
    packets = scenario(EXCHANGE)
    refused = scenario(
        "9 > S 0:0(0) win 64240 <mss 1460>\n+.02 < R. 0:0(0) ack 1 win 0", client=Address(CLIENT.host, 50_000)
    )
    plain, multipath = (
        connections.sentences(of(whole))
        for whole in (
            [*packets, *refused],
            [*(with_option(syn, subflow) for syn in packets[:2]), *packets[2:], *refused],
        )
    )
    assert "Multipath TCP" not in plain[0]
    assert "was refused. These hosts use Multipath TCP: it may be a further path" in multipath[0]


def with_option(packet, option):
    ip, tcp = bytearray(packet.data[14:34]), bytearray(packet.data[34:])
    tcp[12] += len(option) // 4 << 4
    ip[2:4] = struct.pack(">H", len(ip) + len(tcp) + len(option))
    data = packet.data[:14] + bytes(ip) + bytes(tcp) + option
    return Packet(packet.time_ns, data, len(data))


def test_a_syn_ack_that_the_capture_lost():
    packets = scenario(EXCHANGE)
    capture = of([packets[0], *packets[2:]])
    assert capture.connections["handshake"][0] == "not captured"
    summary = capture.flow(0).summary
    assert (summary["payload_bytes"], summary["retransmits"]) == (2920, 0)
    assert capture.flow(0, str(SERVER)).summary["payload_bytes"] == 200


STAMPED = """
    0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7,TS val {a} ecr 0>
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2,TS val 9 ecr {a}>
    +0    > .  1:1(0) ack 1 win 502 <TS val {b} ecr 9>
    +.010 > .  1:1449(1448) ack 1 win 502 <TS val {c} ecr 9>
    +.020 < .  1:1(0) ack 1449 win 500 <TS val 50 ecr {c}>
    +.005 > .  1449:2897(1448) ack 1 win 502 <TS val {d} ecr 50>
    +.020 < .  1:1(0) ack 2897 win 500 <TS val 75 ecr {d}>
"""


@pytest.mark.parametrize("before", range(0, 60, 5))
def test_a_timestamp_clock_that_wraps(before):
    """RFC 7323 section 5.2: times are compared modulo 2**32."""
    capture, plain = (
        analyzed(
            STAMPED.format(
                **{name: (start + at) % 2**32 for name, at in zip("abcd", (0, 20, 30, 55), strict=True)}
            )
        )
        for start in (2**32 - before, 1000)
    )
    assert capture.flows.equals(plain.flows)
    assert capture.rtts.equals(plain.rtts)


def test_a_segment_older_than_its_clock_allows_is_no_new_data():
    """PAWS, RFC 7323 section 5: an old duplicate whose sequence numbers were sent already."""
    capture = analyzed(
        STAMPED.format(a=1000, b=1020, c=1030, d=1055)
        + "+.5 > . 1:1449(1448) ack 1 win 502 <TS val 900 ecr 9>\n+.02 < . 1:1(0) ack 2897 win 500 <TS val 600 ecr 1055>"
    )
    assert capture.flow(0).summary["payload_bytes"] == 2896
    assert kinds(capture)[8] == "retransmission"


@pytest.mark.parametrize("stated", [0, None], ids=["length 0", "length as sent"])
@pytest.mark.parametrize("length", [8948, 64_240])
def test_segments_larger_than_any_packet(length, stated):
    """Offload hands over what is cut or put together elsewhere; beyond 64 KiB, or before, IP's length may be 0."""
    packets = scenario(
        HANDSHAKE
        + f"""
    +.001 > . 1:{1 + length}({length}) ack 1 win 502
    +.020 < . 1:1(0) ack {1 + length} win 60000
    """
    )
    if stated is not None:
        packets[3] = changed(packets[3], 14 + 2, bytes(2))
    flow = of(packets).flow(0)
    assert flow.summary["payload_bytes"] == length
    assert (flow.summary["retransmits"], flow.summary["in_flight_max_bytes"]) == (0, length)


def test_a_duplicate_that_is_reported_was_sent_in_vain():
    """D-SACK, RFC 2883."""
    capture = analyzed(
        HANDSHAKE
        + """
    +.001 > . 1:1461(1460) ack 1 win 502
    +.300 > . 1:1461(1460) ack 1 win 502
    +.001 < . 1:1(0) ack 1461 win 500
    +.019 < . 1:1(0) ack 1461 win 500 <sack 1:1461>
    """
    )
    summary = capture.flow(0).summary
    assert (summary["retransmits"], summary["spurious_retransmits"]) == (1, 1)
    assert summary["payload_bytes"] == 1460


def test_a_receiver_that_discards_what_it_reported():
    """RFC 2018 section 8 allows it: the sender sends all of it again, and each byte counts once."""
    capture = analyzed(
        HANDSHAKE
        + """
    +.001 > . 1:1461(1460)    ack 1 win 502
    +0    > . 1461:2921(1460) ack 1 win 502
    +.020 < . 1:1(0) ack 1 win 500 <sack 1461:2921>
    +.300 > . 1:1461(1460)    ack 1 win 502
    +.020 < . 1:1(0) ack 1461 win 500
    +.300 > . 1461:2921(1460) ack 1 win 502
    +.020 < . 1:1(0) ack 2921 win 500
    """
    )
    summary = capture.flow(0).summary
    assert (summary["payload_bytes"], summary["retransmitted_bytes"]) == (2920, 2920)
    assert (capture.events["in_flight_bytes"].dropna() >= 0).all()
