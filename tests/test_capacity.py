"""The capacity of a path from the rates of a flow's bursts, which are set by hand."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
from by_hand import MS, MSS, RTT_MS, counted
from hypothesis import given
from hypothesis import strategies as st
from packets import pcap
from strategies import captures

import bdpcap
from bdpcap.explain.capacity import Basis, basis, known_bdp, known_bps, label, spoken, spoken_bdp, word
from bdpcap.limits.capacity import capacity
from bdpcap.limits.evidence import Evidence

MB = 1_000_000
LONG = st.lists(st.integers(1, 10**10), min_size=1, max_size=40)


def bursts(*rates, sustained=1 * MB, **counts):
    """The capacity that `bursts_evidence` shows."""
    made = bursts_evidence(*rates, **counts)
    return capacity(made, np.full(len(made.rounds.starts), float(sustained)))


def bursts_evidence(*rates, segments=40, waited=20, flow=None, **counts):
    """Rounds with a burst each, at these rates in bytes per second; `waited` packets queued at the burst's end."""
    wait_ns = [waited * MSS * 1e9 / rate for rate in rates]
    return counted(
        [0] * len(rates) if flow is None else flow,
        ack_spacing_rate=rates,
        ack_pauses_ns=[RTT_MS * MS / 2] * len(rates),
        sent_segments=[segments] * len(rates),
        delivered_bytes=[segments * MSS] * len(rates),
        in_flight_max_bytes=[segments * MSS] * len(rates),
        flow_rtt_min_ns=[RTT_MS * MS] * len(rates),
        rtt_min_ns=[RTT_MS * MS] * len(rates),
        rtt_max_ns=np.add(wait_ns, RTT_MS * MS),
        **counts,
    )


def test_bursts_at_one_rate_are_the_capacity():
    found = bursts(*[10 * MB] * 5)
    assert (found.estimate[0], found.low[0], found.high[0]) == pytest.approx((10 * MB,) * 3)


def test_a_burst_that_a_stalled_host_delivered_at_once_decides_nothing():
    # 20 packets at 900 MB/s take 0.02 ms; they waited for 10 ms, in which that link forwards 9,000.
    found = bursts(
        10 * MB, 10 * MB, 10 * MB, 900 * MB, 10 * MB, 10 * MB, waited=0, queueing_delay_p20_ns=[0] * 6
    )
    assert found.estimate[0] == pytest.approx(10 * MB)


def test_later_bursts_count_as_those_of_the_first_rounds_do():
    # Slow start was paced: its bursts differ. Twelve rounds later the window is full, and they leave at once.
    found = bursts(*(MB * 1.3**step for step in range(12)), *[40 * MB] * 20)
    assert found.estimate[0] == pytest.approx(40 * MB)


@pytest.mark.parametrize(("tick_ns", "known"), [(1, True), (1_000, True), (100_000, False), (10 * MS, False)])
def test_a_span_below_ten_ticks_shows_no_capacity(tick_ns, known):
    """Half of 40 segments at 100 MB/s take 0.29 ms, a run of 16 segments 0.23 ms, and the flow lasts for 0.2 s."""
    made = bursts_evidence(*[100 * MB] * 5)
    made = Evidence(
        made.rounds, dataclasses.replace(made.vantage, tick_ns=np.full(made.rounds.size, tick_ns))
    )
    found = capacity(made, np.full(1, np.nan))
    assert (found.estimate[0] == pytest.approx(100 * MB)) == known
    assert np.isfinite(found.estimate[0]) == known


OPENING = (20 * MB, 7 * MB, 8 * MB, 9 * MB, 12 * MB)
"""Rates of the first rounds' bursts, each another."""


def test_a_pace_without_a_queue_is_not_the_capacity():
    """Most bursts come at the pace of a writer, and the first shows that the path forwards twice as much."""
    paced = bursts(*OPENING, *[10 * MB] * 20, waited=0)
    assert paced.estimate[0] == pytest.approx(20 * MB)
    assert (paced.low[0], paced.high[0]) == pytest.approx((10 * MB, 20 * MB))


def test_a_queue_proves_the_rate_at_which_it_drains():
    assert bursts(*OPENING, *[10 * MB] * 20, waited=20).estimate[0] == pytest.approx(10 * MB)


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param((10 * MB,), id="one burst"),
        pytest.param((10 * MB, 10 * MB), id="two, as chance makes them"),
        pytest.param((10 * MB, 15 * MB, 22 * MB, 33 * MB, 50 * MB), id="each another rate"),
    ],
)
def test_where_no_three_bursts_share_a_rate_only_the_sustained_rate_is_sure(rates):
    found = bursts(*rates, sustained=3 * MB)
    assert found.low[0] == pytest.approx(3 * MB)
    assert np.isnan(found.high[0])


def test_fewer_segments_than_an_initial_window_show_no_capacity():
    assert np.isnan(bursts(*[10 * MB] * 5, segments=9, waited=4).high[0])
    assert bursts(*[10 * MB] * 5, segments=10, waited=4).high[0] == pytest.approx(10 * MB)


def test_acknowledgments_that_queue_on_their_way_show_no_capacity():
    # All delay lies between the receiver and the tap.
    delays = dict.fromkeys(("queueing_delay_p20_ns", "reverse_delay_p20_ns"), [5 * MS] * 5)
    assert np.isnan(bursts(*[10 * MB] * 5, **delays).high[0])


def test_nothing_acknowledged_shows_nothing():
    found = capacity(counted([0, 0]), np.array([np.nan]))
    assert np.isnan([found.estimate, found.low, found.high]).all()


@given(LONG, st.integers(1, 10**10), st.integers(1, 60), st.integers(0, 80))
def test_the_range_holds_the_estimate_and_nothing_below_what_was_sustained(
    rates, sustained, segments, waited
):
    found = bursts(*rates, sustained=sustained, segments=segments, waited=waited)
    assert sustained <= found.low[0] <= found.estimate[0]
    assert not found.high[0] < found.estimate[0]


@given(st.lists(LONG, min_size=1, max_size=4))
def test_a_flow_has_the_same_capacity_beside_others(flows):
    numbers = [number for number, rates in enumerate(flows) for _ in rates]
    together = bursts(*(rate for rates in flows for rate in rates), flow=numbers)
    for number, rates in enumerate(flows):
        alone = bursts(*rates)
        assert [one[number] for one in together] == pytest.approx([one[0] for one in alone], nan_ok=True)


@given(captures())
def test_the_columns_of_any_capture_are_in_order(drawn):
    flows = bdpcap.analyze(io.BytesIO(pcap(drawn.packets))).flows
    low, rate, high = (flows[f"capacity{name}_bps"] for name in ("_low", "", "_high"))
    assert (low.isna() | (low <= rate)).all()
    assert (high.isna() | (rate <= high)).all()


# Words


def row(**values):
    return {
        "capacity_bps": 10e6,
        "capacity_low_bps": 9.8e6,
        "capacity_high_bps": 10.2e6,
        "bdp_bytes": 100_000,
        "link_share": 0.0,
    } | values


@pytest.mark.parametrize(
    ("values", "on", "rate", "product"),
    [
        pytest.param(
            {"link_share": 0.5}, Basis.FILLED, "about 10.0 Mbit/s", "about 100,000 bytes", id="filled"
        ),
        pytest.param({}, Basis.BURSTS, "about 10.0 Mbit/s", "about 100,000 bytes", id="bursts agree"),
        pytest.param(
            {"capacity_high_bps": 20e6},
            Basis.BOUND,
            "between 9.80 Mbit/s and 20.0 Mbit/s",
            "between 98,000 bytes and 200,000 bytes",
            id="bursts do not agree",
        ),
        pytest.param(
            {"capacity_high_bps": None},
            Basis.BOUND,
            "at least 9.80 Mbit/s",
            "at least 98,000 bytes",
            id="bound",
        ),
        pytest.param({"capacity_low_bps": None}, None, "", "", id="nothing sustained"),
    ],
)
def test_words_say_how_far_the_bursts_agree(values, on, rate, product):
    assert basis(row(**values)) is on
    assert (spoken(row(**values)), spoken_bdp(row(**values))) == (rate, product)


def test_arithmetic_rests_on_the_lowest_rate_unless_bursts_agree():
    bound = row(capacity_high_bps=None)
    assert (known_bps(row()), known_bdp(row())) == (10e6, 100_000)
    assert (known_bps(bound), known_bdp(bound)) == pytest.approx((9.8e6, 98_000))
    assert (word(row()), word(bound)) == ("about ", "at least ")
    assert [label(one, "the BDP") for one in (row(link_share=0.5), row(), bound)] == [
        "the BDP",
        "the BDP (estimate)",
        "the BDP (at least)",
    ]
