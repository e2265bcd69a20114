"""What each number of the rules and of their evidence is worth: agreement with it moved a little, either way."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pandas as pd
from grading import MEAN, by_lab
from markdown import points, table
from named_numbers import numbers
from tuning import as_written, put, thresholds

from bdpcap.limits.decide import decide
from bdpcap.limits.evidence import Evidence
from bdpcap.limits.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batch import Batch

__all__ = ["FACTORS", "moved", "page", "sensitivity"]

HEAD: Final = """# What each number is worth

The table shows how agreement of verdicts with labels changes where one number of the rules or of their evidence is moved.
It is the mean of the labs, in points. A number is multiplied by the factor; of a share between 50 % and 100 %, the
distance from 100 % is. Where nothing changes in either direction, the number could as well be another: its value is a
round one. `make thresholds LABELLED=PATH` writes this page, here from these sets:
"""

JUDGING: Final = ("decide", "evidence", "rounds", "rules")
"""Modules of `bdpcap.limits` whose numbers decide limits."""
NO_THRESHOLDS: Final = {
    "ANSWERING",
    "FIN_BYTES",
    "MILLION",
    "MILLISECOND_NS",
    "PEERS_TURN",
    "SECOND_NS",
    "SERVER",
}
"""Units, and values of columns of the core: to move them has no meaning."""
FACTORS: Final = (0.8, 1.25)
"""By which a number is multiplied; one between a half and 1 keeps below 1, so its distance from 1 is multiplied."""


def moved(value: float, factor: float) -> float:
    """Return a number moved by a factor; a whole number stays whole, and moves by at least one."""
    if isinstance(value, int):
        step = abs(round(value * factor) - value) or 1
        return value + step if factor > 1 else value - step
    return 1 - (1 - value) / factor if 0.5 < value < 1 else value * factor


def sensitivity(batch: Batch) -> pd.DataFrame:
    """Return by how many points the mean agreement of the labs changes with each number moved, a row a number."""
    whole = _agreement(batch)
    rows: dict[str, dict[str, float]] = {}
    with as_written():
        for leaf, rules in thresholds(RULES).values():
            here, name = leaf.value, f"{leaf} in {', '.join(sorted({rule.id for rule in rules}))}"
            for factor in FACTORS:
                put(leaf, moved(here, factor))
                rows.setdefault(name, {})[f"x {factor:g}"] = _agreement(batch) - whole
            put(leaf, here)
    for number in numbers():
        if number.module.partition("/")[0] not in JUDGING or number.name in NO_THRESHOLDS:
            continue
        for factor in FACTORS:
            with _set(number.name, number.value, moved(number.value, factor)):
                change = _agreement(batch) - whole
            name = f"`{number.name}` = {number.value:g} in {number.module}"
            rows.setdefault(name, {})[f"x {factor:g}"] = change
    return pd.DataFrame(rows).T


def page(batch: Batch) -> Iterator[str]:
    """Yield the lines of docs/thresholds.md."""
    yield HEAD
    names = batch.captures.groupby("group")["name"].nunique()
    yield ", ".join(f"{group} ({number} transfers)" for group, number in names.items()) + "."
    yield ""
    frame = sensitivity(batch)
    frame = frame.iloc[frame.abs().max(axis=1).argsort(kind="stable")[::-1]]
    yield from table(
        ["number", *frame.columns], [[str(name), *map(points, line)] for name, line in frame.iterrows()]
    )


def _agreement(batch: Batch) -> float:
    """Return the mean agreement of the labs, in per cent. Evidence is made anew, since it keeps what it computed."""
    evidence = Evidence(batch.evidence.rounds, batch.evidence.vantage)
    found = by_lab(batch, decide(evidence).limit)[MEAN]
    evidence.forget()
    return float(found)


@contextmanager
def _set(name: str, before: float, value: float) -> Iterator[None]:
    """Give a constant another value in each module that holds it, for a while."""
    held = [
        module
        for path, module in list(sys.modules.items())
        if path.startswith("bdpcap.limits") and getattr(module, name, None) == before
    ]
    for module in held:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module in held:
            setattr(module, name, before)
