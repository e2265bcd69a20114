"""The summary of a dataset as one HTML page, which loads nothing from a network and can be read without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

import bdpcap
from bdpcap.fleet import distribution, sentences
from bdpcap.fleet.questions import DISTRIBUTED
from bdpcap.report.scripts import asset, policy_hash
from bdpcap.report.template import environment
from bdpcap.tables import LIMITS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

    from bdpcap.fleet.questions import Answers

__all__ = ["html"]

ROWS: Final = (30, 1000)
"""Maximum number of captures in the page's table: shown at first, and in all."""


def html(answers: Answers, name: str, reports: Mapping[str, str]) -> str:
    """Return the HTML page. Text from captures is escaped, and only the page's own script may run.

    Parameters
    ----------
    answers
        The summary.
    name
        The name of the dataset.
    reports
        The link to the report of each capture that has one, by the capture's name.
    """
    captures = answers.captures
    done = captures[captures["state"] == "done"]
    script = asset("tables.js")
    return (
        environment()
        .get_template("fleet.html.j2")
        .render(
            version=bdpcap.__version__,
            answers=answers,
            dataset=name,
            sentences=sentences,
            shares=_shares(answers.limits),
            periods=_periods(answers),
            pictures={
                called: drawn
                for quantity, called in DISTRIBUTED.items()
                if (drawn := distribution.picture(quantity, answers.quantiles)) is not None
            },
            width=distribution.WIDTH,
            height=distribution.HEIGHT,
            captures=[_known(row) for row in done.head(ROWS[1]).to_dict("records")],
            at_once=ROWS[0],
            total=len(done),
            failed=captures[captures["state"] != "done"].to_dict("records"),
            damaged=captures[captures["damage"].notna()].to_dict("records"),
            reports=reports,
            style=Markup(asset("page.css")),  # noqa: S704 - a file of the package
            script=Markup(script),  # noqa: S704 - a file of the package
            script_hash=policy_hash(script),
        )
    )


def _known(row: dict[Hashable, Any]) -> dict[Hashable, Any]:
    """Return a row with None for what is missing."""
    return {name: None if value != value else value for name, value in row.items()}  # noqa: PLR0124 - NaN


def _shares(limits: pd.DataFrame) -> list[tuple[str, float]]:
    """Return the limits with their shares of time, in the same order in each bar; shares of 0 are left out."""
    found = dict(zip(limits["limit"], limits["share"], strict=True))
    return [(limit, found[limit]) for limit in LIMITS if found.get(limit)]


def _periods(answers: Answers) -> dict[str, list[tuple[str, float]]]:
    """Return the shares of time by limit before and after the date; empty without a date."""
    if answers.since is None:
        return {}
    found = {str(period): _shares(own) for period, own in answers.since.limits.groupby("period")}
    return {period: found[period] for period in ("before", "after") if period in found}
