"""``--fail-on``: rules that no flow may break, and their results for CI systems."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from bdpcap import tables
from bdpcap.cli import exits, expression, junit, options, output
from bdpcap.limits import LIMITS, STATES
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from bdpcap.capture import Capture
    from bdpcap.cli.expression import Expression

_SHORT: Final = re.compile(rf"\s*({'|'.join(STATES)})\s*>\s*(\d+(?:\.\d+)?)\s*%\s*", re.IGNORECASE)

_VALUES: Final = {
    "limit": LIMITS,
    "vantage": ("sender", "receiver", "between", "unknown"),
    "window_scale_source": ("negotiated", "declined", "one-sided", "inferred", "unknown"),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition; a flow for which it is true breaks the rule."""

    text: str
    """The rule as typed."""
    condition: Expression
    limit: str | None = None
    """The limit in a rule of the short form ``rwnd>50%``; None for other rules."""

    def failure(self, flow: dict[str, Any]) -> str:
        """Return a message that shows how a flow breaks the rule, with its numbers."""
        if self.limit is not None:
            share = units.share(flow[f"{self.limit}_share"])
            return f"{self.limit} {share}, more than {self.text.partition('>')[2].strip(' %')} %"
        seen = ", ".join(f"{name} {_shown(flow[name])}" for name in self.condition.columns)
        return f"{self.text}{f' ({seen})' if seen else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    import pandas as pd  # noqa: PLC0415 - pandas is slow to import; a table that is checked has loaded it

    return "missing" if pd.isna(value) else units.printable(value)


def parse(texts: Sequence[str] | None) -> list[Rule]:
    """Parse rules: ``rwnd>50%``, or a condition over the columns of the ``flows`` table."""
    rules = []
    for text in texts or ():
        short = _SHORT.fullmatch(text)
        limit = short[1].lower() if short else None
        typed = f"{limit}_share > {short[2]} / 100" if short else text
        try:
            condition = expression.parse(typed, tables.FLOWS, _VALUES)
        except ValueError as error:
            raise typer.BadParameter(
                f"{error}; write 'rwnd>50%', or \"limit == 'rwnd' and active_throughput_bps < 0.8 * capacity_bps\"; "
                f"columns: {', '.join(tables.FLOWS)}",
                param_hint="--fail-on",
            ) from None
        rules.append(Rule(text, condition, limit))
    return rules


class Gate:
    """Checks flows against the rules of a command line, and writes messages and the JUnit file."""

    def __init__(
        self, texts: Sequence[str] | None, file: Path | None, annotations: options.Annotations | None
    ) -> None:
        self.rules = parse(texts)
        self.file = file
        self._annotations = annotations
        self._cases: dict[Rule, list[junit.Case]] = {rule: [] for rule in self.rules}
        if not self.rules and (file or annotations):
            raise typer.BadParameter("there is no rule to tell of: give --fail-on")
        if file is not None and str(file) == "-":
            raise typer.BadParameter("name a file", param_hint="--junit")
        output.named(file, [".xml"], option="--junit")

    def check(self, flows: pd.DataFrame, all_bytes: int | None = None) -> None:
        """Write a message on stderr for every flow that breaks a rule; small flows are ignored.

        `all_bytes` is the payload of the whole capture; by default it is the sum over `flows`.
        """
        if not self.rules:
            return
        from bdpcap.report.ranking import bulk  # noqa: PLC0415 - the report is slow to import

        rows: list[dict[str, Any]] = flows[bulk(flows, all_bytes)].to_dict("records")  # type: ignore[assignment]
        for rule in self.rules:
            for flow in rows:
                broken = rule.failure(flow) if rule.condition.holds(flow) else None
                if broken:
                    self._report(
                        rule, f"stream {flow['stream']} from {units.printable(flow['sender'])}: {broken}"
                    )
                ends = f"{flow['sender']} → {flow['receiver']}"
                name = units.printable(f"stream {flow['stream']}: {ends}")
                self._cases[rule].append(junit.Case(name, (flow["end_ns"] - flow["start_ns"]) / 1e9, broken))

    def _report(self, rule: Rule, message: str) -> None:
        if self._annotations is options.Annotations.GITHUB:
            line = f"::error title={_escaped(rule.text, ':,')}::{_escaped(message)}"
        else:
            line = f"bdpcap: {message}"
        sys.stderr.write(f"{line}\n")

    def finish(self, capture: Capture) -> int:
        """Return the exit code; also write the JUnit file if one was requested."""
        if self.file is not None:
            suites = {rule.text: cases for rule, cases in self._cases.items()}
            with output.opened(self.file) as file:
                file.write(junit.document(suites, capture))
        broken = any(case.failure for cases in self._cases.values() for case in cases)
        return exits.LIMITED if broken else exits.DONE


def _escaped(text: str, more: str = "") -> str:
    """Escape characters that would end a message of a GitHub workflow; `more` are further ones for a title."""
    return "".join(f"%{ord(letter):02X}" if letter in f"%\r\n{more}" else letter for letter in text)
