"""``--fail-on``: a share of time in one limit that a script will not accept."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import typer

from bdpcap import units
from bdpcap.cli import exits
from bdpcap.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

_RULE: Final = re.compile(rf"\s*({'|'.join(LIMITS)})\s*>\s*(\d+(?:\.\d+)?)\s*%\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit, and the share of a flow's time (0 to 1) that it must not exceed."""

    limit: str
    share: float


def parse(texts: Sequence[str] | None) -> list[Rule]:
    """Parse rules such as ``rwnd>50%``."""
    rules = []
    for text in texts or ():
        match = _RULE.fullmatch(text)
        if match is None:
            raise typer.BadParameter(
                f"cannot read {text!r} as a rule: write 'rwnd>50%', with one of {', '.join(LIMITS)}",
                param_hint="--fail-on",
            )
        rules.append(Rule(match[1].lower(), float(match[2]) / 100))
    return rules


def exit_code(rules: Sequence[Rule], flows: pd.DataFrame, all_bytes: int | None = None) -> int:
    """Name on stderr every flow that breaks a rule, and return the exit code; small flows break none.

    `all_bytes` is the payload of the whole capture, where these are not all of its flows.
    """
    if not rules:
        return exits.DONE
    from bdpcap.report.ranking import bulk  # noqa: PLC0415 - the report is slow to import

    code = exits.DONE
    flows = flows[bulk(flows, all_bytes)]
    for rule in rules:
        column = f"{rule.limit}_share"
        for flow in flows[flows[column] > rule.share].itertuples():
            sys.stderr.write(
                f"bdpcap: stream {flow.stream} from {units.printable(flow.sender)}: "
                f"{rule.limit} {units.share(getattr(flow, column))}, more than {100 * rule.share:g} %\n"
            )
            code = exits.LIMITED
    return code
