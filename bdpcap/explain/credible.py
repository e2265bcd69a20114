"""Which answers are credible against the others and against an accident, and their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bdpcap.explain.answer import Answer, Exactness, Facts, Observed, Solution
from bdpcap.explain.likelihood import by_accident

__all__ = ["AS_GOOD", "compared"]

_ORDER: Final = list(Exactness)
_COVERED: Final = 0.992
"""Probability that the credible answers have together, relative to all that explain the window."""
_CREDIBLE: Final = 0.002
"""Least probability of a credible answer, relative to all that explain the window."""
_UNLIMITED_ODDS: Final = 10
"""Odds against an accident below which the settings of a window that was not the limit are doubtful; a choice."""
AS_GOOD: Final = 0.05
"""Likelihood over that of the likeliest answer down to which the use of kernels decides which comes first."""


def compared(observed: Observed, facts: Facts, answers: list[Answer]) -> Solution:
    """Return the solution: which answers are credible against the others and against an accident."""
    full = observed.field_full
    possible = sorted((one for one in answers if not one.against), key=lambda one: -one.likelihood)
    total = sum(one.likelihood for one in possible)
    credible: set[int] = set()
    covered = 0.0
    for one in possible:
        if covered >= _COVERED * total or one.likelihood < _CREDIBLE * total:
            break
        # A full field hides the buffer, so only another reason for this number is evidence.
        if not full or one.advertised.raw == observed.window:
            credible.add(id(one))
        covered += one.likelihood
    likeliest = possible[0].likelihood if possible else 0.0
    answers = [replace(one, credible=id(one) in credible) for one in answers]
    answers.sort(key=lambda one: _rank(one, likeliest))
    accident = by_accident(observed)
    covered = covered / (total + accident)
    best = min((answer.exactness for answer in answers if answer.telling), key=_ORDER.index, default=None)
    # A window that was not the limit needs no setting to stop it.
    doubtful = accident > (total if observed.limited else total / _UNLIMITED_ODDS)
    weak = best is Exactness.CONSISTENT or (best is Exactness.ROUNDED and not observed.limited)
    if weak and doubtful and facts.kernel is None and facts.rcvbuf is None:
        best = None
    if full:
        # Of the full field, not of a buffer.
        best = Exactness.CONSISTENT if observed.doubt else Exactness.EXACT
    return Solution(observed, answers, best or Exactness.NONE, full, facts, covered)


def _rank(answer: Answer, likeliest: float) -> tuple[float, ...]:
    """Order answers: kernels in use first, one with a sysctl that is not its default last; then by likelihood.

    An answer that is far less likely than the likeliest one does not come before it.
    """
    return (
        bool(answer.against),
        not answer.telling,
        not answer.given,
        answer.likelihood < AS_GOOD * likeliest,
        bool(answer.needs),
        -answer.likelihood,
    )
