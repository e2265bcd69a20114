"""What others delivered the same way, meanwhile: on spans that a reader can add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdpcap.limits.evidence.cross_traffic import meanwhile

HERE, THERE, ELSEWHERE = "10.0.0.1", "10.0.0.2", "10.0.0.3"


def others(rounds, flows, datagrams=()):
    """Rounds are (flow, start, end, bytes), flows (sender, receiver), datagrams (sender, receiver, start, end, bytes)."""
    flow, start, end, delivered = (np.array(column, dtype=np.int64) for column in zip(*rounds, strict=True))
    columns = zip(*datagrams, strict=True) if datagrams else [()] * 5
    names = ("sender", "receiver", "start_ns", "end_ns", "payload_bytes")
    of_datagrams = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
    hosts = [[end.rpartition(":")[0] for end in ends] for ends in [*flows, *(one[:2] for one in datagrams)]]
    path = np.array([hosts.index(way) for way in hosts])
    path, path_of_datagrams = path[: len(flows)], path[len(flows) :]
    return meanwhile(
        {"start_ns": start, "end_ns": end, "delivered_bytes": delivered},
        path[flow],
        of_datagrams,
        path_of_datagrams,
    )


def test_the_others_rounds_count_for_as_long_as_they_meet():
    rounds = [(0, 0, 100, 1000), (0, 100, 200, 1000), (1, 50, 150, 600), (1, 150, 250, 400)]
    flows = [(f"{HERE}:1", f"{THERE}:2"), (f"{HERE}:3", f"{THERE}:4")]
    # Half of 600; the other half, and half of 400; half of each 1000; half of one.
    assert others(rounds, flows).tolist() == pytest.approx([300, 500, 1000, 500])


def test_another_way_does_not_count():
    rounds = [(number, 0, 100, 1000) for number in range(3)]
    flows = [(f"{HERE}:1", f"{THERE}:2"), (f"{THERE}:2", f"{HERE}:1"), (f"{HERE}:1", f"{ELSEWHERE}:2")]
    assert others(rounds, flows).tolist() == [0, 0, 0]


def test_datagrams_count_evenly_over_their_life():
    rounds = [(0, 100, 200, 1000), (0, 200, 300, 1000)]
    flows = [(f"[::1]:{1}", "[::2]:2")]
    datagrams = [("[::1]:5", "[::2]:6", 150, 250, 800), ("[::2]:6", "[::1]:5", 0, 300, 9000)]
    assert others(rounds, flows, datagrams).tolist() == pytest.approx([400, 400])


def test_what_came_in_one_instant_is_no_endless_rate():
    rounds = [(0, 0, 100, 1000), (1, 50, 50, 500)]
    flows = [(f"{HERE}:1", f"{THERE}:2"), (f"{HERE}:3", f"{THERE}:4")]
    assert others(rounds, flows).tolist() == pytest.approx([500, 10])


def test_a_clock_that_was_set_years_ahead_leaves_nothing_to_divide_by():
    rounds = [(0, 0, 100, 1000), (1, 17 * 10**17, 17 * 10**17, 500)]
    flows = [(f"{HERE}:1", f"{THERE}:2"), (f"{HERE}:3", f"{THERE}:4")]
    assert others(rounds, flows).tolist() == [0, 0]


# Up to 100 bytes a nanosecond, 800 Gbit/s.
spans = st.tuples(st.integers(0, 2), st.integers(0, 10**12), st.integers(1, 10**10), st.integers(0, 100)).map(
    lambda drawn: (*drawn[:3], drawn[2] * drawn[3])
)


@given(st.lists(spans, min_size=1, max_size=30))
def test_each_span_gets_its_part_of_every_other(drawn):
    rounds = [(flow, start, start + length, amount) for flow, start, length, amount in drawn]
    flows = [(f"{HERE}:{port}", f"{THERE}:9") for port in range(3)]
    expected, alone = [], []
    for i, (_, start, end, _) in enumerate(rounds):
        met = [
            amount * max(0, min(end, last) - max(start, first)) / (last - first)
            for j, (_, first, last, amount) in enumerate(rounds)
            if j != i
        ]
        expected.append(sum(met))
        alone.append(
            all(end <= first or last <= start for j, (_, first, last, _) in enumerate(rounds) if j != i)
        )
    found = others(rounds, flows)
    # Sums of rates leave a rounding: 60 steps of 3,000 bytes a nanosecond, to 53 bits, over 10**12 ns are 20 bytes.
    assert found.tolist() == pytest.approx(expected, rel=1e-6, abs=20)
    assert found[alone].tolist() == [0.0] * sum(alone)
