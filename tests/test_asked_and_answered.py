"""Requests, answers, pushes and timers on the first screen: whose time it was."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from dialogues import analysed, asked
from first_screens import analyzed, connections, writes
from oracles import SHARED
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.diagnosis import asker, natures, operators, pauses
from bdpcap.diagnosis.decide import cause
from bdpcap.diagnosis.kinds import ALL, app
from bdpcap.report import headline, ranking, screen, verdict


def test_requests_one_after_the_other_are_counted():
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    flow = analyzed(asks).flow(0)
    assert natures.nature(flow) is natures.REQUESTS
    (said,) = screen.sentences(flow)
    # The tap is beside the client: each answer takes a round trip of 20 ms; the client's 1 ms is no part of it.
    assert said.startswith(
        "12 requests one after the other, typically answered in 20 ms: round trips (20 ms), "
    )


def test_the_time_of_a_response_is_no_round_trip():
    # Each response of ten segments takes 20 ms to begin, and 8 ms to arrive.
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 10000 * n} win 502\n"
        f"+.020 < . {1 + 10000 * n}:{5001 + 10000 * n}(5000) ack {101 + 100 * n} win 500\n"
        f"+.008 < P. {5001 + 10000 * n}:{10001 + 10000 * n}(5000) ack {101 + 100 * n} win 500\n"
        f"+0 > . {101 + 100 * n}:{101 + 100 * n}(0) ack {10001 + 10000 * n} win 502\n"
        for n in range(12)
    )
    (said,) = screen.sentences(analyzed(asks).flow(0))
    assert "round trips (20 ms) and transfer (8 ms)" in said


def test_a_segment_each_way_takes_round_trips_and_no_transfer():
    # The tap lies between: 8 ms to the client and back, 10 ms to the server and back.
    dialogue = "0 > S 0:0(0) win 64240 <mss 1460>\n+.010 < S. 0:0(0) ack 1 win 65535 <mss 1460>\n"
    dialogue += "+.008 > . 1:1(0) ack 1 win 5020\n"
    for n in range(12):
        first, answer = 1 + 100 * n, 1 + 200 * n
        dialogue += (
            f"+.001 > P. {first}:{first + 100}(100) ack {answer} win 5020\n"
            f"+.010 < P. {answer}:{answer + 200}(200) ack {first + 100} win 5000\n"
            f"+.008 > . {first + 100}:{first + 100}(0) ack {answer + 200} win 5020\n"
        )
    said = screen.sentences(analysed(dialogue).flow(0))[0]
    assert "typically answered in 18 ms: round trips (18 ms), not bandwidth" in said


def test_requests_that_other_sides_held_are_not_the_same():
    # The server of one stream takes its time; of the other, the client pauses for seconds.
    def asks(server_s, client_s, answer):
        return "".join(
            f"+{client_s * (1 + n % 4)} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + answer * n} win 502\n"
            f"+{server_s * (1 + n % 4)} < P. {1 + answer * n}:{1 + answer * (n + 1)}({answer}) "
            f"ack {101 + 100 * n} win 500\n"
            for n in range(12)
        )

    capture = connections(asks(1.5, 0.001, 1000), asks(0.03, 2, 900))
    first, other = (capture.flow(stream, f"{CLIENT.host}:{CLIENT.port + stream}") for stream in (0, 1))
    group = ranking.Group(first, other.summary.to_frame().T, to_server=True)
    assert "1 more flow to 198.51.100.2:80: with another verdict (stream 1)" in group.same


def asks(size, answer, wait_s=0.4):
    """Twelve requests of `size` bytes with answers of `answer` bytes, `wait_s` later or a little more."""
    return "".join(
        f"+.001 > P. {1 + size * n}:{1 + size * (n + 1)}({size}) ack {1 + answer * n} win 502\n"
        f"+{wait_s + n % 4 / 20} < P. {1 + answer * n}:{1 + answer * (n + 1)}({answer}) "
        f"ack {1 + size * (n + 1)} win 500\n"
        for n in range(12)
    )


def test_requests_of_two_streams_are_one_entry():
    # Of the two, one has the larger answers, and the other the larger requests.
    found = screen.entries(ranking.groups(connections(asks(100, 1400), asks(700, 900))))
    (only,) = found.detailed
    assert set(only.flows["stream"]) == {0, 1}


def test_a_stream_that_is_only_like_the_requests_of_an_entry_is_not_shown():
    # The answers of the third are less than a hundredth of all bytes, and its requests are like those of the others.
    # Their waits add up to less than a second.
    capture = connections(*(asks(*sizes, wait_s=0.001) for sizes in ((700, 1400), (100, 900), (100, 20))))
    found = screen.entries(ranking.groups(capture))
    (only,) = found.detailed
    assert set(only.flows["stream"]) == {0, 1}
    assert headline.rest(capture, found.shown).startswith("2 more flows not shown")


@pytest.mark.parametrize(
    ("waits", "is_timer"),
    [
        ((15, 15.01, 15, 14.99, 15), True),
        ((15, 7, 21, 15, 3), False),
        # One interval of ten may be another.
        ((0.1, *[15] * 10), True),
        ((0.1, 0.1, *[15] * 9), False),
    ],
)
def test_small_messages_at_equal_intervals_are_a_timer(waits, is_timer):
    # An SSH server asks every 15 s whether its client is there, which answers at once: nobody took 15 s to answer.
    asks = "".join(
        f"+{wait} < P. {1 + 68 * n}:{69 + 68 * n}(68) ack {1 + 36 * n} win 502\n"
        f"+.001 > P. {1 + 36 * n}:{37 + 36 * n}(36) ack {69 + 68 * n} win 500\n"
        f"+.020 < . {69 + 68 * n}:{69 + 68 * n}(0) ack {37 + 36 * n} win 502\n"
        for n, wait in enumerate(waits)
    )
    ends = f"+15 > . {1 + 36 * len(waits)}:{1 + 36 * len(waits)}(0) ack {1 + 68 * len(waits)} win 500"
    capture = analyzed(asks + ends)
    for row in capture.flows.to_dict("records"):
        assert (natures.nature(capture.flow(0, row["sender"])) is natures.TIMER) == is_timer


@pytest.mark.parametrize(
    ("sizes", "answers", "is_timer"),
    [
        ((68, 65, 68, 66), (40, 40, 40, 40), True),
        ((68, 65, 81, 22), (40, 40, 40, 40), False),
        ((68, 65, 68, 66), (40, 1052, 1170, 2645), False),
    ],
)
def test_a_few_messages_of_many_sizes_are_no_timers(sizes, answers, is_timer):
    """A program that sleeps for a second between a registration, a login and two questions repeats nothing."""
    lines, sent, heard = [], 1, 1
    for size, answer in zip(sizes, answers, strict=True):
        lines += [
            f"+1   > P. {sent}:{sent + size}({size}) ack {heard} win 502",
            f"+.02 < P. {heard}:{heard + answer}({answer}) ack {sent + size} win 500",
        ]
        sent, heard = sent + size, heard + answer
    lines.append(f"+1 > . {sent}:{sent}(0) ack {heard} win 502\n")
    flow = analyzed("\n".join(lines)).flow(0, str(CLIENT))
    assert (natures.nature(flow) is natures.TIMER) == is_timer


@pytest.mark.parametrize("asked", [False, True])
def test_messages_that_nobody_asked_for_keep_nobody_waiting(asked):
    # Answers of twelve segments, more than an initial window, each 20 ms after its request; then one 9 s later.
    answer = 12 * 1460
    talk = "".join(
        f"+1   > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + answer * n} win 4096\n"
        f"+.020 < P. {1 + answer * n}:{1 + answer * (n + 1)}({answer}) ack {101 + 100 * n} win 500\n"
        f"+.001 > . {101 + 100 * n}:{101 + 100 * n}(0) ack {1 + answer * (n + 1)} win 4096\n"
        for n in range(3)
    )
    request = f"+.001 > P. 301:401(100) ack {1 + 3 * answer} win 4096\n" if asked else ""
    acked = 401 if asked else 301
    capture = analyzed(
        talk
        + request
        + f"+9 < P. {1 + 3 * answer}:{1001 + 3 * answer}(1000) ack {acked} win 500\n"
        + f"+.001 > . {acked}:{acked}(0) ack {1001 + 3 * answer} win 4096"
    )
    (server,) = (row["sender"] for row in capture.flows.to_dict("records") if row["sender"] != str(CLIENT))
    kind = natures.nature(capture.flow(0, server))
    assert (kind is not None and kind.title == "messages now and then") != asked


def test_what_a_server_sends_later_makes_no_slow_answers():
    asks = "".join(
        f"+.002 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(3)
    )
    push = "+.001 > . 301:301(0) ack 601 win 502\n+9 < P. 601:701(100) ack 301 win 500"
    flow = analyzed(asks + push).flow(0)
    assert natures.nature(flow) is natures.REQUESTS
    said = " ".join(screen.sentences(flow))
    assert "server" not in said
    assert "server's own log" not in flow.remedy.words


@pytest.mark.parametrize(
    ("server", "window", "relayed"),
    [("8.8.8.8", 65535, True), ("10.0.2.2", 29200, False), ("10.50.71.23", 65535, True)],
    ids=["of the Internet", "in the network", "behind the NAT of a virtual machine"],
)
def test_a_server_behind_a_gateway_is_not_charged_with_the_path_to_it(server, window, relayed):
    # A NAT acknowledges each request after 0.1 ms, and passes the answer on 200 ms later. That of VirtualBox offers
    # 65,535 bytes and no option but the MSS (libslirp tcp_output()).
    opening = f"""
        0   > S  0:0(0)       win 64240 <mss 1460,wscale 7>
        +.1 < S. 0:0(0) ack 1 win {window} <mss 1460>
        +0  > .  1:1(0) ack 1 win 64240
    """
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 64240\n"
        f"+.0001 < . {1 + 200 * n}:{1 + 200 * n}(0) ack {101 + 100 * n} win 65535\n"
        f"+.2 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 65535\n"
        f"+0 > . {101 + 100 * n}:{101 + 100 * n}(0) ack {201 + 200 * n} win 64240\n"
        for n in range(12)
    )
    ends = {"client": Address("10.0.2.15", 40_000), "server": Address(server, 443)}
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(opening + asks, **ends)))).flow(0)
    said = screen.sentences(flow)[0]
    (found,) = (one.sentence for one in flow.findings if one.code == "request-response")
    for words in (said, found):
        assert ("the way to it behind a NAT or proxy" in words) == relayed
    assert ("of it by the server" in said) != relayed
    assert flow.remedy.where == ("the NAT or proxy next to 10.0.2.15" if relayed else "the server, 10.0.2.2")
    assert ("log" in flow.remedy.words) != relayed


def test_pushes_after_answers_blame_no_server():
    # An answer after 90 ms, and 5 s later news that no request asked for; the client asks again at once.
    asks = "".join(
        f"+.002 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 250 * n} win 502\n"
        f"+.090 < P. {1 + 250 * n}:{201 + 250 * n}(200) ack {101 + 100 * n} win 500\n"
        f"+.001 > . {101 + 100 * n}:{101 + 100 * n}(0) ack {201 + 250 * n} win 502\n"
        f"+{5 + n % 3} < P. {201 + 250 * n}:{251 + 250 * n}(50) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    flow = analyzed(asks).flow(0)
    assert natures.nature(flow) is natures.REQUESTS
    said = screen.sentences(flow)[0]
    assert said.startswith(
        "12 requests one after the other, typically answered in 90 ms: 70 ms of it by the server."
    )
    assert str(flow.remedy).startswith("Nothing to mend")


@pytest.mark.parametrize(("first", "then"), [(0.022, 0.2), (0.22, 0.002)], ids=["within", "before"])
def test_a_server_that_answers_at_once_and_goes_on_later_is_told_so(first, then):
    # An echo of the key, and what the program writes; or both after the same time.
    asks = "".join(
        f"+.020 > P. {1 + 92 * n}:{93 + 92 * n}(92) ack {1 + 192 * n} win 502\n"
        f"+{first} < P. {1 + 192 * n}:{101 + 192 * n}(100) ack {93 + 92 * n} win 500\n"
        f"+{then} < P. {101 + 192 * n}:{193 + 192 * n}(92) ack {93 + 92 * n} win 500\n"
        for n in range(12)
    )
    said = screen.sentences(analyzed(asks).flow(0))[0]
    assert (": answers usually began after 22 ms, and ended after 222 ms." in said) == (first < then)
    assert ("of it by the server" in said) == (first > then)


@pytest.mark.parametrize(
    ("wait", "where", "words"),
    [
        (0.2, "198.51.100.2", "whether it worked at these times."),
        (1.5, "198.51.100.2", "a long poll"),
        (0.01, "", "Nothing to mend: all answers of the server took 240 ms."),
    ],
)
def test_only_waits_of_seconds_may_be_a_long_poll(wait, where, words):
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+{0.02 + wait * (1 + n % 3):.3f} < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    remedy = analyzed(asks).flow(0).remedy
    assert where in remedy.where
    assert bool(where) == bool(remedy.where)
    assert remedy.words.endswith(words) or f"({words})." in remedy.words


@pytest.mark.parametrize("before", [HANDSHAKE, ""], ids=["handshake", "none"])
@pytest.mark.parametrize(("wait", "turns"), [(5, 6), (0.6, 12), (0.2, 12)])
def test_without_the_handshake_news_and_late_answers_are_not_told_apart(before, wait, turns):
    # Each message of the server is followed by one of the client within 21 ms, as a confirmation or as the next request.
    talk = "".join(
        f"+{'.021' if n else '.1'} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < .  {1 + 200 * n}:{1 + 200 * n}(0) ack {101 + 100 * n} win 500\n"
        f"+{wait * (1 + n % 3)} < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(turns)
    )
    flow = analysed(before + talk).flow(0)
    unclear = not before and wait > 0.5
    assert natures.nature(flow) is (natures.in_turn.NATURE if unclear else natures.REQUESTS)
    said = screen.sentences(flow)[0]
    assert ("by the server" in said) != unclear
    assert ("the capture does not show which end asked" in said) == unclear
    assert ("sent news or commands, or was slow to answer" in flow.remedy.words) == unclear


def test_the_last_of_many_answers_alone_is_late_and_leaves_no_doubt_who_asked():
    """Nothing follows it, so nothing shows that its client would have gone on at once."""
    waits = [0.02] * 11 + [30]
    talk = "".join(
        f"+.1 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+{wait} < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n, wait in enumerate(waits)
    )
    assert natures.nature(analysed(talk).flow(0)) is natures.REQUESTS


@pytest.mark.parametrize("often", [1, 4], ids=["each", "one in four"])
def test_a_server_that_spoke_first_may_be_the_one_that_asks(often):
    """A shell that calls home opens the connection; who sits at the other end types the commands."""
    talk = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {101 + 100 * n} win 502\n"
        f"+{0.02 if n % often else 3 + n % 3} < P. {101 + 100 * n}:{201 + 100 * n}(100) ack {101 + 100 * n} win 500\n"
        for n in range(9)
    )
    flow = analysed(f"{HANDSHAKE}\n+.1 < P. 1:101(100) ack 1 win 500\n{talk}").flow(0)
    assert natures.nature(flow) is natures.in_turn.NATURE
    assert "198.51.100.2 also sent first, so the capture does not show which end asked." in flow.verdict


def test_long_pauses_of_the_client_between_a_few_requests_are_its_own():
    asks = "".join(
        f"+{2 - n % 3 / 2} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.090 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(4)
    )
    flow = analyzed(asks).flow(0)
    assert "The client's longest pause after an answer took 2 s." in screen.sentences(flow)[0]
    assert flow.remedy.words.startswith("Nothing to mend on the path")


def test_round_trips_before_the_one_large_request_held_the_programs_back():
    # As in SMTP: eight commands of 340 ms each, the client asks 1 ms after each reply, and then the message.
    asks = "".join(
        f"+.001 > P. {1 + 20 * n}:{21 + 20 * n}(20) ack {1 + 30 * n} win 502\n"
        f"+.340 < P. {1 + 30 * n}:{31 + 30 * n}(30) ack {21 + 20 * n} win 8000\n"
        for n in range(8)
    )
    message = "+.001 > P. 161:20161(20000) ack 241 win 502\n+.340 < P. 241:271(30) ack 20161 win 8000"
    flow = analyzed(asks + message, rtt=".340").flow(0, str(CLIENT))
    assert natures.nature(flow) is None
    said = " ".join(screen.sentences(flow))
    assert "Round trips held the programs back, not bandwidth: 9 exchanges, one after the other" in said
    assert "fewer round trips" in flow.remedy.words


def test_batches_one_at_a_time_are_counted():
    # Ten batches of 20 segments; after each, the peer answers small messages for 60 ms.
    lines, sent, asked = [], 1, 1
    for _ in range(10):
        lines.append(writes(20, 0.001, 1, sent).replace("ack 1 win 502", f"ack {asked} win 502"))
        lines[-1] = lines[-1].replace("1:1(0)", f"{asked}:{asked}(0)")
        sent += 20 * 1460
        for _ in range(2):
            lines.append(f"+.010 > P. {sent}:{sent + 10}(10) ack {asked} win 502")
            lines.append(f"+.020 < P. {asked}:{asked + 10}(10) ack {sent + 10} win 8000")
            sent, asked = sent + 10, asked + 10
    said = screen.sentences(analyzed("\n".join(lines)).flow(0, str(CLIENT)))

    assert "(10 bursts within " in said[0]


@pytest.mark.usefixtures("need_shared")
def test_a_server_of_others_is_not_the_readers_to_set():
    # A client in a private network downloads from the Internet; nothing is lost, and the window grows.
    capture = bdpcap.analyze(SHARED / "captures/wild_b/http_download_psexec.pcap.zst")
    flow = capture.flow(38, "95.142.164.2:80")
    assert " limits: congestion control (" in headline.summary(capture, ranking.groups(capture))
    assert flow.summary["limit"] == "cwnd"
    assert (flow.remedy.where, flow.remedy.commands) == ("", ())
    assert flow.remedy.words.startswith("Nothing to set at this end: 95.142.164.2 decides")


@pytest.mark.usefixtures("need_shared")
def test_only_its_operator_knows_what_a_server_of_others_did():
    capture = bdpcap.analyze(SHARED / "captures/wild_b/kdrive_download.pcapng.zst")
    remedy = capture.flow(23, "45.157.188.47:443").remedy
    assert remedy.where == "the sender, 45.157.188.47"
    assert remedy.words.startswith("Ask its operator what the server did")


@pytest.mark.parametrize(
    ("answer_s", "unasked", "said"),
    [
        (1.2, False, "Ask its operator what the server did between a request and its answer"),
        (0.5, False, "Nothing to mend at this end: no answer of 8.8.8.8 took longer than a second."),
        (
            0.5,
            True,
            "Nothing to mend at this end: for most of that time nobody had asked 8.8.8.8 for anything.",
        ),
    ],
    ids=["slow", "quick", "unasked"],
)
def test_a_server_of_others_is_asked_only_where_somebody_waited(answer_s, unasked, said):
    """A person notices a second (Nielsen, 1993). A server of the Internet answers a client in a private network."""
    turns = asked([answer_s] * 12, answer=20_000, unasked=9 if unasked else 0)
    packets = scenario(
        HANDSHAKE + turns, client=Address("192.168.1.9", 40_000), server=Address("8.8.8.8", 443)
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0, "8.8.8.8:443")
    assert flow.summary["limit"] == "app"
    assert flow.remedy.words.startswith(said)


def test_a_server_whose_requests_were_lost_had_been_asked(monkeypatch):
    """Loss on the way of the requests holds the answers back."""
    ends = {"client": Address("192.168.1.9", 40_000), "server": Address("8.8.8.8", 443)}
    packets = scenario(HANDSHAKE + asked([0.5] * 12, answer=20_000, unasked=9), **ends)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0, "8.8.8.8:443")
    for place, name in ((operators, "lost"), (operators.outage, "stalled")):
        monkeypatch.setattr(place, name, lambda other: other.is_from_client)
    assert operators._nobody_waited(flow, *cause(flow)) == (
        "Nothing to mend at this end: requests to 8.8.8.8 were lost on the way, and it waited for them."
    )


def test_a_server_that_was_asked_as_it_sent_may_have_owed_an_answer(monkeypatch):
    """Requests that cross with data are in no exchange, so the capture does not show how long they waited."""
    ends = {"client": Address("192.168.1.9", 40_000), "server": Address("8.8.8.8", 443)}
    packets = scenario(HANDSHAKE + asked([0.5] * 12, answer=20_000, unasked=8), **ends)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0, "8.8.8.8:443")
    assert "nobody had asked" in operators._nobody_waited(flow, *cause(flow))
    known = flow.exchanges[-1:]
    monkeypatch.setattr(type(flow), "exchanges", property(lambda _flow: known))
    assert "nobody had asked" not in operators._nobody_waited(flow, *cause(flow))


@pytest.mark.parametrize(
    ("inside", "server_bytes", "signals"),
    [
        (0.4, 6_320, True),
        (0.6, 6_320, False),  # requests with their responses
        (0.4, 20_000, False),  # a server that answers at length
    ],
)
def test_a_server_that_sends_less_than_its_client_at_the_same_time_answers_nobody(
    inside, server_bytes, signals, monkeypatch
):
    monkeypatch.setattr(app, "shares", lambda _flow: SimpleNamespace(bytes_share=inside))
    streams = SimpleNamespace(sides=lambda _stream: {"payload_bytes": [12_500, server_bytes]})
    flow = SimpleNamespace(
        stream=0,
        is_from_client=False,
        summary={"payload_bytes": server_bytes},
        capture=SimpleNamespace(_contents=SimpleNamespace(has_exchanges=True, streams=streams)),
    )
    assert app._signals(flow) == signals


@pytest.mark.parametrize(
    ("server", "answer_s", "said"),
    [
        ("8.8.8.8", 1.2, "Ask its operator what it did at these times"),
        ("8.8.8.8", 0.5, "Nothing to mend at this end: no answer of 8.8.8.8 took longer than a second."),
        ("10.0.0.8", 0.5, "See in the server's own log whether it worked at these times."),
    ],
)
def test_small_requests_to_a_server_of_others_have_its_operator(server, answer_s, said):
    # No timer: the answers vary.
    asks = asked([answer_s * (1 + turn % 4 / 9) for turn in range(12)], answer=200)
    ends = {"client": Address("192.168.1.9", 40_000), "server": Address(server, 443)}
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + asks, **ends)))).flow(0)
    assert natures.nature(flow) is natures.REQUESTS
    assert flow.remedy.words.startswith(said)


def test_a_server_that_goes_on_at_its_own_pace_let_nobody_wait():
    # Each of four answers begins after 30 ms, and goes on every 400 ms for a while.
    turns, sent, heard = [], 1, 1
    for pieces in (4, 5, 6, 7):
        turns += [f"+.05 > P. {sent}:{sent + 100}(100) ack {heard} win 502"]
        sent += 100
        for piece in range(pieces):
            turns += [
                f"+{0.4 if piece else 0.03} < P. {heard}:{heard + 300}(300) ack {sent} win 512",
                f"+.0001 > . {sent}:{sent}(0) ack {heard + 300} win 502",
            ]
            heard += 300
    ends = {"client": Address("192.168.1.9", 40_000), "server": Address("8.8.8.8", 443)}
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + "\n".join(turns), **ends)))).flow(0)
    assert natures.nature(flow) is natures.REQUESTS
    assert flow.remedy.where == ""
    assert flow.remedy.words == (
        "Nothing to mend at this end: answers began after 30 ms, and 8.8.8.8 sent the rest at its own pace."
    )


def test_a_server_that_sends_an_answer_slowly_was_asked():
    # One request, and an answer of 60 pieces; each is written 300 ms after the one before.
    pieces = "".join(
        f"+.3 < P. {1 + 700 * n}:{701 + 700 * n}(700) ack 101 win 512\n"
        f"+.0001 > . 101:101(0) ack {701 + 700 * n} win 502\n"
        for n in range(60)
    )
    request = "+.05 > P. 1:101(100) ack 1 win 502\n+1.5 < . 1:1(0) ack 101 win 512\n"
    ends = {"client": Address("192.168.1.9", 40_000), "server": Address("8.8.8.8", 443)}
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + request + pieces, **ends)))).flow(
        0, "8.8.8.8:443"
    )
    assert flow.summary["limit"] == "app"
    assert "nobody had asked" not in flow.remedy.words


@pytest.mark.usefixtures("need_shared")
def test_what_a_peer_did_in_idle_time_held_no_sender():
    # Of 11 s, data moved in one: the client's pauses of 10 s between its requests are no part of it.
    flow = bdpcap.analyze(SHARED / "captures/wild_b/virtualbox_nat_http3.pcap.zst").flow(
        6, "183.61.181.222:443"
    )
    assert flow.summary["active_ns"] < 2_000_000_000
    assert "waited for the other end" not in verdict.sentence(flow)


@pytest.mark.parametrize(
    ("opening", "wait", "noted"),
    # Without the handshake, either end may have asked.
    [(HANDSHAKE, "+2.5", True), (HANDSHAKE, "+.2", False), ("0 > . 1:1(0) ack 1 win 502", "+2.5", False)],
)
def test_a_first_byte_that_a_person_waits_for_is_named(opening, wait, noted):
    # A request of 100 bytes, a wait, and an answer of thirty segments: the server sends most.
    answer = "\n".join(
        f"{wait if at == 0 else '+.020' if at % 10 == 0 else '+0'} < . {first}:{first + 1000}(1000) ack 101 win 500\n"
        f"+0 > . 101:101(0) ack {first} win 500"
        for at, first in enumerate(range(1, 30_001, 1000))
    )
    capture = analysed(f"{opening}\n+0 > P. 1:101(100) ack 1 win 500\n{answer}")
    said = " ".join(report.text(capture).split())
    assert ("The first byte of the first answer came 2.5 s after its request." in said) == noted


@pytest.mark.usefixtures("need_shared")
def test_a_subflow_of_multipath_tcp_is_no_series_of_requests():
    capture = bdpcap.analyze(SHARED / "captures/public/the-tcpdump-group__tcpdump/tests/mptcp-v0.pcap")
    assert all(natures.nature(flow) is not natures.REQUESTS for flow in capture)


@pytest.mark.parametrize("late", [False, True], ids=["news", "answer"])
def test_a_client_waits_for_the_first_byte_of_an_answer_only(late):
    """What a server sends seconds after its answer is news, as in a chat."""
    waits = [9, 0.1] if late else [0.3, 9]
    talk = "".join(
        f"+{wait} < P. {first}:{first + 100}(100) ack 101 win 502\n+0 > . 101:101(0) ack {first + 100} win 502\n"
        for first, wait in zip(range(1, 601, 100), [*waits, 5, 4, 5, 6], strict=True)
    )
    opened = analyzed(f"+.1 > P. 1:101(100) ack 1 win 502\n+.02 < . 1:1(0) ack 101 win 502\n{talk}")
    flow = opened.flow(0, str(SERVER))
    assert natures.nature(flow) is natures.short.LITTLE
    assert ("answered after 9" in flow.remedy.words) == late


@pytest.mark.parametrize(("pause", "trips"), [(0, True), (0.2, False)], ids=["at once", "after a timer"])
def test_small_flights_that_follow_their_acknowledgments_are_held_by_round_trips(pause, trips):
    """A remote screen that draws what its viewer has confirmed: each update waits for the one before."""
    updates = "".join(
        f"+{0.001 + pause} > P. {1 + 900 * n}:{901 + 900 * n}(900) ack {1 + 10 * n} win 502\n"
        f"+.240 < P. {1 + 10 * n}:{11 + 10 * n}(10) ack {901 + 900 * n} win 500\n"
        for n in range(40)
    )
    flow = analyzed(updates, rtt="+.240").flow(0)
    own = flow.rtts[flow.rtts["limit"] == "app"]
    assert app._are_flights(flow, own) == trips


def test_flights_without_requests_are_counted(monkeypatch):
    monkeypatch.setattr(app, "_are_trips", lambda _flow, _own: False)
    own = pd.DataFrame(
        {"start_ns": [0, 240], "end_ns": [240, 480], "in_flight_max_bytes": [900, 100], "rule": "app-idle"}
    )
    flow = SimpleNamespace(summary={"rtt_min_ns": 240})
    assert app._trips(flow, own) == "2 flights, 900 B at most, took a round trip (240 ns) each"


@pytest.mark.parametrize(("news", "timer"), [(20, True), (400, False)])
def test_heartbeats_among_many_news_of_a_server_are_no_pace_of_its_flow(news, timer):
    """A chat's client asks each 40 s whether the connection lives, and its server sends what others write."""
    lines, sent = [], 1
    for beat in range(8):
        lines += [
            f"+{20 if beat else 1} > P. {1 + 50 * beat}:{51 + 50 * beat}(50) ack {sent} win 502",
            f"+.100 < P. {sent}:{sent + 30}(30) ack {51 + 50 * beat} win 500",
            f"+0 > . {51 + 50 * beat}:{51 + 50 * beat}(0) ack {sent + 30} win 502",
            f"+19.9 < P. {sent + 30}:{sent + 30 + news}({news}) ack {51 + 50 * beat} win 500",
            f"+0 > . {51 + 50 * beat}:{51 + 50 * beat}(0) ack {sent + 30 + news} win 502",
        ]
        sent += 30 + news
    flow = analyzed("\n".join(lines)).flow(0, str(SERVER))
    assert (natures.nature(flow) is natures.timer.NATURE) == timer


@pytest.mark.parametrize(("begins", "asked"), [(0.02, False), (30, True)], ids=["at once", "late"])
def test_a_server_that_goes_on_after_an_answer_let_nobody_wait(begins, asked):
    """A monitor in a terminal redraws each half second until its user presses a key."""
    redraws = "".join(
        f"+{0.5 if n else begins} < P. {1 + 400 * n}:{401 + 400 * n}(400) ack 101 win 500\n"
        f"+.020 > . 101:101(0) ack {401 + 400 * n} win 502\n"
        for n in range(40 if begins < 1 else 4)
    )
    monitored = f"+.1 > P. 1:101(100) ack 1 win 502\n{redraws}"
    flow = analyzed(monitored).flow(0, str(SERVER))
    own = flow.rtts[flow.rtts["limit"] == "app"]
    assert (app._waiting(flow, own, "idle") == "response time") == asked


@pytest.mark.parametrize(("own_ns", "said"), [(400, "3 flights held all that it had, and "), (600, "")])
def test_short_pauses_leave_the_flights_of_a_program_to_be_named(own_ns, said):
    # Of 1,200 ns under the application, four flights took 300 each; and one was sent at times of another kind.
    rounds = pd.DataFrame(
        {
            "start_ns": range(0, 1200, 300),
            "end_ns": range(300, 1500, 300),
            "in_flight_max_bytes": 900,
            "rule": ["app-idle", "app-idle", "app-conversation", "app-own-time"],
            "limit": "app",
        }
    )
    found = pauses.Pauses(count=1, own=1, own_ns=own_ns, after_peer=0, cause=None)
    assert app._drained(SimpleNamespace(rtts=rounds), found) == said


@pytest.mark.parametrize(
    ("requests", "turns", "answers_bytes", "calm"),
    [
        (2, 0, 10_000, True),
        (2, 0, 9_999, False),  # of the bytes, a little less than a tenth
        (1, 0, 10_000, False),
        (1, 2, 10_000, True),  # requests overlapped, and the server waited for their data
        (2, 0, 9_000, False),  # an upload, whose server says little more than that it took the data
        (3, 0, 9_000, True),  # one answer for each pause
        (3, 3, 0, False),
    ],
)
def test_a_client_that_pauses_after_its_answers_has_nothing_to_mend(
    requests, turns, answers_bytes, calm, monkeypatch
):
    """Of 100,000 bytes, a tenth are the server's answers. The client pauses three times.

    Two requests fill an initial window each; larger ones are an upload.
    """
    sides = {"payload_bytes": np.array([100_000 - answers_bytes, answers_bytes])}
    contents = SimpleNamespace(has_exchanges=True, streams=SimpleNamespace(sides=lambda _: sides))
    found = {"client": SimpleNamespace(own=3), "server": SimpleNamespace(after_peer=turns)}
    flow = SimpleNamespace(
        is_from_client=True,
        stream=0,
        sender=str(CLIENT),
        receiver=str(SERVER),
        summary={"payload_bytes": 100_000 - answers_bytes},
        capture=SimpleNamespace(
            _contents=contents, flow=lambda _stream, _sender: SimpleNamespace(rtts="server")
        ),
        rtts="client",
        _requests=range(requests),
    )
    monkeypatch.setattr(asker.pauses, "of", found.__getitem__)
    monkeypatch.setattr(asker, "initial_window_bytes", lambda _: 90_000 // 2)
    why = ALL["app"].causes["idle"]
    assert asker.first in why.first
    said = asker.first(flow, why)
    assert (said is not None) == calm
    monkeypatch.setattr(asker, "initial_window_bytes", lambda _: 1_000)
    assert asker.first(flow, why) is None
    if said is not None:
        assert said.words == (
            f"Nothing to mend on the path: the time passes at {CLIENT.host}, with its program or its user."
        )
