"""Where the rules decide: which limit outranks which, what no rule decides, and for each rule a round that it decides.

Of a round of these tests only what is written is known; see `by_hand.known`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from by_hand import DECLARED, MS, RTT_MS, known
from hypothesis import given
from hypothesis import strategies as st

from bdpcap.limits.decide import decide, explain
from bdpcap.limits.decision import NO_RULE, STATES
from bdpcap.limits.doubt import Doubt, lowered, marked
from bdpcap.limits.evidence import declared
from bdpcap.limits.rules import DETAILS, PRECEDENCE, RULES

QUIET = {"loss.none_recent": True, "flight.moved": True, "window.full_share": 0}
"""A round in which data move, nothing is lost, and the window has room."""
WINDOW = {"window.full_share": 1}
QUEUE = {"queue.stands": True, "queue.share": 1, "queue.packets": 50, "queue.unmerged_packets": 50}
STEADY = {"flight.spread": 0, "flight.drift": 0}
OWN_TIME = {"ack_clock.own_time_share": 1, "ack_clock.chance": 1}
STANDING = STEADY | {
    "ack_clock.period_spread": 1,
    "ack_clock.longest_period": 0.6,
    "ack_clock.chance": 0,
    "writes.short_rounds": 1,
    "writes.replies": 0,
}
"""A flight that stands, of bursts that acknowledgments start and short segments end."""
BLOCKS = {
    "ack_clock.period": 1,
    "ack_clock.freed_share": 0.6,
    "writes.equal_amounts": 1,
    "flight.level_share": 0.5,
}
"""One write a round trip, of one size, which finds more or less in flight."""
FIXED = STEADY | {
    "ack_clock.ack_response": 1,
    "ack_clock.bursts": 3,
    "writes.short_share": 0,
}
ANSWERING = {"ack_clock.ack_response": 1, "writes.short_share": 0}
ONE_PEAK = {
    "ack_clock.reconstructed": True,
    "ack_clock.period_spread": 3,
    "ack_clock.freed_share": 0.33,
    "flight.peak_share": 0.8,
}
"""Bursts at unequal intervals that fill the flight to one peak, seen away from the sender."""
LONE_SEGMENT = {"flight.below_least": True, "loss.outage": True}
"""A segment that waits for its retransmission."""
EARLIER_LOSS = {"loss.rounds_since": 10, "flight.regrown": False}

# By rule: rounds that it decides, and what, added to the first of them, must take it away.
CASES = {
    "idle-turn": (
        [
            {"writes.peers_turn": True, "window.closed_share": 0},
            {"writes.unbegun": True, "window.closed_share": 0},
            {"writes.parting": True, "window.closed_share": 0},
        ],
        {"waiting for a window": {"window.closed_share": 1}, "waiting for a timeout": {"loss.outage": True}},
    ),
    "idle-over": (
        [{"writes.over": True, "window.closed_share": 0}, {"writes.over": True, "writes.finished": True}],
        {
            "waiting for a window": {"window.closed_share": 1},
            "waiting for a timeout": {"loss.outage": True},
        },
    ),
    "app-idle": (
        [
            {"writes.idle": True, "window.closed_share": 0},
            {"writes.drained": True, "window.closed_share": 0},
            {"flight.whole": True, "loss.none_recent": True},
            {"writes.finished": True},
            {"writes.complete": True, "loss.none_recent": True},
        ],
        {
            "waiting for a window": {"window.closed_share": 1},
            "waiting for a timeout": {"loss.outage": True},
        },
    ),
    "app-own-time": (
        [
            {"ack_clock.own_time_share": 1, "writes.short_per_burst": 1},
            {"ack_clock.chance": 1, "ack_clock.ack_response": 0, "writes.short_rounds": 1},
            STEADY | OWN_TIME | {"queue.pauses": 1, "queue.share": 1, "queue.packets": 50},
            STEADY
            | {"writes.short_rounds": 1, "writes.short_per_burst": 0.2, "ack_clock.longest_period": 0.2},
            STANDING | {"writes.constant_amount": True},
        ],
        {
            "a send buffer's peak": ONE_PEAK,
            "acknowledgments called for it": {"ack_clock.own_time_share": 0},
            "whole segments": {"writes.short_per_burst": 0},
            "a full window": WINDOW,
            "slow start": {"flight.opening": True},
            "a loss": {"loss.none_recent": False},
            "a queue": QUEUE,
        },
    ),
    "app-starts": (
        [{"ack_clock.own_starts": 9}],
        {
            "a send buffer's peak": ONE_PEAK,
            "never idle": {"ack_clock.own_starts": 0},
            "a full window": WINDOW,
            "a loss": {"loss.none_recent": False},
        },
    ),
    "app-blocks": (
        [
            {"ack_clock.ack_response": 0, "writes.bursts_after_short": 1},
            # Nagle's algorithm releases the rest of a write later, so that the next burst follows a full segment.
            {
                "ack_clock.period_spread": 0,
                "ack_clock.period": 0.5,
                "ack_clock.bursts": 2,
                "writes.short_rounds": 1,
            },
            STANDING | BLOCKS,
        ],
        {
            "acknowledgments answered": {"ack_clock.ack_response": 1},
            "bursts end anywhere": {"writes.bursts_after_short": 0},
            "a send buffer's flight": STANDING,
            "the rest of a long message": {"writes.long_message": True},
        },
    ),
    "app-short": (
        [{"writes.short": 3, "writes.short_share": 1, "writes.segment_fill": 0.2}],
        {
            "one message": {"writes.short": 1},
            "as good as full": {"writes.segment_fill": 1},
            "few of them": {"writes.short_share": 0.1},
            "a full window": WINDOW,
        },
    ),
    "app-below-least": (
        [{"flight.below_least": True}],
        {"more in flight": {"flight.below_least": False}, "a full window": WINDOW},
    ),
    "app-conversation": (
        [
            {"writes.replied": 9, "writes.messages_per_reply": 1, "ack_clock.ack_response": 1},
            {"writes.called": 1, "writes.messages_per_reply": 1, "writes.after_short_share": 1},
        ],
        {
            "an unasked-for stream": {"writes.replied": 0, "writes.messages_per_reply": 0},
            "a full window": WINDOW,
        },
    ),
    "link-queue": (
        [QUEUE | {"rate.utilization": 1}],
        {
            "a segment alone": LONE_SEGMENT,
            "now and then only": {"queue.share": 0.2},
            "half the rate": {"rate.utilization": 0.5, "queue.unmerged_packets": 0},
            "a return path's": {"queue.on_return_path": True},
            "a sender that pauses": {"ack_clock.ack_response": 0, "queue.pauses": 1},
            "initial bursts passed faster": {"rate.over_highest": 0.5, "queue.risen_packets": 0},
        },
    ),
    "link-bloat": (
        [{"queue.always_packets": 99, "queue.least_rtt": 9, "queue.share": 1, "rate.utilization": 0.9}],
        {
            "a segment alone": LONE_SEGMENT,
            "a few packets": {"queue.always_packets": 2},
            "a return path's": {"queue.on_return_path": True},
            "a timeout": {"loss.timer_fired": True},
        },
    ),
    "link-lean": (
        [{"rate.proven": True, "rate.utilization": 1, "queue.share": 0.8}],
        {
            "a segment alone": LONE_SEGMENT,
            "a rate never proven": {"rate.proven": False},
            "initial bursts passed faster": {"rate.over_initial": 0.8},
            "half the rate": {"rate.utilization": 0.5},
            "a full window": WINDOW,
        },
    ),
    "link-shared": (
        [QUEUE],
        {
            "a segment alone": LONE_SEGMENT,
            "now and then only": {"queue.share": 0.2},
            "merged acknowledgments": {"queue.unmerged_packets": 0},
            "a full window": WINDOW,
            "a return path's": {"queue.on_return_path": True},
        },
    ),
    "link-together": (
        [{"cross_traffic.utilization": 1, "cross_traffic.over_initial": 1, "queue.packets": 9}],
        {
            "a segment alone": LONE_SEGMENT,
            "alone": {"cross_traffic.utilization": 0},
            "no queue": {"queue.packets": 0},
            "a full window": WINDOW,
        },
    ),
    "link-arrivals": (
        [{"ack_clock.unseen": True, "rate.utilization": 1, "rate.ack_spacing": 1}],
        {
            "a segment alone": LONE_SEGMENT,
            "acknowledgments are seen": {"ack_clock.unseen": False},
            "arrivals with pauses": {"rate.ack_spacing": 0.5},
            "half the rate": {"rate.utilization": 0.5},
            "a full window": WINDOW,
        },
    ),
    "link-behind": (
        [{"queue.before_tap": True, "rate.tap_utilization": 1}],
        {
            "a segment alone": LONE_SEGMENT,
            "a tap before the bottleneck": {"queue.before_tap": False},
            "silence for most of the round": {"queue.silent": 0.6},
            "no other round to compare with": {"rate.alone": True},
            "half the rate": {"rate.tap_utilization": 0.5},
            "a full window": WINDOW,
        },
    ),
    "rwnd-full": (
        # A closed window is probed by the same timer.
        [WINDOW, WINDOW | {"loss.timer_backed_off": True, "window.closed_share": 1}],
        {
            "room": {"window.full_share": 0},
            "nothing comes back": {"loss.timer_backed_off": True, "window.closed_share": 0},
        },
    ),
    "sndbuf-standing": (
        [
            STANDING,
            # A write of several times the buffer: one burst for two round trips, and each follows an acknowledgment.
            STANDING
            | {
                "ack_clock.period_spread": 0,
                "ack_clock.period": 2,
                "ack_clock.started_share": 1,
                "ack_clock.ack_response": 0.1,
            },
            # Small messages before, and a larger buffer after it.
            STANDING | {"flight.drift": 2, "flight.run": 8},
        ],
        {
            "a flight that moves": {"flight.drift": 2},
            "rounds unlike each other": {"flight.spread": 1, "flight.level_share": 0.2},
            "whole segments": {"writes.short_rounds": 0},
            "bursts come anywhere": {"ack_clock.chance": 1},
            "a timer's": {"ack_clock.period_spread": 0, "ack_clock.period": 0.5},
            "equal blocks": BLOCKS,
            "slow start": {"flight.opening": True},
            "a conversation": {"writes.replies": 9},
            "a loss": {"loss.none_recent": False},
        },
    ),
    "sndbuf-blocked": (
        [
            {
                "ack_clock.ack_response": 0,
                "ack_clock.blocked_share": 1,
                "ack_clock.empty_starts": 0,
                "flight.refilled": True,
            }
        ],
        {
            "acknowledgments answered": {"ack_clock.ack_response": 1},
            "only repairs": {"loss.none_recent": False, "flight.refilled": False},
            "the second flight of slow start": {"flight.second": True},
            "never asleep": {"ack_clock.blocked_share": 0},
            "from nothing": {"ack_clock.empty_starts": 9},
            "bursts at other times": OWN_TIME,
        },
    ),
    "sndbuf-exact": (
        [
            {
                "flight.exact": True,
                "flight.peak_share": 1,
                "flight.regrown": True,
                "flight.drift": 2,
                "ack_clock.empty_starts": 0,
            }
        ],
        {
            "from nothing": {"ack_clock.empty_starts": 9},
            "whole segments": {"flight.exact": False},
            "now and then": {"flight.peak_share": 0.5},
            "a window that a loss reduced": {"flight.regrown": False},
            "a full window": WINDOW,
            "a full link": QUEUE,
            "nothing moves": {"flight.moved": False},
        },
    ),
    "cwnd-recovery": (
        [{"loss.rounds_since": 0}, {"loss.outage": True}],
        {"long ago": {"loss.rounds_since": 90, "flight.regrown": True}, "a full window": WINDOW},
    ),
    "cwnd-slow-start": (
        [{"flight.doubling": True}, {"flight.initial": True}],
        {"it stands": {"flight.doubling": False}, "a full link": QUEUE, "a loss": {"loss.rounds_since": 0}},
    ),
    "cwnd-regrowth": (
        [EARLIER_LOSS],
        {"regrown": {"flight.regrown": True}, "nothing moves": {"flight.moved": False}},
    ),
    "cwnd-fixed": (
        [FIXED],
        {
            "it grows": {"flight.drift": 2},
            "short segments": {"writes.short_share": 1},
            "acknowledgments unanswered": {"ack_clock.ack_response": 0},
        },
    ),
    "cwnd-paced": (
        [{"flight.spread": 0, "ack_clock.ack_response": 1, "ack_clock.bursts": 0, "writes.short_share": 0}],
        {"bursts": {"ack_clock.bursts": 9}, "short segments": {"writes.short_share": 1}},
    ),
    "cwnd-growth": (
        [{"flight.drift": 2, "ack_clock.ack_response": 1}],
        {
            "it stands": {"flight.drift": 0},
            "acknowledgments unanswered": {"ack_clock.ack_response": 0},
            "nothing moves": {"flight.moved": False},
        },
    ),
    "cwnd-clocked": (
        [ANSWERING],
        {
            "acknowledgments unanswered": {"ack_clock.ack_response": 0},
            "short segments": {"writes.short_share": 1},
            "nothing moves": {"flight.moved": False},
        },
    ),
}


def deciding(quantities):
    """Return the rule that decides such a round, and the limit."""
    verdict = decide(known(QUIET | quantities))
    return verdict.rule[0], verdict.limit[0]


def test_every_rule_has_a_case():
    assert set(CASES) == {rule.id for rule in RULES}


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, (cases, _) in CASES.items() for number in range(len(cases))]
)
def test_a_rule_decides(name, number):
    assert deciding(CASES[name][0][number]) == (name, name.partition("-")[0])


@pytest.mark.parametrize(("name", "but"), [(name, but) for name, (_, buts) in CASES.items() for but in buts])
def test_a_rule_does_not_decide(name, but):
    ((first, *_), buts) = CASES[name]
    assert deciding(first | buts[but])[0] != name


def test_what_is_not_known_decides_nothing():
    nothing = decide(known({}))
    assert (nothing.limit[0], nothing.rule[0], nothing.confidence[0]) == ("unknown", "none", 0.0)
    assert nothing.detail[0] is None
    assert nothing.alternative[0] is None


# Precedence


def test_limits_outrank_each_other_in_one_order():
    """Each of them claims the round; taken away one after the other, the next has it."""
    claims = {
        "idle": {"writes.over": True, "writes.finished": True},
        "app": {"writes.drained": True, "window.closed_share": 0},
        "link": QUEUE | {"rate.utilization": 1, "queue.risen_packets": 50},
        "rwnd": WINDOW | {"rate.over_initial": 1},
        "sndbuf": CASES["sndbuf-blocked"][0][0],
        "cwnd": {"flight.doubling": True},
    }
    left = dict(claims)
    for name in PRECEDENCE:
        together = {}
        for quantities in left.values():
            together |= quantities
        assert deciding(together)[1] == name
        del left[name]


NUMBERS = st.sampled_from([np.nan, 0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0, 1.1, 3.0, 20.0, 1000.0])
ROUNDS = 7


@st.composite
def drawn_evidence(draw):
    """Anything about seven rounds of two flows: most of it unknown, or most of it known."""
    drawn = {}
    names = draw(st.lists(st.sampled_from(sorted(DECLARED)), unique=True, max_size=len(DECLARED)))
    for name in names:
        values = st.booleans() if declared(name).unit == "yes" else NUMBERS
        drawn[name] = draw(st.lists(values, min_size=ROUNDS, max_size=ROUNDS))
    missed = draw(st.lists(st.sampled_from([0, 10**6]), min_size=ROUNDS, max_size=ROUNDS))
    return known(drawn, flow=[0, 0, 0, 0, 0, 1, 1], missed=missed, flow_acks=draw(st.sampled_from([1, 1, 0])))


@given(drawn_evidence())
def test_every_round_has_one_limit_whatever_is_known(evidence):
    verdict = decide(evidence)
    held = {rule.id: rule.met(evidence) for rule in RULES}
    assert set(verdict.limit) <= set(STATES)
    assert set(verdict.rule) <= set(held) | set(NO_RULE)
    assert ((verdict.confidence >= 0) & (verdict.confidence <= 1)).all()
    assert not (verdict.confidence[verdict.limit == "unknown"]).any()
    assert not (verdict.alternative == verdict.limit).any()
    limits = {rule.id: rule.limit for rule in RULES}
    for at, (name, limit, detail) in enumerate(zip(verdict.rule, verdict.limit, verdict.detail, strict=True)):
        holding = {limits[each] for each, where in held.items() if where[at]}
        if name in limits:
            # It holds, and nothing that outranks its limit does.
            assert limit == limits[name] == next(each for each in PRECEDENCE if each in holding)
            assert held[name][at]
        elif name not in ("missed", "silent", "unmeasured", "bridged", "alike"):
            assert not holding
        assert (limit in DETAILS) == (detail is not None)


@given(drawn_evidence())
def test_every_round_has_a_sentence_whatever_is_known(evidence):
    said = explain(evidence, decide(evidence))
    assert len(said) == ROUNDS
    for sentence in said:
        assert sentence.endswith(".")
        assert not {"{", "}"} & set(sentence)


@given(drawn_evidence(), st.permutations(range(len(RULES))))
def test_the_order_of_rules_of_different_limits_is_precedences(evidence, order):
    """In whichever order rules are given, the limit is the same."""
    shuffled = decide(evidence, [RULES[at] for at in order])
    assert shuffled.limit.tolist() == decide(evidence).limit.tolist()


def test_without_a_rule_of_a_limit_it_is_not_claimed():
    rules = [rule for rule in RULES if rule.limit != "rwnd"]
    assert decide(known(QUIET | WINDOW), rules).limit.tolist() == ["unknown"]


# Where no rule decides


def told(limits, **more):
    """One flow, its rounds claimed by a full window (r), the end of data (a), or nothing (-)."""
    return known(
        {
            "window.full_share": [float(letter == "r") for letter in limits],
            "writes.drained": [letter == "a" for letter in limits],
            "window.closed_share": [0.0] * len(limits),
        },
        flow=[0] * len(limits),
        **more,
    )


def letters(verdict):
    names = {"rwnd": "r", "app": "a", "unknown": "-"}
    return "".join(names[limit] for limit in verdict.limit)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("rrr-r", "rrrrr", id="most of the flow"),
        pytest.param("rr--aa", "rr--aa", id="none has half"),
        pytest.param("-----r", "-----r", id="nearly nothing decided"),
    ],
)
def test_where_no_rule_holds_what_prevails_does(before, after):
    verdict = decide(told(before))
    assert letters(verdict) == after
    assert [rule for rule, letter in zip(verdict.rule, before, strict=True) if letter == "-"] == [
        "none" if letter == "-" else "prevailing"
        for letter, old in zip(after, before, strict=True)
        if old == "-"
    ]


def test_a_program_that_looks_like_a_send_buffer_now_and_then_is_one_throughout():
    """A timer in phase with the acknowledgments fills the same flight in one round of three."""
    three = {name: [value] * 3 for name, value in (QUIET | STANDING).items()}
    often = three | {
        "writes.drained": [True, True, False],
        "window.closed_share": [0.0] * 3,
        "ack_clock.reconstructed": [True] * 3,
    }
    verdict = decide(known(often | {"writes.equal_amounts": [1] * 3}, flow=[0] * 3))
    assert verdict.limit.tolist() == ["app"] * 3
    assert verdict.rule.tolist() == ["app-idle", "app-idle", "alike"]
    seldom = decide(known(often | {"writes.equal_amounts": [0] * 3}, flow=[0] * 3))
    assert seldom.limit.tolist() == ["app", "app", "sndbuf"]


def missing(limits, at):
    """The same, and the capture lost nearly all of the rounds `at`."""
    return told(limits, missed=[10**6 * (number in at) for number in range(len(limits))])


def test_rounds_that_the_capture_lost_are_bridged_between_alike():
    verdict = decide(missing("rrrrrrrrr", [4]))
    assert letters(verdict) == "rrrrrrrrr"
    assert "bridged" in verdict.rule
    assert decide(missing("rrrraaaaa", [4])).limit[4] == "unknown"
    assert decide(missing("rrrraaaaa", [4])).rule[4] == "missed"


def test_a_long_hole_is_not_bridged():
    verdict = decide(missing("r" * 40, range(5, 35)))
    assert "unknown" in verdict.limit[5:35]
    assert set(verdict.limit[:3]) == {"rwnd"}
    assert not verdict.confidence[10:30].any()


def test_a_hole_at_the_end_of_a_flow_is_not_bridged_to_the_next():
    evidence = known(
        {"window.full_share": [1] * 6}, flow=[0, 0, 0, 0, 1, 1], missed=[0, 0, 10**6, 10**6, 0, 0]
    )
    assert decide(evidence).limit.tolist()[3] == "unknown"


def test_a_flow_without_acknowledgments_decides_nothing():
    verdict = decide(told("rrr", flow_acks=0))
    assert verdict.rule.tolist() == ["silent"] * 3
    assert verdict.limit.tolist() == ["unknown"] * 3


def test_where_the_peers_data_acknowledged_all_no_acknowledgment_is_missing():
    """Nothing is in flight in the second and the fourth round. Between waits, the data remain undecided."""
    quantities = {"writes.idle": [False, True, False, True], "window.closed_share": [0.0] * 4}
    verdict = decide(known(quantities, flow=[0] * 4, flow_acks=0))
    assert verdict.limit.tolist() == ["unknown", "app", "unknown", "app"]
    assert verdict.rule.tolist()[::2] == ["silent", "silent"]


@pytest.mark.parametrize(
    ("tick_ms", "left"), [(0.001, "rraaa"), (RTT_MS / 2, "rr---"), (RTT_MS * 10, "rr---")]
)
def test_a_clock_too_coarse_for_a_round_trip_shows_a_full_window_only(tick_ms, left):
    # Bytes fill a window, whatever the time.
    evidence = told("rraaa", tick_ns=tick_ms * MS)
    verdict = decide(evidence)
    assert letters(verdict) == left
    assert (verdict.rule == "coarse").tolist() == [letter == "-" for letter in left]


def test_a_coarse_clock_times_a_long_round():
    evidence = told("aaa", tick_ns=RTT_MS * MS / 10)
    assert letters(decide(evidence)) == "aaa"


# Details and alternatives


@pytest.mark.parametrize(
    ("quantities", "detail"),
    [
        pytest.param({"window.closed_share": 1}, "zero window", id="shut"),
        pytest.param({"window.unread": True}, "slow reader", id="unread"),
        pytest.param({"window.rising": True}, "ramp", id="growing"),
        pytest.param({}, "buffer", id="nothing known"),
    ],
)
def test_the_kind_of_a_full_window(quantities, detail):
    assert decide(known(QUIET | WINDOW | quantities)).detail.tolist() == [detail]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.detail is not None], ids=lambda rule: rule.id
)
def test_a_rule_of_one_kind_says_so(rule):
    for case in CASES[rule.id][0]:
        assert decide(known(QUIET | case)).detail.tolist() == [rule.detail]


@pytest.mark.parametrize(
    ("quantities", "alternative"),
    [
        pytest.param(STANDING | {"ack_clock.period": 1}, "app", id="once a round trip: a block for a block"),
        pytest.param(
            STANDING | {"ack_clock.period": 1, "ack_clock.started_share": 1},
            None,
            id="begun by acknowledgments",
        ),
        pytest.param(STANDING | {"ack_clock.period": 0.4}, None, id="twice"),
        pytest.param(
            STANDING | {"ack_clock.period": 0.4, "ack_clock.reconstructed": True, "writes.equal_amounts": 1},
            "app",
            id="equal amounts, seen from afar",
        ),
        pytest.param(
            STANDING | {"ack_clock.unseen": True, "flight.regrown": True, "ack_clock.period": 0.4},
            "cwnd",
            id="acknowledgments that nobody saw",
        ),
    ],
)
def test_what_else_a_standing_flight_may_be(quantities, alternative):
    verdict = decide(known(QUIET | quantities))
    assert (verdict.limit[0], verdict.alternative[0]) == ("sndbuf", alternative)


def test_evenly_spaced_acknowledgments_from_a_queue_on_the_way_back_are_no_pacing():
    waiting = {"queue.on_return_path": True, "queue.share": 1}
    paced = decide(known(QUIET | FIXED | {"ack_clock.bursts": 0.5}))
    assert (paced.limit[0], paced.detail[0]) == ("cwnd", "pacing")
    late = decide(known(QUIET | FIXED | {"ack_clock.bursts": 0.5} | waiting))
    assert (late.limit[0], late.detail[0]) == ("cwnd", "return path")


def test_bursts_of_equal_amounts_may_be_a_buffers_away_from_the_sender():
    # Their cause is known to a tick of the clocks at best.
    afar = {"ack_clock.reconstructed": True, "writes.equal_amounts": 1, "ack_clock.period_spread": 1}
    for quantities in (OWN_TIME | {"writes.short_per_burst": 1}, {"ack_clock.own_starts": 9}):
        near, far = (decide(known(QUIET | STEADY | quantities | more)) for more in ({}, afar))
        assert (near.limit[0], near.alternative[0]) == ("app", None)
        assert (far.limit[0], far.alternative[0]) == ("app", "sndbuf")


# Doubts


def test_doubts_are_said_and_taken_off():
    verdict = replace(decide(told("rra")), confidence=np.array([0.9, 0.8, 0.5]))
    found = [
        Doubt(np.array([True, True, False]), "It rained.", np.full(3, 0.5)),
        Doubt(np.array([False, True, False]), "It snowed.", np.full(3, 0.5)),
    ]
    assert lowered(verdict, found).confidence.tolist() == [0.45, 0.2, 0.5]
    assert marked(["A.", "B.", "C."], found) == ["A. It rained.", "B. It rained. It snowed.", "C."]


# How sure


@given(drawn_evidence())
def test_a_round_that_is_decided_is_sure_to_some_degree(evidence):
    verdict = decide(evidence)
    assert (verdict.confidence[verdict.limit != "unknown"] > 0).all()
