"""Servers that let short connections wait: one answer each, and no flow large enough for an entry."""

from __future__ import annotations

import io

import pytest
from dialogues import analysed
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, scenario

import bdpcap
from bdpcap.report import headline, ranking, screen, slow_answers

SERVER = Address("198.51.100.2", 6475)


def capture(waits):
    """Return a capture of one connection after the other, each with a request, an answer after that wait, and a close."""
    packets = []
    for number, wait in enumerate(waits):
        text = f"""
        +.001 > P. 1:101(100) ack 1 win 502
        +.001 < .  1:1(0) ack 101 win 512
        +{wait} < P. 1:211(210) ack 101 win 512
        +.001 > F. 101:101(0) ack 211 win 502
        +.001 < F. 211:211(0) ack 102 win 512
        +.001 > .  102:102(0) ack 212 win 502
        """
        started = HANDSHAKE.replace("0     >", f"{number * 10} >", 1)
        packets += scenario(started + text, client=Address("192.0.2.1", 40_000 + number), server=SERVER)
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        ([2, 0.01, 2.5, 0.01, 3], "3 of 5 connections"),
        ([2, 0.01, 2.5, 0.01, 0.01], ""),
        ([2, 2, 2, *[0.01] * 20], ""),
    ],
    ids=["most", "two", "few of many"],
)
def test_a_server_that_lets_short_connections_wait_is_named(waits, told):
    made = capture(waits)
    said = slow_answers.sentence(made, made.flows)
    assert ("waited over a second for their only answer" in said) == bool(told)
    assert told in said
    if told:
        assert f"to {SERVER} waited" in said
        assert "3 s at most" in said


def test_news_after_an_answer_make_it_no_slower():
    """The answer comes after two seconds, and ten seconds later more, which no request asked for."""
    packets = []
    for number in range(5):
        text = """
        +.001 > P. 1:101(100) ack 1 win 502
        +.001 < .  1:1(0) ack 101 win 512
        +2    < P. 1:211(210) ack 101 win 512
        +10   < P. 211:271(60) ack 101 win 512
        +.001 > F. 101:101(0) ack 271 win 502
        """
        started = HANDSHAKE.replace("0     >", f"{number * 20} >", 1)
        packets += scenario(started + text, client=Address("192.0.2.1", 40_000 + number), server=SERVER)
    made = bdpcap.analyze(io.BytesIO(pcap(packets)))
    assert "5 of 5 connections" in slow_answers.sentence(made, made.flows)
    assert "answer, 2 s at most" in slow_answers.sentence(made, made.flows)


def test_flows_without_an_entry_that_waited_are_not_well():
    made = capture([2, 0.01, 2.5, 0.01, 3])
    assert ranking.groups(made) == []
    assert "nothing to mend" not in headline.no_bulk(made).lower()


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        ([0.01, 2, 1.5], "stream 1, longest of all, waited 2 s"),
        ([0.01, 2, 0.5], "stream 1 waited 2 s"),
        ([0.01, 0.5], ""),
    ],
)
def test_the_longest_of_few_slow_answers_is_named(waits, told):
    made = capture(waits)
    said = slow_answers.exception(made, made.flows)
    assert said == (f", but {told} for the answer of {SERVER.host}" if told else "")
    # The flow of the requests has no answers.
    clients = made.flows[made.flows["receiver"] == str(SERVER)]
    assert slow_answers.exception(made, clients) == ""


@pytest.mark.parametrize(("wait", "late"), [(3, True), (0.3, False)])
def test_the_wait_for_an_answer_outweighs_an_upload_within_a_second(wait, late):
    # The receive window lets 20 segments through in each of 12 round trips of 20 ms.
    upload, sent = "", 1
    for _ in range(12):
        upload += "".join(
            f"+0 > . {sent + 1460 * n}:{sent + 1460 * (n + 1)}(1460) ack 1 win 502\n" for n in range(20)
        )
        sent += 20 * 1460
        upload += f"+.020 < . 1:1(0) ack {sent} win 7300\n"
    end = f"+{wait} < P. 1:101(100) ack {sent} win 7300\n+.001 > F. {sent}:{sent}(0) ack 101 win 502"
    flow = analysed(f"{HANDSHAKE}{upload}{end}").flow(0, str(CLIENT))
    assert flow.summary["limit"] == "rwnd"
    assert (f"answered after {wait + 0.02:.3g} s" in flow.remedy.words) == late
    assert ("the first byte of an answer" in " ".join(screen.sentences(flow)).lower()) == late


@pytest.mark.parametrize(
    ("begun", "judged"), [("", False), (HANDSHAKE, True)], ids=["before", "in the capture"]
)
def test_a_moment_of_older_connections_shows_no_pace(begun, judged):
    """Twenty connections within 50 ms: of those begun before, nobody knows how long their exchanges take."""
    packets = []
    for number in range(20):
        text = f"""{begun}
        {"+.001" if begun else "0"} > P. 1:65(64) ack 1 win 502
        +.001 < . 1:1(0) ack 65 win 512
        """
        packets += scenario(text, client=Address("192.0.2.1", 40_000 + number))
    made = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    said = headline.no_bulk(made)
    assert ("too short to judge them" in said) != judged
    assert ("each took less than a second" in said) == judged
