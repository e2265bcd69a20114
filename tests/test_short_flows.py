"""What limits a flow that hardly sends: its application, whatever the connection does around it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from dialogues import analysed
from observe import observe
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

from bdpcap.diagnosis import bursts, moved, natures, nearly_all
from bdpcap.diagnosis.kinds import cwnd
from bdpcap.diagnosis.natures import short
from bdpcap.limits.stripes import stripes
from bdpcap.report import headline, ranking, screen


def all_of_client(text):
    """Rounds of what the client sends."""
    return observe(scenario(text)).capture.flow(0, str(CLIENT)).rtts


def rounds_of_client(text):
    """Rounds of what the client sends, idle ones and pauses left out."""
    rounds = all_of_client(text)
    return rounds[(rounds["limit"] != "idle") & (rounds["detail"] != "idle")]


def test_a_flow_of_one_instant_is_undecided():
    (flow,) = observe(scenario("0 > P. 1:1001(1000) ack 1 win 502")).capture.flows.to_dict("records")
    assert (flow["limit"], flow["unknown_share"]) == ("unknown", 1.0)


def test_a_short_message_after_a_loss_is_all_there_is_to_send():
    # Even one segment, the window after a timeout (RFC 5681 section 3.1), would let more pass.
    rounds = all_of_client(
        HANDSHAKE
        + """
        +0    > P. 1:1461(1460)  ack 1 win 502
        +.250 > P. 1:1461(1460)  ack 1 win 502
        +.020 < .  1:1(0) ack 1461 win 16384
        +.200 > P. 1461:1561(100) ack 1 win 502
        +.020 < .  1:1(0) ack 1561 win 16384
        +.200 > P. 1561:1661(100) ack 1 win 502
        +.020 < .  1:1(0) ack 1661 win 16384
        """
    )
    assert rounds["limit"].tolist()[0] == "cwnd"
    assert set(rounds["limit"].tolist()[1:]) == {"app"}


@pytest.mark.parametrize(("last", "limit"), [(700, "app"), (1460, "cwnd")])
def test_a_message_that_the_peer_answers_is_complete(last, limit):
    """A short segment ends it, and the sender speaks again when its peer has; a full one may have more behind it."""
    end = 2921 + last
    rounds = all_of_client(
        HANDSHAKE
        + f"""
        +.001 > .  1:1461(1460)    ack 1 win 502
        +0    > .  1461:2921(1460) ack 1 win 502
        +0    > P. 2921:{end}({last}) ack 1 win 502
        +.020 < .  1:1(0)    ack {end} win 16384
        +.005 < P. 1:101(100) ack {end} win 16384
        +.001 > P. {end}:{end + 50}(50) ack 101 win 502
        +.020 < P. 101:201(100) ack {end + 50} win 16384
        +.001 > P. {end + 50}:{end + 100}(50) ack 201 win 502
        +.020 < .  201:201(0) ack {end + 100} win 16384
        """
    )
    assert rounds["limit"].iloc[0] == limit


def test_the_wait_before_the_end_is_idle():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
        +0    > P. 1:1461(1460)  ack 1 win 502
        +.020 < .  1:1(0) ack 1461 win 16384
        +3    > F. 1461:1461(0)  ack 1 win 502
        +.020 < .  1:1(0) ack 1462 win 16384
        """
        )
    )
    (flow,) = seen.capture.flows.to_dict("records")
    # 3 s of 3.06 s; handshake and data take a round trip each, and the FIN follows.
    assert flow["idle_share"] == pytest.approx(3.02 / 3.06)
    assert flow["active_ns"] == 40_000_000
    assert flow["active_throughput_bps"] == pytest.approx(
        8 * 1461 / 0.04
    )  # its acknowledgment counts the FIN


def waits(capture, sender):
    """Limits and details of the waits of a flow, one after the other, with their time in ms."""
    return [
        (stripe.limit, stripe.detail, round((stripe.end_ns - stripe.start_ns) / 1e6))
        for stripe in stripes(capture.flow(0, str(sender)).rtts)
        if stripe.end_ns - stripe.start_ns > 50_000_000
    ]


def test_who_waits_for_the_other_side_is_idle_and_who_has_the_turn_is_not():
    """The tap is beside the client: a request takes 10 ms to the server, and the answer 10 ms back."""
    capture = observe(
        scenario(
            HANDSHAKE
            + """
        +.500 > P. 1:101(100)   ack 1   win 502
        +.020 < .  1:1(0)       ack 101 win 512
        +.300 < P. 1:301(300)   ack 101 win 512
        +.001 > .  101:101(0)   ack 301 win 502
        +.700 > P. 101:201(100) ack 301 win 502
        +.020 < P. 301:601(300) ack 201 win 512
        +.001 > .  201:201(0)   ack 601 win 502
        +4    > R. 201:201(0)   ack 601 win 502
        """
        )
    ).capture
    assert waits(capture, CLIENT) == [
        ("app", "idle", 540),  # with the 20 ms of the request
        ("idle", None, 300),
        ("app", "idle", 721),
        ("idle", None, 4001),
    ]
    assert waits(capture, SERVER) == [
        ("idle", None, 530),
        ("app", "response time", 300),
        ("idle", None, 700),
        ("idle", None, 3990),
    ]


@pytest.mark.parametrize(("wait", "limit"), [(0.5, "app"), (18, "idle")])
def test_a_connection_that_was_opened_before_its_need_is_idle(wait, limit):
    """A browser opens spare connections; an upload over one began 18 s later, and took 1.5 s."""
    rounds = all_of_client(
        HANDSHAKE
        + f"""
        +{wait} > . 1:1461(1460) ack 1 win 502
        +0      > P. 1461:2921(1460) ack 1 win 502
        +.020   < . 1:1(0) ack 2921 win 512
        """
    )
    assert rounds["limit"].iloc[0] == limit


@pytest.mark.parametrize(
    ("window", "limit"),
    [(0, "rwnd"), (120, "rwnd"), (400, "app")],
    ids=["none", "too small to be used", "of a segment and more"],
)
def test_a_wait_for_a_window_is_no_idle_time(window, limit):
    # Windows are scaled by 4. 480 bytes are less than a segment, and than half of the largest: no sender uses them
    # (RFC 9293 section 3.8.6.2.1).
    rounds = (
        observe(
            scenario(
                HANDSHAKE
                + f"""
        +0    > P. 1:1461(1460)     ack 1 win 502
        +.020 < .  1:1(0) ack 1461  win 16384
        +0    > P. 1461:2921(1460)  ack 1 win 502
        +.020 < .  1:1(0) ack 2921  win {window}
        +1    < .  1:1(0) ack 2921  win 16384
        +0    > P. 2921:4381(1460)  ack 1 win 502
        +.020 < .  1:1(0) ack 4381  win 16384
        """
            )
        )
        .capture.flow(0, str(CLIENT))
        .rtts
    )
    lasting = rounds["end_ns"] - rounds["start_ns"]
    assert rounds["limit"][lasting.idxmax()] == limit


@pytest.mark.parametrize(
    ("agreed", "limit"),
    [
        pytest.param("S.E", "cwnd", id="classic ECN"),
        pytest.param("S.W", "app", id="accurate ECN, which counts with it"),
    ],
)
def test_ece_is_an_echo_of_congestion_where_both_agreed_to_that(agreed, limit):
    # RFC 3168 section 6.1.1; RFC 9768 section 3.1.1 for the SYN-ACK that agrees to accurate ECN.
    rounds = all_of_client(f"""
        0     > SEW 0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
        +.020 < {agreed} 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
        +0    > .  1:1(0) ack 1 win 502
        +0    > P. 1:1561(1560)  ack 1 win 502
        +.020 < .E 1:1(0) ack 1561 win 16384
    """)
    assert rounds["limit"].iloc[0] == limit


def test_nothing_is_asked_of_a_sender_after_its_last_data():
    """A delayed acknowledgment of the last segments, and a late FIN: neither slowed the transfer."""
    flow = observe(
        scenario(
            HANDSHAKE
            + """
            +.001 > .  1:1461(1460)    ack 1 win 502
            +0    > .  1461:2921(1460) ack 1 win 502
            +.020 < .  1:1(0) ack 2921 win 16384
            +0    > .  2921:4381(1460) ack 1 win 502
            +0    > .  4381:5841(1460) ack 1 win 502
            +0    > P. 5841:7301(1460) ack 1 win 502
            +.020 < .  1:1(0) ack 5841 win 16384
            +.040 < .  1:1(0) ack 7301 win 16384
            +.100 > F. 7301:7301(0)    ack 1 win 502
            +.020 < .  1:1(0) ack 7302 win 16384
            """
        )
    ).capture.flow(0, str(CLIENT))
    assert flow.rtts["limit"].iloc[2:].tolist() == ["idle"] * (len(flow.rtts) - 2)
    assert flow.summary["app_share"] == 0
    # Two round trips until the second flight is acknowledged, and one for the rest of it.
    assert flow.summary["active_ns"] == pytest.approx(60e6, abs=2e6)
    assert flow.summary["active_throughput_bps"] == pytest.approx(7300 * 8 / 0.080, rel=0.05)


def test_what_is_repeated_after_the_fin_is_no_new_data():
    rounds = all_of_client(
        HANDSHAKE
        + """
        +.001 > .  1:1461(1460)      ack 1 win 502
        +0    > .  1461:2921(1460)   ack 1 win 502
        +0    > .  2921:4381(1460)   ack 1 win 502
        +.001 > F. 4381:5841(1460)   ack 1 win 502
        +.019 < .  1:1(0) ack 1      win 16384 <sack 1461:2921>
        +0    < .  1:1(0) ack 1      win 16384 <sack 1461:4381>
        +0    < .  1:1(0) ack 1      win 16384 <sack 1461:5842>
        +0    > .  1:1461(1460)      ack 1 win 502
        +.020 < .  1:1(0) ack 5842   win 16384
        """
    )
    # No program owes data after its FIN, and the kernel's own account has nothing unsent there.
    assert rounds["limit"].tolist() == ["cwnd", "idle"]
    assert rounds["rule"].iloc[-1] == "idle-over"
    assert rounds["retransmits"].tolist() == [0, 1]


def test_a_needless_copy_after_the_fin_leaves_the_time_idle():
    """A tail loss probe that a D-SACK answers repaired nothing, and the program has finished."""
    rounds = all_of_client(
        HANDSHAKE
        + """
        +.001 > .  1:1461(1460)      ack 1 win 502
        +.001 > F. 1461:2921(1460)   ack 1 win 502
        +.030 > F. 1461:2921(1460)   ack 1 win 502
        +.001 < .  1:1(0) ack 2922   win 16384
        +.019 < .  1:1(0) ack 2922   win 16384 <sack 1461:2922>
        """
    )
    assert rounds["limit"].iloc[-1] == "idle"


@pytest.mark.parametrize(("reported", "lost"), [("", True), (" <sack 1001:2001>", False)])
def test_a_loss_is_told_where_no_duplicate_sack_answers_what_was_sent_again(reported, lost):
    """A duplicate SACK reports that the first copy had arrived (RFC 2883), so nothing of that direction was lost."""
    text = f"""
    +.001 > P. 1:1001(1000)    ack 1    win 502
    +.020 < .  1:1(0)          ack 1001 win 502
    +9    > P. 1001:2001(1000) ack 1    win 502
    +.100 > P. 1001:2001(1000) ack 1    win 502
    +.020 < .  1:1(0)          ack 2001 win 502{reported}
    +9    > P. 2001:3001(1000) ack 1    win 502
    +.020 < .  1:1(0)          ack 3001 win 502
    """
    flow = observe(scenario(HANDSHAKE + text)).capture.flow(0, str(CLIENT))
    assert flow.summary["retransmits"] == 1
    assert ("what was lost arrived" in short.LITTLE.advice(flow)[1]) == lost


def test_what_one_acknowledgment_of_all_calls_for_is_congestion_controls():
    """A receiver whose reader is slow acknowledges a burst at once, 30 ms late: neither a queue nor a timer."""
    lines, sent = [], 1
    for burst in range(10, 30):
        for _ in range(burst):
            # A clock that shows bursts at one instant could not time their round trips.
            lines.append(f"+.00001 > . {sent}:{sent + 1460}(1460) ack 1 win 502")
            sent += 1460
        lines.append(f"+.050 < . 1:1(0) ack {sent} win 16384")
    rounds = rounds_of_client(HANDSHAKE + "\n".join(lines))
    assert len(rounds) >= 20
    assert set(rounds["limit"]) == {"cwnd"}


def copied(greeting_ns):
    """Return a flow whose greeting took so long, and which then sent 1 MB in 20 ms and was idle for a minute."""
    ends = [greeting_ns, greeting_ns + 20_000_000, greeting_ns + 60_020_000_000]
    rtts = pd.DataFrame(
        {
            "start_ns": [0, *ends[:-1]],
            "end_ns": ends,
            "acked_bytes": [20_000, 1_000_000, 0],
            "in_flight_max_bytes": [500, 60_000, 0],
            "limit": ["app", "cwnd", "idle"],
        }
    )
    summary = {
        "start_ns": 0,
        "end_ns": ends[-1],
        "active_ns": ends[1],
        "idle_share": 60e9 / ends[-1],
        "mss_bytes": 1460,
        "rtt_min_ns": 20_000_000,
        "payload_bytes": 1_020_000,
        "active_throughput_bps": 8 * 1_020_000e9 / ends[1],
    }
    other = pd.DataFrame({"stream": [0], "sender": ["server"], "active_ns": [0], "mss_bytes": [1460]})
    streams = SimpleNamespace(opening_ns=lambda _: 0)
    capture = SimpleNamespace(flows=other, _contents=SimpleNamespace(streams=streams))
    return SimpleNamespace(
        is_from_client=False,
        capture=capture,
        stream=0,
        receiver="server",
        exchanges=range(1),
        rtts=rtts,
        summary=pd.Series(summary),
        _counts={
            "acked_bytes": 1_020_000,
            "unseen_bytes": 0,
            "data_ns": greeting_ns + 20_000_000,
            "pauses_ns": 0,
            "sender_side_ns": 0,
        },
        _hidden=pd.DataFrame(
            {"length_ns": rtts["end_ns"] - rtts["start_ns"], "empty_ns": [0, 0, 60_000_000_000]}
        ),
    )


def timed(greeting_ns):
    """Return the same flow, which its program limited."""
    flow = copied(greeting_ns)
    flow.summary = pd.concat([flow.summary, pd.Series({"limit": "app"})])
    return flow


def test_small_exchanges_are_no_time_of_a_transfer(monkeypatch):
    monkeypatch.setattr(short.relay, "passes_on", lambda _flow: False)
    assert moved.speed(timed(400_000_000)) == (
        "1.00 MB of 1.02 MB in 20 ms at 400 Mbit/s; for another 60.4 s the connection was idle or exchanged little."
    )
    assert moved.speed(timed(10_000_000)) == (
        "1.02 MB in 30 ms at 270 Mbit/s; for another 60 s it had nothing to send."
    )
    # The verdict of another nature has the active time.
    assert moved.speed(timed(10_000_000), besides_active=True) == (
        "1.02 MB in 30 ms at 270 Mbit/s; outside its active time, it had nothing to send for 60 s."
    )
    # Nobody notices half a second.
    brief = timed(10_000_000)
    brief.summary["end_ns"] = int(brief.summary["active_ns"]) + 500_000_000
    brief.summary["idle_share"] = 500_000_000 / brief.summary["end_ns"]
    assert moved.speed(brief, besides_active=True) == "1.02 MB in 30 ms at 270 Mbit/s."


def test_a_rate_of_less_than_a_round_trip_is_that_of_an_adapter(monkeypatch):
    """No data beyond an initial window are acknowledged within less than a round trip (RFC 5681 section 3.1)."""
    monkeypatch.setattr(short.relay, "passes_on", lambda _flow: False)
    flow = timed(400_000_000)
    flow.summary["rtt_min_ns"] = 20_000_001
    assert moved.speed(flow).startswith("1.00 MB of 1.02 MB within 100 ms; ")


@pytest.mark.parametrize(
    ("packets", "said"),
    [
        # The capture begins with data, which the first acknowledgment covers.
        (
            """
            0     > P. 1:1902(1901)    ack 1    win 502
            +.001 < .  1:1(0)          ack 1902 win 512
            +3.3  > P. 1902:2303(401)  ack 1    win 502
            +.020 < .  1:1(0)          ack 2303 win 512
            """,
            "2.30 kB in 2 bursts, at least 1 s apart; for 3.3 s in all, nothing was in flight.",
        ),
        # The handshake is no time of the data, and a pause is.
        (
            HANDSHAKE
            + """
            +0    > P. 1:1461(1460)    ack 1    win 502
            +.020 < P. 1:101(100)      ack 1461 win 512
            +.120 > P. 1461:2921(1460) ack 101  win 502
            +.020 < .  101:101(0)      ack 2921 win 512
            """,
            "2.92 kB within 1 s.",
        ),
    ],
)
def test_the_time_beside_a_size_is_that_of_the_data_and_the_rate_agrees(packets, said):
    assert screen.sentences(analysed(packets).flow(0, str(CLIENT)))[0].startswith(said)


ANSWER = """
    +.007  < . 1:14601(14600)     ack 501 win 512
    +.0007 > . 501:501(0)         ack 14601 win 502
    +.0001 < . 14601:29201(14600) ack 501 win 512
    +.0007 > . 501:501(0)         ack 29201 win 502
"""
"""The server's program took 7 ms to answer; ten segments are in flight for 0.7 ms, twice."""


def test_a_server_that_takes_some_milliseconds_before_its_first_data_is_no_slow_start():
    rounds = analysed(
        """
    0     > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.001 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>
    +0    > .  1:1(0)       ack 1 win 502
    +0    > P. 1:501(500)   ack 1 win 502
    +.001 < .  1:1(0)       ack 501 win 512"""
        + ANSWER
    )
    own = rounds.flow(0, str(SERVER)).rtts
    answering = own[own["detail"] == "response time"]
    assert (answering["end_ns"] - answering["start_ns"]).tolist() == [7_000_000]
    assert not answering["acked_bytes"].any()


def test_a_wait_before_the_first_data_is_charged_to_no_limit_of_a_short_transfer():
    # Without a handshake no round trip is known before the first data, so that wait is in the first round.
    asked = """
    0     > P. 1:501(500)   ack 1 win 502
    +.001 < .  1:1(0)       ack 501 win 512"""
    # TTLs show that the capture was taken next to the server.
    flow = analysed((asked + ANSWER).replace("win 502", "win 502 ttl 60")).flow(0, str(SERVER))
    assert flow.rtts["limit"].iloc[0] == "cwnd"
    (said,) = screen.sentences(flow)
    assert said.startswith("29.2 kB in ")
    assert "congestion control" not in said


@pytest.mark.parametrize("small", [True, False])
def test_a_short_transfer_says_that_its_window_was_still_growing(small):
    # 25 round trips of 17 ms. The window grows from two segments by a quarter each, or is large from the start.
    lines = [
        "0 > S 0:0(0) win 64240 <mss 1460,nop,wscale 8>",
        "+.017 < S. 0:0(0) ack 1 win 2920 <mss 1460,nop,wscale 8>",
        "+0 > . 1:1(0) ack 1 win 502",
    ]
    sent, window = 1, 2_920
    for _ in range(25):
        for number in range(window // 1460):
            lines.append(
                f"+{'.0001' if number == 0 else '.00001'} > . {sent}:{sent + 1460}(1460) ack 1 win 502"
            )
            sent += 1460
        window = window * 5 // 4 + 256
        lines.append(f"+.017 < . 1:1(0) ack {sent} win {window // 256 if small else 4000}")
    flow = analysed("\n".join(lines)).flow(0)
    said = " ".join(screen.sentences(flow))
    assert screen.head(flow).startswith("a short transfer")
    assert ("The receive window was still growing: it grew from " in said) == small


@pytest.mark.parametrize(
    ("answer", "pause", "seldom"),
    [(100, 0.9, True), (0, 0.9, False), (0, 5, True)],
    ids=["answered", "short pauses", "noticed"],
)
def test_a_client_that_sends_seldom_sets_the_pace(answer, pause, seldom):
    """Three messages, one with most of the data. Nobody waits for the next after an answer, or after a second."""
    lines, sent, heard = [HANDSHAKE], 1, 1
    for pieces in (1, 16, 4):
        for piece in range(pieces):
            wait = "+.001" if piece else f"+{pause}"
            lines.append(f"{wait} > P. {sent}:{sent + 1460}(1460) ack {heard} win 502")
            sent += 1460
        flags = "P." if answer else "."
        lines.append(f"+.020 < {flags} {heard}:{heard + answer}({answer}) ack {sent} win 16384")
        heard += answer
    flow = analysed("\n".join(lines)).flow(0, str(CLIENT))
    assert short.LITTLE.holds(flow) == seldom
    more = flow.summary["payload_bytes"] > 14_600
    assert ("Nothing to mend: data were in flight for " in short.LITTLE.advice(flow)[1]) == more


@pytest.mark.parametrize(("keys", "pause_s", "little"), [(1000, 5, True), (10, 5, True), (1000, 0.1, False)])
def test_many_keystrokes_over_hours_are_little_data(keys, pause_s, little):
    """A thousand echoes take 20 s: 0.4 % of the time with pauses of 5 s, and 17 % with those of 0.1 s."""
    lines = [HANDSHAKE]
    for key in range(keys):
        sent = 1 + 100 * key
        lines += [
            f"+{pause_s} > P. {sent}:{sent + 100}(100) ack 1 win 502",
            f"+.020 < . 1:1(0) ack {sent + 100} win 16384",
        ]
    flow = analysed("\n".join(lines)).flow(0)
    assert (flow.summary["limit"], short.LITTLE.holds(flow)) == ("app", little)


@pytest.mark.parametrize(("answers_ms", "soon"), [(800, True), (801, False)])
def test_data_and_answers_that_took_less_than_a_second_in_all_are_soon(answers_ms, soon, monkeypatch):
    """A person notices a second (Nielsen, 1993). The rest of the active time is neither the server's nor TCP's."""
    rounds = {"start_ns": 0, "end_ns": 1_200_000_000, "limit": "app", "detail": "response time"}
    flow = SimpleNamespace(
        is_from_client=False,
        summary={"limit": "app", "active_ns": 1_200_000_000, "rtt_min_ns": 1_000_000},
        capture=SimpleNamespace(_contents=SimpleNamespace(has_exchanges=True)),
        rtts=pd.DataFrame([rounds]),
    )
    monkeypatch.setattr(short.app, "hides_losses", lambda _: False)
    monkeypatch.setattr(
        short.app, "LIMIT", replace(short.app.LIMIT, detail=lambda _flow, own: own["detail"].iloc[0])
    )
    monkeypatch.setattr(short, "answering_ns", lambda _flow, _rounds: answers_ms * 1_000_000)
    monkeypatch.setattr(short.in_flight, "whole", lambda _flow: SimpleNamespace(in_flight_ns=199_999_999))
    assert short.NATURE.holds(flow) == soon


@pytest.mark.parametrize(
    ("rtt_ms", "in_flight_ms", "trips"),
    [
        (300, 1200, True),
        (150, 1200, False),  # the same time is ten round trips of a shorter path
        (300, 700, False),  # for most of the time, no data were in flight: the program paused
    ],
)
def test_a_few_round_trips_of_a_long_path_are_no_wait_for_the_program(
    rtt_ms, in_flight_ms, trips, monkeypatch
):
    """TLS takes two round trips, and the rest of the data follow their acknowledgments (RFC 5246, RFC 6928)."""
    monkeypatch.setattr(short, "_is_paced", lambda _flow: True)
    monkeypatch.setattr(short, "lost", lambda _flow: False)
    moved = SimpleNamespace(in_flight_ns=in_flight_ms * 1_000_000)
    monkeypatch.setattr(short.in_flight, "whole", lambda _flow: moved)
    flow = SimpleNamespace(summary={"active_ns": 1_560_000_000, "rtt_min_ns": rtt_ms * 1_000_000})
    assert short._are_trips(flow) == trips
    if trips:
        words = "Nothing to mend: data were in flight for 1.2 s, 4.0 round trips of 300 ms."
        assert short.NATURE.advice(flow) == ("", words)


@pytest.mark.parametrize(("rule", "short_"), [("none", True), ("missed", False), ("silent", False)])
def test_what_no_rule_holds_may_be_over_at_once_but_not_what_the_capture_lacks(rule, short_):
    flow = SimpleNamespace(
        summary={"limit": "unknown"},
        rtts=pd.DataFrame([{"limit": "unknown", "rule": rule}, {"limit": "idle", "rule": "idle-over"}]),
    )
    assert short._is_seen(flow) == short_


@pytest.mark.parametrize(("rtt_ms", "little"), [(50, False), (250, True)])
def test_a_little_takes_longer_than_a_second_on_a_long_path(rtt_ms, little, monkeypatch):
    """Data were in flight for 1.5 s: for 30 round trips, or for 6 of the 8 in which TLS and slow start carry little."""
    flow = SimpleNamespace(
        is_from_client=True,
        summary={"limit": "app", "active_ns": 20_000_000_000, "rtt_min_ns": rtt_ms * 1_000_000},
        rtts=pd.DataFrame([{"limit": "app", "detail": "idle", "start_ns": 0, "end_ns": 20_000_000_000}]),
    )
    monkeypatch.setattr(
        short.app, "LIMIT", replace(short.app.LIMIT, detail=lambda _flow, own: own["detail"].iloc[0])
    )
    monkeypatch.setattr(short.in_flight, "whole", lambda _flow: SimpleNamespace(in_flight_ns=1_500_000_000))
    assert short._is_brief(flow) == little


@pytest.mark.parametrize(
    ("again", "arrived", "active_ms", "detail", "held"),
    [
        (1, 1, 300, "recovery", False),
        (2, 1, 300, "recovery", False),  # one loss
        (4, 1, 300, "recovery", True),
        (0, 0, 300, "recovery", True),
        # The window grew for longer than the loss held the sender.
        (2, 1, 300, "slow start", False),
        # What takes less than 0.1 s seems to come at once (Nielsen, 1993), whatever held it.
        (4, 1, 99, "recovery", False),
        (4, 1, 100, "recovery", True),
    ],
)
def test_what_was_sent_again_is_a_hold_of_a_short_transfer_only_if_it_took_long(
    again, arrived, active_ms, detail, held
):
    # A duplicate SACK of the receiver reports each copy that had arrived (RFC 2883).
    flow = copied(10_000_000)
    flow.summary = pd.concat(
        [
            flow.summary.drop(["active_ns", "rtt_min_ns"]),
            pd.Series(
                {
                    "limit": "cwnd",
                    "rtt_min_ns": 20_000_000,
                    "active_ns": 1_000_000 * active_ms,
                    "retransmits": again,
                    "spurious_retransmits": arrived,
                    "retransmitted_bytes": 1460 * again,
                    "cwnd_share": 0.7,
                    "in_flight_max_bytes": 14_600,
                }
            ),
        ]
    )
    flow.rtts["detail"] = detail
    assert short.NATURE.holds(flow) != held


@pytest.mark.parametrize(("again", "arrived", "said"), [(5, 2, True), (5, 3, False), (4, 0, False)])
def test_a_short_transfer_may_have_lost_much(again, arrived, said):
    # Of 100 segments sent, 5 are retransmissions, and three or two of them had a need.
    flow = SimpleNamespace(
        _counts={"lost_before_tap": 0, "largest_bytes": 1000},
        summary={
            "retransmits": again,
            "spurious_retransmits": arrived,
            "retransmitted_bytes": 1000 * again,
            "payload_bytes": 95_000,
            "packets": 100,
            "mss_bytes": 1000,
        },
    )
    assert bool(short._lossy(flow)) == said


def test_pauses_that_nobody_notices_are_a_part_of_the_time_of_a_transfer():
    ms = 1_000_000
    near, far = (
        pd.DataFrame({"start_ns": [0, (10 + pause) * ms], "end_ns": [10 * ms, (20 + pause) * ms]})
        for pause in (99, 100)
    )
    assert nearly_all.follow_closely(near)
    assert nearly_all.batches(near) == ""
    assert not nearly_all.follow_closely(far)
    assert nearly_all.batches(far) == "2 bursts within 120 ms"


def test_a_burst_ends_with_its_last_flight_however_small():
    """The last flight of a burst is the rest of its data, and seldom a full window."""
    ms = 1_000_000
    rtts = pd.DataFrame(
        {
            "start_ns": [0, 10 * ms, 20 * ms, 500 * ms],
            "end_ns": [10 * ms, 20 * ms, 30 * ms, 510 * ms],
            "acked_bytes": [200, 20_000, 5_000, 5_000],
        }
    )
    # The 200 bytes before are a slow exchange; the 5,000 bytes at 500 ms do not follow at once.
    assert list(nearly_all._with_neighbours(rtts, rtts.iloc[[1]]).index) == [1, 2]


@pytest.mark.parametrize(("most_bytes", "held"), [(1459, False), (1460, True)])
def test_no_congestion_window_holds_less_than_a_segment(most_bytes, held):
    """RFC 5681 section 3.1: after a timeout, the window is one segment."""
    flow = SimpleNamespace(
        summary={
            "limit": "cwnd",
            "retransmits": 7,
            "spurious_retransmits": 6,
            "in_flight_max_bytes": most_bytes,
            "mss_bytes": 1460,
        }
    )
    assert short._only_needless(flow) != held


@pytest.mark.parametrize(
    ("last", "after", "cut_off"),
    [
        (1460, "", True),
        # A short segment, a FIN, or a round trip without more data: the answer was whole.
        (700, "", False),
        (1460, "+.0001 < F. {end}:{end}(0) ack 101 win 512", False),
        (1460, "+.5 > . 101:101(0) ack {end} win 502", False),
        # Data after the next request are another transfer, and not the most of this flow.
        (1460, "+.5 > P. 101:201(100) ack {end} win 502\n+.1 < . {end}:{more}(1460) ack 201 win 512", False),
    ],
)
def test_a_transfer_that_the_end_of_the_capture_cuts_off_is_no_short_one(last, after, cut_off):
    """Next to the client, ten segments of an answer and then twenty follow a request over a round trip of 100 ms."""
    lines = [
        "0    > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        "+.1  < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        "+0   > .  1:1(0) ack 1 win 502",
        "+0   > P. 1:101(100) ack 1 win 502",
    ]
    end = 1
    for flight in (10, 20):
        for number in range(flight):
            size = last if (flight, number) == (20, 19) else 1460
            lines.append(f"+{'.0001' if number else '.1'} < . {end}:{end + size}({size}) ack 101 win 512")
            end += size
            lines.append(f"+0 > . 101:101(0) ack {end} win 502")
    flow = analysed("\n".join([*lines, after.format(end=end, more=end + 1460)])).flow(0, str(SERVER))
    said = " ".join([screen.head(flow), *screen.sentences(flow)])
    assert said.startswith("a transfer that the capture cuts off") == cut_off
    assert ("The capture ends within the transfer" in said) == cut_off
    assert flow.remedy.words.startswith("Capture the whole transfer" if cut_off else "Nothing to mend")


@pytest.mark.parametrize(
    ("flights", "messages", "slow_start"), [([35, 35], 2, False), ([10, 20, 40], 1, True), ([70], 1, False)]
)
def test_messages_that_leave_at_once_are_no_slow_start(flights, messages, slow_start):
    """A client sends 102,200 bytes: 35 segments, and 35 after an answer; in flights that double; or at once."""
    lines, sent, heard = [HANDSHAKE], 1, 1
    for number, count in enumerate(flights):
        if number and messages == 2:
            lines.append(f"+.001 < P. {heard}:{heard + 100}(100) ack {sent} win 16384")
            heard += 100
        for piece in range(count):
            wait = "+.0001" if piece or number else "+.001"
            lines.append(f"{wait} > . {sent}:{sent + 1460}(1460) ack {heard} win 502")
            sent += 1460
        lines.append(f"+.020 < . {heard}:{heard}(0) ack {sent} win 16384")
    flow = analysed("\n".join(lines)).flow(0, str(CLIENT))
    assert flow.summary["payload_bytes"] == 102_200
    assert natures.SLOW_START.holds(flow) == slow_start


@pytest.mark.parametrize(("flights", "slow_start"), [([10, 20, 40], True), ([20, 50], False)])
def test_an_old_connection_that_takes_fewer_round_trips_is_in_no_slow_start(flights, slow_start):
    # Without a handshake in the capture. From an initial window of ten, 70 segments take three round trips.
    lines, sent = ["0 > . 1:1(0) ack 1 win 502"], 1
    for count in flights:
        for piece in range(count):
            wait = "+.0001" if piece else "+.001"
            lines.append(f"{wait} > . {sent}:{sent + 1460}(1460) ack 1 win 502")
            sent += 1460
        lines.append(f"+.020 < . 1:1(0) ack {sent} win 16384")
    flow = analysed("\n".join(lines)).flow(0, str(CLIENT))
    assert natures.SLOW_START.holds(flow) == slow_start


@pytest.mark.parametrize(("answered_ms", "told"), [(600, True), (80, False)])
def test_the_servers_answer_is_named_where_it_is_most_of_a_clients_idle_time(answered_ms, told):
    lines = [HANDSHAKE, "+.001 > P. 1:14601(14600) ack 1 win 502", "+.020 < . 1:1(0) ack 14601 win 16384"]
    lines += [
        f"+{answered_ms / 1000} < P. 1:101(100) ack 14601 win 16384",
        "+0 > . 14601:14601(0) ack 101 win 502",
    ]
    (said,) = screen.sentences(analysed("\n".join(lines)).flow(0, str(CLIENT)))
    assert (f"the server took {answered_ms} ms to answer" in said) == told


@pytest.mark.parametrize(("in_flight", "told"), [(2, False), (2920, True)])
def test_less_than_a_segment_fills_no_send_buffer(in_flight, told):
    rtts = pd.DataFrame({"round": [0, 1], "limit": "sndbuf", "start_ns": [0, 10], "end_ns": [10, 110]})
    summary = {"limit": "sndbuf", "sndbuf_share": 1.0, "in_flight_max_bytes": in_flight, "mss_bytes": 1460}
    summary |= {"active_ns": 110, "retransmits": 0, "spurious_retransmits": 0, "payload_bytes": 2000}
    rtts = rtts.assign(acked_bytes=1000, in_flight_max_bytes=in_flight)
    flows = pd.DataFrame({"stream": [0], "mss_bytes": [1460]})
    flow = SimpleNamespace(rtts=rtts, summary=summary, stream=0, capture=SimpleNamespace(flows=flows))
    assert ("the send buffer" in short._held(flow)) == told


@pytest.mark.parametrize(
    ("link_share", "active_ns", "brief"), [(0.4, 5e8, True), (0.9, 5e8, False), (0.4, 2e9, False)]
)
def test_a_link_that_is_full_for_moments_holds_no_short_transfer(monkeypatch, link_share, active_ns, brief):
    """A burst faster than the link fills it for a moment; a transfer that filled it for long names its rate."""
    for name in ("_answers_soon", "_is_few", "_is_one_burst", "_is_lifted", "_only_needless"):
        monkeypatch.setattr(short, name, lambda _flow: False)
    summary = {"limit": "link", "link_share": link_share, "active_ns": active_ns, "rtt_min_ns": 1e7}
    summary |= {"retransmitted_bytes": 0}
    assert short.NATURE.holds(SimpleNamespace(summary=summary, is_from_client=False)) == brief


@pytest.mark.parametrize(
    ("fast", "said"), [(1, "Later data overtook earlier ones"), (0, " 1 packet sent again had arrived.")]
)
def test_data_that_others_overtook_were_not_sent_again_by_a_timer(monkeypatch, fast, said):
    """A fast retransmission follows reports of later data (RFC 5681 section 3.2), and not a timer."""
    monkeypatch.setattr(short, "_only_needless", lambda _flow: True)
    summary = {
        "cwnd_share": 0.9,
        "active_ns": 3e8,
        "spurious_retransmits": 1,
        "retransmits": 1,
        "fast_retransmits": fast,
    }
    assert said in short._held_by_path(SimpleNamespace(summary=summary))


@pytest.mark.parametrize(("vantage", "told"), [("sender", True), ("receiver", False)])
def test_the_most_in_flight_is_told_where_it_is_known(vantage, told):
    """Next to the receiver, a flight that is late and the next one may pass within one round."""
    summary = {"vantage": vantage, "retransmits": 0}
    words = cwnd._growth(
        SimpleNamespace(summary=summary), pd.DataFrame({"in_flight_max_bytes": [78_540, 107_100]})
    )
    assert ("107,100 bytes were in flight at most" in words) == told


@pytest.mark.parametrize(("wait", "told"), [(3, True), (0.3, False)])
def test_a_lone_answer_that_took_seconds_is_the_servers(wait, told):
    """A page of 200 bytes needs no rate; what made its client wait is in the server's log."""
    capture = analysed(
        HANDSHAKE
        + f"""
        +.001  > P. 1:184(183) ack 1 win 502
        +.0001 < .  1:1(0) ack 184 win 512
        +{wait} < P. 1:198(197) ack 184 win 512
        +.001  > .  184:184(0) ack 198 win 502
        +2     < F. 198:198(0) ack 184 win 512
        +.001  > F. 184:184(0) ack 199 win 502
        +.001  < .  199:199(0) ack 185 win 512
        """
    )
    words = capture.flow(0, str(SERVER)).remedy.words
    assert (f"{SERVER.host} answered after 3 s: its log shows why" in words) == told
    assert words.startswith("Nothing to mend")
    said = headline.summary(capture, ranking.groups(capture))
    assert ("nothing on the path needs mending" in said) == told


def test_a_burst_that_nothing_acknowledged_counts_as_one():
    """Its bytes were sent, and the time before it is a pause of the flow."""
    dialogue = (
        HANDSHAKE + "+.1 < P. 1:3001(3000) ack 1 win 500\n+.001 > . 1:1(0) ack 3001 win 502\n"
        "+2 < P. 3001:3701(700) ack 1 win 500\n+.005 > R. 1:1(0) ack 3701 win 0"
    )
    flow = analysed(dialogue).flow(0, str(SERVER))
    assert bursts.sizes(flow).tolist() == [3000, 700]
