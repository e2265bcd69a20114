"""Packets that a program made itself: no TCP sends or repeats them so."""

from __future__ import annotations

import io

import pytest
from connected import analyzed
from packets import Address, pcap, tcp_packet
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.report import connections


@pytest.mark.parametrize(("syns", "generated"), [(20, False), (21, True)])
def test_a_syn_that_no_tcp_repeats_so_often_is_a_programs(syns, generated):
    lines = "\n".join(f"{second}.5 > S 0:0(0) win 8192" for second in range(syns))
    (line,) = connections.sentences(analyzed(lines))
    assert f"never answered ({syns} SYNs in {syns - 1} s)" in line
    assert ("a program makes these packets" in line) == generated
    assert ("Check the host, the route" in line) != generated


@pytest.mark.parametrize(("times", "crafted"), [(16, False), (17, True)])
def test_a_sender_that_ignores_many_resets_is_no_tcp(times, crafted):
    # Linux sends data 15 times again at most (tcp_retries2), if a filter keeps the resets from it.
    packets = "\n".join(f"{n} > P. 1:27(26) ack 1 win 0\n+.02 < R 1:1(0) win 0" for n in range(times))
    flow = analyzed(packets).flow(0)
    assert ("sent these bytes 16 times more: a program makes the packets, no TCP." in flow.verdict) == crafted
    assert str(flow.remedy).startswith(
        f"On the {'sender, 192.0.2.1' if crafted else 'receiver, 198.51.100.2'}: "
    )


@pytest.mark.parametrize(
    ("packets", "pause_s", "ends", "no_tcp"),
    [
        (11, 0.4, "", True),
        # An initial window needs no acknowledgment (RFC 6928).
        (10, 0.44, "", False),
        # No timer ran out yet.
        (11, 0.2, "", False),
        # The sender's timer ran out, as a TCP's does.
        (11, 0.4, "+1 < . 1:101(100) ack 1 win 500", False),
        (11, 0.4, "+1 > . 1:1(0) ack 101 win 502", False),
    ],
)
def test_data_that_nobody_acknowledges_or_repeats_are_no_tcps(packets, pause_s, ends, no_tcp):
    sent = [
        f"+{pause_s} < . {1 + 100 * number}:{101 + 100 * number}(100) ack 1 win 500"
        for number in range(packets)
    ]
    capture = analyzed("\n".join([HANDSHAKE, *sent, ends]))
    flow = capture.flow(0, str(SERVER))
    assert flow.verdict.startswith(f"A program's own packets: In 4 s, none of {packets} packets") == no_tcp
    both = f"On both ends, {SERVER.host} and {CLIENT.host}: Look at the program that makes these packets"
    assert str(flow.remedy).startswith(both) == no_tcp
    assert not (no_tcp and "longest wait for an acknowledgment" in " ".join(report.text(capture).split()))


def repeated(times, apart_s):
    """Return a capture of one segment that came so often; within 50 ms, equal packets count as copies."""
    sent = [
        tcp_packet(
            round(1e9 * apart_s * place), SERVER, CLIENT, seq=1, ack=1, payload_bytes=100, identification=7
        )
        for place in range(times)
    ]
    return bdpcap.analyze(pcap(sent))


@pytest.mark.parametrize(("repeats", "no_tcp"), [(15, False), (16, True)])
def test_a_segment_that_comes_more_often_than_a_tcp_repeats_it_is_no_tcps(repeats, no_tcp):
    """Linux gives up after 15 repeats (tcp_retries2)."""
    flow = repeated(1 + repeats, 1).flow(0, str(SERVER))
    said = f"A program's own packets: The same segment came {repeats} times more, and no acknowledgment did."
    assert flow.verdict.startswith(said) == no_tcp


def test_a_flood_of_equal_syns_comes_from_one_program_whose_address_may_be_false():
    """Linux sends a SYN seven times (tcp_syn_retries); data on it are sent once (RFC 7413 section 4.1.3)."""
    flood = "\n".join("+.002 > S 0:66(66) win 8192" for _ in range(40))
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(flood)))).flow(0)
    assert flow.verdict.startswith(
        "A program's own packets: The same SYN, with 66 bytes of data, came 39 times more"
    )
    assert flow.remedy.where == f"the sender, {CLIENT.host}"
    assert "The address may be false" in flow.remedy.words
    # The loopback has no other host, and no Ethernet.
    local = {"client": Address("127.0.0.1", 20), "server": Address("127.0.0.1", 80)}
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(flood, **local)))).flow(0)
    assert flow.remedy.where == "the host of both ends, 127.0.0.1"
    assert "Ethernet" not in flow.remedy.words


@pytest.mark.parametrize(("times", "mirrored"), [(2, True), (12, False)])
def test_more_copies_than_a_capture_has_interfaces_are_a_programs(times, mirrored):
    written = " ".join(report.text(repeated(times, 0.001)).split())
    assert ("Captured several times" in written) == mirrored
    assert ("A program sent the same packets again and again: 11 packets" in written) != mirrored
