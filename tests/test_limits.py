"""Verdicts about transfers whose cause is known: dialogues, the committed samples, and those of the lab."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict

import numpy as np
import pytest
from dialogues import (
    MSS,
    analysed,
    bursts,
    congestion_window,
    nagle,
    paced,
    probed,
    requests,
    rounds_of,
    send_buffer,
    sent_by,
    slow_reader,
    timer,
    writes,
)
from oracles import ROOT, SHARED
from packets import pcap
from scenario import HANDSHAKE, START_NS, scenario

import bdpcap
from bdpcap.limits import to_tables
from bdpcap.limits.decision import LIMITS, NO_RULE, STATES
from bdpcap.limits.rules import RULES

SAMPLES = sorted((ROOT / "sample_captures").glob("*.zst"))
LAB = SHARED / "captures/lab"

# Agreement with the sending kernel's labels, time-weighted, transfers equal. The figures are floors a few points below
# what the rules reach, so that a change that breaks a rule fails and one that shifts a boundary by a round does not.
FLOORS = {"sender": 0.93, "middle": 0.85, "receiver": 0.85}


def settled(dialogue):
    """Limits of the rounds but for the first and last five."""
    return set(rounds_of(dialogue).iloc[5:-5]["limit"])


# The application


def test_a_message_of_two_flights_waits_for_congestion_control_and_the_peer_in_turn():
    """Each message begins a round: its first flight fills the congestion window; then nothing is left to send."""
    rounds = rounds_of(requests(8))
    starts = ((rounds["start_ns"] - START_NS) / 1e6).round(1).tolist()
    limits = dict(zip(starts, rounds["limit"], strict=True))
    messages = [round(100 + 50.1 * number, 1) for number in range(2, 8)]
    assert {begin: limits.get(begin) for begin in messages} == dict.fromkeys(messages, "cwnd")
    # Nothing is asked of the sender after the last one.
    waits = [
        limit for start, limit in limits.items() if any(15 < start - begin < 45 for begin in messages[:-1])
    ]
    assert set(waits) == {"app"}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([1100], "small writes", id="three quarters of a segment"),
        pytest.param([1460, 1460, 100], "idle", id="two segments and a rest, which makes their mean smaller"),
    ],
)
def test_writes_are_small_where_half_of_the_segments_are_short(sizes, expected):
    rounds = rounds_of(writes(sizes)).iloc[5:-5]
    assert set(zip(rounds["limit"], rounds["detail"], strict=True)) == {("app", expected)}


@pytest.mark.parametrize(("length", "expected"), [(1448, "cwnd"), (1400, "app")])
def test_no_application_sends_nothing_but_whole_segments(length, expected):
    assert settled(paced(length)) == {expected}


@pytest.mark.parametrize("size", [3000, 10_000, 20_300])
@pytest.mark.parametrize("period_ms", [5, 8, 13, 17, 29])
def test_what_a_timer_writes_is_the_applications(period_ms, size):
    """Blocks that end in a short segment, out of step with a path of 20 ms that is mostly idle."""
    assert settled(sent_by(timer(period_ms / 1000, size))) == {"app"}


@pytest.mark.parametrize("period_ms", [7, 10.3])
@pytest.mark.parametrize("size", [3000, 10_000])
def test_what_a_timer_writes_in_step_with_the_acknowledgments_is_not_congestion_controls(period_ms, size):
    """The same, each block within a millisecond after an acknowledgment: whose data ran out each time waited for none.

    Nor does a window that holds a sender before any loss stand still: each round trip it would double.
    """
    assert "cwnd" not in settled(sent_by(timer(period_ms / 1000, size)))


@pytest.mark.parametrize(("period_ms", "size"), [(10, 3000), (7, 5000), (10, 10_000)])
@pytest.mark.parametrize("at_receiver", [False, True], ids=["sender", "receiver"])
def test_a_timer_with_nagle_is_the_applications_though_acknowledgments_release_its_rests(
    period_ms, size, at_receiver
):
    """Whole segments, a constant flight, and bursts that follow acknowledgments; yet each round trip holds a rest."""
    dialogue = sent_by(nagle(period_ms / 1000, size), rtt=0.0403, at_receiver=at_receiver)
    assert settled(dialogue) == {"app"}


# The flow


@pytest.mark.parametrize(
    ("shares", "sure", "leads"),
    [
        ([1.0, 0.0], 0.95, 0.95),
        ([0.6, 0.4], 0.95, 0.95),
        ([0.35, 0.34], 0.95, 0.63),  # 1.75 % may be wrong, and 0.5 % decide
        ([0.5, 0.5], 1.0, 0.5),
        ([0.5, 0.5], 0.3, 0.3),
    ],
)
def test_a_limit_that_hardly_leads_is_no_sure_verdict(shares, sure, leads):
    found = to_tables._leading(np.array(shares)[:, None], np.array([sure]))
    assert found[0] == pytest.approx(leads, abs=0.01)


# The send buffer


@pytest.mark.parametrize("wake_ms", [0.05, 0.3, 1])
@pytest.mark.parametrize("size", [14_000, 24_000, 40_000])
def test_a_send_buffer_is_one_however_slowly_its_host_wakes_the_writer(size, wake_ms):
    # 40 Mbit/s: a third of the buffer takes as long as three acknowledgments and more.
    dialogue = sent_by(send_buffer(size, wake_ms / 1000, count=1500), rtt=0.03, spacing=0.0003)
    assert settled(dialogue) == {"sndbuf"}


def test_a_send_buffer_filled_once_per_round_trip_is_certain_at_the_sender_only():
    # Only at the sender is it visible that acknowledgments start the bursts: a timer's would drift away from them.
    def standing(view):
        rounds = bdpcap.analyze(ROOT / f"tests/data/labelled/tune/sndbuf_blocking/{view}.pcap.zst").rtts
        return rounds[rounds["rule"] == "sndbuf-standing"]

    assert standing("sender")["alternative"].isna().all()
    assert standing("sender")["confidence"].median() > 0.9
    assert set(standing("receiver")["alternative"]) == {"app"}
    assert standing("receiver")["confidence"].max() <= 0.6


@pytest.mark.usefixtures("need_shared")
def test_a_flight_of_exactly_one_mebibyte_is_a_send_buffers_not_a_congestion_windows():
    """XNU counts the bytes in a send buffer, so that it fills to the byte; 1,048,576 bytes are no whole segments."""
    (path,) = (SHARED / "captures/public").rglob("trace_tcp_medium_snap80.pcap")
    flow = bdpcap.analyze(path).top()[0]
    assert flow.summary["limit"] == "sndbuf"
    assert "ended at exactly 1,048,576 bytes" in flow.verdict
    # The buffer to try is larger than the one that limits.
    assert "2,097,152" in flow.remedy.words
    # Round trips take twenty times as long as on an empty path.
    assert flow.remedy.expected.startswith("a longer queue")


def test_the_repair_of_a_request_that_left_at_once_is_congestion_controls():
    """All was written before the first acknowledgment came, so no writer waited for room in a buffer."""
    repaired = rounds_of(
        HANDSHAKE
        + """
        0.100 > P. 1:501(500)         ack 1 win 502
        +.020 < P. 1:1001(1000)       ack 501 win 512
        +.001 > .  501:1961(1460)     ack 1001 win 502    # lost
        +0    > .  1961:3421(1460)    ack 1001 win 502
        +0    > .  3421:4881(1460)    ack 1001 win 502    # lost
        +0    > .  4881:6341(1460)    ack 1001 win 502
        +0    > P. 6341:7001(660)     ack 1001 win 502
        +.020 < .  1001:1001(0)       ack 501 win 512 <sack 1961:3421>
        +.020 < .  1001:1001(0)       ack 501 win 512 <sack 1961:3421 4881:6341>
        +.020 < .  1001:1001(0)       ack 501 win 512 <sack 1961:3421 4881:7001>
        +0    > .  501:1961(1460)     ack 1001 win 502
        +0    > .  3421:4881(1460)    ack 1001 win 502    # lost again
        +.020 < .  1001:1001(0)       ack 3421 win 512 <sack 4881:7001>
        +.250 > .  3421:4881(1460)    ack 1001 win 502
        +.020 < .  1001:1001(0)       ack 7001 win 512
        +.010 < P. 1001:1101(100)     ack 7001 win 512
        """
    )
    assert repaired["retransmits"].sum() == 3
    assert set(repaired[repaired["retransmits"] > 0]["limit"]) == {"cwnd"}


def test_a_blocked_writer_waits_for_more_acknowledgments_than_one():
    # Ten segments just behind the third acknowledgment of the burst before last, every other time the fourth, from 14
    # of 24 in flight.
    assert settled(bursts(60, lambda number: 0.01055 + 0.0005 * (number % 2))) == {"sndbuf"}


# The link


def test_a_banner_that_comes_late_and_twice_is_neither_a_links_nor_an_outage():
    """The server waits 1.4 s, and its timer fires before a delayed acknowledgment comes. The tap is beside the client."""
    talk = analysed(
        HANDSHAKE
        + """
        1.468 < P. 1:21(20)   ack 1 win 512
        1.676 > .  1:1(0)     ack 21 win 502
        1.683 < P. 1:21(20)   ack 1 win 512
        +0    > .  1:1(0)     ack 21 win 502
        5.000 > P. 1:17(16)   ack 21 win 502
        +.020 < .  21:21(0)   ack 17 win 512
        +.005 < P. 21:55(34)  ack 17 win 512
        +.200 > .  17:17(0)   ack 55 win 502
        """
    )
    rounds = talk.flow(0, "198.51.100.2").rtts
    assert rounds["retransmits"].sum() == 1
    assert "link" not in set(rounds["limit"])
    assert rounds["limit"].iloc[0] == "app"


# The congestion window


def avoidance(acked):
    """Ten segments, and one more a round trip."""
    return 10 + int(math.sqrt(100 + 2 * acked) - 10)


@pytest.mark.parametrize(
    "window",
    [pytest.param(avoidance, id="a segment a round"), pytest.param(lambda _: 20, id="clamped")],
)
def test_whole_segments_that_acknowledgments_release_are_congestion_controls(window):
    assert settled(sent_by(congestion_window(window, 2000))) == {"cwnd"}


def test_whole_segments_are_less_surely_congestion_controls_without_a_view_of_acknowledgments():
    rounds = rounds_of(sent_by(congestion_window(avoidance, 2000), at_receiver=True))
    clocked = rounds[rounds["rule"] == "cwnd-clocked"]
    assert len(clocked)
    assert (clocked["confidence"] <= 0.5).all()
    assert clocked["evidence"].str.contains("Without timestamps").all()


def test_flights_that_a_receiver_acknowledges_late_are_its_delay():
    lines, at = [HANDSHAKE], 1
    for segments in (10, 12):
        for _ in range(segments):
            lines.append(f"+0 > . {at}:{at + 1460}(1460) ack 1 win 502")
            at += 1460
        lines.append(f"+.220 < . 1:1(0) ack {at} win 60000    # 200 ms later than the path takes")
    flow = analysed("\n".join(lines)).flow(0)
    assert set(flow.rtts.loc[flow.rtts["limit"] == "cwnd", "detail"]) == {"late acknowledgments"}
    assert str(flow.remedy).startswith("On the receiver, 198.51.100.2: Let it acknowledge every second")


def test_slow_start_is_told_while_it_lasts():
    rounds = rounds_of(sent_by(congestion_window(lambda acked: 10 + acked, 1200)))
    first = rounds.iloc[1:6]
    assert set(first["limit"]) == {"cwnd"}
    assert set(first["detail"]) == {"slow start"}


# The link


@pytest.mark.parametrize("at_receiver", [False, True], ids=["at the sender", "at the receiver"])
def test_a_window_beyond_the_path_fills_its_queue(at_receiver):
    # A segment each 1.2 ms, 17 in 20 ms: a window of 60 keeps more than 40 queued.
    program = congestion_window(lambda acked: min(10 + acked, 60), 2000)
    assert settled(sent_by(program, spacing=0.0012, at_receiver=at_receiver)) == {"link"}


def test_a_window_of_less_than_the_path_leaves_the_link_idle():
    # The same, 8 of 17.
    program = congestion_window(lambda acked: min(4 + acked, 8), 1000)
    assert settled(sent_by(program, spacing=0.0012)) == {"cwnd"}


# The receiver's window


@pytest.mark.parametrize("at_receiver", [False, True], ids=["at the sender", "at the receiver"])
def test_a_window_that_is_full_holds_its_sender(at_receiver):
    # 40 segments where the path has room for 200.
    program = congestion_window(lambda acked: min(10 + acked, 40), 2000)
    rounds = rounds_of(sent_by(program, window=40 * MSS, at_receiver=at_receiver)).iloc[5:-5]
    assert set(zip(rounds["limit"], rounds["detail"], strict=True)) == {("rwnd", "buffer")}


@pytest.mark.parametrize("kind", ["empty", "refused", "taken"])
def test_the_wait_between_a_zero_window_probe_and_its_answer_is_the_receivers(kind):
    """The window is shut from 104 ms, when the fourth flight was acknowledged, to 6604 ms."""
    rounds = rounds_of(probed(kind))
    begin, end = ((rounds[name] - START_NS) / 1e6 for name in ("start_ns", "end_ns"))
    shut = rounds[(begin > 103) & (end < 6710)]
    assert (shut["end_ns"] - shut["start_ns"]).sum() > 6.5e9
    assert set(zip(shut["limit"], shut["detail"], strict=True)) == {("rwnd", "zero window")}
    # The reader is back; its buffer of ten segments is full again.
    assert set(rounds[begin > 6700]["limit"]) == {"rwnd"}


@pytest.mark.parametrize(
    ("shuts", "expected"), [pytest.param(True, {"rwnd"}, id="shut"), pytest.param(False, {"app"}, id="open")]
)
def test_the_silence_before_a_window_update_is_the_receivers(shuts, expected):
    rounds = rounds_of(slow_reader(shuts=shuts)).iloc[2:-2]
    silent = rounds[rounds["in_flight_max_bytes"] == 0]
    assert len(silent) >= 15
    assert set(silent["limit"]) == expected


@pytest.mark.parametrize(("shuts", "own"), [(True, 0.0), (False, 1.0)], ids=["an update", "nothing"])
def test_a_pure_window_update_starts_what_follows_it(shuts, own):
    """The first segments go out 20 microseconds after the update; nothing called for them without."""
    evidence = analysed(slow_reader(shuts=shuts))._contents.verdicts.gathered[0]
    flights = evidence.rounds.sent_bytes[2:-2] > 0
    assert set(evidence.ack_clock.own_time_share[2:-2][flights]) == {own}


# Samples


def test_the_73552_byte_window():
    """SO_RCVBUF 50000 on a kernel that keeps a quarter and reserves a segment: 100000 * 3/4 - 1448, reached by a ramp."""
    capture = bdpcap.analyze(ROOT / "sample_captures/linux61_advwinscale2_w50000.pcap.zst")
    flow = capture.flow(0)
    assert flow.summary["window_scale"] == 1
    assert flow.summary["window_scale_source"] == "negotiated"
    assert flow.summary["window_max_bytes"] == 2 * 50000 * 3 // 4 - 1448
    assert flow.summary["mss_bytes"] == 1460 - 12
    assert flow.summary["limit"] == "rwnd"
    # iperf's transfer was window-limited but for its first round trips.
    assert flow.summary["rwnd_share"] > 0.85
    windows = flow.rtts["window_max_bytes"]
    first_full = int((windows == 73552).to_numpy().argmax())
    assert first_full > 0
    assert windows[: first_full + 1].is_monotonic_increasing
    assert "ramp" in set(flow.rtts["detail"][: first_full + 1])
    assert set(flow.rtts.loc[flow.rtts["limit"] == "rwnd", "detail"]) <= {"ramp", "buffer", "slow reader"}


MADE = [path for path in SAMPLES if path.name.count("_") >= 2]


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_the_main_flow_of_a_sample_has_the_limit_it_was_made_with(path):
    expected = "rwnd" if path.name.startswith("linux61") else path.name.split("_")[0]
    capture = bdpcap.analyze(path)
    largest = capture.flows.loc[capture.flows["payload_bytes"].idxmax()]
    assert largest["limit"] == expected


@pytest.mark.parametrize(("second", "least_ms"), [("", 200), ("+.004 < . 1:1(0) ack 3001 win 1000", 4)])
def test_one_round_trip_far_below_all_others_is_none_of_the_path(second, least_ms):
    # A middlebox acknowledges the request at once; the server is 200 ms away. A second such answer makes it the path.
    capture = bdpcap.analyze(
        io.BytesIO(
            pcap(
                scenario(
                    f"""
        0     > S  0:0(0)       win 64240 <mss 1460>
        +.200 < S. 0:0(0) ack 1 win 65535 <mss 1460>
        +0    > . 1:1(0)          ack 1 win 502
        +.001 > . 1:1001(1000)    ack 1 win 502
        +.004 < . 1:1(0) ack 1001 win 1000
        +.010 > . 1001:3001(2000) ack 1 win 502
        {second}
        +.010 > . 3001:5001(2000) ack 1 win 502
        +.250 < . 1:1(0) ack 5001 win 1000
        """
                )
            )
        )
    )
    evidence, _ = capture._contents.verdicts.gathered
    assert set(evidence.queue.rtt_min_ns) == {least_ms * 1_000_000}
    assert capture.flow(0).summary["rtt_min_ns"] == 4_000_000


@pytest.mark.parametrize("name", ["rwnd_zero_window.sender.pcap.zst", "linux61_advwinscale2_w50000.pcap.zst"])
def test_the_median_rtt_of_a_flow_is_that_of_its_rounds(name):
    """However long one of them lasted."""
    capture = bdpcap.analyze(ROOT / "sample_captures" / name)
    rounds = capture.rtts.groupby(["stream", "sender"], sort=False)["rtt_ns"]
    assert capture.flows["rtt_median_ns"].tolist() == rounds.median().round().astype("Int64").tolist()


# What holds of every capture

WILD = sorted((SHARED / "captures/wild").glob("*.zst"))


@pytest.mark.parametrize("path", [*SAMPLES, *WILD], ids=lambda path: path.name)
def test_rounds_tile_a_flow_and_each_has_its_reason(path):
    capture = bdpcap.analyze(path)
    shares = capture.flows[[f"{limit}_share" for limit in LIMITS]]
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert capture.flows["confidence"].between(0, 1).all()
    rounds = capture.rtts
    assert set(rounds["limit"]) <= set(STATES)
    assert set(rounds["rule"]) <= {rule.id for rule in RULES} | set(NO_RULE)
    assert rounds["confidence"].between(0, 1).all()
    assert (rounds.loc[rounds["limit"] == "unknown", "confidence"] == 0).all()
    assert not (rounds["alternative"] == rounds["limit"]).any()
    assert set(rounds["alternative"].dropna()) <= set(LIMITS) - {"unknown"}
    assert rounds["evidence"].str.fullmatch(r"[A-Z0-9>][^{}]*\.").all()
    decided = rounds["rule"].isin([rule.id for rule in RULES])
    assert (rounds["rule"][decided].str.split("-").str[0] == rounds["limit"][decided]).all()
    for (stream, sender), own in rounds.groupby(["stream", "sender"], sort=False):
        lasting = (own["end_ns"] - own["start_ns"]).groupby(own["limit"], observed=False).sum()
        flow = capture.flow(int(stream), sender).summary
        assert own["round"].tolist() == list(range(len(own)))
        assert own["start_ns"].tolist()[1:] == own["end_ns"].tolist()[:-1]
        assert (own["end_ns"] >= own["start_ns"]).all()
        assert (own["start_ns"].iloc[0], own["end_ns"].iloc[-1]) == (flow["start_ns"], flow["end_ns"])
        assert flow["active_ns"] == lasting.drop("idle").sum()
        assert flow["idle_share"] == pytest.approx(lasting["idle"] / max(lasting.sum(), 1))


@pytest.mark.parametrize("path", [*SAMPLES, *WILD], ids=lambda path: path.name)
def test_no_part_exceeds_its_whole(path):
    """A rate may exceed what was taken for the best."""
    told = bdpcap.analyze(path).rtts["evidence"]
    parts = told.str.extractall(r"(\d+) % of the (?:acks|acknowledgments|round|bytes|segments)")
    assert parts[0].astype(int).max() <= 100 or parts.empty


# The lab


def truth(path):
    """Decisive bins: the link was busy all the time, or the kernel's state was the same in 70 % of its samples."""
    with path.open() as rows:
        for row in csv.DictReader(rows):
            decisive = max(float(row[limit]) for limit in ("rwnd", "cwnd", "sndbuf", "app")) >= 0.7
            if row["truth"] == "link" or (row["truth"] in ("rwnd", "cwnd", "sndbuf", "app") and decisive):
                yield int(row["t0"]), int(row["t1"]), row["truth"]


def agreement(folder, view):
    capture = bdpcap.analyze(next(folder.glob(f"{view}.pcap*")))
    rounds = capture.flow(0).rtts
    starts, ends, limits = (rounds[name].to_numpy() for name in ("start_ns", "end_ns", "limit"))
    right = total = 0
    for start, end, wanted in truth(folder / "truth.csv"):
        held = defaultdict(int)
        for i in np.flatnonzero((starts < end) & (ends > start)):
            held[limits[i]] += min(end, ends[i]) - max(start, starts[i])
        total += end - start
        right += (end - start) * bool(held and max(held, key=held.get) == wanted)
    return right / total


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("view", FLOORS)
def test_the_sending_kernel_agrees(view):
    scores = {folder.name: agreement(folder, view) for folder in sorted(LAB.iterdir())}
    assert np.mean(list(scores.values())) >= FLOORS[view], scores


def test_a_verdict_with_an_alternative_is_less_sure():
    rounds = bdpcap.analyze(ROOT / "sample_captures" / "sndbuf_24k_15ms.sender.pcap.zst").rtts
    other = rounds["alternative"].notna()
    assert other.any()
    assert rounds.loc[other, "confidence"].max() <= 0.75
