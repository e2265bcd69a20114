"""Size, time and rate of a transfer: the time is the one in which its data were in flight, by the dialogue's times."""

from dataclasses import replace

import pandas as pd
import pytest
from dialogues import analysed
from scenario import CLIENT, HANDSHAKE, SERVER

from bdpcap.explain import in_flight
from bdpcap.explain.in_flight import Transfer

MS = 1_000_000
BURSTS = """
    +.100 > .  1:1461(1460)    ack 1 win 502
    +.001 > P. 1461:2921(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 2921 win 16384
    +.300 > P. 2921:4381(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 4381 win 16384
"""
"""Two bursts, acknowledged after 21 ms and 20 ms, with 300 ms between them."""
FIN = """
    +.200 > F. 4381:4381(0)    ack 1 win 502
    +.020 < .  1:1(0) ack 4382 win 16384
"""


@pytest.mark.parametrize("before", [HANDSHAKE, ""], ids=["from the handshake on", "from the first data on"])
@pytest.mark.parametrize("after", [FIN, ""], ids=["to the FIN", "to the last data"])
def test_handshake_pauses_and_fin_are_left_out(before, after):
    moved = in_flight.whole(analysed(before + BURSTS + after).flow(0, str(CLIENT)))
    assert (moved.moved_bytes, moved.in_flight_ns, moved.pauses_ns) == (4380, 41 * MS, 300 * MS)
    # Three segments need no acknowledgment: their time shows no rate.
    assert moved.words() == "4.38 kB within 1 s"


def test_data_with_the_fin_are_in_flight_until_they_are_acknowledged():
    # The FIN itself is acknowledged 50 ms later.
    ends = """
    +.100 > F. 4381:5841(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 5841 win 16384
    +.050 < .  1:1(0) ack 5842 win 16384
    """
    moved = in_flight.whole(analysed(HANDSHAKE + BURSTS + ends).flow(0, str(CLIENT)))
    assert (moved.in_flight_ns, moved.pauses_ns) == (61 * MS, 400 * MS)


@pytest.mark.parametrize(
    ("tail", "late_ms"),
    [
        # The receiver delays the acknowledgment of a lone short segment by 180 ms.
        ("+.200 < . 1:1(0) ack 4481 win 16384", 180),
        # The program has new data before it.
        ("+.100 > P. 4481:5941(1460) ack 1 win 502\n+.020 < . 1:1(0) ack 5941 win 16384", 80),
        # The tail was lost: its retransmission, too, is in flight for a round trip.
        ("+.220 > P. 4381:4481(100) ack 1 win 502\n+.020 < . 1:1(0) ack 4481 win 16384", 0),
    ],
)
def test_a_tail_is_in_flight_for_a_round_trip_though_its_acknowledgment_is_late(tail, late_ms):
    text = HANDSHAKE + BURSTS + f"+.100 > P. 4381:4481(100) ack 1 win 502\n{tail}\n"
    flow = analysed(text).flow(0, str(CLIENT))
    lasted_ms = sum(int(1000 * float(line.split()[0])) for line in tail.splitlines())
    assert flow.summary["rtt_min_ns"] == 20 * MS
    assert in_flight.whole(flow).in_flight_ns == (41 + lasted_ms - late_ms) * MS


def test_away_from_the_sender_the_way_of_the_acknowledgment_counts():
    # The tap is beside the receiver, which acknowledges each burst at once; a round trip takes 20 ms.
    lines = ["+.1 > P. 1:101(100) ack 1 win 502", "+.02 < . 1:1(0) ack 101 win 512"]
    sent = 1
    for _ in range(10):
        lines += [
            f"+.100 < .  {sent}:{sent + 1460}(1460) ack 101 win 512",
            f"+.001 < P. {sent + 1460}:{sent + 2920}(1460) ack 101 win 512",
            f"+0    > .  101:101(0) ack {sent + 2920} win 502",
        ]
        sent += 2920
    moved = in_flight.whole(analysed(HANDSHAKE + "\n".join(lines)).flow(0, str(SERVER)))
    # Each burst takes 1 ms to the tap, and its acknowledgment 20 ms to the sender and, with the next data, back.
    assert moved.in_flight_ns == pytest.approx(10 * 21 * MS, rel=0.1)


def test_some_rounds_have_their_own_size_and_time():
    flow = analysed(HANDSHAKE + BURSTS + FIN).flow(0, str(CLIENT))
    second = flow.rtts[flow.rtts["acked_bytes"] == 1460]
    moved = in_flight.within(flow, second)
    assert moved.words(4380) == "1.46 kB of 4.38 kB within 100 ms"
    # Less than an initial window: each burst takes a round trip.
    assert moved.words(4380, "2 bursts") == "1.46 kB of 4.38 kB in 2 bursts"
    assert (
        replace(moved, is_paced=True)
        .words(4380, "2 bursts")
        .startswith("1.46 kB of 4.38 kB in 20 ms (2 bursts) at")
    )


def test_acknowledged_data_that_the_capture_lacks_count():
    # Of 21 segments the capture lacks one that was acknowledged, and that later data follow.
    lines, sent = [], 1
    for number in range(20):
        if number == 10:
            sent += 1460
        lines += [f"+.001 > . {sent}:{sent + 1460}(1460) ack 1 win 502"]
        sent += 1460
        lines += [f"+.020 < . 1:1(0) ack {sent} win 16384"]
    flow = analysed(HANDSHAKE + "\n".join(lines)).flow(0, str(CLIENT))
    assert flow.summary["payload_bytes"] == 20 * 1460
    assert in_flight.whole(flow).moved_bytes == 21 * 1460


def test_a_size_stands_alone_where_no_acknowledgment_shows_a_time():
    flow = analysed("0 > P. 1:1001(1000) ack 1 win 502\n+.1 > P. 1001:2001(1000) ack 1 win 502").flow(0)
    assert in_flight.whole(flow).words() == "2.00 kB"


def test_a_rate_that_is_a_lower_bound_says_so():
    said = Transfer(
        moved_bytes=1_000_000, in_flight_ns=10**9, pauses_ns=0, is_timed=True, is_bound=True, is_paced=True
    ).words()
    assert said == "1.00 MB in 1 s at 8.0 Mbit/s or more"


@pytest.mark.parametrize(
    ("segments", "said"), [(10, "14.6 kB within 100 ms"), (11, "16.1 kB in 21 ms at 6.1 Mbit/s")]
)
def test_what_leaves_without_an_acknowledgment_has_no_rate(segments, said):
    """RFC 6928: a sender may send ten segments before the first acknowledgment comes."""
    sends = "".join(
        f"+0 > . {1 + 1460 * at}:{1 + 1460 * (at + 1)}(1460) ack 1 win 502\n" for at in range(segments)
    )
    text = f"{HANDSHAKE}\n{sends}+.021 < . 1:1(0) ack {1 + 1460 * segments} win 16384"
    moved = in_flight.whole(analysed(text).flow(0, str(CLIENT)))
    assert moved.words() == said


def test_no_round_is_in_flight_for_longer_than_its_flow():
    flow = analysed(HANDSHAKE + BURSTS).flow(0, str(CLIENT))
    every = in_flight.within(flow, flow.rtts)
    assert every.in_flight_ns <= in_flight.whole(flow).in_flight_ns
    assert in_flight.within(flow, pd.DataFrame(columns=flow.rtts.columns)).words() == "0 B"


def joined(gap_ms):
    """A capture next to the client, 20 ms from the server, that begins within the connection: bursts with such gaps."""
    lines = [
        "0    > P. 1:201(200)   ack 1 win 502",
        ".020 < .  1:1(0)       ack 201 win 512",
        ".021 > P. 201:401(200) ack 1 win 502",
        ".041 < .  1:1(0)       ack 401 win 512",
    ]
    at, end = 45, 1
    for _ in range(20):
        for _ in range(4):
            lines.append(f"{at / 1000:.4f} < . {end}:{end + 1460}(1460) ack 401 win 512")
            end += 1460
        lines.append(f"{at / 1000 + 0.0001:.4f} > . 401:401(0) ack {end} win 502")
        at += gap_ms
    return "\n".join(lines)


@pytest.mark.parametrize(("gap_ms", "pauses_ms"), [(10, 0), (50, 19 * 30)])
def test_next_to_the_receiver_gaps_below_a_round_trip_are_no_pauses(gap_ms, pauses_ms):
    # No handshake and no timestamps show the way to the server: the acknowledgment of the request does.
    flow = analysed(joined(gap_ms)).flow(0, str(SERVER))
    assert flow.summary["vantage"] == "receiver"
    assert flow.summary["rtt_min_ns"] == pytest.approx(20 * MS, abs=MS)
    # Beside these pauses the server took some time to answer: less than a round trip.
    assert in_flight.whole(flow).pauses_ns == pytest.approx(pauses_ms * MS, abs=20 * MS)
