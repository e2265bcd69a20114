"""The decision: one limit, or idle, for every round, with the rule, the detail, the confidence and the alternative."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits import confidence
from bdpcap.limits.decision import DECIDING, IDLE, KINDS, LIMITS, NO_RULE, STATES, Verdict
from bdpcap.limits.rounds import SECOND_NS
from bdpcap.limits.rules import DETAILS, PRECEDENCE, RULES, kernel
from bdpcap.limits.sentence import sentences
from bdpcap.read.flaws import COARSE_NS
from bdpcap.read.quality import FINE_TICKS, HIDDEN_TICKS, STANDSTILL_NS
from bdpcap.words.units import YEAR_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.limits.decision import Places
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Ints
    from bdpcap.limits.rule import Rule

__all__ = ["decide", "explain"]

_UNKNOWN: Final = LIMITS.index("unknown")
_NONE: Final = -1
"""Index that stands for no detail, no alternative and nothing overruled."""
_ALIKE: Final = (LIMITS.index("app"), LIMITS.index("sndbuf"))
"""Limits that look alike round by round, yet seldom take turns: a program's own pace, and its full send buffer."""
REACH_RTTS: Final = 20
"""Round trips within which the limit of a sender seldom changes and changes back.

In labelled transfers, the limit was the same for 97 % of the time between two such moments with the same limit.
"""

TIMER_NS: Final = 3 * SECOND_NS
"""Silence after which a sender without an acknowledgment has sent data again (RFC 6298 section 5.7: 3 seconds), ns."""
NEARLY_ALL: Final = 0.9
"""Share of a round from which on a silence is nearly all of it; a choice."""


def decide(evidence: Evidence, rules: Sequence[Rule] = RULES) -> Verdict:
    """Take the limit of highest precedence among those with a matching rule, and its first matching rule.

    Where the evidence has the sending kernel's account, the account outranks the rules about packets.
    """
    size = evidence.rounds.size
    limit = np.full(size, _UNKNOWN, dtype=np.int8)
    rule = np.full(size, DECIDING.index("none"), dtype=np.int8)
    open_ = np.ones(size, dtype=bool)
    for each in sorted(rules, key=lambda each: PRECEDENCE.index(each.limit)):
        takes = each.met(evidence, open_)
        limit[takes], rule[takes] = STATES.index(each.limit), DECIDING.index(each.id)
        open_ &= ~takes
        if not open_.any():
            break
    hidden = np.zeros(size, dtype=bool)
    for reason, holds in _hidden(evidence, limit).items():
        hidden |= holds
        limit[holds], rule[holds] = _UNKNOWN, DECIDING.index(reason)
    # Idle time enters no share and no rate.
    lasting_ns = evidence.rounds.length_ns
    long = (lasting_ns >= STANDSTILL_NS) & (limit != STATES.index(IDLE))
    shifted = evidence.vantage.shifted & long
    # A flow of which the capture shows some rounds is judged by these.
    uncaptured = long & (rule == DECIDING.index("missed")) & (evidence.rounds.total(~hidden) > 0)
    for reason, holds in (
        ("rested", _rested(evidence, rule)),
        ("shifted", shifted),
        ("uncaptured", uncaptured),
        ("years", lasting_ns >= YEAR_NS),
    ):
        limit[holds], rule[holds] = STATES.index(IDLE), DECIDING.index(reason)
        hidden &= ~holds
    if hidden.any():
        bridged, model = _bridged(evidence, limit, hidden)
        # Rounds around data without acknowledgments show nothing of them.
        seen = rule[bridged] != DECIDING.index("silent")
        bridged, model = bridged[seen], model[seen]
        limit[bridged], rule[bridged] = limit[model], DECIDING.index("bridged")
    beside, prevails = _alternatives(evidence, rule), _prevailing(evidence, limit)
    left = ~hidden & (limit == _UNKNOWN) & (prevails != _UNKNOWN)
    alike = np.isin(limit, _ALIKE) & np.isin(prevails, _ALIKE) & (beside == prevails)
    for reason, holds in (("prevailing", left), ("alike", alike)):
        limit[holds], rule[holds] = prevails[holds], DECIDING.index(reason)
    beside[alike] = _NONE
    right = confidence.measured(evidence, limit, rule)
    none = np.full(size, _NONE, dtype=np.int8)
    verdict = Verdict(
        limit,
        _details(evidence, limit, rule),
        rule,
        right,
        beside,
        account=none,
        overruled=none,
    )
    return verdict if evidence.counters is None else _accounted(evidence, verdict)


def _accounted(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Return the verdict with the limits that the sending kernel's account gives.

    The account sees neither the link nor who has the turn: its limit replaces `link` and `idle` only where it precedes
    them. Where account and capture agree, the rule about packets stays, since it shows more.
    """
    account = np.full(evidence.rounds.size, _NONE, dtype=np.int8)
    for place, each in enumerate(kernel.RULES):
        stands = [state for state in _UNSEEN if PRECEDENCE.index(state) < PRECEDENCE.index(each.limit)]
        account[each.met(evidence, ~verdict.is_limit(*stands))] = place
    known = account != _NONE
    limit = np.where(known, _ACCOUNT_LIMIT[account], verdict.limits)
    differs = limit != verdict.limits
    rule = np.where(differs, len(DECIDING) - len(kernel.RULES) + account, verdict.rules).astype(np.int8)
    beside = np.where(differs, _alternatives(evidence, rule), verdict.alternatives)
    suggested = differs & (verdict.limits != _UNKNOWN)
    return Verdict(
        limit,
        np.where(differs, _details(evidence, limit, rule), verdict.details),
        rule,
        np.where(known, confidence.ACCOUNT, verdict.confidence),
        np.where(known & ~differs, _NONE, beside).astype(np.int8),
        account=account,
        overruled=np.where(suggested, verdict.limits, _NONE).astype(np.int8),
    )


_ACCOUNT_LIMIT: Final = np.array([STATES.index(rule.limit) for rule in kernel.RULES], dtype=np.int8)
"""Index in `STATES` of the limit of each of the account's rules."""
_UNSEEN: Final = (IDLE, "link")
"""States that a sending kernel does not see."""


def explain(evidence: Evidence, verdict: Verdict) -> list[str]:
    """Return the sentence of the deciding rule for each round."""
    words = np.full(evidence.rounds.size, "", dtype=object)
    said = {rule.id: rule.says for rule in (*RULES, *kernel.RULES)} | NO_RULE
    for place in np.unique(verdict.rules):
        rows = np.flatnonzero(verdict.rules == place)
        words[rows] = sentences(said[DECIDING[place]], evidence, rows)
    for place, each in enumerate(kernel.RULES):
        rows = np.flatnonzero((verdict.account == place) & ~verdict.is_by(each.id))
        words[rows] += " " + np.array(sentences(each.says, evidence, rows), dtype=object)
    for place in np.unique(verdict.overruled[verdict.overruled != _NONE]):
        words[verdict.overruled == place] += f" The capture alone suggested {LIMITS[place]}."
    result: list[str] = words.tolist()
    return result


def _details(evidence: Evidence, limit: Places, rule: Places) -> Places:
    """Return the detail of each round's limit: that of the rule, or else the first whose condition holds."""
    detail = np.full(len(limit), _NONE, dtype=np.int8)
    for name, kinds in DETAILS.items():
        rows = limit == LIMITS.index(name)
        if not rows.any():
            continue
        for kind, condition in reversed([*kinds.items()]):
            detail[rows if condition is None else rows & condition.met(evidence, rows)] = KINDS.index(kind)
    own = _OWN_DETAIL[rule]
    return np.where(own == _NONE, detail, own)


_OWN_DETAIL: Final = np.array(
    [_NONE if rule.detail is None else KINDS.index(rule.detail) for rule in RULES]
    + [_NONE] * (len(DECIDING) - len(RULES)),
    dtype=np.int8,
)
"""The detail that each entry of `DECIDING` implies."""


def _alternatives(evidence: Evidence, rule: Places) -> Places:
    """Return the alternative of each round whose rule has one that holds."""
    other = np.full(len(rule), _NONE, dtype=np.int8)
    for each in chain(RULES, kernel.RULES):
        for limit, condition in each.alternatives.items():
            rows = rule == DECIDING.index(each.id)
            if rows.any():
                other[rows & condition.met(evidence, rows)] = LIMITS.index(limit)
    return other


def _hidden(evidence: Evidence, limit: Places) -> dict[str, Bools]:
    """Return the rounds that the capture shows too little of to decide, by key of `NO_RULE`."""
    rounds, tick_ns = evidence.rounds, evidence.vantage.tick_ns
    acked = np.maximum(rounds.around(rounds.reported_bytes, 1), 1.0)
    missed = rounds.around(rounds.unseen_bytes, 1) > acked / 2
    # The sender sent at once, but the capture shows the data a moment later, so that moment was not idle time.
    moment = (rounds.reported_bytes == 0) & (rounds.end_ns - rounds.start_ns < evidence.queue.rtt_min_ns)
    missed |= moment & rounds.shifted(missed, -1, missing=False)
    # The sender of one segment again and again received no acknowledgment either. The peer's data acknowledge, too: where
    # they left nothing in flight, none is missing.
    silent = (evidence.vantage.flow_acks == 0) & ~evidence.loss.timer_backed_off & ~evidence.writes.idle
    # Bytes show a full window and an idle sender, and long rounds are timed well enough.
    short = ~(evidence.queue.rtt_ns >= HIDDEN_TICKS * tick_ns) & (rounds.length_ns < FINE_TICKS * tick_ns)
    seen = (limit == LIMITS.index("rwnd")) | (limit == STATES.index(IDLE))
    # A round trip that nothing measured looks like a pause of the program.
    paced = (limit == LIMITS.index("app")) & evidence.writes.full_before & (rounds.length_ns < SECOND_NS)
    unrepaired = (limit == LIMITS.index("cwnd")) & evidence.loss.none_recent
    return {
        "missed": missed,
        "silent": silent,
        "unmeasured": evidence.ack_clock.unmeasured & (paced | unrepaired),
        "coarse": (tick_ns >= COARSE_NS) & short & ~seen,
    }


def _rested(evidence: Evidence, rule: Places) -> Bools:
    """Return the rounds without acknowledgments that are a pause: no timer fired in it, so all data had arrived."""
    rounds = evidence.rounds
    pause = (rounds.silence_ns >= TIMER_NS) & (rounds.silence_ns >= NEARLY_ALL * rounds.length_ns)
    rested: Bools = (
        pause & (rule == DECIDING.index("silent")) & (rounds.total(rounds.retransmitted_bytes) == 0)
    )
    return rested


def _bridged(evidence: Evidence, limit: Places, hidden: Bools) -> tuple[Ints, Ints]:
    """Return the hidden rounds between two decided rounds of one limit, and the decided round before each."""
    rounds = evidence.rounds
    at = np.arange(rounds.size)
    before = np.maximum.accumulate(np.where(hidden, 0, at))
    after = np.minimum.accumulate(np.where(hidden, rounds.size - 1, at)[::-1])[::-1]
    reach_ns = REACH_RTTS * evidence.queue.rtt_ns[before]
    near = rounds.start_ns[after] - rounds.end_ns[before] <= np.where(
        evidence.ack_clock.unmeasured, np.fmax(reach_ns, SECOND_NS), reach_ns
    )
    same = (rounds.flow[before] == rounds.flow[after]) & (limit[before] == limit[after])
    bridged = np.flatnonzero(hidden & near & same & (limit[before] != _UNKNOWN))
    return bridged, before[bridged]


def _prevailing(evidence: Evidence, limit: Places) -> Places:
    """Return for each round the limit of more than half of its flow's active time; unknown where none has so much."""
    rounds = evidence.rounds
    active = np.where(limit == STATES.index(IDLE), 0.0, rounds.duration)
    held = np.stack([rounds.total(np.where(limit == at, active, 0.0)) for at in range(_UNKNOWN)])
    half = held.max(axis=0) > rounds.total(active) / 2
    return np.where(half, held.argmax(axis=0), _UNKNOWN).astype(np.int8)
