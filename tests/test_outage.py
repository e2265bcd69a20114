"""Outages and the ends of connections: silences with retransmissions, and where their causes lie."""

import io
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from dialogues import analysed
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import report
from bdpcap.diagnosis import moved, natures
from bdpcap.diagnosis.natures import outage
from bdpcap.report import connections, headline, ranking, screen, verdict

NEVER_ANSWERED = "".join(
    f"+{wait} > P. 1:101(100) ack 1 win 502\n" for wait in (0.001, 0.2, 0.6, 1.2, 2.4, 4.8)
)
"""A request and five repeats, each after a longer wait."""


def opened(dialogue):
    return analysed(HANDSHAKE + dialogue)


def test_an_outage_is_the_news():
    # Timeouts of 1, 2 and 4 s after the last acknowledgment, as RFC 6298 has them.
    lost = """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
    +.001 > P. 1001:2001(1000) ack 1 win 502
    +1    > P. 1001:2001(1000) ack 1 win 502
    +2    > P. 1001:2001(1000) ack 1 win 502
    +4    > P. 1001:2001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 2001 win 500
    """
    flow = opened(lost).flow(0)
    assert screen.head(flow).startswith("outage (confidence ")
    # Frames 1 to 5 are the handshake, and data that were acknowledged.
    assert (
        verdict.best_span(flow).display_filter == "tcp.stream eq 0 && frame.number >= 6 && frame.number <= 10"
    )
    assert "Nothing was acknowledged for 7.02 s, from 42 ms on" in screen.sentences(flow)[-1]
    assert flow.remedy.where.startswith("the path from ")


LOST_TWICE = """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
    +.001 > .  1001:2461(1460) ack 1 win 502
    +0    > P. 2461:2561(100) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500 <sack 2461:2561>
    +1    > .  1001:2461(1460) ack 1 win 502
    +1    < .  1:1(0) ack 1001 win 500 <sack 2461:2561>
    +2    > .  1001:2461(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 2561 win 500
    """
"""Of two segments the first is lost, and so is its first copy. The second is reported at once, and again later.

From the first report to the end it takes 1, 1, 2 and 0.02 s.
"""


def test_acknowledgments_of_other_data_show_that_the_path_was_up():
    flow = opened(LOST_TWICE).flow(0)
    assert screen.head(flow).startswith("loss and timeouts (confidence ")
    assert "No acknowledgment of new data came for 4.02 s" in screen.sentences(flow)[-1]
    assert "show that 198.51.100.2 was there." in screen.sentences(flow)[-1]
    assert flow.remedy.words.startswith("Find where packets are lost")


@pytest.mark.parametrize("again", ["", "+2 > . 5841:7301(1460) ack 1 win 502\n"], ids=["once", "again"])
def test_data_sent_once_and_acknowledged_late_were_not_lost(again):
    # A timer had run out before. Then four segments wait for 4 s, and each is acknowledged on its own.
    segments = "".join(f"+0 > . {at}:{at + 1460}(1460) ack 1 win 502\n" for at in range(1461, 7301, 1460))
    acks = "".join(f"+.001 < . 1:1(0) ack {at} win 500\n" for at in range(2921, 8761, 1460))
    flow = opened(f"""
    +.001 > .  1:1461(1460) ack 1 win 502
    +.400 > .  1:1461(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 1461 win 500
    {segments}
    +.4 < . 1:1(0) ack 1461 win 499
    {again}+{2 if again else 4} < . 1:1(0) ack 1461 win 498
    {acks}
    """).flow(0)
    late = not again
    assert ("Nothing was sent again in it" in " ".join(screen.sentences(flow))) == late
    assert (natures.nature(flow) is natures.LATE) == late


@pytest.mark.parametrize(
    ("next_one", "nature"), [("", "OUTAGE"), ("+.001 < . 1:1(0) ack 4381 win 500", "LATE")]
)
def test_acknowledgments_that_go_on_from_a_retransmission_show_that_nothing_was_lost(next_one, nature):
    """After a timer's retransmission, the next acknowledgment covers data sent once (RFC 5682 section 2.1)."""
    segments = "".join(f"+0 > . {at}:{at + 1460}(1460) ack 1 win 502\n" for at in range(1461, 8761, 1460))
    flow = opened(f"""
    +.001 > .  1:1461(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 1461 win 500
    {segments}
    +1    > .  1461:2921(1460) ack 1 win 502
    +2    > .  1461:2921(1460) ack 1 win 502
    +.500 < .  1:1(0) ack 2921 win 500
    {next_one}
    """).flow(0)
    assert natures.nature(flow) is getattr(natures, nature)
    assert ("The data had arrived" in " ".join(screen.sentences(flow))) == (nature == "LATE")


@pytest.mark.parametrize(("timers_s", "holds"), [(2, True), (6, False)])
def test_one_wait_of_many_timers_is_no_outage(timers_s, holds, monkeypatch):
    """Acknowledgments came between the timers, so losses are the news, and the far end was there."""
    monkeypatch.setattr(outage, "stalled", lambda _flow: True)
    for name in ("_came_meanwhile", "_only_answer_lost", "_was_held", "_spared_others"):
        monkeypatch.setattr(outage, name, lambda _flow: False)
    summary = {"longest_stall_ns": 1_500_000_000, "timeout_wait_ns": timers_s * 10**9}
    assert natures.OUTAGE.holds(SimpleNamespace(summary=summary)) == holds


@pytest.mark.parametrize("beside", [False, True])
def test_a_far_end_that_answers_on_another_port_is_not_gone(beside):
    sent = "0 > P. 1:101(100) ack 1 win 502\n" + "".join(
        f"+{2**n} > P. 1:101(100) ack 1 win 502\n" for n in range(4)
    )
    other = "2 > S 0:0(0) win 64240\n+.02 < S. 0:0(0) ack 1 win 65535\n+0 > . 1:1(0) ack 1 win 502"
    packets = scenario(sent)
    if beside:
        packets += scenario(other, client=Address("192.0.2.1", 50_001))
    packets.sort(key=lambda packet: packet.time_ns)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0, "192.0.2.1:40000")
    assert natures.nature(flow) is natures.OUTAGE
    assert flow.remedy.words.startswith(
        "Find what drops this connection" if beside else "Find out why nothing"
    )


@pytest.mark.parametrize("came", [False, True])
def test_only_acknowledgments_within_a_wait_show_that_the_far_end_was_there(came, monkeypatch):
    for name in ("_only_answer_lost", "_only_late", "_was_held", "_spared_others", "mostly_needless"):
        monkeypatch.setattr(outage, name, lambda _flow: False)
    monkeypatch.setattr(outage, "_came_meanwhile", lambda _flow: came)
    summary = {"longest_stall_ns": 3_320_000_000, "retransmits": 6, "limit": "cwnd"}
    said = outage._losses(SimpleNamespace(summary=summary, receiver="192.0.2.9:80"))
    known = " Other acknowledgments show that 192.0.2.9 was there." if came else ""
    assert said == f"No acknowledgment of new data came for 3.32 s, with 6 packets sent again in all.{known}"


@pytest.mark.parametrize(("share", "kind"), [(0.9, False), (0.4, True)])
def test_a_window_that_held_a_flow_for_longer_than_its_stall_is_the_news(monkeypatch, share, kind):
    monkeypatch.setattr(outage, "stalled", lambda _flow: True)
    summary = {
        "limit": "rwnd",
        "rwnd_share": share,
        "longest_stall_ns": 2_750_000_000,
        "active_ns": 18_000_000_000,
    }
    assert outage._is_news(SimpleNamespace(summary=summary)) == kind


def test_one_timer_after_a_report_of_all_but_a_hole_is_no_outage():
    # The second of two segments is reported at once; nothing is in flight until the timer of 1.2 s has run out.
    hole = """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
    +.001 > .  1001:2461(1460) ack 1 win 502
    +0    > P. 2461:2561(100) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500 <sack 2461:2561>
    +{timer} > .  1001:2461(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 2561 win 500
    """
    one = opened(hole.format(timer="1.2")).flow(0)
    assert natures.nature(one) is natures.LOSSES
    # After a timer of 1 s a second one of 2 s runs out: what was sent between them is lost before the capture.
    assert natures.nature(opened(hole.format(timer="3.1")).flow(0)) is natures.OUTAGE


@pytest.mark.parametrize(("reported", "kind"), [(" <sack 1001:1024>", natures.LATE), ("", natures.OUTAGE)])
def test_one_lost_acknowledgment_is_no_outage(reported, kind):
    # The D-SACK shows that the first copy had arrived (RFC 2883): its acknowledgment alone was lost.
    flow = opened(f"""
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
    +.500 > P. 1001:1024(23) ack 1 win 502
    +1.75 > P. 1001:1026(25) ack 1 win 502
    +.300 < .  1:1(0) ack 1026 win 500{reported}
    """).flow(0)
    assert natures.nature(flow) is kind
    if reported:
        assert "The data had arrived before" in screen.sentences(flow)[-1]
        assert "packets are lost" not in flow.remedy.words
        assert flow.remedy.where == "the path from 198.51.100.2 to 192.0.2.1"


@pytest.mark.parametrize(
    ("client", "segments", "named"),
    [
        ("8.8.8.8", 0, False),
        # A host of one's own, and a transfer.
        ("192.168.1.9", 0, True),
        ("8.8.8.8", 12, True),
    ],
)
def test_the_path_to_a_stranger_who_exchanged_little_is_not_named(client, segments, named):
    sent = [(1 + 1460 * number, 1461 + 1460 * number) for number in range(segments)]
    data = "".join(f"+0 > . {first}:{last}(1460) ack 1 win 502 ttl 50\n" for first, last in sent)
    # A server's greeting comes through after 2.9 s: its first packets are lost beyond the capture next to it.
    packets = scenario(
        f"""
        0      > S  0:0(0) win 64240 ttl 50 <mss 1460>
        +.0001 < S. 0:0(0) ack 1 win 65535 <mss 1460>
        +.020  > .  1:1(0) ack 1 win 502 ttl 50
        {data}
        +.0001 < P. 1:42(41) ack {1 + 1460 * segments} win 65535
        +.220  < P. 1:42(41) ack {1 + 1460 * segments} win 65535
        +.440  < P. 1:42(41) ack {1 + 1460 * segments} win 65535
        +.880  < P. 1:42(41) ack {1 + 1460 * segments} win 65535
        +1.36  > .  {1 + 1460 * segments}:{1 + 1460 * segments}(0) ack 42 win 502 ttl 50
        """,
        client=Address(client, 50_000),
    )
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = headline._longest(capture, capture.flows, 1e9)
    assert said == (
        " Of them, stream 0 waited 2.9 s for an acknowledgment, and sent 3 packets again in all."
        if named
        else ""
    )


def test_losses_hold_a_flow_for_their_longest_stall_only():
    # The rounds of the repair take longer: they begin before the loss, and end after the acknowledgment of 4.02 s.
    flow = opened(LOST_TWICE).flow(0)
    assert headline._hold(flow, 9e9) == "was held for 4.02 s: loss and timeouts"


def test_the_frames_of_a_loss_with_timeouts_are_those_of_its_longest_stall():
    # Afterwards the program writes each 0.5 s for longer than the stall lasts, so that `app` is the main limit.
    writes = "".join(
        f"""
    +.500 > P. {2561 + 10 * at}:{2571 + 10 * at}(10) ack 1 win 502
    +.020 < .  1:1(0) ack {2571 + 10 * at} win 500"""
        for at in range(20)
    )
    shown = verdict.best_span(opened(f"{LOST_TWICE.rstrip()}{writes}").flow(0)).display_filter
    first, last = map(int, re.findall(r"[<>]= (\d+)", shown))
    # Frame 5 acknowledges all data before; frame 8 reports the loss, 9 and 11 retransmit, and 12 ends the stall.
    assert 5 <= first <= 8
    assert last == 12


def test_a_receiver_that_sends_its_own_data_again_was_there():
    # The receiver closes, and sends its FIN again, since it gets none of what the sender sends.
    flow = opened("""
    +.001 > P. 1:518(517) ack 1 win 502
    +.300 > P. 1:518(517) ack 1 win 502
    +.600 > P. 1:518(517) ack 1 win 502
    +1.20 > P. 1:518(517) ack 1 win 502
    +1.00 < F. 1:1(0) ack 1 win 500
    +.200 < F. 1:1(0) ack 1 win 500
    +1.20 > P. 1:518(517) ack 2 win 502
    +.020 < .  2:2(0) ack 518 win 500
    """).flow(0)
    assert natures.nature(flow) is natures.LOSSES


def test_data_that_reached_a_capture_at_the_receiver_are_the_receivers_to_explain():
    # From the receiver, which answers its SYN-ACK's peer at once; then it acknowledges nothing, and the sender gives up.
    given_up = """
    0     < S  0:0(0) win 64240 <mss 1460,nop,wscale 7>
    +0    > S. 0:0(0) ack 1 win 65160 <mss 1460,nop,wscale 7>
    +.020 < .  1:1(0) ack 1 win 502
    +.001 < P. 1:1001(1000) ack 1 win 502
    +0    > .  1:1(0) ack 1001 win 500
    +.020 < P. 1001:2001(1000) ack 1 win 502
    +1    < P. 1001:2001(1000) ack 1 win 502
    +2    < P. 1001:2001(1000) ack 1 win 502
    +4    < P. 1001:2001(1000) ack 1 win 502
    +8    < R. 2001:2001(0) ack 1 win 502
    """
    flow = analysed(given_up).flow(0)
    assert flow.summary["vantage"] == "receiver"
    said = screen.sentences(flow)[-1]
    assert "to the end, with 3 retransmissions next to the receiver, which answered none" in said
    assert flow.remedy.where.startswith("the receiver, ")


AWAY = """
    0     < S  0:0(0) win 64240 <mss 1460,nop,wscale 7>
    +.001 > S. 0:0(0) ack 1 win 65160 ttl 62 <mss 1460,nop,wscale 7>
    +.020 < .  1:1(0) ack 1 win 502
    +.001 < P. 1:1001(1000) ack 1 win 502
    +.001 > .  1:1(0) ack 1001 win 500 ttl 62
"""
"""The capture is 20 ms from the sender, and 1 ms and two routers from the receiver, 192.0.2.1."""


def away(dialogue):
    capture = analysed(AWAY + dialogue)
    assert "captured 2 routers from 192.0.2.1." in " ".join(report.text(capture).split())
    return capture.flow(0)


def test_what_is_lost_behind_a_capture_is_no_host_that_hung():
    # Only the retransmission that arrives is acknowledged: the segments sent before it were lost behind the capture.
    flow = away("""
    +.500 < P. 1001:2001(1000) ack 1 win 502
    +0    < P. 2001:3001(1000) ack 1 win 502
    +1    < P. 1001:2001(1000) ack 1 win 502
    +2    < P. 1001:2001(1000) ack 1 win 502
    +4    < P. 1001:2001(1000) ack 1 win 502
    +.001 > .  1:1(0) ack 2001 win 500 ttl 62
    +.020 < P. 2001:3001(1000) ack 1 win 502
    +.001 > .  1:1(0) ack 3001 win 500 ttl 62
    """)
    said = screen.sentences(flow)[-1]
    assert (
        "for 7 s, from 523 ms on, with 3 retransmissions that reached the capture, 2 routers before 192.0.2.1."
        in said
    )
    assert flow.remedy.where == "the path from the capture to 192.0.2.1"
    assert flow.remedy.words.startswith("Find where data were lost")


def test_what_is_lost_before_a_capture_is_no_receiver_that_is_gone():
    # The receiver acknowledges at once what comes; 2001:3001 comes 7 s later.
    flow = away("""
    +.020 < P. 1001:2001(1000) ack 1 win 502
    +0    < P. 3001:4001(1000) ack 1 win 502
    +.001 > .  1:1(0) ack 2001 win 500 ttl 62
    +7    < P. 2001:3001(1000) ack 1 win 502
    +.001 > .  1:1(0) ack 4001 win 500 ttl 62
    """)
    assert "with 1 retransmission, which was acknowledged at once." in screen.sentences(flow)[-1]
    assert flow.remedy.where == "the path from 198.51.100.2 to the capture"


@pytest.mark.parametrize(("times", "said"), [(1, ""), (3, "That happened 2 more times.")])
def test_outages_of_a_flow_are_counted(times, said):
    lines = []
    for number in range(times):
        first, end = 1 + 100 * number, 101 + 100 * number
        waits = (5, 0.3, 0.6, 1.2, *((2.4, 4.8) if number == 0 else ()))
        again = "".join(f"+{gap} > P. {first}:{end}(100) ack 1 win 502\n" for gap in waits)
        lines.append(f"{again}+.020 < . 1:1(0) ack {end} win 500")
    flow = opened("\n".join(lines)).flow(0)
    sentence = screen.sentences(flow)[-1]
    assert sentence.startswith("Nothing was acknowledged for 9.32 s")
    assert ("That happened" in sentence) == bool(said)
    assert said in sentence


def test_a_sender_that_ignores_acknowledgments_had_no_outage():
    # The tap is beside the client, which sends its request again in spite of the answer next to it.
    flow = opened("""
    +.001  > P. 1:201(200) ack 1 win 502
    +.020  < P. 1:101(100) ack 201 win 500
    +.300  > P. 1:201(200) ack 1 win 502
    +.600  > P. 1:201(200) ack 1 win 502
    +1.200 > P. 1:201(200) ack 1 win 502
    +2.400 > P. 1:201(200) ack 1 win 502
    """).flow(0)
    said = screen.sentences(flow)[-1]
    assert said.startswith(
        "The sender took no notice of acknowledgments: it sent again, 4 times, what the capture"
    )
    assert flow.remedy.where == "the sender, 192.0.2.1"


def test_only_the_time_in_which_data_waited_is_an_outage():
    # Nothing is in flight for 15 s; then one segment waits for 4 s, the tail loss probe included.
    flow = opened("""
    +.001  > P. 1:1001(1000) ack 1 win 502
    +.020  < .  1:1(0) ack 1001 win 500
    +15    > P. 1001:1027(26) ack 1 win 502
    +.200  > P. 1001:1027(26) ack 1 win 502
    +.600  > P. 1001:1027(26) ack 1 win 502
    +1.200 > P. 1001:1027(26) ack 1 win 502
    +2     > P. 1001:1027(26) ack 1 win 502
    +.020  < .  1:1(0) ack 1027 win 500
    """).flow(0)
    said = screen.sentences(flow)[-1]
    assert said.startswith("Nothing was acknowledged for 4.02 s, from 15 s on, with 4 retransmissions.")


@pytest.mark.parametrize("reset", ["+1 < R. 101:101(0) ack 4001 win 500", ""], ids=["reset", "silent"])
def test_a_farewell_that_nobody_acknowledges_is_the_end_and_no_outage(reset):
    flow = opened(f"""
    +.001 < P. 1:101(100) ack 1 win 500
    +.001 > P. 1:4001(4000) ack 101 win 502
    +.020 < F. 101:101(0) ack 4001 win 500
    +.001 > FP. 4001:4032(31) ack 102 win 502
    +.500 > FP. 4001:4032(31) ack 102 win 502
    +1    > FP. 4001:4032(31) ack 102 win 502
    +2    > FP. 4001:4032(31) ack 102 win 502
    {reset}
    """).flow(0)
    assert natures.nature(flow) is not natures.OUTAGE
    assert flow.remedy.where == ""


@pytest.mark.parametrize(("acknowledged", "nature"), [(4001, "TOO_LATE"), (8001, "OUTAGE")])
def test_data_on_a_connection_that_their_receiver_had_closed_had_no_outage(acknowledged, nature):
    # An end that closed a half would have acknowledged the next data, as in the second case.
    more = f"+.001 > P. 4001:8001(4000) ack 102 win 502\n+.020 < . 102:102(0) ack {acknowledged} win 500"
    flow = opened(f"""
    +.001 < P. 1:101(100) ack 1 win 500
    +.001 > P. 1:4001(4000) ack 101 win 502
    +.020 < F. 101:101(0) ack 4001 win 500
    {more if acknowledged > 4001 else ""}
    +25   > P. {acknowledged}:{acknowledged + 2000}(2000) ack 102 win 502
    +.500 > P. {acknowledged}:{acknowledged + 2000}(2000) ack 102 win 502
    +1    > P. {acknowledged}:{acknowledged + 2000}(2000) ack 102 win 502
    +2    > P. {acknowledged}:{acknowledged + 2000}(2000) ack 102 win 502
    """).flow(0)
    assert natures.nature(flow) is getattr(natures, nature)
    if nature == "TOO_LATE":
        said = f"{SERVER.host} had closed the connection 25 s before the last data, and answered none of them, nor 3"
        assert said in " ".join(screen.sentences(flow))
        assert flow.remedy.where == f"the sender, {CLIENT.host}"


def test_data_that_follow_a_reset_of_their_receiver_wait_for_nobody():
    # The reset was lost on the way, so the server sends its last data again and again.
    again = "\n".join(f"+{2**n} < P. 4001:5001(1000) ack 132 win 500" for n in range(-1, 4))
    flow = opened(f"""
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < P. 1:4001(4000) ack 101 win 500
    +.0001 > . 101:101(0) ack 4001 win 502
    +.0001 > P. 101:132(31) ack 4001 win 502
    +.001 > R. 132:132(0) ack 4001 win 502
    +.005 < P. 4001:5001(1000) ack 101 win 500
    +.015 < . 5001:5001(0) ack 132 win 500
    {again}
    """).flow(0, str(SERVER))
    assert natures.nature(flow) is natures.TOO_LATE
    assert flow.remedy.where == ""


class _Flow:
    """A flow to a server."""

    def __init__(self):
        self.summary = {"receiver": "10.0.0.1:80"}
        self.capture = None


@pytest.mark.parametrize("kind", [natures.OUTAGE, natures.MUTUAL[1]], ids=lambda kind: kind.title)
def test_an_outage_of_one_flow_is_none_of_flows_with_the_same_limit(kind, monkeypatch):
    group = ranking.Group(
        _Flow(),
        pd.DataFrame({"receiver": ["10.0.0.1:80"] * 3, "stream": [1, 2, 3], "payload_bytes": 100}),
        to_server=True,
    )
    monkeypatch.setattr(ranking.Group, "_sum", "together 300 B")
    monkeypatch.setattr(ranking, "listed", lambda _capture, flows: flows["stream"].tolist())
    for outages, said in (
        ({1, 2, 3}, "the same verdict"),
        ({2, 3}, "the same verdict, but for stream 1"),
        ({2}, "the same verdict for stream 2 alone"),
        (set(), f"no {kind.title} there"),
    ):
        stalled = {group.flow, *outages}
        monkeypatch.setattr(ranking, "nature", lambda flow, some=stalled: kind if flow in some else None)
        assert group.same == f"3 more flows to 10.0.0.1:80: {said} (streams 1, 2, 3); together 300 B."


def test_a_request_that_nobody_acknowledged_is_no_end_of_a_connection():
    flow = opened("""
    +.001 > P. 1:328(327) ack 1 win 502
    +.300 > P. 1:328(327) ack 1 win 502
    +.600 > P. 1:328(327) ack 1 win 502
    +1.20 > P. 1:328(327) ack 1 win 502
    +2.40 > P. 1:328(327) ack 1 win 502
    +4.80 > R. 328:328(0) ack 1 win 0
    """).flow(0)
    assert natures.nature(flow) is natures.OUTAGE


@pytest.mark.parametrize("again", [0, 2])
def test_a_server_that_asks_again_for_a_confirmed_handshake_got_the_syn_alone(again):
    """It sends its SYN-ACK again until a packet of its client arrives (RFC 9293 section 3.10.7.4)."""
    answers = "".join(
        f"+{2**n} < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>\n+0 > . 1:1(0) ack 1 win 502\n"
        for n in range(again)
    )
    capture = opened(f"{answers}{NEVER_ANSWERED}")
    flow = capture.flow(0)
    assert natures.nature(flow) is natures.OUTAGE
    assert ("sent its SYN-ACK again, 2 times" in flow.verdict) == bool(again)
    assert ("what drops the packets after a SYN" in flow.remedy.words) == bool(again)
    (line,) = connections.sentences(capture)
    assert ("sent its SYN-ACK again though the client had confirmed it" in line) == bool(again)


@pytest.mark.parametrize(("reported", "back"), [(" <sack 1001:1024>", True), ("", False)])
def test_data_that_arrived_twice_in_an_outage_tell_the_way_that_lost(reported, back):
    """A D-SACK reports a second copy (RFC 2883): the first had arrived, and no answer to it came back."""
    flow = opened(f"""
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
    +.500 > P. 1001:1024(23) ack 1 win 502
    +.300 > P. 1001:1024(23) ack 1 win 502
    +.600 > P. 1001:1024(23) ack 1 win 502
    +2.4  > P. 1001:1024(23) ack 1 win 502
    +.020 < .  1:1(0) ack 1024 win 500{reported}
    """).flow(0)
    assert natures.nature(flow) is natures.OUTAGE
    assert ("answers were lost on the way back" in flow.verdict) == back
    assert (flow.remedy.where == "the path from 198.51.100.2 to 192.0.2.1") == back


def test_an_outage_on_one_machine_has_no_path():
    packets = scenario(
        f"""{HANDSHAKE}
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < .  1:1(0) ack 101 win 500
    +.001 > P. 101:201(100) ack 1 win 502
    +.600 > P. 101:201(100) ack 1 win 502
    +1.20 > P. 101:201(100) ack 1 win 502
    +2.40 > P. 101:201(100) ack 1 win 502
    +.020 < .  1:1(0) ack 201 win 500
    """,
        client=Address("127.0.0.1", 40000),
        server=Address("127.0.0.1", 80),
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    assert natures.nature(flow) is natures.OUTAGE
    assert flow.remedy.words.startswith("No path lies between the ends")


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("opened", "what drops this connection and not others"),
        ("acknowledged", "what drops this connection and not others"),
        ("", "was gone"),
    ],
)
def test_an_outage_of_one_connection_alone_is_not_that_of_the_path(beside, said):
    lost = scenario(f"{HANDSHAKE}{NEVER_ANSWERED}")
    # The other connection is opened and ends within that time, or its data are acknowledged then.
    others = {
        "opened": f"1{HANDSHAKE.strip().removeprefix('0')}\n+0 > R. 1:1(0) ack 1 win 0",
        "acknowledged": f"""{HANDSHAKE}
    2 > P. 1:101(100) ack 1 win 502
    +.020 < . 1:1(0) ack 101 win 500
    +.5 > P. 101:201(100) ack 1 win 502
    +.020 < . 1:1(0) ack 201 win 500
    +9 > P. 201:301(100) ack 1 win 502
    +.020 < . 1:1(0) ack 301 win 500
    """,
    }
    other = scenario(others[beside], client=Address("192.0.2.1", 40001)) if beside else []
    packets = sorted([*lost, *other], key=lambda packet: packet.time_ns)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    assert natures.nature(flow) is natures.OUTAGE
    assert said in flow.remedy.words


def test_a_silence_that_ends_while_other_connections_go_on_is_loss_and_no_forgotten_connection():
    lost = scenario(f"""{HANDSHAKE}
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 500
    +.5   > P. 1001:2001(1000) ack 1 win 502
    +1    > P. 1001:2001(1000) ack 1 win 502
    +2    > P. 1001:2001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 2001 win 500
    """)
    other = "".join(
        f"+.2 > P. {at}:{at + 100}(100) ack 1 win 502\n+.02 < . 1:1(0) ack {at + 100} win 500\n"
        for at in range(1, 2001, 100)
    )
    packets = lost + scenario(HANDSHAKE + other, client=Address(CLIENT.host, 40001))
    packets.sort(key=lambda packet: packet.time_ns)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0)
    assert natures.nature(flow) is natures.LOSSES
    assert "198.51.100.2 acknowledged data of other connections meanwhile." in screen.sentences(flow)[-1]
    assert flow.remedy.words.startswith("Find where packets are lost")


@pytest.mark.parametrize(("lasting", "forgotten"), [(True, True), (False, False)])
def test_only_a_lasting_silence_may_be_a_connection_that_was_forgotten(lasting, forgotten, monkeypatch):
    monkeypatch.setattr(outage, "_sent_others", lambda _flow, _quiet: True)
    words = outage._of_silence(SimpleNamespace(), SimpleNamespace(to_end=lasting))
    assert ("forgot it" in words) == forgotten


@pytest.mark.parametrize(("rounds", "named"), [(9, False), (10, True)])
def test_no_limit_is_named_for_few_round_trips_besides_a_stall(rounds, named, monkeypatch):
    monkeypatch.setattr(outage, "_in_stall", lambda flow: flow.rtts.iloc[:1])
    rtts = pd.DataFrame({"limit": ["sndbuf"] * (rounds + 1)})
    said = outage._rest(SimpleNamespace(summary={"limit": "sndbuf"}, rtts=rtts))
    assert ("send buffer" in said) == named


@pytest.mark.parametrize(
    ("heard", "said"), [(True, "its answers took another way"), (False, "see whether it hung")]
)
def test_a_silent_host_that_sends_other_packets_is_not_hung(heard, said):
    # Captured next to the client, which acknowledges the first data at once, and nothing of what comes five times.
    lost = scenario(
        """
    0      > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.020  < S. 0:0(0) ack 1 win 65535 ttl 50 <mss 1460,sackOK,wscale 2>
    +.0001 > .  1:1(0) ack 1 win 502
    +.001  > P. 1:101(100) ack 1 win 502
    +.020  < P. 1:1001(1000) ack 101 win 500 ttl 50
    +.0001 > .  101:101(0) ack 1001 win 502
    +.020  < P. 1001:2001(1000) ack 101 win 500 ttl 50
    """
        + "\n".join(f"+{2**again} < P. 1001:2001(1000) ack 101 win 500 ttl 50" for again in range(5))
    )
    other = scenario(
        """
    3.000 > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.001 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > R. 1:1(0) ack 1 win 0
    """,
        client=Address(CLIENT.host, 40001),
        server=Address("192.0.2.254", 80),
    )
    packets = sorted([*lost, *(other if heard else [])], key=lambda packet: packet.time_ns)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0, str(SERVER))
    assert natures.nature(flow) is natures.OUTAGE
    assert said in flow.remedy.words
    assert flow.remedy.where == f"the receiver, {CLIENT.host}"


def test_the_end_of_a_connection_does_not_come_first():
    closed = scenario(f"""{HANDSHAKE}
    +.001 < P. 1:101(100) ack 1 win 500
    +.001 > P. 1:14001(14000) ack 101 win 502
    +.020 < F. 101:101(0) ack 14001 win 500
    +.001 > FP. 14001:14032(31) ack 102 win 502
    +1    > FP. 14001:14032(31) ack 102 win 502
    +2    > FP. 14001:14032(31) ack 102 win 502
    """)
    other = scenario(
        f"""{HANDSHAKE}
    +.001 > P. 1:4001(4000) ack 1 win 502
    +.020 < . 1:1(0) ack 4001 win 500
    +2    > P. 4001:8001(4000) ack 1 win 502
    +.020 < . 1:1(0) ack 8001 win 500
    """,
        client=Address("192.0.2.9", 40001),
    )
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted([*closed, *other], key=lambda packet: packet.time_ns))))
    groups = ranking.groups(capture)
    assert natures.nature(groups[0].flow) is natures.FAREWELL
    assert [group.flow.stream for group in screen.entries(groups).detailed] == [1]


def test_an_idle_time_without_a_timeout_is_no_outage():
    # Ten quiet seconds with nothing in flight; later one segment waits 3.02 s for its retransmission.
    quiet = """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 500
    +10   < P. 1:101(100) ack 1001 win 500
    +.001 > P. 1001:2001(1000) ack 101 win 502
    +1    > P. 1001:2001(1000) ack 101 win 502
    +2    > P. 1001:2001(1000) ack 101 win 502
    +.020 < .  101:101(0) ack 2001 win 500
    """
    flow = opened(quiet).flow(0)
    assert "Nothing was acknowledged for 3.02 s" in " ".join(screen.sentences(flow))


def test_an_outage_without_an_acknowledgment_in_the_capture_is_one():
    lost = "+.001 > P. 1:1001(1000) ack 1 win 502\n" + "".join(
        f"+{wait} > P. 1:1001(1000) ack 1 win 502\n" for wait in (1, 2, 4, 8)
    )
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(lost)))).flow(0)
    assert screen.head(flow).startswith("outage (confidence ")
    assert screen.sentences(flow)[-1] == (
        "The capture holds no acknowledgment: 4 retransmissions in 15 s brought none."
    )


# The receiver reads nothing from 20 ms on: each small message leaves so much less room, until the window is shut.
HUNG = """
    +.001 > P. 1:1461(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 1461 win 500
    +.020 > P. 1461:2921(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 2921 win 10
    +.020 > P. 2921:4201(1280) ack 1 win 502
    +.020 < .  1:1(0) ack 4201 win 0
    +.300 > .  4200:4200(0) ack 1 win 502
    +.020 < .  1:1(0) ack 4201 win 0
    +1    > .  4200:4200(0) ack 1 win 502
"""


@pytest.mark.parametrize(
    ("end", "until"),
    [
        pytest.param("+.5 < R. 1:1(0) ack 4201 win 500", "until it reset the connection", id="reset"),
        pytest.param("+.02 < . 1:1(0) ack 4201 win 0", "until the end", id="still closed"),
        pytest.param("+.02 < . 1:1(0) ack 4201 win 500", "", id="open again"),
        pytest.param(
            "+.02 < . 1:1(0) ack 4201 win 0\n+.1 < . 1:1(0) ack 4201 win 500", "", id="open at last"
        ),
    ],
)
def test_a_window_that_closes_and_never_opens_is_a_receiver_that_stopped_reading(end, until):
    capture = opened(f"{HUNG}\n{end}\n")
    said = " ".join(report.text(capture).split())
    assert ("never opened again" in said) == bool(until)
    assert until in said
    # The reset has a window, but data were left unread: that end was not done.
    reset = "reset by 198.51.100.2 with its window closed"
    assert (reset in said) == (until.endswith("connection"))
    if until:
        assert capture.flow(0).remedy.where == "the receiver, 198.51.100.2"
        assert "had a receiver that stopped reading" in headline.summary(capture, ranking.groups(capture))


def test_a_direction_whose_peer_sends_has_no_open_and_idle_connection():
    # The client asks at 0 s, and once more at 9 s; meanwhile the server sends every 100 ms.
    stream = "\n".join(
        f"+.090 < P. {1 + 100 * i}:{101 + 100 * i}(100) ack 101 win 500\n+.010 > . 101:101(0) ack {101 + 100 * i} win 502"
        for i in range(90)
    )
    ask = "+.001 > P. 1:101(100) ack 1 win 502\n+.020 < . 1:1(0) ack 101 win 500\n"
    again = "\n+.001 > P. 101:201(100) ack 9001 win 502\n+.020 < . 9001:9001(0) ack 201 win 500"
    flow = opened(ask + stream + again).flow(0, str(CLIENT))
    assert "it had nothing to send" in moved.speed(flow)


FULL, PIECE = "1001:2461(1460)", "1001:1537(536)"


def resent(*sizes, hole=FULL, small=563):
    """A full segment and a small one, of which the small one arrives; the full one's bytes come again as `sizes` say."""
    start, end = 1001, int(hole.split(":")[1].split("(")[0])
    timers = "".join(f"+{2**tries} > . {size} ack 1 win 502\n" for tries, size in enumerate(sizes))
    reached = int(sizes[-1].split(":")[1].split("(")[0])
    return f"""
    +.001 > P. 1:{start}(1000) ack 1 win 502
    +.090 < .  1:1(0) ack {start} win 500
    +.001 > .  {hole} ack 1 win 502
    +0    > P. {end}:{end + small}({small}) ack 1 win 502
    +.090 < .  1:1(0) ack {start} win 500 <sack {end}:{end + small}>
    {timers}
    +.090 < .  1:1(0) ack {reached} win 500 <sack {end}:{end + small}>
    +.001 > .  {reached}:{end}({end - reached}) ack 1 win 502
    +.090 < .  1:1(0) ack {end + small} win 500
    """


@pytest.mark.parametrize(
    ("sizes", "black_hole"),
    [
        ((FULL, FULL, PIECE), True),
        ((FULL, FULL, "1001:2000(999)"), True),
        # Pieces after one timer, which may be a single loss; halves may be the packets that one captured packet holds.
        ((PIECE,), False),
        ((FULL, FULL, "1001:1731(730)"), False),
    ],
)
def test_a_segment_that_only_passes_in_pieces_shows_a_path_mtu_black_hole(sizes, black_hole):
    # RFC 2923 section 2.1: a sender that hears of no MTU waits for its timers, again and again.
    flow = opened(resent(*sizes)).flow(0)
    assert (natures.nature(flow) is natures.BLACK_HOLE) == black_hole
    assert ("MSS clamping" in flow.remedy.words) == black_hole
    if black_hole:
        said = " ".join(screen.sentences(flow))
        assert "A segment of 1,460 bytes was not acknowledged for " in said
        assert f"in pieces of {sizes[-1].split('(')[1][:-1]} bytes" in said
        assert flow.remedy.where == "the path from 192.0.2.1 to 198.51.100.2"


@pytest.mark.parametrize("piece", [536, 730])
def test_a_black_hole_shows_behind_it_by_the_hole_that_is_filled_in_pieces(piece):
    flow = away(f"""
    +.020 < P. 2461:3024(563) ack 1 win 502
    +.001 > .  1:1(0) ack 1001 win 500 ttl 62 <sack 2461:3024>
    +21   < .  1001:{1001 + piece}({piece}) ack 1 win 502
    +.001 > .  1:1(0) ack {1001 + piece} win 500 ttl 62 <sack 2461:3024>
    +.100 < .  {1001 + piece}:2461({1460 - piece}) ack 1 win 502
    +.001 > .  1:1(0) ack 3024 win 500 ttl 62
    """)
    assert (natures.nature(flow) is natures.BLACK_HOLE) == (piece == 536)


def test_no_exchange_is_held_by_itself(monkeypatch):
    # Its programs took the time: no wait for an acknowledgment explains it.
    flow = opened(LOST_TWICE).flow(0)
    monkeypatch.setattr(headline, "nature", lambda _: natures.REQUESTS)
    assert headline._hold(flow, 9e9) == ""


@pytest.mark.parametrize("closes", [True, False])
def test_a_far_end_that_closes_is_there(closes):
    # The client's request is sent again and again; the server closes after ten seconds without one.
    asked = "> P. 1:518(517) ack 1 win 502"
    again = "".join(f"\n+{wait} {asked}" for wait in (0.3, 0.6, 1.2, 2.4))
    end = "\n+5.5 < F. 1:1(0) ack 1 win 500" if closes else ""
    capture = analysed(f"{HANDSHAKE}+.1 {asked}{again}{end}\n+4.8 {asked}")
    said = headline._hold(capture.flow(0), 9e9)
    assert ("so see what drops those to it" in said) == closes
    assert "the path or its far end was gone" not in said


@pytest.mark.parametrize(("to_end", "words"), [(True, "was gone"), (False, "came back meanwhile")])
def test_what_came_back_later_was_not_gone(to_end, words):
    quiet = SimpleNamespace(to_end=to_end)
    assert words in outage._gone(quiet)


def test_a_handshake_and_a_round_trip_are_no_silence_of_an_outage():
    # The server's first segments were too big for the path, and came again in pieces at once.
    late = """
    0     > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.267 < S. 0:0(0) ack 1 win 65535 <mss 1440,sackOK,wscale 2>
    +0    > .  1:1(0) ack 1 win 502
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.334 < .  1:1(0) ack 1001 win 512
    +0    < P. 5713:6211(498) ack 1001 win 512
    +0    > .  1001:1001(0) ack 1 win 502 <sack 5713:6211>
    +.001 < .  1:1409(1408) ack 1001 win 512
    +0    < .  1409:2817(1408) ack 1001 win 512
    +0    < .  2817:4225(1408) ack 1001 win 512
    +0    < .  4225:5713(1488) ack 1001 win 512
    +0    > .  1001:1001(0) ack 6211 win 502
    +.02  > P. 1001:1301(300) ack 6211 win 502
    +.267 < P. 6211:6511(300) ack 1301 win 512
    +0    > .  1301:1301(0) ack 6511 win 502
    """
    flow = analysed(late).flow(0, str(SERVER))
    assert "outage" not in set(flow.rtts["detail"])
