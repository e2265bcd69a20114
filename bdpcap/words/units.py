"""Formatting quantities for people: decimal prefixes, a unit after every number, a dash for a missing value.

Tables keep exact integers; only text for people is formatted here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MISSING = "-"
YEAR_NS = 31_556_952_000_000_000
"""A year of the Gregorian calendar in ns: 365.2425 days."""


def _absent(value: Any) -> bool:
    """Return whether a value is missing: None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - NaN differs from itself
    except TypeError:  # pandas' NA has no truth value
        return True


_PREFIXES = ("", "k", "M", "G", "T", "P")
_GAP = re.compile(r"(?<=\d) (?=%|/|[kMGTP]?(?:B|bit/s)\b|[mun]?s\b|bytes?\b)|(?<=[<>]) (?=\d)")


def _scaled(value: float, unit: str, digits: int = 3) -> str:
    step = 0
    while abs(value) >= 999.5 and step < len(_PREFIXES) - 1:
        value /= 1000
        step += 1
    places = 0 if step == 0 and value == int(value) else max(0, digits - len(str(int(abs(value)))))
    return f"{value:.{places}f} {_PREFIXES[step]}{unit}"


def scales(unit: str) -> list[tuple[float, str]]:
    """Return factor and name of a unit with each of its prefixes, smallest first: ``(1e3, "kbit/s")``."""
    if unit == "s":
        return [(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")]
    return [(1000.0**step, f"{prefix}{unit}") for step, prefix in enumerate(_PREFIXES)]


def data_size(count: Any) -> str:
    """Return bytes with a decimal prefix: ``73552`` is ``73.6 kB``."""
    return MISSING if _absent(count) else _scaled(float(count), "B")


def exact_bytes(count: Any) -> str:
    """Return the exact number of bytes: ``73,552 bytes``."""
    return MISSING if _absent(count) else number(int(count), "byte")


def rate(bps: Any) -> str:
    """Return bits per second with a decimal prefix."""
    return MISSING if _absent(bps) else _scaled(float(bps), "bit/s")


def rounded(value: Any, unit: str) -> str:
    """Return a number to two digits with a decimal prefix: ``3670000`` bit/s are ``3.7 Mbit/s``."""
    return MISSING if _absent(value) else _scaled(float(f"{float(value):.1e}"), unit, digits=2)


def duration(ns: Any) -> str:
    """Return nanoseconds in the unit that leaves one to three digits before the point.

    Longer times have two units: minutes and seconds, hours and minutes, or days and hours. A year or more is in years.
    """
    if _absent(ns):
        return MISSING
    value = float(ns)
    if value >= YEAR_NS:
        return f"{value / YEAR_NS:.1f} years"
    if value >= 600e9:
        minutes, seconds = divmod(round(value / 1e9), 60)
        hours, minutes = divmod(minutes, 60)
        if hours >= 48:
            return f"{hours // 24} d {hours % 24} h"
        return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= size * 0.9995:
            return f"{value / size:.3g} {unit}" if value < 999.5 * size else f"{value / size:.0f} {unit}"
    return f"{value:.0f} ns"


def share(fraction: Any) -> str:
    """Return a share in whole percent; ``< 1 %`` for a small share above 0, ``> 99 %`` for a large one below 1."""
    if _absent(fraction):
        return MISSING
    percent = 100 * float(fraction)
    if 0 < percent < 1:
        return "< 1 %"
    if 99 < percent < 100:
        return "> 99 %"
    return f"{percent:.0f} %"


def spoken_share(fraction: Any) -> str:
    """Return a share in whole percent for use in a sentence: ``over 99 %``."""
    return share(fraction).replace("> ", "over ").replace("< ", "under ")


def percent(fraction: Any) -> str:
    """Return a share in percent to two digits: ``0.0091`` is ``0.91 %``."""
    return MISSING if _absent(fraction) else f"{float(f'{100 * float(fraction):.2g}'):g} %"


def count(number: Any) -> str:
    """Return a count with commas between its thousands."""
    return MISSING if _absent(number) else f"{int(number):,}"


def counted(counts: Mapping[str, int]) -> str:
    """Return names with their counts, largest first; a dash without a name."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} ({count(number)})" for name, number in ordered) or MISSING


def number(count_: Any, noun: str) -> str:
    """Return a count and its noun, which is in the plural unless the count is 1."""
    return f"{count(count_)} {noun}{'' if count_ == 1 else 's'}"


def streams(numbers: list[int], most: int = 8) -> str:
    """Return ``Stream 3``, or ``Streams 3, 5, 7`` with at most `most` numbers."""
    named = f"{', '.join(map(str, numbers[:most]))}{', ...' if len(numbers) > most else ''}"
    return f"Stream{'' if len(numbers) == 1 else 's'} {named}"


def span(noun: str, first: int, last: int) -> str:
    """Return ``round 3``, or ``rounds 3 to 5``."""
    return f"{noun} {first}" if first == last else f"{noun}s {first} to {last}"


def confidence(value: Any) -> str:
    """Return the word for a confidence of 0 to 1: high from 0.8, fair from 0.5, else low."""
    if _absent(value):
        return MISSING
    return "high" if value >= 0.8 else "fair" if value >= 0.5 else "low"


def instant(ns: Any, to: str = "microseconds") -> str:
    """Return a time in nanoseconds since the epoch as UTC, to the microsecond or to the second."""
    if _absent(ns):
        return MISSING
    seconds, rest = divmod(int(ns), 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s since the epoch"
    below = f".{rest // 1000:06}" if to == "microseconds" else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{below} UTC"


def joined(text: str) -> str:
    """Return text with a no-break space between numbers and their units."""
    return _GAP.sub("\N{NO-BREAK SPACE}", text)


def printable(text: Any) -> str:
    """Return text from a capture that is safe in a terminal: control and direction characters are escaped."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in shown
    )
