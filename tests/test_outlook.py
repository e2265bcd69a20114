"""The outlook in words: the rates in it, and when they are there; and bytes in flight in words."""

from types import SimpleNamespace

import pandas as pd
import pytest

from bdpcap.diagnosis.outlook import paced, with_change
from bdpcap.explain.standing import spoken

MBIT = 1e6


def flow(
    limit="cwnd",
    *,
    own_mbps=10,
    path_mbps=None,
    most_mbps=None,
    window_mbps=None,
    app_share=0.0,
    rwnd_share=0.0,
    in_flight_mbps=None,
):
    """Return a flow with an RTT of 10 ms and rates in Mbit/s: its own, its path's, its window's, and while in flight."""
    limits = [limit, "rwnd"] if rwnd_share else [limit]
    rtts = pd.DataFrame(
        {
            "limit": limits,
            "start_ns": 0,
            "end_ns": 10**9,
            "acked_bytes": own_mbps * MBIT / 8,
            "detail": "",
            "window_max_bytes": 0.0,
        }
    )
    path = None if path_mbps is None else path_mbps * MBIT
    summary = {
        "limit": limit,
        "capacity_bps": path,
        "capacity_low_bps": path,
        "in_flight_max_bytes": 100_000,
        "mss_bytes": 1000,
        "capacity_high_bps": path if most_mbps is None else most_mbps * MBIT,
        "link_share": 0.0,
        **{f"{one}_share": float(one == limit) for one in ("rwnd", "sndbuf", "app", "cwnd")},
        "window_max_bytes": None if window_mbps is None else window_mbps * MBIT / 8 / 100,
        "window_scale": 0,
        "rtt_min_ns": 10_000_000,
        "active_throughput_bps": own_mbps * MBIT,
        "payload_bytes": own_mbps * MBIT / 8,
    }
    data_ns = int(own_mbps / (in_flight_mbps or own_mbps) * 1e9)
    counts = {
        "unseen_bytes": 0,
        "unsent_bytes": 0,
        "acked_bytes": own_mbps * MBIT / 8,
        "data_ns": data_ns,
        "pauses_ns": 0,
        "sender_side_ns": 0,
    }
    summary["app_share"] = max(app_share, summary["app_share"])
    summary["rwnd_share"] = max(rwnd_share, summary["rwnd_share"])
    return SimpleNamespace(rtts=rtts, summary=summary, _counts=counts)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (flow(), "more without losses"),
        (flow(path_mbps=40), "without losses up to about 40.0 Mbit/s, then the link"),
        (flow(path_mbps=40, window_mbps=80), "without losses up to about 40.0 Mbit/s, then the link"),
        (flow(path_mbps=40, window_mbps=20), "without losses up to 20.0 Mbit/s with today's window"),
        # The window is what the advice changes.
        (flow("rwnd", path_mbps=40, window_mbps=20), "without losses up to about 40.0 Mbit/s, then the link"),
        # Only a lower bound of the path is known.
        (
            flow(path_mbps=40, most_mbps=800),
            "more without losses; the network can carry at least 40.0 Mbit/s",
        ),
        (flow(path_mbps=10, most_mbps=800), "more without losses"),
        # While data were in flight, they were as fast.
        (flow(path_mbps=40, most_mbps=800, in_flight_mbps=50), "more without losses"),
        # The window held the flow, too: it is the next limit, if it lets more pass than did.
        (
            flow(path_mbps=40, most_mbps=800, window_mbps=20, rwnd_share=0.3),
            "more without losses, up to 20.0 Mbit/s with today's window",
        ),
        (flow(path_mbps=40, most_mbps=800, window_mbps=10.1, rwnd_share=0.3), "more without losses"),
        # Another limit held the flow, too.
        (flow(path_mbps=40, app_share=0.3), "more without losses"),
        # The flow is as fast as its path, and nothing is to be gained.
        (flow(path_mbps=10), ""),
    ],
)
def test_a_change_gives_what_the_path_or_the_window_allows(own, words):
    assert str(with_change("without losses")(own)) == words


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (flow("app"), "as fast as it reads"),
        (flow("app", path_mbps=40), "as fast as it reads, up to about 40.0 Mbit/s, then the link"),
        (flow("app", path_mbps=10), "as fast as it reads"),
    ],
)
def test_a_program_keeps_its_pace(own, words):
    assert str(paced("as fast as it reads")(own)) == words


def test_the_link_does_not_follow_a_program_that_the_send_buffer_held_too():
    own = flow("app", path_mbps=40)
    own.summary["sndbuf_share"] = 0.4
    assert str(paced("as fast as it reads")(own)) == "as fast as it reads"


@pytest.mark.parametrize(
    ("flights", "words"),
    [
        ([50_000, 60_000, 52_000] * 3, "about 52,000 bytes were in flight, round after round"),
        (
            [20_000, 90_000, 52_000] * 3,
            "52,000 bytes were in flight in the median round, 90,000 bytes at most",
        ),
        ([65_536] * 8 + [20_000], "the flight ended at exactly 65,536 bytes in 8 of 9 rounds"),
        # An autotuned buffer grows with the congestion window.
        (range(50_000, 80_000, 5000), "about 52,500 bytes were in flight at first, 72,500 bytes at last"),
    ],
)
def test_bytes_in_flight_stand_end_at_one_byte_move_or_vary(flights, words):
    assert spoken(pd.Series(flights)) == words
