"""Handshakes, one behaviour a test.

Every expected value follows from the dialogue above it and the RFC named; `>` is CLIENT, `<` is SERVER. The
tap is beside the client: the server's answers come 20 ms after what they answer.
"""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from observe import observe
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import _core
from bdpcap.explain import in_flight, trust
from bdpcap.report.notes import notes

# Window scale, RFC 7323 section 2


@pytest.mark.parametrize(
    ("client", "server", "client_factor", "server_factor"),
    [
        pytest.param("wscale 7", "wscale 2", 128, 4, id="both"),
        pytest.param("wscale 0", "wscale 2", 1, 4, id="zero is a value"),
        pytest.param("wscale 0", "wscale 0", 1, 1, id="both zero"),
        pytest.param("wscale 7", "nop", 1, 1, id="declined by the server"),
        pytest.param("nop", "wscale 2", 1, 1, id="never offered by the client"),
        pytest.param("nop", "nop", 1, 1, id="none"),
        pytest.param("wscale 14", "wscale 15", 2**14, 2**14, id="above 14 counts as 14"),
        pytest.param("wscale 255", "wscale 1", 2**14, 2, id="far above 14"),
    ],
)
def test_scaling_is_in_force_only_if_both_syns_carry_it(client, server, client_factor, server_factor):
    seen = observe(
        scenario(f"""
        0     > S  0:0(0)       win 8000 <{client}>
        +.020 < S. 0:0(0) ack 1 win 9000 <{server}>
        +0    > P. 1:101(100) ack 1 win 500
        +.020 < .  1:1(0)   ack 101 win 600
        """)
    )
    assert seen.frame(3)[-1].advertised_bytes == 500 * client_factor
    assert seen.acks(CLIENT)[-1].window_bytes == 600 * server_factor


def test_the_window_of_a_syn_is_never_scaled():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > P. 1:101(100) ack 1 win 502
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>  # the client's ACK was lost
        """
        )
    )
    assert [row.advertised_bytes for row in seen.sent(SERVER)] == [65535, 65535]
    assert seen.sent(CLIENT)[0].advertised_bytes == 64240
    # The first flight has only the SYN's window to go by.
    assert seen.sent(CLIENT)[1].window_bytes == 65535


def test_a_missing_syn_ack_leaves_the_scale_an_assumption():
    # tshark applies the client's scale without a word; whether the server took the offer was never seen.
    seen = observe(
        scenario("""
        0     > S  0:0(0)       win 64240 <mss 1460,wscale 7>
        +.020 > P. 1:101(100) ack 1 win 502
        +.020 < P. 1:51(50) ack 101 win 600
        """)
    )
    flows = seen.capture.flows.set_index("sender")
    assert flows.loc[str(SERVER), ["window_scale", "window_scale_source"]].tolist() == [7, "one-sided"]
    assert seen.sent(CLIENT)[-1].advertised_bytes == 502 * 128
    # Of the server's scale nothing is known.
    assert flows.loc[str(CLIENT), "window_scale_source"] == "unknown"
    assert seen.acks(CLIENT)[-1].window_bytes is None


def test_one_syn_without_the_option_settles_that_windows_are_unscaled():
    seen = observe(
        scenario("""
        0     < S. 0:0(0) ack 1 win 9000 <mss 1460>
        +0    > P. 1:101(100) ack 1 win 500
        """)
    )
    assert seen.sent(CLIENT)[0].advertised_bytes == 500


@pytest.mark.parametrize(("snaplen", "source"), [(74, "negotiated"), (68, "unknown")])
def test_an_option_that_the_snaplen_cut_was_not_declined(snaplen, source):
    # 54 bytes of headers, then 20 of options, the scale last: the 68 bytes that tcpdump once kept end in the timestamps.
    packets = scenario("""
        0     > S  0:0(0)       win 64240 <mss 1460,sackOK,TS val 5 ecr 0,nop,wscale 7>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,TS val 8 ecr 5,nop,wscale 7>
        +0    > .  1:1(0) ack 1 win 502 <nop,nop,TS val 6 ecr 8>
        +0    > P. 1:101(100) ack 1 win 502 <nop,nop,TS val 6 ecr 8>
    """)
    (side, _) = observe(packet.cut(snaplen) for packet in packets).directions
    assert _core.SCALE_SOURCES[side.window_scale_source] == source
    assert side.mss_bytes == 1448


def test_a_syn_that_is_tried_without_options_does_not_take_the_scale_back():
    # The server answers with a scale, which only a SYN that carried one allows (RFC 7323 section 2.2).
    seen = observe(
        scenario("""
        0     > S  0:0(0)       win 64240 <mss 1460,wscale 7>
        +1    > S  0:0(0)       win 64240
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,wscale 2>
        +0    > P. 1:101(100) ack 1 win 502
        """)
    )
    assert seen.sent(CLIENT)[-1].advertised_bytes == 502 * 128


# Opening


def test_simultaneous_open_is_one_stream_with_scaling_both_ways():
    # RFC 9293 section 3.5, figure 7.
    seen = observe(
        scenario("""
        0     > S  0:0(0)       win 1000 <wscale 1>
        +.001 < S  0:0(0)       win 2000 <wscale 2>
        +0    > S. 0:0(0) ack 1 win 1000 <wscale 1>
        +.020 < S. 0:0(0) ack 1 win 2000 <wscale 2>
        +0    > P. 1:11(10) ack 1 win 500
        +.020 < P. 1:21(20) ack 11 win 600
        """)
    )
    assert {row.stream for row in seen.rows} == {0}
    assert [row.sequence for row in seen.sent(CLIENT)] == [0, 0, 1]
    assert [row.sequence for row in seen.sent(SERVER)] == [0, 0, 1]
    assert seen.sent(CLIENT)[-1].advertised_bytes == 1000
    assert seen.sent(SERVER)[-1].advertised_bytes == 2400


def test_data_on_a_syn_occupies_the_numbers_after_it():
    # RFC 7413: the SYN is number 0, its data 1 to 100.
    seen = observe(
        scenario("""
        0     > S  0:100(100)       win 64240 <mss 1460,FO 0102030405060708>
        +.020 < S. 0:0(0) ack 101   win 65535 <mss 1460>
        +0    > P. 101:201(100) ack 1 win 64240
        """)
    )
    syn, data = seen.sent(CLIENT)
    assert (syn.kind, syn.sequence, syn.length) == ("syn", 0, 100)
    assert (data.kind, data.sequence, data.tap_in_flight_bytes) == ("data", 101, 100)


def test_data_on_a_syn_that_was_not_accepted_is_sent_again():
    # RFC 7413 section 4.2.2: the server acknowledges the SYN alone.
    seen = observe(
        scenario("""
        0     > S  0:100(100)       win 64240 <mss 1460,FO 0102030405060708>
        +.020 < S. 0:0(0) ack 1     win 65535 <mss 1460>
        +0    > P. 1:101(100) ack 1 win 64240
        """)
    )
    assert [row.kind for row in seen.sent(CLIENT)] == ["syn", "retransmission"]
    assert seen.sent(CLIENT)[-1].tap_in_flight_bytes == 100


def test_a_syn_with_another_isn_begins_a_new_stream():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +1    > S  50000:50000(0) win 64240 <mss 1460>
        +.020 < S. 70000:70000(0) ack 50001 win 65535 <mss 1460>
        +0    > P. 50001:50101(100) ack 70001 win 64240
        """
        )
    )
    assert [row.stream for row in seen.sent(CLIENT)] == [0, 1, 1]
    assert [row.sequence for row in seen.sent(CLIENT)] == [0, 0, 1]
    assert [(row.stream, row.sequence) for row in seen.sent(SERVER)] == [(0, 0), (1, 0)]


def test_a_syn_sent_again_stays_in_its_stream():
    seen = observe(
        scenario("""
        0     > S  0:0(0)       win 64240 <mss 1460>
        +1    > S  0:0(0)       win 64240 <mss 1460>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460>
        """)
    )
    assert {row.stream for row in seen.rows} == {0}


def test_streams_are_numbered_by_their_first_packet():
    second = Address("192.0.2.1", 40001)
    first = scenario(HANDSHAKE)
    other = [replace(p, time_ns=p.time_ns + 5_000_000) for p in scenario(HANDSHAKE, client=second)]
    seen = observe(sorted(first + other, key=lambda packet: packet.time_ns))
    assert [row.stream for row in seen.sent(CLIENT)] == [0]
    assert [row.stream for row in seen.sent(second)] == [1]
    assert [row.frame for row in seen.sent(second)] == [2]


def test_ipv6_endpoints_stand_in_brackets():
    client, server = Address("2001:db8::1", 40000), Address("2001:db8::2", 80)
    seen = observe(scenario(HANDSHAKE, client=client, server=server))
    assert seen.sent(client)[0].sender == "[2001:db8::1]:40000"
    assert seen.sent(client)[0].receiver == "[2001:db8::2]:80"


def test_the_answer_to_an_older_connection_is_no_part_of_this_one():
    # RFC 9293 figure 9: a server that still knows the old connection is reset, and the SYN is tried again.
    seen = observe(
        scenario("""
        0     > S  0:0(0)       win 64240 <mss 1460>
        +.020 < .  500000000:500000000(0) ack 900000000 win 500
        +0    > R  900000000:900000000(0)
        +1    > S  0:0(0)       win 64240 <mss 1460>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460>
        +0    > .  1:1(0) ack 1 win 64240
        +0    > P. 1:1001(1000) ack 1 win 64240
        +.020 < .  1:1(0) ack 1001 win 65535
        """)
    )
    flow = seen.capture.flows.iloc[0]
    assert (flow["payload_bytes"], flow["retransmitted_bytes"]) == (1000, 0)
    assert [(row.sequence, row.kind) for row in seen.sent(CLIENT)][-1] == (1, "data")
    assert seen.acks(CLIENT)[-1].acknowledged == 1001


@pytest.mark.parametrize(
    ("first", "second", "echo", "rtt_ns"),
    [
        pytest.param("nop", "nop", "nop", None, id="nothing tells which SYN was answered"),
        # Linux answers the second SYN with the timestamp of the first, too (tcp_check_req).
        pytest.param("TS val 1 ecr 0", "TS val 2 ecr 0", "TS val 9 ecr 1", None, id="either"),
        pytest.param("TS val 1 ecr 0", "TS val 2 ecr 0", "TS val 9 ecr 2", 200_000_000, id="the second"),
    ],
)
def test_a_syn_sent_twice_measures_where_timestamps_tell_which_was_answered(first, second, echo, rtt_ns):
    seen = observe(
        scenario(f"""
        0     > S  0:0(0)       win 64240 <mss 1460,{first}>
        +1    > S  0:0(0)       win 64240 <mss 1460,{second}>
        +.200 < S. 0:0(0) ack 1 win 65535 <mss 1460,{echo}>
        +0    > .  1:1(0) ack 1 win 64240
        """)
    )
    assert {side.initial_rtt_ns for side in seen.directions} == {rtt_ns}


def test_data_do_not_complete_the_handshake_in_time():
    # The capture lost the acknowledgment between; the application spoke two seconds later.
    seen = observe(
        scenario("""
        0     > S  0:0(0)       win 64240 <mss 1460>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460>
        +2    > P. 1:1001(1000) ack 1 win 64240
        +.020 < .  1:1(0) ack 1001 win 65535
        """)
    )
    assert {side.initial_rtt_ns for side in seen.directions} == {None}
    assert seen.capture.flows["rtt_min_ns"].tolist() == [20_000_000]


# Full segments, RFC 9293 section 3.7.1 and RFC 8899


def three_segments(payload, *, client=1460, server=1460):
    """Observe the client as it sends three segments without PSH."""
    one, two, three = (1 + payload * number for number in (1, 2, 3))
    return observe(
        scenario(f"""
        0     > S  0:0(0)       win 8000 <mss {client}>
        +.020 < S. 0:0(0) ack 1 win 9000 <mss {server}>
        +0    > .  1:{one}({payload})       ack 1 win 500
        +0    > .  {one}:{two}({payload})   ack 1 win 500
        +0    > .  {two}:{three}({payload}) ack 1 win 500
        +.020 < .  1:1(0)   ack {three} win 9000
        """)
    )


def sent(payload, **mss):
    """Return the client's direction after it sent three segments."""
    return three_segments(payload, **mss).directions[0]


def segment_size(payload, **mss):
    """Return the finding on the size of these segments."""
    findings = three_segments(payload, **mss).capture.flow(0).findings
    (size,) = (finding for finding in findings if finding.code == "segment-size")
    return size


def test_a_path_that_carries_less_than_the_handshake_allows_shows_in_the_segments():
    direction = sent(1360)
    assert (direction.mss_bytes, direction.announced_mss_bytes) == (1360, 1460)


def test_a_sender_may_send_as_much_as_its_receiver_announced():
    direction = sent(1460, client=1400)
    assert (direction.mss_bytes, direction.announced_mss_bytes) == (1460, 1460)


MERGED = """
    0       > P. 1:101(100) ack 1 win 502
    +.3     < .  1:7681(7680) ack 101 win 512
    +.00001 > .  101:101(0) ack 7681 win 502
    +.01    < .  7681:8961(1280) ack 101 win 512
    +.00001 > .  101:101(0) ack 8961 win 502
    +.01    < .  8961:10241(1280) ack 101 win 512
    +.00001 > .  101:101(0) ack 10241 win 502
    +.3     < .  10241:11521(1280) ack 101 win 512
    +.00001 > .  101:101(0) ack 11521 win 502
    +.01    < P. 11521:14081(2560) ack 101 win 512
    +.00001 > .  101:101(0) ack 14081 win 502
"""


JUMBO = """
    0       > P. 1:101(100) ack 1 win 502
    +.3     < .  1:8961(8960) ack 101 win 512
    +.00001 > .  101:101(0) ack 8961 win 502
    +.01    < P. 8961:10461(1500) ack 101 win 512
    +.00001 > .  101:101(0) ack 10461 win 502
"""


@pytest.mark.parametrize(("text", "mss_bytes"), [(MERGED, 1280), (JUMBO, 8960)])
def test_without_a_syn_merged_segments_show_no_size_of_one(text, mss_bytes):
    # A network adapter merges what a link with an MTU of 1,320 bytes brought.
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(text))))
    assert capture.flow(0, str(SERVER)).summary["mss_bytes"] == mss_bytes


def test_data_beside_their_receiver_have_no_time_in_flight_without_the_senders_round_trip():
    # Twenty segments come 100 ms apart, and each is acknowledged within 10 us.
    lines = ["0 > P. 1:101(100) ack 1 win 502"]
    for first in range(1, 20 * 1280, 1280):
        lines.append(f"+.1 < . {first}:{first + 1280}(1280) ack 101 win 512")
        lines.append(f"+.00001 > . 101:101(0) ack {first + 1280} win 502")
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines))))).flow(0, str(SERVER))
    assert flow.summary["limit"] == "unknown"
    assert not in_flight.whole(flow).is_timed


def test_the_segment_size_below_the_handshakes_is_explained():
    size = segment_size(1360)
    assert "1,360 bytes, 100 less than the handshake allows" in size.sentence
    assert "1,400 bytes a packet" in size.cause


def test_a_sender_whose_own_syn_has_the_size_of_its_segments_takes_it_from_there():
    """RFC 9293 section 3.7.1: a sender takes the smaller of the offered MSS and what its own interface carries."""
    size = segment_size(536, client=536)
    assert "came with MSS 536, that of 198.51.100.2 with 1,460" in size.sentence
    assert "MTU of 576 bytes" in size.cause


@pytest.mark.parametrize(
    ("full", "options", "server", "default"),
    [
        (536, "", "198.51.100.2", True),
        (524, "TS val 1 ecr 1", "198.51.100.2", True),
        (576, "", "198.51.100.2", False),
        (1220, "", "198.51.100.2", False),
        # The least MTU of IPv6, 1,280 bytes, leaves as much as the default does: either may be the reason.
        (1220, "", "2001:db8::2", False),
    ],
)
def test_segments_of_the_default_size_show_that_no_mss_option_came(full, options, server, default):
    # RFC 9293 section 3.7.1: without an MSS option, a sender takes 536 bytes over IPv4.
    first = f"mss 1460{',TS val 1 ecr 0' if options else ''}"
    data = "".join(
        f"+0 > . {1 + full * at}:{1 + full * (at + 1)}({full}) ack 1 win 500 <{options or 'nop'}>\n"
        for at in range(3)
    )
    packets = scenario(
        f"""
        0     > S  0:0(0)       win 8000 <{first}>
        +.020 < S. 0:0(0) ack 1 win 9000 <{first}>
        {data}
        +.020 < .  1:1(0)   ack {1 + 3 * full} win 9000
        """,
        client=Address("2001:db8::1" if ":" in server else CLIENT.host, 40_000),
        server=Address(server, 80),
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    (size,) = (finding for finding in flow.findings if finding.code == "segment-size")
    assert ("no MSS option" in size.sentence) == default
    assert ("path MTU discovery" in size.cause) == (not default)
    assert any("no MSS option" in note for note in notes(flow)) == default


@pytest.mark.parametrize(
    ("servers", "offered", "answered", "told"),
    [
        (("8.8.8.8", "1.1.1.1", "9.9.9.9"), 1460, (536, 536, 536), True),
        # One owner may have set hosts of one network, or of a private one, so.
        (("8.8.8.8", "1.1.1.1", "1.1.2.2"), 1460, (536, 536, 536), False),
        (("10.8.8.8", "10.1.1.1", "10.9.9.9"), 1460, (536, 536, 536), False),
        (("8.8.8.8", "1.1.1.1", "9.9.9.9"), 1460, (536, 536, 1400), False),
        # A VPN over the least MTU of IPv6, and a client that offers no more.
        (("8.8.8.8", "1.1.1.1", "9.9.9.9"), 1460, (1220, 1220, 1220), False),
        (("8.8.8.8", "1.1.1.1", "9.9.9.9"), 536, (536, 536, 536), False),
    ],
)
def test_one_small_mss_of_unrelated_servers_is_set_by_a_device(servers, offered, answered, told):
    packets = []
    for number, (name, mss) in enumerate(zip(servers, answered, strict=True)):
        data = "".join(f"+0 < . {1 + at}:{1 + at + mss}({mss}) ack 1 win 500\n" for at in (0, mss, 2 * mss))
        packets += scenario(
            f"""
            {number} > S  0:0(0)       win 8000 <mss {offered}>
            +.020    < S. 0:0(0) ack 1 win 9000 <mss {mss}>
            +0       > .  1:1(0) ack 1 win 8000
            {data}
            +0       > .  1:1(0) ack {1 + 3 * mss} win 8000
            """,
            server=Address(name, 443),
        )
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    line = f"All 3 SYN-ACKs to {CLIENT.host} have MSS 536, its own SYNs 1,460, and the servers are unrelated"
    assert any(sentence.startswith(line) for sentence in trust.notable(capture)) == told
    # Each flow has a note of its own where the capture has none.
    of_flow = any("came with MSS 536" in note for note in notes(capture.flow(0)))
    assert of_flow == (not told and answered[0] < offered and answered[0] == 536)
