"""The sentence of a rule, filled in with the numbers of a round."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence import declared
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.evidence.field import Unit
    from bdpcap.limits.rounds import Ints

__all__ = ["sentences"]

WRITTEN: Final[dict[Unit, Callable[[float], str]]] = {
    # A measured share of a little over 1 is within the error of both rates.
    "share": lambda value: units.share(min(value, 1.0)),
    "ratio": lambda value: f"{value:.2f}",
    "packets": lambda value: (
        f"{value:.1f} packets" if value < 10 and value % 1 else units.number(value, "packet")
    ),
    "bytes": units.exact_bytes,
    "rounds": lambda value: units.number(value, "round"),
    "times": lambda value: f"{value:.0f}",
    "ms": lambda value: units.duration(1e6 * value),
    "RTTs": lambda value: f"{value:.1f} RTTs",
}
"""Formatting of a number by its unit; quantities of the unit ``yes`` never occur in a sentence."""

NAME: Final = re.compile(r"\{([\w.]+)\}")
"""The place of a quantity in a sentence, as ``{queue.delay}``."""


def sentences(says: str, evidence: Evidence, rows: Ints) -> list[str]:
    """Return a rule's sentence, filled in for each of the rounds `rows`; an unknown number is a dash."""
    pieces = NAME.split(says)
    columns = [
        [pieces[i]] * len(rows) if i % 2 == 0 else _written(pieces[i], evidence, rows)
        for i in range(len(pieces))
    ]
    return ["".join(words) for words in zip(*columns, strict=True)]


def _written(name: str, evidence: Evidence, rows: Ints) -> list[str]:
    quantity = declared(name)
    write = WRITTEN[quantity.unit]
    values = evidence.value(quantity)[rows]
    return [write(value) if np.isfinite(value) else units.MISSING for value in values.tolist()]
