"""Parsing quantities as people type them and as tc and iperf accept them: a number, a prefix and a unit.

``k``, ``M``, ``G`` and ``T`` are powers of 1000, ``Ki``, ``Mi``, ``Gi`` and ``Ti`` powers of 1024 (IEC 80000-13);
``bit`` and ``b`` are bits, ``byte`` and ``B`` are bytes. A prefix without a unit has its meaning in tc(8) and iperf(1):
a rate is in bits and powers of 1000 (``100M``), a size in bytes and powers of 1024 (``64K``). A quantity that different
tools read differently raises `ArgumentError`. Values are fractions, so they are exact until they are printed.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from numbers import Real
from typing import Final

from bdpcap.errors import ArgumentError, wanted

__all__ = ["duration", "fraction", "kib", "rate", "size"]

_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_PREFIXES: Final = {name: Fraction(factor) for name, factor in (_DECIMAL | _BINARY).items()}
_ANY_CASE: Final = {name.lower(): factor for name, factor in _PREFIXES.items()}
_BITS: Final = {"b": 1, "B": 8, "byte": 8, "bytes": 8, "Byte": 8, "Bytes": 8}
_SECONDS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_TC_SECONDS: Final = {"sec": "s", "secs": "s"} | {
    f"{prefix}sec{plural}": f"{prefix}s" for prefix in "num" for plural in ("", "s")
}
_NUMBER: Final = re.compile(
    r"\s*(\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,2})?)\s*(\S*)\s*", re.ASCII | re.IGNORECASE
)
_WHOLE_BITS: Final = re.compile(r"((?:[kmgt]i?)?)bits?", re.ASCII | re.IGNORECASE)


def rate(given: str | float) -> Fraction:
    """
    Parse a rate: bits per second, or ``100Mbit/s``, ``100mbit``, ``100M``, ``100 Mb/s``, ``100Mbps``, ``12.5MB/s``.

    ``mbps`` without a capital letter raises `ArgumentError`: it means megabytes to tc, and megabits to other tools.

    Returns
    -------
    Bits per second.

    Raises
    ------
    ArgumentError
        The text is no rate, or tools read it in two ways.
    """
    if not isinstance(given, str):
        return _number(given)
    text = given
    number, unit = _split(text, "100Mbit")
    if unit and unit in "kmgtKMGT":
        return _positive(number * _ANY_CASE[unit.lower()], text)
    if re.fullmatch("[kmgt]?bps", unit):
        typed = f"{text.strip().removesuffix(unit).strip()}"
        letter = unit[:-3]
        raise ArgumentError(
            f"{text!r} is bytes to tc and bits to others: write {typed}{letter}bit for bits, "
            f"or {typed}{letter.upper().replace('K', 'k')}B/s for bytes"
        )
    amount = unit.removesuffix("/s") if unit.endswith("/s") else unit.removesuffix("ps")
    bits = _WHOLE_BITS.fullmatch(amount)
    if bits:
        return _positive(number * _ANY_CASE[bits[1].lower()], text)
    if amount in (unit, ""):
        raise ArgumentError(f"{text!r} is no rate: write bits or bytes per second, such as 100Mbit or 12MB/s")
    return _positive(number * _bits(amount, text), text)


def size(text: str) -> Fraction:
    """
    Parse an amount of data: ``64KiB``, ``64K``, ``1GB``, ``65536B``, ``12kbit``; a bare number counts bytes.

    Returns
    -------
    Bytes.

    Raises
    ------
    ArgumentError
        The text is no amount, or tools read it in two ways.
    """
    number, unit = _split(text, "64KiB")
    if unit and unit in "KMGT":
        return _positive(number * _PREFIXES[f"{unit}i"], text)
    if unit and unit in "kmgt":
        raise ArgumentError(
            f"{text!r} counts in 1024 to tc and iperf3, in 1000 to iperf2: "
            f"write {unit.upper()}iB or {unit.upper().replace('K', 'k')}B"
        )
    bits = _WHOLE_BITS.fullmatch(unit)
    if bits:
        return _positive(number * _ANY_CASE[bits[1].lower()] / 8, text)
    if unit.endswith("b") and unit[:-1] in _PREFIXES:
        raise ArgumentError(
            f"{text!r} is bytes to tc and bits to others: write {unit[:-1]}B or {unit[:-1]}bit"
        )
    return _positive(number * (_bits(unit, text) if unit else 8) / 8, text)


def duration(given: str | float) -> Fraction:
    """
    Parse a duration: seconds, or ``25ms``, ``0.3s``, ``173 ms``, ``10us``, ``5min``, ``2h``; also tc's ``25msec``.

    Returns
    -------
    Seconds.

    Raises
    ------
    ArgumentError
        The text is no duration.
    """
    if not isinstance(given, str):
        return _number(given)
    text = given
    number, unit = _split(text, "25ms")
    unit = _TC_SECONDS.get(unit, unit)
    if unit not in _SECONDS:
        raise ArgumentError(f"{text!r} is no duration: write a number and one of {', '.join(_SECONDS)}")
    return _positive(number * _SECONDS[unit], text)


def fraction(text: str) -> Fraction:
    """
    Parse a share: ``0.01%``, or ``0.0001``.

    Returns
    -------
    A share above 0, at most 1.

    Raises
    ------
    ArgumentError
        The text is no share, or the share is not above 0 and at most 1.
    """
    number, unit = _split(text, "0.01%")
    share = number / 100 if unit == "%" else number
    if unit not in ("", "%") or share > 1:
        raise ArgumentError(f"{text!r} is no share: write 0.01% or 0.0001")
    return _positive(share, text)


def kib(count: Fraction) -> str:
    """Return bytes with a binary prefix, to three digits: ``65536`` is ``64 KiB``."""
    chosen = [name for name, factor in _BINARY.items() if count >= factor]
    name = chosen[-1] if chosen else ""
    value = float(count / _PREFIXES[name])
    return f"{value:.3g} {name}B" if value < 1000 else f"{value:.0f} {name}B"


def _number(given: float) -> Fraction:
    wanted("the quantity", given, "a number, or a text with its unit", fits=isinstance(given, Real))
    if not math.isfinite(given):
        raise ArgumentError(f"{given} is no finite number")
    return _positive(Fraction(given), str(given))


def _split(text: str, example: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ArgumentError(f"cannot read {text!r}: write a number and its unit, such as {example}")
    return Fraction(match[1].rstrip(".")), match[2]


def _bits(unit: str, text: str) -> Fraction:
    """Return the number of bits in a unit with its prefix."""
    for name in sorted(_BITS, key=len, reverse=True):
        prefix = unit.removesuffix(name)
        if prefix != unit and prefix in _PREFIXES:
            return _PREFIXES[prefix] * _BITS[name]
    if unit.startswith("K"):
        meant = unit[1:].removeprefix("i") or "B"
        raise ArgumentError(
            f"{text!r} has a K, which some read as 1000 and some as 1024: write k{meant} or Ki{meant}"
        )
    if unit in _PREFIXES:
        raise ArgumentError(f"{text!r} says neither bits nor bytes: write {unit}bit or {unit}B")
    if unit[:1] in "mg":
        raise ArgumentError(
            f"{text!r} has a small {unit[0]}: write {unit[0].upper()}bit or {unit[0].upper()}B"
        )
    raise ArgumentError(
        f"cannot read the unit of {text!r}: write bit or B, after k, M, G, T, Ki, Mi, Gi or Ti"
    )


def _positive(value: Fraction, text: str) -> Fraction:
    if value <= 0:
        raise ArgumentError(f"{text!r} is nothing: write a value above zero")
    return value
