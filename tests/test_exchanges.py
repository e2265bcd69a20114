"""Requests and responses: dialogues whose times are known because they were written so, and a server's own log."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pandas as pd
import pytest
from dialogues import asked
from hypothesis import given
from hypothesis import strategies as st
from oracles import KEPT
from packets import pcap
from scenario import CLIENT, SERVER, Address, scenario

import bdpcap
from bdpcap import report, tables
from bdpcap.explain import exchange_shares
from bdpcap.explain.exchange_shares import shares, waits
from bdpcap.explain.findings import Code, requests
from bdpcap.report import exchanges as shown
from bdpcap.report import page, screen, slow_answers, verdict

MS = 1_000_000
RECORDED = KEPT / "exchanges"


@dataclass(frozen=True)
class Asked:
    """A request of so many bytes, the server's and the client's time in ms, and a response."""

    server: int = 30
    client: int = 7
    request: int = 100
    response: int = 300


def conversation(asked, to_client=0, to_server=20):
    """Requests and responses of a segment each, as a tap sees them that is so many ms of round trip from either end."""
    lines = [
        "0 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        f"{to_server / 1000:.4f} < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        f"{(to_server + to_client) / 1000:.4f} > . 1:1(0) ack 1 win 502",
    ]
    at, sent, answered = 100, 1, 1
    for one in asked:
        end = sent + one.request
        lines.append(f"{at / 1000:.4f} > P. {sent}:{end}({one.request}) ack {answered} win 502")
        at += to_server + one.server
        sent, end = end, answered + one.response
        lines.append(f"{at / 1000:.4f} < P. {answered}:{end}({one.response}) ack {sent} win 512")
        at += to_client + one.client
        answered = end
    return "\n".join(lines)


def analysed(text, without=(), **how):
    packets = [packet for number, packet in enumerate(scenario(text, **how), 1) if number not in without]
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def in_ms(table, *names):
    """Rows of these columns, in ms; None where a value is missing."""
    return [
        tuple(None if pd.isna(value) else round(value / MS, 3) for value in row)
        for row in table[list(names)].itertuples(index=False, name=None)
    ]


def times(table):
    return in_ms(table, "server_ns", "network_ns", "client_ns")


HANDSHAKE = """
    0    > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    .020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>
    .020 > .  1:1(0) ack 1 win 502
"""
"""The tap is at the client, 20 ms from the server."""

TAPS = pytest.mark.parametrize(("to_client", "to_server"), [(0, 20), (20, 0), (10, 10), (4, 16)])
"""At the client, at the server, half-way, a fifth of the way."""


@TAPS
def test_wherever_the_tap_is_each_side_has_its_own_time(to_client, to_server):
    asked = [Asked(30, 7), Asked(0, 0), Asked(500, 90, request=1400), Asked(1, 40, response=1400), Asked(3)]
    table = analysed(conversation(asked, to_client, to_server)).exchanges
    assert times(table)[:-1] == [(one.server, 20, one.client) for one in asked[:-1]]
    # The last one ends with its response, which the tap sees before the client does.
    assert times(table)[-1] == (3, to_server, None)
    assert table["request_bytes"].tolist() == [one.request for one in asked]
    assert table["response_bytes"].tolist() == [one.response for one in asked]
    assert table["first_frame"].tolist() == [4, 6, 8, 10, 12]
    assert list(table) == list(tables.EXCHANGES)


def test_transfer_is_the_networks_and_a_pause_in_it_the_talkers():
    table = analysed(f"""{HANDSHAKE}
        .100 > .  1:1461(1460)    ack 1    win 502
        .103 > P. 1461:2000(539)  ack 1    win 502
        .123 < .  1:1(0)          ack 2000 win 512
        .200 < .  1:1461(1460)    ack 2000 win 512   # 123 ms have the request, 77 ms later it answers
        .205 < P. 1461:2000(539)  ack 2000 win 512
        .205 > .  2000:2000(0)    ack 2000 win 502
        .285 < P. 2000:2100(100)  ack 2000 win 512   # no acknowledgment ends this: it came 60 ms ago
        .299 > P. 2000:2100(100)  ack 2100 win 502
    """).exchanges
    assert times(table) == [(77 + 80, 3 + 20 + 5, 14)]


def repaired(wait_s, pause_s):
    """An answer that begins after a wait. A lost segment comes again after 300 ms, and the rest follows after a pause."""
    return analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)       ack 1    win 502
        +{wait_s} < .  1:1461(1460)     ack 101  win 512
        +.001 < .  2921:4381(1460)  ack 101  win 512
        +0 > .  101:101(0)       ack 1461 win 502
        +.300 < .  1461:2921(1460)  ack 101  win 512
        +0 > .  101:101(0)       ack 4381 win 502
        +{pause_s} < P. 4381:4481(100)   ack 101  win 512
        +.079 > P. 101:201(100)     ack 4481 win 502
        +.020 < P. 4481:4581(100)   ack 201  win 512
    """).exchanges


def test_a_pause_that_a_repair_explains_is_the_networks():
    # The rest of the answer was lost, too: its first copies left before the timer ran out.
    assert times(repaired(0.02, 0.2))[0] == (0, 521, 79)


def test_an_answer_that_paused_for_longer_than_a_timer_and_was_repaired_has_no_times():
    assert times(repaired(0.42, 2))[0] == (None, None, 79)


def test_a_tail_that_came_twice_explains_no_pause_before_it():
    # A server acknowledges a request inside TLS at once and answers later. Its probe of the tail comes for nothing.
    table = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .120 < P. 1:40(39)       ack 101 win 512
        .170 > .  101:101(0)     ack 40  win 502
        .400 < P. 40:1340(1300)  ack 101 win 512
        .400 < P. 40:1340(1300)  ack 101 win 512
        .450 > P. 101:201(100)   ack 1340 win 502
    """).exchanges
    assert times(table) == [(280, 20, 50)]


def test_data_that_an_acknowledgment_releases_was_no_pause():
    table = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .130 < P. 1:101(100)     ack 101 win 512
        .170 > .  101:101(0)     ack 101 win 502     # 40 ms late, and small data waits for it (RFC 1122 section 4.2.3.4)
        .190 < P. 101:201(100)   ack 101 win 512
    """).exchanges
    assert times(table) == [(10, 20 + 60, None)]


def test_a_request_lost_behind_the_tap_costs_the_network_its_repair():
    table = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .400 > P. 1:101(100)     ack 1   win 502
        .430 < P. 1:101(100)     ack 101 win 512
    """).exchanges
    assert times(table) == [(10, 320, None)]


def test_a_copy_too_late_to_have_been_answered_takes_nothing_from_the_server():
    table = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .420 > P. 1:101(100)     ack 1   win 502
        .430 < P. 1:101(100)     ack 101 win 512
    """).exchanges
    assert times(table) == [(310, 20, None)]


def test_an_answer_ends_at_its_first_copy_and_not_at_one_that_the_client_had():
    table = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .130 < P. 1:101(100)     ack 101 win 512
        .170 > .  101:101(0)     ack 101 win 502     # on its way when the server's timer ends
        .380 < P. 1:101(100)     ack 101 win 512
        .500 > P. 101:201(100)   ack 101 win 502
        .530 < P. 101:201(100)   ack 201 win 512
    """).exchanges
    assert table["response_end_ns"][0] == table["response_start_ns"][0]
    assert times(table)[0] == (10, 20, 370)


def test_small_parts_that_no_acknowledgment_released_waited_for_their_program():
    table = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .115 > P. 101:201(100)   ack 1   win 502     # Nagle's algorithm would have waited, no window would
        .145 < P. 1:101(100)     ack 201 win 512
        .150 > P. 201:301(100)   ack 101 win 502
        .180 < P. 101:201(100)   ack 301 win 512
    """).exchanges
    assert times(table)[0] == (10, 20, 15 + 5)
    assert in_ms(table, "request_pause_ns") == [(15,), (0,)]
    assert table["request_pauses"].tolist() == [0, 0]  # less than a round trip: no answer could have come


def screens(events):
    """A remote screen: of ten messages that ask for its changes, so many are followed by three of a pointer."""
    lines, sent, answered = [HANDSHAKE], 1, 1
    for number in range(10):
        for event in range(4 if number < events else 1):
            lines += [
                f"+{0.1 if event else 0.001} > P. {sent}:{sent + 10}(10) ack {answered} win 502",
                f"+.020 < . {answered}:{answered}(0) ack {sent + 10} win 512",
            ]
            sent += 10
        lines += [
            f"+.080 < P. {answered}:{answered + 900}(900) ack {sent} win 512",
            f"+0 > . {sent}:{sent}(0) ack {answered + 900} win 502",
        ]
        answered += 900
    return "\n".join(lines)


@pytest.mark.parametrize(("events", "messages"), [(0, False), (2, False), (3, True), (10, True)])
def test_a_client_that_often_sends_on_asks_for_nothing(events, messages):
    flow = analysed(screens(events)).flow(0)
    assert shares(flow).sent_on == events
    (said,) = screen.sentences(flow)
    assert ("these are messages, not requests" in said) == messages
    assert ("waited for events" in flow.remedy.words) == messages
    least = "" if events == 10 else "at least "
    assert not messages or (said.startswith(f"In {least}{events} of 10 ") and not flow.remedy.where)


def test_a_lost_acknowledgment_takes_time_of_the_path():
    """Next to the client, a copy of data that are there ends no answer, and shows what its sender waited for."""
    flow = analysed(f"""{HANDSHAKE}
    +.030 > P. 1:101(100) ack 1 win 502
    +.021 < . 1:1461(1460) ack 101 win 512
    +0    < . 1461:2921(1460) ack 101 win 512
    +0    > . 101:101(0) ack 2921 win 502
    +.230 < . 1:1461(1460) ack 101 win 512
    +0    > . 101:101(0) ack 2921 win 502
    +.020 < P. 2921:3021(100) ack 101 win 512
    +.010 > P. 101:201(100) ack 3021 win 502
    +.021 < P. 3021:3121(100) ack 201 win 512
    +.210 < P. 3021:3121(100) ack 201 win 512
    +0    > . 201:201(0) ack 3121 win 502
    +.300 > P. 201:301(100) ack 3121 win 502
    +.021 < P. 3121:3221(100) ack 301 win 512
    """).exchanges
    assert in_ms(flow, "server_ns", "network_ns") == [(1, 270), (1, 20), (1, 20)]


@pytest.mark.parametrize("held_ms", [65, 365])
def test_a_typical_answer_waits_for_a_delayed_acknowledgment_or_does_not(held_ms):
    """Of a third that has messages held and others, no mean is a wait that one of them had."""
    lines, sent, answered = [HANDSHAKE], 1, 1
    for number in range(12):
        held, wait = 6 <= number < 8, 0.021 if number < 8 else 0.4
        if held:
            lines += [
                f"+.007 > P. {sent}:{sent + 93}(93) ack {answered} win 502",
                f"+{held_ms / 1000} < . {answered}:{answered}(0) ack {sent + 93} win 512",
            ]
        first = sent + 93 if held else sent
        lines += [
            f"+{0 if held else 0.007} > P. {first}:{sent + 100}({sent + 100 - first}) ack {answered} win 502",
            f"+{wait} < P. {answered}:{answered + 50}(50) ack {sent + 100} win 512",
            f"+.0001 > . {sent + 100}:{sent + 100}(0) ack {answered + 50} win 502",
        ]
        sent, answered = sent + 100, answered + 50
    flow = analysed("\n".join(lines)).flow(0)
    assert shares(flow).held[0].times == 2
    (said,) = screen.sentences(flow)
    assert "typically answered in 21 ms" in said
    assert "waits for delayed" not in said


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ({1, 2, 3}, "12 requests one after the other, with answers that usually came 50 ms later."),
        (
            {1, 2, 3, 13},
            "10 requests, with answers that usually came 50 ms later. The capture lacks parts of others.",
        ),
        (
            {13},
            "10 requests, typically answered in 50 ms: 30 ms of it by the server. The capture lacks parts of others.",
        ),
    ],
    ids=["no SYNs", "no SYNs and no answer", "no answer"],
)
def test_exchanges_are_a_part_of_those_in_a_capture_that_lacks_data(without, said):
    """Without separate acknowledgments, no round trip is apart from a program's time."""
    capture = analysed(conversation([Asked(client=2_000)] * 6 + [Asked(client=700)] * 6), without=without)
    assert screen.sentences(capture.flow(0)) == [said]


@pytest.mark.parametrize("crossed", [0, 3])
def test_a_client_that_publishes_while_an_answer_is_on_its_way_asks_for_nothing(crossed):
    """As over MQTT: a broker sends each message back to its publisher, which has sent the next one before."""
    lines, sent, answered = [HANDSHAKE], 1, 1
    for number in range(12):
        both = number < crossed
        lines.append(f"+.3 > P. {sent}:{sent + 50}(50) ack {answered} win 502")
        lines += [f"+.01 > P. {sent + 50}:{sent + 100}(50) ack {answered} win 502"] if both else []
        lines.append(f"+.011 < P. {answered}:{answered + 50}(50) ack {sent + 50} win 512")
        sent, answered = sent + (100 if both else 50), answered + 50
        if both:
            lines.append(f"+.01 < P. {answered}:{answered + 50}(50) ack {sent} win 512")
            answered += 50
        lines.append(f"+.0001 > . {sent}:{sent}(0) ack {answered} win 502")
    flow = analysed("\n".join(lines)).flow(0)
    said = screen.sentences(flow)[0]
    assert said.startswith(
        "12 requests one after the other" if not crossed else "Both ends sent at once 3 times"
    )
    assert ("these are messages, not requests" in said) == bool(crossed)


def test_a_request_that_a_person_types_is_no_message():
    # Each line of five requests goes by itself, and the answer comes within a millisecond of the last one.
    lines, sent, answered = [HANDSHAKE], 1, 1
    for pause in (0.5, 0.2, 0.9, 0.3, 0.7):
        for _ in range(4):
            lines += [
                f"+{pause} > P. {sent}:{sent + 10}(10) ack {answered} win 502",
                f"+.0005 < . {answered}:{answered}(0) ack {sent + 10} win 512",
            ]
            sent += 10
        lines += [
            f"+.0005 < P. {answered}:{answered + 300}(300) ack {sent} win 512",
            f"+0 > . {sent}:{sent}(0) ack {answered + 300} win 502",
        ]
        answered += 300
    flow = analysed("\n".join(lines)).flow(0)
    assert shares(flow).sent_on == 0
    assert screen.sentences(flow)[0].startswith("5 requests one after the other")


@pytest.mark.parametrize(
    ("inside", "events", "messages"), [(False, 2, False), (False, 3, True), (True, 4, False), (True, 5, True)]
)
def test_control_frames_inside_tls_look_like_messages(inside, events, messages):
    found = SimpleNamespace(tls=inside, is_plain=not inside, sent_on=events, at_once=0, count=20)
    assert requests.are_messages(found) == messages


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (40, "The server's answers took 46 % of their time, pauses of the client 31 %."),
        (100, "The server's answers took 68 % of their time."),
    ],
)
def test_a_second_side_with_a_quarter_of_the_time_is_named(server, said):
    # 20 ms on the network and 30 ms of the client's in each of 12 exchanges, without a pause after the last.
    flow = analysed(conversation([Asked(server, 30)] * 12)).flow(0)
    assert said in screen.sentences(flow)[0]


def test_overtaken_packets_that_reports_repair_were_held_by_no_delay():
    """The first of five segments comes last. Three reports of the others have it sent again (RFC 5681 section 3.2)."""
    lines, sent, got, number = [HANDSHAKE], 1, 1, 7100
    for ask in range(12):
        lines.append(f"+{1 + ask % 3} > P. {sent}:{sent + 100}(100) ack {got} win 502")  # no timer
        sent += 100
        segments = [(got + 1000 * at, number + at) for at in range(5)]
        for start, ip_id in segments[1:]:
            wait = ".050" if start == segments[1][0] else ".0001"
            lines += [
                f"+{wait} < . {start}:{start + 1000}(1000) ack {sent} win 512 id {ip_id}",
                f"+.00001 > . {sent}:{sent}(0) ack {got} win 502 <sack {got + 1000}:{start + 1000}>",
            ]
        first, ip_id = segments[0]
        lines += [
            f"+.005 < . {first}:{first + 1000}(1000) ack {sent} win 512 id {ip_id}",
            f"+.00001 > . {sent}:{sent}(0) ack {got + 5000} win 502",
            f"+.015 < . {first}:{first + 1000}(1000) ack {sent} win 512 id {number + 5}",
            f"+.00001 > . {sent}:{sent}(0) ack {got + 5000} win 502 <sack {first}:{first + 1000}>",
        ]
        got, number = got + 5000, number + 10
    flow = analysed("\n".join(lines)).flow(0, str(SERVER))
    assert flow.summary["spurious_retransmits"] == flow.summary["fast_retransmits"] == 12
    assert "though most first copies had arrived: others overtook them." in " ".join(screen.sentences(flow))
    assert flow.remedy.words.startswith("Find what reorders its packets, such as links in parallel")


def delayed(late):
    """Twelve requests whose answers come after 30 ms; of so many, a link holds both copies of the request 500 ms."""
    lines, at = [HANDSHAKE], 1
    for number in range(12):
        lines.append(f"+{1 + number % 3} > P. {at}:{at + 100}(100) ack {at} win 502")  # no timer
        if number < late:
            lines.append(f"+.300 > P. {at}:{at + 100}(100) ack {at} win 502")
            lines.append(f"+.200 < P. {at}:{at + 100}(100) ack {at + 100} win 512")
            lines.append(f"+.001 < . {at + 100}:{at + 100}(0) ack {at + 100} win 512 <sack {at}:{at + 100}>")
        else:
            lines.append(f"+.030 < P. {at}:{at + 100}(100) ack {at + 100} win 512")
        lines.append(f"+.001 > . {at + 100}:{at + 100}(0) ack {at + 100} win 502")
        at += 100
    return "\n".join(lines)


@pytest.mark.parametrize(("late", "named"), [(0, False), (2, False), (6, True)])
def test_what_the_path_held_is_not_the_servers_time_and_the_path_is_named(late, named):
    flow = analysed(delayed(late)).flow(0)
    assert flow.summary["spurious_retransmits"] == late
    (said,) = screen.sentences(flow)
    assert ("though most first copies had arrived." in said) == named
    assert ("of it" in said) == (not named)
    assert flow.remedy.where == ("the path between 192.0.2.1 and 198.51.100.2" if named else "")


def test_a_queue_that_the_request_itself_filled_is_the_networks():
    lines, at = [HANDSHAKE], 1
    for number in range(10):  # at once; the bottleneck passes one every 5 ms
        lines.append(f".10{number} > . {at}:{at + 1460}(1460) ack 1 win 502")
        at += 1460
    lines += [f".{130 + 10 * pair} < . 1:1(0) ack {1 + 2920 * (pair + 1)} win 512" for pair in range(5)]
    lines.append(f".180 < P. 1:101(100) ack {at} win 512")
    # The last segment took 170 - 109 = 61 ms there and back.
    assert times(analysed("\n".join(lines)).exchanges) == [(10, 70, None)]


PIPELINED = f"""{HANDSHAKE}
    .100 > P. 1:101(100)     ack 1   win 502
    .110 > P. 101:201(100)   ack 1   win 502      # does not wait for the response
    .130 < P. 1:101(100)     ack 101 win 512
    .140 < P. 101:201(100)   ack 201 win 512
    .150 > P. 201:301(100)   ack 201 win 502
    .180 < P. 201:301(100)   ack 301 win 512
"""


def test_sides_that_send_at_once_take_no_turns_and_those_after_do():
    capture = analysed(PIPELINED)
    assert in_ms(capture.exchanges, "server_ns") == [(10,)]
    assert capture.exchanges["first_frame"].tolist() == [8]
    # Half of the stream's 600 bytes is left out, and more: they do not speak for the stream.
    assert shares(capture.flow(0)).bytes_share == pytest.approx(200 / 600)
    assert Code.REQUEST_RESPONSE not in {finding.code for finding in capture.flow(0).findings}


def test_what_a_server_says_unasked_answers_nothing():
    capture = analysed(f"""{HANDSHAKE}
        .060 < P. 1:21(20)       ack 1   win 512
        .070 > P. 1:101(100)     ack 21  win 502
        .100 < P. 21:121(100)    ack 101 win 512
    """)
    assert in_ms(capture.exchanges, "server_ns") == [(10,)]
    assert shares(capture.flow(0)).bytes_share == pytest.approx(200 / 220)


@pytest.mark.parametrize("lost", [6, 7])
def test_an_exchange_of_which_the_capture_lacks_a_part_is_left_out(lost):
    asked = [Asked(10), Asked(20), Asked(30), Asked(40)]
    whole = in_ms(analysed(conversation(asked)).exchanges, "server_ns")
    holed = in_ms(analysed(conversation(asked), without=[lost]).exchanges, "server_ns")
    assert whole == [(10,), (20,), (30,), (40,)]
    assert (20,) not in holed
    assert set(holed) >= {(40,)}
    assert set(holed) < set(whole)


def test_without_a_handshake_the_lower_port_answers():
    text = conversation([Asked(), Asked(), Asked()])
    table = analysed("\n".join(text.splitlines()[4:])).exchanges  # begins with a response
    assert set(table["server"]) == {str(SERVER)}
    assert set(table["client"]) == {str(CLIENT)}
    assert len(table) == 2


def test_without_a_handshake_a_round_trip_is_not_the_servers():
    # At the client: each request is acknowledged after 50 ms, and its response follows at once. The next one thinks 5 ms.
    table = analysed("""
        .100 > P. 1:101(100)    ack 1    win 502
        .150 < .  1:1(0)        ack 101  win 512
        .151 < P. 1:301(300)    ack 101  win 512
        .1511 > . 101:101(0)    ack 301  win 502
        .200 > P. 101:201(100)  ack 301  win 502
        .250 < .  301:301(0)    ack 201  win 512
        .255 < P. 301:601(300)  ack 201  win 512
        .2551 > . 201:201(0)    ack 601  win 502
    """).exchanges
    assert in_ms(table, "server_ns") == [(1,), (5,)]


@pytest.mark.parametrize(("ttl", "network_ms", "client_ms"), [(50, 30, 70), (64, 70, 30)])
def test_an_acknowledgment_that_the_client_may_delay_ends_no_answer_next_to_it(ttl, network_ms, client_ms):
    # The client delays each acknowledgment by 40 ms, and asks again 30 ms later. Its packets passed no router, and those
    # of the server 14. Where neither did, the 40 ms may be the way to the client.
    lines = []
    for number in range(4):
        start, sent, answered = 0.1 * number, 1 + 100 * number, 1 + 300 * number
        lines += [
            f"{start + 0.1:.3f} > P. {sent}:{sent + 100}(100)  ack {answered}  win 502",
            f"{start + 0.13:.3f} < P. {answered}:{answered + 300}(300)  ack {sent + 100}  win 512  ttl {ttl}",
            f"{start + 0.17:.3f} > .  {sent + 100}:{sent + 100}(0)  ack {answered + 300}  win 502",
        ]
    table = analysed("\n".join(lines)).exchanges
    assert times(table)[:-1] == [(0, network_ms, client_ms)] * 3


def tls(text, server=SERVER):
    """Packets of a conversation whose first two turns are a handshake of TLS.

    RFC 5246 section 6.2.1: record type 22 is a handshake, 20 a change of the cipher, 23 data.
    """
    records = {3: 22, 5: 20, 7: 20, 9: 23}
    packets = scenario(text, server=server)
    for number, content_type in records.items():
        data = packets[number].data
        begin = 14 + 20 + (data[14 + 20 + 12] >> 4) * 4
        record = bytes([content_type, 3, 3])
        packets[number] = replace(packets[number], data=data[:begin] + record + data[begin + len(record) :])
    return packets


def test_turns_of_a_tls_handshake_are_no_requests():
    lengths = [Asked(request=517), Asked(request=80), *[Asked(request=400)] * 6]
    capture = bdpcap.analyze(io.BytesIO(pcap(tls(conversation(lengths)))))
    # A client may send its first request with the end of its handshake: it is longer than that alone.
    assert capture.exchanges["tls_handshake"].tolist() == [True, True, *[False] * 6]
    found = shares(capture.flow(0))
    assert (found.count, found.typical.server_ns) == (6, 30 * MS)
    assert screen.sentences(capture.flow(0))[0].startswith(
        "6 requests one after the other, typically answered in 50 ms"
    )


@pytest.mark.parametrize(
    ("farewell", "closes", "answered"), [(63, True, 6), (63, False, 7), (101, True, 7)], ids=str
)
def test_a_farewell_of_an_idle_server_is_no_late_answer(farewell, closes, answered):
    # The client's last message is a log entry. The server waits for four minutes, and closes.
    asked = [Asked(request=400)] * 6
    text = conversation([Asked(request=517), Asked(request=80), *asked, Asked(240_000, 7, 90, farewell)])
    sent, got = 1 + 517 + 80 + 6 * 400 + 90, 1 + 8 * 300 + farewell
    fin = f"\n+.0001 < F. {got}:{got}(0) ack {sent} win 512" if closes else ""
    flow = bdpcap.analyze(io.BytesIO(pcap(tls(text + fin)))).flow(0)
    assert len(flow.exchanges) == 9
    assert len(flow._requests) == answered


@pytest.mark.parametrize(("answer", "slow"), [(63, False), (101, True)])
def test_a_farewell_in_tls_is_no_slow_answer(answer, slow):
    handshake = [Asked(request=517), Asked(request=80), Asked(request=80)]
    asked = [*handshake, Asked(60_000, request=31, response=answer)]
    # The client closes then.
    text = conversation(asked) + f"\n+.001 > F. 709:709(0) ack {901 + answer} win 502"
    made = bdpcap.analyze(io.BytesIO(pcap(tls(text))))
    assert ("waited 60 s" in slow_answers.exception(made, made.flows)) == slow


@pytest.mark.parametrize(("control", "answered"), [(38, 6), (46, 6), (31, 6), (35 + 39, 6), (90, 7)])
def test_a_control_frame_of_http2_asks_for_nothing(control, answered):
    # After six requests, the client answers a ping, or asks once more. The server's next data come 20 s later.
    asked = [*[Asked(request=400)] * 6, Asked(20_000, 7, control)]
    text = conversation([Asked(request=517), Asked(request=80), *asked])
    flow, other = (
        bdpcap.analyze(io.BytesIO(pcap(tls(text, Address(SERVER.host, port))))).flow(0)
        for port in (443, 8888)
    )
    assert len(flow.exchanges) == 9
    assert len(flow._requests) == answered
    # Another protocol inside TLS has messages of any size.
    assert len(other._requests) == 7
    assert (shares(flow).longest_ns["server"] >= 20_000 * MS) == (answered == 7)
    # Without TLS, a short request is a request. The port of HTTPS shows TLS without its handshake.
    for port, all_of_them in ((80, 9), (443, answered + 2)):
        packets = scenario(text, server=Address(SERVER.host, port))
        assert len(bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)._requests) == all_of_them


def test_a_fin_that_is_sent_again_is_no_part_of_the_last_answer():
    text = conversation([Asked()] * 3)
    fins = "".join(f"\n+{after} < F. 901:901(0) ack 301 win 512" for after in (5, 0.3, 0.6, 1.2))
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(text + fins)))).flow(0)
    alone = bdpcap.analyze(io.BytesIO(pcap(scenario(text)))).flow(0)
    assert flow.exchanges.equals(alone.exchanges)


def test_a_stream_of_one_direction_has_no_exchanges():
    capture = analysed(f"""{HANDSHAKE}
        .100 > P. 1:101(100)     ack 1   win 502
        .120 < .  1:1(0)         ack 101 win 512
    """)
    assert capture.exchanges.empty
    assert shares(capture.flow(0)) is None
    assert shown.section(capture.flow(0)) is None


@given(
    st.lists(
        st.builds(
            Asked, st.integers(0, 900), st.integers(0, 900), st.integers(1, 1460), st.integers(1, 1460)
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_times_add_up_to_the_streams(asked, to_client, to_server):
    table = analysed(conversation(asked, to_client, to_server)).exchanges
    parts = table[["server_ns", "network_ns", "client_ns"]].fillna(0)
    assert (parts >= 0).all(axis=None)
    assert (parts.sum(axis=1) == table["duration_ns"]).all()
    # Exchanges tile the stream from its first request to its last response.
    assert table["duration_ns"].sum() == table["response_end_ns"].max() - table["request_start_ns"].min()
    assert in_ms(table, "server_ns") == [(one.server,) for one in asked]


@pytest.mark.parametrize("place", ["client", "middle", "server"])
def test_times_are_those_of_the_ends_own_logs_within_a_round_trip(place):
    log = pd.read_csv(RECORDED / "log.csv")
    capture = bdpcap.analyze(RECORDED / f"{place}.pcap.zst")
    table, rtt = capture.exchanges, capture.flow(0).summary["rtt_min_ns"]
    assert len(table) == len(log)
    server = log["answered_ns"] - log["received_ns"] + log["paused_ns"]
    assert (table["server_ns"] - server).abs().max() < rtt
    client = log["asked_ns"].shift(-1) - log["done_ns"]
    assert (table["client_ns"] - client).abs().max() < rtt
    # A round trip would hide most of the small ones; nine in ten are much nearer.
    assert (table["server_ns"] - server).abs().quantile(0.9) < rtt / 10
    # Its bodies are known: header and body, each byte once.
    assert table["response_bytes"].sum() == capture.flow(0, table["server"][0]).summary["payload_bytes"]


@TAPS
def test_the_parts_of_a_typical_answer_are_of_the_same_exchanges(to_client, to_server):
    # A round trip of 20 ms each. Next to the client, all count, and the server takes 30 ms in the median. Elsewhere, the
    # last one may end behind the tap. Of the other six, it takes 30 and 40 ms in the two in the middle: the lower
    # one is a time that an exchange took.
    each = [(600, 2), (10, 900), (20, 900), (40, 900), (30, 900), (50, 2), (5, 1)]
    flow = analysed(conversation([Asked(*times) for times in each], to_client, to_server)).flow(0)
    typical = shares(flow).typical
    server = 30
    assert (typical.answered_ns, typical.server_ns) == ((server + 20) * MS, server * MS)
    assert typical.network_ns == 20 * MS
    (said,) = screen.sentences(flow)
    assert said.startswith(
        f"7 requests one after the other, typically answered in {server + 20} ms: {server} ms of it by the server."
    )


def test_pauses_of_the_client_are_told_apart_from_its_answers():
    # The client's pauses, here of 400 ms, are longer than the answers with their 20 ms of round trip and 5 of the server.
    flow = analysed(conversation([Asked(server=5, client=400)] * 6)).flow(0)
    (said,) = screen.sentences(flow)
    assert said == (
        "6 requests one after the other, typically answered in 25 ms: 20 ms of it round trips, not bandwidth. "
        "Pauses of the client took 400 ms in the median."
    )


@pytest.mark.parametrize(
    ("pause_ms", "said", "advised"),
    [
        (300, " Pauses of the client took 303 ms in all.", "the time passes at 192.0.2.1"),
        # A person notices a second (Nielsen, 1993), and these round trips took 60 ms.
        (30, "", "Nothing to mend: all round trips and transfers took 60 ms."),
    ],
)
def test_the_advice_is_for_who_took_most_of_the_time(pause_ms, said, advised):
    # Three round trips of 20 ms, and 5 ms of the server each. The client takes 3 ms, and then its pause.
    asked = [Asked(server=5, client=3), Asked(server=5, client=pause_ms), Asked(server=5)]
    flow = analysed(conversation(asked)).flow(0)
    (sentence,) = screen.sentences(flow)
    assert sentence == (
        f"3 requests one after the other, typically answered in 25 ms: 20 ms of it round trips, not bandwidth.{said}"
    )
    assert advised in flow.remedy.words


@pytest.mark.parametrize(("requests", "advised"), [(49, False), (51, True)])
def test_round_trips_that_took_a_second_in_all_may_be_fewer(requests, advised):
    flow = analysed(conversation([Asked(server=5, client=3)] * requests)).flow(0)
    assert ("Make fewer round trips" in flow.remedy.words) == advised


def test_every_place_shows_the_same_shares():
    found = [shares(bdpcap.analyze(path).flow(0)) for path in sorted(RECORDED.glob("*.zst"))]
    assert [one.count for one in found] == [40, 40, 40]
    for side in ("server", "network", "client"):
        parts = [one.parts[side] for one in found]
        assert max(parts) - min(parts) < 0.02  # the last response's way to the client, of 40


def test_the_finding_names_the_largest_share_first_and_its_slowest_exchange():
    asked = [Asked(30, 5), Asked(30, 5), Asked(90, 5), Asked(30, 5), Asked(30, 5)]
    capture = analysed(conversation(asked))
    (told,) = [one for one in capture.flow(0).findings if one.code is Code.REQUEST_RESPONSE]
    assert told.sentence == (
        "In 5 requests with their responses the server took 64 % of the time (median 30 ms an exchange), "
        "the network 30 %, the client 6 %."
    )
    assert told.frames == (8, 9)
    assert told.evidence.startswith("slowest: exchange 2, 90 ms of the server's time")
    assert "log" in told.remedy


def in_two_parts(count, first=100, acknowledged_ms=40):
    """Requests of two writes, of which the second leaves when the first is acknowledged; the RTT is 20 ms."""
    lines, at, sent, answered = [HANDSHAKE], 100, 1, 1
    for _ in range(count):
        then, end = sent + first, sent + first + 200
        at += 20 + acknowledged_ms
        lines += [
            f"{(at - 20 - acknowledged_ms) / 1000:.4f} > P. {sent}:{then}({first}) ack {answered} win 502",
            f"{at / 1000:.4f} < .  {answered}:{answered}(0) ack {then} win 512",
            f"+0 > P. {then}:{end}(200) ack {answered} win 502",
            f"+.022 < P. {answered}:{answered + 50}(50) ack {end} win 512",
        ]
        at, sent, answered = at + 25, end, answered + 50
    return "\n".join(lines)


def test_the_second_part_of_a_request_waits_for_a_delayed_acknowledgment():
    capture = analysed(in_two_parts(5))
    assert in_ms(capture.exchanges, "request_held_ns", "response_held_ns") == [(60, 0)] * 5
    assert capture.exchanges["request_holds"].tolist() == [1] * 5
    finding = capture.flow(0).findings.of(Code.REQUEST_RESPONSE)
    assert finding.sentence.endswith(
        "Nagle's algorithm held the client back until a delayed acknowledgment came: 5 times, 300 ms in all."
    )
    assert "TCP_NODELAY in the client's program" in finding.remedy
    # Each exchange takes 60 ms for the first part, 22 for the second, and 3 of the client.
    assert "60 ms of it waits for delayed acknowledgments" in screen.sentences(capture.flow(0))[0]
    assert str(capture.flow(0).remedy).startswith("On the client, 192.0.2.1: Set TCP_NODELAY")


def then_whole(*answered_ms, held):
    """Requests of which so many are held, and others that are answered after such times."""
    lines, sent, answered = [in_two_parts(held)], 1 + 300 * held, 1 + 50 * held
    for each_ms in answered_ms:
        lines += [
            f"+.5 > P. {sent}:{sent + 100}(100) ack {answered} win 502",
            f"+{each_ms / 1000:.3f} < P. {answered}:{answered + 50}(50) ack {sent + 100} win 512",
        ]
        sent, answered = sent + 100, answered + 50
    return analysed("\n".join(lines)).flow(0)


@pytest.mark.parametrize(("held", "whole", "named"), [(2, 2, True), (2, 3, False), (1, 2, False)])
def test_two_held_requests_are_a_habit_where_they_are_half_of_all(held, whole, named):
    said = " ".join(screen.sentences(then_whole(*[25] * whole, held=held)))
    assert ("Nagle's algorithm held the client back" in said) == named


def test_a_typical_time_of_few_requests_has_the_parts_of_that_request():
    """Two of four are held on the network for 82 ms each; the server works for 1 ms and 40 ms in the others."""
    said = screen.sentences(then_whole(21, 60, held=2))[0]
    assert "4 requests one after the other, typically answered in 60 ms: 40 ms of it by the server." in said


def answers_in_two_parts(count):
    """Exchanges in which both messages are two writes; the second leaves when the first is acknowledged, 40 ms late."""
    lines, asked, answered = [HANDSHAKE], 1, 1
    for _ in range(count):
        lines += [
            f"+.010 > P. {asked}:{asked + 100}(100) ack {answered} win 502",
            f"+.060 < .  {answered}:{answered}(0) ack {asked + 100} win 512",
            f"+0 > P. {asked + 100}:{asked + 200}(100) ack {answered} win 502",
            f"+.022 < P. {answered}:{answered + 50}(50) ack {asked + 200} win 512",
            f"+.040 > . {asked + 200}:{asked + 200}(0) ack {answered + 50} win 502",
            f"+.020 < P. {answered + 50}:{answered + 100}(50) ack {asked + 200} win 512",
        ]
        asked, answered = asked + 200, answered + 100
    return "\n".join(lines)


def test_both_ends_that_nagles_algorithm_holds_are_named():
    flow = analysed(answers_in_two_parts(6)).flow(0)
    assert "held both ends back" in flow.findings.of(Code.REQUEST_RESPONSE).sentence
    assert str(flow.remedy).startswith(
        "On the client, 192.0.2.1, and the server, 198.51.100.2: Set TCP_NODELAY in each program"
    )


def test_a_program_that_waits_for_a_late_peer_is_not_the_one_to_look_at():
    flow = analysed(
        f"""{HANDSHAKE}
        +.010 > P. 1:101(100) ack 1 win 502
        +.030 < P. 1:201(200) ack 101 win 512
        +2 > P. 101:201(100) ack 201 win 502    # 2 s after the answer
        +.030 < . 201:15201(15000) ack 201 win 512
        """
    ).flow(0, "198.51.100.2:80")
    assert flow.summary["limit"] == "app"
    assert flow.remedy.where == ""


def test_waits_of_both_ends_fit_in_the_time_of_the_limit():
    flow = analysed(
        f"""{HANDSHAKE}
        +.010 > P. 1:101(100) ack 1 win 502
        +.030 < P. 1:201(200) ack 101 win 512
        +2 > P. 101:201(100) ack 201 win 502
        +.030 < . 201:15201(15000) ack 201 win 512
        +.020 > . 201:201(0) ack 15201 win 502
        +9 > P. 201:301(100) ack 15201 win 502    # the server was idle: it owed nothing
        +.030 < . 15201:30201(15000) ack 301 win 512
        """
    ).flow(0, "198.51.100.2:80")
    own = flow.rtts[flow.rtts["limit"] == "app"]
    found = waits(flow, own)
    assert found.peer_ns >= 2000 * MS
    assert found.own_ns + found.peer_ns <= (own["end_ns"] - own["start_ns"]).sum() < 9000 * MS


def test_without_a_syn_the_higher_port_is_the_client_in_every_table():
    capture = analysed(
        """
        0     < P. 1:201(200)     ack 101 win 512
        +.020 > .  101:101(0)     ack 201 win 502
        +.030 > P. 101:201(100)   ack 201 win 502
        +.030 < .  201:15201(15000) ack 201 win 512
        """
    )
    ends = ["192.0.2.1:40000", "198.51.100.2:80"]
    assert capture.connections[["client", "server"]].to_numpy().tolist() == [ends]
    assert capture.exchanges[["client", "server"]].to_numpy().tolist() == [ends]
    assert [capture.flow(0, end).is_from_client for end in ends] == [True, False]


@pytest.mark.parametrize("how", [{"first": 1460}, {"acknowledged_ms": 0}])
def test_nagles_algorithm_holds_nothing_behind_a_whole_segment_or_for_a_round_trip(how):
    capture = analysed(in_two_parts(5, **how))
    assert not capture.exchanges["request_holds"].any()
    assert "TCP_NODELAY" not in capture.flow(0).findings.of(Code.REQUEST_RESPONSE).remedy


def test_the_report_shows_the_slowest_exchanges_once_a_stream():
    capture = bdpcap.analyze(RECORDED / "client.pcap.zst")
    document = report.document(capture)
    assert [len(flow["exchanges"]) for flow in document["flows"]] == [40, 40]
    html = page.html(capture)
    assert html.count("<h3>Requests and responses</h3>") == 1
    section = shown.section(capture.flow(0))
    assert section.side == "server"
    slowest = [row["server_ns"] for row in section.slowest]
    assert slowest == sorted(capture.exchanges["server_ns"], reverse=True)[: shown.ROWS]


@pytest.mark.parametrize("before", [HANDSHAKE, "0 > . 1:1(0) ack 1 win 502"], ids=["handshake", "without"])
def test_the_servers_time_is_without_the_round_trips_to_it(before):
    # Large answers, each after a round trip of 20 ms and a time of the server's.
    slow, quick = (
        analysed(f"{before}\n{asked([wait_s] * 8, think='+.010', answer=20_000)}").flow(0, str(SERVER))
        for wait_s in (0.2, 0.005)
    )
    said = screen.sentences(slow)[-1]
    assert "The server's program let its client wait: it took 1.6 s in all to answer 8 requests." in said
    assert "let its client wait" not in " ".join(screen.sentences(quick))
    # A wait of the client's first frame, and the answer to it.
    first, last = map(int, re.findall(r"[<>]= (\d+)", verdict.best_span(slow).display_filter))
    wait = slow.exchanges[slow.exchanges["first_frame"] == first].iloc[0]
    assert last == wait["last_frame"]


def test_a_single_exchange_of_few_does_not_decide_where_the_time_goes():
    """Six answers, of which one took its time on the way: the others waited for the server."""
    table = pd.DataFrame(
        {
            "server_ns": [222, 209, 395, 1353, 187, 15],
            "network_ns": [5, 6, 6, 4, 37, 275],
            "client_ns": [2] * 6,
            "request_held_ns": [0] * 6,
            "response_held_ns": [0] * 6,
            "request_end_ns": [0] * 6,
            "response_start_ns": [222, 209, 395, 1353, 187, 15],
        }
    )
    flow = SimpleNamespace(summary={"vantage": "unknown"}, is_from_client=True)
    typical = exchange_shares._typical(flow, table)
    assert typical.answered_ns == pytest.approx(227, abs=1)  # the median, one of six; parts are rounded
    assert typical.server_ns > 9 * typical.network_ns


@pytest.mark.parametrize(("port", "serves"), [(1022, True), (664, False), (40_000, True)])
def test_without_a_handshake_nfs_is_the_server_of_clients_with_reserved_ports(port, serves):
    """Servers of NFS may insist on a port below 1024; Linux takes 665 to 1023 (min_resvport, max_resvport)."""
    nfs, other = Address("192.0.2.1", 2049), Address("192.0.2.2", port)
    talk = "0 > P. 1:101(100) ack 1 win 502\n+.001 < P. 1:201(200) ack 101 win 500\n"
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario(talk, client=other, server=nfs))))
    assert (capture.connections["server"].iloc[0] == str(nfs)) == serves


@pytest.mark.parametrize(("pause_ms", "on"), [(0.7, False), (200, True)])
def test_pieces_of_one_message_are_no_messages_sent_on(pause_ms, on):
    """A client of MQTT writes a message field by field; the round trip is shorter than a write."""
    each = pd.DataFrame(
        {
            "request_end_ns": [3 * pause_ms * 1e6] * 4,
            "response_start_ns": [3 * pause_ms * 1e6 + 0.4 * pause_ms * 1e6] * 4,
            "request_pauses": [3] * 4,
            "request_pause_ns": [3 * pause_ms * 1e6] * 4,
        }
    )
    assert bool(exchange_shares.sent_on(SimpleNamespace(_requests=each)).all()) == on
