"""Connection tracking, one behaviour a test.

Every expected value follows from the dialogue above it and the RFC named; `>` is CLIENT, `<` is SERVER. The
tap is beside the client: the server's answers come 20 ms after what they answer.
"""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from observe import observe
from packets import Address
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

GIB = 2**30


def kinds(rows):
    return [row.kind for row in rows]


# Parts of connections


def test_a_stream_joined_in_the_middle_counts_from_its_first_byte():
    # As Wireshark: the first segment's first byte is 1, and so is the first byte the peer still has to send.
    seen = observe(
        scenario("""
        0     > P. 5001:6001(1000) ack 9001 win 500
        +.020 < .  9001:9001(0)    ack 6001 win 600
        +0    > P. 6001:7001(1000) ack 9001 win 500
        """)
    )
    assert [row.sequence for row in seen.sent(CLIENT)] == [1, 1001]
    assert seen.acks(CLIENT)[0].acknowledged == 1001
    assert [row.advertised_bytes for row in seen.rows] == [None] * 3
    assert seen.sent(CLIENT)[-1].tap_in_flight_bytes == 1000


def test_bytes_of_before_the_start_have_negative_numbers():
    seen = observe(
        scenario("""
        0     > P. 5001:6001(1000) ack 9001 win 500
        +.001 > P. 4001:5001(1000) ack 9001 win 500
        """)
    )
    assert [row.sequence for row in seen.sent(CLIENT)] == [1, -999]


def test_data_without_its_acknowledgments_is_data_all_the_same():
    seen = observe(
        scenario("""
        0     > . 1:1001(1000)    ack 1 win 500
        +.001 > . 1001:2001(1000) ack 1 win 500
        +.001 > . 2001:3001(1000) ack 1 win 500
        """)
    )
    assert kinds(seen.sent(CLIENT)) == ["data"] * 3
    assert [row.window_bytes for row in seen.sent(CLIENT)] == [None] * 3


def test_acknowledgments_without_their_data_still_say_how_far_it_came():
    seen = observe(
        scenario("""
        0     < . 1:1(0) ack 1001 win 600
        +.001 < . 1:1(0) ack 3001 win 600
        +.001 < . 1:1(0) ack 5001 win 600
        """)
    )
    assert [row.acknowledged for row in seen.acks(CLIENT)] == [1, 2001, 4001]
    assert kinds(seen.acks(CLIENT)) == ["ack"] * 3
    assert [row.in_flight_bytes for row in seen.acks(CLIENT)] == [0] * 3
    assert [row.rtt_ns for row in seen.acks(CLIENT)] == [None] * 3


# Closing


def test_a_reset_is_named_and_its_acknowledgment_number_moves_nothing():
    # RFC 9293 section 3.5.2: a reset may carry any acknowledgment number.
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > P. 1:1001(1000) ack 1 win 502
        +.020 < R. 1:1(0) ack 1001 win 0
        """
        )
    )
    assert kinds(seen.sent(SERVER)) == ["syn-ack", "rst"]
    assert kinds(seen.acks(CLIENT))[-1] == "rst"


def test_a_fin_occupies_a_number_and_may_be_sent_again():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > P. 1:101(100) ack 1 win 502
        +0    > F. 101:101(0) ack 1 win 502
        +.5   > F. 101:101(0) ack 1 win 502
        +.020 < .  1:1(0) ack 102 win 1000
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[1:] == ["data", "fin", "retransmission"]
    assert [row.tap_in_flight_bytes for row in seen.sent(CLIENT)][1:] == [100, 101, 101]
    assert seen.acks(CLIENT)[-1].in_flight_bytes == 0


# Sequence space, RFC 9293 section 3.4


@pytest.mark.parametrize("isn", [0, 2**31 - 50, 2**32 - 1, 2**32 - 50, 2**32 - 150])
def test_numbers_go_on_over_the_wrap(isn):
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > P. 1:101(100)   ack 1 win 502
        +0    > P. 101:201(100) ack 1 win 502
        +.020 < .  1:1(0) ack 201 win 1000
        """,
            isn=(isn, isn),
        )
    )
    assert [row.sequence for row in seen.sent(CLIENT)] == [0, 1, 101]
    assert [row.tap_in_flight_bytes for row in seen.sent(CLIENT)][1:] == [100, 200]
    assert seen.acks(CLIENT)[-1].acknowledged == 201


def test_numbers_go_on_over_several_wraps():
    # 13 GiB in steps of 1 GiB, of which the capture holds the last 1000 bytes each.
    steps = "".join(
        f"""
        +.001 > P. {n * GIB - 1000}:{n * GIB}(1000) ack 1 win 502
        +.020 < .  1:1(0) ack {n * GIB} win 1000
        """
        for n in range(1, 14)
    )
    seen = observe(scenario(HANDSHAKE + steps, isn=(4_000_000_000, 1)))
    assert [row.sequence for row in seen.sent(CLIENT)][1:] == [n * GIB - 1000 for n in range(1, 14)]
    assert [row.acknowledged for row in seen.acks(CLIENT)][-13:] == [n * GIB for n in range(1, 14)]


def test_more_than_four_gib_of_payload_adds_up():
    length, count = 65_000, 67_000
    opening = scenario(HANDSHAKE, isn=(2**32 - 1000, 0))
    (template,) = scenario(f"1 > . 1:{length + 1}({length}) ack 1 win 502", isn=(2**32 - 1000, 0))
    packets = list(opening)
    for n in range(count):
        data = bytearray(template.data)
        struct.pack_into(">I", data, 14 + 20 + 4, (2**32 - 1000 + 1 + n * length) % 2**32)
        struct.pack_into(">H", data, 14 + 4, (n + 200) % 2**16)
        packets.append(replace(template, time_ns=template.time_ns + n * 1_000, data=bytes(data)))
    seen = observe(packets)
    last = seen.sent(CLIENT)[-1]
    assert (last.kind, last.sequence) == ("data", 1 + (count - 1) * length)
    assert seen.capture.flows.payload_bytes.tolist() == [count * length]
    assert count * length > 2**32


# What does not count as data


@pytest.mark.parametrize("octets", [0, 1])
def test_a_keep_alive_sends_nothing_and_measures_nothing(octets):
    # RFC 9293 section 3.8.4: SEG.SEQ = SND.NXT-1, with or without one garbage octet.
    seen = observe(
        scenario(
            HANDSHAKE
            + f"""
        +0    > P. 1:101(100) ack 1 win 502
        +.020 < .  1:1(0) ack 101 win 1000
        +60   > .  100:{100 + octets}({octets}) ack 1 win 502
        +.020 < .  1:1(0) ack 101 win 1000
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[-1] == "keep-alive"
    assert seen.sent(CLIENT)[-1].tap_in_flight_bytes == 0
    assert seen.acks(CLIENT)[-1].kind == "keep-alive ack"
    assert seen.acks(CLIENT)[-1].rtt_ns is None


ZERO_WINDOW = (
    HANDSHAKE
    + """
        +0    > P. 1:101(100) ack 1 win 502
        +.020 < .  1:1(0) ack 101 win 0
"""
)


@pytest.mark.parametrize(
    "probe",
    [
        pytest.param("101:102(1)", id="one new octet, RFC 9293 section 3.8.6.1"),
        pytest.param("100:100(0)", id="an empty old segment, as Linux sends"),
    ],
)
def test_a_zero_window_probe_that_is_refused_is_not_in_flight(probe):
    seen = observe(
        scenario(
            ZERO_WINDOW
            + f"""
        +1    > .  {probe} ack 1 win 502
        +.020 < .  1:1(0) ack 101 win 0
        +1    < .  1:1(0) ack 101 win 1000
        +0    > P. 101:1101(1000) ack 1 win 502
        """
        )
    )
    _, _, probe_row, data = seen.sent(CLIENT)
    assert (probe_row.kind, probe_row.window_bytes, probe_row.tap_in_flight_bytes) == (
        "zero-window probe",
        0,
        0,
    )
    assert kinds(seen.acks(CLIENT))[-3:] == ["zero window", "zero window", "window update"]
    assert (data.kind, data.tap_in_flight_bytes) == ("data", 1000)


def test_a_zero_window_probe_that_is_accepted_is_acknowledged():
    seen = observe(
        scenario(
            ZERO_WINDOW
            + """
        +1    > .  101:102(1) ack 1 win 502
        +.020 < .  1:1(0) ack 102 win 1000
        +0    > P. 102:1102(1000) ack 1 win 502
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[-2:] == ["zero-window probe", "data"]
    assert seen.directions[0].unseen_bytes == 0  # the octet passed the tap
    assert seen.acks(CLIENT)[-1].acknowledged == 102
    assert seen.sent(CLIENT)[-1].tap_in_flight_bytes == 1000


# Acknowledgments

OUTSTANDING = (
    HANDSHAKE
    + """
        +0    > .  1:1001(1000)    ack 1 win 502
        +0    > .  1001:2001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 1001 win 1000
"""
)


@pytest.mark.parametrize(
    ("segment", "kind"),
    [
        pytest.param("ack 2001 win 1000", "ack", id="something new"),
        pytest.param(
            "ack 1001 win 1000", "duplicate ack", id="nothing new, data outstanding, RFC 5681 section 2"
        ),
        pytest.param("ack 1001 win 2000", "window update", id="nothing new but the window"),
        pytest.param(
            "ack 1001 win 2000 <sack 1501:2001>", "duplicate ack", id="a SACK block, whatever the window"
        ),
        pytest.param("ack 1001 win 0", "zero window", id="the window closed"),
    ],
)
def test_kinds_of_acknowledgments(segment, kind):
    seen = observe(scenario(OUTSTANDING + f"+.001 < . 1:1(0) {segment}"))
    assert seen.acks(CLIENT)[-1].kind == kind


def test_with_nothing_outstanding_an_acknowledgment_repeats_nothing():
    # RFC 5681 section 2 (a): a duplicate ACK needs outstanding data.
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > .  1:1001(1000)    ack 1 win 502
        +.020 < .  1:1(0) ack 1001 win 1000
        +.001 < .  1:1(0) ack 1001 win 1000
        """
        )
    )
    assert kinds(seen.acks(CLIENT))[-2:] == ["ack", "ack"]


def test_data_with_a_repeated_acknowledgment_is_no_duplicate_ack():
    # RFC 5681 section 2 (b): a duplicate ACK carries no data.
    seen = observe(scenario(OUTSTANDING + "+.001 < P. 1:101(100) ack 1001 win 1000"))
    assert seen.acks(CLIENT)[-1].kind == "ack"


def test_an_overtaken_acknowledgment_does_not_bring_an_old_window_back():
    # RFC 9293 section 3.10.7.4: an old ACK does not update SND.WND.
    seen = observe(
        scenario(
            OUTSTANDING
            + """
        +.001 < . 1:1(0) ack 2001 win 3000
        +.001 < . 1:1(0) ack 1001 win 1000
        +0    > . 2001:3001(1000) ack 1 win 502
        """
        )
    )
    last = seen.sent(CLIENT)[-1]
    assert (last.acknowledged, last.window_bytes, last.tap_in_flight_bytes) == (2001, 12_000, 1000)


# SACK, RFC 2018, 2883, 6675

SIX_SENT = HANDSHAKE + "".join(
    f"+0 > . {1 + n * 1000}:{1001 + n * 1000}(1000) ack 1 win 502\n" for n in range(6)
)


def test_pipe_leaves_out_what_sack_reports():
    seen = observe(scenario(SIX_SENT + "+.020 < . 1:1(0) ack 1001 win 10000 <sack 2001:3001>"))
    last = seen.acks(CLIENT)[-1]
    assert (last.in_flight_bytes, last.pipe_bytes) == (5000, 4000)


def test_pipe_leaves_out_what_is_presumed_lost_until_it_is_sent_again():
    # RFC 6675: more than 3 segments (of MSS 1460) are SACKed above the first, so it is lost.
    seen = observe(
        scenario(
            SIX_SENT
            + """
        +.020 < . 1:1(0) ack 1 win 10000 <sack 1001:6001>
        +0    > . 1:1001(1000) ack 1 win 502
        """
        )
    )
    assert (seen.acks(CLIENT)[-1].in_flight_bytes, seen.acks(CLIENT)[-1].pipe_bytes) == (6000, 0)
    assert (seen.sent(CLIENT)[-1].in_flight_bytes, seen.sent(CLIENT)[-1].pipe_bytes) == (6000, 1000)


@pytest.mark.parametrize(
    ("blocks", "pipe_bytes"),
    [
        pytest.param("1:1001", 4000, id="below the acknowledgment, RFC 2883 section 4.1"),
        pytest.param("3001:4001 3001:5001", 2000, id="inside the second block, RFC 2883 section 4.2"),
    ],
)
def test_a_duplicate_sack_reports_nothing_delivered(blocks, pipe_bytes):
    seen = observe(scenario(SIX_SENT + f"+.020 < . 1:1(0) ack 2001 win 10000 <sack {blocks}>"))
    last = seen.acks(CLIENT)[-1]
    assert (last.in_flight_bytes, last.pipe_bytes) == (4000, pipe_bytes)


# Sent again, overtaken, or captured twice


def test_bytes_seen_before_are_a_retransmission():
    seen = observe(scenario(OUTSTANDING + "+.3 > . 1001:2001(1000) ack 1 win 502"))
    assert seen.sent(CLIENT)[-1].kind == "retransmission"
    assert seen.sent(CLIENT)[-1].tap_in_flight_bytes == 1000


def test_a_late_packet_with_an_earlier_identification_was_overtaken():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0     > . 1:1001(1000)    ack 1 win 502 id 501
        +.0001 > . 2001:3001(1000) ack 1 win 502 id 503
        +.0001 > . 1001:2001(1000) ack 1 win 502 id 502
        +.0001 > . 3001:4001(1000) ack 1 win 502 id 504
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[1:] == ["data", "data", "reordered", "data"]


def test_a_late_packet_with_a_later_identification_replaces_one_lost_before_the_tap():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0     > . 1:1001(1000)    ack 1 win 502 id 501
        +.0001 > . 2001:3001(1000) ack 1 win 502 id 503
        +.0400 > . 1001:2001(1000) ack 1 win 502 id 504
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[1:] == ["data", "data", "retransmission"]


@pytest.mark.parametrize(("clock", "kind"), [(100, "reordered"), (140, "retransmission")])
def test_without_identification_the_timestamp_clock_tells(clock, kind):
    # RFC 7323 section 3: a retransmission carries the clock of when it was sent.
    text = f"""
        0      > S  0:0(0)       win 64240 <mss 1460,wscale 7,TS val 50 ecr 0>
        +.020  < S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 2,TS val 9 ecr 50>
        +0     > . 1:1001(1000)    ack 1 win 502 <TS val 100 ecr 9>
        +.0001 > . 2001:3001(1000) ack 1 win 502 <TS val 101 ecr 9>
        +.0050 > . 1001:2001(1000) ack 1 win 502 <TS val {clock} ecr 9>
    """
    client, server = Address("2001:db8::1", 40000), Address("2001:db8::2", 80)
    seen = observe(scenario(text, client=client, server=server))
    assert seen.sent(client)[-1].kind == kind


@pytest.mark.parametrize("clock", [100, 101])
def test_a_device_that_numbers_overtaken_packets_anew_makes_no_loss(clock):
    """The data of one tick, or of an earlier one, left before any report of a loss came back, 20 ms later."""
    text = f"""
        0      > S  0:0(0)       win 64240 <mss 1460,wscale 7,TS val 50 ecr 0>
        +.020  < S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 2,TS val 9 ecr 50>
        +0     > . 1:1(0)          ack 1 win 502 id 500 <TS val 70 ecr 9>
        +0     > . 1:1001(1000)    ack 1 win 502 id 501 <TS val 100 ecr 9>
        +.0001 > . 2001:3001(1000) ack 1 win 502 id 502 <TS val 101 ecr 9>
        +.0001 > . 1001:2001(1000) ack 1 win 502 id 503 <TS val {clock} ecr 9>
    """
    assert kinds(observe(scenario(text)).sent(CLIENT))[1:] == ["data", "data", "reordered"]


def test_without_a_handshake_the_measured_round_trip_shows_reordering():
    # At the receiver, 40 ms from the sender: no retransmission fills a hole after 5 ms.
    client, server = Address("2001:db8::1", 40000), Address("2001:db8::2", 80)
    text = """
        0       < . 1:1(0) ack 1 win 502 <TS val 5 ecr 50>
        +.040   > . 1:1001(1000)    ack 1 win 502 <TS val 90 ecr 5>
        +.00001 < . 1:1(0) ack 1001 win 502 <TS val 45 ecr 90>
        +.040   > . 2001:3001(1000) ack 1 win 502 <TS val 130 ecr 45>
        +.005   > . 1001:2001(1000) ack 1 win 502 <TS val 130 ecr 45>
    """
    seen = observe(scenario(text, client=client, server=server))
    assert kinds(seen.sent(client)) == ["data", "data", "reordered"]


def test_one_packet_captured_twice_is_no_retransmission():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0      > . 1:1001(1000)    ack 1 win 502 id 501
        +.00001 > . 1:1001(1000)    ack 1 win 502 id 501
        +.00001 > . 1001:2001(1000) ack 1 win 502 id 502
        +.020   < . 1:1(0) ack 2001 win 1000 id 9
        +.00001 < . 1:1(0) ack 2001 win 1000 id 9
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[1:] == ["data", "duplicate", "data"]
    assert seen.capture.flows.retransmitted_bytes.tolist() == [0]
    assert [row.rtt_ns for row in seen.acks(CLIENT)][-2:] == [20_000_000, None]


def test_copies_that_come_in_batches_are_no_retransmissions():
    # A forwarding host captured on all interfaces: a batch as it came in, then as it went out.
    batch = [f"{1 + 1000 * i}:{1001 + 1000 * i}(1000) ack 1 win 502 id {501 + i}" for i in range(8)]
    lines = "\n".join(f"+.00001 > . {segment}" for segment in batch + batch)
    seen = observe(scenario(f"{HANDSHAKE}\n{lines}\n+.020 < . 1:1(0) ack 8001 win 1000"))
    assert kinds(seen.sent(CLIENT))[1:] == ["data"] * 8 + ["duplicate"] * 8
    assert seen.capture.flows["retransmitted_bytes"].tolist() == [0]


def test_what_only_the_capture_missed_was_not_lost():
    # The middle segment never appears, yet it is acknowledged: it was on the path, and not in the capture.
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > . 1:1001(1000)    ack 1 win 502
        +0    > . 2001:3001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 3001 win 1000
        +0    > . 3001:4001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 5001 win 1000  # 4001:5001 is missing too
        +0    > . 5001:6001(1000) ack 1 win 502
        """
        )
    )
    assert kinds(seen.sent(CLIENT))[1:] == ["data"] * 4
    assert seen.directions[0].unseen_bytes == 2000
    assert [row.tap_in_flight_bytes for row in seen.sent(CLIENT)][1:] == [1000, 3000, 1000, 1000]
    assert seen.acks(CLIENT)[-1].in_flight_bytes == 0
    assert seen.capture.flows.retransmitted_bytes.tolist() == [0]


def test_what_is_captured_after_its_acknowledgment_was_not_missed():
    # A capture of several queues: the second segment comes 20 us after the acknowledgment of both, and the third alone.
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +.010   > . 1:1001(1000)    ack 1 win 502
        +.020   < . 1:1(0) ack 2001 win 1000
        +.00002 > . 1001:2001(1000) ack 1 win 502
        +.010   < . 1:1(0) ack 3001 win 1000
        +.00002 > . 2001:3001(1000) ack 1 win 502
        +2      > . 3001:4001(1000) ack 1 win 502
        +.020   < . 1:1(0) ack 4001 win 1000
        """
        )
    )
    assert seen.directions[0].unseen_bytes == 0
    flow = seen.capture.flow(0)
    assert "lost" not in " ".join(flow.rtts["evidence"])
    assert flow.rtts["acked_bytes"].sum() == 4000
    # Nothing was in flight in the two seconds.
    assert flow.summary["longest_stall_ns"] < 100_000_000


# Round-trip times, RFC 6298 section 3 (Karn's rule)


def test_the_last_segment_acknowledged_measures():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > . 1:1001(1000)    ack 1 win 502
        +.003 > . 1001:2001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 2001 win 1000
        """
        )
    )
    assert seen.acks(CLIENT)[-1].rtt_ns == 20_000_000


def test_what_was_sent_twice_does_not_measure():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > . 1:1001(1000) ack 1 win 502
        +.3   > . 1:1001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 1001 win 1000
        """
        )
    )
    assert seen.acks(CLIENT)[-1].rtt_ns is None


@pytest.mark.parametrize(("echo", "rtt_ns"), [(100, 320_000_000), (400, 20_000_000)])
def test_the_timestamp_echo_tells_which_copy_was_answered(echo, rtt_ns):
    # RFC 7323 section 4: TSecr is the TSval of the segment that caused the acknowledgment.
    seen = observe(
        scenario(f"""
        0     > S  0:0(0)       win 64240 <mss 1460,TS val 50 ecr 0>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,TS val 9 ecr 50>
        +0    > . 1:1001(1000) ack 1 win 502 <TS val 100 ecr 9>
        +.3   > . 1:1001(1000) ack 1 win 502 <TS val 400 ecr 9>
        +.020 < . 1:1(0) ack 1001 win 1000 <TS val 30 ecr {echo}>
        """)
    )
    assert seen.acks(CLIENT)[-1].rtt_ns == rtt_ns


def test_an_acknowledgment_released_by_a_late_hole_filler_does_not_measure_what_waited():
    # 1001:2001 was lost before the tap; its retransmission, not the segment that waited for it, was answered.
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > . 1:1001(1000)    ack 1 win 502
        +0    > . 2001:3001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 1001 win 1000
        +.250 > . 1001:2001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 3001 win 1000
        """
        )
    )
    assert seen.acks(CLIENT)[-1].rtt_ns is None


def test_sack_measures_while_the_acknowledgment_stands_still():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > . 1:1001(1000)    ack 1 win 502
        +.001 > . 1001:2001(1000) ack 1 win 502
        +.020 < . 1:1(0) ack 1 win 1000 <sack 1001:2001>
        """
        )
    )
    assert seen.acks(CLIENT)[-1].rtt_ns == 20_000_000


def test_an_answer_captured_before_its_question_does_not_measure():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    < . 1:1(0) ack 1001 win 1000
        +.001 > . 1:1001(1000) ack 1 win 502
        """
        )
    )
    assert [row.rtt_ns for row in seen.acks(CLIENT)][-1] is None


def test_a_delayed_acknowledgment_is_a_sample_but_not_the_minimum():
    # RFC 9293 section 3.8.6.3: a lone segment may wait for the receiver's timer, here 40 ms.
    seen = observe(
        scenario(
            """
        0     < .  1:1(0) ack 1 win 1000
        +0    > .  1:1001(1000)    ack 1 win 502
        +0    > .  1001:2001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 2001 win 1000
        +1    > P. 2001:2101(100) ack 1 win 502
        +.060 < .  1:1(0) ack 2101 win 1000
        """
        )
    )
    assert seen.acks(CLIENT)[-1].rtt_ns == 60_000_000
    assert seen.capture.flows.rtt_min_ns.tolist() == [20_000_000]


# Offload


def test_a_segment_larger_than_the_mss_counts_as_the_packets_it_stands_for():
    # 2920 bytes are two packets of 1460 on the wire, and so they are when they are sent again.
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > . 1:2921(2920) ack 1 win 502
        +.3   > . 1:2921(2920) ack 1 win 502
        +.020 < . 1:1(0) ack 2921 win 10000
        """
        )
    )
    assert seen.capture.flows.payload_bytes.tolist() == [2920]
    assert seen.capture.rtts.retransmits.sum() == 2
