"""Quantities as people type them: a number, a prefix and a unit, read exactly or refused.

``k``, ``M``, ``G`` and ``T`` are powers of 1000, ``Ki``, ``Mi``, ``Gi`` and ``Ti`` powers of 1024 (IEC 80000-13);
``bit`` and ``b`` are bits, ``byte`` and ``B`` are bytes. What tools have read in two ways is refused: a capital
``K``, and a rate without a unit. Values are fractions, so that nothing rounds before it is shown.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

__all__ = ["duration", "fraction", "kib", "rate", "size"]

_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_PREFIXES: Final = {name: Fraction(factor) for name, factor in (_DECIMAL | _BINARY).items()}
_BITS: Final = {"bit": 1, "bits": 1, "b": 1, "B": 8, "byte": 8, "bytes": 8, "Byte": 8, "Bytes": 8}
_SECONDS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_NUMBER: Final = re.compile(
    r"\s*(\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,2})?)\s*(\S*)\s*", re.ASCII | re.IGNORECASE
)


def rate(text: str) -> Fraction:
    """
    Read a rate: ``100Mbit/s``, ``100 Mb/s``, ``100Mbps``, ``12.5MB/s``, ``2 Mibit/s``.

    Returns
    -------
    Bits per second.

    Raises
    ------
    ValueError
        It is no rate, or could be read in two ways.
    """
    number, unit = _split(text, "100Mbit/s")
    amount = unit.removesuffix("/s") if unit.endswith("/s") else unit.removesuffix("ps")
    if amount in (unit, ""):
        raise ValueError(f"{text!r} is no rate: write bits or bytes per second, such as 100Mbit/s or 12MB/s")
    return _positive(number * _bits(amount, text), text)


def size(text: str) -> Fraction:
    """
    Read an amount of data: ``64KiB``, ``1GB``, ``65536B``, ``12kbit``; a bare number counts bytes, as in sysctls.

    Returns
    -------
    Bytes.

    Raises
    ------
    ValueError
        It is no amount, or could be read in two ways.
    """
    number, unit = _split(text, "64KiB")
    return _positive(number * (_bits(unit, text) if unit else 8) / 8, text)


def duration(text: str) -> Fraction:
    """
    Read a duration: ``25ms``, ``0.3s``, ``173 ms``, ``10us``, ``5min``, ``2h``.

    Returns
    -------
    Seconds.

    Raises
    ------
    ValueError
        It is no duration.
    """
    number, unit = _split(text, "25ms")
    if unit not in _SECONDS:
        raise ValueError(f"{text!r} is no duration: write a number and one of {', '.join(_SECONDS)}")
    return _positive(number * _SECONDS[unit], text)


def fraction(text: str) -> Fraction:
    """
    Read a share: ``0.01%``, or ``0.0001``.

    Returns
    -------
    A share above 0, at most 1.

    Raises
    ------
    ValueError
        It is no share of one.
    """
    number, unit = _split(text, "0.01%")
    share = number / 100 if unit == "%" else number
    if unit not in ("", "%") or share > 1:
        raise ValueError(f"{text!r} is no share: write 0.01% or 0.0001")
    return _positive(share, text)


def kib(count: Fraction) -> str:
    """Bytes with a binary prefix, to three digits: ``65536`` is ``64 KiB``."""
    chosen = [name for name, factor in _BINARY.items() if count >= factor]
    name = chosen[-1] if chosen else ""
    value = float(count / _PREFIXES[name])
    return f"{value:.3g} {name}B" if value < 1000 else f"{value:.0f} {name}B"


def _split(text: str, example: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read {text!r}: write a number and its unit, such as {example}")
    return Fraction(match[1].rstrip(".")), match[2]


def _bits(unit: str, text: str) -> Fraction:
    """Return the bits in a prefixed unit."""
    for name in sorted(_BITS, key=len, reverse=True):
        prefix = unit.removesuffix(name)
        if prefix != unit and prefix in _PREFIXES:
            return _PREFIXES[prefix] * _BITS[name]
    if unit.startswith("K"):
        meant = unit[1:].removeprefix("i") or "B"
        raise ValueError(
            f"{text!r} has a K, which some read as 1000 and some as 1024: write k{meant} or Ki{meant}"
        )
    if unit in _PREFIXES:
        raise ValueError(f"{text!r} says neither bits nor bytes: write {unit}bit or {unit}B")
    if unit[:1] in "mg":
        raise ValueError(f"{text!r} has a small {unit[0]}: write {unit[0].upper()}{unit[1:]}")
    raise ValueError(f"cannot read the unit of {text!r}: write bit or B, after k, M, G, T, Ki, Mi, Gi or Ti")


def _positive(value: Fraction, text: str) -> Fraction:
    if value <= 0:
        raise ValueError(f"{text!r} is nothing: write a value above zero")
    return value
