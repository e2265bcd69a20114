"""Connections of one host that stalled at the same time, in dialogues with several servers.

Each expected time is that from a segment to its acknowledgment in the dialogue.
"""

from __future__ import annotations

import io
import re

import pytest
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.report import common_stalls
from bdpcap.report.page import html

ELSEWHERE = Address("203.0.113.7", 80)
EMPTY_BYTES = 14 + 20 + 60
"""Largest frame of IPv4 without payload: the headers of Ethernet, IP and TCP, with all options."""


def waits(since_s, lasting_s):
    """A request, whose acknowledgment comes 20 ms later, and one that waits from a time on."""
    return (
        HANDSHAKE
        + f"""
    +.001      > P. 1:101(100) ack 1 win 502
    +.020      < . 1:1(0) ack 101 win 500
    {since_s}  > P. 101:201(100) ack 1 win 502
    +{lasting_s} < . 1:1(0) ack 201 win 500
    """
    )


def news(asked, pauses_s):
    """A request at a time, and twelve segments of its server after each of some pauses."""
    lines, sent = [f"{HANDSHAKE}{asked} > P. 1:101(100) ack 1 win 16384"], 1
    for pause_s in pauses_s:
        lines += [
            f"+{pause_s} < P. {sent}:{sent + 17_520}(17520) ack 101 win 500",
            f"+.0001 > . 101:101(0) ack {sent + 17_520} win 16384",
        ]
        sent += 17_520
    return "\n".join(lines)


def talks(number):
    """Twelve requests and answers within 12 ms, each confirmed by a packet without data, and one answer after 30 s."""
    turns = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 100 * n} win 502\n"
        f"+.001 < P. {1 + 100 * n}:{101 + 100 * n}(100) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    last = "+.001 > . 1201:1201(0) ack 1201 win 502\n+30 < P. 1201:1301(100) ack 1201 win 500\n"
    return scenario(HANDSHAKE + turns + last, server=Address(f"198.51.100.{number}", 80))


def test_idle_connections_of_a_capture_without_empty_packets_are_no_stall():
    """A filter on data took the acknowledgments: the last data seem to wait for the next request."""
    packets = [packet for number in (1, 2, 3) for packet in talks(number)]
    whole, data = (
        bdpcap.analyze(io.BytesIO(pcap(sorted(some, key=lambda one: one.time_ns))))
        for some in (packets, [one for one in packets if one.wire_length > EMPTY_BYTES])
    )
    assert common_stalls.shared(whole) is common_stalls.shared(data) is None
    assert whole.flows["longest_stall_ns"].max() < 1_000_000_000
    assert data.flows["longest_stall_ns"].isna().all()
    # Requests and answers in turn need no other packets.
    assert data.info.unacknowledged == 0


def behind(dialogue):
    """Return a dialogue whose server's packets passed nine routers of 64 hops."""
    return re.sub(r"(< .*win \d+)", r"\1 ttl 55", dialogue)


def unanswered(since_s, lasting_s):
    """An answer, acknowledged at once, and one that reaches the capture next to the client twice, and waits there."""
    return (
        HANDSHAKE
        + f"""
    +.001      > P. 1:101(100) ack 1 win 502
    +.020      < P. 1:101(100) ack 101 win 500
    +.0001     > . 101:101(0) ack 101 win 502
    {since_s}  < P. 101:201(100) ack 101 win 500
    +.300      < P. 101:201(100) ack 101 win 500
    +{lasting_s} > . 101:101(0) ack 201 win 502
    """
    )


def sentence(capture):
    return str(common_stalls.shared(capture) or "")


def captured(*dialogues):
    packets = [
        packet
        for number, (dialogue, server) in enumerate(dialogues)
        for packet in scenario(dialogue, client=Address(CLIENT.host, 40_000 + number), server=server)
    ]
    return bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))


def test_data_that_never_passed_show_no_stall_of_a_link():
    """A filter may drop them: the handshakes passed at that time."""
    request = HANDSHAKE + "{} > P. 1:101(100) ack 1 win 502\n+1 > P. 1:101(100) ack 1 win 502\n"
    request += "+2 > P. 1:101(100) ack 1 win 502\n+4 > P. 1:101(100) ack 1 win 502"
    capture = captured((request.format(5), SERVER), (request.format(6), ELSEWHERE))
    assert not sentence(capture)


def test_connections_that_wait_at_the_same_time_share_the_path_near_their_host():
    capture = captured((waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE))
    said = sentence(capture)
    assert said == (
        "Streams 0, 1 to 2 hosts waited at the same time for 2 s, from 6 s on. "
        f"They share the path near {CLIENT.host}. Pauses of other flows to it may be such waits, too. "
        f"Near {CLIENT.host}: See its wireless or access link first."
    )
    assert said in " ".join(html(capture).split())


def test_the_common_link_is_the_first_advice():
    said = " ".join(report.text(captured((waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE))).split())
    assert f"WHAT TO DO Near {CLIENT.host}: See its wireless or access link first. TO SEE IT" in said
    assert "Nothing to mend" not in said.partition("WHAT TO DO")[2]


def test_the_common_link_is_seen_first_also_where_connections_failed():
    """Two flows wait for a second and more, and SYNs to another host stay without an answer."""
    tries = "".join(f"{at} > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>\n" for at in (20, 21, 23))
    other = "40 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>"
    dialogues = [(waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE), (tries, Address("203.0.113.9", 80))]
    said = " ".join(report.text(captured(*dialogues, (other, SERVER))).split())
    assert "CONNECTIONS THAT FAILED" in said
    assert f"WHAT TO DO Near {CLIENT.host}: See its wireless or access link first." in said


def test_a_stall_explains_no_longer_pauses_at_another_time():
    """Two connections wait for two seconds at 6 s; a server writes from 60 s on, and pauses for 30 s each time."""
    slow = (news(60, [30] * 12), Address("203.0.113.8", 80))
    capture = captured((waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE), slow)
    stalls = common_stalls.shared(capture)
    assert stalls is not None
    assert not common_stalls.explains(stalls, capture.flow(2, "203.0.113.8:80"))


def test_a_link_that_brings_whole_flights_meanwhile_did_not_stall():
    """Two connections wait for two seconds at 6 s; at 7 s, a server writes twelve segments again and again."""
    busy = (news(7, [0.05] * 4), Address("203.0.113.8", 80))
    assert common_stalls.shared(captured((waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE), busy)) is None


@pytest.mark.parametrize("stalled", [True, False])
def test_a_link_that_stalls_is_seen_before_a_program_that_seems_to_pause(stalled):
    """A server writes 20 times twelve segments, 0.1 s to 0.5 s apart: its program paused, or the link held them."""
    slow = (news("+.001", [0.1 + number % 5 / 10 for number in range(20)]), Address("203.0.113.8", 80))
    waiting = [(waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE)] if stalled else [(waits(5, 3), SERVER)]
    capture = captured(*waiting, slow)
    said = " ".join(report.text(capture).split())
    assert "The sending program" in said or "server's program" in said
    assert ("203.0.113.8: See" in said or "On the sender, 203.0.113.8" in said) != stalled


@pytest.mark.parametrize(
    ("one", "other", "server"),
    [
        # The waits of the two do not meet, or for less than a timer.
        (waits(5, 3), waits(9, 3), ELSEWHERE),
        (waits(5, 3), waits(7.5, 3), ELSEWHERE),
        # One server may stall by itself.
        (waits(5, 3), waits(6, 4), SERVER),
        # What reaches the capture next to the client waits for that host, and for no path.
        (unanswered(5, 3), unanswered(6, 4), ELSEWHERE),
        # No timer ran out in so short a wait.
        (waits(5, 0.9), waits(5, 0.9), ELSEWHERE),
    ],
)
def test_other_stalls_show_no_common_path(one, other, server):
    assert sentence(captured((behind(one), SERVER), (behind(other), server))) == ""


@pytest.mark.parametrize(
    ("neighbour", "since_s", "shared"),
    [
        (waits(5, 0.9), 5.4, "500 ms, from 5.4 s on"),
        (behind(waits(5, 0.9)), 5.4, ""),  # a router on the way: it shares no more than any other host
        (waits(5, 0.4), 5, ""),  # the neighbour may have delayed its acknowledgment (RFC 1122)
        (waits(5, 0.9), 5.8, ""),  # the waits meet for 100 ms only
    ],
)
def test_a_neighbour_that_waits_too_shows_the_link_of_the_host_in_less_than_a_timer(
    neighbour, since_s, shared
):
    said = sentence(captured((neighbour, SERVER), (behind(waits(since_s, 0.9)), ELSEWHERE)))
    assert shared in said
    assert bool(said) == bool(shared)


@pytest.mark.parametrize(("ttl", "shared"), [(55, False), (64, True)])
def test_the_link_of_a_public_server_behind_routers_is_not_to_be_seen(ttl, shared):
    """Two hosts wait for one server; the capture is next to neither."""
    server, packets = Address("8.8.8.8", 443), []
    for number, since_s in enumerate((5, 6)):
        waiting = re.sub(
            r"(< .*win \d+)", rf"\1 ttl {ttl}", re.sub(r"(> .*win \d+)", r"\1 ttl 62", waits(since_s, 4))
        )
        packets += scenario(waiting, client=Address(f"192.0.2.{number + 1}", 40_000), server=server)
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    assert ("They share the path near 8.8.8.8" in sentence(capture)) == shared


def test_a_path_of_long_round_trips_does_not_stall():
    far = waits(5, 1.2).replace("+.020", "+1.2")
    assert sentence(captured((far, SERVER), (far, ELSEWHERE))) == ""


def test_a_connection_that_opened_late_waited_too():
    late = f"5.5 > S 0:0(0) win 64240 <mss 1460>\n7.5 {HANDSHAKE.strip().removeprefix('0')}"
    assert "Streams 0, 1 to 2 hosts waited at the same time for 2.02 s" in sentence(
        captured((waits(5, 3), SERVER), (late, ELSEWHERE))
    )


@pytest.mark.parametrize(("again", "shared"), [("", False), ("6 > S 0:0(0) win 64240 <mss 1460>\n", True)])
def test_a_syn_that_waits_for_its_timer_shows_no_stall_of_another_time(again, shared):
    # Between its two SYNs nothing was tried, so the second wait is no sign of the same stall.
    late = f"4 > S 0:0(0) win 64240 <mss 1460>\n{again}7.5 {HANDSHAKE.strip().removeprefix('0')}"
    said = sentence(captured((waits(5, 3), SERVER), (late, ELSEWHERE)))
    assert bool(said) == shared


def test_a_late_opening_over_ipv6_waited_with_others_of_its_host():
    client, late = (
        "2001:db8::1",
        f"5.5 > S 0:0(0) win 64240 <mss 1460>\n7.5 {HANDSHAKE.strip().removeprefix('0')}",
    )
    packets = scenario(waits(5, 3), client=Address(client, 40_000), server=Address("2001:db8:1::9", 80))
    packets += scenario(late, client=Address(client, 40_001), server=Address("2001:db8:2::9", 80))
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    assert (
        f"Streams 0, 1 to 2 hosts waited at the same time for 2.02 s, from 5.5 s on. They share the path near {client}"
        in (sentence(capture))
    )


def test_connections_begun_before_the_capture_wait_for_their_first_acknowledgments():
    """Both have sent before, so no acknowledgment in the capture comes before these data."""
    waiting = """
    {} > P. 1:101(100) ack 1 win 502
    +1 > P. 1:101(100) ack 1 win 502
    +2 < . 1:1(0) ack 101 win 500
    """
    packets = scenario(waiting.format(1)) + scenario(waiting.format(2), server=ELSEWHERE)
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    flows = capture.flows[capture.flows["sender"] == str(CLIENT)]
    assert set(flows["longest_stall_ns"]) == {3_000_000_000}
    assert capture.flow(0, str(CLIENT)).rtts["acked_bytes"].sum() == 100
    shared = common_stalls.shared(capture)
    assert "Streams 0, 1 to 2 hosts waited at the same time for 2 s" in shared.fact


def test_other_common_waits_of_a_host_are_counted():
    servers = [Address(f"203.0.113.{number}", 80) for number in range(2)]
    later = [(waits(20, 3), server) for server in servers]
    assert (
        "waited at the same time for 3 s, from 20 s on. Connections waited so together 1 more time, for 2 s at most."
        in (sentence(captured((waits(5, 3), SERVER), (waits(6, 4), ELSEWHERE), *later)))
    )


def test_an_outage_that_others_shared_needs_no_other_advice():
    lost = """
    5          > P. 101:201(100) ack 1 win 502
    +1         > P. 101:201(100) ack 1 win 502
    +2         > P. 101:201(100) ack 1 win 502
    +4         > P. 101:201(100) ack 1 win 502
    +.020      < . 1:1(0) ack 201 win 500
    """
    first = waits(5, 1).partition("5  >")[0] + lost
    alone, both_ = (
        " ".join(report.text(captured(*some)).split()).partition("WHAT TO DO")[2]
        for some in ([(first, SERVER), (waits(30, 0.02), ELSEWHERE)], [(first, SERVER), (first, ELSEWHERE)])
    )
    assert "Find out why nothing came back" in alone
    assert "See its wireless or access link first." in both_
    assert "Find out why nothing came back" not in both_


def served(since_s):
    """Five requests of 100 bytes and their answers, 0.1 s apart, from a time on."""
    return HANDSHAKE + "".join(
        f"{since_s + n / 10:.1f} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 100 * n} win 502\n"
        f"+.02 < P. {1 + 100 * n}:{101 + 100 * n}(100) ack {101 + 100 * n} win 500\n"
        f"+.001 > . {101 + 100 * n}:{101 + 100 * n}(0) ack {101 + 100 * n} win 502\n"
        for n in range(5)
    )


@pytest.mark.parametrize(
    ("others", "since_s", "network", "stalled"),
    [
        (2, 6.5, "8.8.4", False),
        (1, 6.5, "8.8.4", True),
        (2, 1, "8.8.4", True),
        (2, 6.5, "192.168.0", True),  # hosts of its own network
    ],
)
def test_a_link_that_carried_as_many_connections_as_waited_had_not_stalled(others, since_s, network, stalled):
    """Two timers may run at the same time by chance, as where packets are lost."""
    served_by = [(served(since_s), Address(f"{network}.{number + 1}", 443)) for number in range(others)]
    waiting = [(waits(begin_s, 3), Address(f"8.8.8.{begin_s}", 443)) for begin_s in (5, 6)]
    assert bool(sentence(captured(*waiting, *served_by))) == stalled
