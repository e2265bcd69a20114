"""The algebra of rules, and what every rule must bring: declared quantities, an id, reasons, a sentence."""

from __future__ import annotations

import operator
import re
from typing import get_args

import numpy as np
import pytest
from by_hand import DECLARED, known
from hypothesis import given
from hypothesis import strategies as st

from bdpcap.limits.decision import LIMITS, NO_RULE, STATES
from bdpcap.limits.evidence import Queue, Window, declared
from bdpcap.limits.evidence.field import Unit
from bdpcap.limits.rule import Rule, all_of, any_of, at_least, at_most, it, not_
from bdpcap.limits.rules import DETAILS, PRECEDENCE, RULES, kernel
from bdpcap.limits.sentence import NAME, WRITTEN, sentences

FULL, SHARE, STANDS = Window.full_share, Queue.share, Queue.stands
NUMBERS = st.one_of(st.just(np.nan), st.floats(-1000, 1000))
EVERY = (*RULES, *kernel.RULES)
IDS = [rule.id for rule in EVERY]


def holds(condition, **quantities):
    """Does it hold in a round of which these are known? Two underscores stand for the dot."""
    (result,) = condition.met(known({name.replace("__", "."): value for name, value in quantities.items()}))
    return bool(result)


# Algebra


def test_a_threshold_met_exactly_holds():
    assert holds(at_least(FULL, 0.5), window__full_share=0.5)
    assert holds(at_most(FULL, 0.5), window__full_share=0.5)
    assert not holds(at_least(FULL, 0.5), window__full_share=0.49)
    assert not holds(at_most(FULL, 0.5), window__full_share=0.51)


def test_what_is_not_known_does_not_hold():
    for condition in (at_least(FULL, 0), at_most(FULL, 1), all_of(at_least(FULL, 0), it(STANDS))):
        assert not holds(condition, queue__stands=True)
    assert holds(any_of(at_least(FULL, 0), it(STANDS)), queue__stands=True)
    # Nor is it known not to: `not_` says so of itself.
    assert holds(not_(at_least(FULL, 0.5)))


@given(NUMBERS, NUMBERS, st.booleans())
def test_every_any_and_not_are_those_of_logic(full, share, stands):
    parts = (at_least(FULL, 0.5), at_most(SHARE, 0.3), it(STANDS))
    quantities = {"window__full_share": full, "queue__share": share, "queue__stands": stands}
    held = [holds(part, **quantities) for part in parts]
    assert holds(all_of(*parts), **quantities) == all(held)
    assert holds(any_of(*parts), **quantities) == any(held)
    # De Morgan.
    both = not_(all_of(*parts)), any_of(*map(not_, parts))
    assert holds(both[0], **quantities) == holds(both[1], **quantities)
    assert holds(not_(not_(parts[0])), **quantities) == held[0]


@given(st.sampled_from(sorted(DECLARED)), NUMBERS, st.floats(0, 100), st.floats(-100, 100))
def test_more_of_a_quantity_never_holds_less(name, value, more, threshold):
    quantity = declared(name)
    if quantity.unit == "yes":
        return
    lesser, larger = known({name: value}), known({name: value + more})
    up, down = at_least(quantity, threshold), at_most(quantity, threshold)
    assert up.met(lesser) <= up.met(larger)
    assert down.met(lesser) >= down.met(larger)


@given(NUMBERS, st.booleans())
def test_what_excludes_a_rule_counts_against_it(full, stands):
    plain = Rule("link-x", "link", at_least(FULL, 0.5), says="X.", why="X.")
    excluded = Rule("link-x", "link", at_least(FULL, 0.5), says="X.", why="X.", unless=it(STANDS))
    evidence = known({FULL.name: full, STANDS.name: stands})
    (without,), (left,) = plain.met(evidence), excluded.met(evidence)
    assert left == (without and not stands)


def test_conditions_read_as_they_are_written():
    written = all_of(at_least(FULL, 0.5), any_of(it(STANDS), not_(at_most(SHARE, 0.25))))
    assert str(written) == "(`window.full_share` ≥ 50 % and (`queue.stands` or not `queue.share` ≤ 25 %))"
    assert written.lines() == [
        "- all of:",
        "  - `window.full_share` ≥ 50 %",
        "  - any of:",
        "    - `queue.stands`",
        "    - `queue.share` > 25 %, or unknown",
    ]


def test_a_named_condition_holds_as_itself_and_reads_as_its_name():
    plain = any_of(it(STANDS), at_least(FULL, 0.5))
    named = plain.named("no room")
    evidence = known({FULL.name: [0.25, np.nan, 1.0], STANDS.name: [False, True, False]}, 3)
    assert named.met(evidence).tolist() == plain.met(evidence).tolist()
    assert not_(named).lines() == ["- not *no room*"]


def test_what_belongs_together_is_written_as_one_list():
    nested = any_of(it(STANDS), any_of(at_least(FULL, 0.5), at_least(SHARE, 0.25)))
    assert nested.lines() == [
        "- any of:",
        "  - `queue.stands`",
        "  - `window.full_share` ≥ 50 %",
        "  - `queue.share` ≥ 25 %",
    ]


# What rules bring


def conditions():
    """Every condition of rules and details, and where it stands."""
    for rule in EVERY:
        yield rule.id, rule.holds
        if rule.unless is not None:
            yield rule.id, rule.unless
        yield from ((rule.id, condition) for condition in rule.alternatives.values())
    for limit, kinds in DETAILS.items():
        yield from ((limit, condition) for condition in kinds.values() if condition is not None)


def leaves(condition):
    """The thresholds and facts that a condition is made of."""
    parts = condition.parts()
    if not parts:
        yield condition
    for part in parts:
        yield from leaves(part)


def test_every_quantity_is_used_as_its_unit_says():
    for place, condition in conditions():
        for leaf in leaves(condition):
            unit = leaf.quantity.unit
            assert (unit == "yes") == (not hasattr(leaf, "value")), f"{place}: {leaf}"
            assert unit != "share" or 0 <= leaf.value <= 1, f"{place}: {leaf}"


def test_every_threshold_has_a_source():
    without = {
        f"{place}: {leaf}"
        for place, condition in conditions()
        for leaf in leaves(condition)
        if hasattr(leaf, "value") and leaf.value and not leaf.because
    }
    assert not without


def test_every_rule_has_an_id_of_its_own_that_begins_with_its_limit():
    assert len(set(IDS)) == len(IDS)
    assert not set(IDS) & set(NO_RULE)
    assert all(rule.id.startswith("kernel-") for rule in kernel.RULES)
    for rule in RULES:
        assert rule.limit in PRECEDENCE
        assert re.fullmatch(rf"{rule.limit}(-[a-z]+)+", rule.id)


def test_every_limit_is_decided_by_some_rule_and_precedence_names_all():
    assert {rule.limit for rule in RULES} == set(PRECEDENCE) == set(STATES) - {"unknown"}
    assert len(PRECEDENCE) == len(set(PRECEDENCE))
    # Asked in this order, the first that holds decides.
    assert [*dict.fromkeys(rule.limit for rule in RULES)] == [*PRECEDENCE]
    assert [rule.limit for rule in RULES] == sorted((rule.limit for rule in RULES), key=PRECEDENCE.index)
    assert set(DETAILS) <= set(PRECEDENCE)


@pytest.mark.parametrize("rule", EVERY, ids=operator.attrgetter("id"))
def test_a_rule_says_why(rule):
    assert rule.why.strip()
    assert rule.says[0].isupper() or rule.says[0] == "{"
    for text in filter(None, (rule.says, rule.why, rule.blind)):
        assert text.endswith(".")
        assert "  " not in text
    assert rule.detail is None or rule.detail in DETAILS[rule.limit] or rule.limit == "cwnd"


@pytest.mark.parametrize("rule", EVERY, ids=operator.attrgetter("id"))
def test_an_alternative_is_another_limit(rule):
    assert set(rule.alternatives) <= set(LIMITS) - {rule.limit, "unknown"}


# Sentences

SAID = {rule.id: rule.says for rule in EVERY} | NO_RULE


def quantities(number):
    """Evidence in which everything is so, or that number."""
    return known({name: number if declared(name).unit != "yes" else True for name in DECLARED})


@pytest.mark.parametrize("name", SAID)
def test_a_sentence_names_quantities_that_can_be_written(name):
    for quantity in NAME.findall(SAID[name]):
        assert declared(quantity).unit in WRITTEN
    # What is in braces and no name would be shown as it stands.
    assert not re.search(r"[{}]", NAME.sub("", SAID[name]))


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("number", [np.nan, 0.0, 1.0, 0.123456789, 12_345.678])
def test_a_sentence_can_be_said_and_is_short(name, number):
    (said,) = sentences(SAID[name], quantities(number), np.array([0]))
    assert not re.search(r"[{}]|\bnan\b|\binf\b", said)
    assert len([word for word in said.split() if re.search(r"\w", word)]) <= 25
    assert said.endswith(".")


def test_a_sentence_is_filled_in_for_the_rows_asked_for():
    evidence = known({FULL.name: [0.25, np.nan, 1.0]}, 3)
    said = sentences("Full for {window.full_share} of it.", evidence, np.array([2, 0, 1]))
    assert said[:2] == ["Full for 100 % of it.", "Full for 25 % of it."]
    assert not any(letter.isdigit() for letter in said[2])


@pytest.mark.parametrize("unit", sorted(set(get_args(Unit)) - {"yes"}))
def test_a_number_of_every_unit_can_be_written(unit):
    assert unit in WRITTEN
    assert WRITTEN[unit](1.0)
