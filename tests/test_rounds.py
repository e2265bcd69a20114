"""Arithmetic over rounds: neighbours, sums and percentiles that never leave a flow."""

from __future__ import annotations

import io

import numpy as np
import pytest
from by_hand import rounds
from hypothesis import given
from hypothesis import strategies as st
from packets import Address, pcap
from scenario import HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap import _core
from bdpcap.limits.confidence import distances
from bdpcap.limits.counts import Column, Counts


def test_neighbours_do_not_reach_into_another_flow():
    two = rounds([0, 0, 1, 1])
    assert two.near(np.array([True, False, False, False]), 1, 1).tolist() == [True, True, False, False]
    assert two.around(np.array([1.0, 2.0, 4.0, 8.0]), 1).tolist() == [3.0, 3.0, 12.0, 12.0]
    assert two.shifted(np.array([1, 2, 4, 8]), 1, 0).tolist() == [2, 0, 8, 0]
    assert two.total(np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [3.0, 3.0, 12.0, 12.0]


def test_the_running_maximum_starts_anew_with_each_flow():
    two = rounds([0, 0, 0, 1, 1])
    assert two.most_so_far(np.array([5.0, 9.0, 7.0, 1.0, 3.0])).tolist() == [5.0, 9.0, 9.0, 1.0, 3.0]


def test_a_percentile_weighs_by_time_within_its_flow():
    two = rounds([0, 0, 1])
    values, weights = np.array([10.0, 20.0, 99.0]), np.array([3.0, 1.0, 1.0])
    assert two.percentile(values, weights, 0.5).tolist() == [10.0, 10.0, 99.0]
    assert two.percentile(values, weights, 0.9).tolist() == [20.0, 20.0, 99.0]


def test_a_percentile_of_nothing_is_unknown():
    two = rounds([0, 1])
    assert np.isnan(two.percentile(np.array([np.nan, 5.0]), np.ones(2), 0.5)).tolist() == [True, False]


def test_what_the_core_did_not_measure_is_no_number():
    one = rounds([0, 0], rtt_ns=[_core.NULL, 7])
    assert one.rtt_ns.tolist() == pytest.approx([np.nan, 7.0], nan_ok=True)


def test_every_column_of_the_core_is_a_declared_field():
    declared = {name for name, value in vars(Counts).items() if isinstance(value, Column)}
    assert declared == set(rounds([0]).columns)


OWN, PEERS, ANSWERING = 0, 1, 2
CONVERSATION = """
    +.300 > P. 1:101(100)   ack 1   win 502
    +.020 < .  1:1(0)       ack 101 win 512
    +.200 < P. 1:301(300)   ack 101 win 512
    +.001 > .  101:101(0)   ack 301 win 502
    +.500 > P. 101:201(100) ack 301 win 502
    +.020 < P. 301:601(300) ack 201 win 512
    +.001 > .  201:201(0)   ack 601 win 502
    +.400 > .  200:200(0)   ack 601 win 502
    +.400 > F. 201:201(0)   ack 601 win 502
    +.020 < .  601:601(0)   ack 202 win 512
"""


def test_a_wait_with_nothing_in_flight_is_divided_where_the_turn_passes():
    core = _core.Analysis([io.BytesIO(pcap(scenario(HANDSHAKE + CONVERSATION)))])
    core.advance(100)
    made, _ = core.rounds()
    waits = [
        (direction, int(turn), round(lasting / 1e6))
        for direction, turn, lasting, empty in zip(
            made["direction"], made["turn"], made["end_ns"] - made["start_ns"], made["empty_ns"], strict=True
        )
        if empty
    ]
    client, server = ([wait[1:] for wait in waits if wait[0] == side] for side in (0, 1))
    # A FIN is no byte in flight: 20 ms pass until its acknowledgment, which the column `after_fin` sets apart.
    assert client == [(OWN, 320), (PEERS, 200), (ANSWERING, 501), (PEERS, 801), (OWN, 20)]
    # The tap is beside the client, 10 ms from the server, so a request arrives 10 ms later than it passes the tap.
    assert server == [(PEERS, 330), (ANSWERING, 200), (PEERS, 500), (PEERS, 810)]


def test_a_column_is_converted_when_it_is_first_read():
    one = rounds([0, 0], sent_bytes=[1, 2])
    assert "sent_bytes" not in vars(one)
    assert one.sent_bytes.dtype == np.float64
    assert one.sent_bytes is one.sent_bytes


def test_a_flow_of_no_rounds_is_no_error():
    none = rounds(np.zeros(0, dtype=np.int64))
    assert none.median_around(np.zeros(0), 2, 2).tolist() == []
    assert none.around(np.zeros(0), 2).tolist() == []


def test_what_held_until_it_failed():
    two = rounds([0, 0, 0, 0, 1, 1])
    holds = np.array([True, True, False, True, False, True])
    # The first in which it does not hold is the last of the run.
    assert two.until_not(holds).tolist() == [True, True, True, False, True, False]


@pytest.mark.parametrize(
    ("flight", "expected"),
    [
        pytest.param([9] * 9, 9, id="one regime"),
        # The fifth round belongs to what follows: the four before were another regime.
        pytest.param([2, 2, 2, 2, 9, 9, 9, 9, 9], 5, id="after a change"),
        pytest.param([9, 9, 9, 9, 9, 2, 2, 2, 2], 5, id="before a change"),
        pytest.param([2, 2, 2, 2, 9, 2, 2, 2, 2], 9, id="a round of its own"),
    ],
)
def test_a_side_with_another_flight_is_left_out(flight, expected):
    one = rounds([0] * 9, in_flight_max_bytes=[1000 * value for value in flight])
    assert one.around_similar(np.ones(9))[4] == expected


# Against what a reader would write.

VALUES = st.one_of(st.just(np.nan), st.integers(0, 1000).map(float))
FLOWS = st.lists(st.tuples(st.integers(0, 3), VALUES), min_size=1, max_size=30).map(
    lambda rows: sorted(rows, key=lambda row: row[0])
)


def numbered(rows):
    """Flows counted from 0 without gaps, and the values."""
    flow = np.unique([flow for flow, _ in rows], return_inverse=True)[1]
    return flow, np.array([value for _, value in rows])


def spans(flow, before, after):
    """Indices around each round, within its flow."""
    for at, own in enumerate(flow):
        near = range(max(at - before, 0), min(at + after + 1, len(flow)))
        yield [other for other in near if flow[other] == own]


@given(FLOWS, st.integers(0, 5), st.integers(0, 5))
def test_the_median_around_is_that_of_what_is_known(rows, before, after):
    flow, values = numbered(rows)
    found = rounds(flow).median_around(values, before, after)
    for result, span in zip(found, spans(flow, before, after), strict=True):
        seen = values[span][np.isfinite(values[span])]
        assert result == pytest.approx(np.median(seen) if seen.size else np.nan, nan_ok=True)


@given(FLOWS, st.integers(0, 5))
def test_sums_and_means_around_count_the_unknown_as_nothing(rows, reach):
    flow, values = numbered(rows)
    made = rounds(flow)
    expected = [np.nansum(values[span]) for span in spans(flow, reach, reach)]
    assert made.around(values, reach).tolist() == expected
    sizes = [len(span) for span in spans(flow, reach, reach)]
    means = np.array(expected) / sizes
    assert made.mean_around(values, reach).tolist() == pytest.approx(means.tolist())


@given(FLOWS)
def test_the_latest_is_the_newest_that_is_known(rows):
    flow, values = numbered(rows)
    found = rounds(flow).latest(values)
    for result, span in zip(found, spans(flow, len(flow), 0), strict=True):
        seen = values[span][np.isfinite(values[span])]
        assert result == pytest.approx(seen[-1] if seen.size else np.nan, nan_ok=True)


@given(FLOWS, st.floats(0.01, 1.0))
def test_a_percentile_is_the_least_value_that_reaches_its_part_of_the_weight(rows, part):
    flow, values = numbered(rows)
    weights = np.arange(1.0, len(flow) + 1)
    found = rounds(flow).percentile(values, weights, part)
    for at, own in enumerate(flow):
        rows_of = np.flatnonzero((flow == own) & np.isfinite(values))
        order = rows_of[np.argsort(values[rows_of], kind="stable")]
        reached = np.cumsum(weights[order])
        if not order.size:
            assert np.isnan(found[at])
        else:
            first = np.flatnonzero(reached >= part * reached[-1] * (1 - 1e-9))[0]
            assert found[at] == values[order][first]


def test_a_round_is_near_a_change_of_the_limit_or_the_limit_wavers():
    limit = np.array(["cwnd"] * 20 + ["link"] * 20 + ["cwnd", "link", "cwnd"] + ["rwnd"] * 20, dtype=object)
    places = distances(rounds(np.zeros(len(limit), dtype=np.int64)), limit)
    assert places[[0, 1, 4, 5, 14, 15, 18, 19, 20, 21, 25]].tolist() == [
        *("edge", "near", "near", "inside", "inside", "near", "near", "edge", "edge", "near", "inside")
    ]
    assert set(places[39:44]) == {"wavering"}


@given(FLOWS, st.integers(-5, 5))
def test_a_neighbour_is_the_round_so_many_later_in_the_same_flow(rows, by):
    flow, values = numbered(rows)
    inside = [0 <= at + by < len(flow) and flow[at + by] == own for at, own in enumerate(flow)]
    expected = [values[at + by] if there else -1.0 for at, there in enumerate(inside)]
    np.testing.assert_array_equal(rounds(flow).shifted(values, by, -1.0), expected)


@given(FLOWS, st.integers(0, 5), st.integers(0, 5))
def test_what_holds_near_holds_in_a_round_of_the_span(rows, before, after):
    flow, values = numbered(rows)
    holds = values > 500
    expected = [bool(holds[span].any()) for span in spans(flow, before, after)]
    assert rounds(flow).near(holds, before, after).tolist() == expected


@given(FLOWS)
def test_the_median_of_a_flow_is_that_of_what_is_known_of_it(rows):
    flow, values = numbered(rows)
    found = _core.medians(values, rounds(flow).starts)
    for own, result in enumerate(found):
        seen = values[(flow == own) & np.isfinite(values)]
        assert result == pytest.approx(np.median(seen) if seen.size else np.nan, nan_ok=True)


@pytest.mark.parametrize(
    ("bytes_each", "server_ttl", "gap_s", "limit"),
    [
        (1000, 40, 0.229, "unknown"),
        (1000, 40, 2, "app"),  # no round trip takes so long
        (1000, 64, 0.229, "unknown"),  # TTLs show no place
        (700, 40, 0.229, "app"),  # data that ends in a short segment was all that there was
    ],
)
def test_a_silence_after_full_segments_may_be_a_round_trip_that_no_handshake_measured(
    bytes_each, server_ttl, gap_s, limit
):
    """Next to the receiver, a download of which the capture has the middle comes in flights of a window."""
    lines, sent = ["0 > . 1:1(0) ack 1 win 502"], 1
    for _ in range(20):
        middle, end = sent + 1000, sent + 1000 + bytes_each
        lines += [
            f"+{gap_s} < . {sent}:{middle}(1000) ack 1 win 512 ttl {server_ttl}",
            f"+.0001 < . {middle}:{end}({bytes_each}) ack 1 win 512 ttl {server_ttl}",
            f"+.0001 > . 1:1(0) ack {end} win 502",
        ]
        sent = end
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines)))))
    flow = capture.flow(0, str(SERVER))
    assert flow.summary["limit"] == limit
    assert (flow.rtts["rule"] == "unmeasured").any() or limit == "app"


@pytest.mark.parametrize(
    ("server", "end"),
    [("93.184.216.34", "the receiver, 192.168.1.2"), ("192.168.1.9", "the sender, 192.168.1.9")],
)
def test_who_captures_again_captures_at_an_own_end(server, end):
    lines, sent = ["0 > . 1:1(0) ack 1 win 502"], 1
    for _ in range(20):
        lines += [
            f"+.229 < . {sent}:{sent + 1000}(1000) ack 1 win 512 ttl 40",
            f"+.0001 > . 1:1(0) ack {sent + 1000} win 502",
        ]
        sent += 1000
    ends = {"client": Address("192.168.1.2", 40000), "server": Address(server, 80)}
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines), **ends))))
    advice = capture.flow(0, str(ends["server"])).remedy
    assert advice.where == end
    assert advice.words.startswith("Capture again there, from the handshake on: ")


def test_a_measured_round_trip_hides_no_silence():
    lines, sent = [HANDSHAKE], 1
    for _ in range(20):
        lines += [
            f"+.229 < . {sent}:{sent + 1000}(1000) ack 1 win 512",
            f"+.0001 > . 1:1(0) ack {sent + 1000} win 502",
        ]
        sent += 1000
    capture = bdpcap.analyze(io.BytesIO(pcap(scenario("\n".join(lines)))))
    assert not (capture.flow(0, str(SERVER)).rtts["rule"] == "unmeasured").any()
