"""
Significance of a match: the roundness of a setting, and the chance that some window matches a setting as round.

Some setting explains any window. A match is evidence where few settings are as round as the one that matches, and many
windows of that kind and size are possible.
"""

from __future__ import annotations

import math
from typing import Final

from bdpcap.explain.buffers import FIELD_MAX, WELL_KNOWN, Knob

__all__ = ["chance", "is_chosen", "roundest", "roundness"]

_OCTAVE: Final = math.sqrt(2)
"""Settings and windows within this factor, up or down, count as of one size."""
_DEFAULTS: Final = 2
"""Largest number of defaults of one size."""
_DECIMAL, _KIBI, _ODD = 1000, 100, 16
"""Bounds of numbers that people choose: digits before zeros, digits before zeros and Ki or Mi, odd factor of 2^k."""


def roundness(value: int) -> float:
    """Return the bits needed to name a number: fewer for small multiples of 10^k, 2^k, or 10^k Ki."""
    if value <= 0:
        return math.inf
    decimal, binary, kibi = _parts(value)
    return min(math.log2(decimal), math.log2(binary) + 1, math.log2(kibi) + 1)


def _parts(value: int) -> tuple[int, int, int]:
    """Return a number without its decimal zeros, without its binary zeros, and without factors of 1024 and then 10."""
    decimal = kibi = value
    while decimal % 10 == 0:
        decimal //= 10
    while kibi % 1024 == 0:
        kibi //= 1024
    while kibi % 10 == 0:
        kibi //= 10
    return decimal, value // (value & -value), kibi


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


def is_chosen(knob: Knob, value: int) -> bool:
    """Return whether someone would choose a number.

    People choose up to three digits and zeros, up to two digits and zeros times Ki, or 2^k times an odd number below
    16. A well-known default counts as chosen.
    """
    if (knob, value) in WELL_KNOWN:
        return True
    decimal, binary, kibi = _parts(value)
    return decimal < _DECIMAL or binary < _ODD or (kibi < _KIBI and value % 1024 == 0)


def chance(
    knob: Knob, value: int, window: int, mss: int, scale: int | None, *, ways: int, syn_agrees: bool
) -> float:
    """
    Return the share of windows of one kind and size that settings as round as this one explain.

    Parameters
    ----------
    knob, value
        Setting that matches.
    window, mss, scale
        Observed window and MSS in bytes, and the window scale; `scale` is None if unknown.
    ways
        Number of eras that were tried.
    syn_agrees
        Whether the SYN-ACK's window is below 65,535 and agrees with the setting.
    """
    known = (knob, value) in WELL_KNOWN
    settings = _DEFAULTS if known else ways * _as_round(roundness(value))
    windows = window * (_OCTAVE - 1 / _OCTAVE) / _step(window, mss, scale)
    agreement = min(1.0, 2 * mss / window) if syn_agrees else 1.0
    return min(1.0, settings / max(1.0, windows)) * agreement


def _step(window: int, mss: int, scale: int | None) -> int:
    """Return the distance between possible windows in bytes: a unit of the scale, a whole segment, or one byte."""
    if scale is None and window > FIELD_MAX:
        return 1 << (window.bit_length() - 16)
    if scale:
        return 1 << scale
    return mss if window % mss == 0 else 1


def _as_round(bits: float) -> float:
    """Return how many settings of one size are as round as `bits`.

    A decimal mantissa times some power of ten lies in log10(2) of all octaves.
    """
    most = 2**bits + 1e-6
    decimal = 0.9 * min(most, _DECIMAL) * math.log10(2)
    kibi = 0.9 * min(most / 2, _KIBI) * math.log10(2)
    odd = math.ceil(min(most / 2, _ODD) / 2)
    return decimal + kibi + odd
