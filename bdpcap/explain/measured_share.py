"""Window arithmetic backward where the kernel measures the share of the buffer from the memory of received packets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bdpcap.explain.answer import ENDLESS, Answer, Exactness
from bdpcap.explain.buffers import FIELD_MAX, RMEM_DEFAULT, WELL_KNOWN, Knob, Setting
from bdpcap.explain.eras import FULL_PACKETS, MEASURED_SHARES
from bdpcap.explain.likelihood import of_handshake, of_share, of_value, roundest, unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from bdpcap.explain.answer import Facts, Observed
    from bdpcap.explain.paths import Path

__all__ = ["fits"]


@dataclass(frozen=True, slots=True)
class _Span:
    """Smallest and largest value of a knob, and those that full packets would need; None if none would fit."""

    low: int
    high: int
    likely: tuple[int, int] | None


def fits(path: Path, observed: Observed, facts: Facts) -> Iterator[Answer]:
    """
    Yield the ranges of a knob that give a window where the kernel measures the share of the buffer.

    The share at the handshake is one half, so SO_RCVBUF set before it follows from the window scale and the SYN-ACK's
    window within bounds. Yields nothing if no value fits, or if the known one does not.
    """
    if path.knob is Knob.AFTER:
        yield from _after(path, observed, facts)
        return
    doubled = 2 if path.knob is Knob.OPTION else 1
    span = _buffers(observed)
    low, high = -(-span.low // doubled), span.high // doubled
    first = observed.syn is not None and observed.syn < FIELD_MAX
    if path.knob is Knob.OPTION:
        low, high = _by_handshake(observed, low, high)
    elif path.knob is Knob.DEFAULT and first and observed.syn is not None:
        low, high = max(low, 2 * observed.syn), min(high, 2 * (observed.syn + observed.mss) - 1)
    elif observed.scale is not None and not observed.unscaled:
        # The scale of an unset buffer holds at least tcp_rmem[2].
        high = min(high, (1 << (16 + observed.scale)) - 1)
    if low > high:
        return
    given = _given(path.knob, facts, low, high)
    if given is None:
        return
    likely = None
    if span.likely is not None:
        narrow = max(low, -(-span.likely[0] // doubled)), min(high, span.likely[1] // doubled)
        likely = narrow if narrow[0] <= narrow[1] else None
    known = [value for one, value in WELL_KNOWN if one is path.knob and low <= value <= high]
    usual = [value for value in known if likely is None or likely[0] <= value <= likely[1]]
    pinned = path.knob is Knob.OPTION and first
    if given:
        value = given[0]
    elif usual and path.knob is not Knob.OPTION:
        value = usual[0]
    else:
        value = roundest(*(likely if likely is not None and not pinned else (low, high)))
    often = path.often * _of_values(path.knob, low, high, likely, doubled, observed, known)
    if path.knob is not Knob.OPTION:
        often *= of_handshake(path.knob, path.era, observed)
    share = observed.window / (doubled * value)
    words = f"{'2 x ' if doubled == 2 else ''}{value:,} x {share:.3f}, the measured share of payload in memory, = "
    yield _answer(
        path,
        value,
        (value, value) if given else (low, high),
        observed,
        (facts.request(value) if path.knob is Knob.OPTION else "") + words + f"{observed.window:,}",
        often,
        given=bool(given),
    )


def _buffers(observed: Observed) -> _Span:
    """Return the buffers in bytes whose share may be the window: by any packets, and by full ones."""
    # Without a scale the window is rounded down to whole segments; the memory in use took part of the buffer, too.
    window, loose = observed.window, not observed.scale and observed.window % observed.mss == 0
    most = window + (observed.mss - 1 if loose else 0)
    charged = 1280 if loose else 0
    endless = observed.field_full

    def between(least: Fraction, largest: Fraction) -> tuple[int, int]:
        return math.ceil(window / largest), (1 << 32) if endless else int(most / least) + charged

    low, high = between(*MEASURED_SHARES)
    likely = between(*FULL_PACKETS)
    return _Span(max(1, low), high, likely)


def _by_handshake(observed: Observed, low: int, high: int) -> tuple[int, int]:
    """Narrow SO_RCVBUF by the window scale and the SYN-ACK, which half of the doubled buffer determines."""
    scale, syn = observed.scale, observed.syn
    if scale is not None and not observed.unscaled:
        low = max(low, 1 << (15 + scale) if scale else 1)
        high = min(high, (1 << (16 + scale)) - 1)
    if syn is not None and syn < FIELD_MAX:
        whole = syn % observed.mss == 0
        low, high = max(low, syn), min(high, syn + (observed.mss - 1 if whole else 0))
    elif syn is not None:
        low = max(low, syn)
    return low, high


def _given(knob: Knob, facts: Facts, low: int, high: int) -> list[int] | None:
    """Return the known values of a knob in a range; empty if none is known, None if a known one is outside."""
    known = facts.buffers if knob in (Knob.OPTION, Knob.AFTER) else []
    if facts.rmem is not None and knob in (Knob.DEFAULT, Knob.GROWN):
        known = [facts.rmem[1 if knob is Knob.DEFAULT else 2]]
    within = [value for value in known if low <= value <= high]
    return within if within or not known else None


def _of_values(
    knob: Knob,
    low: int,
    high: int,
    likely: tuple[int, int] | None,
    doubled: int,
    observed: Observed,
    known: list[int],
) -> float:
    """Return how often the knob has a value in a range, times how often packets then leave this share."""
    step = unit(observed)
    often = 0.0
    for span in ((low, high), likely):
        if span is None:
            continue
        middle = (span[0] + span[1]) // 2
        share = observed.window / (doubled * max(1, middle))
        often += of_value(knob, *span) * of_share(share, doubled * middle, step) if not known else 0.0
    for value in known:
        share = observed.window / (doubled * value)
        often += of_value(knob, value, value) * of_share(share, doubled * value, step)
    return often


def _after(path: Path, observed: Observed, facts: Facts) -> Iterator[Answer]:
    """Yield the values that lower the window, and those that only keep the default from growing.

    On 6.18 a value above the default's half left the window at the default's share: data had come before it was set.
    """
    default = RMEM_DEFAULT if facts.rmem is None else facts.rmem[1]
    often = path.often * of_handshake(path.knob, path.era, observed)
    step, span = unit(observed), _buffers(observed)
    share = observed.window / default
    kept = of_share(share, default, step) if not observed.field_full else 0.0
    if kept > 0:
        low, high = default // 2, ENDLESS
        given = [value for value in facts.buffers if value >= low]
        if facts.rcvbuf is None or given:
            value = given[0] if given else low
            words = (
                f"{default:,}, the default of tcp_rmem[1], x {share:.3f}, the measured share of payload in memory, = "
                f"{observed.window:,}; a larger buffer that is set then does not raise it"
            )
            yield _answer(
                path,
                value,
                (value, value) if given else (low, high),
                observed,
                words,
                often * kept / 2,
                given=bool(given),
            )
    low, high = -(-span.low // 2), min(span.high // 2, ENDLESS if observed.field_full else default // 2 - 1)
    given = [value for value in facts.buffers if low <= value <= span.high // 2]
    if low > high and not given or (facts.rcvbuf is not None and not given):
        return
    likely = None
    if span.likely is not None:
        narrow = max(low, -(-span.likely[0] // 2)), min(high, span.likely[1] // 2)
        likely = narrow if narrow[0] <= narrow[1] else None
    value = given[0] if given else roundest(*(likely or (low, high)))
    share = observed.window / (2 * value)
    yield _answer(
        path,
        value,
        (value, value) if given else (low, high),
        observed,
        f"2 x {value:,} x {share:.3f}, the measured share of payload in memory, = {observed.window:,}",
        often * _of_values(path.knob, low, max(low, high), likely, 2, observed, []) / 2,
        given=bool(given),
    )


def _answer(
    path: Path,
    value: int,
    span: tuple[int, int],
    observed: Observed,
    words: str,
    often: float,
    *,
    given: bool,
) -> Answer:
    setting = Setting(path.era, path.knob, value)
    return Answer(
        setting,
        *span,
        setting.advertises(observed.mss, observed.scale, unscaled=observed.unscaled),
        words,
        Exactness.CONSISTENT,
        fitted=True,
        given=given,
        likelihood=often,
    )
