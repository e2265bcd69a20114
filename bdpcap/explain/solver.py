"""
Window arithmetic backward: every setting that explains an observed window, best first.

The window never falls as a setting rises, so a bisection finds the settings that give a window. *Some* setting
explains any number. A match is evidence only if a person or a kernel would choose its setting. Windows that nobody
chose must also rarely match a setting as round (`bdpcap.explain.chance`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bdpcap.explain.answer import Answer, Exactness, Facts, Observed, Solution
from bdpcap.explain.buffers import FIELD_MAX, MSS_UNMEASURED, WELL_KNOWN, Advertised, Era, Knob, Setting
from bdpcap.explain.chance import chance, is_chosen, roundest, roundness
from bdpcap.explain.kernels import eras_of
from bdpcap.explain.measured_share import fit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Answer", "Exactness", "Facts", "Observed", "Solution", "solve", "surviving_eras"]


_ORDER: Final = list(Exactness)
_RARE: Final = 0.01
_UNUSUAL: Final = 0.2


def surviving_eras(solution: Solution | None, facts: Facts | None = None) -> list[Era]:
    """
    Return the eras that the receiver's stack may belong to, by the facts and by the window if it is explained.

    Parameters
    ----------
    solution
        Solution for the flow's window; None where the window had no plateau.
    facts
        Facts from outside the capture.
    """
    facts = facts or Facts()
    usual = [era for era, by_default in eras_of(facts.kernel, facts.adv_win_scale) if by_default]
    if solution is None:
        return usual
    told = [] if solution.field_full else [one.setting.era for one in solution.best if not one.fitted]
    if not told:
        told = [one.setting.era for one in solution.answers if not one.against and not one.needs]
    return list(dict.fromkeys(told)) or usual


@lru_cache(maxsize=64)
def solve(observed: Observed, facts: Facts | None = None) -> Solution:
    """
    Return every setting that explains a window. Results are cached, since a host's flows mostly share one window.

    Parameters
    ----------
    observed
        Observed window and handshake, from a capture or given by hand.
    facts
        Facts from outside the capture, which rule settings out.
    """
    facts = facts or Facts()
    eras = eras_of(facts.kernel, facts.adv_win_scale)
    ways = sum(usual for _, usual in eras)
    answers = []
    for era, usual in eras:
        if era.is_measured and observed.mss > MSS_UNMEASURED:
            answer = fit(era, observed, facts)
            answers += [] if answer is None else [answer]
            continue
        for knob in _knobs(era, observed, facts):
            answer = _invert(era, knob, observed, facts, ways)
            if answer is not None:
                answers.append(answer if usual else _unusual(answer))
    if facts.rcvbuf is not None and all(answer.against for answer in answers):
        # The known buffer does not lead to this window: find the settings of this kernel that do.
        return replace(solve(observed, replace(facts, rcvbuf=None)), facts=facts)
    full = observed.field_full
    answers.sort(key=_rank)
    best = min((answer.exactness for answer in answers if answer.telling), key=_ORDER.index, default=None)
    if full:
        best = (
            Exactness.CONSISTENT if observed.doubt else Exactness.EXACT
        )  # of the full field, not of a buffer
    return Solution(observed, answers, best or Exactness.NONE, full, facts)


def _knobs(era: Era, observed: Observed, facts: Facts) -> list[Knob]:
    if facts.rcvbuf is not None:
        return [Knob.OPTION]
    if era.shift is None:
        return [Knob.OPTION, *([Knob.HIWAT] if era.whole_segments else [])]
    first = [Knob.FIRST] if observed.window <= FIELD_MAX else []
    return [Knob.OPTION, Knob.DEFAULT, Knob.GROWN, *first]


def _values(era: Era, knob: Knob, observed: Observed) -> tuple[int, int] | None:
    """Return the smallest and largest value of a knob that gives the window, narrowed by the handshake; None if none."""

    def made(value: int) -> Advertised:
        return Setting(era, knob, value).advertises(observed.mss, observed.scale)

    found = _span(
        1, 8 * observed.window + 8 * observed.mss, observed.window, lambda value: made(value).window
    )
    if found is None or knob is not Knob.OPTION or not era.linux:
        return found
    # Scale and first window never fall as the value rises, so each narrows the span unless it contradicts it.
    if observed.scale is not None:
        found = _span(*found, observed.scale, lambda value: made(value).scale or 0) or found
    if observed.syn is not None:
        found = _span(*found, observed.syn, lambda value: made(value).syn or 0) or found
    return found


def _invert(era: Era, knob: Knob, observed: Observed, facts: Facts, ways: int) -> Answer | None:
    found = _values(era, knob, observed)
    if found is None:
        return None
    low, high = found
    given = facts.rcvbuf is not None
    if given:
        agreeing = [buffer for buffer in facts.buffers if low <= buffer <= high]
        if not agreeing:
            return None
        value = agreeing[0]
    else:
        value = _best(knob, low, high)
        if knob in (Knob.GROWN, Knob.FIRST, Knob.HIWAT) and (knob, value) not in WELL_KNOWN:
            return None  # a maximum or first window that is no known default explains nothing
    setting = Setting(era, knob, value)
    advertised = setting.advertises(observed.mss, observed.scale)
    against = _against(setting, advertised, observed)
    agrees = observed.syn is not None and observed.syn < FIELD_MAX and advertised.syn == observed.syn
    by_chance = chance(
        knob, value, observed.window, observed.mss, observed.scale, ways=ways, syn_agrees=agrees
    )
    exactness = Exactness.CONSISTENT
    # Hosts rarely change the default of their kernel.
    likely = given or (is_chosen(knob, value) and (knob is not Knob.DEFAULT or (knob, value) in WELL_KNOWN))
    if likely and not against and not observed.doubt:
        full = advertised.window == observed.window != advertised.raw and observed.field_full
        exact = advertised.raw == observed.window
        if exact and (given or by_chance < _RARE):
            exactness = Exactness.EXACT
        elif not full and (given or by_chance < _UNUSUAL):
            exactness = Exactness.ROUNDED
    words = facts.request(value) + _arithmetic(setting, advertised, observed)
    return Answer(
        setting,
        low,
        high,
        advertised,
        words,
        exactness,
        against,
        given=given,
        chance=0.0 if given else by_chance,
    )


def _best(knob: Knob, low: int, high: int) -> int:
    known = [value for one, value in WELL_KNOWN if one is knob and low <= value <= high]
    return known[0] if known else roundest(low, high)


def _span(low: int, high: int, target: int, key: Callable[[int], int]) -> tuple[int, int] | None:
    """Return the first and last number from `low` to `high` that a monotonic function maps to `target`; None if none."""
    values = range(low, high + 1)
    first, past = bisect_left(values, target, key=key), bisect_right(values, target, key=key)
    return (values[first], values[past - 1]) if first < past else None


def _against(setting: Setting, advertised: Advertised, observed: Observed) -> str:
    if advertised.scale is not None and observed.scale is not None and advertised.scale != observed.scale:
        return f"its socket would have offered window scale {advertised.scale}, not {observed.scale}"
    if advertised.syn is not None and observed.syn is not None and advertised.syn != observed.syn:
        return f"its SYN-ACK would have offered {advertised.syn:,} bytes, not {observed.syn:,}"
    if setting.knob is Knob.FIRST and observed.syn not in (None, advertised.window):
        return f"the first window was {observed.syn:,} bytes, not {advertised.window:,}"
    unset = setting.era.linux and setting.knob is not Knob.OPTION
    if unset and observed.scale is not None and 0 < observed.scale < 2:
        return f"a socket whose buffer is not set offers the scale of net.core.rmem_max, 2 or more, not {observed.scale}"
    return ""


def _unusual(answer: Answer) -> Answer:
    """Mark an answer that requires a non-default sysctl: it is only consistent, unless the buffer is known."""
    return replace(
        answer,
        exactness=answer.exactness if answer.given else Exactness.CONSISTENT,
        needs=f"net.ipv4.tcp_adv_win_scale={answer.setting.era.shift}",
    )


def _rank(answer: Answer) -> tuple[float, ...]:
    value = answer.setting.value
    knob = list(Knob).index(answer.setting.knob)
    order = [era.key for era, _ in eras_of()]
    key = answer.setting.era.key
    return (
        _ORDER.index(answer.exactness),
        bool(answer.against),
        bool(answer.needs),
        not answer.telling,
        not answer.chosen,
        not answer.well_known,
        knob,
        not answer.fitted,  # a range of fitted values holds a round one, so roundness cannot rank them
        roundness(value),
        order.index(key) if key in order else -1,
    )


def _arithmetic(setting: Setting, advertised: Advertised, observed: Observed) -> str:
    era, value = setting.era, setting.value
    if era.whole_segments:
        segments = advertised.window // observed.mss
        return f"{value:,}, up to {segments} segments: {segments} x {observed.mss:,} = {advertised.window:,}"
    if not era.linux:
        return f"{value:,}, the whole buffer"
    first = f"2 x {value:,}" if setting.knob is Knob.OPTION else f"{value:,}"
    if advertised.buffer != 2 * value and setting.knob is Knob.OPTION:
        first = f"{advertised.buffer:,} (the least)"
    kept = advertised.offered - advertised.raw
    share = "128/256, the share of the handshake," if era.is_measured else era.factor
    words = f"{first} x {share}{f' - {kept:,}' if kept else ''} = {advertised.raw:,}"
    if advertised.window == advertised.raw:
        return words
    scale = advertised.scale if advertised.scale is not None else observed.scale
    if advertised.window == FIELD_MAX << (scale or 0):
        return f"{words}, cut to the {advertised.window:,} that the window field holds"
    if scale:
        return f"{words}, up to a multiple of {1 << scale}: {advertised.window:,}"
    return f"{words}, down to {advertised.window // observed.mss} segments: {advertised.window:,}"
