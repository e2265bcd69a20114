"""Ends that answer no FIN, no request or no data: closed before, forgotten, or cut off."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from connected import analyzed, failed, shifted
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, scenario

import bdpcap
from bdpcap.report import connections, unclosed


@pytest.mark.parametrize(("acked", "given_up"), [(1, True), (518, False)])
def test_a_request_that_never_arrived_fails_whoever_closes(acked, given_up):
    asked = "> P. 1:518(517) ack 1 win 502"
    again = "".join(f"\n+{wait} {asked}" for wait in (0.3, 0.6, 1.2, 2.4))
    closed = f"+1 < F. 1:1(0) ack {acked} win 500\n+.001 > . 518:518(0) ack 2 win 502"
    capture = analyzed(f"{HANDSHAKE}+.1 {asked}{again}\n{closed}")
    said = " ".join(connections.sentences(capture))
    assert ("left with 517 bytes unacknowledged" in said) == given_up


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
    assert f"no FIN of the {'client' if by_client else 'server'} was answered" in line
    assert ("The FINs reached the capture next to 192.0.2.1" in line) != by_client
    assert ("which had closed the connection itself" in line) != by_client


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
    line = f"2 connections from 192.0.2.1 to {servers} were closed, and no FIN of the client was answered"
    line = f"{line} ({2 * fins} FINs)."
    assert [one.startswith(line) for one in said] == ([True] if told else [])
    assert any("gave up with a reset" in one for one in said) == (told and "R." in answer)
    assert connections.failed(capture) == 0


def test_fins_of_clients_and_of_servers_have_lines_of_their_own():
    # The capture is next to the client: what servers closed reached it.
    own = "\n".join(f"+{2**n} > F. 1:1(0) ack 1 win 500" for n in range(5))
    servers = "\n".join(f"+{2**n} < F. 1:1(0) ack 1 win 500 ttl 55" for n in range(5))
    opened = HANDSHAKE.replace("ack 1 win 65535", "ack 1 win 65535 ttl 55")
    packets = [
        packet
        for number, closing in enumerate((own, servers))
        for packet in scenario(f"{opened}{closing}", server=Address(f"198.51.100.{20 + number}", 443))
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    said = connections.sentences(capture)
    assert len(said) == 2
    assert ["The FINs reached the capture next to 192.0.2.1" in line for line in said] == [
        "198.51.100.21" in line for line in said
    ]


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
        (SENT_AGAIN, 62, "Find what drops the data, or whether the far end is gone"),
        # These left the capture next to the client, and got lost behind it, or at the server.
        (
            SENT_AGAIN.replace("<", ">").replace(" ttl 55", ""),
            64,
            "Find what drops the data, or whether the far end is gone",
        ),
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


@pytest.mark.parametrize(("answered_s", "waited"), [(0.02, False), (1.5, True)])
def test_a_client_that_leaves_after_one_round_trip_did_not_stop_waiting(answered_s, waited):
    dialogue = f"0 > S 0:0(0) win 64240 <mss 1460,sackOK>\n+{answered_s} < S. 0:0(0) ack 1 win 65535\n+0 > R 1:1(0) win 0"
    packets = scenario(dialogue) + scenario(dialogue, client=Address(CLIENT.host, 50_000))
    (line,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert ("it had stopped waiting" in line) == waited
    assert ("it only probed the port, or had left before the answer came" in line) != waited


@pytest.mark.parametrize(("rest_s", "spare"), [(0.1, False), (9, True)])
@pytest.mark.parametrize(
    "other", ["", "+.001 > P. 1:201(200) ack 1 win 502\n+20 > P. 201:301(100) ack 1 win 502"]
)
def test_a_connection_without_data_left_at_once_or_was_spare_and_not_needed(rest_s, spare, other):
    (line,) = failed(f"{HANDSHAKE.replace('0     >', '1 >', 1)}+{rest_s} > R. 1:1(0) ack 1 win 0", other)
    assert ("left as soon as it was answered" in line) != spare
    assert ("a spare connection" in line) == spare
    assert ("no further one was needed" in line) == bool(other)


@pytest.mark.parametrize(
    ("reset", "side"), [("> R. 1:1(0) ack 1", "client"), ("< R. 1:1(0) ack 1", "server")]
)
def test_who_left_a_connection_without_data_is_named(reset, side):
    (line,) = failed(f"{HANDSHAKE}+.01 {reset} win 0", "", 20)
    assert f"was reset by the {side} before any data." in line
    assert ("see in its log whether a rule" in line) == (side == "server")


@pytest.mark.parametrize(("port", "until_s", "ftp"), [(21, 9, True), (21, 1, False), (22, 9, False)])
def test_a_reset_data_connection_of_ftp_has_its_reason_in_the_replies(port, until_s, ftp):
    """The server answers a request for a missing file by 550, and resets the connection for its data (RFC 959)."""
    asked = f"+.1 > P. 1:101(100) ack 1 win 502\n{until_s} < P. 1:101(100) ack 101 win 500"
    packets = scenario(f"{HANDSHAKE}{asked}", server=Address("8.8.8.8", port))
    ends = {"client": Address(CLIENT.host, 40_001), "server": Address("8.8.8.8", 44_163)}
    packets += scenario(f"{HANDSHAKE.replace('0     >', '5 >', 1)}+.01 < R. 1:1(0) ack 1 win 0", **ends)
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    (line,) = connections.sentences(capture)
    assert "was reset by the server before any data." in line
    assert ("a reply there has the reason, such as 550 (no such file)" in line) == ftp
    assert ("see in its log whether a rule" in line) != ftp


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
    (line,) = (line for line in connections.sentences(capture) if "left with" in line)
    assert ("no data passed" in line) == told


@pytest.mark.parametrize("first", [True, False], ids=["server", "client"])
def test_an_end_that_had_closed_first_needs_no_mending(first):
    server = "+.02 < F. 1:1(0) ack 101 win 500\n+0 > . 101:101(0) ack 2 win 502\n" if first else ""
    ack = 2 if first else 1
    fins = "".join(f"+{wait} > F. 101:101(0) ack {ack} win 502\n" for wait in (70, 0.3, 0.6, 1.2, 2.4, 4.8))
    dialogue = (
        f"{HANDSHAKE}+.1 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 500\n{server}{fins}"
    )
    (line,) = connections.sentences(analyzed(dialogue))
    assert "no FIN of the client was answered (6 FINs)" in line
    assert ("The other end had closed the connection first" in line) == first
    assert ("dropped the FINs" in line) != first


@pytest.mark.parametrize(
    ("closed", "said"), [(3, "the other end"), (2, "In most of them"), (1, "dropped the FINs")]
)
def test_most_ends_that_had_closed_first_need_no_mending(closed, said):
    line = SimpleNamespace(reached=False, deaf=0, connections=3, had_closed=closed, reset=False)
    assert said.lower() in unclosed.advice(line).lower()


@pytest.mark.parametrize("reset", ["", "\n+16 > R. {0}:{0}(0) ack 501 win 0"])
@pytest.mark.parametrize(("bytes_", "forgotten"), [(31, True), (500, False)])
def test_a_farewell_that_nobody_acknowledges_is_of_a_forgotten_connection(bytes_, forgotten, reset):
    """After a minute without data, the close_notify of TLS 1.2 has 31 bytes (RFC 5246 section 7.2.1)."""
    asked = "+.1 > P. 1:101(100) ack 1 win 502\n+.02 < P. 1:501(500) ack 101 win 500 ttl 55\n"
    asked += "+0 > . 101:101(0) ack 501 win 502"
    last = f"> P. 101:{101 + bytes_}({bytes_}) ack 501 win 502"
    again = "".join(f"\n+{2**number} {last}" for number in range(-2, 4))
    opened = HANDSHAKE.replace("ack 1 win 65535", "ack 1 win 65535 ttl 55")
    (line,) = failed(f"{opened}{asked}\n+60 {last}{again}{reset.format(101 + bytes_)}", "")
    assert f"left with {bytes_} bytes unacknowledged" in line
    assert ("had forgotten the connection. Nothing to mend" in line) == forgotten
