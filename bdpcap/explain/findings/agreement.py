"""Check of findings against each other and against the flow's figures; contradictory ones are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.explain.capacity import Basis, basis
from bdpcap.explain.findings.finding import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bdpcap.explain.findings.finding import Finding

__all__ = ["CHECKS", "Check", "agreeing", "contradictions"]


@dataclass(frozen=True, slots=True)
class Check:
    """
    A contradiction, for which a finding is left out.

    Attributes
    ----------
    code
        Code of the finding that is left out if the check fires.
    never
        Contradiction that must never be reported.
    fires
        Function of the findings by code and the flow's row of the ``flows`` table; returns whether the check fires.
    """

    code: Code
    never: str
    fires: Callable[[Mapping[Code, Finding], pd.Series[Any]], bool]


def _below_bdp(told: Mapping[Code, Finding], summary: pd.Series[Any]) -> bool:
    # Where only a lower bound of the capacity is known, the BDP may be larger than the window.
    bounded = basis(summary) is Basis.BOUND
    return not bounded and _reaches(
        _values(told[Code.WINDOW_BELOW_BDP])["window_bytes"], summary["bdp_bytes"]
    )


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
    """Return the findings that nothing contradicts and whose numbers are valid, in their order."""
    left_out = {check.code for check in contradictions(told, summary)}
    return [finding for finding in told if finding.code not in left_out and _is_sound(finding)]


def contradictions(told: Sequence[Finding], summary: pd.Series[Any]) -> Iterator[Check]:
    """Yield the checks that fire. Findings that earlier checks left out do not count."""
    by_code = {finding.code: finding for finding in told}
    for check in CHECKS:
        if check.code in by_code and check.fires(by_code, summary):
            del by_code[check.code]
            yield check


def _is_sound(finding: Finding) -> bool:
    """Return whether every number of a finding is finite and not negative."""
    numbers = (value for value in _values(finding).values() if isinstance(value, (int, float)))
    return all(0 <= number < math.inf for number in numbers)


def _values(finding: Finding) -> dict[str, Any]:
    return finding.values  # noqa: PD011  a dict, no pandas object


def _reaches(value: Any, level: Any) -> bool:
    """Return whether a number is at least `level`; False where either is missing."""
    return not (pd.isna(value) or pd.isna(level)) and float(value) >= float(level)


def _number(value: Any) -> float:
    return math.nan if pd.isna(value) else float(value)
