"""
Likelihood of settings: how often receivers have them, and how often a window that nobody chose matches one as likely.

Some setting explains any window. A match is evidence where its setting is far likelier than that a window of this size
has this number by accident. Probabilities here are estimates of which only the order of magnitude matters. Those of
shares follow from tests/data/linux618_windows.csv.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import (
    FIELD_BITS,
    FIELD_MAX,
    RMEM_DEFAULT,
    RMEM_DEFAULT_OLD,
    WELL_KNOWN,
    Knob,
    Setting,
    first_windows,
    scale_for,
)
from bdpcap.explain.eras import FULL_PACKETS, MEASURED_SHARES

if TYPE_CHECKING:
    from fractions import Fraction

    from bdpcap.explain.answer import Observed
    from bdpcap.explain.eras import Era

__all__ = [
    "by_accident",
    "chance",
    "is_chosen",
    "of_chosen",
    "of_default",
    "of_handshake",
    "of_path",
    "of_share",
    "of_value",
    "roundest",
    "unit",
]

_OCTAVE: Final = math.sqrt(2)
"""Settings and windows within this factor, up or down, count as of one size."""
_WIDTH: Final = _OCTAVE - 1 / _OCTAVE
"""Numbers of one size, over that size."""
_SIZES: Final = 12
"""Octaves from 4 KiB to 16 MiB, in which buffers lie."""
_KNOBS: Final = {
    Knob.OPTION: 0.5,
    Knob.GROWN: 0.3,
    Knob.AFTER: 0.08,
    Knob.DEFAULT: 0.08,
    Knob.CLAMP: 0.005,
    Knob.FIRST: 0.02,
    Knob.HIWAT: 0.5,
    Knob.STACK: 0.9,
    Knob.START: 0.5,
}
"""How often a knob determines the window of a host that has it."""
_STOPS: Final = {1: 0.8, 2: 0.15, 4: 0.05}
"""How often growth stops at the whole, half or quarter of the share, where it can."""
_SEGMENTS: Final = 44
"""Numbers of segments that a small stack may have as its window: 44 of 1,460 bytes fill the field."""
_DEFAULTS: Final = 2
"""Largest number of defaults of one size."""
_UNTOUCHED: Final = 10
"""Window scale by the default maximum of autotuning since Linux 6.16, 32 MiB."""
_KEPT: Final = 0.6
"""How often a sysctl keeps its default."""
_NONE: Final = 0.1
"""How often a window comes from something that no setting here describes."""
_AS_NEEDED: Final = 0.6
"""How often a window that was not the limit has grown as far as the flow needed, to no number that a setting has."""
_FULL_PACKETS: Final = 0.8
"""How often packets are full and unmerged, so that the measured share lies in `FULL_PACKETS`."""
_CLASSES: Final = (
    (0.25, 10, 1, 0),
    (0.2, 10, 1, 1),
    (0.12, 10, 1, 2),
    (0.2, 2, 1, 0),
    (0.1, 2, 1, 3),
    (0.1, 10, 1024, 1),
)
"""Classes of numbers that people choose: how often, base, unit, and digits after the first.

One to three digits and zeros; 2^k; odd numbers below 16 times 2^k; up to two digits and zeros times Ki.
"""
_ANY: Final = 1 - sum(often for often, *_ in _CLASSES)
_SCALES: Final = {
    "linux": {7: 0.7, 8: 0.05, 9: 0.05, 6: 0.04, 10: 0.03, 5: 0.02, 4: 0.02, 3: 0.02, 2: 0.02},
    "linux-6.12-on": {7: 0.4, 10: 0.4, 8: 0.03, 9: 0.03, 6: 0.02, 11: 0.02},
    "freebsd": {6: 0.6, 5: 0.1, 4: 0.05, 3: 0.05, 9: 0.05},
    "windows": {8: 0.8, 2: 0.1},
    "netstack": {7: 0.9},
}
"""Window scales that a buffer set before the handshake does not determine.

Linux: 7 by a maximum of 4 or 6 MiB, 10 by 32 MiB. FreeBSD and macOS: 6 by kern.ipc.maxsockbuf. Windows: 8. netstack: 7.
"""
_OWN_SCALE: Final = 0.1
"""How often a stack other than Linux has the least scale that its window needs."""
_OTHER_SCALE: Final = 0.01
"""How often a host has one window scale that `_SCALES` does not list; an estimate."""
_NEEDED_SCALE: Final = 0.3
"""How often a stack that `_SCALES` does not list has the least scale that its window needs; an estimate."""
_USUAL_SYN: Final = 0.5
"""How often the window of Linux's SYN-ACK is one that its default buffer gives; an estimate."""
_OTHER_SYN: Final = 0.1
"""How often the window of a SYN-ACK is another one, of any size; an estimate."""
_OTHER_FIRST: Final = 0.02
"""How often the SYN-ACK of a stack other than Linux has a window that its setting does not give; an estimate."""
_ACCIDENTAL_SYN: Final = 0.3
"""How often a window of no described setting comes with one SYN-ACK of its size; an estimate."""
_ACCIDENTAL_SCALE: Final = 0.1
"""How often a window of no described setting comes with one scale; an estimate."""
_FINER: Final = 0.7
"""Density of a class of numbers over that of a number from which on the class counts: finer ones hold it, too."""
_SHRUNK: Final = 0.01
"""How often a window is below the first one though nothing lowered it."""


def _step(value: int, base: int, of: int, digits: int) -> int:
    """Return the distance between numbers of a class at a size."""
    scaled = max(1, value // of)
    power = scaled.bit_length() - 1 if base == 2 else len(str(scaled)) - 1
    return int(base ** max(0, power - digits)) * of


def _in_class(value: int, base: int, of: int, digits: int) -> bool:
    return value >= of and value % _step(value, base, of, digits) == 0


def is_chosen(knob: Knob, value: int) -> bool:
    """Return whether someone would choose a number: of a class of round numbers, or a well-known default."""
    return (knob, value) in WELL_KNOWN or any(_in_class(value, *of) for _, *of in _CLASSES)


def _commonness(value: int) -> float:
    """Return the density of a single number: its probability among numbers of its size, in units of 1 / size."""
    often = sum(often * _step(value, *of) for often, *of in _CLASSES if _in_class(value, *of))
    return (often + _ANY) / _WIDTH


def _oddness(value: int) -> tuple[float, int, int]:
    """Return a key by which numbers sort that people choose less often; about equal ones by their digits before zeros."""
    return -float(f"{_commonness(value) / value:.2g}"), len(str(value).rstrip("0")), value


def roundest(low: int, high: int) -> int:
    """Return the number from `low` to `high` that people would choose first."""
    candidates = {max(1, low)}
    for base, of in {(base, of) for _, base, of, _ in _CLASSES}:
        step = of
        while step <= high:
            first = -(-low // step) * step
            candidates.update(one for one in (first, first + step) if one <= high)
            step *= base
    return min(candidates, key=_oddness)


def of_value(knob: Knob, low: int, high: int) -> float:
    """Return how often a knob has a value from `low` to `high`, its defaults included."""
    if knob is Knob.STACK:
        return 1 / _SEGMENTS
    known = [value for one, value in WELL_KNOWN if one is knob]
    return of_default(knob) * sum(low <= value <= high for value in known) + of_chosen(knob, low, high)


def of_default(knob: Knob) -> float:
    """Return how often a knob has one of its well-known defaults; 0 for SO_RCVBUF, which has none."""
    known = sum(one is knob for one, _ in WELL_KNOWN)
    return _KEPT / known if known and knob is not Knob.OPTION else 0.0


def of_chosen(knob: Knob, low: int, high: int) -> float:
    """Return how often a knob has a value from `low` to `high` that someone chose."""
    size = max(1, (low + high) // 2)
    round_ = sum(
        often * (high // (step := _step(size, *of)) - (low - 1) // step) * step for often, *of in _CLASSES
    )
    often = min(1.0, (round_ + _ANY * (high - low + 1)) / (_WIDTH * size)) / _SIZES
    if knob is Knob.GROWN and high < RMEM_DEFAULT:
        often *= _SHRUNK  # a maximum is hardly ever less than the default
    return often if of_default(knob) == 0 else (1 - _KEPT) * often


def of_path(era: Era, knob: Knob, stop: Fraction, *, use: float) -> float:
    """Return how often a receiver's window is determined by a knob and a stop of an era, which `use` of them have."""
    stops = _STOPS[stop.denominator] if era.shift is not None and knob in (Knob.GROWN, Knob.OPTION) else 1.0
    return use * _KNOBS[knob] * stops


def unit(observed: Observed) -> int:
    """Return the distance between possible windows in bytes: a unit of the scale, a whole segment, or one byte."""
    window, scale = observed.window, observed.scale
    if not scale and window <= FIELD_MAX:
        return observed.mss if window % observed.mss == 0 else 1
    return 1 << (max(0, window.bit_length() - FIELD_BITS) if scale is None else scale)


def of_share(share: float, buffer: int, step: int) -> float:
    """Return how often packets leave a measured share of a buffer, to within `step` bytes of window."""
    least, most = (float(one) for one in FULL_PACKETS)
    lowest, highest = (float(one) for one in MEASURED_SHARES)
    if not lowest <= share <= highest:
        return 0.0
    density = (1 - _FULL_PACKETS) / (highest - lowest)
    if least <= share <= most:
        density += _FULL_PACKETS / (most - least)
    return min(1.0, density * step / buffer)


def of_handshake(knob: Knob, era: Era, observed: Observed, first: int | None = None) -> float:
    """
    Return how often a knob that does not determine them comes with this window scale and SYN-ACK.

    `first` is the window of the SYN-ACK that the stack would send; None takes that of Linux's default buffer.
    """
    often, scale, syn = 1.0, observed.agreed_scale, observed.syn
    if scale is not None:
        usual_scales = _SCALES.get(
            era.key, _SCALES["linux"] if era.linux else {scale_for(observed.window): _NEEDED_SCALE}
        )
        # Stacks derived from BSD, and older ones, take the scale from the buffer in force.
        own = _OTHER_SCALE if era.linux or scale != scale_for(observed.window) else _OWN_SCALE
        often *= max(usual_scales.get(scale, _OTHER_SCALE), own)
        # Autotuning is off by a sysctl, and who sets one sets others. A scale of 10 shows that nobody did.
        if era.is_measured and knob is (Knob.DEFAULT if scale == _UNTOUCHED else Knob.AFTER):
            often /= 2
    if syn is None:
        return often
    if era.linux:
        defaults = (RMEM_DEFAULT, RMEM_DEFAULT_OLD) if era.shift is not None else (RMEM_DEFAULT,)
        offered = [
            min(FIELD_MAX, Setting(era, Knob.DEFAULT, one).advertises(observed.mss).syn or 0)
            for one in defaults
        ]
        usual = any(syn in first_windows(one, observed.mss, era) for one in offered)
        often *= _USUAL_SYN if usual else _OTHER_SYN * _of_syn(observed)
        lowers = knob is Knob.AFTER or (era.is_measured and knob is Knob.DEFAULT)
        return often if lowers or syn <= observed.window else often * _SHRUNK
    return often * (1.0 if syn == first else _OTHER_FIRST)


def _of_syn(observed: Observed) -> float:
    return 1.0 if observed.syn is None or observed.syn >= FIELD_MAX else min(1.0, observed.mss / observed.syn)


def by_accident(observed: Observed) -> float:
    """Return how often a receiver has this window and handshake by nothing that is described here.

    A window that was not the limit often is one that autotuning grew as far as needed.
    """
    scaled = observed.agreed_scale is not None
    often = 1 / _SIZES / _numbers(observed)
    if not observed.limited:
        scales = _SCALES["linux-6.12-on"]
        return _AS_NEEDED * often * (scales.get(observed.scale or 0, _OTHER_SCALE) if scaled else 1.0)
    syn = 1.0 if observed.syn is None else _ACCIDENTAL_SYN * _of_syn(observed)
    return _NONE * often * (_ACCIDENTAL_SCALE if scaled else 1.0) * syn


def _numbers(observed: Observed) -> float:
    """Return how many windows of one size and kind are possible."""
    return max(1.0, _WIDTH * observed.window / unit(observed))


def chance(knob: Knob, value: int, observed: Observed, *, ways: int, agrees: bool) -> float:
    """
    Return the share of windows of one kind and size that settings as round as this one explain.

    Parameters
    ----------
    knob, value
        Setting that matches.
    observed
        Window and handshake.
    ways
        Number of different arithmetics that were tried.
    agrees
        Whether the SYN-ACK's window is below 65,535 and agrees with the setting.
    """
    settings = float(_DEFAULTS)
    if (knob, value) not in WELL_KNOWN:
        steps = [(often, _step(value, *of)) for often, *of in _CLASSES]
        # Numbers of a class belong to finer ones as well, hence the tolerance.
        least = _FINER * _commonness(value) * _WIDTH
        settings = ways * max(
            1.0, sum(_WIDTH * value / step for often, step in steps if often * step >= least)
        )
    agreement = min(1.0, 2 * observed.mss / observed.window) if agrees else 1.0
    return min(1.0, settings / _numbers(observed)) * agreement
