"""Connections that nobody answered: hosts, routes, filters and wrong addresses, and how a line names them."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from connected import OPTIONS, TRY, UNANSWERED, analyzed, failed, syns
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.report import connections


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


def test_one_syn_shows_no_filter_when_the_capture_ends_before_the_next():
    """The second SYN comes after a second, or three (RFC 2988 section 2.1)."""
    once = UNANSWERED.partition("\n")[0]
    said = [failed(once, "", 99.5, end_s)[0] for end_s in (102, 104)]
    assert "The capture ends too soon to tell" in said[0]
    assert "the client gave up at once" in said[1]


@pytest.mark.parametrize(("start_s", "works"), [(100.5, True), (99.5, False), (0, False)])
def test_a_route_on_which_packets_passed_at_that_time_is_not_to_be_checked(start_s, works):
    (line,) = failed(UNANSWERED, "", start_s)
    assert ("so the route works" in line) == works
    assert ("at another time: that host was down meanwhile" in line) != works


@pytest.mark.parametrize(("again", "works"), [(False, True), (True, False)])
def test_a_host_that_refused_the_first_syn_alone_was_gone_then(again, works):
    """A host that restarts resets what it knew, and then answers nothing."""
    refused = "99.9 > S 0:0(0) win 64240\n+.02 < R. 0:0(0) ack 1 win 0"
    if not again:
        refused = refused.replace("99.9", "100.9")
    beside = scenario(
        refused + ("\n+1 > S 0:0(0) win 64240" if again else ""),
        client=Address(CLIENT.host, 50_001),
        server=Address(SERVER.host, 82),
    )
    lines = failed(UNANSWERED, "", beside=beside)
    assert any("so the route works" in line for line in lines) == works


@pytest.mark.parametrize(
    ("lacks", "at_s", "why"),
    [
        (False, 100, "the client gave up at once."),
        (True, 100, "the capture lacks it."),
        # Half a minute may pass before the last SYN of a series (RFC 6298).
        (False, 10, "this was the last of a series begun before the capture."),
    ],
)
def test_a_port_that_answered_other_connections_drops_none(lacks, at_s, why):
    # The connection beside is to the same port: its SYN was answered. The capture may lack data of it.
    missed = "+1 > . 101:201(100) ack 1 win 502\n+.02 < . 1:1(0) ack 201 win 500"
    beside = f"{HANDSHAKE}{missed}" if lacks else ""
    (line,) = failed(f"{at_s} > S 0:0(0) win 64240", beside, 0.5, port=SERVER.port)
    assert line.endswith(f"The port answered other connections: a SYN or its answer was lost, or {why}")


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
    assert ("this was the last of a series" in line) == (tries == 1)


@pytest.mark.parametrize(
    ("left", "refused", "why"),
    [
        (True, False, ""),
        (False, False, "never left it: it dropped them, as its filter may do."),
        (False, True, "It passed others to the same ports: see whether a limit of new connections there"),
    ],
)
def test_a_syn_that_never_left_the_router_was_dropped_there(left, refused, why):
    packets = scenario(HANDSHAKE + "+.001 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500")
    blocked = scenario(UNANSWERED, client=Address(CLIENT.host, 50_000), server=Address(SERVER.host, 81))
    if refused:
        closed = {"client": Address(CLIENT.host, 50_001), "server": Address(SERVER.host, 81)}
        packets += scenario("90 > S 0:0(0) win 64240\n+.02 < R. 0:0(0) ack 1 win 0", **closed)
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
    assert "were never answered" in line or "was never answered" in line
    assert why in line
    assert ("never left it" in line) != left


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


def test_answers_that_reached_the_client_had_no_bad_way_back():
    answered = "1 > S 0:0(0) win 64240 {}\n+.02 < S. 0:0(0) ack 1 win 65535\n+1 < S. 0:0(0) ack 1 win 65535"
    # A script makes SYNs, and no TCP is there to confirm the answer.
    (line,) = failed(answered.format("<mss 1460>"), "")
    assert "see which program of the client makes them" in line
    answered = answered.format("<mss 1460,sackOK,wscale 7>")
    (line,) = failed(answered, "")
    assert "The answers reached the capture next to the client: " in line
    assert "way back" not in line
    # Data pass in another connection, as where a browser opens spare ones.
    (line,) = failed(answered, "+1 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500")
    assert "The answers reached the capture next to the client, which had given up" in line
    assert "perhaps no further one was needed" in line


def test_the_largest_group_comes_first_and_the_rest_is_counted_in_connections():
    capture = syns(30, client="203.0.113.{}")
    assert connections.sentences(capture)[0].startswith("26 connections from 26 hosts to port 80 of 26 hosts")
    assert "2 more connections: --full lists them." in report.text(capture)


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


@pytest.mark.parametrize(
    ("port", "server", "peers"),
    [(7680, "172.18.1.{}", True), (7680, "93.184.216.{}", False), (443, "172.18.1.{}", False)],
)
def test_peers_of_windows_updates_that_are_gone_are_nothing_to_mend(port, server, peers):
    tries = "0 > S 0:0(0) win 64240 <mss 1460,sackOK>\n" + "+2 > S 0:0(0) win 64240 <mss 1460,sackOK>\n" * 4
    packets = []
    for number in range(1, 4):
        ends = {
            "client": Address("172.20.10.9", 50_000 + number),
            "server": Address(server.format(number), port),
        }
        packets += scenario(tries, **ends)
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    (line,) = connections.sentences(capture)
    assert ("where Windows offers updates to its peers" in line) == peers
    assert connections.in_vain(capture) != peers


@pytest.mark.parametrize(
    ("port", "advice"),
    [
        (443, "Others answered this client, so its link works. These hosts are down"),
        (80, "Others answered this client, but no connection to port 443 opened."),
    ],
)
def test_scans_that_came_to_a_host_are_apart_from_its_own_calls(port, advice):
    """Six calls and six scans: each has more pairs of hosts than lines."""
    packets, own, tries = (
        [],
        "192.0.2.1",
        "{} > S 0:0(0) win 64240\n+1 > S 0:0(0) win 64240\n+2 > S 0:0(0) win 64240",
    )
    for number in range(1, 7):
        calls = {"client": Address(own, 50_000 + number), "server": Address(f"203.0.113.{number}", 443)}
        scans = {"client": Address(f"8.8.{number}.8", 40_000), "server": Address(own, 20 + number)}
        packets += scenario(tries.format(number), **calls) + scenario(tries.format(number), **scans)
    asked = f"{HANDSHAKE}+.001 > P. 1:101(100) ack 1 win 502\n+.020 < . 1:1(0) ack 101 win 500"
    packets += scenario(asked, server=Address("198.51.100.2", port))
    said = connections.sentences(
        bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda one: one.time_ns))))
    )
    (calls,) = (one for one in said if f"from {own} " in one)
    (scans,) = (one for one in said if f"of {own} " in one)
    assert calls.startswith(f"6 connections from {own} to port 443 of 6 hosts were never answered")
    assert advice in calls
    assert scans.startswith("6 connections from 6 hosts")
    assert "Strangers of the Internet look for open ports so" in scans


@pytest.mark.parametrize(
    ("after_s", "port", "fell_back"), [(0.25, 80, True), (3, 80, False), (0.25, 81, False)]
)
def test_a_program_that_goes_on_over_ipv4_waited_for_nothing(after_s, port, fell_back):
    """RFC 8305 section 5: a client begins over the other version 250 ms after the first SYN."""
    over_6 = {"client": Address("2001:db8::1", 40_000), "server": Address("2001:db8:2::9", 80)}
    packets = scenario("10 > S 0:0(0) win 64240\n+1 > S 0:0(0) win 64240\n+2 > S 0:0(0) win 64240", **over_6)
    # The data of another connection show next to whom the capture was taken.
    talk = "+.001 > P. 1:101(100) ack 1 win 502\n+.020 < . 1:1(0) ack 101 win 500"
    packets += scenario(HANDSHAKE + talk, client=over_6["client"], server=Address("2001:db8:3::9", 90))
    other = f"{10 + after_s} {HANDSHAKE.strip().removeprefix('0')}\n{talk}"
    packets += scenario(other, server=Address(SERVER.host, port))
    (line,) = connections.sentences(
        bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda one: one.time_ns))))
    )
    assert ("A connection to this port over IPv4 followed at once" in line) == fell_back


@pytest.mark.parametrize(
    ("client", "server", "said"),
    [
        ("fe80::1", "2600:1901:0:38d7::1", True),
        ("fe80::1", "fe80::2", False),
        ("2600:1901::1", "2600:1901:0:38d7::1", False),
    ],
)
def test_a_link_local_address_reaches_no_other_network(client, server, said):
    """RFC 4291 section 2.5.6: routers must not forward packets with link-local source addresses to other links."""
    ends = {"client": Address(client, 40_000), "server": Address(server, 443)}
    packets = scenario(f"1 {TRY}\n+1 {TRY}\n+2 {TRY}", **ends) + scenario(
        f"99 {TRY}", client=Address("192.0.2.9", 9)
    )
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("A link-local address reaches no other network" in line) == said


@pytest.mark.parametrize(
    ("server", "other", "said"),
    [
        ("2600:1901:0:38d7::1", "fd00:1::7", True),
        ("2600:1901:0:38d7::1", "2a00:1450::1", False),  # a router translates the client's address
        ("fd00:2::9", "fd00:1::7", False),
    ],
)
def test_an_address_of_a_site_reaches_no_host_of_the_internet(server, other, said):
    """RFC 4193 section 4: routers pass packets from such addresses within their site alone."""
    client = Address("fd00:1::1", 40_000)
    packets = scenario(f"1 {TRY}\n+1 {TRY}\n+2 {TRY}", client=client, server=Address(server, 443))
    packets += scenario(HANDSHAKE, client=Address(client.host, 40_001), server=Address(other, 443))
    packets += scenario(f"99 {TRY}", client=Address("192.0.2.9", 9))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("is valid within its site alone (RFC 4193)" in line) == said
