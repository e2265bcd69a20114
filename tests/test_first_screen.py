"""The first screen: the setting behind a window, the rate to expect, and flows that are no bulk transfer."""

import csv
import io
import os
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from dialogues import analysed, asked
from oracles import ROOT, SAMPLES, SHARED, TESTS
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.diagnosis import ALL, again, natures, places, remedy
from bdpcap.diagnosis.kinds import app, cwnd
from bdpcap.diagnosis.natures import short
from bdpcap.diagnosis.remedy import _other_buffer
from bdpcap.explain.sent_again import SentAgain
from bdpcap.report import card, headline, page, ranking, screen, verdict
from bdpcap.report.notes import _reordering, _sent_again, notes
from bdpcap.words import units

SAYS = SHARED / "captures/wild_b/says.tsv"
CASES = (
    list(csv.DictReader(io.StringIO(SAYS.read_text(encoding="utf-8")), delimiter="\t"))
    if SAYS.exists()
    else []
)


def analyzed(dialogue, rtt="+.020"):
    return analysed(HANDSHAKE.replace("+.020", rtt) + dialogue)


def filter_of(flow):
    return verdict.best_span(flow).display_filter


def joined(text):
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


# a window with a known setting


@pytest.fixture(scope="module")
def sample():
    (path,) = (path for path in SAMPLES if "w50000" in path.name)
    return bdpcap.analyze(path)


def test_why_73552_and_not_75000_is_on_every_first_screen(sample):
    flow = sample.flow(0)
    arithmetic = "2 x 50,000 x 3/4 - 1,448 = 73,552"
    assert str(flow.why).startswith(f"Why 73,552? {arithmetic}: SO_RCVBUF 50,000, doubled by Linux")
    # 2 x 50,000 x 3/4 are 75,000; the MSS of 1,448 bytes is kept back.
    assert "offered (75,000), less 1,448: the one segment that Linux keeps back" in str(flow.why)
    for shown in (report.text(sample), page.html(sample), card.of_flow(flow)):
        assert arithmetic in joined(shown)
    assert "Why 73,552" in page.html(sample)
    assert "\nWHY 73,552?\n" in report.text(sample)


def test_the_remedy_says_what_to_expect(sample):
    # netem gave 25 Mbit/s to frames of 1,514 bytes, of which 1,448 are payload: 23.9 Mbit/s.
    flow = sample.flow(0)
    found = re.fullmatch(r"12\.4 → about ([\d.]+) Mbit/s, then the link", flow.remedy.expected)
    assert found
    assert float(found[1]) == pytest.approx(25 * 1448 / 1514, rel=0.05)
    assert flow.remedy.where == "the receiver, 192.168.1.34"
    assert f"WHAT TO DO  expected: {flow.remedy.expected}" in report.text(sample)


def test_a_flow_that_no_window_limits_has_no_why():
    (path,) = (path for path in SAMPLES if path.name.startswith("cwnd_loss_2pct.sender"))
    flow = bdpcap.analyze(path).flow(0)
    assert flow.why is None
    # Nothing filled the window, and its scale lets it grow.
    assert flow.remedy.expected == "without losses up to about 94.2 Mbit/s, then the link"


# the sentence on the capture

TRANSFER = """
    +.001 > P. 1:101(100)   ack 1    win 502
    +.020 < .  1:1(0)       ack 101  win 512
    +.001 < P. 1:1461(1460) ack 101  win 512
    +0    > .  101:101(0)   ack 1461 win 502
    +9    > F. 101:101(0)   ack 1461 win 502
"""
UNANSWERED = "0 > S 0:0(0) win 64240 <mss 1460>\n+1 > S 0:0(0) win 64240 <mss 1460>"
WAITED = f"{UNANSWERED}\n+2 > S 0:0(0) win 64240 <mss 1460>"


def writes_at_leisure(wait_s, lost):
    """Sixty writes of a program that waits between them, some of which had to be sent again."""
    lines = [HANDSHAKE]
    for number in range(60):
        first = 1 + 1000 * number
        write = f"> P. {first}:{first + 1000}(1000) ack 1 win 502"
        lines += [f"+{wait_s} {write}", *([f"+.3 {write}"] if 0 < number <= lost else [])]
        lines.append(f"+.02 < . 1:1(0) ack {first + 1000} win 502")
    return "\n".join(lines)


# Of 63 writes sent, 3 are less than 5 %; of 64, 4 are more.
@pytest.mark.parametrize(("lost", "limited"), [(3, False), (4, True)])
def test_a_network_that_loses_data_is_not_acquitted(lost, limited):
    other = {"client": Address("192.0.2.7", 4000), "server": Address("198.51.100.9", 99)}
    packets = scenario(writes_at_leisure(0.35, lost)) + scenario(writes_at_leisure(0.7, 0), **other)
    packets.sort(key=lambda packet: packet.time_ns)
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = headline.summary(capture, ranking.groups(capture))
    assert "and waited for their programs" in said
    assert ("nothing here is limited by the network" not in said) == limited


def test_failed_connections_are_no_capture_without_a_need_to_mend():
    well = scenario(HANDSHAKE + TRANSFER)
    lost = scenario(UNANSWERED, client=Address(CLIENT.host, CLIENT.port + 1))
    for packets, said in (
        (well, "; nothing here needs mending."),
        (well + lost, " and need no mending; 1 connection failed."),
    ):
        capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
        assert headline.summary(capture, ranking.groups(capture)).endswith(said)


@pytest.mark.parametrize(("lost_ms", "said"), [(1000, "the flows shown need"), (999, "nothing here needs")])
def test_a_small_flow_that_lost_a_second_may_need_mending(monkeypatch, lost_ms, said):
    """A person notices a second (Nielsen, 1993)."""
    monkeypatch.setattr(headline, "nature", lambda _flow: None)
    monkeypatch.setattr(headline.slow_answers, "sentence", lambda _capture, _flows: "")
    flows = pd.DataFrame(
        {
            "rwnd_share": 0.0,
            "cwnd_share": [0.5, 1.0],
            "sndbuf_share": 0.0,
            "active_ns": [10**10, lost_ms * 10**6],
        }
    )
    shown = [SimpleNamespace(flow=None, flows=flows.iloc[:1])]
    for rows, words in ((flows, said), (flows.iloc[:1], "nothing here needs")):
        assert words in headline._well(shown, noticed=headline._is_another_noticed(None, rows, shown))


@pytest.mark.parametrize(("failing", "first"), [(WAITED, True), (UNANSWERED, False)])
def test_a_wait_in_vain_stands_in_place_of_flows_that_need_no_mending(failing, first):
    lost = scenario(failing, client=Address(CLIENT.host, CLIENT.port + 1))
    shown = report.text(bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + TRANSFER) + lost))))
    assert "CONNECTIONS THAT FAILED" in shown
    assert ("WHAT TO DO\n  Stream 0. Nothing to mend" in shown) != first
    assert ("need no mending" in shown) != first


def test_a_wait_in_vain_comes_before_flows_that_waited_for_their_programs():
    waited = scenario(writes_at_leisure(0.35, 0))
    lost = scenario(WAITED, client=Address(CLIENT.host, CLIENT.port + 1))
    shown = report.text(bdpcap.analyze(io.BytesIO(pcap(waited + lost))))
    titles = re.findall(r"^[A-Z][A-Z ]+(?=$|  )", shown, re.MULTILINE)
    assert titles[titles.index("VERDICT") :][:3] == ["VERDICT", "CONNECTIONS THAT FAILED", "WHAT TO DO"]
    assert "On the sender, " in shown


# the natures of flows


def test_small_packets_of_one_way_are_no_repeated_syn():
    # A server writes one large piece and 60 small ones. Neither its SYN nor an answer is in the capture.
    sizes = [1000, *[10] * 60]
    starts = [1 + sum(sizes[:place]) for place in range(len(sizes))]
    lines = [
        f"+1 < P. {at}:{at + size}({size}) ack 1 win 502" for at, size in zip(starts, sizes, strict=True)
    ]
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines))))).flow(0, str(SERVER))
    assert natures.nature(flow) is not natures.NO_TCP


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


@pytest.mark.parametrize(
    ("server", "ttl", "told"), [("10.0.0.9", 64, True), ("10.0.0.9", 63, False), ("11.0.0.9", 64, False)]
)
def test_a_delay_without_routers_is_no_distance(server, ttl, told):
    # Round trips of 20 ms take the time of twelve requests; hosts of one network have no router between them.
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    ends = {"client": Address("10.0.0.1", 50000), "server": Address(server, 80)}
    at_ttl = 14 + 8  # in the IPv4 header, after that of Ethernet
    packets = [
        replace(one, data=one.data[:at_ttl] + bytes([ttl]) + one.data[at_ttl + 1 :])
        for one in scenario(HANDSHAKE + asks, **ends)
    ]
    said = screen.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0))
    assert any("no router, yet a round trip takes at least 20 ms" in one for one in said) == told


@pytest.mark.parametrize(("end", "told"), [("R.", True), ("F.", False)])
def test_a_reset_in_the_middle_of_data_is_told(end, told):
    flow = analyzed(f"""
    +.001 > .  1:1461(1460)    ack 1 win 502
    +0    > .  1461:2921(1460) ack 1 win 502
    +.020 < {end} 1:1(0)       ack 2921 win 500
    +0    > .  2921:4381(1460) ack 1 win 502
    +.020 < R  1:1(0)
    """).flow(0)
    said = any("reset the connection while data still came" in one for one in screen.sentences(flow))
    assert said == told
    assert ("as at a limit of size" in flow.remedy.words) == told


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


def connections(*dialogues):
    """Connections of one client, by its ports, each with its own dialogue after a handshake of 20 ms."""
    packets = [
        packet
        for number, dialogue in enumerate(dialogues)
        for packet in scenario(HANDSHAKE + dialogue, client=Address(CLIENT.host, CLIENT.port + number))
    ]
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def test_short_transfers_of_the_same_hosts_are_the_same_whatever_the_program_did():
    # The server answers after 200 ms, or writes without a request: another detail, and nothing to mend in either.
    answered = """
        +0    > P. 1:501(500)  ack 1    win 502
        +.020 < .  1:1(0)      ack 501  win 512
        +.200 < P. 1:1001(1000) ack 501 win 512
        +.001 > .  501:501(0)  ack 1001 win 502
        """
    written = """
        +.300 < P. 1:1001(1000) ack 1  win 512
        +.001 > .  1:1(0)      ack 1001 win 502
        """
    capture = connections(answered, written, answered, written)
    assert {"idle", "response time"} <= set(capture._contents.verdicts.main_details)
    found = screen.entries(ranking.groups(capture))
    (only,) = found.detailed
    assert "3 more flows from 198.51.100.2:80: the same (streams 1, 2, 3); together 4.00 kB." in only.same
    assert found.quiet.startswith("The other way of streams 0, 2: 1.00 kB in short transfers")
    assert "the same (streams 1, 2, 3)" in page.html(capture)


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
    assert "1 more flow to 198.51.100.2:80: at another pace (stream 1)" in group.same


def test_the_time_of_a_handshake_is_no_idle_time():
    # Five SYNs were lost before the sixth opened a connection for a tenth of a second.
    syns = "".join("+1 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>\n" for _ in range(5))
    dialogue = (
        "0 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>\n"
        + syns
        + HANDSHAKE.strip().partition("\n")[2]
        + "\n+.001 > P. 1:101(100) ack 1 win 502\n+.020 < P. 1:4001(4000) ack 101 win 500\n"
        + "+.001 > . 101:101(0) ack 4001 win 502\n+.1 < F. 4001:4001(0) ack 101 win 500"
    )
    capture = analysed(dialogue)
    said = [words for flow in capture.flows["sender"] for words in screen.sentences(capture.flow(0, flow))]
    assert not any(re.search(r"for another [5-9](\.\d+)? s", words) for words in said)


def test_requests_of_two_streams_are_one_entry():
    # Of the two, one has the larger answers, and the other the larger requests.
    def asks(size, answer):
        return "".join(
            f"+.001 > P. {1 + size * n}:{1 + size * (n + 1)}({size}) ack {1 + answer * n} win 502\n"
            f"+{0.4 + n % 4 / 20} < P. {1 + answer * n}:{1 + answer * (n + 1)}({answer}) "
            f"ack {1 + size * (n + 1)} win 500\n"
            for n in range(12)
        )

    found = screen.entries(ranking.groups(connections(asks(100, 1400), asks(700, 900))))
    (only,) = found.detailed
    assert set(only.flows["stream"]) == {0, 1}


def test_bytes_of_a_quiet_stream_are_those_of_both_directions():
    asks = "".join(
        f"+.100 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(12)
    )
    transfer = "".join(
        f"+.001 > P. {1 + 3000 * n}:{3001 + 3000 * n}(3000) ack 1 win 502\n"
        f"+.020 < .  1:1(0) ack {3001 + 3000 * n} win 512\n"
        for n in range(6)
    )
    found = screen.entries(ranking.groups(connections(asks, transfer)))
    # 12 requests of 100 bytes, and 12 answers of 200.
    assert found.quiet == "Stream 0: 3.60 kB in short transfers, requests and pauses. Nothing to mend there."


@pytest.mark.parametrize("server_ms", [20, 900])
def test_what_is_to_be_mended_comes_before_a_larger_flow_that_is_fine(server_ms):
    def asks(size, server_ms, client_ms):
        return "".join(
            f"+{client_ms / 1000} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + size * n} win 502\n"
            f"+{0.02 + server_ms / 1000} < P. {1 + size * n}:{1 + size * (n + 1)}({size}) ack {101 + 100 * n} win 500\n"
            for n in range(12)
        )

    # A person reads each answer of the first stream for two seconds. The server of the second takes its time, or not.
    capture = connections(asks(1400, 5, 2000), asks(700, server_ms, 10 if server_ms > 100 else 2000))
    found = screen.entries(ranking.groups(capture))
    first = [bool(group.flow.remedy.where) for group in found.detailed]
    assert first == ([True, False] if server_ms > 100 else [False])
    assert found.detailed[0].flow.stream == (1 if server_ms > 100 else 0)


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
@pytest.mark.parametrize("wait", [5, 0.2])
def test_without_the_handshake_news_and_late_answers_are_not_told_apart(before, wait):
    # Each message of the server is followed by one of the client within 21 ms, as a confirmation or as the next request.
    talk = "".join(
        f"+{'.021' if n else '.1'} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < .  {1 + 200 * n}:{1 + 200 * n}(0) ack {101 + 100 * n} win 500\n"
        f"+{wait * (1 + n % 3)} < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(6)
    )
    flow = analysed(before + talk).flow(0)
    unclear = not before and wait > 1
    assert natures.nature(flow) is (natures.in_turn.NATURE if unclear else natures.REQUESTS)
    said = screen.sentences(flow)[0]
    assert ("by the server" in said) != unclear
    assert ("the capture does not show which end asked" in said) == unclear
    assert ("sent news or commands, or was slow to answer" in flow.remedy.words) == unclear


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


@pytest.mark.parametrize(
    ("address", "names"),
    [("127.0.0.1", ("127.0.0.1:40000", "127.0.0.1:443")), ("192.0.2.9", ("192.0.2.9", "127.0.0.1"))],
)
def test_ends_with_one_address_are_named_by_their_ports(address, names):
    packets = scenario(
        HANDSHAKE + TRANSFER, client=Address(address, 40_000), server=Address("127.0.0.1", 443)
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    client, server = names
    assert {places.sender(flow), places.receiver(flow)} == {
        f"the sender, {server}",
        f"the receiver, {client}",
    }


def test_long_pauses_of_the_client_between_a_few_requests_are_its_own():
    asks = "".join(
        f"+{2 - n % 3 / 2} > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.090 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(4)
    )
    flow = analyzed(asks).flow(0)
    assert "The client's longest pause took 2 s." in screen.sentences(flow)[0]
    assert flow.remedy.words.startswith("Nothing to mend on the path")


@pytest.mark.usefixtures("need_shared")
def test_two_limits_that_held_about_as_long_are_both_named():
    """An autotuned send buffer and the congestion window grow together, and take turns."""
    flow = bdpcap.analyze(SHARED / "captures/apps_b/apache_sendbuf/sender.pcap.zst").top()[0]
    assert re.match(
        r"send buffer \d\d %, congestion control \d\d % of .*\(confidence fair\)$", screen.head(flow)
    )


def test_an_undecided_flow_says_that_its_window_was_shut():
    # The data before the acknowledgments are not in the capture, and were not in flight as it began.
    capture = bdpcap.analyze(
        io.BytesIO(
            pcap(
                scenario("""
    0     > .  1:1(0) ack 1    win 8760
    +.001 > .  1:1(0) ack 4381 win 4380
    +.001 > .  1:1(0) ack 8761 win 0
    +1.5  > .  1:1(0) ack 8761 win 64240
    +.001 < .  8761:10221(1460)  ack 1 win 64512
    +.001 < .  10221:11681(1460) ack 1 win 64512
    """)
            )
        )
    )
    (flow,) = capture.flows.to_dict("records")
    said = screen.sentences(capture.flow(0, flow["sender"]))[-1]
    assert flow["limit"] == "unknown"
    assert said.endswith("Its receiver's window was shut for a time: the receiving program did not read.")


def test_one_packet_is_no_coarse_clock():
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario("0 > P. 1:23(22) ack 1 win 502")))).flow(0)
    assert screen.sentences(flow)[-1].startswith("A single packet carried its data")
    assert "coarse" not in str(flow.remedy)


def test_as_fast_as_slow_start_allows_is_nothing_to_mend():
    # 10, 20, 40 and 80 segments in four round trips of 100 ms, beside the sender; every second one is acknowledged.
    lines, sent = [], 1
    for flight in (10, 20, 40, 80):
        first = sent
        for _ in range(flight):
            lines.append(f"+.00001 > . {sent}:{sent + 1000}(1000) ack 1 win 502")
            sent += 1000
        lines.append(f"+.1 < . 1:1(0) ack {first + 2000} win 8000")
        lines += [f"+.00001 < . 1:1(0) ack {ack} win 8000" for ack in range(first + 4000, sent + 1, 2000)]
    flow = analyzed("\n".join(lines), rtt="+.1").flow(0)
    assert natures.nature(flow) is natures.SLOW_START
    assert "slow start from ten segments takes 4" in screen.sentences(flow)[0]
    assert flow.remedy.where == ""
    assert flow.remedy.words.startswith("Nothing to mend")


def test_a_summarized_capture_has_a_first_screen(sample):
    summarized = bdpcap.analyze(sample.info.files[0], summarize=True)
    assert report.text(summarized) == report.text(sample)
    assert [one.code for one in summarized.flow(0).findings] == [one.code for one in sample.flow(0).findings]


def writes(segments, pause, count, first=1):
    """Bursts of so many full segments, each acknowledged after 20 ms, with pauses in s of the program between them."""
    lines, sent = [], first
    for _ in range(count):
        lines += [f"+{pause} > P. {sent}:{sent + 1460}(1460) ack 1 win 502"]
        lines += [
            f"+.0001 > P. {at}:{at + 1460}(1460) ack 1 win 502"
            for at in range(sent + 1460, sent + segments * 1460, 1460)
        ]
        sent += segments * 1460
        lines.append(f"+.020 < . 1:1(0) ack {sent} win 8000")
    return "\n".join(lines)


def test_pauses_around_one_burst_are_no_part_of_a_short_transfer():
    small = "+.1 > P. 1:101(100) ack 1 win 502\n+.020 < . 1:1(0) ack 101 win 8000\n"
    burst, end = writes(20, 0.4, 1, 101), 101 + 20 * 1460
    after = f"+.4 > P. {end}:{end + 100}(100) ack 1 win 502\n+.020 < . 1:1(0) ack {end + 100} win 8000"
    flow = analyzed(small + burst + "\n" + after, rtt="+.001").flow(0)
    assert flow.remedy.words.startswith("Nothing to mend")


def test_pauses_between_two_halves_of_a_transfer_are_the_programs():
    # Eight bursts, 0.9 s apart: too large for an initial window, and none has most of the data.
    flow = analyzed(writes(20, 0.9, 8)).flow(0)
    assert flow.summary["active_ns"] > 5 * 10**9
    assert "Nothing to mend" not in str(flow.remedy)


@pytest.mark.parametrize("fin", ["", "+5 > F. {0}:{0}(0) ack 1 win 502\n+.020 < . 1:1(0) ack {1} win 8000\n"])
def test_every_burst_after_a_pause_that_a_person_notices_is_counted(fin):
    # 40 segments, 100 bytes 2 s later, and 40 segments 3 s later. A FIN carries nothing.
    first, small, end = writes(40, 0.001, 1), 1 + 40 * 1460, 101 + 80 * 1460
    between = (
        f"+2 > P. {small}:{small + 100}(100) ack 1 win 502\n+.020 < . 1:1(0) ack {small + 100} win 8000\n"
    )
    flow = analyzed(f"{first}\n{between}{writes(40, 3, 1, small + 100)}\n{fin.format(end, end + 1)}").flow(0)
    assert short._times(flow) == "3 bursts, at least 1 s apart"


def test_seldom_bursts_within_an_initial_window_are_little_data():
    flow = analyzed(writes(4, 2, 5)).flow(0)
    assert "so little data needs no rate" in flow.remedy.words


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


def test_a_short_exchange_is_nothing_to_mend():
    flow = analyzed("+.1 > P. 1:121(120) ack 1 win 502\n+.020 < . 1:1(0) ack 121 win 502").flow(0)
    assert (flow.remedy.where, flow.remedy.commands) == ("", ())
    assert str(flow.remedy).startswith("Nothing to mend")


def test_of_short_transfers_the_largest_is_shown():
    # Two of 40 and 80 small writes, 10 s apart; each ends with its acknowledgment.
    lines, sent, edges = [], 1, []
    for segments in (40, 80):
        edges.append(4 + len(lines))
        for _ in range(segments):
            lines.append(f"+.002 > P. {sent}:{sent + 500}(500) ack {len(edges)} win 502")
            sent += 500
        lines.append(f"+.020 < . {len(edges)}:{len(edges)}(0) ack {sent} win 8000")
        lines.append(f"+10 < P. {len(edges)}:{len(edges) + 1}(1) ack {sent} win 8000")
    flow = analyzed("\n".join(lines)).flow(0, str(CLIENT))
    assert "(2 bursts, at least 1 s apart)" in screen.sentences(flow)[0]
    first, last = (int(number) for number in re.findall(r"number [<>]= (\d+)", filter_of(flow)))
    assert edges[1] - 1 <= first <= edges[1]
    assert last == edges[1] + 80


def test_two_digits_are_what_a_person_compares():
    assert [units.rounded(value, "bit/s") for value in (3_670_000, 36_300_000, 996_000)] == [
        "3.7 Mbit/s",
        "36 Mbit/s",
        "1.0 Mbit/s",
    ]


@pytest.mark.parametrize(("segments", "many"), [(9, True), (16, False)])
def test_one_exchange_with_most_bytes_is_a_transfer_from_an_initial_window_on(segments, many):
    asks = "".join(
        f"+.001 > P. {1 + 100 * n}:{101 + 100 * n}(100) ack {1 + 200 * n} win 502\n"
        f"+.020 < P. {1 + 200 * n}:{201 + 200 * n}(200) ack {101 + 100 * n} win 500\n"
        for n in range(3)
    )
    download = "+.001 > P. 301:401(100) ack 601 win 502\n" + "".join(
        f"+.020 < . {601 + 1000 * n}:{1601 + 1000 * n}(1000) ack 401 win 500\n" for n in range(segments)
    )
    assert natures.nature(analyzed(asks).flow(0)) is natures.REQUESTS
    # An initial window is ten segments of 1,460 bytes here (RFC 6928).
    assert (natures.nature(analyzed(asks + download).flow(0)) is natures.REQUESTS) == many


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
def test_programs_did_not_hold_what_needs_no_mending():
    # One download of 2.25 MB in slow start, of 3.43 MB in all; the other flows waited for the far ends, a second at most.
    capture = bdpcap.analyze(SHARED / "captures/wild_b/virtualbox_nat_http3.pcap.zst")
    said = headline.summary(capture, ranking.groups(capture))
    assert said == "94 flows carried 3.43 MB; nothing here needs mending."


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
    for name in ("lost", "stalled"):
        monkeypatch.setattr(remedy, name, lambda other: other.is_from_client)
    assert remedy._nobody_waited(flow) == (
        "Nothing to mend at this end: requests to 8.8.8.8 were lost on the way, and it waited for them."
    )


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


def test_the_limit_of_a_short_transfer_is_that_of_its_burst():
    # Slow start and a wait for the tail's repair surround a burst.
    short_rounds = pd.DataFrame(
        {
            "round": [1, 2, 3],
            "start_ns": [0, 10, 50],
            "end_ns": [10, 50, 55],
            "limit": ["cwnd", "rwnd", "app"],
        }
    )
    assert short._held_in(short_rounds) == " Its main limit was the receive window, for 73 % of that time."
    half = short_rounds.assign(limit=["cwnd", "app", "app"])
    assert short._held_in(half) == ""


@pytest.mark.usefixtures("need_shared")
def test_what_a_peer_did_in_idle_time_held_no_sender():
    # Of 11 s, data moved in one: the client's pauses of 10 s between its requests are no part of it.
    flow = bdpcap.analyze(SHARED / "captures/wild_b/virtualbox_nat_http3.pcap.zst").flow(
        6, "183.61.181.222:443"
    )
    assert flow.summary["active_ns"] < 2_000_000_000
    assert "waited for the other end" not in verdict.sentence(flow)


# notes


def test_zero_window_probes_are_counted():
    # The window closes with all data acknowledged, and the sender probes with the byte before (tcp_xmit_probe_skb()).
    closed = """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 0
    +.3   > .  1000:1000(0) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 0
    +.6   > .  1000:1000(0) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 0
    +.5   < .  1:1(0) ack 1001 win 500
    +.001 > P. 1001:2001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 2001 win 500
    """
    flow = analyzed(closed).flow(0)
    assert "The sender asked 2 times whether the window was open again." in notes(flow)
    assert notes(flow)[0] in screen.sentences(flow)
    assert notes(flow)[0] not in screen.sentences(flow, brief=True)


@pytest.mark.parametrize(("repeated", "share"), [(6, "12 %"), (2, None)])
def test_retransmissions_are_said_though_another_limit_leads(repeated, share):
    # A program that writes every 0.2 s: a timer repairs some segments, in a small part of the time.
    writes = ""
    for number in range(45):
        segment = f"P. {1000 * number + 1}:{1000 * number + 1001}(1000) ack 1 win 502"
        writes += f"+.2 > {segment}\n" + (
            f"+.22 > {segment}\n" if number % 7 == 6 and number < 7 * repeated else ""
        )
        writes += f"+.02 < . 1:1(0) ack {1000 * number + 1001} win 500\n"
    flow = analyzed(writes).flow(0)
    assert flow.summary["limit"] == "app"
    said = [note for note in notes(flow) if "retransmissions" in note]
    # 45 segments, and 6 of them another time. Two packets more opened the connection.
    assert said == ([f"{share} of the bytes sent were retransmissions (6 of 53 packets)."] if share else [])


def test_ten_losses_are_said_from_one_in_a_hundred_on():
    flow = type("Flow", (), {"_counts": {"lost_before_tap": 0, "largest_bytes": 1000}})()
    for resent, said in ((9, False), (10, True)):
        flow.summary = {
            "limit": "app",
            "retransmits": resent,
            "spurious_retransmits": 0,
            "retransmitted_bytes": 10_000,
            "payload_bytes": 990_000,
            "packets": 1000,
            "mss_bytes": 1000,
            "active_ns": 0,
        }
        assert bool(_sent_again(flow)) == said


def test_a_host_of_the_internet_one_router_away_may_be_a_proxy():
    near = "> S 0:0(0) win 64240 ttl 128 <mss 1460,sackOK,wscale 7>"
    far = "< S. 0:0(0) ack 1 win 65535 ttl 63 <mss 1460,sackOK,wscale 7>"
    opens = f"0 {near}\n+.01 {far}\n+0 > . 1:1(0) ack 1 win 502"
    writes = "\n".join(
        f"+.2 > P. {1 + 1000 * at}:{1001 + 1000 * at}(1000) ack 1 win 502\n"
        f"+.3 < . 1:1(0) ack {1001 + 1000 * at} win 0 ttl 63\n"
        f"+1 < . 1:1(0) ack {1001 + 1000 * at} win 500 ttl 63"
        for at in range(9)
    )
    said = {
        server: notes(bdpcap.analyze(io.BytesIO(pcap(scenario(f"{opens}\n{writes}", server=server)))).flow(0))
        for server in (Address("128.119.245.12", 80), Address("10.1.2.3", 80))
    }
    stands_in = "By its TTL, 128.119.245.12 is one router away: a proxy may answer in its place."
    assert [stands_in in one for one in said.values()] == [True, False]


def test_packets_that_passed_a_router_are_of_a_host_behind_a_nat():
    """A router takes one from the TTL (RFC 1812 section 5.3.1); what the NAT itself sends passed none."""
    writes = "\n".join(
        f"+2 > P. {1 + 1000 * at}:{1001 + 1000 * at}(1000) ack 1 win 502 ttl {{0}}\n"
        f"+.02 < . 1:1(0) ack {1001 + 1000 * at} win 500 ttl 55"
        for at in range(9)
    )
    opens = HANDSHAKE.replace(" <mss", " ttl {0} <mss").replace(
        "> .  1:1(0) ack 1 win 502", "> . 1:1(0) ack 1 win 502 ttl {0}"
    )
    refused = scenario(REFUSED_BY_NAT, client=Address("203.0.113.9", 4000), server=Address(CLIENT.host, 22))
    for ttl, others, behind in (
        (63, refused, True),
        (63, [], False),
        (64, refused, False),
        (60, refused, False),
    ):
        packets = scenario(opens.format(ttl) + writes.format(ttl)) + others
        packets.sort(key=lambda packet: packet.time_ns)
        flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
        assert places.sender(flow) == f"the sender, {'a host behind ' if behind else ''}{CLIENT.host}"


REFUSED_BY_NAT = "0 > S 0:0(0) win 1024 ttl 45 <mss 1460>\n+.0001 < R. 0:0(0) ack 1 win 0 ttl 64"
"""A SYN that a NAT refuses for itself."""


def test_losses_before_the_capture_may_look_like_pauses():
    # A server's program writes two segments each 0.2 s. Next to the client, the first of every third pair comes late.
    writes = "+.001 > P. 1:101(100) ack 1 win 502\n"
    for number in range(30):
        first, second, end = (1 + 1000 * (2 * number + at) for at in range(3))
        one, two = (f"< P. {at}:{at + 1000}(1000) ack 101 win 500" for at in (first, second))
        if number % 3 == 2:
            writes += (
                f"+.2 {two}\n+.001 > . 101:101(0) ack {first} win 502 <sack {second}:{end}>\n+.25 {one}\n"
            )
        else:
            writes += f"+.2 {one}\n+.001 {two}\n"
        writes += f"+.001 > . 101:101(0) ack {end} win 502\n"
    flow = analyzed(writes).flow(0, str(SERVER))
    assert (flow.summary["limit"], flow._counts["lost_before_tap"]) == ("app", 10)
    (said,) = [note for note in notes(flow) if "retransmissions" in note]
    assert said.endswith(" Flights lost before the capture look like pauses of the program.")


def test_a_flow_without_news_has_no_note(sample):
    assert notes(sample.flow(0)) == []


@pytest.mark.parametrize(("overtaken", "said"), [(1, ""), (2, ""), (3, "3 of 11 packets (27")])
def test_one_overtaken_packet_shows_nothing_of_a_path(overtaken, said):
    # A sender takes fewer than three duplicate acknowledgments for no sign either (RFC 5681 section 3.2).
    flow = SimpleNamespace(summary={"reordered": overtaken, "packets": 11, "spurious_retransmits": 0})
    assert _reordering(flow)[: len(said) or None] == said


# advice for its reader


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("silent", "both directions"),
        ("missed", "both directions"),
        ("coarse", "microseconds"),
        ("none", "handshake"),
    ],
)
def test_an_undecided_flow_is_told_what_to_capture(rule, said):
    rounds = pd.DataFrame({"rule": [rule], "detail": [None], "start_ns": [0], "end_ns": [1]})
    assert said in ALL["unknown"].cause(None, rounds).action


def test_commands_are_for_the_end_that_the_advice_names():
    for path in SAMPLES:
        for one in (group.flow.remedy for group in ranking.groups(bdpcap.analyze(path))):
            other = {"the receiver": "# sender", "the sender": "# receiver"}.get(one.where.partition(",")[0])
            assert not any(other in command for command in one.commands if other)


# real captures


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"].split(".")[0])
def test_a_real_capture_says_what_it_must_and_nothing_that_it_must_not(case):
    said = joined(report.text(bdpcap.analyze(os.fspath(SAYS.parent / case["file"]))))
    if case["must"]:
        assert re.search(case["must"], said, re.IGNORECASE), case["why"]
    if case["must_not"]:
        assert not re.search(case["must_not"], said, re.IGNORECASE), case["why"]


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("view", ["sender", "receiver"])
def test_udp_that_has_most_of_the_path_is_what_to_lift_first(view):
    flow = bdpcap.analyze(SHARED / f"captures/lab_b/cross_udp_30of40/{view}.pcap.zst").flow(0)
    # 30 Mbit/s of UDP on a link of 40, of which headers leave about 38 to payload.
    assert flow.remedy.words.startswith("Limit the sender of the datagrams")
    assert re.search(r"→ about 3[78]\.\d Mbit/s", flow.remedy.expected)
    said = " ".join(report.text(flow.capture).split())
    assert "UDP went the same way" in said
    assert "path can carry" not in said


@pytest.mark.usefixtures("need_shared")
def test_a_program_whose_pauses_cost_more_than_a_full_link_is_named_first():
    # It sends as fast as the link for a while, then pauses, over and over.
    flow = bdpcap.analyze(SHARED / "captures/lab/app_on_off/sender.pcap.zst").flow(0)
    assert flow.summary["limit"] == "link"
    assert flow.remedy.where == "the sender, 192.168.1.3"
    assert "why the program pauses" in flow.remedy.words


def test_the_other_buffer_is_named_where_its_default_would_limit_next(sample):
    # 0.64 of the memory is payload, and a writer is woken at two thirds. Linux's default of tcp_wmem[2] is 4 MiB.
    flow = sample.flow(0)
    assert "tcp_wmem" not in flow.remedy.words
    (memory,) = re.findall(r"([\d,]+) as the sender's tcp_wmem\[2\]", _other_buffer(flow, 10_000_000))
    assert int(memory.replace(",", "")) == pytest.approx(10_000_000 / 0.64 * 3 / 2, rel=0.001)


def labelled(name):
    return bdpcap.analyze(TESTS / "data/labelled" / name / "sender.pcap.zst").flow(0)


def test_a_window_that_nearly_fills_the_path_is_left_as_it_is():
    # The window was made to hold 1.3 times the BDP: the sender fills the link for a part of the time.
    flow = labelled("holdout/rwnd_bdp130")
    assert flow.summary["limit"] == "rwnd"
    assert flow.remedy.where == flow.remedy.expected == ""
    assert flow.remedy.words.startswith("Little to gain by a larger receive window")


def test_a_window_that_a_slow_reader_closes_is_no_question_of_its_setting():
    assert labelled("tune/rwnd_slow_reader").why is None
    assert labelled("tune/rwnd_zero_window").why is None
    assert labelled("tune/rwnd_buffer").why is not None


@pytest.mark.parametrize(("wait", "noted"), [("+2.5", True), ("+.2", False)])
def test_a_first_byte_that_a_person_waits_for_is_named(wait, noted):
    # A request of 100 bytes, a wait, and an answer of thirty segments: the server sends most.
    answer = "\n".join(
        f"{wait if at == 0 else '+.020' if at % 10 == 0 else '+0'} < . {first}:{first + 1000}(1000) ack 101 win 500\n"
        f"+0 > . 101:101(0) ack {first} win 500"
        for at, first in enumerate(range(1, 30_001, 1000))
    )
    capture = analyzed(f"\n+0 > P. 1:101(100) ack 1 win 500\n{answer}")
    said = " ".join(report.text(capture).split())
    assert ("The first byte of an answer came 2.5 s after the first request." in said) == noted


@pytest.mark.usefixtures("need_shared")
def test_a_subflow_of_multipath_tcp_is_no_series_of_requests():
    capture = bdpcap.analyze(SHARED / "captures/public/the-tcpdump-group__tcpdump/tests/mptcp-v0.pcap")
    assert all(natures.nature(flow) is not natures.REQUESTS for flow in capture)


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        # Both copies of all three segments arrived: no packet was lost.
        ("stacks/42_nn_sndbuf/receiver", "3 packets sent again had arrived", "lost"),
        # 169,472 bytes stand in the last acknowledgment alone, when all was read.
        ("stacks/30_ln_slowread/middle", "from 151,424 bytes to 27,392 bytes", "169,472"),
        # Without time stamps a receiver's capture has no round trip but the handshake's.
        ("stacks/82_ll_nots_link90_12ms/receiver", "The link was full", "in its queue"),
        # Congestion control left the link idle for a third of the time, so the rate may rise to the link's.
        (
            "stacks/73_ll_pmtu1492_linksmall/middle",
            "up to about 9.18 Mbit/s, the mean rate of the full link",
            "the same rate",
        ),
        # The receiver offers scale 3, and the sender goes by 1.
        (
            "lab_b/ws_rewritten/receiver",
            "On the path from 192.168.1.3 to 192.168.1.34: Something on the way",
            "expected",
        ),
    ],
)
def test_what_packets_of_labs_show_is_said_and_no_more(name, there, not_there):
    (path,) = (SHARED / "captures").glob(f"{name}.pcap*")
    said = " ".join(report.text(bdpcap.analyze(path)).split())
    assert there in said
    assert not_there not in said


@pytest.mark.usefixtures("need_shared")
def test_the_first_sentence_names_flows_as_their_entries_do():
    capture = bdpcap.analyze(SHARED / "captures/wild_b/lyc_dns1.pcapng.zst")
    sentence = headline.summary(capture, ranking.groups(capture))
    assert "outage (1 flow, " in sentence
    assert "had an outage" not in sentence
    assert sentence.endswith("6 connections failed; 10 connections opened late.")


@pytest.mark.usefixtures("need_shared")
def test_the_pace_of_programs_without_an_entry_is_no_limit_to_lift():
    # Three flows that lost packets have entries; four that their programs limited have none.
    capture = bdpcap.analyze(SHARED / "captures/wild_b/http_download_psexec.pcap.zst")
    groups = ranking.groups(capture)
    assert "app" not in {group.flow.summary["limit"] for group in screen.entries(groups).detailed}
    assert "application" not in headline.summary(capture, groups)


def test_losses_before_the_capture_are_looked_for_there():
    # Both captures are of one transfer: the sender's has each packet that was sent, the other one those that got through.
    words = {}
    for place in ("sender", "middle"):
        (flow, *_) = bdpcap.analyze(ROOT / f"sample_captures/cwnd_loss_2pct.{place}.pcap.zst")
        words[place] = (verdict.reason(flow), flow.remedy.where)
    assert words["sender"][0] == words["middle"][0]
    assert words["sender"][1] == "the path from 192.168.1.3 to 192.168.1.34"
    assert words["middle"][1] == "the path from 192.168.1.3 to the capture"


@pytest.mark.parametrize(
    ("waited_ms", "spurious", "said"),
    [
        (230, 0, "waiting for 1 retransmission timer took 230 ms, 46 % of the time, and "),
        (100, 0, ""),  # a fifth
        (230, 1, ""),  # nothing was lost: the data had arrived
        (600, 0, ""),  # more than all the time
    ],
)
def test_the_wait_for_a_timer_is_named_first_where_it_took_much_of_the_time(waited_ms, spurious, said):
    summary = {
        "timeouts": 1,
        "timeout_retransmits": 1,
        "tail_loss_probes": 0,
        "spurious_retransmits": spurious,
        "timeout_wait_ns": waited_ms * 10**6,
        "active_ns": 505 * 10**6,
    }
    assert cwnd._timed(SimpleNamespace(summary=pd.Series(summary))) == said


@pytest.mark.parametrize(("repairs", "told"), [([4, 0, 0], False), ([2, 1, 0], False), ([1, 1, 2], True)])
def test_one_overtaken_burst_is_no_habit_of_a_path(monkeypatch, repairs, told):
    found = SentAgain(share=0.2, arrived=True, overtaken=True)
    monkeypatch.setattr(again, "_to_an_open_end", lambda _flow: found)
    sender, receiver = "198.51.100.2:80", "192.0.2.1:40000"
    capture = SimpleNamespace(
        flows=pd.DataFrame({"stream": [0], "sender": [sender]}),
        flow=lambda _stream, _sender: SimpleNamespace(rtts=pd.DataFrame({"retransmits": repairs})),
    )
    flow = SimpleNamespace(stream=0, sender=sender, receiver=receiver, is_from_client=False, capture=capture)
    assert bool(again.advice(flow)) == told


@pytest.mark.parametrize(("kind", "said"), [("LITTLE", "congestion control"), ("OUTAGE", "outage")])
def test_how_much_a_flow_carried_is_no_reason_of_a_wait(kind, said):
    rounds = pd.DataFrame({"limit": ["cwnd"], "detail": ["recovery"], "start_ns": [0], "end_ns": [1]})
    flow = SimpleNamespace(rtts=rounds, summary={"rwnd_share": 0.0, "cwnd_share": 0.4, "sndbuf_share": 0.0})
    found = short.LITTLE if kind == "LITTLE" else natures.OUTAGE
    assert headline._held_by(flow, found) == said
