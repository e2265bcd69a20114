"""
How much a match says: what a round number is, and how often a window that nobody chose matches one as round.

Any window is explained by some setting. A match tells something where few settings are as round as the one that
matches, and many windows of the same kind and size could have been seen.
"""

from __future__ import annotations

import math
from typing import Final

from bdpcap.explain.buffers import FIELD_MAX, WELL_KNOWN, Knob

__all__ = ["chance", "is_chosen", "roundest", "roundness"]

_OCTAVE: Final = math.sqrt(2)
"""Settings and windows within this factor, up and down, are of one size."""
_DEFAULTS: Final = 2
"""So many defaults are of one size, at most."""
_DECIMAL, _KIBI, _ODD = 1000, 100, 16
"""What people choose is below these: a number before zeros, one before zeros and Ki or Mi, an odd one times 2^k."""


def roundness(value: int) -> float:
    """Return the bits it takes to name a number: fewer where it is a small multiple of 10^k, of 2^k, or of 10^k Ki."""
    if value <= 0:
        return math.inf
    decimal, binary, kibi = _parts(value)
    return min(math.log2(decimal), math.log2(binary) + 1, math.log2(kibi) + 1)


def _parts(value: int) -> tuple[int, int, int]:
    """Return what is left of a number without its zeros: in decimal, in binary, and of its Ki in decimal."""
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
    """Tell whether anyone would choose a number: three digits and zeros, two and zeros times Ki, or 2^k times few."""
    if (knob, value) in WELL_KNOWN:
        return True
    decimal, binary, kibi = _parts(value)
    return decimal < _DECIMAL or binary < _ODD or (kibi < _KIBI and value % 1024 == 0)


def chance(
    knob: Knob, value: int, window: int, mss: int, scale: int | None, *, ways: int, syn_agrees: bool
) -> float:
    """
    Return the share of windows of one kind and size that a setting as round as this explains.

    Parameters
    ----------
    knob, value
        The setting that matches.
    window, mss, scale
        What was seen; `scale` is None where it is not known.
    ways
        How many eras were tried.
    syn_agrees
        Whether the window of the SYN-ACK, below the field's limit, is the one that the setting leads to.
    """
    known = (knob, value) in WELL_KNOWN
    settings = _DEFAULTS if known else ways * _as_round(roundness(value))
    windows = window * (_OCTAVE - 1 / _OCTAVE) / _step(window, mss, scale)
    agreement = min(1.0, 2 * mss / window) if syn_agrees else 1.0
    return min(1.0, settings / max(1.0, windows)) * agreement


def _step(window: int, mss: int, scale: int | None) -> int:
    """Return the distance between windows of the kind: multiples of the scale, whole segments, or any."""
    if scale is None and window > FIELD_MAX:
        return 1 << (window.bit_length() - 16)
    if scale:
        return 1 << scale
    return mss if window % mss == 0 else 1


def _as_round(bits: float) -> float:
    """Return how many settings of one size are as round as `bits`: a mantissa m stands in log10(2) of all octaves."""
    most = 2**bits + 1e-6
    decimal = 0.9 * min(most, _DECIMAL) * math.log10(2)
    kibi = 0.9 * min(most / 2, _KIBI) * math.log10(2)
    odd = math.ceil(min(most / 2, _ODD) / 2)
    return decimal + kibi + odd
