"""Short transfers and seldom bursts on the first screen."""

import re
from types import SimpleNamespace

import connected
import pandas as pd
import pytest
from dialogues import analysed
from first_screens import analyzed, connections, writes
from scenario import CLIENT, HANDSHAKE, SERVER, Address

from bdpcap.diagnosis import bursts, natures
from bdpcap.diagnosis.natures import short, slow_start
from bdpcap.report import page, ranking, screen, verdict


def filter_of(flow):
    return verdict.best_span(flow).display_filter


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
    assert (
        "3 more flows from 198.51.100.2:80: the same verdict (streams 1, 2, 3); with stream 0, 4.00 kB."
        in only.same
    )
    assert found.quiet.startswith("The other way of streams 0, 2: 1.00 kB in short transfers")
    assert "the same verdict (streams 1, 2, 3)" in page.html(capture)


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


def test_frames_of_a_transfer_whose_acknowledgments_came_late_carry_its_data():
    """The handshake took 30 times as long as any other round trip: a proxy asked a server first."""
    dialogue = """
        0      > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +.145  < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
        +0     > .  1:1(0) ack 1 win 502
        +.0005 > P. 1:301(300) ack 1 win 502
        +.005  < .  1:1461(1460) ack 301 win 512
        +.0001 < P. 1461:2921(1460) ack 301 win 512
        +.0001 > .  301:301(0) ack 2921 win 502
        +.0005 > F. 301:301(0) ack 2921 win 502
        +.005  < F. 2921:2921(0) ack 302 win 512
        +.0001 > R  302:302(0)
    """
    shown = filter_of(analysed(dialogue).flow(0, str(SERVER)))
    assert int(re.findall(r">= (\d+)", shown)[0]) <= 5


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
    assert (
        found.quiet
        == "2 more flows, of stream 0: 3.60 kB in short transfers, requests and pauses. Nothing to mend there."
    )


@pytest.mark.parametrize(
    ("end", "aside"),
    [("+.020 < R. 1:1(0) ack 519 win 0", True), ("+.020 < P. 1:101(100) ack 519 win 500", False)],
)
def test_nothing_is_to_be_mended_but_what_failed(end, aside):
    asked = f"+.100 > P. 1:519(518) ack 1 win 502\n{end}"
    transfer = "".join(
        f"+.001 > P. {1 + 3000 * n}:{3001 + 3000 * n}(3000) ack 1 win 502\n"
        f"+.020 < .  1:1(0) ack {3001 + 3000 * n} win 512\n"
        for n in range(6)
    )
    found = screen.entries(ranking.groups(connections(asked, transfer)))
    assert found.quiet.endswith("Failures aside, nothing to mend there.") == aside
    assert found.quiet.endswith(" Nothing to mend there.") != aside


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
    assert "slow start from ten segments takes about as long" in screen.sentences(flow)[0]
    assert flow.remedy.where == ""
    assert flow.remedy.words.startswith("Nothing to mend")


@pytest.mark.parametrize(
    ("segments", "another"),
    [
        ((10, 20, 40, 80), False),
        ((10, 15, 22, 33, 20), False),
        # The path lets through forty segments in each round trip, from the first one on.
        ((32, 40, 40, 40, 20), True),
        ((12, 13, 14, 15, 16), True),
    ],
)
def test_flights_that_do_not_grow_are_no_slow_start(segments, another):
    rounds = {"round": range(len(segments)), "acked_bytes": [1460 * number for number in segments]}
    rtts = pd.DataFrame(rounds)
    flows = pd.DataFrame({"stream": [0], "mss_bytes": [1460]})
    rtts["in_flight_max_bytes"] = rtts["acked_bytes"]
    flow = SimpleNamespace(rtts=rtts, stream=0, capture=SimpleNamespace(flows=flows))
    assert slow_start._is_another_growth(flow) == another


@pytest.mark.parametrize(("gap_s", "is_short"), [(0.01, True), (0.1, False)])
def test_data_within_a_second_need_no_other_capture(gap_s, is_short):
    # The capture lacks all acknowledgments, so nothing shows the limit of twenty segments.
    lines = ["0 < P. 1:1001(1000) ack 1 win 502"]
    lines += [f"+{gap_s} < P. {1 + 1000 * n}:{1001 + 1000 * n}(1000) ack 1 win 502" for n in range(1, 20)]
    flow = analysed("\n".join(lines)).flow(0)
    assert flow.summary["limit"] == "unknown"
    assert (natures.nature(flow) is short.NATURE) == is_short
    assert flow.remedy.words.startswith("Nothing to mend") == is_short


def test_pauses_around_one_burst_are_no_part_of_a_short_transfer():
    small = "+.1 > P. 1:101(100) ack 1 win 502\n+.020 < . 1:1(0) ack 101 win 8000\n"
    burst, end = writes(20, 0.4, 1, 101), 101 + 20 * 1460
    after = f"+.4 > P. {end}:{end + 100}(100) ack 1 win 502\n+.020 < . 1:1(0) ack {end + 100} win 8000"
    flow = analyzed(small + burst + "\n" + after, rtt="+.001").flow(0)
    assert flow.remedy.words.startswith("Nothing to mend")


@pytest.mark.parametrize(("period_s", "is_short"), [(0.0004, True), (0.4, False)])
def test_small_messages_around_one_burst_leave_a_short_transfer(period_s, is_short):
    # A remote desktop: 40 small updates, then one picture in pieces below an initial window, then updates again.
    lines, sent = [], 1

    def write(after_s, bytes_):
        nonlocal sent
        lines.append(f"+{after_s} > P. {sent}:{sent + bytes_}({bytes_}) ack 1 win 502")
        sent += bytes_
        lines.append(f"+.001 < . 1:1(0) ack {sent} win 8000")

    for number in range(40):
        write(0.1 + 0.01 * (number % 7), 16)
    for _ in range(80):
        write(period_s, 1460)
    for number in range(40):
        write(0.1 + 0.01 * (number % 7), 16)
    flow = analyzed("\n".join(lines), rtt="+.001").flow(0)
    assert (natures.nature(flow) is short.NATURE) == is_short
    assert ("it sent little" in screen.sentences(flow)[0]) == is_short
    assert flow.remedy.words.startswith("Nothing to mend") == is_short


def test_pauses_between_two_halves_of_a_transfer_are_the_programs():
    # Eight bursts, 0.9 s apart: too large for an initial window, and none has most of the data.
    flow = analyzed(writes(20, 0.9, 8)).flow(0)
    assert flow.summary["active_ns"] > 5 * 10**9
    assert "Nothing to mend" not in str(flow.remedy)


@pytest.mark.parametrize(
    ("bytes_", "closes", "in_tls", "number"),
    [(63, True, True, 1), (63, True, False, 2), (63, False, True, 2), (101, True, True, 2)],
)
def test_a_farewell_of_tls_after_a_pause_is_no_burst(bytes_, closes, in_tls, number):
    # GOAWAY and close_notify of TLS 1.3 have 63 bytes (RFC 9113 section 6.8, RFC 8446 section 6.1).
    end = 1 + 8 * 1460
    flags, last = ("FP.", end + bytes_ + 1) if closes else ("P.", end + bytes_)
    parting = (
        f"+30 > {flags} {end}:{end + bytes_}({bytes_}) ack 1 win 502\n+.020 < . 1:1(0) ack {last} win 8000\n"
    )
    flow = analyzed(f"{writes(8, 0.001, 1)}\n{parting}").flow(0)
    flow.exchanges = flow.exchanges.reindex([0]).assign(tls_handshake=in_tls, server=str(SERVER))
    assert ("2 bursts" in bursts.counted(flow)) == (number == 2)
    assert ("within 100 ms; for 30 s" in screen.sentences(flow)[0]) == (number == 1)


@pytest.mark.parametrize("fin", ["", "+5 > F. {0}:{0}(0) ack 1 win 502\n+.020 < . 1:1(0) ack {1} win 8000\n"])
def test_every_burst_after_a_pause_that_a_person_notices_is_counted(fin):
    # 40 segments, 100 bytes 2 s later, and 40 segments 3 s later. A FIN carries nothing.
    first, small, end = writes(40, 0.001, 1), 1 + 40 * 1460, 101 + 80 * 1460
    between = (
        f"+2 > P. {small}:{small + 100}(100) ack 1 win 502\n+.020 < . 1:1(0) ack {small + 100} win 8000\n"
    )
    flow = analyzed(f"{first}\n{between}{writes(40, 3, 1, small + 100)}\n{fin.format(end, end + 1)}").flow(0)
    assert bursts.counted(flow) == "3 bursts, at least 1 s apart"


@pytest.mark.parametrize(
    ("ends", "pace"), [({}, "programs and round trips"), ({"server": Address("192.0.2.1", 80)}, "programs")]
)
def test_on_one_machine_round_trips_set_no_pace(ends, pace):
    flow = connected.analyzed(HANDSHAKE + writes(4, 2, 5), **ends).flow(0)
    assert flow.remedy.words == f"Nothing to mend: so little data needs no rate; {pace} set the pace."


def test_seldom_bursts_within_an_initial_window_are_little_data():
    flow = analyzed(writes(4, 2, 5)).flow(0)
    assert "so little data needs no rate" in flow.remedy.words
    # The time of each burst is that of the path, and no rate: four pauses of 2 s lie between them.
    (said,) = screen.sentences(flow)
    assert said == "29.2 kB in 5 bursts, at least 1 s apart; for 8 s in all, nothing was in flight."


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


@pytest.mark.parametrize(
    ("limit", "app_share", "full_share", "slow"),
    [("cwnd", 0.3, 0.5, True), ("cwnd", 0.3, 0.51, False), ("cwnd", 0.1, 0, False), ("app", 0.6, 0, False)],
)
@pytest.mark.parametrize("window", ["rwnd", "sndbuf"])
def test_time_of_programs_or_of_a_full_window_is_no_slow_start(
    monkeypatch, limit, app_share, full_share, slow, window
):
    # 236 kB need five round trips from ten segments; the handshake and a request take two.
    monkeypatch.setattr(slow_start, "ends_by_itself", lambda _flow: True)
    monkeypatch.setattr(slow_start, "_largest_message_bytes", lambda _flow: 236_000)
    monkeypatch.setattr(slow_start, "_is_another_growth", lambda _flow: False)
    summary = {
        "rtt_min_ns": 400_000_000,
        "mss_bytes": 1448,
        "payload_bytes": 236_000,
        "in_flight_max_bytes": 115_000,
        "active_ns": 3_600_000_000,
        "limit": limit,
        "app_share": app_share,
        "rwnd_share": 0.0,
        "sndbuf_share": 0.0,
        f"{window}_share": full_share,
        "retransmits": 0,
    }
    flow = SimpleNamespace(summary=summary, _counts={"handshake": 3})
    assert slow_start._is_slow_start(flow) == slow


@pytest.mark.parametrize(("idle_s", "kept"), [(0.5, False), (5, True)])
def test_a_connection_that_was_open_before_its_data_needs_no_advice_to_keep_it(idle_s, kept):
    """The handshake is then no part of the time: only the distance makes round trips shorter."""
    lines, sent, acked = [f"+{idle_s} > . 1:1(0) ack 1 win 502"], 1, 1
    for flight in (10, 20, 40, 20):
        for _ in range(flight):
            lines.append(f"+.0001 > . {sent}:{sent + 1460}(1460) ack 1 win 502")
            sent += 1460
        for number in range(flight // 2):
            acked += 2920
            lines.append(f"{'+.0001' if number else '+.018'} < . 1:1(0) ack {acked} win 65535")
    flow = analyzed("\n".join(lines)).flow(0)
    assert ("A kept connection" in slow_start.NATURE.advice(flow)[1]) != kept


@pytest.mark.parametrize(("lost", "short_one"), [(1, True), (6, False)])
def test_a_loss_or_two_are_a_part_of_the_round_trips_of_a_long_path(lost, short_one):
    """Three round trips of 300 ms, a loss in the last, and its repair: the program gave all data at the start."""
    flow = analysed("\n".join(_three_flights(lost))).flow(0, str(CLIENT))
    flow.summary = flow.summary.copy()
    flow.summary["limit"] = "app"
    assert short._are_trips(flow) == short_one


def _three_flights(lost):
    """Lines of a client's flights of 10, 20 and 20 segments, the last of which lack some segments, sent again later."""
    lines, sent = [HANDSHAKE.replace("+.020", "+.3")], 1
    for count in (10, 20, 20):
        first = sent
        for number in range(count):
            lines.append(f"{'+.0001' if number else '+.001'} > . {sent}:{sent + 1460}(1460) ack 1 win 502")
            sent += 1460
        acked = sent if count == 10 or first == 1 + 10 * 1460 else first
        if acked == sent:
            lines.append(f"+.3 < . 1:1(0) ack {sent} win 65535")
            continue
        hole = first + lost * 1460
        lines += [
            f"+{'.3' if not n else '.0001'} < . 1:1(0) ack {first} win 65535 <sack {hole}:{hole + (n + 1) * 1460}>"
            for n in range(4)
        ]
        lines += [
            f"+.0001 > . {first + n * 1460}:{first + (n + 1) * 1460}(1460) ack 1 win 502" for n in range(lost)
        ]
        lines.append(f"+.3 < . 1:1(0) ack {sent} win 65535")
    return lines


@pytest.mark.parametrize(
    ("payload_bytes", "again", "little"), [(1460, 0, True), (1461, 0, False), (1460, 1, False)]
)
def test_a_segment_alone_waits_for_no_limit_whatever_became_of_it(payload_bytes, again, little, monkeypatch):
    """The last data of an old connection, of which the capture shows no acknowledgment: nothing is there to decide."""
    flow = SimpleNamespace(
        summary={
            "limit": "unknown",
            "cwnd_share": 0.0,
            "active_ns": 1_000_000,
            "retransmits": again,
            "retransmitted_bytes": 0,
            "payload_bytes": payload_bytes,
            "mss_bytes": 1460,
        }
    )
    for name, answer in (
        ("_is_few", True),
        ("_is_unmeasured", False),
        ("_only_needless", False),
        ("_asks_seldom", False),
    ):
        monkeypatch.setattr(short, name, lambda _, answer=answer: answer)
    assert short.LITTLE.holds(flow) == little
