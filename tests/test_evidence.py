"""Evidence about rounds whose counts are set by hand: each quantity by what its name says."""

from __future__ import annotations

import io
import json
from typing import get_args

import numpy as np
import pytest
import zstandard
from by_hand import DECLARED, MS, MSS, counted
from hypothesis import given
from hypothesis import strategies as st
from oracles import SHARED
from packets import pcap
from strategies import captures

import bdpcap
from bdpcap import _core
from bdpcap.limits.evidence import declared
from bdpcap.limits.evidence.field import Unit
from bdpcap.limits.evidence.writes import PEERS_TURN

LAB = SHARED / "captures/lab"


# Declarations


@pytest.mark.parametrize("name", DECLARED)
def test_a_quantity_has_a_unit_and_says_what_it_is(name):
    assert declared(name).unit in get_args(Unit)
    assert declared(name).__doc__.strip().endswith((".", "?"))


@pytest.mark.parametrize("name", DECLARED)
def test_a_quantity_knows_its_full_name(name):
    assert declared(name).name == name


def test_a_name_that_no_concept_declares_is_an_error():
    with pytest.raises(KeyError):
        declared("window.colour")
    with pytest.raises(KeyError):
        declared("weather.rain")


def values_of(evidence):
    return {name: evidence.value(declared(name)) for name in DECLARED}


@given(captures())
def test_every_quantity_has_a_value_for_every_round_of_any_capture(drawn):
    analysis = bdpcap.analyze(io.BytesIO(pcap(drawn.packets)))
    evidence = analysis._contents.verdicts.gathered[0]
    for name, values in values_of(evidence).items():
        assert values.shape == (evidence.rounds.size,), name
        known = values[np.isfinite(values)]
        if declared(name).unit == "yes":
            assert values.dtype == bool, name
        else:
            assert not np.isinf(values).any(), name
            # No amount or time is negative; what is left of a queue may be.
            assert name == "queue.unmerged_packets" or known.min(initial=0.0) >= 0.0, name


def test_no_round_is_no_error():
    none = counted(np.zeros(0, dtype=np.int64))
    assert {values.size for values in values_of(none).values()} == {0}


def test_a_flow_says_the_same_beside_another():
    """What is said of a flow does not depend on which else the capture holds."""
    generator = np.random.default_rng(1)

    def drawn(count):
        sizes = dict.fromkeys(("sent_bytes", "acked_bytes", "delivered_bytes", "in_flight_max_bytes"), 20_000)
        times = dict.fromkeys(
            ("rtt_ns", "empty_ns", "queueing_ns", "queueing_delay_p20_ns", "silence_ns"), 20 * MS
        )
        few = dict.fromkeys(
            ("sent_segments", "acks", "short_segments", "bursts", "empty_starts", "acks_with_payload"), 9
        )
        return {name: generator.integers(0, top, count) for name, top in (sizes | times | few).items()}

    one, other = drawn(20), drawn(30)
    together = counted([0] * 20 + [1] * 30, **{name: np.append(one[name], other[name]) for name in one})
    alone = counted([0] * 20, **one)
    both = values_of(together)
    for name, values in values_of(alone).items():
        assert values.tolist() == pytest.approx(both[name][:20].tolist(), nan_ok=True), name


# The rate


@pytest.mark.parametrize(
    ("spacing", "paused", "waited_ns", "expected"),
    [
        pytest.param([90, 50, 50], [1, 1, 1], 0, 50, id="the highest that another burst bears out"),
        pytest.param([90, 50, 50], [1, 1, 0], 0, 90, id="what comes evenly bears out nothing"),
        pytest.param([90, 50, 40], [1, 1, 1], 0, 90, id="none bears out another: the highest"),
        pytest.param(
            [90, 50, 40], [1, 1, 1], 2e8, 40, id="20 and 10 cannot have waited where 9 were sent, 8 can"
        ),
        pytest.param([50, 50, 50], [0, 0, 0], 0, None, id="no burst"),
    ],
)
def test_the_rate_of_the_first_bursts(spacing, paused, waited_ns, expected):
    rate = counted(
        [0, 0, 0],
        mss=1,
        length_ns=[10, 10, 10],
        ack_spacing_rate=spacing,
        ack_pauses_ns=[5 * pause for pause in paused],
        queueing_delay_p20_ns=[waited_ns] * 3,
        sent_segments=[9] * 3,
    ).rate
    assert rate.initial_burst[0] == pytest.approx(np.nan if expected is None else expected, nan_ok=True)
    # Borne out or not, the highest of those that were not held up.
    assert expected is None or rate.highest_burst[0] >= rate.initial_burst[0]


@pytest.mark.parametrize(("has_timestamps", "burst"), [(True, 90e6), (False, 50e6)], ids=["yes", "no"])
def test_one_fast_burst_counts_only_where_timestamps_bear_it_out(has_timestamps, burst):
    # A coalesced interrupt delivered the packets of one burst together.
    rate = counted(
        [0, 0, 0],
        at_sender=False,
        ack_spacing_rate=[50e6, 90e6, 50e6],
        ack_pauses_ns=[10 * MS] * 3,
        sent_segments=[9] * 3,
        delivered_bytes=[800_000] * 3,  # 40 MB/s
        answered_tsvals=[9 * has_timestamps] * 3,
    ).rate
    assert rate.over_highest[1] == pytest.approx(min(40e6 / burst + 0.04, 40e6 / 50e6))


@pytest.mark.parametrize(("has_timestamps", "spacing"), [(True, 90e6), (False, 40e6)], ids=["yes", "no"])
def test_where_only_arrivals_show_rates_those_over_stretches_count(has_timestamps, spacing):
    # Of the initial bursts, the first is too short for a stretch.
    rate = counted(
        [0, 0, 0],
        at_sender=False,
        ack_spacing_rate=[90e6, 90e6, 90e6],
        ack_steady_rate=[_core.NULL, 40e6, 40e6],
        ack_pauses_ns=[10 * MS] * 3,
        sent_segments=[9] * 3,
        answered_tsvals=[9 * has_timestamps] * 3,
    ).rate
    assert rate.spacing.tolist() == [90e6, spacing, spacing]
    assert rate.initial_burst[0] == pytest.approx(spacing)


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("view", ["sender", "middle", "receiver"])
def test_the_capacity_is_the_rate_that_the_emulator_was_set_to(view):
    # A flow of single short segments shows no rate. Each packet of 1448 bytes takes 90 bytes more on the wire;
    # 5 % is what the clumps of a small send buffer's bursts leave.
    for folder in sorted(LAB.iterdir()):
        if folder.name != "app_small_writes":
            rate_mbps = float(json.loads((folder / "meta.json").read_text())["params"]["rate_mbps"])
            flow = bdpcap.analyze(next(folder.glob(f"{view}.pcap*"))).flows.iloc[0]
            assert flow["capacity_bps"] / 1e6 == pytest.approx(rate_mbps * 1448 / 1538, rel=0.05), folder.name


# The queue


@pytest.mark.parametrize(
    ("silence_ms", "waited_ms", "share"),
    [(0, 10, 1.0), (30, 30, 1.0), (90, 10, 0.2)],
    ids=["none", "short", "long"],
)
def test_a_queue_does_not_outlast_a_longer_silence(silence_ms, waited_ms, share):
    queue = counted(
        [0],
        length_ns=[100 * MS],
        queueing_ns=[100 * MS],
        silence_ns=[silence_ms * MS],
        rtt_ns=[(50 + waited_ms) * MS],
        flow_rtt_min_ns=[50 * MS],
    ).queue
    assert queue.share.tolist() == [pytest.approx(share)]


@pytest.mark.parametrize(
    ("sent", "delivered", "alone"),
    [
        pytest.param([10, 90], [0, 100], [False, True], id="nearly all in one round"),
        pytest.param([30, 30, 30], [30, 30, 30], [False] * 3, id="a third each"),
        pytest.param([100, 0], [0, 100], [True, True], id="sent in one, delivered in the next"),
        pytest.param([0, 0], [0, 0], [False, False], id="no data"),
    ],
)
def test_a_round_with_most_of_the_data_has_no_other_to_compare_with(sent, delivered, alone):
    columns = {"sent_bytes": sent, "delivered_bytes": delivered, "acked_bytes": delivered}
    assert counted([0] * len(sent), columns=columns).rate.alone.tolist() == alone


@pytest.mark.parametrize(
    ("sent", "flight", "again", "whole"),
    [
        pytest.param([9000, 0], [9000, 9000], 0, [True, False], id="all at once"),
        pytest.param([9000, 1], [9000, 1], 0, [False, False], id="a byte later"),
        pytest.param([9000, 0], [5000, 5000], 0, [False, False], id="some acknowledged before all was sent"),
        pytest.param([9000, 0], [9000, 9000], 1, [False, False], id="some lost"),
    ],
)
def test_a_flight_of_all_data_leaves_nothing_to_send(sent, flight, again, whole):
    columns = {"sent_bytes": sent, "in_flight_max_bytes": flight, "retransmitted_bytes": [0, again]}
    assert counted([0, 0], columns=columns).flight.whole.tolist() == whole


def standing(*, at_sender=True, **more):
    """Six rounds of 20 ms at 1 MB/s, with 5 ms of queue: five packets of 1000 bytes."""
    same = {
        "sent_bytes": 20_000,
        "sent_segments": 20,
        "delivered_bytes": 20_000,
        "acked_bytes": 20_000,
        "acks": 10,
        "rtt_samples": 10,
        "rtt_min_ns": 25 * MS,
        "rtt_ns": 25 * MS,
        "rtt_max_ns": 25 * MS,
        "flow_rtt_min_ns": 20 * MS,
        "queueing_delay_p20_ns": 5 * MS,
        "queueing_ns": 20 * MS,
        "delivery_rate": 1_000_000,
        "in_flight_max_bytes": 25_000,
    }
    columns = {name: np.broadcast_to(value, 6).tolist() for name, value in (same | more).items()}
    return counted([0] * 6, at_sender=at_sender, columns=columns)


def test_a_queue_is_counted_in_packets_at_the_rate_that_serves_it():
    queue = standing().queue
    assert queue.delay.tolist() == pytest.approx([5.0] * 6)
    assert queue.packets.tolist() == pytest.approx([5.0] * 6)
    assert queue.always_packets.tolist() == pytest.approx([5.0] * 6)
    assert queue.least_rtt.tolist() == pytest.approx([1.25] * 6)
    assert queue.stands.all()


def test_a_round_that_only_delivers_has_the_queue_of_the_data_that_it_delivers():
    # A write of 8 kB crosses a link of 250 kbit/s in two round trips, and is sent in the first of them.
    queue = counted(
        [0] * 2,
        sent_bytes=[8192, 0],
        acked_bytes=[2920, 5272],
        delivered_bytes=[2920, 5272],
        queueing_ns=[20 * MS, 0],
        queueing_delay_p20_ns=[170 * MS, -(2**63)],
        rtt_ns=[190 * MS, -(2**63)],
        flow_rtt_min_ns=[20 * MS] * 2,
    ).queue
    assert queue.share.tolist() == [1, 1]
    assert queue.delay_p20_ns.tolist() == [170 * MS] * 2


def test_what_merged_acknowledgments_wait_is_no_queue():
    # An acknowledgment each 10 ms of ten packets: whoever merges them may hold each for as long, ten packets' time.
    queue = standing(acks=2).queue
    assert queue.unmerged_packets.max() <= 0
    assert queue.always_packets.max() <= 0


@pytest.mark.parametrize(("at_sender", "late_round"), [(True, 3), (False, 3), (False, 2)])
def test_a_queue_of_acknowledgments_is_on_the_return_path(at_sender, late_round):
    # The data of round 2 wait 5 ms in all. Their acknowledgments come in round 3, or in the same round.
    late = [5 * MS * (number == late_round) for number in range(6)]
    queue = standing(reverse_delay_p20_ns=late, at_sender=at_sender).queue
    assert queue.on_return_path[2]
    assert not queue.on_return_path[4]


@pytest.mark.parametrize(("least_ms", "before"), [(21, False), (30, True)], ids=["none", "others'"])
def test_a_queue_before_the_flow_shows_in_its_first_round_trips(least_ms, before):
    # A slow start ends before it fills a queue: its RTTs do not rise, with others' packets queued or without.
    opening = [10_000, 20_000, 40_000, 80_000, 80_000, 80_000]
    queue = standing(
        in_flight_max_bytes=opening, rtt_min_ns=least_ms * MS, rtt_ns=31 * MS, rtt_max_ns=31 * MS
    ).queue
    assert queue.before_flow.tolist() == [before] * 6


# The ACK clock


def sleeper(asleep_ms, *, at_sender=True, **columns):
    """Rounds of 20 ms, of a sender that slept for part of each."""
    count = len(asleep_ms)
    slept = [ms * MS for ms in asleep_ms]
    told = {"sent_bytes": [1000] * count, "answered_tsvals": [5] * count} | columns
    return counted(
        [0] * count, at_sender=at_sender, writer_blocked_max_ns=slept, writer_blocked_ns=slept, **told
    ).ack_clock


def test_a_round_of_which_the_capture_lost_some_was_slept_through_if_those_around_it_were():
    clock = sleeper([18, 2, 18, 2, 18, 12, 12], unseen_bytes=[0, 0, 0, 0, 9, 0, 0])
    assert clock.blocked_share.tolist() == [0.9, 0.1, 0.9, 1.0, 0.9, 0.6, 0.6]


@pytest.mark.parametrize(
    ("asleep_ms", "sent", "missed", "seen"),
    [
        ([18, 2, 18, 2], [1000, 5000, 1000, 5000], 0, True),
        ([18, 2, 18, 2], [3000, 3500, 3000, 3500], 0, False),
        ([5, 2, 5, 2], [1000, 5000, 1000, 5000], 0, False),
        ([18, 2, 18, 2], [1000, 5000, 1000, 5000], 9, False),
    ],
    ids=["in turns", "round like round", "short sleeps", "lost by the capture"],
)
def test_from_afar_sleep_is_seen_where_it_is_long_and_takes_turns(asleep_ms, sent, missed, seen):
    far = sleeper(asleep_ms, at_sender=False, sent_bytes=sent, unseen_bytes=[0, 0, 0, missed])
    assert far.blocked_share.tolist() == [0.9, 0.1, 0.9, 0.1] if seen else np.isnan(far.blocked_share).all()


@pytest.mark.parametrize(
    ("at_sender", "echoed", "expected"),
    [
        pytest.param(True, 4, 0.4, id="echoes tell wherever the capture was taken"),
        pytest.param(False, 4, 0.4, id="from afar, too"),
        pytest.param(True, 0, 0.9, id="without, data that follow an acknowledgment at once"),
        pytest.param(False, 0, None, id="from afar that is not seen"),
    ],
)
def test_the_share_of_acknowledgments_that_data_answered(at_sender, echoed, expected):
    clock = counted(
        [0] * 3,
        at_sender=at_sender,
        ack_tsvals=[10] * 3,
        answered_tsvals=[echoed] * 3,
        acks=[10] * 3,
        answered_acks=[9] * 3,
    ).ack_clock
    wanted = [np.nan if expected is None else expected] * 3
    assert clock.ack_response.tolist() == pytest.approx(wanted, nan_ok=True)
    assert clock.unseen.tolist() == [expected is None] * 3


@pytest.mark.parametrize("wait_us", [50, 300, 1000])
def test_a_burst_that_waits_for_a_slow_host_did_not_come_by_chance(wait_us):
    # Three acknowledgments in 20 ms: one comes in any given millisecond with 15 %.
    clock = counted(
        [0] * 9,
        acks=[3] * 9,
        bursts=[1] * 9,
        burst_freed_bytes=[9000] * 9,
        burst_wait_ns=[1000 * wait_us] * 9,
    ).ack_clock
    assert clock.chance.tolist() == pytest.approx([3 * wait_us / 20_000] * 9)


@pytest.mark.parametrize(
    ("after_loss", "late_ms", "short_before", "own"),
    [
        (True, 2, 0, 0),
        # No loss made the window small, the sender waited, or a short segment had ended its data.
        (False, 2, 0, 9),
        (True, 6, 0, 9),
        (True, 2, 1, 9),
    ],
)
def test_a_small_windows_next_data_wait_for_the_acknowledgment_that_empties_it(
    after_loss, late_ms, short_before, own
):
    # Two segments per round trip of 20 ms, seen at the receiver: one acknowledgment for both leaves nothing in flight.
    clock = counted(
        [0] * 10,
        at_sender=False,
        rtt_ns=[20 * MS] * 10,
        rtt_min_ns=[20 * MS] * 10,
        flow_rtt_min_ns=[20 * MS] * 10,
        retransmitted_bytes=[MSS * after_loss] + [0] * 9,
        retransmitted_segments=[after_loss] + [0] * 9,
        in_flight_max_bytes=[2 * MSS] * 10,
        empty_starts=[0] + [1] * 9,
        empty_ns=[0] + [late_ms * MS] * 9,
        short_ends=[0] + [short_before] * 9,
    ).ack_clock
    assert clock.own_starts[5] == own


def test_bursts_that_come_at_any_time_are_seen_by_their_share():
    # Acknowledgments of 2,000 bytes at 500 bytes/ms are 4 ms apart: half of a timer's bursts come 2 ms later, or more.
    def share(*waits_ms):
        return counted(
            [0] * len(waits_ms),
            acks=[5] * len(waits_ms),
            delivered_bytes=[10_000] * len(waits_ms),
            ack_spacing_rate=[500_000] * len(waits_ms),
            bursts=[1] * len(waits_ms),
            burst_freed_bytes=[9000] * len(waits_ms),
            burst_wait_ns=[MS * wait for wait in waits_ms],
        ).ack_clock.started_share.tolist()

    assert share(0.1, 0.2, 0.1, 0.3) == [1] * 4
    assert share(0.5, 3.5, 1.0, 2.5) == [0.5] * 4


def test_the_times_between_bursts_are_those_of_the_stretch():
    clock = counted(
        [0] * 5,
        burst_period_min_ns=[8 * MS, 8 * MS, 1, 8 * MS, 8 * MS],
        burst_period_max_ns=[10 * MS, 10 * MS, 90 * MS, 10 * MS, 10 * MS],
        flow_rtt_min_ns=[40 * MS] * 5,
    ).ack_clock
    # One odd round is not the stretch's.
    assert clock.period.tolist() == pytest.approx([0.2] * 5)
    assert clock.longest_period.tolist() == pytest.approx([0.25] * 5)
    assert clock.period_spread.tolist() == pytest.approx([0.25] * 5)


def test_a_burst_shows_how_much_of_the_flight_was_freed_before_it():
    # Of 30,000 bytes, acknowledgments free a third before each of two bursts.
    clock = counted(
        [0] * 3, bursts=[2] * 3, burst_freed_bytes=[20_000] * 3, in_flight_max_bytes=[30_000] * 3
    ).ack_clock
    assert clock.freed_share.tolist() == pytest.approx([1 / 3] * 3)


def test_equal_amounts_are_equal_to_the_byte():
    def equal(*sent):
        return counted([0] * len(sent), sent_bytes=list(sent)).writes.equal_amounts.tolist()

    # A round in which nothing is sent says nothing about the size of writes.
    assert equal(32_768, 32_768, 0, 32_768, 32_767) == [0.75] * 5


def test_a_flight_has_a_level_though_round_trips_wander():
    most = [13_000, 13_694, 13_694, 12_900, 13_694, 13_694]
    columns = {"in_flight_max_bytes": most, "sent_bytes": [9000] * 6}
    assert counted([0] * 6, columns=columns).flight.level_share.tolist() == [1.0] * 6
    growing = {"in_flight_max_bytes": [4000 * n for n in range(1, 7)], "sent_bytes": [9000] * 6}
    assert max(counted([0] * 6, columns=growing).flight.level_share) <= 1 / 3


def test_a_peak_is_equal_to_the_byte():
    columns = {"in_flight_max_bytes": [65_536, 65_536, 0, 65_536, 65_535]}
    assert counted([0] * 5, columns=columns).flight.peak_share.tolist() == [0.75] * 5


def test_a_run_has_flights_that_end_at_one_byte():
    columns = {"in_flight_max_bytes": [5000, 5000, 5001, 0, 0, 5001, 5001, 5001]}
    assert counted([0] * 8, columns=columns).flight.run.tolist() == [2, 2, 1, 0, 0, 3, 3, 3]
    # The window would hold no second flight in the second and the third round.
    columns = {"in_flight_max_bytes": [5000] * 6, "window_min_bytes": [20_000, 9000, 9000, *[20_000] * 3]}
    assert counted([0] * 6, columns=columns).flight.run.tolist() == [1, 0, 0, 3, 3, 3]
    # Another flow begins another run.
    columns = {"in_flight_max_bytes": [5000] * 4}
    assert counted([0, 0, 1, 1], columns=columns).flight.run.tolist() == [2, 2, 2, 2]


def test_a_flight_is_exact_if_it_ends_eight_times_at_one_byte_within_a_segment():
    def exact(*most):
        return counted([0] * len(most), columns={"in_flight_max_bytes": most}).flight.exact.tolist()

    assert exact(*[65_536] * 8, 60_000) == [True] * 8 + [False]
    assert not any(exact(*[65_536] * 7, 60_000))
    assert not any(exact(*[65_000] * 9))


def test_a_flight_is_refilled_if_a_third_of_it_follows_within_two_rounds():
    columns = {"in_flight_max_bytes": [9000] * 5, "sent_bytes": [9000, 0, 3000, 2000, 2000]}
    assert counted([0] * 5, columns=columns).flight.refilled.tolist() == [True, True, False, False, False]


def test_a_program_drained_the_pipe_if_a_short_segment_came_before_silence():
    def drained(after_short_ns, sent=0):
        return counted(
            [0] * 3,
            columns={
                "sent_bytes": [5000, sent, 0],
                "empty_ns": [0, 0, 20 * MS],
                "length_ns": [20 * MS] * 3,
                "after_short_ns": [after_short_ns, 20 * MS, 0],
            },
        ).writes.drained.tolist()

    assert drained(0.8 * 20 * MS) == [True, True, False]
    # More came, or the silence was short.
    assert drained(0.8 * 20 * MS, sent=9000) == [False, True, False]
    assert drained(0.2 * 20 * MS) == [False, True, False]


# Loss


@pytest.mark.parametrize(
    ("silent_ms", "flight", "again", "dark"),
    [
        pytest.param([60, 190], 9, 8, [True, True, True, False], id="acknowledgments come for a while yet"),
        pytest.param([60, 100], 9, 8, [False] * 4, id="shorter than any timer"),
        pytest.param([60, 142], 9, 8, [False] * 4, id="shorter than a timer and a round trip"),
        pytest.param([60, 190], 9, 2, [False] * 4, id="little was lost"),
        pytest.param([60, 190], 1, 1, [False] * 4, id="a banner that came late, and twice"),
    ],
)
@pytest.mark.parametrize("at_sender", [False, True])
def test_an_outage_is_the_time_without_data_before_most_is_sent_again(
    silent_ms, flight, again, dark, at_sender
):
    waiting, idle = (silent * MS for silent in silent_ms)
    loss = counted(
        [0] * 4,
        at_sender=at_sender,
        length_ns=[50 * MS, waiting, idle, 50 * MS],
        sent_bytes=[flight * MSS, 0, 0, 100],
        retransmitted_bytes=[0, 0, 0, again * MSS],
        retransmitted_segments=[0, 0, 0, again],
        empty_ns=[0, 0, idle, 0],
        flow_rtt_min_ns=[20 * MS] * 4,
        in_flight_max_bytes=[flight * MSS] * 4,
    ).loss
    # The tap at the sender sees what is lost behind it.
    assert loss.outage.tolist() == ([False] * 4 if at_sender else dark)


@pytest.mark.parametrize("first", ["new data", "a retransmission"])
def test_a_silence_that_new_data_end_is_no_outage(first):
    # A server thinks for 250 ms and then answers; a segment of the answer is lost and retransmitted a round later.
    again = first == "a retransmission"
    loss = counted(
        [0] * 3,
        at_sender=False,
        length_ns=[250 * MS, 50 * MS, 50 * MS],
        sent_bytes=[0, 10 * MSS * (not again), 0],
        retransmitted_bytes=[0, 4 * MSS * again, 4 * MSS],
        retransmitted_segments=[0, 4 * again, 4],
        empty_ns=[250 * MS, 0, 0],
        in_flight_max_bytes=[10 * MSS] * 3,
    ).loss
    assert loss.outage.tolist() == [again, False, False]


def test_data_first_sent_after_a_silence_were_not_lost_in_it():
    # A notice of two segments follows 25 s of quiet, and timers send it again three times.
    loss = counted(
        [0] * 2,
        at_sender=False,
        length_ns=[25_000 * MS, 1_500 * MS],
        sent_bytes=[0, 2 * MSS],
        retransmitted_bytes=[0, 6 * MSS],
        retransmitted_segments=[0, 6],
        empty_ns=[25_000 * MS, 0],
        in_flight_max_bytes=[0, 2 * MSS],
    ).loss
    assert loss.outage.tolist() == [False, False]


@pytest.mark.parametrize(
    ("needless", "segments", "turn", "lost"),
    [
        (True, 1, PEERS_TURN, False),
        # It was lost, there were two, or new data followed.
        (False, 1, PEERS_TURN, True),
        (True, 2, PEERS_TURN, True),
        (True, 1, 0, True),
    ],
)
def test_a_tail_loss_probe_that_had_arrived_is_no_loss(needless, segments, turn, lost):
    # RFC 8985 section 7.2: the last segment is sent again only where no new data wait; then the peer has the turn.
    loss = counted(
        [0] * 3,
        needless=needless,
        sent_bytes=[MSS, 0, 0],
        retransmitted_bytes=[0, segments * MSS, 0],
        retransmitted_segments=[0, segments, 0],
        turn=[0, 0, turn],
    ).loss
    assert (loss.rounds_since >= 0).any() == lost


def test_rounds_since_a_loss_are_counted_from_its_newest_signal():
    loss = counted(
        [0] * 6 + [1],
        duplicate_acks=[0, 2, 3, 0, 0, 0, 0],
        retransmitted_bytes=[0, 0, 0, 0, 1000, 0, 0],
    ).loss
    # Two duplicate acknowledgments are reordering (RFC 5681 section 3.2); the next flow has its own losses.
    assert loss.rounds_since.tolist() == pytest.approx([np.nan, np.nan, 0, 1, 0, 1, np.nan], nan_ok=True)
    assert loss.none_recent.tolist() == [True, True, False, False, False, False, True]


def test_duplicate_acknowledgments_without_a_retransmission_are_reordering():
    loss = counted([0] * 5, duplicate_acks=[0, 9, 0, 0, 0]).loss
    assert loss.none_recent.all()
    assert np.isnan(loss.rounds_since).all()


@pytest.mark.parametrize(
    ("timeouts", "silence_ms", "acked", "expected"),
    [(3, 480, 1, True), (1, 480, 1, False), (3, 100, 1, False), (3, 100, 0, True)],
    ids=["doubling", "once", "in a longer round", "often, at its maximum"],
)
def test_a_timer_that_backs_off_for_most_of_a_round(timeouts, silence_ms, acked, expected):
    counts = {"timeouts": [timeouts], "silence_ns": [silence_ms * MS], "acked_bytes": [acked]}
    loss = counted([0], length_ns=[1000 * MS], **counts).loss
    assert loss.timer_backed_off.tolist() == [expected]


# The flight


def test_slow_start_doubles_and_a_segment_a_round_does_not():
    flight = counted([0] * 5, in_flight_max_bytes=[10_000, 20_000, 40_000, 41_000, 42_000]).flight
    assert flight.doubling.tolist() == [False, True, True, False, False]
    assert flight.growth.tolist() == pytest.approx([np.nan, 2, 2, 1.025, 42 / 41], nan_ok=True)


@pytest.mark.parametrize(
    ("quiet", "lost", "second"), [(0, 0, True), (2, 0, True), (9, 0, False), (0, 1000, False)]
)
def test_the_flight_after_the_initial_window_is_slow_starts_second(quiet, lost, second):
    # Ten segments, 20, 40: after rounds without data, or after a loss.
    flight = counted(
        [0] * (quiet + 3),
        in_flight_max_bytes=[0] * quiet + [10_000, 20_000, 40_000],
        retransmitted_bytes=[lost] + [0] * (quiet + 2),
    ).flight
    assert flight.second.tolist() == [False] * (quiet + 1) + [second, False]


@given(st.integers(0, 4), st.integers(5, 100))
def test_a_window_that_grows_by_so_many_segments_a_round_drifts_by_as_many(step, base):
    size = 1000 * (base + step * np.arange(60))
    flight = counted([0] * 60, in_flight_mean_bytes=size, in_flight_max_bytes=size).flight
    # In the midst, where the stretch lies within the flow.
    assert flight.drift[33:43].tolist() == pytest.approx([step] * 10, abs=0.01)
    if step == 0:
        assert flight.spread.tolist() == [0.0] * 60


@pytest.mark.parametrize(
    ("segments", "since", "regrown"), [(100, 50, False), (100, 70, True), (10, 20, True)]
)
def test_a_congestion_window_regains_what_a_loss_took_in_time(segments, since, regrown):
    # CUBIC: 0.3 of the window at 0.53 segments a round (RFC 9438 section 4.3): 57 rounds for 100 segments.
    flight = counted(
        [0] * (since + 1),
        in_flight_max_bytes=[1000 * segments] * (since + 1),
        retransmitted_bytes=[1000] + [0] * since,
    ).flight
    assert flight.regrown[-1] == regrown


# The window


@pytest.mark.parametrize(
    ("stalled", "expected"),
    [pytest.param(0.0, 0.0, id="never less than a segment left"), pytest.param(0.05, 0.8, id="and it was")],
)
def test_a_window_is_full_if_less_than_a_segment_was_left_for_some_time(stalled, expected):
    window = counted([0], window_full_ns=[16 * MS], window_blocked_ns=[int(stalled * 20 * MS)]).window
    assert window.full_share.tolist() == [expected]


def windows(smallest, largest, flight=None):
    """A round for each pair of windows; the flight is the largest window unless given."""
    return counted(
        [0] * len(largest),
        window_min_bytes=smallest,
        window_max_bytes=largest,
        in_flight_mean_bytes=largest if flight is None else flight,
    ).window


def test_a_window_that_fell_once_and_stands_is_a_buffer():
    # SO_RCVBUF set after accept(): 64,000 bytes at first, then 11,000 for good.
    window = windows([64_000, 11_000] + [11_000] * 12, [64_000, 64_000] + [11_000] * 12)
    assert window.share_of_largest[2:].tolist() == pytest.approx([11 / 64] * 12)
    assert not window.unread.any()


def test_a_window_that_falls_and_rises_holds_data_unread():
    # A reader takes a few segments at a time: 30,000 to 50,000 of 64,000 bytes are left in turn.
    window = windows(
        [64_000] + [30_000, 40_000] * 6, [64_000] + [50_000, 45_000] * 6, [64_000] + [40_000] * 12
    )
    assert window.unread.tolist() == [False] + [True] * 12


def test_a_reader_that_pauses_once_leaves_data_unread_from_the_round_in_which_the_window_falls():
    window = windows([64_000] * 6 + [20_000, 0] + [64_000] * 6, [64_000] * 7 + [20_000] + [64_000] * 6)
    assert np.flatnonzero(window.unread).tolist() == [6, 7]


@pytest.mark.parametrize(
    ("flight", "unread"),
    [pytest.param(63_000, False, id="for a moment"), pytest.param(30_000, True, id="for half of the round")],
)
def test_how_long_a_window_was_small_is_seen_by_the_flight(flight, unread):
    # A stack that advertises its free space at each segment, before its program has read: every round has such dips.
    window = windows([20_000] * 9, [64_000] * 9, [flight] * 9)
    assert window.unread[1:].tolist() == [unread] * 8


@pytest.mark.parametrize(("length_ms", "outrun"), [(5, True), (20, False)])
def test_no_more_than_a_window_is_acknowledged_within_a_round_trip(length_ms, outrun):
    # A window of ten segments is acknowledged every 5 or 20 ms; the measured RTT is 20 ms.
    size = [14_600] * 4
    window = counted(
        [0] * 4,
        length_ns=[length_ms * MS] * 4,
        flow_rtt_min_ns=[20 * MS] * 4,
        acked_bytes=size,
        window_max_bytes=size,
    ).window
    assert window.outrun.any() == outrun


def test_a_ramp_is_a_window_that_grows_yet():
    window = counted([0] * 4, window_max_bytes=[20_000, 40_000, 60_000, 60_000]).window
    assert window.rising.tolist() == [True, True, False, False]


def test_a_window_that_returns_to_its_largest_is_no_ramp():
    # Some windows are a segment larger than the usual one.
    window = counted([0] * 8, window_max_bytes=[61_000, 60_000, 61_000, 60_000] * 2).window
    assert not window.rising.any()


# Writes


def test_a_short_segment_ends_a_write():
    writes = counted(
        [0] * 9,
        sent_bytes=[2500] * 9,
        sent_segments=[3] * 9,
        short_segments=[1] * 9,
        bursts=[1] * 9,
        short_ends=[1] * 9,
    ).writes
    assert writes.short_share.tolist() == pytest.approx([1 / 3] * 9)
    assert writes.segment_fill.tolist() == pytest.approx([2.5 / 3] * 9)
    assert writes.short_per_burst.tolist() == [1.0] * 9
    assert writes.bursts_after_short.tolist() == [1.0] * 9
    assert writes.short_rounds.tolist() == [1.0] * 9


@pytest.mark.parametrize(
    ("sent", "flight", "constant"),
    [
        pytest.param([30_000, 30_000], [42_000, 45_000], True, id="a timer's writes: flight varies"),
        pytest.param([29_000, 31_000], [45_000, 45_000], False, id="a send buffer: amount varies"),
        pytest.param([30_000, 30_000], [45_000, 45_000], False, id="both are constant"),
    ],
)
def test_a_timer_sends_one_amount_whatever_is_in_flight(sent, flight, constant):
    """A full send buffer is filled up to one size, whatever was acknowledged."""
    columns = {
        "in_flight_mean_bytes": [30_000] * 60,
        "sent_bytes": sent * 30,
        "in_flight_max_bytes": flight * 30,
    }
    assert set(counted([0] * 60, columns=columns).writes.constant_amount) == {constant}
    assert not counted([0] * 60, at_sender=False, columns=columns).writes.constant_amount.any()


def test_replies_are_counted_over_nine_rounds():
    writes = counted([0] * 11, acks_with_payload=[1] * 11, short_segments=[2] * 11).writes
    assert writes.replies[5] == 9
    assert writes.messages_per_reply[5] == 2.0
    assert np.isnan(counted([0]).writes.messages_per_reply).all()


# Where the capture was taken


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("name", ["cwnd_slow_start", "link_5_100ms_bloat", "link_50_20ms", "sndbuf_24k_15ms"])
def test_the_end_of_the_data_is_where_the_sender_put_it(name):
    """However long the queue before the tap was then: 350 ms in one of them."""
    sender, *others = (
        bdpcap.analyze(next((LAB / name).glob(f"{view}.pcap*"))).rtts["start_ns"].iloc[-1]
        for view in ("sender", "middle", "receiver")
    )
    # A tick of the timestamp clock, 1 ms, at the least delay, and one now.
    assert [abs(other - sender) <= 2_000_000 for other in others] == [True, True]


@pytest.mark.usefixtures("need_shared")
def test_the_end_of_the_capture_is_not_the_applications():
    whole = zstandard.decompress((LAB / "link_50_20ms" / "middle.pcap.zst").read_bytes())
    for part in (0.3, 0.41, 0.5, 0.63, 0.7):
        cut = bdpcap.analyze(io.BytesIO(whole[: int(part * len(whole))])).rtts
        assert "app" not in set(cut["limit"].tail(3))
