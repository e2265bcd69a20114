"""Whether findings agree with each other and with the flow's figures: one that does not is not shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.explain.findings.finding import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bdpcap.explain.findings.finding import Finding

__all__ = ["CHECKS", "Check", "agreeing", "contradictions"]


@dataclass(frozen=True, slots=True)
class Check:
    """
    What may not be said.

    Attributes
    ----------
    code
        The finding that is left out where the check fires.
    never
        What it would say wrongly.
    fires
        Tells by the findings, by code, and the flow's row of the ``flows`` table.
    """

    code: Code
    never: str
    fires: Callable[[Mapping[Code, Finding], pd.Series[Any]], bool]


def _below_bdp(told: Mapping[Code, Finding], summary: pd.Series[Any]) -> bool:
    return _reaches(_values(told[Code.WINDOW_BELOW_BDP])["window_bytes"], summary["bdp_bytes"])


def _own_queue(told: Mapping[Code, Finding], _: pd.Series[Any]) -> bool:
    return Code.WINDOW_BELOW_BDP in told


def _no_room(told: Mapping[Code, Finding], summary: pd.Series[Any]) -> bool:
    flight = _values(told[Code.SEND_BUFFER])["flight_bytes"]
    return _reaches(flight, 1.01 * _number(summary["window_max_bytes"]))


CHECKS: Final = (
    Check(Code.WINDOW_BELOW_BDP, "a window that holds the BDP is smaller than the BDP", _below_bdp),
    Check(Code.QUEUE_STANDING, "the window is too small, and the sender's own queue stands", _own_queue),
    Check(Code.SEND_BUFFER, "the window had room for less than was in flight", _no_room),
)


def agreeing(told: Sequence[Finding], summary: pd.Series[Any]) -> list[Finding]:
    """Return the findings that nothing contradicts, in their order."""
    left_out = {check.code for check in contradictions(told, summary)}
    return [finding for finding in told if finding.code not in left_out and _is_sound(finding)]


def contradictions(told: Sequence[Finding], summary: pd.Series[Any]) -> Iterator[Check]:
    """Yield the checks that fire, each with what was known when the ones before had left out theirs."""
    by_code = {finding.code: finding for finding in told}
    for check in CHECKS:
        if check.code in by_code and check.fires(by_code, summary):
            del by_code[check.code]
            yield check


def _is_sound(finding: Finding) -> bool:
    """Tell whether every number of a finding is one: finite, and not below zero."""
    numbers = (value for value in _values(finding).values() if isinstance(value, (int, float)))
    return all(0 <= number < math.inf for number in numbers)


def _values(finding: Finding) -> dict[str, Any]:
    return finding.values  # noqa: PD011  a mapping


def _reaches(value: Any, level: Any) -> bool:
    """Tell whether a number is at least another; not where either is missing."""
    return not (pd.isna(value) or pd.isna(level)) and float(value) >= float(level)


def _number(value: Any) -> float:
    return math.nan if pd.isna(value) else float(value)
