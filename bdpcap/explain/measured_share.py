"""Window arithmetic backward where the kernel measures the share of the buffer from the memory of received packets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from bdpcap.explain.answer import ENDLESS, Answer, Exactness
from bdpcap.explain.buffers import FIELD_BITS, FIELD_MAX, RMEM_DEFAULT, WELL_KNOWN, Knob, Setting
from bdpcap.explain.eras import FULL_PACKETS, MEASURED_SHARES
from bdpcap.explain.likelihood import of_chosen, of_default, of_handshake, of_share, roundest, unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from bdpcap.explain.answer import Facts, Observed
    from bdpcap.explain.paths import Path

__all__ = ["fits"]


class _Span(NamedTuple):
    """Smallest and largest value in bytes."""

    low: int
    high: int

    def within(self, other: _Span) -> _Span:
        """Return the values that are in both; the lower end exceeds the upper one if there are none."""
        return _Span(max(self.low, other.low), min(self.high, other.high))

    def __bool__(self) -> bool:
        return self.low <= self.high


def fits(path: Path, observed: Observed, facts: Facts) -> Iterator[Answer]:
    """
    Yield the ranges of a knob that give a window where the kernel measures the share of the buffer.

    The share at the handshake is one half, so SO_RCVBUF set before it follows from the window scale and the SYN-ACK's
    window within bounds. Yields nothing if no value fits, or if the known one does not.
    """
    fit = _Fit(path, observed, facts)
    if path.knob is Knob.AFTER:
        yield from fit.after()
    else:
        yield from fit.answers(fit.bounds())


@dataclass(frozen=True, slots=True)
class _Fit:
    """A path to a window, with the observation and the facts that narrow it."""

    path: Path
    observed: Observed
    facts: Facts

    @property
    def _doubled(self) -> int:
        return 2 if self.path.knob in (Knob.OPTION, Knob.AFTER) else 1

    def _values(self, shares: tuple[Fraction, Fraction]) -> _Span:
        """Return the values of the knob by which the window is one of these shares of the buffer."""
        seen, (least, most) = self.observed, shares
        # Without a scale the window is rounded down to whole segments, and memory in use took part of the buffer.
        loose = not seen.scale and seen.window % seen.mss == 0
        low = math.ceil(seen.window / most)
        high = int((seen.window + (seen.mss - 1 if loose else 0)) / least) + (
            self.path.era.charged_bytes if loose else 0
        )
        return _Span(-(-low // self._doubled), ENDLESS if seen.field_full else high // self._doubled)

    def bounds(self) -> _Span:
        """Return the values that the window and the handshake allow."""
        scale, syn, mss = self.observed.agreed_scale, self.observed.syn, self.observed.mss
        span = self._values(MEASURED_SHARES)
        if self.path.knob is Knob.OPTION:
            # Half of the doubled buffer determines the scale and the first window.
            if scale is not None:
                span = span.within(
                    _Span(1 << (FIELD_BITS - 1 + scale) if scale else 1, (1 << (FIELD_BITS + scale)) - 1)
                )
            if syn is not None:
                rest = mss - 1 if syn % mss == 0 else 0
                span = span.within(_Span(syn, syn + rest if syn < FIELD_MAX else ENDLESS))
        elif self.path.knob is Knob.DEFAULT and syn is not None and syn < FIELD_MAX:
            span = span.within(_Span(2 * syn, 2 * (syn + mss) - 1))
        elif scale is not None:
            # The scale of an unset buffer holds at least tcp_rmem[2].
            span = span.within(_Span(0, (1 << (FIELD_BITS + scale)) - 1))
        return span

    def answers(self, span: _Span, part: float = 1.0) -> Iterator[Answer]:
        """Yield the answer whose values are in a range, if there is one; its path takes `part` of the cases."""
        known = self._known()
        given = [value for value in known if span.low <= value <= span.high]
        if not span or (known and not given):
            return
        knob, seen = self.path.knob, self.observed
        likely = span.within(self._values(FULL_PACKETS))
        defaults = [value for one, value in WELL_KNOWN if one is knob and span.low <= value <= span.high]
        usual = [
            value
            for value in defaults
            if of_default(knob) and (not likely or likely.low <= value <= likely.high)
        ]
        first = knob is Knob.OPTION and seen.syn is not None and seen.syn < FIELD_MAX
        value = (given or usual or [roundest(*(likely if likely and not first else span))])[0]
        share = seen.window / (self._doubled * value)
        words = f"{'2 x ' if self._doubled == 2 else ''}{value:,} x {_share(share)} = {seen.window:,}"
        asked = self.facts.request(value) if knob is Knob.OPTION else ""
        yield self._answer(
            value, span, asked + words, part * self._often(span, likely, defaults), given=bool(given)
        )

    def after(self) -> Iterator[Answer]:
        """Yield the values that lower the window, and those that only keep the default from growing.

        On 6.18 a value above the default's half left the window at the default's share: data had come before it was set.
        """
        seen = self.observed
        default = RMEM_DEFAULT if self.facts.rmem is None else self.facts.rmem[1]
        share, kept = seen.window / default, _Span(default // 2, ENDLESS)
        given = [value for value in self._known() if value >= kept.low]
        often = of_share(share, default, unit(seen)) if not seen.field_full else 0.0
        if often > 0 and (given or not self._known()):
            words = (
                f"{default:,}, the default of tcp_rmem[1], x {_share(share)} = {seen.window:,}; a larger buffer that is "
                "set then does not raise it"
            )
            often *= self.path.often * of_handshake(self.path.knob, self.path.era, seen) / 2
            yield self._answer((given or [kept.low])[0], kept, words, often, given=bool(given))
        span = self._values(MEASURED_SHARES)
        # A larger value can take effect, too, if it is set before data come: an answer only if the value is known.
        most = span.high if seen.field_full or given else default // 2 - 1
        yield from self.answers(_Span(span.low, min(span.high, most)), 1 / 2)

    def _known(self) -> list[int]:
        """Return the values that the knob may have by the facts; empty if they tell nothing of it."""
        if self.path.knob in (Knob.OPTION, Knob.AFTER):
            return self.facts.buffers
        rmem = self.facts.rmem
        return [] if rmem is None else [rmem[1 if self.path.knob is Knob.DEFAULT else 2]]

    def _often(self, span: _Span, likely: _Span, defaults: list[int]) -> float:
        """Return how often receivers have the knob at such a value, and packets that leave this share."""
        knob, seen = self.path.knob, self.observed

        def often(value: int) -> float:
            buffer = self._doubled * max(1, value)
            return of_share(seen.window / buffer, buffer, unit(seen))

        found = sum(of_chosen(knob, *one) * often((one.low + one.high) // 2) for one in (span, likely) if one)
        found += sum(of_default(knob) * often(value) for value in defaults)
        if knob is not Knob.OPTION:
            found *= of_handshake(knob, self.path.era, seen)
        return self.path.often * found

    def _answer(self, value: int, span: _Span, words: str, often: float, *, given: bool) -> Answer:
        setting, seen = Setting(self.path.era, self.path.knob, value), self.observed
        return Answer(
            setting,
            value if given else span.low,
            value if given else span.high,
            setting.advertises(seen.mss, seen.scale, unscaled=seen.unscaled),
            words,
            Exactness.CONSISTENT,
            fitted=True,
            given=given,
            likelihood=often,
        )


def _share(share: float) -> str:
    return f"{share:.3f}, the measured share of payload in memory,"
