"""How connections began and ended: dialogues of RFC 9293, and Wireshark's completeness of real ones."""

from __future__ import annotations

import io
import shutil
import subprocess
from dataclasses import replace

import pytest
from conftest import unavailable
from oracles import SAMPLES, SHARED
from packets import Address, pcap, tcp_packet
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.explain import trust
from bdpcap.report import connections
from bdpcap.report.page import html
from bdpcap.report.text import LINES
from bdpcap.words import units

SYN, SYN_ACK, ACK, DATA, FIN, RST = (1 << bit for bit in range(6))
HANDSHAKE_BITS = SYN | SYN_ACK


def analyzed(*dialogues, **how):
    packets = [packet for dialogue in dialogues for packet in scenario(dialogue, **how)]
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def lived(dialogue, **how):
    table = analyzed(dialogue, **how).connections
    assert len(table) == 1
    return table.iloc[0]


def outlived(dialogue):
    """The connection of a dialogue in a capture that goes on to 100 s, by another connection."""
    packets = scenario(dialogue) + scenario("100 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    return bdpcap.analyze(io.BytesIO(pcap(packets))).connections.iloc[0]


def test_both_ends_close():
    seen = lived(
        HANDSHAKE
        + """
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < . 1:1(0) ack 101 win 500
    +0    < F. 1:1(0) ack 101 win 500
    +0    > F. 101:101(0) ack 2 win 502
    +.020 < . 2:2(0) ack 102 win 500
    """
    )
    assert (seen.client, seen.server) == (str(CLIENT), str(SERVER))
    assert (seen.handshake, seen.ended, seen.ended_by) == ("complete", "fin", str(SERVER))
    assert (seen.client_bytes, seen.server_bytes, seen.unacknowledged_bytes) == (100, 0, 0)
    assert seen.completeness == 31


def test_syns_that_nobody_answers():
    tries = """
    0     > S 0:0(0) win 64240 <mss 1460>
    +1    > S 0:0(0) win 64240 <mss 1460>
    +2    > S 0:0(0) win 64240 <mss 1460>
    """
    seen = lived(tries)
    assert (seen.handshake, seen.syns, seen.ended, seen.completeness) == ("never answered", 3, "open", SYN)
    # The next would have come after four seconds.
    assert outlived(tries).ended == "timeout"


def test_a_reset_in_answer_to_the_syn_refuses():
    seen = lived("0 > S 0:0(0) win 64240\n+.020 < R. 0:0(0) ack 1 win 0")
    assert (seen.handshake, seen.ended, seen.ended_by) == ("refused", "rst", str(SERVER))


def test_a_reset_that_acknowledges_no_syn_refuses_nothing():
    # RFC 9293 section 3.10.7.3: in SYN-SENT a reset counts if its acknowledgment does.
    seen = lived("0 > S 0:0(0) win 64240\n+.020 < R. 0:0(0) ack 5000 win 0")
    assert (seen.handshake, seen.ended) == ("never answered", "open")


def test_a_handshake_that_the_client_leaves():
    seen = lived("0 > S 0:0(0) win 64240\n+.020 < S. 0:0(0) ack 1 win 65535\n+1 < S. 0:0(0) ack 1 win 65535")
    assert (seen.handshake, seen.syn_acks, seen.ended) == ("never completed", 2, "open")


def test_a_scan_that_resets_what_was_answered_completed_nothing():
    seen = lived("0 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+0 > R 1:1(0) win 0")
    assert (seen.handshake, seen.ended, seen.ended_by) == ("never completed", "rst", str(CLIENT))


def test_half_open_is_answered_with_a_reset_and_then_opened():
    # RFC 9293 figure 9: the server believes in an older connection.
    seen = lived(
        """
    0     > S  0:0(0) win 64240
    +.020 < .  300:300(0) ack 100 win 65535
    +0    > R  100:100(0) win 0
    +1    > S  0:0(0) win 64240
    +.020 < S. 0:0(0) ack 1 win 65535
    +0    > .  1:1(0) ack 1 win 502
    """
    )
    assert (seen.handshake, seen.syns, seen.ended) == ("complete", 2, "open")


# The server, or a device before it, holds an older connection with these ports: it answers the SYN by an ACK of that one,
# which the client must reset (RFC 9293 section 3.10.7.3).
CHALLENGED = """
    > S 0:0(0) win 64240
    +.020 < .  300:300(0) ack {number} win 65535
    +0    > R  {number}:{number}(0) win 0
"""


def challenged(number, *times):
    return "".join(time + CHALLENGED.strip("\n").format(number=number) + "\n" for time in times)


@pytest.mark.parametrize("number", [244_046_081, 0, -5000])
def test_an_ack_of_an_older_connection_opens_none(number):
    tries = challenged(number, "0", "+1", "+2")
    seen = lived(tries)
    assert (seen.handshake, seen.syns, seen.syn_acks, seen.ended) == ("challenged", 3, 0, "open")
    # The next SYN would have come after four seconds.
    assert outlived(tries).ended == "timeout"
    capture = analyzed(tries)
    (line,) = connections.sentences(capture)
    assert "1 connection from 192.0.2.1 to port 80 of 198.51.100.2 was answered only by ACKs" in line
    assert (
        "of an older one (3 SYNs in 3.06 s). The server, or a NAT or balancer before it, missed its end"
        in line
    )
    assert connections.failed(capture) == 1
    assert connections.in_vain(capture)


@pytest.mark.parametrize(
    ("later", "handshake"),
    [
        (
            "+1 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+0 > . 1:1(0) ack 1 win 502",
            "complete",
        ),
        ("+1 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+0 > R 1:1(0) win 0", "never completed"),
        ("+1 > S 0:0(0) win 64240\n+.02 < R. 0:0(0) ack 1 win 0", "refused"),
    ],
)
def test_a_later_answer_outranks_the_ack_of_an_older_connection(later, handshake):
    assert lived(challenged(-5000, "0") + later).handshake == handshake


@pytest.mark.parametrize("number", [1, 1001])
def test_an_ack_of_the_syn_is_of_this_connection(number):
    # The capture lacks the SYN-ACK, and perhaps data of the client. The server acknowledges the SYN, and so had it.
    seen = lived(
        f"0 > S 0:0(0) win 64240\n+.02 < . 1:1(0) ack {number} win 65535\n+0 > R {number}:{number}(0) win 0"
    )
    assert (seen.handshake, seen.ended) == ("never completed", "rst")


def test_a_challenged_syn_in_the_last_second_may_still_be_accepted():
    assert connections.sentences(analyzed(challenged(-5000, "0"))) == []


@pytest.mark.parametrize(
    ("number", "ended_by"),
    [
        (1_700_000_001, ""),
        (-900_000_000, ""),
        (70_000, ""),
        (1, str(SERVER)),
        # The capture lacks data of the server, which the window allows.
        (301, str(SERVER)),
    ],
)
def test_a_reset_that_a_foreign_acknowledgment_forced_ends_nothing(number, ended_by):
    # RFC 9293 section 3.10.7.4: in SYN-RECEIVED, an acknowledgment of data never sent is answered by such a reset.
    dialogue = f"""
    0     > S  0:0(0) win 64240
    +.020 < S. 0:0(0) ack 1 win 65535
    +0    > .  1:1(0) ack {number} win 502
    +.020 < R  {number}:{number}(0) win 0
    +0    > P. 1:101(100) ack {number} win 502
    """
    seen = lived(dialogue)
    assert (seen.ended, seen[["ended_by"]].fillna("").item()) == ("rst" if ended_by else "open", ended_by)
    said = " ".join(connections.sentences(analyzed(dialogue)))
    assert ("reset without an answer" in said) == bool(ended_by)


def test_both_open_at_once():
    # RFC 9293 figure 8.
    seen = lived(
        """
    0     > S  0:0(0) win 64240
    +.001 < S  0:0(0) win 65535
    +.010 > S. 0:0(0) ack 1 win 64240
    +.001 < S. 0:0(0) ack 1 win 65535
    +.010 > .  1:1(0) ack 1 win 502
    """
    )
    assert (seen.handshake, seen.ended) == ("complete", "open")


def test_a_syn_ack_with_another_number_is_of_the_same_connection():
    answer = "0 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+1 < S. 7000:7000(0) ack 1 win 65535"
    seen = lived(answer + "\n+0 > . 1:1(0) ack 7001 win 502")
    assert (seen.handshake, seen.syns, seen.syn_acks) == ("complete", 1, 2)


def test_a_syn_that_overtakes_a_fin_opens_the_next_connection():
    dialogue = HANDSHAKE + "+.1 > F. 1:1(0) ack 1 win 502"
    table = analyzed(dialogue, "1 > S 90000:90000(0) win 64240\n+.001 > F. 1:1(0) ack 1 win 502").connections
    # What was sent last of the older connection says nothing of the next one.
    assert table["handshake"].tolist() == ["complete", "never answered"]
    assert table["ended"].tolist() == ["half-closed", "open"]


def test_a_reset_in_the_middle_loses_data():
    seen = lived(
        HANDSHAKE
        + """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < R. 1:1(0) ack 1 win 0
    """
    )
    assert (seen.ended, seen.ended_by, seen.unacknowledged_bytes) == ("rst", str(SERVER), 1000)


def test_a_reset_after_both_fins_ended_nothing():
    seen = lived(
        HANDSHAKE
        + """
    +.001 > F. 1:1(0) ack 1 win 502
    +.020 < F. 1:1(0) ack 2 win 500
    +0    > R 2:2(0) win 0
    """
    )
    assert (seen.ended, seen.ended_by) == ("fin", str(CLIENT))
    assert seen.completeness & RST


@pytest.mark.parametrize(("sequence", "ended"), [(1, "rst"), (60_000, "rst"), (70_000, "open"), (-5, "open")])
def test_a_reset_outside_the_window_is_not_believed(sequence, ended):
    # The client advertised 502 << 7 = 64,256 bytes.
    assert lived(HANDSHAKE + f"+.5 < R {sequence}:{sequence}(0) win 0").ended == ended


def test_data_that_is_given_up():
    dialogue = (
        HANDSHAKE
        + """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.3   > P. 1:1001(1000) ack 1 win 502
    +.6   > P. 1:1001(1000) ack 1 win 502
    """
    )
    assert lived(dialogue).ended == "open"  # the capture may have ended before the next
    assert outlived(dialogue)[["ended", "unacknowledged_bytes"]].tolist() == ["timeout", 1000]


def test_a_connection_seen_from_its_middle():
    seen = lived("0 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500")
    assert (seen.handshake, seen.syns, seen.ended) == ("not captured", 0, "open")


def test_a_client_that_goes_on_was_answered():
    # The capture lacks the other way.
    seen = lived("0 > S 0:0(0) win 64240\n+.02 > . 1:1(0) ack 1 win 502\n+0 > P. 1:101(100) ack 1 win 502")
    assert seen.handshake == "not captured"


def test_a_scan_is_one_line():
    packets = []
    for port in range(1, 1001):
        for number in (0, 1):
            ends = {"client": Address("10.0.0.5", 40000 + number), "server": Address("10.0.0.9", port)}
            packets += scenario("0 > S 0:0(0) win 1024", **ends)
    packets += scenario("5" + HANDSHAKE.strip().removeprefix("0"))
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    (told,) = connections.sentences(capture)
    assert told.startswith(
        "2,000 connections from 10.0.0.5 to 1,000 ports of 10.0.0.9 were never answered (2,000 SYNs"
    )
    assert told.endswith("as a port scan does: nothing to mend, unless nobody wanted the scan.")
    assert "never answered" in " ".join(report.text(capture).split())
    assert html(capture).count(units.joined(told)) == 1
    assert dict(trust.facts(capture))["handshakes"] == "never answered (2,000), complete (1)"


@pytest.mark.parametrize(
    ("ports", "named"),
    [
        ([81], "port 81"),
        ([30203, 30102, 30203], "ports 30102 and 30203"),
        ([9000, 81, 443], "ports 81, 443 and 9000"),
        ([81, 82, 83, 84], "4 ports"),
    ],
)
def test_a_sentence_names_up_to_three_ports(ports, named):
    packets = []
    for number, port in enumerate(ports):
        ends = {"client": Address(CLIENT.host, 40_000 + number), "server": Address(SERVER.host, port)}
        packets += scenario(f"{number} > S 0:0(0) win 64240\n+.02 < R. 0:0(0) ack 1 win 0", **ends)
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert f" to {named} of {SERVER.host} w" in line


@pytest.mark.parametrize(
    ("servers", "named"),
    [
        (
            2,
            "port 443 of 198.51.100.1 and 198.51.100.2 were never answered (up to 3 SYNs in 3 s each). Check the",
        ),
        (4, "port 443 of 4 hosts were never answered (up to 3 SYNs in 3 s each). Check the"),
    ],
)
def test_one_line_has_all_syns_of_a_client_that_nobody_answered(servers, named):
    def tried(client, number, repeats):
        again = "".join(f"\n+{gap} > S 0:0(0) win 64240" for gap in (1, 2)[:repeats])
        ends = {"client": Address(client, 40_000 + number), "server": Address(f"198.51.100.{number}", 443)}
        return scenario(f"{number} > S 0:0(0) win 64240{again}", **ends)

    packets = tried("192.0.2.7", 99, 2) + scenario("200 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    for number in range(1, servers + 1):
        packets += tried(CLIENT.host, number, 2 if number == 2 else 1)
    packets.sort(key=lambda packet: packet.time_ns)
    first, other = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert first.startswith(f"{servers} connections from {CLIENT.host} to {named}")
    # Another client has its own line.
    assert other.startswith(
        "1 connection from 192.0.2.7 to port 443 of 198.51.100.99 was never answered (3 SYNs"
    )


def test_a_client_with_two_causes_has_two_lines():
    # One server answered its other port: a filter drops the SYNs there, whatever became of the other server.
    (one, other) = failed(
        "100 > S 0:0(0) win 64240\n+1 > S 0:0(0) win 64240",
        "",
        100.5,
        beside=scenario(
            "100 > S 0:0(0) win 64240\n+1 > S 0:0(0) win 64240", server=Address("203.0.113.5", 80)
        ),
    )
    assert {"so the route works" in one, "so the route works" in other} == {True, False}


def test_nothing_is_told_where_nothing_failed():
    assert connections.sentences(analyzed(HANDSHAKE)) == []


@pytest.mark.parametrize(("last_s", "told"), [(3.5, 0), (9, 1)])
def test_a_syn_in_the_last_second_may_still_be_answered(last_s, told):
    packets = scenario(HANDSHAKE) + scenario("3 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    packets += scenario(f"{last_s} > . 1:1(0) ack 1 win 502")
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert len(said) == told
    assert all("was never answered (1 SYN)." in line for line in said)


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        ("+0 > R 1:1(0) win 0", "was answered, and reset by the client before any data."),
        ("+1 < S. 0:0(0) ack 1 win 65535", "was answered, and never completed by the client."),
    ],
)
def test_a_client_that_withdrew_has_the_answer(answered, said):
    capture = analyzed(f"0 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n{answered}")
    (line,) = connections.sentences(capture)
    assert said in line
    assert connections.failed(capture) == ("never completed" in said)


def failed(failing, others, start_s=0, end_s=200, port=81, beside=()):
    """The sentences on a dialogue with another port, beside a complete connection of the same hosts from `start_s` on."""
    alive = scenario(f"{start_s}{HANDSHAKE.strip().removeprefix('0')}\n{others}")
    packets = alive + scenario(
        failing, client=Address(CLIENT.host, 50_000), server=Address(SERVER.host, port)
    )
    packets += scenario(f"{end_s} > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    packets += beside
    packets.sort(key=lambda packet: packet.time_ns)
    return connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))


OPTIONS = "<mss 1460,sackOK,wscale 7>"
UNANSWERED = "100 > S 0:0(0) win 64240\n+1 > S 0:0(0) win 64240"


def test_one_syn_shows_no_filter_when_the_capture_ends_before_the_next():
    """The second SYN comes after a second, or three (RFC 2988 section 2.1)."""
    once = UNANSWERED.partition("\n")[0]
    said = [failed(once, "", 99.5, end_s)[0] for end_s in (102, 104)]
    assert "The capture ends too soon to tell" in said[0]
    assert "the client gave up at once" in said[1]


@pytest.mark.parametrize(("start_s", "works"), [(100.5, True), (0, False)])
def test_a_route_on_which_packets_passed_at_that_time_is_not_to_be_checked(start_s, works):
    (line,) = failed(UNANSWERED, "", start_s)
    assert ("so the route works" in line) == works
    assert ("at another time, so that host was up" in line) != works


def test_a_port_that_answered_other_connections_drops_none():
    # The connection beside is to the same port: its SYN was answered.
    (line,) = failed("100 > S 0:0(0) win 64240", "", 100.5, port=SERVER.port)
    assert line.endswith(
        "The port answered other connections: a SYN or its answer was lost, or the client gave up at once."
    )


@pytest.mark.parametrize(
    ("syns", "start_s", "by_chance"),
    [
        (3, 102.5, False),
        (2, 100.5, True),
        (3, 120, True),
    ],  # another connection opens meanwhile, or long after
)
def test_a_connection_that_loses_every_syn_while_others_open_is_no_chance(syns, start_s, by_chance):
    failing = "100 > S 0:0(0) win 64240\n" + "+1.5 > S 0:0(0) win 64240\n" * (syns - 1)
    (line,) = failed(failing, "", start_s, port=SERVER.port)
    assert (
        "The port answered other connections: SYNs or answers were lost, or a limit or a full queue dropped them."
        in line
    ) == by_chance
    assert ("so this is no loss by chance" in line) != by_chance


@pytest.mark.parametrize(("end_s", "gave_up"), [(104, True), (102, False)])
def test_a_client_that_sends_no_second_syn_gave_up(end_s, gave_up):
    (line,) = failed("100 > S 0:0(0) win 64240", "", 0, end_s)
    assert ("the client gave up at once" in line) == gave_up


@pytest.mark.parametrize(("start_s", "first"), [(60, True), (80, False)])
def test_a_lone_syn_may_be_the_last_of_a_series(start_s, first):
    # Linux waits for 1, 2, 4, 8, 16 and at last 32 s between its SYNs (tcp_syn_retries).
    (line,) = failed("100 > S 0:0(0) win 64240", "", start_s, 104)
    assert ("the client gave up at once, as probes do" in line) == first
    assert ("begun before the capture" in line) != first


@pytest.mark.parametrize(
    ("tries", "elsewhere", "works"), [(2, False, False), (2, True, True), (1, False, True)]
)
def test_an_address_that_nobody_answers_is_wrong(tries, elsewhere, works):
    vpn = Address("100.64.0.9", 50_000)
    packets = scenario(HANDSHAKE)
    for again in range(tries):
        packets += scenario(f"{1 + again} > S 0:0(0) win 64240", client=vpn)
    if elsewhere:
        packets += scenario(HANDSHAKE, client=vpn, server=Address("203.0.113.7", 443))
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    line = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))[0]
    assert ("No SYN of 100.64.0.9 was answered anywhere" in line) != works
    assert ("The port answered other connections" in line) == works
    assert ("gave up at once" in line) == (tries == 1)


@pytest.mark.parametrize("left", [False, True])
def test_a_syn_that_never_left_the_router_was_dropped_there(left):
    packets = scenario(HANDSHAKE + "+.001 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500")
    blocked = scenario(UNANSWERED, client=Address(CLIENT.host, 50_000), server=Address(SERVER.host, 81))
    packets += scenario("200 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    ttl = 14 + 8  # in the Ethernet frame
    behind = [
        replace(
            packet,
            time_ns=packet.time_ns + 10_000,
            data=packet.data[:ttl] + bytes([63]) + packet.data[ttl + 1 :],
        )
        for packet in packets + (blocked if left else [])
    ]
    every = sorted([*packets, *blocked, *behind], key=lambda packet: packet.time_ns)
    line = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(every))))[0]
    assert ("never left it: it dropped them" in line) != left


@pytest.mark.parametrize(
    ("ttl", "by_other"),
    [
        # The server's packets passed 20 routers. A host may send resets with another initial TTL.
        (62, True),
        (43, False),
        (108, False),
        (235, False),
    ],
)
def test_a_reset_over_fewer_routers_is_no_servers(ttl, by_other):
    packets = scenario(
        f"""
        0     > S  0:0(0) win 64240 <mss 1460>
        +.200 < S. 0:0(0) ack 1 win 65160 ttl 44 <mss 1460>
        +.001 > .  1:1(0) ack 1 win 502
        +.001 > P. 1:201(200) ack 1 win 502
        +.020 < R. 1:1(0) ack 201 win 0 ttl {ttl}
        """
    )
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("was reset by a device on the way." in line) == by_other
    assert ("was reset without an answer." in line) != by_other


@pytest.mark.parametrize(("acked", "given_up"), [(1, True), (518, False)])
def test_a_request_that_never_arrived_fails_whoever_closes(acked, given_up):
    asked = "> P. 1:518(517) ack 1 win 502"
    again = "".join(f"\n+{wait} {asked}" for wait in (0.3, 0.6, 1.2, 2.4))
    closed = f"+1 < F. 1:1(0) ack {acked} win 500\n+.001 > . 518:518(0) ack 2 win 502"
    capture = analyzed(f"{HANDSHAKE}+.1 {asked}{again}\n{closed}")
    said = " ".join(connections.sentences(capture))
    assert ("given up with 517 bytes unacknowledged" in said) == given_up


@pytest.mark.parametrize(("after_s", "soon"), [(0.1, True), (6, False)])
def test_a_reset_soon_after_the_opening_is_of_no_idle_connection(after_s, soon):
    asked = f"+{after_s} > P. 1:518(517) ack 1 win 502\n+.15 < R. 1:1(0) ack 518 win 0"
    (line,) = connections.sentences(analyzed(f"{HANDSHAKE}{asked}"))
    assert "was reset without an answer." in line
    assert ("reset it so soon after the opening" in line) == soon
    assert ("Either may forget an idle connection" in line) != soon


@pytest.mark.parametrize(("source", "false"), [("203.0.113.9", True), ("127.0.0.1", False)])
def test_a_syn_of_another_host_over_loopback_has_a_false_address(source, false):
    server = Address("127.0.0.1", 8000)
    answered = scenario(
        "0 > S 0:0(0) win 64240 <mss 1460>\n+.0001 < R. 0:0(0) ack 1 win 0",
        client=Address("127.0.0.1", 5000),
        server=Address("127.0.0.1", 99),
    )
    packets = answered + scenario(
        "0 > S 0:0(0) win 8192\n+1 > S 0:0(0) win 8192", client=Address(source, 4000), server=server
    )
    said = " ".join(connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert ("made these packets with false addresses" in said) == false


@pytest.mark.parametrize("by_client", [False, True])
def test_the_end_that_sent_no_fin_again_is_the_silent_one(by_client):
    # Both ends have closed, and one of them sends its FIN again and again; the capture is next to the client.
    closed = (
        "+.01 > F. 1:1(0) ack 1 win 502\n+.02 < F. 1:1(0) ack 2 win 500 ttl 55\n+0 > . 2:2(0) ack 2 win 502"
    )
    if by_client:
        closed = "+.01 < F. 1:1(0) ack 1 win 500 ttl 55\n+0 > . 1:1(0) ack 2 win 502"
        again = "".join(f"\n+{wait} > F. 1:1(0) ack 2 win 502" for wait in (0.1, 0.3, 0.6, 1.2, 2.4))
    else:
        again = "".join(f"\n+{wait} < F. 1:1(0) ack 2 win 500 ttl 55" for wait in (0.3, 0.6, 1.2, 2.4))
    opened = HANDSHAKE.replace("ack 1 win 65535", "ack 1 win 65535 ttl 55")
    (line,) = connections.sentences(analyzed(f"{opened}{closed}{again}"))
    assert "no FIN was answered" in line
    assert ("The FINs reached the capture next to 192.0.2.1" in line) != by_client
    # It had closed before the other end did, so it forgot nothing in a sleep.
    assert ("which had closed the connection itself" in line) != by_client


@pytest.mark.parametrize(("syns", "generated"), [(20, False), (21, True)])
def test_a_syn_that_no_tcp_repeats_so_often_is_a_programs(syns, generated):
    lines = "\n".join(f"{second}.5 > S 0:0(0) win 8192" for second in range(syns))
    (line,) = connections.sentences(analyzed(lines))
    assert f"never answered ({syns} SYNs in {syns - 1} s)" in line
    assert ("a program makes these packets" in line) == generated
    assert ("Check the host, the route" in line) != generated


@pytest.mark.parametrize(
    ("server", "port", "start_s", "fell_back"),
    [
        ("203.0.113.7", 80, 1.05, True),
        ("203.0.113.7", 81, 1.05, False),
        ("203.0.113.7", 80, 9, False),
        # The same IP version shows no fallback.
        ("2001:db8::9", 80, 1.05, False),
    ],
)
def test_a_refusal_before_the_other_ip_version_is_a_fallback(server, port, start_s, fell_back):
    client, host = Address("2001:db8::1", 50_000), Address("2001:db8::2", 80)
    refused = f"1 > S 0:0(0) win 64240 {OPTIONS}\n+.0001 < R. 0:0(0) ack 1 win 0"
    other = Address("2001:db8::1" if ":" in server else CLIENT.host, 50_001)
    packets = scenario(refused, client=client, server=host)
    handshake = HANDSHAKE.replace("0     >", f"{start_s} >", 1)
    packets += scenario(handshake, client=other, server=Address(server, port))
    line = next(
        line for line in connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))) if "refused" in line
    )
    assert ("over the other IP version followed at once" in line) == fell_back


def test_answers_that_reached_the_client_had_no_bad_way_back():
    answered = "1 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+1 < S. 0:0(0) ack 1 win 65535"
    (line,) = failed(answered, "")
    assert "The answers reached the capture next to the client: " in line
    assert "way back" not in line


@pytest.mark.parametrize(
    ("servers", "answered", "told"), [(3, False, True), (2, False, False), (3, True, False)]
)
def test_a_network_without_a_way_over_ipv6_is_told_so(servers, answered, told):
    """Programs try both IP versions. Where no server of several answers over IPv6, the servers are not down."""
    client = Address("2001:db8::1", 50_000)
    packets = scenario(HANDSHAKE, server=Address("203.0.113.7", 443))
    for number in range(servers):
        packets += scenario(
            f"{number} {TRY}\n+1 {TRY}", client=client, server=Address(f"2001:db8:{number}::2", 443)
        )
    if answered:
        packets += scenario(HANDSHAKE, client=client, server=Address("2001:db8:9::2", 443))
    packets.sort(key=lambda packet: packet.time_ns)
    said = " ".join(connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert f"{servers} connections from [2001:db8::1] to port 443" in said or not told
    assert ("No server answered over IPv6, and others did over IPv4" in said) == told


@pytest.mark.parametrize(
    ("server", "port", "start_s", "raced"),
    [
        ("2001:db8::2", 80, 0.7, True),
        ("2001:db8::2", 81, 0.7, False),
        # It was open by then.
        ("2001:db8::2", 80, 0.3, False),
        ("203.0.113.7", 80, 0.7, False),
    ],
)
def test_the_slower_of_two_ip_versions_is_dropped(server, port, start_s, raced):
    # RFC 8305: the next address is tried after 250 ms, and the first that answers is kept.
    answer = "< S. 0:0(0) ack 1 win 65535 ttl 50"
    answered = f"1 > S 0:0(0) win 64240 {OPTIONS}\n+.02 {answer}\n+1 {answer}"
    client = Address("2001:db8::1" if ":" in server else CLIENT.host, 50_000)
    handshake = HANDSHAKE.replace("0     >", f"{start_s} >", 1).replace("+.020", "+.4")
    packets = scenario(answered) + scenario(handshake, client=client, server=Address(server, port))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("other IP version" in line) == raced
    assert ("The answers reached the capture" in line) != raced


def test_a_port_that_accepts_later_had_not_started():
    refused = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+.02 < R. 0:0(0) ack 1 win 0"
    assert failed(refused, "", start_s=9, port=SERVER.port)[0].endswith("the service had not started yet.")
    assert failed(refused, "", start_s=9)[0].endswith("check the address and the port.")


@pytest.mark.parametrize(
    ("accepted_s", "client", "said"),
    [
        ((1, 3), CLIENT.host, " s after the capture began: the service stopped."),
        # The last acceptance follows a first refusal.
        ((1, 3, 9), CLIENT.host, "the service was down meanwhile"),
        ((), CLIENT.host, "check the address and the port."),
        # A filter may refuse one client and let another pass.
        ((1, 3), "192.0.2.9", "check the address and the port."),
    ],
)
@pytest.mark.parametrize("ports", [(80,), (80, 81)])
def test_a_port_that_accepted_the_client_before_it_refused_stopped(accepted_s, client, said, ports):
    """A reset says that nothing listens (RFC 9293 section 3.10.7.1), a SYN-ACK that something does."""
    packets = scenario("0 > S 0:0(0) win 64240", client=Address("192.0.2.8", 9))
    # The second port stops later than the first one refuses.
    for number, port in enumerate(ports):
        server, later_s = Address(SERVER.host, port), 3 * number
        for at_s in accepted_s:
            opens = f"{at_s + later_s}{HANDSHAKE.strip().removeprefix('0')}"
            packets += scenario(opens, client=Address(CLIENT.host, 40_000 + at_s), server=server)
        for at_s in (5, 6):
            refused = f"{at_s + later_s} > S 0:0(0) win 64240 {OPTIONS}\n+.02 < R. 0:0(0) ack 1 win 0"
            packets += scenario(refused, client=Address(client, 50_000 + at_s), server=server)
    packets.sort(key=lambda packet: packet.time_ns)
    lines = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert said in next(line for line in lines if "refused" in line)


@pytest.mark.parametrize(
    ("fins", "answer", "told"),
    [
        (3, "", False),  # two timers ran out
        (4, "", True),
        (6, "", True),
        (6, "+.1 < . 1:1(0) ack 2 win 500", False),
        (6, "+.1 < . 1:1(0) ack 1 win 500", True),  # the FIN never reached it
        (6, "+.1 < R 1:1(0) win 0", False),
        (6, "+9 > R. 2:2(0) ack 1 win 500", True),  # its own reset is no answer
    ],
)
def test_fins_that_nothing_answers_are_told_for_all_servers_of_a_client(fins, answer, told):
    closing = "\n".join(f"+{2**n} > F. 1:1(0) ack 1 win 500" for n in range(fins))
    packets = [
        packet
        for number in range(2)
        for packet in scenario(f"{closing}\n{answer}", server=Address(f"198.51.100.{20 + number}", 443))
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    said = connections.sentences(capture)
    servers = "port 443 of 198.51.100.20 and 198.51.100.21"
    line = (
        f"2 connections from 192.0.2.1 to {servers} were closed, and no FIN was answered ({2 * fins} FINs)."
    )
    assert [one.startswith(line) for one in said] == ([True] if told else [])
    assert any("gave up with a reset" in one for one in said) == (told and "R." in answer)
    assert connections.failed(capture) == 0


@pytest.mark.parametrize(
    ("opening", "idle", "forgotten"), [(True, 0.001, False), (True, 300, True), (False, 0.001, True)]
)
def test_a_connection_closed_at_once_was_not_forgotten_as_idle(opening, idle, forgotten):
    closing = "\n".join(f"+{2**n if n else idle} > F. 1:1(0) ack 1 win 500" for n in range(5))
    handshake = "0 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+0 > . 1:1(0) ack 1 win 502\n"
    (said,) = connections.sentences(analyzed(f"{handshake if opening else ''}{closing}"))
    assert ("had forgotten the idle connection" in said) == forgotten


@pytest.mark.parametrize("tries", [2, 5])
def test_ends_that_both_repeat_what_the_other_never_gets_had_a_firewall_between_them(tries):
    again = "\n".join(f"+{2**n} > P. 1:201(200) ack 1 win 500" for n in range(tries))
    closing = "\n".join(f"+{2**n} < F. 1:1(0) ack 1 win 500" for n in range(6))
    said = connections.sentences(analyzed(f"{again}\n{closing}"))
    assert any("neither got what the other sent" in one for one in said) == (tries == 5)


@pytest.mark.parametrize(("acknowledged", "lost"), [("", True), ("+.020 < . 2:2(0) ack 2001 win 500", False)])
def test_data_on_an_idle_connection_that_only_a_reset_answers_are_lost(acknowledged, lost):
    """From its middle on: a reset answers data that no connection is there for (RFC 9293 section 3.5.2)."""
    idle = "0 > . 1:1(0) ack 2 win 502\n+.020 < . 2:2(0) ack 1 win 500"
    asked = f"+30 > P. 1:2001(2000) ack 2 win 502\n{acknowledged}\n+.020 < R. 2:2(0) ack 1 win 0"
    said = connections.sentences(analyzed(f"{idle}\n{asked}"))
    assert any("was reset without an answer" in one for one in said) == lost


ANSWERED = "+.01 < P. 1:1001(1000) ack 101 win 502\n+.01 > . 101:101(0) ack 1001 win 502"


@pytest.mark.parametrize(
    ("before", "late", "reset", "lost"),
    [
        ("", 54, "> R 102:102(0) win 0", True),
        # It reads what comes after its FIN.
        ("", 54, "> . 102:102(0) ack 55 win 502", False),
        # It was lost before, and the client stopped waiting for it.
        (
            "+.01 < P. 1:55(54) ack 101 win 502\n+.3 < P. 1:55(54) ack 101 win 502",
            54,
            "> R 102:102(0) win 0",
            False,
        ),
        # A client that had a part of its answer may need no more.
        (ANSWERED, 900, "> R 102:102(0) win 0", False),
    ],
)
@pytest.mark.parametrize("closes", [False, True])
def test_data_that_come_once_an_end_has_closed_are_lost(before, late, reset, lost, closes):
    """A reset answers what comes to a closed end (RFC 9293 section 3.10.7.1), also where the other end closes, too."""
    first = 1001 if before == ANSWERED else 1
    asked = "+.01 > P. 1:101(100) ack 1 win 502\n+.01 < . 1:1(0) ack 101 win 502"
    left = f"+.01 > F. 101:101(0) ack {first} win 502\n+.01 < . {first}:{first}(0) ack 102 win 502"
    came = f"+.1 < {'F' if closes else ''}P. {first}:{first + late}({late}) ack 102 win 502\n+.01 {reset}"
    capture = analyzed(HANDSHAKE + f"{asked}\n{before}\n{left}\n{came}")
    said = (
        "1 connection from 192.0.2.1 to port 80 of 198.51.100.2 was closed by the client before all data came"
    )
    assert [line.startswith(said) for line in connections.sentences(capture)] == ([True] if lost else [])
    assert connections.failed(capture) == 0


@pytest.mark.parametrize(
    ("before", "first", "late", "lost"),
    [
        ("", 1, 300, True),
        ("+.01 > P. 1:301(300) ack 1 win 502\n+.02 < . 1:1(0) ack 301 win 500", 301, 700, True),
        # The receiver of an upload may end it.
        ("+.01 > P. 1:30001(30000) ack 1 win 502\n+.02 < . 1:1(0) ack 30001 win 500", 30_001, 700, False),
        # A TLS alert as a farewell (RFC 8446 section 6.1).
        ("+.01 > P. 1:301(300) ack 1 win 502\n+.02 < . 1:1(0) ack 301 win 500", 301, 31, False),
    ],
)
def test_a_request_to_a_server_that_had_closed_is_lost(before, first, late, lost):
    closed = f"+5 < F. 1:1(0) ack {first} win 500\n+.02 > . {first}:{first}(0) ack 2 win 502"
    asked = f"+9 > P. {first}:{first + late}({late}) ack 2 win 502\n+.02 < R 2:2(0) win 0"
    said = " ".join(connections.sentences(analyzed(HANDSHAKE + f"{before}\n{closed}\n{asked}")))
    told = f"closed by the server before all data came, which a reset answered ({late} bytes unacknowledged)"
    assert (told in said) == ("A client that drops idle connections sooner" in said) == lost


@pytest.mark.parametrize(("written_after_s", "idle"), [(0.9, False), (4.9, False), (5, True)])
def test_a_server_that_closes_a_new_connection_turns_its_client_away(written_after_s, idle):
    """Apache's KeepAliveTimeout, the shortest in wide use, is 5 s."""
    closed = "+.02 < P. 1:125(124) ack 1 win 500\n+0 < F. 125:125(0) ack 1 win 500\n+.02 > . 1:1(0) ack 126 win 502"
    asked = f"+{written_after_s} > P. 1:601(600) ack 126 win 502\n+.02 < R 126:126(0) win 0"
    said = " ".join(connections.sentences(analyzed(HANDSHAKE + f"{closed}\n{asked}")))
    assert "closed by the server before all data came" in said
    assert ("A client that drops idle connections sooner" in said) == idle
    assert ("it closed soon after the opening" in said) != idle


CLOSED = "".join(f"+{wait} < F. 1:1(0) ack 1 win 500 ttl 55\n" for wait in (0.02, 1, 2, 4))
SENT_AGAIN = "".join(
    f"+{wait} < P. 1:1001(1000) ack 1 win 500 ttl 55\n" for wait in (0.02, 0.3, 0.6, 1.2, 2.4)
)


@pytest.mark.parametrize(
    ("silent", "client_ttl", "advice"),
    [
        (CLOSED, 64, "The FINs reached the capture next to 192.0.2.1"),
        (SENT_AGAIN, 64, "Retransmissions reached the capture next to 192.0.2.1, which answered none"),
        # The way over the two routers between the capture and the client may be broken.
        (SENT_AGAIN, 62, "Find what broke, the path or the far end"),
        # These left the capture next to the client, and got lost behind it, or at the server.
        (SENT_AGAIN.replace("<", ">").replace(" ttl 55", ""), 64, "Find what broke, the path or the far end"),
    ],
)
def test_a_host_next_to_the_capture_that_answers_nothing_is_named(silent, client_ttl, advice):
    opens = HANDSHAKE.replace("win 65535", "win 65535 ttl 55")
    opens = opens.replace("win 64240", f"win 64240 ttl {client_ttl}").replace(
        "win 502", f"win 502 ttl {client_ttl}"
    )
    packets = scenario(opens + silent) + scenario("100 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert any(advice in one for one in said)


@pytest.mark.parametrize(("ports", "scan"), [(14, False), (15, True)])
def test_a_scan_explains_whatever_its_ports_answered(ports, scan):
    packets = []
    for port in range(1, ports + 2):
        answer = (
            "R. 0:0(0) ack 1 win 0" if port <= ports else "S. 0:0(0) ack 1 win 65535\n+.02 > R 1:1(0) win 0"
        )
        dialogue = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+.02 < {answer}"
        packets += scenario(dialogue, server=Address(SERVER.host, port))
    refused, withdrawn = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("port scan" in refused) == scan
    assert ("Start the service" in refused) != scan
    assert withdrawn.endswith("before any data.") == scan  # the advice stands above


@pytest.mark.parametrize(
    ("client", "ttl", "options", "tries", "probe"),
    [
        ("8.8.8.8", 50, OPTIONS, 1, True),
        # A client that comes back wants the service.
        ("8.8.8.8", 50, OPTIONS, 2, False),
        # The capture is next to the client: this is no stranger.
        ("8.8.8.8", 64, OPTIONS, 1, False),
        ("192.168.1.9", 50, OPTIONS, 1, False),
        # No system sends so few options.
        ("192.168.1.9", 50, "<mss 1460>", 1, True),
    ],
)
def test_a_stranger_who_tries_once_probed(client, ttl, options, tries, probe):
    packets = []
    for number in range(tries):
        dialogue = f"{60 * number} > S 0:0(0) win 64240 ttl {ttl} {options}\n+.0001 < R. 0:0(0) ack 1 win 0"
        packets += scenario(dialogue, client=Address(client, 40_000 + number))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("Probably probes of scanners" in line) == probe
    assert ("Start the service" in line) != probe


@pytest.mark.parametrize(("strangers", "background"), [(3, False), (4, True)])
def test_several_strangers_at_several_ports_look_for_no_service(strangers, background):
    packets = []
    for number in range(strangers):
        server = Address("51.75.20.124", 2375 + number)
        # Behind routers on both sides; one of them comes back, as a client of a service does.
        for again in range(1 + (number == 0)):
            dialogue = (
                f"{9 * again} > S 0:0(0) win 64240 ttl 50 {OPTIONS}\n+.02 < R. 0:0(0) ack 1 win 0 ttl 60"
            )
            packets += scenario(dialogue, client=Address(f"8.8.{number}.8", 40_000 + again), server=server)
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert any("Probably probes of scanners" in line for line in said) == background
    assert any("Its operator can start it" in line for line in said) != background


@pytest.mark.parametrize(
    ("client", "options", "probe"),
    [("8.8.8.8", "<mss 1460>", True), ("8.8.8.8", OPTIONS, False), ("192.168.1.9", "<mss 1460>", False)],
)
def test_a_strangers_bare_syn_that_it_never_completes_is_a_probe(client, options, probe):
    dialogue = f"0 > S 0:0(0) win 65535 ttl 50 {options}\n" + "\n".join(
        f"+{wait} < S. 0:0(0) ack 1 win 65535 {options}" for wait in (0.0001, 1, 2)
    )
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(dialogue, client=Address(client, 40_000)))))
    (line,) = connections.sentences(capture)
    assert ("as those of scanners" in line) == probe
    assert ("Check the way back to the client" in line) != probe


SERVED = """
    0      > S  0:0(0)       win 64240 <mss 1460>
    +.0001 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +.02   > .  1:1(0) ack 1 win 502
    +.001  < P. 1:101(100) ack 1 win 502
    +.02   > .  1:1(0) ack 101 win 500
"""
"""The server answers at once, and the client's acknowledgments take 20 ms: the capture is next to the server."""


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ("8.8.8.8", "its own filter drops them. Strangers of the Internet look for open ports so"),
        ("192.168.1.9", "its own filter drops them."),
    ],
)
def test_the_host_that_captured_drops_the_syns_that_it_leaves_unanswered(client, said):
    packets = scenario(SERVED) + scenario(
        "5 > S 0:0(0) win 1024 ttl 50", client=Address(client, 9), server=Address(SERVER.host, 23)
    )
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    line = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))[0]
    assert line.endswith(said) or f"{said}:" in line


def test_one_line_names_all_ports_that_strangers_tried_at_the_host_that_captured():
    packets = scenario(SERVED)
    clients = ("8.8.8.8", "8.8.4.4", "8.8.4.4", "9.9.9.9", "192.168.1.9")
    for number, client in enumerate(clients):
        packets += scenario(
            f"{5 + number} > S 0:0(0) win 1024 ttl 50",
            client=Address(client, 9 + number),
            server=Address(SERVER.host, 23 + number),
        )
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    own, *_ = [line for line in connections.sentences(capture) if "3 hosts" in line]
    assert own.startswith(
        f"4 connections from 3 hosts to 4 ports of {SERVER.host} were never answered (4 SYNs in 3 s)"
    )
    # Each counts once; the last SYN may still be answered.
    assert connections.failed(capture) == len(clients)
    assert sum("Strangers" in line for line in connections.sentences(capture)) == 1
    assert any("from 192.168.1.9 to port 27" in line for line in connections.sentences(capture))


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


@pytest.mark.parametrize(("answered_s", "waited"), [(0.02, False), (1.5, True)])
def test_a_client_that_leaves_after_one_round_trip_did_not_stop_waiting(answered_s, waited):
    dialogue = f"0 > S 0:0(0) win 64240\n+{answered_s} < S. 0:0(0) ack 1 win 65535\n+0 > R 1:1(0) win 0"
    packets = scenario(dialogue) + scenario(dialogue, client=Address(CLIENT.host, 50_000))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("it had stopped waiting" in line) == waited
    assert ("as soon as it was answered" in line) != waited


@pytest.mark.parametrize(("rest_s", "spare"), [(0.1, False), (9, True)])
@pytest.mark.parametrize(
    "other", ["", "+.001 > P. 1:201(200) ack 1 win 502\n+20 > P. 201:301(100) ack 1 win 502"]
)
def test_a_connection_without_data_left_at_once_or_was_spare_and_not_needed(rest_s, spare, other):
    (line,) = failed(f"{HANDSHAKE.replace('0     >', '1 >', 1)}+{rest_s} > R. 1:1(0) ack 1 win 0", other)
    assert ("left as soon as it was answered" in line) != spare
    assert ("a spare connection" in line) == spare
    assert ("needed no longer" in line) == bool(other)


@pytest.mark.parametrize(
    ("reset", "side"), [("> R. 1:1(0) ack 1", "client"), ("< R. 1:1(0) ack 1", "server")]
)
def test_who_left_a_connection_without_data_is_named(reset, side):
    (line,) = failed(f"{HANDSHAKE}+.01 {reset} win 0", "", 20)
    assert f"was reset by the {side} before any data." in line
    assert ("see in its log whether a rule" in line) == (side == "server")


def syns(number, client=CLIENT.host, first_port=80, step=0):
    """A capture with a SYN without an answer to each of some servers, 9 s before its end."""
    packets = [
        packet
        for one in range(1, number + 1)
        for packet in scenario(
            "0 > S 0:0(0) win 64240",
            client=Address(client.format(one), 50_000),
            server=Address(f"198.51.100.{one}", first_port + step * one),
        )
    ]
    packets += scenario("9 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def test_the_largest_group_comes_first_and_the_rest_is_counted_in_connections():
    capture = syns(30, client="203.0.113.{}")
    assert connections.sentences(capture)[0].startswith("26 connections from 26 hosts to port 80 of 26 hosts")
    assert "2 more connections: --full lists them." in report.text(capture)


@pytest.mark.parametrize(
    ("hosts", "step", "peers"),
    [
        # As many hosts and ports as show a scan, one fewer, and one service of many hosts: the route may be gone.
        (15, 1, True),
        (14, 1, False),
        (15, 0, False),
    ],
)
def test_a_client_that_searches_peers_has_one_line(hosts, step, peers):
    (line,) = connections.sentences(syns(hosts, first_port=6_881, step=step))
    assert ("Peers of file sharing are often gone" in line) == peers
    assert line.startswith(f"{hosts} connections from {CLIENT.host} to ")


@pytest.mark.parametrize(
    ("networks", "ttl", "by_one"), [(15, "56", True), (14, "56", False), (15, "{}", False)]
)
def test_hosts_of_many_networks_are_not_all_equally_far_away(networks, ttl, by_one):
    # Those of one network may be behind the same routers.
    packets = [
        packet
        for one in range(1, networks + 1)
        for packet in scenario(
            f"{one} > S 0:0(0) win 64240\n+.5 < R. 0:0(0) ack 1 win 0 ttl {ttl.format(40 + one)}",
            server=Address(f"{20 + one}.0.0.1", 80),
        )
    ]
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("All answers have one TTL (56)" in line) == by_one
    assert "were refused." in line


@pytest.mark.parametrize(("frames", "lacks"), [("", False), ("+1 > . 101:201(100) ack 1 win 502", True)])
def test_a_syn_that_came_once_may_have_come_again_unseen(frames, lacks):
    # Of the second connection, the capture lacks data that were acknowledged.
    beside = f"{HANDSHAKE}{frames}" + ("\n+.02 < . 1:1(0) ack 201 win 500" if frames else "")
    (line,) = failed("0 > S 0:0(0) win 64240", beside, 100, port=82)
    assert ("the capture lacks packets of this connection, too" in line) == lacks
    assert "the client gave up at once" in line


TLS_HELLO = """
    +.001 > P. 1:301(300) ack 1 win 502
    +.020 < P. 1:1001(1000) ack 301 win 500
"""
"""A client hello and its answer, of which the payload is not looked at."""


@pytest.mark.parametrize(
    ("level", "description", "told"),
    [
        # RFC 8446 section 6: fatal alerts end the handshake, whichever they are.
        (
            2,
            22,
            "alert record_overflow. TCP worked. The client got no TLS: the server may speak plain text there",
        ),
        (2, 70, "alert protocol_version. TCP worked. See which TLS versions both ends allow."),
        (
            2,
            48,
            "alert unknown_ca. TCP worked. The client does not trust the issuer of the certificate of the server. If",
        ),
        (2, 50, "alert decode_error. TCP worked. See in the log of either end"),
        (2, 200, "alert 200. TCP worked."),
        # A warning lets the handshake go on, and close_notify is no error.
        (1, 112, None),
        (2, 0, None),
    ],
)
def test_a_fatal_alert_in_clear_text_ends_a_tls_handshake(level, description, told):
    alert = bytes([21, 3, 3, 0, 2, level, description])
    *opened, last = scenario(HANDSHAKE + TLS_HELLO + "+.001 > P. 301:308(7) ack 1001 win 502")
    sent = replace(last, data=last.data[: -len(alert)] + alert)
    capture = bdpcap.analyze(io.BytesIO(pcap([*opened, sent])))
    row = capture.connections.iloc[0]
    said = connections.sentences(capture)
    if told is None:
        assert not said
        assert row.isna()[["tls_alert", "tls_alert_by"]].all()
    else:
        start = f"1 connection from {CLIENT.host} to port 80 of {SERVER.host} ended in a failed TLS handshake: the client"
        assert said[0].startswith(f"{start} sent the {told}")
        assert (row.tls_alert, row.tls_alert_by) == (description, str(CLIENT))
    assert connections.failed(capture) == (told is not None)
    # The first text begins with it where nothing else is to be mended.
    assert connections.in_vain(capture) == (told is not None)


@pytest.mark.parametrize(("networks", "taken"), [(3, True), (2, False)])
def test_a_proxy_that_takes_a_hello_is_not_the_host(networks, taken):
    # Hosts of so many networks acknowledge within a millisecond, and their packets pass no router.
    others = "+.001 > P. 1:518(517) ack 1 win 502\n+.0005 < . 1:1(0) ack 518 win 500\n"
    packets = []
    for one in range(networks):
        end = "+10 > F. 518:518(0) ack 1 win 502" if not one else "+.1 < P. 1:1001(1000) ack 518 win 500"
        frames = scenario(
            HANDSHAKE + others + end,
            client=Address("192.168.1.9", 50_000 + one),
            server=Address(f"{20 + one}.0.0.1", 443),
        )
        hello = b"\x16\x03\x01\x02\x00\x01"
        frames[3] = replace(frames[3], data=frames[3].data[:54] + hello + frames[3].data[60:])
        packets += frames
    packets.sort(key=lambda packet: packet.time_ns)
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    (line,) = [one for one in said if "TLS hello" in one]
    assert ("A NAT or proxy next to 192.168.1.9 acknowledged the hello" in line) == taken


HELLO = "+.001 > P. 1:518(517) ack 1 win 502\n"
TAKEN = f"{HELLO}+.005 < . 1:1(0) ack 518 win 500\n"


@pytest.mark.parametrize(
    ("dialogue", "record", "waited"),
    [
        (f"{TAKEN}+10 > F. 518:518(0) ack 1 win 502", 22, "10 s"),
        # What comes after the client left is no answer in time.
        (
            f"{TAKEN}+10 > F. 518:518(0) ack 1 win 502\n+.03 < P. 1:136(135) ack 519 win 500\n+0 > R 519:519(0) win 0",
            22,
            "10 s",
        ),
        (f"{TAKEN}+.1 < F. 1:1(0) ack 518 win 500\n+0 > . 518:518(0) ack 2 win 502", 22, "105 ms"),
        # It came again once the answer had begun: that hello had its answer.
        (
            f"{TAKEN}+.02 < P. 1:1001(1000) ack 518 win 500\n{HELLO}+10 > F. 518:518(0) ack 1001 win 502",
            22,
            None,
        ),
        # A client that leaves soon may not want the connection any more.
        (f"{TAKEN}+2.9 > F. 518:518(0) ack 1 win 502", 22, None),
        # It was answered, did not arrive, or is no TLS: a log's server answers nothing.
        (f"{TAKEN}+.02 < P. 1:1001(1000) ack 518 win 500\n+10 > F. 518:518(0) ack 1001 win 502", 22, None),
        (f"{HELLO}+10 > F. 518:518(0) ack 1 win 502", 22, None),
        (f"{TAKEN}+10 > F. 518:518(0) ack 1 win 502", 71, None),
    ],
)
def test_a_tls_hello_that_is_acknowledged_and_never_answered_fails(dialogue, record, waited):
    hello = scenario(HANDSHAKE + HELLO)[-1]
    begin = 14 + 20 + 20  # Ethernet, IPv4 and TCP without options
    # The source port to the sequence number, from the start of the TCP header.
    is_hello = hello.data[34:42].__eq__
    packets = [
        replace(one, data=one.data[:begin] + bytes([record, 3, 1]) + one.data[begin + 3 :])
        if is_hello(one.data[34:42]) and len(one.data) > begin
        else one
        for one in scenario(HANDSHAKE + dialogue)
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = " ".join(connections.sentences(capture))
    assert (f"got no answer to a TLS hello, and ended after {waited}." in said) == (waited is not None)
    assert connections.failed(capture) == (waited is not None)


def test_alerts_of_both_ends_have_lines_of_their_own():
    packets = []
    for number, (way, description) in enumerate(
        [("> P. 301:308(7) ack 1001", 42), ("< P. 1001:1008(7) ack 301", 40)] * 2
    ):
        *opened, last = scenario(
            f"{HANDSHAKE}{TLS_HELLO}+.001 {way} win 502", client=Address(CLIENT.host, 40_000 + number)
        )
        packets += [*opened, replace(last, data=last.data[:-7] + bytes([21, 3, 1, 0, 2, 2, description]))]
    of_client, of_server = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    for said, alert in (
        (of_client, "client sent the alert bad_certificate"),
        (of_server, "server sent the alert handshake_failure"),
    ):
        assert said.startswith("2 connections from")
        assert f": the {alert}. " in said


@pytest.mark.parametrize(
    ("hosts", "refused", "used", "sweep"),
    [
        (15, 1, 0, True),
        (14, 1, 0, False),
        # Where nobody answers, the route may be gone.
        (15, 0, 0, False),
        # The client uses that service at other hosts.
        (15, 1, 1, False),
    ],
)
def test_a_client_that_tries_many_hosts_and_uses_none_sweeps(hosts, refused, used, sweep):
    packets = []
    for one in range(1, hosts + 1):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"0 {TRY}", **ends)
    # A filter drops the SYNs to the others.
    for one in range(100, 100 + refused):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"1 {TRY}\n+.02 < R. 0:0(0) ack 1 win 0", **ends)
    for one in range(200, 200 + used):
        ends = {"client": Address(CLIENT.host, 50_000 + one), "server": Address(f"198.51.100.{one}", 8_000)}
        packets += scenario(f"2 {TRY}{OPENS}", **ends)
    packets += scenario(f"9 {TRY}", client=Address("192.0.2.9", 9))
    first, *_ = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("as scans do. Nothing to mend" in first) == sweep
    assert first.endswith("unless it should reach one of them.") == sweep


@pytest.mark.parametrize(
    ("ttls", "trace"),
    [
        (range(1, 6), True),
        (range(1, 5), False),
        # A scanner may choose TTLs by chance, but none that expire at once.
        (range(20, 30), False),
        # Hosts of other systems, behind a NAT at several distances.
        ((48, 50, 64, 112, 113, 128), False),
    ],
)
def test_syns_of_rising_ttls_trace_a_path_and_were_to_expire(ttls, trace):
    packets = [
        packet
        for number, ttl in enumerate(ttls)
        for packet in scenario(
            f"0 > S 0:0(0) win 64240 ttl {ttl}\n" * 3, client=Address(CLIENT.host, 50_000 + number)
        )
    ]
    # The client also wants another port of that host.
    packets += scenario("60 > S 0:0(0) win 64240", server=Address(SERVER.host, 81))
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = connections.sentences(capture)
    assert any(f"TTLs run from 1 to {max(ttls)}: a path trace" in line for line in said) == trace
    assert connections.failed(capture) == (1 if trace else 1 + len(ttls))
    assert not (trace and connections.in_vain(capture))


def test_connections_with_data_make_no_search():
    # A browser: 15 servers reset its requests, and two more hosts never answer.
    served = "+.001 > P. 1:201(200) ack 1 win 502\n+.02 < R. 1:1(0) ack 201 win 0"
    packets = [
        packet
        for one in range(1, 16)
        for packet in scenario(HANDSHAKE + served, server=Address(f"203.0.113.{one}", 443))
    ]
    for one in (1, 2):
        packets += scenario("9 > S 0:0(0) win 64240", server=Address(f"198.51.100.{one}", 443))
    packets += scenario("99 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    told = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert " to port 443 of 198.51.100.1 and 198.51.100.2 were never answered (2 SYNs)" in told[0]


REQUEST = "+.001 > P. 1:201(200) ack 1 win 502"


@pytest.mark.parametrize(
    ("dialogue", "failed"),
    [
        # The receiver of a response, or of an upload, has had enough: its peer's data are its own to drop.
        (REQUEST + "\n+.02 < P. 1:1001(1000) ack 201 win 500\n+.01 > R. 201:201(0) ack 1 win 0", ""),
        # A server that leaves a request without an answer.
        (REQUEST + "\n+.02 < R. 1:1(0) ack 201 win 0", "reset without an answer"),
        # A server that breaks off in the middle of its response.
        (
            REQUEST + "\n+.02 < P. 1:1001(1000) ack 201 win 500\n+.01 < R. 1001:1001(0) ack 201 win 0",
            "reset with 1,000 bytes unacknowledged",
        ),
        # A farewell of 31 bytes, as TLS sends one, needs no acknowledgment.
        (
            REQUEST
            + "\n+.02 < P. 1:1001(1000) ack 201 win 500\n+.01 > P. 201:232(31) ack 1001 win 502"
            + "\n+0 > R. 232:232(0) ack 1001 win 0",
            "",
        ),
        ("+.01 > R. 1:1(0) ack 1 win 0", "reset by the client before any data"),
        # A server closes an idle connection, and answers a late keep-alive by a reset.
        (
            "+9 < F. 1:1(0) ack 1 win 500\n+0 > . 1:1(0) ack 2 win 502\n+45 > . 0:1(1) ack 2 win 502\n+.02 < R 2:2(0)",
            "",
        ),
        # A server closes without an answer, which is no reset without one.
        (REQUEST + "\n+.02 < F. 1:1(0) ack 201 win 500\n+.3 < R. 2:2(0) ack 201 win 0", ""),
        # A client closes its half, and waits for the answer in the other.
        (
            REQUEST + "\n+0 > F. 201:201(0) ack 1 win 502\n+.02 < R. 1:1(0) ack 202 win 0",
            "reset without an answer",
        ),
    ],
)
def test_a_reset_of_the_end_that_was_done_is_no_failure(dialogue, failed):
    capture = analyzed(HANDSHAKE + "\n" + dialogue)
    said = connections.sentences(capture)
    assert failed in said[0] if failed else said == []
    assert [line.endswith("which was done.") for line in connections.ends(capture)] == (
        [] if failed else [True]
    )


@pytest.mark.parametrize(("acknowledged", "lost"), [(1502, False), (901, True)])
def test_an_answer_to_a_closed_socket_is_no_loss_of_the_client_that_resets(acknowledged, lost):
    # The capture begins with data. The answer of 752 bytes comes after the client's FIN, so nobody reads it.
    capture = analyzed(f"""
        0     > P.  1:901(900)      ack 1   win 502
        +.001 < .   1:1(0)          ack 901 win 502
        +.001 > F.  901:1501(600)   ack 1   win 502
        +.001 < .   1:1(0)          ack {acknowledged} win 502
        +.020 < P.  1:753(752)      ack {acknowledged} win 502
        +.001 > R   1502:1502(0)
    """)
    said = connections.sentences(capture)
    assert any("unacknowledged" in line for line in said) == lost


def test_a_receiver_that_knows_no_such_connection_answers_by_resets():
    # RFC 9293 section 3.10.7.1: the reset has the number that the segment acknowledges, and no acknowledgment.
    letters = "\n".join(f"{45 * n} > P. 1:2(1) ack 1 win 502\n+.02 < R 1:1(0) win 0" for n in range(4))
    flow = analyzed(letters).flow(0)
    assert flow.verdict == (
        "Answered by resets: 198.51.100.2 knows no such connection: of 4 packets it answered 4 with resets, and it "
        "acknowledged none."
    )
    assert str(flow.remedy).startswith("On the receiver, 198.51.100.2: ")
    assert flow.capture.info.data_only == flow.capture.info.acknowledgments_only == 0


@pytest.mark.parametrize(("times", "crafted"), [(16, False), (17, True)])
def test_a_sender_that_ignores_many_resets_is_no_tcp(times, crafted):
    # Linux sends data 15 times again at most (tcp_retries2), if a filter keeps the resets from it.
    packets = "\n".join(f"{n} > P. 1:27(26) ack 1 win 0\n+.02 < R 1:1(0) win 0" for n in range(times))
    flow = analyzed(packets).flow(0)
    assert ("sent these bytes 16 times more: a program makes the packets, no TCP." in flow.verdict) == crafted
    assert str(flow.remedy).startswith(
        f"On the {'sender, 192.0.2.1' if crafted else 'receiver, 198.51.100.2'}: "
    )


@pytest.mark.parametrize("answered", [(10, 11, 13, 17, 25), (25,)])
def test_an_outage_is_silence_and_no_answer_by_resets(answered):
    lines = [HANDSHAKE, "+.001 > P. 1:101(100) ack 1 win 502", "+.02 < . 1:1(0) ack 101 win 500"]
    for at in (10, 11, 13, 17, 25):
        lines.append(f"{at} > P. 101:1101(1000) ack 1 win 502")
        lines += ["+.02 < R 1:1(0) win 0"] if at in answered else []
    verdict = analyzed("\n".join(lines)).flow(0).verdict
    assert verdict.startswith("Answered by resets: " if len(answered) > 1 else "Outage: ")


@pytest.mark.parametrize("closed", [True, False])
def test_a_receiver_that_closed_the_connection_is_nothing_to_mend(closed):
    """A client reads the first answer. It leaves, with a FIN or without, before the rest, which comes again and again."""
    left = 102 if closed else 101
    again = "".join(
        f"+{wait} < P. 1001:2001(1000) ack {left} win 500\n+.001 > R {left}:{left}(0) win 0\n"
        for wait in (0.02, 0.3, 0.6, 1.2, 2.4)
    )
    capture = analyzed(
        f"{HANDSHAKE}\n+.001 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1001(1000) ack 101 win 500\n"
        f"+.001 > {'F' if closed else ''}. 101:101(0) ack 1001 win 502\n{again}"
    )
    flow = capture.flow(0, str(SERVER))
    known = "had closed the connection" if closed else "no longer knew the connection"
    assert flow.verdict.startswith(
        f"Answered by resets: {CLIENT.host} {known}: of 7 packets it answered 5 with resets"
    )
    assert (flow.remedy.where == "") == closed
    assert flow.remedy.words.startswith("Nothing to mend, unless" if closed else "See why it does not know")
    # Resets answered the data: it waited for nothing.
    assert "The longest wait" not in " ".join(report.text(capture).split())


def test_a_reset_that_acknowledges_or_goes_on_answers_no_unknown_connection():
    flow = analyzed(
        "0 > . 1:101(100) ack 1 win 502\n+.02 < R. 1:1(0) ack 101 win 0\n+0 < R 9:9(0) win 0"
    ).flow(0)
    assert "answered by resets" not in flow.verdict.lower()


def completeness(path):
    """What tshark says last of every stream."""
    fields = ["-Y", "tcp", "-T", "fields", "-E", "occurrence=l", "-e", "tcp.stream", "-e", "tcp.completeness"]
    command = ["tshark", "-2", "-n", "-r", str(path), *fields]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout
    cells = (line.split("\t") for line in said.splitlines())
    return {int(stream): int(bits) for stream, bits in cells if stream and bits}


CAPTURES = [*SAMPLES, *sorted((SHARED / "captures/stress").glob("*.pcap"))]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_completeness_is_tsharks(path):
    if not shutil.which("tshark"):
        unavailable("tshark")
    theirs = completeness(path)
    table = bdpcap.analyze(path).connections
    assert set(theirs) == set(table["stream"])
    for row in table.itertuples():
        if theirs[row.stream] == 0:  # damaged headers, which tshark leaves unanalysed
            continue
        # Without a handshake tshark calls only some acknowledgments so, by their relative numbers.
        compared = 63 if row.completeness & HANDSHAKE_BITS == HANDSHAKE_BITS else 63 & ~ACK
        assert row.completeness & compared == theirs[row.stream] & compared, row


def late(dialogue, beside=()):
    """The sentences on connections that opened late, with other connections beside."""
    packets = [packet for one, ends in ((dialogue, {}), *beside) for packet in scenario(one, **ends)]
    packets.sort(key=lambda packet: packet.time_ns)
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    assert connections.sentences(capture) == []
    assert connections.failed(capture) == 0
    return [sentence for sentence, _ in connections.late(capture)]


TRY = f"> S 0:0(0) win 64240 {OPTIONS}"
FAR = TRY.replace("<mss", "ttl 50 <mss")
OPENS = f"""
    +.020 < S. 0:0(0) ack 1 win 65535 {OPTIONS}
    +0    > . 1:1(0) ack 1 win 502
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < . 1:1(0) ack 101 win 500
"""
ANSWERS = """
    +0    < P. 1:101(100) ack 101 win 500
    +.001 > .  101:101(0) ack 101 win 502
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


def test_a_connection_that_opened_late_may_also_have_failed():
    closing = "\n".join(f"+{2**n} > F. 1:1(0) ack 1 win 500" for n in range(4))
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(f"100 {TRY}\n+1 {TRY}{OPENS}{closing}"))))
    assert "no FIN was answered" in connections.sentences(capture)[0]
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
    assert ("the program that makes these packets" in str(flow.remedy)) == no_tcp
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


def test_a_service_of_the_internet_has_long_been_there():
    packets = scenario(f"100 {TRY}\n+1 {TRY}\n+2 {TRY}{OPENS}", server=Address("8.8.8.8", 443))
    ((line, _),) = connections.late(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert line.endswith("SYNs or their answers were lost, or a filter dropped them.")


def shifted(packets, by_ns):
    """The same packets, later."""
    return [replace(packet, time_ns=packet.time_ns + by_ns) for packet in packets]


@pytest.mark.parametrize(("later_s", "told"), [(3, True), (0.1, False)])
def test_connections_that_open_one_after_the_other_and_pass_no_data_meet_a_filter(later_s, told):
    again = "\n".join(f"+{2**n} > P. 1:101(100) ack 1 win 502" for n in range(-2, 4))
    dialogue = f"{HANDSHAKE}+.01 > P. 1:101(100) ack 1 win 502\n{again}"
    packets = [
        packet
        for number, (text, start_ns) in enumerate(((dialogue, 0), (dialogue, int(later_s * 1e9))))
        for packet in shifted(scenario(text, client=Address(CLIENT.host, 40_000 + number)), start_ns)
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    (line,) = (line for line in connections.sentences(capture) if "given up" in line)
    assert ("no data passed" in line) == told


def test_a_port_that_accepts_others_meanwhile_has_its_service():
    # The refusal comes eight seconds after the SYN, and another connection opens between.
    refused = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+7.9 < R. 0:0(0) ack 1 win 0"
    opened = shifted(scenario(f"{HANDSHAKE}", client=Address(CLIENT.host, 50_000)), 3 * 10**9)
    packets = sorted([*scenario(refused), *opened], key=lambda packet: packet.time_ns)
    lines = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert any("was refused" in line and "accepted other connections meanwhile" in line for line in lines)


def test_a_client_that_resets_the_middle_of_an_answer_left_nothing_unanswered():
    """The capture begins after the request, so the server's data are no request to the client."""
    lines = [
        "0 < P. 1:1001(1000) ack 1 win 512",
        "+.001 > . 1:1(0) ack 1001 win 502",
        "+.001 < P. 1001:2001(1000) ack 1 win 512",
        "+.001 > R. 1:1(0) ack 1 win 0",
    ]
    assert not connections.sentences(analyzed("\n".join(lines)))


def test_one_of_several_silent_hosts_talked_on_another_port():
    # The client tried many hosts: 13 refused, and two answered nothing at one port.
    silent = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+1 > S 0:0(0) win 64240 {OPTIONS}"
    refused = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+.02 < R. 0:0(0) ack 1 win 0"
    talk = f"{HANDSHAKE}+.01 > P. 1:101(100) ack 1 win 502\n+.02 < P. 1:101(100) ack 101 win 500"
    tried = [(silent, "198.51.100.40", 443), (silent, "198.51.100.41", 443), (talk, "198.51.100.40", 80)]
    tried += [(refused, f"198.51.100.{number}", 443) for number in range(50, 63)]
    packets = [
        packet
        for number, (text, host, port) in enumerate(tried)
        for packet in scenario(text, client=Address(CLIENT.host, 40_000 + number), server=Address(host, port))
    ]
    lines = connections.sentences(
        bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    )
    (line,) = (line for line in lines if "never answered" in line)
    assert "exchanged other packets with 198.51.100.40 at that time" in line
