"""The report as text for the comment box of a ticket: at most 80 columns, verdict first."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

import bdpcap
from bdpcap import trust, units
from bdpcap.palette import LIMIT_NAMES
from bdpcap.report import connections, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.analysis import Capture, Flow
    from bdpcap.explain.findings import Finding

COLUMNS: Final = 80

_JOINT: Final = "\N{NO-BREAK SPACE}"


def text(capture: Capture, *, ascii_only: bool = False) -> str:
    """Return verdict, evidence, caveats and how to see it oneself, in lines of at most 80 columns.

    With `ascii_only` what else the capture's own words contain is spelt out.
    """
    flows = verdict.that_matter(capture)
    names = ", ".join(Path(file).name for file in capture.info.files)
    parts = [
        *wrap(f"bdpcap {bdpcap.__version__}: what limited the senders in {names}", ""),
        "",
        "VERDICT",
        *(line for flow in flows for line in _verdict(flow)),
    ]
    if not flows:
        parts += wrap("No flow carried payload: there is nothing to judge.", "  ")
    rest = len(capture.flows) - len(flows)
    if rest:
        parts += wrap(f"({rest} smaller flow{'s' if rest > 1 else ''}: see bdpcap flows.)", "  ")
    for flow in flows:
        parts += ["", f"EVIDENCE, stream {flow.stream}", *_evidence(flow)]
    failed = connections.sentences(capture)
    if failed:
        parts += ["", "CONNECTIONS THAT FAILED", *(line for told in failed for line in wrap(told, "  - "))]
    parts += ["", "CAPTURE", *_facts(trust.facts(capture))]
    said = trust.caveats(capture)
    parts += ["", "CAVEATS", *(line for caveat in said or ["None found."] for line in wrap(caveat, "  - "))]
    if flows:
        parts += ["", "TO SEE IT IN WIRESHARK", *(line for flow in flows for line in _reproduce(flow))]
    if ascii_only:
        parts = [line for part in parts for line in _ascii(part)]
    return "\n".join(parts) + "\n"


def _ascii(line: str) -> list[str]:
    spelt = line.encode("ascii", "backslashreplace").decode()
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(spelt, COLUMNS, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _verdict(flow: Flow) -> list[str]:
    ends = f"Stream {flow.stream}: {flow.sender} -> {flow.receiver}"
    confident = f"Confidence {units.confidence(flow.summary['confidence'])}."
    told = f"{verdict.sentence(flow.summary)} {verdict.numbers(flow.summary)} {confident}"
    return [*wrap(ends, "  "), *wrap(told, "    ")]


def _evidence(flow: Flow) -> list[str]:
    lines = [
        f"  {LIMIT_NAMES[limit]:<19}{units.share(part):>6}  {'#' * max(1, round(part * 50))}"
        for limit, part in verdict.shares(flow.summary)
    ]
    for total in verdict.arithmetic(flow.summary):
        lines += wrap(total, "  - ")
    span = verdict.best_span(flow)
    if span is not None:
        stripe = span.stripe
        lines += wrap(
            f"{units.span('Round', stripe.first_round, stripe.last_round)} "
            f"({units.span('frame', span.first_frame, span.last_frame)}): "
            f"{stripe.limit}{f' ({stripe.detail})' if stripe.detail else ''}: {stripe.evidence}",
            "  - ",
        )
    for finding in flow.findings:
        # Where nothing is to be changed the sentence will do; `bdpcap explain` has the rest.
        lines += finding_lines(finding) if finding.remedy else wrap(finding.sentence, "  * ")
    return lines


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding in lines of at most 80 columns; commands stand on their own, whatever their length."""
    lines = wrap(finding.sentence, "  * ")
    where = f" ({units.span('frame', *finding.frames)})" if finding.frames else ""
    for name, said in (
        ("Evidence", f"{finding.evidence}{where}" if finding.evidence else ""),
        ("Cause", finding.cause),
        ("Remedy", finding.remedy),
    ):
        lines += wrap(f"{name}: {said}", "    ") if said else []
    lines += [f"      $ {units.printable(command)}" for command in finding.commands]
    return [*lines, *wrap(f"[{finding.code}, {finding.certainty}; {finding.source}]", "    ")]


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, value in facts for line in wrap(value, f"  {name:<25}")]


def _reproduce(flow: Flow) -> list[str]:
    span = verdict.best_span(flow)
    return [f"  {span.display_filter if span else f'tcp.stream eq {flow.stream}'}"]


def wrap(words: str, lead: str) -> list[str]:
    """Wrap after a lead that stands on the first line only; a number keeps its unit beside it."""
    joined = re.sub(r"(?<=\d) (?=\w|%)", _JOINT, units.printable(words))
    lines = textwrap.wrap(
        joined, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )
    return [line.replace(_JOINT, " ") for line in lines]
