"""How far rules carry to a lab that their thresholds never saw.

All written thresholds are first multiplied by random factors, so that what was chosen by hand is forgotten as far as may
be; then a coordinate search finds them anew on all labs but one, on which the result is graded. What the rules look at,
which rules there are, and what evidence itself compares with stays as it is.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from grading import ANSWERS, answers, by_lab
from labelled import LIMITS

from bdpcap.limits.decide import decide
from bdpcap.limits.decision import IDLE
from bdpcap.limits.rule import _Not, _Several, _Threshold
from bdpcap.limits.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batch import Batch

    from bdpcap.limits.rule import Condition, Rule

__all__ = ["Search", "leave_one_out"]

STEPS: Final = (0.5, 0.7, 0.85, 0.95, 1.05, 1.15, 1.4, 2.0)
"""Factors tried on a threshold."""
GAIN: Final = 0.01
"""Points of agreement that a factor must gain to be kept."""
FORGOTTEN: Final = 1.5
"""Thresholds begin at up to this factor off, either way."""
PASSES: Final = 3


def thresholds(rules: Sequence[Rule]) -> dict[int, tuple[_Threshold, list[Rule]]]:
    """Return every written threshold of rules, by identity, with the rules that use it."""
    found: dict[int, tuple[_Threshold, list[Rule]]] = {}
    for rule in rules:
        own = {id(leaf): leaf for whole in (rule.holds, rule.unless) if whole for leaf in leaves(whole)}
        for key, leaf in own.items():
            if isinstance(leaf, _Threshold) and leaf.value:
                found.setdefault(key, (leaf, []))[1].append(rule)
    return found


def leaves(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions that a condition is made of."""
    if not condition.parts():
        yield condition
    for part in condition.parts():
        yield from leaves(part)


def put(threshold: _Threshold, value: float) -> None:
    """Move a threshold: rules are meant to stay as written, and the search puts them back."""
    object.__setattr__(threshold, "value", value)


@contextmanager
def as_written() -> Iterator[None]:
    """Put all thresholds back in the end."""
    before = [(leaf, leaf.value) for leaf, _ in thresholds(RULES).values()]
    try:
        yield
    finally:
        for leaf, value in before:
            put(leaf, value)


class Search:
    """Thresholds of the rules, moved to agree with some labs. What does not move is looked at once."""

    def __init__(self, batch: Batch, labs: Sequence[str]) -> None:
        self._batch = batch
        captures = batch.captures
        of_capture = 1 / captures.groupby("lab")["lab"].transform("size") / len(labs)
        weight = of_capture.where(captures["lab"].isin(labs), 0.0).to_numpy()
        self._weight = 100 * batch.bins["weight"].to_numpy() * weight[batch.bins["capture"]]
        self._truth = batch.bins["truth"].to_numpy()
        self._met: dict[int, np.ndarray] = {}
        self._holds = {rule.id: self._held(rule) for rule in RULES}

    def _held(self, rule: Rule) -> np.ndarray:
        held = self._where(rule.holds)
        return held if rule.unless is None else held & ~self._where(rule.unless)

    def _where(self, condition: Condition) -> np.ndarray:
        """Return where a condition holds; where a single one does is kept."""
        parts = [self._where(part) for part in condition.parts()]
        if isinstance(condition, _Several):
            return np.asarray((np.logical_and if condition.every else np.logical_or).reduce(parts))
        if parts:
            return ~parts[0] if isinstance(condition, _Not) else parts[0]
        key = id(condition)
        if key not in self._met:
            self._met[key] = condition.met(self._batch.evidence)
        return self._met[key]

    def _agreement(self, holds: dict[str, np.ndarray]) -> float:
        """Of the labs searched on, in per cent; by rules alone."""
        limit = np.full(self._batch.evidence.rounds.size, ANSWERS.index("unknown"))
        for rule in reversed(RULES):
            limit[holds[rule.id]] = LIMITS.index("app" if rule.limit == IDLE else rule.limit)
        return float(self._weight[answers(self._batch, limit) == self._truth].sum())

    def run(self) -> float:
        """Move each threshold as long as that gains something; returns the agreement reached."""
        best = self._agreement(self._holds)
        for _ in range(PASSES):
            before = best
            for threshold, rules in thresholds(RULES).values():
                best = self._move(threshold, rules, best)
            if best - before < 10 * GAIN:
                break
        return best

    def _move(self, threshold: _Threshold, rules: list[Rule], best: float) -> float:
        here, kept = threshold.value, (threshold.value, self._holds, self._met[id(threshold)])
        for step in STEPS:
            put(threshold, here * step)
            del self._met[id(threshold)]
            trial = self._holds | {rule.id: self._held(rule) for rule in rules}
            reached = self._agreement(trial)
            if reached > best + GAIN:
                best, kept = reached, (here * step, trial, self._met[id(threshold)])
        value, self._holds, self._met[id(threshold)] = kept
        put(threshold, value)
        return best


def leave_one_out(batch: Batch, seed: int) -> pd.DataFrame:
    """Return for each lab: as written, forgotten, found without it (found), and what the search reached elsewhere.

    Agreement in per cent; forgotten is what thresholds off by random factors give.
    """
    rows = {}
    labs = sorted(batch.captures["lab"].unique())
    written = by_lab(batch, decide(batch.evidence).limit)
    for lab in labs:
        draw = np.random.default_rng([seed, labs.index(lab)])
        with as_written():
            for leaf, _ in thresholds(RULES).values():
                put(leaf, leaf.value * FORGOTTEN ** draw.uniform(-1, 1))
            forgotten = by_lab(batch, decide(batch.evidence).limit)[lab]
            search = Search(batch, [other for other in labs if other != lab])
            reached = search.run()
            found = by_lab(batch, decide(batch.evidence).limit)[lab]
        rows[lab] = {"as written": written[lab], "forgotten": forgotten, "found": found, "elsewhere": reached}
    return pd.DataFrame(rows).T
