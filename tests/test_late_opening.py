"""Connections that opened late: which SYNs or answers were sent again, and why."""

from __future__ import annotations

import io

import numpy as np
import pytest
from connected import OPENS, OPTIONS, TRY, analyzed, lived, shifted
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.report import connections, failures
from bdpcap.report.page import html
from bdpcap.report.text import LINES


@pytest.mark.parametrize(("later_s", "again"), [(1, True), (60, False)])
def test_a_syn_from_another_port_is_sent_again(later_s, again):
    packets = [
        packet
        for number in (0, 1)
        for packet in scenario(
            f"{number * later_s} > S 0:0(0) win 64240", client=Address(CLIENT.host, 50_000 + number)
        )
    ]
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    line = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))[0]
    assert ("No SYN was sent again" in line) != again


def late(dialogue, beside=()):
    """The sentences on connections that opened late, with other connections beside."""
    packets = [packet for one, ends in ((dialogue, {}), *beside) for packet in scenario(one, **ends)]
    packets.sort(key=lambda packet: packet.time_ns)
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    assert connections.sentences(capture) == []
    assert connections.failed(capture) == 0
    return [sentence for sentence, _ in connections.late(capture)]


FAR = TRY.replace("<mss", "ttl 50 <mss")


ANSWERS = """
    +0    < P. 1:101(100) ack 101 win 500
    +.001 > .  101:101(0) ack 101 win 502
"""


AGAIN = f"""
    +.005 < S. 0:0(0) ack 1 win 65535 {OPTIONS}
    +0    > .  101:101(0) ack 1 win 502
"""


OTHER = Address(CLIENT.host, 50_000)


# Each of two SYNs, a second apart, is answered after 1.5 s, as the data are.
FAR_OFF = """
    +1    > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.5   < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  1:1(0) ack 1 win 502
    +.001 > P. 1:101(100) ack 1 win 502
    +1    < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  101:101(0) ack 1 win 502
    +.499 < P. 1:101(100) ack 101 win 500
    +0    > .  101:101(0) ack 101 win 502
"""


# The handshake takes a second, and later data hardly less.
SLOW_PATH = """
    +1.05 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  1:1(0) ack 1 win 502
    +.001 > P. 1:101(100) ack 1 win 502
    +.9   < .  1:1(0) ack 101 win 500
"""


@pytest.mark.parametrize(
    ("dialogue", "opened"),
    [
        (f"100 {TRY}{OPENS}", None),
        # No SYN is sent again before a second (RFC 6298 section 2.1).
        (f"100 {TRY}\n+.9 {TRY}{OPENS}", None),
        (f"100 {TRY}\n+1 {TRY}{OPENS}", "1.02 s (2 SYNs)"),
        (f"100 {TRY}\n+1 {TRY}\n+2 {TRY}\n+4 {TRY}{OPENS}", "7.02 s (4 SYNs)"),
        (f"100 {TRY}{OPENS.replace('+.020 < S.', '+1.5 < S.')}", "1.5 s (1 SYN)"),
        # A round trip of that length is the path's.
        (f"100 {TRY}{OPENS.replace('+.020', '+1.5')}", None),
        (f"100 {TRY}\n{SLOW_PATH}", None),
        # So is it where each SYN was answered, after a time in which its timer had run out.
        (f"100 {TRY}\n{FAR_OFF}", None),
        # The client wrote late, and the capture lacks its answer to the SYN-ACK.
        (f"100 {TRY}{OPENS.replace('    +0    > . 1:1(0) ack 1 win 502', '').replace('+.001', '+5')}", None),
    ],
)
def test_a_connection_opens_late_if_a_syn_timed_out(dialogue, opened):
    said = late(dialogue)
    assert len(said) == (opened is not None)
    if opened:
        start = f"1 connection from {CLIENT.host} to port {SERVER.port} of {SERVER.host} opened only after"
        assert said[0].startswith(f"{start} {opened}. ")


@pytest.mark.parametrize(("least_ms", "late_"), [(900, False), (1104, True)])
def test_a_handshake_alone_shows_no_slow_path(least_ms, late_):
    """Its own round trip, less what a host needed to answer, is that of no later data."""
    life = {
        "opening_ns": [1_105_000_000],
        "syns": [1],
        "syn_acks": [1],
        "seen": [True],
        "handshake": ["complete"],
    }
    both = {
        "rtt_min_ns": [147_000_000, least_ms * 1_000_000],
        "initial_rtt_ns": [1_105_000_000, 1_105_000_000],
        "standstill_ns": [0, 0],
    }
    arrays = [{name: np.array(column) for name, column in table.items()} for table in (life, both)]
    assert failures._opened_late(*arrays).tolist() == [late_]


def test_a_connection_that_opened_late_may_also_have_failed():
    closing = "\n".join(f"+{2**n} > F. 1:1(0) ack 1 win 500" for n in range(4))
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(f"100 {TRY}\n+1 {TRY}{OPENS}{closing}"))))
    assert "no FIN of the client was answered" in connections.sentences(capture)[0]
    assert "opened only after 1.02 s" in connections.late(capture)[0][0]


def test_on_one_machine_a_capture_is_next_to_neither_end():
    # An emulator of loss drops packets between the two ends of a loopback interface, on either side of the capture.
    ends = {"client": Address("127.0.0.1", 50_000), "server": Address("127.0.0.1", 80)}
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(f"100 {TRY}\n+1 {TRY}{OPENS}", **ends))))
    written = " ".join(report.text(capture).split())
    assert "A SYN or its answer was lost" in written
    assert "next to the server" not in written


def test_the_time_of_opening_ends_with_the_clients_answer():
    seen = lived(f"0 {TRY}\n+1 {TRY}{OPENS}")
    assert seen.opening_ns == 1_020_000_000
    assert lived(f"0 {TRY}").isna().opening_ns
    assert seen.answered_ns == 1_020_000_000
    assert lived(f"0 {TRY}").isna().answered_ns
    # The client answers another second later.
    slow = lived(f"0 {TRY}{OPENS.replace('+0    > .', '+1 > .')}")
    assert (slow.answered_ns, slow.opening_ns) == (20_000_000, 1_020_000_000)


@pytest.mark.parametrize(
    ("dialogue", "beside", "said"),
    [
        (f"100 {TRY}\n+1 {TRY}{OPENS}", [], "A SYN or its answer was lost, or came later"),
        (f"100 {TRY}\n+1 {TRY}\n+2 {TRY}{OPENS}", [], "nothing listened there yet: see when"),
        (f"100 {TRY}{OPENS.replace('+.020 < S.', '+1.5 < S.')}", [], "The answers came late"),
        # The first SYN-ACK was lost: its timer of a second ran out, and the round trip is 20 ms.
        (f"100 {TRY}{OPENS.replace('+.020 < S.', '+1.02 < S.')}", [], "the first was probably lost"),
        # Next to the client, both SYNs are answered; the first answer comes a round trip after the second SYN.
        (f"100 {TRY}\n+1 {TRY}{OPENS}{AGAIN}{ANSWERS}", [], "A SYN or its answer was lost, or came later"),
        (
            f"100 {TRY}\n+1 {TRY}{OPENS.replace('+.020 < S.', '+.3 < S.')}{AGAIN}{ANSWERS}",
            [],
            "The answers came late",
        ),
        # The client is near: it confirms data at once.
        (f"100 {TRY}{OPENS.replace('+0    > .', '+1.5 > .')}{ANSWERS}", [], "the client confirmed late"),
        # The port was open meanwhile.
        (f"100 {TRY}\n+1 {TRY}{OPENS}", [(f"100.5 {TRY}{OPENS}", {"client": OTHER})], "the server's queue"),
        # Only another port of the host answered meanwhile.
        (
            f"100 {TRY}\n+1 {TRY}\n+2 {TRY}{OPENS}",
            [(f"100.5 {TRY}{OPENS}", {"client": OTHER, "server": Address(SERVER.host, 81)})],
            "so the route works",
        ),
        # The capture next to the server has SYNs from afar, and no answers.
        (
            f"100 {FAR}\n+1 {FAR}{OPENS.replace('+.020 <', '+.0001 <').replace('win 502', 'win 502 ttl 50')}",
            [],
            "The SYNs reached the capture next to the server",
        ),
    ],
)
def test_what_the_capture_shows_explains_a_late_opening(dialogue, beside, said):
    assert said in late(dialogue, beside)[0]


def test_connections_that_opened_late_have_a_section():
    capture = analyzed(f"0 {TRY}\n+1 {TRY}{OPENS}")
    written = report.text(capture)
    assert "CONNECTIONS THAT OPENED LATE" in written
    assert "FAILED" not in written
    assert len(written.splitlines()) <= LINES
    page = html(capture)
    assert "<h2>Connections that opened late</h2>" in page
    assert "<h2>Connections that failed</h2>" not in page


@pytest.mark.parametrize(
    ("ttl", "said"),
    [
        (50, "SYNs or their answers were lost, or a filter dropped them."),
        # A NAT next to the client answers once it has reached the host itself.
        (64, "Then SYNs were lost or late behind it: capture there."),
    ],
)
def test_a_service_of_the_internet_has_long_been_there(ttl, said):
    opens = OPENS.replace("65535", f"65535 ttl {ttl}").replace("win 500", f"win 500 ttl {ttl}")
    packets = scenario(f"100 {TRY}\n+1 {TRY}\n+2 {TRY}{opens}", server=Address("8.8.8.8", 443))
    ((line, _),) = connections.late(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert line.endswith(said)


@pytest.mark.parametrize("late", [2, 3, 20])
def test_a_client_whose_connections_open_late_lost_its_other_syns_as_well(late):
    """Other hosts answer only the third SYN of a client, as one answers none at one of its ports."""
    opens = OPENS.replace("65535", "65535 ttl 50").replace("win 500", "win 500 ttl 50")
    packets = scenario(f"100 {TRY}\n+1 {TRY}\n+2 {TRY}", server=Address("8.8.4.4", 443))
    packets += scenario(f"101 {TRY}{opens}", server=Address("8.8.4.4", 80))
    for number in range(late):
        server = Address(f"8.8.8.{number}", 443)
        packets += scenario(f"{100 + number / 20} {TRY}\n+1 {TRY}\n+2 {TRY}{opens}", server=server)
    packets += scenario(f"120 {TRY}", client=Address("192.0.2.9", 9))
    packets.sort(key=lambda packet: packet.time_ns)
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = " ".join(connections.sentences(capture))
    assert ("Connections of this client to several services opened late at that time" in said) == (late >= 3)
    opened = " ".join(line for line, _ in connections.late(capture))
    assert ("To several hosts, SYNs or their answers were lost" in opened) == (late == 20)


def test_a_port_that_accepts_others_meanwhile_has_its_service():
    # The refusal comes nearly three seconds after the SYN, and another connection opens between.
    refused = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+2.9 < R. 0:0(0) ack 1 win 0"
    opened = shifted(scenario(f"{HANDSHAKE}", client=Address(CLIENT.host, 50_000)), 10**9)
    packets = sorted([*scenario(refused), *opened], key=lambda packet: packet.time_ns)
    lines = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert any("was refused" in line and "accepted other connections meanwhile" in line for line in lines)


def test_a_flow_that_needs_no_mending_names_its_late_opening():
    late = f"0 {TRY}\n+1 {TRY}\n+1 {TRY}\n{OPENS}"
    other = {"client": Address("192.0.2.7", 4000), "server": Address("198.51.100.9", 99)}
    packets = sorted(
        scenario(late) + scenario(f"5{HANDSHAKE.strip()[1:]}\n", **other), key=lambda one: one.time_ns
    )
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    assert capture.flow(0).remedy.words.endswith("Only its opening was slow: it took 2.02 s.")


def test_a_client_that_confirms_late_lost_nothing():
    """Three servers answer after 20 ms, and the client confirms two seconds later."""
    confirmed = OPENS.replace("+0    >", "+2    >", 1).replace("65535", "65535 ttl 50") + ANSWERS
    packets = []
    for number in range(3):
        packets += scenario(f"10{number} {TRY}{confirmed}", server=Address(f"8.8.8.{number}", 443))
    packets.sort(key=lambda packet: packet.time_ns)
    said = " ".join(line for line, _ in connections.late(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert "the client confirmed late" in said
    assert "to several services" not in said


def test_late_openings_at_different_times_have_their_own_causes():
    """Three servers answer the second SYN only, each at another time of half an hour."""
    opens = OPENS.replace("65535", "65535 ttl 50").replace("win 500", "win 500 ttl 50")
    packets = []
    for number in range(3):
        packets += scenario(f"{600 * number} {TRY}\n+1 {TRY}{opens}", server=Address(f"8.8.{number}.8", 443))
    said = " ".join(line for line, _ in connections.late(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert "opened only after" in said
    assert "at that time" not in said
