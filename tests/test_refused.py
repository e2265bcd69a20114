"""Connections that a reset refused or ended: by the server, by another device, or by an end that was done."""

from __future__ import annotations

import io

import pytest
from connected import OPTIONS, TRY, analyzed, failed
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.report import connections


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


@pytest.mark.parametrize(
    ("after_s", "server", "soon"),
    [(0.1, SERVER.host, True), (6, SERVER.host, False), (0.1, "127.0.0.1", False)],  # no proxy is on loopback
)
def test_a_reset_soon_after_the_opening_is_of_no_idle_connection(after_s, server, soon):
    asked = f"+{after_s} > P. 1:518(517) ack 1 win 502\n+.15 < R. 1:1(0) ack 518 win 0"
    ends = {
        "client": Address(server if server[:3] == "127" else CLIENT.host, 40_000),
        "server": Address(server, 80),
    }
    (line,) = connections.sentences(analyzed(f"{HANDSHAKE}{asked}", **ends))
    assert "was reset without an answer." in line
    assert ("reset it so soon after the opening" in line) == soon
    assert ("The server's own host reset it" in line) == (server == "127.0.0.1")
    assert ("Either may forget an idle connection" in line) == (after_s == 6)


def test_a_server_next_to_the_capture_resets_by_itself():
    """Its answers come within a millisecond, and nothing lies between it and the capture."""
    opened = HANDSHAKE.replace("+.020 <", "+.0001 <").replace("+0    >", "+.020 >")
    (line,) = connections.sentences(
        analyzed(f"{opened}+.1 > P. 1:160(159) ack 1 win 502\n+.0001 < R. 1:1(0) ack 160 win 0")
    )
    assert "The server's own host reset it" in line


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


@pytest.mark.parametrize(
    ("servers", "network", "answered", "told"),
    [
        (3, "db8", False, True),
        (2, "db8", False, False),
        (2, "db{}", False, True),  # two networks
        (3, "db8", True, False),
    ],
)
def test_a_network_without_a_way_over_ipv6_is_told_so(servers, network, answered, told):
    """Programs try both IP versions. Where no server of several answers over IPv6, the servers are not down."""
    client = Address("2001:db8::1", 50_000)
    packets = scenario(HANDSHAKE, server=Address("203.0.113.7", 443))
    for number in range(servers):
        packets += scenario(
            f"{number} {TRY}\n+1 {TRY}",
            client=client,
            server=Address(f"2001:{network.format(number)}:{number}::2", 443),
        )
    if answered:
        packets += scenario(HANDSHAKE, client=client, server=Address("2001:db8:9::2", 443))
    packets.sort(key=lambda packet: packet.time_ns)
    said = " ".join(connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert f"{servers} connections from [2001:db8::1] to port 443" in said or not told
    assert ("No server answered over IPv6, and others did over IPv4" in said) == told


@pytest.mark.parametrize(
    ("ipv6_s", "ipv4_s", "others_s", "told"),
    [
        (2, 30, 1, True),
        (22, 30, 1, False),  # another server answered over IPv6 meanwhile
        (2, 30, 22, False),  # or another host got an answer
        (2, 1, 1, False),  # nothing shows that the host had a network at all
    ],
)
def test_a_network_that_lost_ipv6_is_told_so(ipv6_s, ipv4_s, others_s, told):
    client, other = Address("2001:db8::1", 50_000), Address("2001:db8::9", 50_000)
    opened = HANDSHAKE.replace("0     >", "{} >", 1)
    packets = scenario(opened.format(ipv6_s), client=client, server=Address("2001:db8:9::2", 443))
    packets += scenario(opened.format(ipv4_s), server=Address("203.0.113.7", 443))
    packets += scenario(opened.format(0), server=Address("203.0.113.7", 80))
    packets += scenario(opened.format(others_s), client=other, server=Address("2001:db8:8::2", 443))
    for number in range(3):
        server = Address(f"2001:db8:{number}::2", 443)
        packets += scenario(f"{20 + number} {TRY}\n+1 {TRY}", client=client, server=server)
    packets.sort(key=lambda packet: packet.time_ns)
    said = " ".join(connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert ("The last connection over IPv6 opened 2 s after the start, and later ones" in said) == told


@pytest.mark.parametrize(
    ("server", "port", "start_s", "raced"),
    [
        ("2001:db8::2", 80, 0.7, True),
        # It began later, and soon after the last answer, at 2.02 s.
        ("2001:db8::2", 80, 1.3, True),
        ("2001:db8::2", 80, 3.3, False),
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


@pytest.mark.parametrize("raced", [11, 10])
def test_most_of_many_races_are_one_remark(raced):
    """Twenty hosts answer over IPv4 as their connections over IPv6 open, or some of them do."""
    answer = "< S. 0:0(0) ack 1 win 65535 ttl 50"
    packets = []
    for number in range(20):
        begun_s = 10 * number
        tried = f"{begun_s + 1} > S 0:0(0) win 64240 {OPTIONS}\n+.02 {answer}\n+1 {answer}"
        packets += scenario(tried, server=Address(f"203.0.113.{number}", 443))
        if number < raced:
            handshake = HANDSHAKE.replace("0     >", f"{begun_s + 0.7} >", 1).replace("+.020", "+.4")
            ends = {"client": Address("2001:db8::1", 50_000), "server": Address(f"2001:db8::9:{number}", 443)}
            packets += scenario(handshake, **ends)
    # It uses the service elsewhere, so it does not look for one.
    used = f"{HANDSHAKE}+.1 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500\n"
    packets += scenario(used, server=Address("203.0.113.99", 443))
    packets.sort(key=lambda packet: packet.time_ns)
    said = " ".join(connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))))
    assert "20 connections" in said
    assert ("for these, there is nothing to mend" in said) == (raced > 10)


def test_a_flood_of_equal_syns_has_no_timers():
    """Twice as long each, they would last longer than any number of seconds that a computer holds."""
    (line,) = connections.sentences(
        analyzed("".join(f"{at} {TRY}\n" for at in range(1_100)) + "+1 < R. 0:0(0) ack 1 win 0")
    )
    assert "was refused." in line


@pytest.mark.parametrize(
    ("syns_s", "reset_s", "late"),
    [
        # The timer of the third SYN runs out at 7 s (RFC 6298 section 5.5).
        ((0, 1, 3), 3.02, False),
        ((0, 1, 3), 9.4, False),
        ((0, 1, 3), 9.6, True),
        # Hosts with a first timer of 3 s send their third SYN at 9 s (RFC 2988 section 2.1).
        ((0, 3, 9), 9.02, False),
        ((0, 3, 9), 21, True),
        # One or two SYNs show no series.
        ((0,), 8, False),
        ((0, 3), 9, False),
    ],
)
def test_a_reset_after_the_last_timer_of_the_syns_answers_none(syns_s, reset_s, late):
    tries = "".join(f"{at} {TRY}\n" for at in syns_s)
    (line,) = connections.sentences(analyzed(f"{tries}{reset_s} < R. 0:0(0) ack 1 win 0"))
    assert ("was refused." in line) != late
    assert (
        f"was never answered ({len(syns_s)} SYNs, and a reset {reset_s} s after the first). The reset came"
        in line
    ) == late
    assert ("came long after the last SYN" in line) == late


@pytest.mark.parametrize(
    ("server", "ttl", "after", "said"),
    [
        # A NAT without IPv6 refuses at once; the host itself is public, and behind routers.
        ("2600:1901::d7", 255, ".0004", "It came within 1 ms, sooner than from afar"),
        ("2600:1901::d7", 255, ".02", "Capture behind that device"),
        ("2600:1901::d7", 50, ".02", None),
        ("fd17:625c::9", 64, ".0004", None),
    ],
)
def test_a_reset_that_passed_no_router_is_of_a_device_next_to_the_client(server, ttl, after, said):
    refused = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+{after} < R. 0:0(0) ack 1 win 0 ttl {ttl}"
    packets = scenario(refused, client=Address("fd17:625c::1", 40_000), server=Address(server, 80))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert (f"The reset passed no router (TTL {ttl})" in line) == (said is not None)
    assert (said or "service") in line


def test_a_device_that_let_connections_pass_has_a_way_there():
    """A machine next to a container has a public address: it accepts, refuses and accepts again."""
    client, server = "172.17.0.2", Address("8.8.8.8", 5432)
    packets = scenario(HANDSHAKE, client=Address(client, 50_000), server=server)
    refused = f"20 > S 0:0(0) win 64240 {OPTIONS}\n+.0004 < R. 0:0(0) ack 1 win 0"
    packets += scenario(refused, client=Address(client, 50_001), server=server)
    again = HANDSHAKE.replace("0     >", "40 >", 1)
    packets += scenario(again, client=Address(client, 50_002), server=server)
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert "accepted before and afterwards" in line
    assert "passed no router" not in line


def test_a_stopped_service_of_others_is_not_the_readers_to_start():
    client, server = Address("192.168.1.9", 40_000), Address("8.8.8.8", 443)
    packets = scenario(HANDSHAKE, client=client, server=server)
    refused = f"5 {TRY}\n+.02 < R. 0:0(0) ack 1 win 0 ttl 50"
    packets += scenario(refused, client=Address(client.host, 40_001), server=server)
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert "a limit, a balancer or a device on the way refused these." in line
    assert "start it" not in line


def test_a_port_that_accepts_later_had_not_started():
    refused = f"0 > S 0:0(0) win 64240 {OPTIONS}\n+.02 < R. 0:0(0) ack 1 win 0"
    assert "the service had not started yet, or" in failed(refused, "", start_s=9, port=SERVER.port)[0]
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
    """A reset shows that nothing listens (RFC 9293 section 3.10.7.1), a SYN-ACK that something does."""
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


@pytest.mark.parametrize(("written_after_s", "idle"), [(0.9, False), (4.9, False), (5, True)])
def test_a_server_that_closes_a_new_connection_turns_its_client_away(written_after_s, idle):
    """Apache's KeepAliveTimeout, the shortest in wide use, is 5 s."""
    closed = "+.02 < P. 1:125(124) ack 1 win 500\n+0 < F. 125:125(0) ack 1 win 500\n+.02 > . 1:1(0) ack 126 win 502"
    asked = f"+{written_after_s} > P. 1:601(600) ack 126 win 502\n+.02 < R 126:126(0) win 0"
    said = " ".join(connections.sentences(analyzed(HANDSHAKE + f"{closed}\n{asked}")))
    assert "closed by the server before all data came" in said
    assert ("A client that drops idle connections sooner" in said) == idle
    assert ("it closed soon after the opening" in said) != idle


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


def test_a_client_that_resets_the_middle_of_an_answer_left_nothing_unanswered():
    """The capture begins after the request, so the server's data are no request to the client."""
    lines = [
        "0 < P. 1:1001(1000) ack 1 win 512",
        "+.001 > . 1:1(0) ack 1001 win 502",
        "+.001 < P. 1001:2001(1000) ack 1 win 512",
        "+.001 > R. 1:1(0) ack 1 win 0",
    ]
    assert not connections.sentences(analyzed("\n".join(lines)))


def test_a_client_that_resets_what_it_asked_nothing_of_was_done():
    """A server of events speaks first, and its client owes no answer."""
    packets = scenario(
        f"""{HANDSHAKE}
        +.1    < P. 1:101(100) ack 1 win 502
        +.0001 > .  1:1(0) ack 101 win 502
        +5     > R. 1:1(0) ack 101 win 0
        """
    )
    assert connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets)))) == []
