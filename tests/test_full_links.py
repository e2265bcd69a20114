"""Sentences on a full link: its rate, how far that varied, and the round trips of a shorter queue."""

import pandas as pd
import pytest

from bdpcap.diagnosis import places
from bdpcap.diagnosis.kinds import ALL
from bdpcap.explain.expected import full_bps
from bdpcap.explain.remedies import Host, find_link
from bdpcap.explain.varying import varying

TRIP_NS = 10_000_000


class Known:
    """A flow of which no more than rounds and summary is known."""

    def __init__(self, rtts, summary, handshake=3):
        self.rtts, self.summary = rtts, summary
        self._counts = {"unseen_bytes": 0, "handshake": handshake}


def full(megabits, *, stalls=0, mean_bps=0.0, handshake=3, **summary):
    """Return a flow with a round of one RTT at a full link for each rate; so many of the last take ten RTTs instead."""
    trips = [1] * (len(megabits) - stalls) + [10] * stalls
    end = [TRIP_NS * sum(trips[: number + 1]) for number in range(len(trips))]
    rtts = pd.DataFrame(
        {
            "start_ns": [0, *end[:-1]],
            "end_ns": end,
            "acked_bytes": [int(rate * 1e6 / 8 * TRIP_NS / 1e9) for rate in megabits],
            "limit": "link",
            "detail": "own queue",
            "rtt_ns": TRIP_NS,
        }
    )
    known = {
        "rtt_median_ns": TRIP_NS,
        "rtt_min_ns": TRIP_NS,
        "mss_bytes": 1460,
        "payload_bytes": sum(rtts["acked_bytes"]),
        "in_flight_max_bytes": 125_000,
        "active_throughput_bps": mean_bps,
    }
    return Known(rtts, pd.Series(known | summary), handshake)


def test_a_link_of_one_rate_does_not_vary():
    """Not even with a recovery now and then, or a stall."""
    assert varying(full(([100] * 19 + [20]) * 5)) is None
    assert varying(full([100] * 60, stalls=1)) is None


def test_a_flow_below_an_initial_window_shows_no_rate_of_a_link():
    assert varying(full([100] * 30, stalls=5, in_flight_max_bytes=14_000)) is None


def test_a_link_that_others_take_a_share_of_does_not_vary():
    assert varying(full([100] * 30 + [30] * 30)) is None


def test_a_link_that_stalls_for_a_notable_time_varied():
    found = varying(full([100] * 30, stalls=5))
    assert found is not None
    assert found.best_bps == pytest.approx(100e6)
    assert found.stalls == 5


def test_the_verdict_on_a_link_that_varied_does_not_call_it_full():
    # 30 round trips carry 125,000 bytes each, in 25 RTTs and five stalls of ten.
    flow = full([100] * 30, stalls=5)
    cause = ALL["link"].cause(flow, flow.rtts)
    assert cause.headline == "The link's rate varied"
    assert cause.reason(flow, flow.rtts).startswith("40.0 Mbit/s in the mean while busy, 100 Mbit/s at best")
    steady = full([100] * 60)
    assert ALL["link"].cause(steady, steady.rtts).headline == "The link was full"


def test_no_flow_is_faster_than_the_link_that_limits_it():
    """Data still in the queue when the last round ends is not acknowledged in it."""
    assert full_bps(full([90] * 60, mean_bps=94e6)) == 94e6
    assert full_bps(full([90] * 60, mean_bps=50e6)) == pytest.approx(90e6)


@pytest.mark.parametrize(
    ("rate", "trip_ns", "words"),
    [
        # A segment of 1,460 bytes takes 11.68 ms at 1 Mbit/s.
        (1, 150_000_000, "round trips from 150 ms towards 21.7 ms"),
        # At 0.2 Mbit/s it takes 58.4 ms, so that three of them wait for 175 ms.
        (0.2, 185_000_000, "whatever the ends set"),
    ],
)
def test_a_managed_queue_holds_a_segment(rate, trip_ns, words):
    flow = full([rate] * 60, mean_bps=rate * 1e6, rtt_median_ns=trip_ns)
    assert ALL["link"].causes["own queue"].then(flow).words.endswith(words)


@pytest.mark.parametrize(
    ("handshake", "waited", "then"),
    [
        (3, "packets waited 140 ms in its queue", "from 150 ms towards 21.7 ms"),
        # A queue that stood before the capture may have stood in each round trip that it shows.
        (0, "packets waited at least 140 ms in its queue", "from 150 ms towards 21.7 ms or less"),
    ],
)
def test_without_the_handshake_the_least_round_trip_may_hold_a_queue(handshake, waited, then):
    flow = full([1] * 60, handshake=handshake, mean_bps=1e6, rtt_median_ns=150_000_000)
    flow.rtts["rtt_ns"] = 150_000_000
    cause = ALL["link"].causes["own queue"]
    assert cause.reason(flow, flow.rtts).endswith(waited)
    assert cause.then(flow).words.endswith(then)


@pytest.mark.parametrize(
    ("sender", "receiver", "first"),
    [
        (
            Host("sender", "10.0.0.1", "linux"),
            Host("receiver", "10.0.0.2", "linux"),
            "mtr -n -r -c 20 10.0.0.2 ",
        ),
        # The reader has the receiver alone.
        (
            Host("sender", "8.8.8.8", ours=False),
            Host("receiver", "10.0.0.2", "linux"),
            "mtr -n -r -c 20 8.8.8.8 ",
        ),
        (Host("sender", "10.0.0.1", "windows"), Host("receiver", "8.8.8.8", "linux", ours=False), None),
        # No path lies between the programs of one machine.
        (Host("sender", "127.0.0.1", "linux"), Host("receiver", "127.0.0.1", "linux"), None),
    ],
)
def test_a_full_link_is_looked_for_from_a_host_of_the_reader(sender, receiver, first):
    commands = find_link(sender, receiver)
    assert bool(commands) == (first is not None)
    assert not commands or commands[0].startswith(first)


@pytest.mark.parametrize(
    ("vantage", "part"),
    [
        ("sender", "from the capture to 10.0.0.2"),
        ("receiver", "from 10.0.0.1 to the capture"),
        ("between", "from 10.0.0.1 to 10.0.0.2"),
        ("unknown", "from 10.0.0.1 to 10.0.0.2"),
    ],
)
def test_a_full_link_lies_on_the_side_of_the_capture_that_has_a_path(vantage, part):
    flow = Known(pd.DataFrame(), {"vantage": vantage})
    flow.sender, flow.receiver = "10.0.0.1:5001", "10.0.0.2:80"
    assert places.full_link(flow) == f"the path {part}"
