"""Where the rules decide: one limit for every round, by which rule, how surely, and what else it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits import confidence
from bdpcap.limits.rules import DETAILS, PRECEDENCE, RULES
from bdpcap.limits.sentence import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats, Ints
    from bdpcap.limits.rule import Rule

__all__ = ["LIMITS", "Verdict", "decide", "explain"]

LIMITS: Final = ("rwnd", "cwnd", "sndbuf", "link", "app", "unknown")
"""What can limit a round."""

REACH_RTTS: Final = 20
"""What limits a sender seldom changes and changes back within so many round trips.

In labelled transfers 97 % of what lay between two moments so far apart, and alike, was like both.
"""

NO_RULE: Final = {
    "missed": "The capture lost most of the round's data, or holds one direction only.",
    "silent": "The capture holds no acknowledgment of this flow, or not those that its receiver must have sent.",
    "bridged": "The capture lost too much here; the rounds before and after have this limit.",
    "prevailing": "No rule holds here; this limit holds for most of the flow.",
    "none": "No rule holds.",
}
"""What is said where no rule decides."""


@dataclass(frozen=True)
class Verdict:
    """One entry per round."""

    limit: NDArray[np.object_]
    detail: NDArray[np.object_]
    rule: NDArray[np.object_]
    """The id of the rule that decided, or a key of `NO_RULE`."""
    confidence: Floats
    alternative: NDArray[np.object_]
    """Another limit that the capture cannot rule out; None if there is none."""


def decide(evidence: Evidence, rules: Sequence[Rule] = RULES) -> Verdict:
    """Take the limit that outranks the others of which a rule holds, and of its rules the first that does."""
    size = evidence.rounds.size
    limit = np.full(size, "unknown", dtype=object)
    rule = np.full(size, "none", dtype=object)
    open_ = np.ones(size, dtype=bool)
    for each in sorted(rules, key=lambda each: PRECEDENCE.index(each.limit)):
        takes = each.met(evidence, open_)
        limit[takes], rule[takes] = each.limit, each.id
        open_ &= ~takes
        if not open_.any():
            break
    hidden = np.zeros(size, dtype=bool)
    for reason, holds in _hidden(evidence).items():
        hidden |= holds
        limit[holds], rule[holds] = "unknown", reason
    bridged, model = _between_alike(evidence, limit, hidden)
    limit[bridged], rule[bridged] = limit[model], "bridged"
    left = ~hidden & (limit == "unknown")
    if left.any():
        limit[left] = _prevailing(evidence, limit)[left]
    rule[left & (limit != "unknown")] = "prevailing"
    sure = confidence.measured(evidence.rounds, limit, rule)
    return Verdict(limit, _details(evidence, limit, rule), rule, sure, _alternatives(evidence, rule))


def explain(evidence: Evidence, verdict: Verdict) -> list[str]:
    """Return what the rule that decided says of each round."""
    words = np.full(evidence.rounds.size, "", dtype=object)
    said = {rule.id: rule.says for rule in RULES} | NO_RULE
    for name in set(verdict.rule.tolist()):
        rows = np.flatnonzero(verdict.rule == name)
        words[rows] = sentences(said[name], evidence, rows)
    result: list[str] = words.tolist()
    return result


def _details(
    evidence: Evidence, limit: NDArray[np.object_], rule: NDArray[np.object_]
) -> NDArray[np.object_]:
    """Name the kind of each round's limit: the rule's own, or the first that holds."""
    detail = np.full(len(limit), None, dtype=object)
    for name, kinds in DETAILS.items():
        rows = limit == name
        if not rows.any():
            continue
        for kind, condition in reversed([*kinds.items()]):
            detail[rows if condition is None else rows & condition.met(evidence, rows)] = kind
    for each in RULES:
        if each.detail is not None:
            detail[rule == each.id] = each.detail
    return detail


def _alternatives(evidence: Evidence, rule: NDArray[np.object_]) -> NDArray[np.object_]:
    other = np.full(len(rule), None, dtype=object)
    for each in RULES:
        for limit, condition in each.alternatives.items():
            rows = rule == each.id
            if rows.any():
                other[rows & condition.met(evidence, rows)] = limit
    return other


def _hidden(evidence: Evidence) -> dict[str, Bools]:
    """Rounds about which the capture cannot tell."""
    rounds = evidence.rounds
    acked = np.maximum(rounds.around(rounds.acked_bytes, 1), 1.0)
    missed = rounds.around(rounds.missed_bytes, 1) > acked / 2
    # The sender sent at once what came to be captured a moment later only: it was not idle for that moment.
    moment = (rounds.acked_bytes == 0) & (rounds.end_ns - rounds.start_ns < evidence.queue.rtt_min_ns)
    missed |= moment & rounds.shifted(missed, -1, missing=False)
    return {"missed": missed, "silent": evidence.vantage.flow_acks == 0}


def _between_alike(evidence: Evidence, limit: NDArray[np.object_], hidden: Bools) -> tuple[Ints, Ints]:
    """Hidden rounds between two seen ones that the same limit held, and the one before each."""
    rounds = evidence.rounds
    at = np.arange(rounds.size)
    before = np.maximum.accumulate(np.where(hidden, 0, at))
    after = np.minimum.accumulate(np.where(hidden, rounds.size - 1, at)[::-1])[::-1]
    near = rounds.start_ns[after] - rounds.end_ns[before] <= REACH_RTTS * evidence.queue.rtt_ns[before]
    alike = (rounds.flow[before] == rounds.flow[after]) & (limit[before] == limit[after])
    bridged = np.flatnonzero(hidden & near & alike & (limit[before] != "unknown"))
    return bridged, before[bridged]


def _prevailing(evidence: Evidence, limit: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return the limit that holds for most of the time that was decided, per round; unknown where that is not half."""
    rounds = evidence.rounds
    held = np.stack([rounds.total(np.where(limit == name, rounds.duration, 0.0)) for name in LIMITS[:-1]])
    most = np.array(LIMITS, dtype=object)[held.argmax(axis=0)] if rounds.size else limit
    return np.where(held.max(axis=0, initial=0.0) > rounds.total(rounds.duration) / 2, most, "unknown")
