"""Losses, copies and probes that an entry names though another limit leads."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from first_screens import analyzed, writes_at_leisure
from oracles import ROOT
from packets import Address, pcap
from scenario import SERVER, scenario

import bdpcap
from bdpcap.diagnosis import again
from bdpcap.diagnosis.kinds import cwnd
from bdpcap.diagnosis.natures import HIDDEN, nature
from bdpcap.explain.sent_again import SentAgain
from bdpcap.report import headline, ranking, screen, verdict
from bdpcap.report import notes as notes_
from bdpcap.report.notes import _reordering, _sent_again, notes


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


@pytest.mark.parametrize(("lost_ms", "said"), [(1000, "the flows shown need"), (999, "nothing in TCP needs")])
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
    for rows, words in ((flows, said), (flows.iloc[:1], "nothing in TCP needs")):
        assert words in headline._well(shown, noticed=headline._is_another_noticed(None, rows, shown))


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
    # 45 writes of 1,000 bytes, and 6 of them another time.
    assert said == ([f"{share} of the bytes sent were retransmissions."] if share else [])


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
    assert nature(flow) is HIDDEN
    (said,) = [words for words in screen.sentences(flow) if "a flight was lost before the capture" in words]
    assert "of the bytes sent were retransmissions" in said
    assert not notes(flow)


@pytest.mark.parametrize(("overtaken", "said"), [(1, ""), (2, ""), (3, "3 of 11 packets (27")])
def test_one_overtaken_packet_shows_nothing_of_a_path(overtaken, said):
    # A sender takes fewer than three duplicate acknowledgments for no sign either (RFC 5681 section 3.2).
    flow = SimpleNamespace(summary={"reordered": overtaken, "packets": 11, "spurious_retransmits": 0})
    assert _reordering(flow)[: len(said) or None] == said


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
        (230, 0, "waiting for retransmissions took 230 ms, 46 % of the time, and "),
        (100, 0, ""),  # a fifth
        (230, 1, ""),  # nothing was lost: the data had arrived
        (600, 0, ""),  # more than all the time
    ],
)
def test_the_wait_for_a_timer_is_named_first_where_it_took_much_of_the_time(waited_ms, spurious, said):
    summary = {
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


@pytest.mark.parametrize(
    ("near", "place"),
    [
        ("", "the path between 192.0.2.1 and 198.51.100.2"),
        ("the path near 192.0.2.1", "the path near 192.0.2.1"),
    ],
)
def test_losses_of_requests_have_the_place_of_those_of_other_hosts(near, place, monkeypatch):
    monkeypatch.setattr(
        again, "_to_an_open_end", lambda _: SentAgain(share=0.2, arrived=False, overtaken=False)
    )
    monkeypatch.setattr(again, "_flows", lambda flow: [flow])
    monkeypatch.setattr(again, "_refused", lambda _: None)
    monkeypatch.setattr(again, "_is_rare", lambda _: False)
    monkeypatch.setattr(again.shared_losses, "place", lambda _: near)
    flow = SimpleNamespace(sender="198.51.100.2:80", receiver="192.0.2.1:40000", is_from_client=False)
    assert again.advice(flow) == (place, "Find where packets are lost or delayed.")


@pytest.mark.parametrize(
    ("again", "said"), [(0, "nothing in TCP needs mending"), (4, "nothing else in TCP needs mending")]
)
def test_packets_that_come_twice_are_something_to_mend(monkeypatch, again, said):
    """What to do about them stands above the verdict."""
    client, other = (f"+.02 {way} P. 1:101(100) ack 1 win 502\n" for way in "><")
    capture = analyzed(f"{client}{other.replace('ack 1', 'ack 101')}+.02 > . 101:101(0) ack 101 win 502")
    monkeypatch.setattr(capture._contents, "info", replace(capture.info, delivered_twice=again))
    assert said in headline.summary(capture, ranking.groups(capture))


@pytest.mark.parametrize("retransmits", [0, 1])
def test_a_long_wait_without_a_retransmission_lacks_its_acknowledgment(retransmits, monkeypatch):
    """A timer of a second runs out in five (RFC 6298 section 2.4)."""
    monkeypatch.setattr(notes_, "nature", lambda _flow: None)
    monkeypatch.setattr(notes_.farewell, "is_end", lambda _flow: False)
    summary = {"longest_stall_ns": 5 * 10**9, "active_ns": 6 * 10**9, "rtt_min_ns": 20 * 10**6}
    flow = SimpleNamespace(
        summary=summary | {"retransmits": retransmits},
        _counts={"acknowledgments_missing": 0, "sender_side_ns": 0},
    )
    assert bool(notes_._stall(flow)) == bool(retransmits)
