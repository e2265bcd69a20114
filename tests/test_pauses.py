"""Pauses of a flow: how many, how long, and for whom the program waited in them."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pandas as pd
import pytest
from dialogues import analysed, asked
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap.diagnosis import bursts, pauses
from bdpcap.diagnosis.kinds import app

SCREEN = """
    0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
    +.240 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>
    +0    > .  1:1(0) ack 1 win 502
"""


def rounds(*rows):
    """Rows of a flow of bytes in flight, length (ms), limit, detail and rule, one after the other."""
    table = pd.DataFrame(rows, columns=["in_flight_max_bytes", "ms", "limit", "detail", "rule"])
    end_ns = (table["ms"] * 1_000_000).cumsum()
    return table.assign(start_ns=end_ns - table["ms"] * 1_000_000, end_ns=end_ns)


SENT = (900, 240, "app", "small writes", "app-idle")
OWN = (0, 100, "app", "idle", "app-idle")
PEERS = (0, 300, "idle", None, "idle-turn")
OWED = (0, 50, "app", "response time", "app-idle")


def test_only_time_with_nothing_in_flight_between_two_sends_is_a_pause():
    found = pauses.of(rounds(OWN, SENT, SENT, OWN, SENT, PEERS, OWED, SENT, OWN))
    assert (found.count, found.own, found.own_ns, found.after_peer) == (2, 2, 150_000_000, 1)
    assert found.cause is None  # data of the peer came in one of two, not in most


def test_no_send_follows_what_was_sent_last():
    assert pauses.of(rounds(SENT, OWN)).count == 0


def test_most_pauses_with_data_of_the_peer_are_the_peers_or_those_of_an_answer():
    assert pauses.of(rounds(*[SENT, PEERS, OWED] * 3, SENT)).cause == "peer's data"
    slow = (0, 900, *OWED[2:])
    assert pauses.of(rounds(*[SENT, PEERS, slow] * 3, SENT)).cause == "response time"
    assert pauses.of(rounds(*[SENT, PEERS, OWED] * 2, SENT)).cause is None  # too few
    assert pauses.of(rounds(*[SENT, PEERS] * 3, SENT, (0, 2000, *OWN[2:]), SENT)).cause is None


def test_waits_of_round_trips_and_losses_are_no_time_with_nothing_to_send(monkeypatch):
    monkeypatch.setattr(bursts, "trip_ns", lambda _flow: 60_000_000)
    # Next to the receiver, a round trip of the sender is empty, and so is an outage.
    trip, lost = (0, 110, "app", "idle", "bridged"), (0, 580, "cwnd", "outage", "cwnd-recovery")
    table = rounds(SENT, trip, SENT, PEERS, OWED, SENT, lost, SENT, OWN).assign(acked_bytes=0)
    assert bursts.nothing_to_send_ns(SimpleNamespace(rtts=table)) == 350_000_000


def screen(of_peer, piece=100):
    """Lines of pieces of a client, and its peer 240 ms away; input of the peer comes before each if `of_peer`."""
    lines, sent, heard = [SCREEN], 1, 1
    for number in range(12):
        # Equal waits would be a timer's.
        for wait_ms in (150 + 100 * (number % 2), 1, 1):
            lines.append(f"    +.{wait_ms:03} > P. {sent}:{sent + piece}({piece}) ack {heard} win 502")
            sent += piece
        lines.append(f"    +.240 < .  {heard}:{heard}(0) ack {sent} win 512")
        if of_peer:
            lines.append(f"    +.350 < P. {heard}:{heard + 50}(50) ack {sent} win 512")
            heard += 50
    return analysed("\n".join(lines)).flow(0, str(CLIENT))


@pytest.mark.parametrize(
    ("of_peer", "piece", "headline", "reason"),
    [
        # 11 pauses of 200 ms; the round trips between them, with data in flight, are none.
        (
            False,
            100,
            "The sending program wrote small pieces",
            "11 flights held all that it had, and it paused 11 times, 2.25 s in all",
        ),
        (False, 1460, "The sending program had nothing to send", "it paused 11 times, 2.25 s in all"),
        *(
            (
                True,
                piece,
                "The sending program waited for data of the other end",
                "these came in 11 of its 11 pauses",
            )
            for piece in (100, 1460)
        ),
    ],
)
def test_who_is_asked_what_it_waits_for(of_peer, piece, headline, reason):
    flow = screen(of_peer, piece)
    own = flow.rtts[flow.rtts["limit"] == "app"]
    cause = app.LIMIT.cause(flow, own)
    assert (cause.headline, cause.reason(flow, own)) == (headline, reason)


@pytest.mark.parametrize("answered_s", [".0202", ".0199"], ids=["usual", "sooner"])
def test_a_clients_pause_is_its_own_if_the_next_answer_comes_sooner_than_others(answered_s):
    """Captured next to the client. Half a second passes before each request; an answer takes 20 ms."""
    lines, sent, heard = [HANDSHAKE], 1, 1
    for turn in range(6):
        lines += [
            f"+{'.5' if turn else '.001'} > P. {sent}:{sent + 100}(100) ack {heard} win {502 + turn}",
            f"+{answered_s if turn == 4 else '.0202'} < . {heard}:{heard + 1460}(1460) ack {sent + 100} win 500",
            f"+.0001 < P. {heard + 1460}:{heard + 2920}(1460) ack {sent + 100} win 500",
            f"+.0001 > . {sent + 100}:{sent + 100}(0) ack {heard + 2920} win 502",
        ]
        sent, heard = sent + 100, heard + 2920
    flow = analysed("\n".join(lines)).flow(0, str(SERVER))
    # Six answers of a round trip each, and no pause.
    assert flow.summary["active_ns"] < 6 * 25_000_000


def test_a_server_waits_for_the_next_request_at_nobodys_cost():
    """Captured next to the client, which asks a second after each answer; an answer begins 300 ms after its request."""
    flow = analysed(HANDSHAKE + asked([0.3] * 6, think="+1")).flow(0, str(SERVER))
    own = flow.rtts[flow.rtts["limit"] == "app"]
    assert pauses.of(flow.rtts).cause == "peer's data"
    assert app.LIMIT.cause(flow, own) is app.LIMIT.causes["response time"]


def test_a_pause_may_begin_in_the_instant_in_which_a_round_ends():
    """Two acknowledgments carry one time: the first ends a round, the second leaves nothing in flight for 5 s."""
    lines, sent = [HANDSHAKE], 1
    for _ in range(3):
        lines += [
            f"+5     > P. {sent}:{sent + 1460}(1460) ack 1 win 502",
            f"+.0001 > P. {sent + 1460}:{sent + 1560}(100) ack 1 win 502",
            f"+.02   < .  1:1(0) ack {sent + 1460} win 5000",
            f"+0     < .  1:1(0) ack {sent + 1560} win 5000",
        ]
        sent += 1560
    flow = analysed("\n".join(lines)).flow(0, str(CLIENT))
    found = pauses.of(flow.rtts)
    assert (found.count, found.own_ns) == (2, 10_000_000_000)
    assert list(bursts.sizes(flow)) == [1560] * 3
    assert list(bursts.pauses_ns(flow)) == [5_000_000_000] * 2


@pytest.mark.parametrize(
    ("waits_ms", "every_ms"),
    [
        ([1760] * 11, 2000),
        ([1760] * 10 + [9000], 2000),  # one break of eleven
        ([1760] * 9 + [9000, 4000], None),
        ([1760] * 9, None),  # too few
        ([100, 900] * 6, None),
    ],
)
def test_equal_times_between_bursts_are_a_timers(waits_ms, every_ms):
    rows = [SENT, *(row for wait in waits_ms for row in ((0, wait, *OWN[2:]), SENT))]
    assert pauses.period_ns(rounds(*rows)) == (every_ms and every_ms * 1_000_000)


@pytest.mark.parametrize(("asks", "timer"), [(False, True), (True, False)])
def test_a_timer_of_the_peer_is_none_of_the_sender(asks, timer):
    """A server writes twenty segments every second, after 30 ms of work if its client asks."""
    lines, sent, heard = [HANDSHAKE], 1, 1
    for _ in range(20):
        wait = "+.9"
        if asks:
            lines.append(f"+.87 > P. {heard}:{heard + 50}(50) ack {sent} win 8000")
            heard, wait = heard + 50, "+.03"
        for piece in range(20):
            lines.append(f"{'+.0001' if piece else wait} < . {sent}:{sent + 1000}(1000) ack {heard} win 512")
            sent += 1000
        lines.append(f"+.0001 > . {heard}:{heard}(0) ack {sent} win 8000")
        lines.append(f"+.1 > . {heard}:{heard}(0) ack {sent} win 8000")
    flow = analysed("\n".join(lines)).flow(0, str(SERVER))
    own = flow.rtts[flow.rtts["limit"] == "app"]
    assert (app.LIMIT.detail(flow, own) == "timer") == timer
    if timer:
        assert app._period(flow, own) == "it wrote every 1 s"


@pytest.mark.parametrize("caught_up", [False, True])
def test_an_answer_that_acknowledges_the_whole_request_leaves_none_open(caught_up):
    # Two requests 7 ms apart, each answered at the server at once; the second answer comes a moment early, so that it
    # seems to have left before its request came. News follow after 9 s.
    second = 401 if caught_up else 201
    dialogue = (
        f"+.001 > P. 1:101(100) ack 1 win 502\n+.020 < P. 1:201(200) ack 101 win 500\n"
        f"+.001 > P. 101:201(100) ack 201 win 502\n+.007 > P. 201:401(200) ack 201 win 502\n"
        f"+.013 < P. 201:301(100) ack 201 win 500\n+.0065 < P. 301:401(100) ack {second} win 500\n"
        f"+.001 > . 401:401(0) ack 401 win 502\n"
        f"+9 < P. 401:501(100) ack 401 win 500\n+.001 > . 401:401(0) ack 501 win 502\n"
    )
    rtts = analysed(HANDSHAKE + dialogue).flow(0, str(SERVER)).rtts
    longest = rtts.loc[(rtts["end_ns"] - rtts["start_ns"]).idxmax()]
    assert (longest["limit"], longest["detail"] == "response time") == ("app", not caught_up)


def test_a_server_that_draws_on_its_own_clock_waits_for_no_round_trip():
    """A remote screen: small updates over a round trip of 240 ms, after movements of its user's mouse or without."""
    lines, sent, heard = [SCREEN], 1, 1
    for number in range(20):
        if number % 4:
            lines.append(f"+.13 < P. {heard}:{heard + 20}(20) ack {sent} win 512")
            heard += 20
        lines += [
            f"+.02 > P. {sent}:{sent + 900}(900) ack {heard} win 502",
            f"+.240 < . {heard}:{heard}(0) ack {sent + 900} win 512",
        ]
        sent += 900
    flow = analysed("\n".join(lines)).flow(0, str(CLIENT))
    own = flow.rtts[flow.rtts["limit"] == "app"]
    assert app.LIMIT.cause(flow, own) is not app.LIMIT.causes["round trips"]


@pytest.mark.parametrize(("pause_s", "keeps"), [(0.3, True), (1.3, False)])
def test_a_server_that_writes_without_a_long_pause_has_its_own_pace(pause_s, keeps):
    lines, sent = [HANDSHAKE, "+0 > P. 1:301(300) ack 1"], 1
    for number in range(60):
        # Waits of equal length would be a timer's.
        waits = [pause_s if number % 3 else 0.07, *[0.0001] * 9]
        lines += [
            f"+{s} < P. {sent + 1000 * at}:{sent + 1000 * at + 1000}(1000) ack 301"
            for at, s in enumerate(waits)
        ]
        sent += 10_000
        lines.append(f"+.0001 > . 301:301(0) ack {sent}")
    ends = {"client": Address("192.168.1.2", 40000), "server": Address("93.184.216.34", 1935)}
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines), **ends))))
    said = capture.flow(0, str(ends["server"])).remedy.words
    assert said.startswith("Nothing to mend: the program at ") == keeps


@pytest.mark.parametrize(
    ("over", "said"), [(True, "Nothing to mend: the data were over in "), (False, "Send more ")]
)
def test_nothing_is_to_mend_in_a_transfer_that_is_over_before_slow_start_is(over, said):
    lines, sent = [HANDSHAKE.replace("+.020", "+.130")], 1
    for flight in (5, 8, 12, 18, 27, 40, 60):
        first = sent
        for _ in range(flight):
            lines.append(f"+.0001 > . {sent}:{sent + 1448}(1448) ack 1 win 502")
            sent += 1448
        lines += [
            f"+{0.0002 if at > first + 2896 else 0.125} < . 1:1(0) ack {min(at, sent)} win 16384"
            for at in range(first + 2896, sent + 1448, 2896)
        ]
    if over:
        lines += [f"+1 > F. {sent}:{sent}(0) ack 1 win 502", f"+.130 < F. 1:1(0) ack {sent + 1} win 16384"]
    assert analysed("\n".join(lines)).flow(0).remedy.words.startswith(said)
