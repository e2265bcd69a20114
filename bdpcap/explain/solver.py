"""
Window arithmetic backward: every setting that explains an observed window, best first.

The forward function never falls as a setting rises, so a bisection finds the settings that give a window. Any number
is explained by *some* setting; it tells something only if that setting is one that a person or a kernel would choose.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import (
    FIELD_MAX,
    WELL_KNOWN,
    Advertised,
    Era,
    Knob,
    Setting,
    Version,
    eras_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Answer", "Exactness", "Facts", "Observed", "Solution", "roundness", "solve"]


class Exactness(StrEnum):
    """How well a number is explained."""

    EXACT = "exact"
    """To the byte, by a setting that someone would choose."""
    ROUNDED = "within rounding"
    """By such a setting, after rounding to the window scale or the MSS; so would its neighbours."""
    CONSISTENT = "consistent"
    """Possible; nothing speaks for it alone."""
    NONE = "no match"


_ORDER: Final = list(Exactness)
_RATIOS: Final = (40, 240)
"""256ths of memory that can be payload: small packets in large buffers, large ones in pages of their own."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a capture shows; None is what it does not."""

    window: int
    """The plateau, scaled."""
    mss: int
    scale: int | None = None
    """0 where scaling is not in force."""
    syn: int | None = None
    """Window of the receiver's SYN-ACK, which is never scaled."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known from outside the capture."""

    rcvbuf: int | None = None
    sndbuf: int | None = None
    kernel: Version | None = None
    adv_win_scale: int | None = None

    @property
    def of_receiver(self) -> bool:
        """Whether anything is known of the receiver."""
        return (self.rcvbuf, self.kernel, self.adv_win_scale) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Answer:
    """
    A setting that explains the window.

    Attributes
    ----------
    setting
        The roundest of `low` to `high`, all of which give the window.
    advertised
        What it leads to.
    arithmetic
        In one line.
    against
        What the capture says against it; empty where nothing does.
    fitted
        Whether a free ratio was fitted: then all of `low` to `high` is as likely.
    given
        Whether the setting is known from outside the capture.
    needs
        The sysctl it takes that the kernel does not have by default; empty where none.
    """

    setting: Setting
    low: int
    high: int
    advertised: Advertised
    arithmetic: str
    exactness: Exactness
    against: str = ""
    fitted: bool = False
    given: bool = False
    needs: str = ""

    @property
    def chosen(self) -> bool:
        """Whether the setting is known, or one that a person or a kernel would choose, and nothing was fitted to it."""
        return not self.fitted and (self.given or _is_chosen(self.setting.knob, self.setting.value))

    @property
    def telling(self) -> bool:
        """Whether it says more than that some number fits: it is chosen, or nearly pinned down."""
        return not self.against and (self.chosen or (self.high <= 1.1 * self.low and self.fitted))

    @property
    def well_known(self) -> str:
        """Why nobody had to choose it; empty where somebody had."""
        return WELL_KNOWN.get((self.setting.knob, self.setting.value), "")


@dataclass(frozen=True, slots=True)
class Solution:
    """
    All answers, best first.

    Attributes
    ----------
    exactness
        Of the best answer; ``no match`` where no setting that anyone would choose gives the window.
    field_full
        Whether the window is all that 16 bits can say at this scale: another limit than the buffer.
    predicted
        With `Facts.rcvbuf`: what each era that is left makes of it.
    """

    observed: Observed
    answers: list[Answer]
    exactness: Exactness
    field_full: bool
    predicted: list[tuple[Setting, Advertised]] = field(default_factory=list)


def roundness(value: int) -> float:
    """Return the bits it takes to name a number: fewer where it is a small multiple of 10^k or of 2^k."""
    if value <= 0:
        return math.inf
    decimal, binary = value, value
    while decimal % 10 == 0:
        decimal //= 10
    binary //= value & -value
    return min(math.log2(decimal), math.log2(binary) + 1)


def roundest(low: int, high: int) -> int:
    """Return the roundest number from `low` to `high`."""
    candidates = {low}
    for base in (2, 10):
        step = 1
        while step <= high:
            first = -(-low // step) * step
            candidates.update(one for one in (first, first + step) if one <= high)
            step *= base
    return min(candidates, key=lambda one: (roundness(one), one))


def _is_chosen(knob: Knob, value: int) -> bool:
    """Tell whether anyone would choose a number: three digits and zeros, a small multiple of 2^k, or a default."""
    digits = value >= 1000 and value % 10 ** (len(str(value)) - 3) == 0
    return digits or roundness(value) < 8 or (knob, value) in WELL_KNOWN


def _best(knob: Knob, low: int, high: int) -> int:
    known = [value for one, value in WELL_KNOWN if one is knob and low <= value <= high]
    return known[0] if known else roundest(low, high)


def solve(observed: Observed, facts: Facts | None = None) -> Solution:
    """
    Return every setting that explains a window.

    Parameters
    ----------
    observed
        From a capture, or from anywhere.
    facts
        What is known besides: it rules settings out.
    """
    facts = facts or Facts()
    answers = []
    for era, usual in eras_of(facts.kernel, facts.adv_win_scale):
        free = _free_ratio(era, observed, facts)
        for knob in _knobs(era, observed):
            answer = _invert(era, knob, observed, facts)
            # Where the share is measured, an odd setting by its usual value is but a point of what a free one gives.
            point = free is not None and knob is Knob.OPTION and answer is not None and not answer.chosen
            if answer is not None and not point:
                answers.append(answer if usual else _unusual(answer))
        if free is not None and not any(_same(free, other) for other in answers):
            answers.append(free)
    if facts.rcvbuf is not None and all(answer.against for answer in answers):
        # What is known does not lead to this window, so the capture alone has to say what would.
        return replace(solve(observed), predicted=_predict(observed, facts))
    full = _field_full(observed)
    answers.sort(key=_rank)
    best = min((answer.exactness for answer in answers if not answer.against), key=_ORDER.index, default=None)
    if full:
        best = Exactness.EXACT  # of the field, whatever the buffer
    elif best is None or (best is Exactness.CONSISTENT and not any(answer.telling for answer in answers)):
        best = Exactness.NONE
    return Solution(observed, answers, best, full, _predict(observed, facts))


def _field_full(observed: Observed) -> bool:
    return observed.window == FIELD_MAX << (observed.scale or 0)


def _knobs(era: Era, observed: Observed) -> list[Knob]:
    if era.shift is None:
        return [Knob.OPTION]
    first = [Knob.FIRST] if observed.window <= FIELD_MAX else []
    return [Knob.OPTION, Knob.DEFAULT, Knob.GROWN, *first]


def _values(era: Era, knob: Knob, observed: Observed) -> tuple[int, int] | None:
    """Return the least and the largest value of a knob that gives the window, narrowed by what the handshake showed."""

    def made(value: int) -> Advertised:
        return Setting(era, knob, value).advertises(observed.mss, observed.scale)

    found = _span(
        1, 8 * observed.window + 8 * observed.mss, observed.window, lambda value: made(value).window
    )
    if found is None or knob is not Knob.OPTION or not era.linux:
        return found
    # Scale and first window never fall either: each narrows the span, unless it contradicts.
    if observed.scale is not None:
        found = _span(*found, observed.scale, lambda value: made(value).scale or 0) or found
    if observed.syn is not None:
        found = _span(*found, observed.syn, lambda value: made(value).syn or 0) or found
    return found


def _invert(era: Era, knob: Knob, observed: Observed, facts: Facts) -> Answer | None:
    if facts.rcvbuf is not None and knob is not Knob.OPTION:
        return None
    found = _values(era, knob, observed)
    if found is None:
        return None
    low, high = found
    given = facts.rcvbuf is not None
    if facts.rcvbuf is not None:
        if not low <= facts.rcvbuf <= high:
            return None
        value = facts.rcvbuf
    else:
        value = _best(knob, low, high)
        if knob in (Knob.GROWN, Knob.FIRST) and (knob, value) not in WELL_KNOWN:
            return None  # a maximum or a first window that nobody knows explains nothing
    setting = Setting(era, knob, value)
    advertised = setting.advertises(observed.mss, observed.scale)
    against = _against(setting, advertised, observed)
    exactness = Exactness.CONSISTENT
    full = advertised.window == observed.window != advertised.raw and _field_full(observed)
    if not against and not full and (given or _is_chosen(knob, value)):
        exactness = Exactness.EXACT if advertised.raw == observed.window else Exactness.ROUNDED
    words = _arithmetic(setting, advertised, observed)
    return Answer(setting, low, high, advertised, words, exactness, against, given=given)


def _span(low: int, high: int, target: int, key: Callable[[int], int]) -> tuple[int, int] | None:
    """Return the first and the last number of `low` to `high` that a function which never falls takes to a target."""
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
    """Mark a setting that takes a sysctl the kernel does not have by default: guessed, unless the buffer is known."""
    return replace(
        answer,
        exactness=answer.exactness if answer.given else Exactness.CONSISTENT,
        needs=f"net.ipv4.tcp_adv_win_scale={answer.setting.era.shift}",
    )


def _free_ratio(era: Era, observed: Observed, facts: Facts) -> Answer | None:
    """Fit the ratio of payload to memory, which Linux measures per socket since 6.12."""
    if not era.charged_bytes:
        return None
    low, high = -(-observed.window * 256 // (2 * _RATIOS[1])), observed.window * 256 // (2 * _RATIOS[0])
    if observed.syn is not None and observed.syn < FIELD_MAX:
        low, high = max(low, observed.syn), min(high, observed.syn + observed.mss - 1)
    if observed.scale is not None:
        low = max(low, 1 << (15 + observed.scale) if observed.scale else 1)
        high = min(high, (1 << (16 + observed.scale)) - 1)
    if facts.rcvbuf is not None:
        low, high = max(low, facts.rcvbuf), min(high, facts.rcvbuf)
    if low > high:
        return None
    value = roundest(low, high)
    setting = Setting(era, Knob.OPTION, value)
    advertised = setting.advertises(observed.mss, observed.scale)
    least, most = observed.window / (2 * high), observed.window / (2 * low)
    span = f"{low:,}" if low == high else f"({low:,} to {high:,})"
    share = f"{most:.3f}" if low == high else f"({most:.3f} to {least:.3f})"
    words = f"2 x {span} x {share}, the measured share of payload in memory, = {observed.window:,}"
    given = facts.rcvbuf is not None
    return Answer(setting, low, high, advertised, words, Exactness.CONSISTENT, fitted=True, given=given)


def _same(one: Answer, other: Answer) -> bool:
    return one.setting == other.setting and not other.against and other.exactness is not Exactness.CONSISTENT


def _rank(answer: Answer) -> tuple[float, ...]:
    value = answer.setting.value
    knob = list(Knob).index(answer.setting.knob)
    order = [era.key for era, _ in eras_of()]
    key = answer.setting.era.key
    return (
        _ORDER.index(answer.exactness),
        bool(answer.against),
        bool(answer.needs),
        not answer.chosen,
        not answer.well_known,
        knob,
        not answer.fitted,  # by a measured share any buffer may be a round one
        roundness(value),
        order.index(key) if key in order else -1,
    )


def _arithmetic(setting: Setting, advertised: Advertised, observed: Observed) -> str:
    era, value = setting.era, setting.value
    if not era.linux:
        return f"{value:,}, the whole buffer"
    first = f"2 x {value:,}" if setting.knob is Knob.OPTION else f"{value:,}"
    if advertised.buffer != 2 * value and setting.knob is Knob.OPTION:
        first = f"{advertised.buffer:,} (the least)"
    share = f" x {era.factor}"
    if era.charged_bytes:
        share = f" - {era.charged_bytes:,}) x {era.ratio}/256"
        first = f"({first}"
    kept = advertised.offered - advertised.raw
    words = f"{first}{share}{f' - {kept:,}' if kept else ''} = {advertised.raw:,}"
    if advertised.window == advertised.raw:
        return words
    scale = advertised.scale if advertised.scale is not None else observed.scale
    if advertised.window == FIELD_MAX << (scale or 0):
        return f"{words}, cut to the {advertised.window:,} that the window field holds"
    if scale:
        return f"{words}, up to a multiple of {1 << scale}: {advertised.window:,}"
    return f"{words}, down to {advertised.window // observed.mss} segments: {advertised.window:,}"


def _predict(observed: Observed, facts: Facts) -> list[tuple[Setting, Advertised]]:
    if facts.rcvbuf is None:
        return []
    settings = [
        Setting(era, Knob.OPTION, facts.rcvbuf)
        for era, usual in eras_of(facts.kernel, facts.adv_win_scale)
        if usual
    ]
    return [(setting, setting.advertises(observed.mss, observed.scale)) for setting in settings]
