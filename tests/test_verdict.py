"""The verdict in words: its reason, what to do, which flows have one, and what a part that fails leaves standing."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
import zstandard
from oracles import SAMPLES
from packets import Address, pcap, read_pcap
from scenario import CLIENT, SERVER, scenario
from small_transfer import MSS, ROUNDS, RTT, SEGMENTS, write_many, write_pcap

import bdpcap
from bdpcap import plots, report
from bdpcap.diagnosis import LIMIT_NAMES, Weight, decide, kinds, phases
from bdpcap.diagnosis.kinds import app, rwnd
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain import trust
from bdpcap.explain.findings import Code, Finding, Findings
from bdpcap.limits import LIMITS
from bdpcap.limits.rules import RULES, kernel
from bdpcap.report import headline, page, ranking, verdict
from bdpcap.report.text import LINES, command_lines, wrap
from bdpcap.words import units

SHORT = """
    0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>
    +0    > .  1:1(0) ack 1 win 502
    +.1   > P. 1:121(120) ack 1 win 502
    +.020 < .  1:1(0) ack 121 win 502
    +1.5  < P. 1:157(156) ack 121 win 502
    +0    > .  121:121(0) ack 157 win 502
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    return bdpcap.analyze(write_pcap(tmp_path_factory.mktemp("captures") / "transfer.pcap"))


@pytest.fixture(scope="module")
def flow(capture):
    return capture.flow(0)


def short_flows(path, connections, text=SHORT):
    """Write connections of a question and an answer each; both directions carry payload."""
    packets = [
        replace(packet, time_ns=packet.time_ns + number * 50_000_000)
        for number in range(connections)
        for packet in scenario(text, client=replace(CLIENT, port=40_000 + number))
    ]
    path.write_bytes(pcap(sorted(packets, key=lambda packet: packet.time_ns)))
    return bdpcap.analyze(path)


def sample(name):
    (path,) = (path for path in SAMPLES if path.name.startswith(name))
    return bdpcap.analyze(path)


# the reason


def test_the_reason_is_the_flows_own_arithmetic(flow):
    # A window of eight segments a round trip, acknowledged together: nothing else could be the reason.
    window = SEGMENTS * MSS
    trip = flow.summary["rtt_min_ns"]
    assert trip == pytest.approx(RTT * 1e9, rel=0.01)
    allowed = units.rate(window * 8e9 / trip)
    assert (
        f": {window:,} bytes per round trip of {units.duration(trip)} allow {allowed} at most."
        in verdict.sentence(flow)
    )
    assert str(remedy(flow)).startswith("On the receiver, 10.0.0.2: ")


@pytest.mark.parametrize(
    ("name", "starts", "where"),
    [
        ("cwnd_loss_2pct.sender", "Packet loss held the sender back for ", "the path from "),
        ("rwnd_slow_reader.sender", "The receiving program read too slowly for ", "the receiver, "),
        ("sndbuf_24k_15ms.sender", "The send buffer held the sender back for ", "the sender, "),
        ("link_5_100ms_bloat.sender", "The link was full for ", "the path from "),
        ("app_small_writes.sender", "The sending program wrote small pieces for ", "the sender, "),
    ],
)
def test_a_sample_says_what_held_it_and_where_to_act(name, starts, where):
    # Each sample was made to be limited so, as its README says.
    (flow,) = ranking.that_matter(sample(name))
    said = verdict.sentence(flow)
    assert said.startswith(starts)
    assert ": " in said
    assert remedy(flow).where.startswith(where)


ADDRESSES = slice(26, 34)
"""Both addresses in an Ethernet frame with IPv4."""
SENDER, READER, NEXT, ELSEWHERE = (bytes((192, 168, 1, last)) for last in (3, 34, 99, 98))


def elsewhere(packets, ends, later_s=0.001, left_out=0):
    """The same packets between other hosts, later; some at the end are left out."""
    hosts = dict(zip((SENDER, READER), ends, strict=True))
    return [
        replace(
            packet,
            time_ns=packet.time_ns + round(later_s * 1e9),
            data=packet.data[: ADDRESSES.start]
            + hosts[packet.data[26:30]]
            + hosts[packet.data[30:34]]
            + packet.data[ADDRESSES.stop :],
        )
        for packet in packets[: len(packets) - left_out]
    ]


@pytest.mark.parametrize(
    ("others", "passed_on"),
    [
        ([((READER, NEXT), 0.001, 0)], True),
        # Another host sends as much.
        ([((ELSEWHERE, NEXT), 0.001, 0)], False),
        # The data go back.
        ([((READER, SENDER), 0.001, 0)], False),
        ([((READER, NEXT), 30, 0)], False),
        ([((READER, NEXT), 0.001, 300)], False),
        # Which of two has the data is not known.
        ([((READER, NEXT), 0.001, 0), ((READER, ELSEWHERE), 0.001, 0)], False),
    ],
)
def test_a_reader_that_passes_the_data_on_is_held_by_the_next_flow(others, passed_on):
    (path,) = (path for path in SAMPLES if path.name.startswith("rwnd_slow_reader.sender"))
    packets = list(read_pcap(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()))
    every = packets + [one for ends, *how in others for one in elsewhere(packets, ends, *how)]
    made = bdpcap.analyze(io.BytesIO(pcap(sorted(every, key=lambda packet: packet.time_ns))))
    flow = made.flow(0)
    assert ("It passes the data on to 192.168.1.99 in stream 1." in verdict.sentence(flow)) == passed_on
    where = (
        "stream 1, on which 192.168.1.34 passes the data on" if passed_on else "the receiver, 192.168.1.34"
    )
    assert remedy(flow).where == where


def test_the_packets_said_to_be_retransmitted_are_those_of_the_rounds():
    flow = sample("cwnd_loss_2pct.sender").flow(0)
    again, events = flow.rtts["retransmits"].sum(), flow.events
    sent = events.groupby(events["kind"])["length"].sum()
    share = f"{sent['retransmission'] / sent.sum():.1%} of the bytes sent were retransmissions"
    assert f": {share} ({again} of {flow.summary['packets']:,} packets)" in verdict.sentence(flow).replace(
        " %", "%"
    )


def test_the_frames_of_packet_loss_are_those_of_a_recovery():
    flow = sample("cwnd_loss_2pct.sender").flow(0)
    first, last = map(int, re.findall(r"[<>]= (\d+)", verdict.best_span(flow).display_filter))
    events = flow.events.set_index("frame")
    shown = events.loc[first:last]
    again = shown.loc[shown["kind"] == "retransmission", "sequence"]
    # What these frames retransmit first was sent in them, and is acknowledged in them.
    assert (shown["sequence"] == again.iloc[0]).sum() > 1
    assert shown["acknowledged"].max() > again.iloc[0]


def closing(*, at_receiver):
    """Flights of ten segments over 20 ms, each acknowledged at once; after the fourth, the window is shut for 1 s."""
    way, back = (0.02, 0.0001) if at_receiver else (0.0001, 0.02)
    lines = [
        "0 > S 0:0(0) win 64240 <mss 1000>",
        f"+{back} < S. 0:0(0) ack 1 win 10000 <mss 1000>",
        f"+{way} > . 1:1(0) ack 1 win 502",
    ]
    sent = 1
    for flight in range(1, 9):
        for number in range(10):
            lines.append(f"+{0.0001 if number else way} > . {sent}:{sent + MSS}({MSS}) ack 1 win 502")
            sent += MSS
        lines.append(f"+{back} < . 1:1(0) ack {sent} win {0 if flight == 4 else 10000}")
        if flight == 4:
            lines.append(f"+1 < . 1:1(0) ack {sent} win 10000")
    return "\n".join(lines)


@pytest.mark.parametrize("at_receiver", [False, True])
def test_the_frames_of_a_closed_window_have_the_acknowledgment_that_closed_it(at_receiver):
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(closing(at_receiver=at_receiver))))).flow(0)
    assert flow.summary["vantage"] == ("receiver" if at_receiver else "sender")
    span = verdict.best_span(flow)
    assert span.stripe.detail == "zero window"
    first, last = map(int, re.findall(r"[<>]= (\d+)", span.display_filter))
    seen = flow.events.set_index("frame").loc[first:last, "kind"].tolist()
    assert seen.index("zero window") < seen.index("window update")


@pytest.mark.parametrize(
    ("rounds", "named"),
    [
        # Each letter is a round trip: repair of a loss, growth back to the former window, then growth of any other kind.
        ("oorrggggoooooooooooo", "brief losses"),
        ("oorrggggggggoooooooo", "recovery"),  # the regrowth of one loss is half of the time
        ("oorrggoooooooorrgooo", "recovery"),  # the second loss ended the growth after the first
    ],
)
def test_a_loss_explains_the_time_until_its_window_is_regained(rounds, named):
    rules = {"r": "cwnd-recovery", "g": "cwnd-regrowth", "o": "cwnd-clocked"}
    rtts = pd.DataFrame({"rule": [rules[one] for one in rounds], "detail": "avoidance", "limit": "cwnd"})
    rtts["retransmits"] = [int(one == "r") for one in rounds]
    rtts["start_ns"] = rtts.index * 1000
    rtts["end_ns"] = rtts["start_ns"] + 1000
    lost = {"retransmitted_bytes": 1, "retransmits": 1, "spurious_retransmits": 0, "timeouts": 0}
    flow = SimpleNamespace(rtts=rtts, summary=lost)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases.path_mtu, "most_resent", lambda _: False)
        assert phases.phase_of(flow, rtts) == named


def test_every_limit_has_a_cause_and_every_habit_is_a_rule():
    assert [code for code, one in kinds.ALL.items() if one.usual is not None] == list(LIMITS)
    known = set(kinds.declared())
    # These causes divide a detail by what acknowledgments, ICMP messages, losses, marks, exchanges, pauses, hosts, other
    # flows and rates show.
    divided = {
        ("cwnd", "ignored"),
        ("cwnd", "too big"),
        ("cwnd", "brief losses"),
        ("cwnd", "marks"),
        ("cwnd", "needless"),
        ("app", "events"),
        ("app", "peer's data"),
        ("app", "peer's time"),
        ("app", "round trips"),
        ("app", "relayed"),
        ("app", "proxy"),
        ("app", "tunnel"),
        ("app", "timer"),
        ("rwnd", "passed on"),
        ("rwnd", "stopped reader"),
        ("rwnd", "yielding"),
        ("link", "varying"),
    }
    assert {(code, detail) for code, one in kinds.ALL.items() for detail in one.causes} == known | divided
    assert set(app.HABITS) <= {rule.id for rule in (*RULES, *kernel.RULES)}


def test_a_detail_without_a_cause_is_found():
    assert kinds.gaps(kinds.ALL, kinds.declared()) == []
    assert kinds.gaps(kinds.ALL, [("rwnd", "new")]) == ["rwnd: no cause for the detail 'new'"]
    assert kinds.gaps({}, []) == [f"{state}: no such limit" for state in kinds.ALL]


@pytest.mark.parametrize(
    ("details", "named"),
    [("rrrrbb", "buffer"), ("rrrrb", "ramp"), ("bbrrrr", "ramp"), ("rr", "ramp"), ("rrrbbz", "ramp")],
)
def test_a_window_that_grew_to_its_ceiling_is_no_longer_growing(details, named, monkeypatch):
    monkeypatch.setattr(rwnd, "_yields", lambda _: False)
    # Each letter is a round trip. A window that still grows does not stand for two of them.
    words = {"r": "ramp", "b": "buffer", "z": "zero window"}
    rounds = pd.DataFrame({"detail": [words[one] for one in details], "rule": "rwnd-full"})
    rounds["start_ns"] = rounds.index * RTT
    rounds["end_ns"] = rounds["start_ns"] + RTT
    assert rwnd.LIMIT.cause(None, rounds) is rwnd.LIMIT.causes[named]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_verdict_has_short_sentences(path):
    for flow in ranking.that_matter(bdpcap.analyze(path)):
        for sentence in verdict.sentence(flow).split(". "):
            assert len(sentence.split()) <= 35  # a headline, how long, and the reason


# numbers that do not contradict each other


def changed(flow, **values):
    return flow.summary.copy().replace({}).pipe(lambda summary: pd.Series({**summary.to_dict(), **values}))


def test_no_path_is_slower_than_the_flow(flow):
    half = flow.summary["throughput_bps"] / 2
    twice = 4 * half
    fast = changed(flow, in_flight_max_bytes=20 * MSS, capacity_bps=twice, capacity_low_bps=twice)
    slow = changed(flow, in_flight_max_bytes=20 * MSS, capacity_bps=half, capacity_low_bps=half)
    assert verdict.path(fast) is not None
    assert verdict.path(flow.summary) is None  # eight segments at a time show no path
    assert verdict.path(slow) is None
    assert not any("path carries" in line for line in verdict.arithmetic(slow))


def test_no_window_allows_less_than_was_reached(flow):
    for window, said in ((10**6, True), (10, False)):
        sums = verdict.arithmetic(changed(flow, limit="cwnd", window_max_bytes=window))
        assert any("A window of" in line for line in sums) == said


def test_more_in_flight_than_the_window_is_not_said(flow):
    assert not any(
        "flight at" in line for line in verdict.arithmetic(changed(flow, in_flight_max_bytes=86_880))
    )
    (said,) = (line for line in verdict.arithmetic(flow.summary) if "flight at" in line)
    assert said == "In flight at most: 8,000 bytes."


def test_what_is_zero_for_want_of_a_clock_is_not_said(flow):
    blind = changed(flow, rtt_min_ns=None, rtt_median_ns=None, bdp_bytes=0, in_flight_max_bytes=0)
    assert verdict.arithmetic(blind) == []
    assert "RTT" not in verdict.numbers(blind)
    assert " at " not in verdict.numbers(changed(flow, throughput_bps=1.0))


def test_a_rate_says_which_bytes_it_counts(flow):
    assert "acknowledged" not in verdict.numbers(flow.summary)
    less = changed(flow, throughput_bps=0.8 * flow.summary["throughput_bps"])
    acked = units.data_size(0.8 * flow.summary["payload_bytes"])
    assert f", {acked} of it acknowledged, at " in verdict.numbers(less)


# which flows have a place


def test_equal_verdicts_between_the_same_hosts_are_one(tmp_path):
    capture = bdpcap.analyze(write_many(tmp_path / "alike.pcap", 12, rounds=ROUNDS))
    (group,) = ranking.groups(capture)
    assert len(group.others) == 11
    assert group.same.startswith("11 more flows to 10.0.0.2:5001: the same verdict (streams ")
    assert headline.rest(capture, [group]) == ""
    assert group.same in " ".join(report.text(capture).split())


@pytest.mark.parametrize(
    ("changed", "together"),
    [
        ({}, [[0, 1], [2]]),
        ({"ten_segments": True}, [[0, 1, 2]]),  # bulk flows
        ({"limit": "cwnd"}, [[0, 1, 2]]),
    ],
)
def test_a_few_segments_that_nothing_answered_are_not_like_an_answer(changed, together, tmp_path):
    # The last connection is an answer alone. All have the same limit, in the same way.
    alone = "\n".join(line for line in SHORT.replace("121", "1").splitlines() if "(120)" not in line)
    packets = [
        replace(packet, time_ns=packet.time_ns + number * 50_000_000)
        for number, text in enumerate((SHORT, SHORT, alone))
        for packet in scenario(text, client=replace(CLIENT, port=40_000 + number))
    ]
    path = tmp_path / "one_way.pcap"
    path.write_bytes(pcap(sorted(packets, key=lambda packet: packet.time_ns)))
    standing = ranking.standing(bdpcap.analyze(path))
    assert len(standing) == 5
    equal = standing.assign(
        **{"limit": "app", "detail": "idle", "lost_ns": 0, "ten_segments": False, **changed}
    )
    found = [sorted(own["stream"]) for own in ranking.alike(equal) if not own["to_server"].any()]
    assert sorted(found) == together


def test_two_directions_of_a_stream_are_two(tmp_path):
    capture = short_flows(tmp_path / "one.pcap", 1)
    assert [(group.flow.sender, group.to_server) for group in ranking.groups(capture)] == [
        ("198.51.100.2:80", False),
        ("192.0.2.1:40000", True),
    ]


def test_many_flows_without_a_bulk_transfer_are_said_in_one_sentence(tmp_path):
    capture = short_flows(tmp_path / "many.pcap", 105)
    assert len(capture.flows) == 210
    assert ranking.groups(capture) == []
    said = headline.no_bulk(capture)
    carried = units.data_size(105 * (120 + 156))
    assert said.startswith(
        f"No bulk transfer here: 210 flows carried {carried}, and programs, their users or round trips set the pace. "
    )
    # The network held none of them. Each answer takes 1.5 s.
    waited = (
        "105 of 105 connections to 198.51.100.2:80 waited over a second for their only answer, 1.5 s at most"
    )
    assert said.endswith(f" Of them, {waited}: see what it did meanwhile.")
    assert said in " ".join(report.text(capture).split())
    assert said in page.html(capture).replace("\N{NO-BREAK SPACE}", " ")


def test_flows_that_were_all_brief_need_no_mending(tmp_path):
    at_once = re.sub(r"\+1?\.\d+", "+.001", SHORT)
    capture = short_flows(tmp_path / "brief.pcap", 105, at_once)
    assert capture.flows["active_ns"].max() < 1_000_000_000
    said = headline.no_bulk(capture)
    assert said.endswith(" Pauses aside, each took less than a second: nothing to mend in these flows.")


def test_data_sent_again_and_again_without_any_acknowledgment_have_a_place(tmp_path):
    vain = "0 > P. 1:57(56) ack 1 win 502" + "".join(
        f"\n+{wait} > P. 1:57(56) ack 1 win 502" for wait in (0.3, 0.6, 1.2, 2.4)
    )
    capture = short_flows(tmp_path / "vain.pcap", 105, vain)
    where = "see where these packets are lost, or their answers go."
    assert headline.no_bulk(capture).endswith(
        f"retransmissions. 105 flows, sent by {CLIENT.host}, had no acknowledgment in the capture: {where}"
    )


@pytest.mark.parametrize(("own", "told"), [(SERVER.host, False), ("192.0.2.9", True)])
def test_packets_for_a_connection_that_the_captures_own_host_forgot_held_nobody(
    monkeypatch, tmp_path, own, told
):
    vain = "0 > P. 1:57(56) ack 1 win 502" + "".join(
        f"\n+{wait} > P. 1:57(56) ack 1 win 502" for wait in (0.3, 0.6, 1.2, 2.4, 4.8, 9.6, 19.2)
    )
    sound = [
        replace(packet, time_ns=packet.time_ns + number * 50_000_000)
        for number in range(6)
        for packet in scenario(
            SHORT, client=Address(f"192.0.2.{100 + number}", 41_000), server=Address("203.0.113.9", 80)
        )
    ]
    packets = sorted([*scenario(vain), *sound], key=lambda packet: packet.time_ns)
    (tmp_path / "forgot.pcap").write_bytes(pcap(packets))
    monkeypatch.setattr(headline.place, "own", lambda _capture: (own,))
    said = headline.no_bulk(bdpcap.analyze(tmp_path / "forgot.pcap"))
    assert said.startswith("No bulk transfer here: 13 flows carried ")
    assert ("had no acknowledgment in the capture" in said) == told


LATE = """
    0     > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  1:1(0)       ack 1 win 502
    +0    > P. 1:121(120)   ack 1 win 502
    +.250 > P. 1:121(120)   ack 1 win 502
    +1.25 < P. 1:157(156)   ack 121 win 16384
    +.001 > .  121:121(0)   ack 157 win 502
"""
"""A request that is acknowledged after 1.5 s and a retransmission, though a round trip takes 20 ms."""


def test_a_long_wait_for_an_acknowledgment_is_the_paths(tmp_path):
    said = headline.no_bulk(short_flows(tmp_path / "again.pcap", 105, LATE))
    late = "stream 0 waited 1.5 s for an acknowledgment, and sent 1 packet again in all."
    assert said.endswith(f"they waited for retransmissions. Of them, {late}")
    # Of 1.52 s of the client, 1.5 s are such a wait; the server then took 1.49 s for its answer.
    without = LATE.replace("    +.250 > P. 1:121(120)   ack 1 win 502\n", "").replace("+1.25", "+1.5")
    said = headline.no_bulk(short_flows(tmp_path / "once.pcap", 105, without))
    assert said.endswith(
        "50 % of their active time programs, their users or round trips set the pace, and for 50 % they waited for "
        "acknowledgments. Of them, 105 of 105 connections to 198.51.100.2:80 waited over a second for their only answer, "
        "1.48 s at most: see what it did meanwhile."
    )
    assert "waited for acknowledgments" not in headline.no_bulk(short_flows(tmp_path / "quick.pcap", 105))


def test_flows_below_the_floor_have_no_place(tmp_path):
    both = bdpcap.analyze(
        [write_pcap(tmp_path / "large.pcap"), short_flows(tmp_path / "small.pcap", 3).info.files[0]]
    )
    (group,) = ranking.groups(both)
    assert group.flow.summary["payload_bytes"] == SEGMENTS * MSS * ROUNDS
    assert headline.rest(both, [group]).startswith("6 more flows not shown; `bdpcap flows FILE` lists all.")


# findings


def test_findings_are_weighed_in_one_place():
    flow = ranking.groups(bdpcap.analyze(SAMPLES[0]))[0].flow
    weighed = decide.weights(flow)
    assert [finding for finding, _ in weighed] == flow.findings
    assert weighed[0][1] is Weight.ROOT_CAUSE
    assert [own for _, own in weighed].count(Weight.ROOT_CAUSE) == 1
    assert all(finding.remedy for finding, own in weighed if own is not Weight.NOTE)
    assert {Code.SEGMENT_SIZE, Code.DELAY_BEFORE_TAP}.isdisjoint(
        finding.code for finding, own in weighed if own is not Weight.NOTE
    )


# the text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_text_of_one_flow_that_matters_fits_a_ticket(path, ascii_only):
    capture = bdpcap.analyze(path)
    assert len(ranking.groups(capture)) == 1
    said = report.text(capture, ascii_only=ascii_only)
    lines = said.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= 80
    assert said.isascii() == ascii_only
    whole = report.text(capture, full=True, ascii_only=ascii_only)
    assert len(whole) > len(said)
    assert set(trust.caveats(capture)) <= {
        line.removeprefix("- ") for line in joined(whole).split("\n") if line.startswith("- ")
    }
    for shown in (said, whole):
        assert "docs/" not in shown
        assert all(line == line.rstrip() for line in shown.splitlines())


def joined(text):
    """Return a text with the lines of a paragraph made one."""
    lines = []
    for line in text.splitlines():
        if lines and line.startswith("    ") and not line.strip().startswith(("- ", "* ", "$")):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
    return "\n".join(lines)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_commands_stand_whole_on_lines_of_their_own(path):
    capture = bdpcap.analyze(path)
    lines = [line.strip() for line in report.text(capture, full=True).splitlines()]
    for finding in capture.flow(int(ranking.ranked(capture)["stream"].iloc[0])).findings:
        for command in finding.commands:
            typed = [line for line in map(str.strip, command_lines(command)) if not line.startswith("#")]
            # The shell reads on after ||, and takes a line for what stands before a semicolon.
            whole = "; ".join(typed).replace("||; ", "|| ").partition("   # ")[0]
            assert whole == command.partition("   # ")[0]
            assert any(lines[place : place + len(typed)] == typed for place in range(len(lines))), command


def test_a_long_comment_stands_above_its_command():
    command = "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr"
    assert command_lines(f"{command}   # if losses are stray") == [
        "      # if losses are stray",
        f"      {command}",
    ]
    assert command_lines("ss -tmi   # on the receiver") == ["      ss -tmi   # on the receiver"]


def test_no_word_is_broken_unless_it_is_longer_than_a_line():
    long = "x" * 60
    assert wrap(long, f"  {'name':<25}") == ["  name", f"    {long}"]
    assert wrap(f"{'a ' * 38}40.4 ms", "") == [" ".join("a" * 38), "40.4 ms"]


# a part that fails


def fails(*_, **__):
    raise ZeroDivisionError("planted")


SAID = "Left out: {} (ZeroDivisionError: planted). This is a defect of bdpcap; please report it."


def test_a_picture_that_fails_is_left_out_and_said(capture, monkeypatch):
    monkeypatch.setitem(plots.FIGURES, "rtt", fails)
    html = page.html(capture)
    assert SAID.format("the rtt picture of stream 0") in html
    assert html.count('<svg class="still"') == len(plots.FIGURES) - 1
    assert 'data-kind="rtt"' not in html
    assert "What to do" in html


def test_findings_that_fail_are_left_out_and_said(tmp_path, monkeypatch):
    capture = bdpcap.analyze(write_pcap(tmp_path / "transfer.pcap"))
    monkeypatch.setattr(decide, "found", fails)
    html = page.html(capture)
    assert SAID.format("the findings of stream 0") in html
    assert "8,000 bytes" in html
    assert '<svg class="still"' in html
    said = " ".join(report.text(capture).split())
    assert SAID.format("the section WHAT TO DO") in said
    assert "The receive window held the sender back" in said


def test_a_section_that_fails_takes_no_other_along(capture, monkeypatch):
    monkeypatch.setattr(verdict, "arithmetic", fails)
    html = page.html(capture)
    assert SAID.format("the arithmetic of stream 0") in html
    assert "The receive window held the sender back" in html
    assert SAID.format("the section WHY, stream 0") in " ".join(report.text(capture, full=True).split())


def test_what_a_failure_says_is_escaped(capture, monkeypatch):
    def hostile(*_):
        raise ValueError("<script>alert(1)</script>")

    monkeypatch.setitem(plots.FIGURES, "rtt", hostile)
    assert "<script>alert(1)" not in page.html(capture)


def test_findings_of_no_known_code_have_a_weight(capture, monkeypatch):
    told = Finding(
        code=Code.LINK_FULL, sentence="A.", cause="B.", remedy="Do this. Then that.", commands=("ls",)
    )
    monkeypatch.setattr(decide, "found", lambda _: Findings([told]))
    advice = remedy(capture.flow(0))
    assert (advice.words, advice.commands) == ("Do this.", ("ls",))
    assert LIMIT_NAMES["rwnd"] in report.text(capture)
