"""
Window arithmetic backward: every setting that explains an observed window, best first.

The window never falls as a setting rises, so a bisection finds the settings that give a window. *Some* setting
explains any number. A match is evidence only if receivers have its setting far more often than a window of this size has
this number by accident (`bdpcap.explain.likelihood`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bdpcap.explain.answer import ENDLESS, Answer, Exactness, Facts, Observed, Solution
from bdpcap.explain.arithmetic import arithmetic
from bdpcap.explain.buffers import (
    FIELD_BITS,
    FIELD_MAX,
    FULL,
    RMEM_DEFAULT,
    RMEM_DEFAULT_OLD,
    SCALE_MAX,
    WELL_KNOWN,
    Advertised,
    Knob,
    Setting,
    first_windows,
)
from bdpcap.explain.credible import AS_GOOD, compared
from bdpcap.explain.eras import MSS_UNMEASURED, Era
from bdpcap.explain.kernels import eras_of
from bdpcap.explain.likelihood import chance, is_chosen, of_handshake, of_value, roundest
from bdpcap.explain.measured_share import fits
from bdpcap.explain.paths import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.explain.paths import Path

__all__ = ["Answer", "Exactness", "Facts", "Observed", "Solution", "solve", "surviving_eras"]


_RARE: Final = 0.001
"""Share of windows that settings as round explain, below which a setting is exact; a choice."""
_UNUSUAL: Final = 0.05
"""Share of windows that settings as round explain, below which one is within rounding; a choice."""
_MOST_VALUE: Final = 16
"""Bound of the search for a value in windows: stacks offer a quarter or more, and growth stops at a quarter of it."""
_REMEMBERED: Final = 256
"""Solutions that are kept; a capture has few different windows."""
_FEW_SEGMENTS: Final = 0.15
"""How often a kernel is older than 4.20, so that its first window has no more than 20 segments."""
_OTHER_DEFAULT: Final = 0.02
"""How often tcp_rmem[1] is another than the defaults."""


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
    best = [] if solution.field_full else solution.best
    likeliest = max((one.likelihood for one in best), default=0.0)
    good = [one for one in best if one.given or one.likelihood >= AS_GOOD * likeliest]
    told = [one.setting.era for one in ([one for one in good if not one.needs] or good)]
    if not told:
        told = [one.setting.era for one in solution.answers if not one.against and not one.needs]
    return list(dict.fromkeys(told)) or usual


@lru_cache(maxsize=_REMEMBERED)
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
    ways = paths(observed, facts)
    answers: list[Answer] = []
    for path in ways:
        if path.era.is_measured and observed.mss > MSS_UNMEASURED and path.knob is not Knob.CLAMP:
            answers += fits(path, observed, facts)
        else:
            found = [_inverted(path, observed, facts, ways, default) for default in _defaults(path, facts)]
            # What does not depend on the default comes from each.
            likeliest_last = sorted((one for one in found if one is not None), key=lambda one: one.likelihood)
            answers += {one.arithmetic: one for one in likeliest_last}.values()
    if facts.rcvbuf is not None and all(answer.against for answer in answers):
        # The known buffer does not lead to this window: find the settings of this kernel that do.
        return replace(solve(observed, replace(facts, rcvbuf=None)), facts=facts, agrees=False)
    return compared(observed, facts, answers)


def _defaults(path: Path, facts: Facts) -> tuple[int, ...]:
    """Return the sizes that a buffer may have had before SO_RCVBUF was set after the handshake."""
    if facts.rmem is not None:
        return (facts.rmem[1],)
    if path.knob is not Knob.AFTER or path.era.shift is None:
        return (RMEM_DEFAULT,)
    return (RMEM_DEFAULT, RMEM_DEFAULT_OLD)


def _inverted(path: Path, observed: Observed, facts: Facts, ways: list[Path], default: int) -> Answer | None:
    """Return the setting by which a path gives the window; None if it does not."""
    era, knob = path.era, path.knob
    if (
        era.whole_segments
        and (observed.scale, observed.syn) == (None, None)
        and observed.window % observed.mss
    ):
        observed = replace(observed, mss=1)  # no capture shows the MSS: the window is that of another one
    found = next(
        (
            (scale, span)
            for scale in _scales(path, observed)
            if (span := _values(path, observed, scale, default)) is not None
        ),
        None,
    )
    if found is None:
        return None
    scale, (low, high) = found
    known = _known(path, facts)
    given = [value for value in known if low <= value <= high]
    if known and not given:
        return None
    if facts.rcvbuf is not None and knob is Knob.GROWN and not _reaches(path, observed, facts, scale):
        return None
    value = given[0] if given else _best(knob, low, high)
    if not given and knob in (Knob.FIRST, Knob.HIWAT, Knob.START) and (knob, value) not in WELL_KNOWN:
        return None  # a first window, or a system's default, that is no known one explains nothing
    setting = Setting(era, knob, value, path.stop)
    advertised = setting.advertises(observed.mss, scale, unscaled=observed.unscaled, default=default)
    against = _against(setting, advertised, observed)
    agrees = observed.syn is not None and observed.syn < FIELD_MAX and advertised.syn == observed.syn
    arithmetics = {(way.era.share, way.era.linux) for way in ways if not way.era.is_measured}
    by_chance = chance(knob, value, observed, ways=len(arithmetics), agrees=agrees)
    is_given = bool(given) and (knob is not Knob.GROWN or facts.rmem is not None)
    return Answer(
        setting,
        value if is_given else low,
        value if is_given else high,
        advertised,
        facts.request(value) * (knob is Knob.OPTION)
        + arithmetic(setting, advertised, observed, scale, default),
        _exactness(setting, advertised, observed, by_chance, given=is_given, against=against),
        against,
        given=is_given,
        needs="" if path.usual else f"net.ipv4.tcp_adv_win_scale={era.shift}",
        chance=0.0 if is_given else by_chance,
        likelihood=0.0 if against else path.often * _of_answer(setting, low, high, advertised, observed),
    )


def _of_answer(setting: Setting, low: int, high: int, advertised: Advertised, observed: Observed) -> float:
    """Return how often a knob has one of its values that give the window, with this handshake."""
    often = of_value(setting.knob, low, high)
    own = setting.era.linux and setting.knob is Knob.OPTION
    if not own or (advertised.scale != observed.scale and observed.scale is not None):
        often *= of_handshake(setting.knob, setting.era, observed, advertised.syn)
    if setting.knob is Knob.AFTER and not _first_fits(advertised, observed, setting.era):
        often *= _OTHER_DEFAULT
    elif setting.era.linux and None not in (observed.syn, advertised.syn) and observed.syn != advertised.syn:
        often *= _FEW_SEGMENTS
    return often


def _exactness(
    setting: Setting,
    advertised: Advertised,
    observed: Observed,
    by_chance: float,
    *,
    given: bool,
    against: str,
) -> Exactness:
    knob, value = setting.knob, setting.value
    # Hosts rarely change the default of their kernel, and growth rarely stops before the share ends.
    likely = given or (
        is_chosen(knob, value)
        and setting.stop == FULL
        and (knob in (Knob.OPTION, Knob.STACK) or (knob, value) in WELL_KNOWN)
    )
    if not likely or against or observed.doubt:
        return Exactness.CONSISTENT
    # Rounding up to the scale moves less than 1/32,768 of the window; rounding to segments hides more.
    exact = advertised.raw == observed.window or (given and setting.stop < FULL)
    if exact and (given or by_chance < _RARE):
        return Exactness.EXACT
    full = advertised.window == observed.window != advertised.raw and observed.field_full
    return Exactness.ROUNDED if not full and (given or by_chance < _UNUSUAL) else Exactness.CONSISTENT


def _known(path: Path, facts: Facts) -> list[int]:
    """Return the values that the path's knob may have by the facts; empty if they tell nothing of it."""
    if path.knob in (Knob.OPTION, Knob.AFTER):
        return facts.buffers if path.era.linux else [facts.rcvbuf] if facts.rcvbuf is not None else []
    if facts.rmem is not None and path.knob in (Knob.DEFAULT, Knob.GROWN, Knob.FIRST):
        return [facts.rmem[2 if path.knob is Knob.GROWN else 1]]
    if facts.rcvbuf is not None and path.knob is Knob.GROWN:
        return [value for knob, value in WELL_KNOWN if knob is Knob.GROWN]
    return []


def _reaches(path: Path, observed: Observed, facts: Facts, scale: int | None) -> bool:
    """Return whether a known SO_RCVBUF allows the window at which growth stopped."""
    return any(
        Setting(path.era, Knob.OPTION, value).advertises(observed.mss, scale).window >= observed.window
        for value in facts.buffers
    )


def _scales(path: Path, observed: Observed) -> list[int | None]:
    """Return the window scales by which the window may have been rounded, none first if the scale is unknown."""
    if observed.scale is not None or path.stop == FULL or observed.window <= FIELD_MAX:
        return [observed.scale]
    fitting = range(max(0, observed.window.bit_length() - FIELD_BITS), SCALE_MAX + 1)
    return [None, *(scale for scale in fitting if observed.window % (1 << scale) == 0)]


def _values(path: Path, observed: Observed, scale: int | None, default: int) -> tuple[int, int] | None:
    """Return the smallest and largest value of a knob that gives the window, narrowed by the handshake; None if none."""

    def made(value: int) -> Advertised:
        return Setting(path.era, path.knob, value, path.stop).advertises(
            observed.mss, scale, unscaled=observed.unscaled, default=default
        )

    most = _MOST_VALUE * (observed.window + observed.mss)
    found = _span(1, most, observed.window, lambda value: made(value).window)
    if found is not None and found[1] == most:
        found = found[0], ENDLESS  # any larger value gives the same window
    if found is None or path.knob not in (Knob.OPTION, Knob.DEFAULT) or not path.era.linux:
        return found
    # Scale and first window never fall as the value rises, so each narrows the span unless it contradicts it.
    if path.knob is Knob.OPTION and observed.agreed_scale is not None:
        found = _span(*found, observed.agreed_scale, lambda value: made(value).scale or 0) or found
    if observed.syn is not None:
        found = _span(*found, observed.syn, lambda value: made(value).syn or 0) or found
    return found


def _best(knob: Knob, low: int, high: int) -> int:
    known = [value for one, value in WELL_KNOWN if one is knob and low <= value <= high]
    return known[0] if known else roundest(low, high)


def _span(low: int, high: int, target: int, key: Callable[[int], int]) -> tuple[int, int] | None:
    """Return the first and last number from `low` to `high` that a monotonic function maps to `target`; None if none."""
    values = range(low, high + 1)
    first, past = bisect_left(values, target, key=key), bisect_right(values, target, key=key)
    return (values[first], values[past - 1]) if first < past else None


def _against(setting: Setting, advertised: Advertised, observed: Observed) -> str:
    era = setting.era
    scale = observed.agreed_scale
    if None not in (scale, advertised.scale) and advertised.scale != scale:
        return f"its socket would have offered window scale {advertised.scale}, not {scale}"
    # After the handshake SO_RCVBUF determines nothing of it: the default of the buffer does.
    before = setting.knob is not Knob.AFTER
    if before and observed.syn is not None and advertised.syn is not None and era.linux:
        if not _first_fits(advertised, observed, era):
            return f"its SYN-ACK would have offered {advertised.syn:,} bytes, not {observed.syn:,}"
    elif before and observed.syn is not None and advertised.syn is not None and setting.knob is Knob.STACK:
        return "" if observed.syn == advertised.syn else f"its first window was {observed.syn:,} bytes"
    if setting.knob is Knob.FIRST and observed.syn not in (None, advertised.window):
        return f"the first window was {observed.syn:,} bytes, not {advertised.window:,}"
    unset = era.linux and setting.knob not in (Knob.OPTION, Knob.CLAMP)
    if unset and scale == 1:
        return (
            f"a socket whose buffer is not set offers the scale of net.core.rmem_max, 2 or more, not {scale}"
        )
    return ""


def _first_fits(advertised: Advertised, observed: Observed, era: Era) -> bool:
    """Return whether the SYN-ACK's window is one that the buffer allows, or unknown."""
    known = observed.syn is not None and advertised.syn is not None
    return not known or observed.syn in first_windows(advertised.syn or 0, observed.mss, era)
