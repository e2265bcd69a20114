"""The report as text for the comment box of a ticket: at most 80 columns, verdict first, commands to be copied."""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import bdpcap
from bdpcap.explain import trust
from bdpcap.host import compare
from bdpcap.report import connections, host, ranking, verdict
from bdpcap.report.part import part
from bdpcap.report.weight import Weight, weights
from bdpcap.words import units
from bdpcap.words.palette import LIMIT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bdpcap.capture import Capture, Flow
    from bdpcap.explain.findings import Finding
    from bdpcap.report.ranking import Group

    Part = tuple[str | None, str]
    """Words to be wrapped behind a lead, which stands on the first line only. Where it is None they stand as they are."""

COLUMNS: Final = 80

LINES: Final = 40
"""Of a text on one flow that matters, unless the whole is asked for."""

_INDENT: Final = 4
_ASCII: Final = str.maketrans({"→": "->", "\N{MICRO SIGN}": "u"})


def text(capture: Capture, *, full: bool = False, ascii_only: bool = False) -> str:
    """
    Return what was captured, the doubts, the verdict, what to do, why, and how to see it oneself.

    Parameters
    ----------
    capture
        What to report on.
    full
        Add every finding with its evidence, cause and remedy, all that is known of the capture, and all caveats.
        Without it, one flow that matters takes `LINES` lines at most.
    ascii_only
        Spell out what is not ASCII.
    """
    shown = ranking.groups(capture)
    names = ", ".join(Path(file).name for file in capture.info.files)
    head = [
        ("", f"bdpcap {bdpcap.__version__}: what limited the senders in {names}"),
        ("", trust.line(capture)),
        *_doubts(capture),
        *_section("VERDICT", partial(_verdicts, capture, shown)),
        *_section("WHAT TO DO", partial(_actions, shown)),
        *_section("CONNECTIONS THAT FAILED", partial(_failed, capture)),
    ]
    account = _section("THE HOST'S OWN ACCOUNT", partial(_account, capture, shown))
    seen = _section("TO SEE IT IN WIRESHARK", partial(_reproduce, shown))
    if full:
        why = [line for group in shown for line in _why(group.flow, full=True)]
        about = [
            *_section("CAPTURE", partial(_facts, capture)),
            *_section("CAVEATS", partial(_caveats, capture)),
        ]
        return _joined(_lines([*head, *account, *why, *seen, *about], ascii_only=ascii_only))
    # Of several flows the verdicts and what to do are enough for a ticket.
    why = _why(shown[0].flow, full=False) if len(shown) == 1 else []
    first, last = _lines(head, ascii_only=ascii_only), _lines(seen, ascii_only=ascii_only)
    room = LINES - len(first) - len(last) - 2
    told = _lines(account, ascii_only=ascii_only)  # asked for, and so beyond the lines that a text may take
    fitting = _fitting(why, room, ascii_only=ascii_only)
    return _joined([*first, *told, *fitting, *last, "", _more(shown)])


def _more(shown: list[Group]) -> str:
    what = "Every finding" if shown else "Everything"
    return f"{what}, with evidence and caveats: bdpcap report CAPTURE --text - --full"


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _fitting(parts: list[Part], room: int, *, ascii_only: bool) -> list[str]:
    """Return the lines of as many parts as have room, from the first on; a part is not cut."""
    lines: list[str] = []
    for one in parts:
        own = _lines([one], ascii_only=ascii_only)
        if len(lines) + len(own) > room:
            break
        lines += own
    return lines


def _section(title: str, make: Callable[[], list[Part]]) -> list[Part]:
    """Return a section under its title; none where it has nothing to say."""
    made: list[Part] = part(f"the section {title}", make, lambda said: [("  ", said)])
    return [(None, ""), (None, title), *made] if made else []


def _doubts(capture: Capture) -> list[Part]:
    def doubts() -> list[Part]:
        return [("  - ", doubt) for doubt in trust.doubts(capture)]

    return _section("DOUBTFUL", doubts)


def _verdicts(capture: Capture, shown: list[Group]) -> list[Part]:
    parts: list[Part] = []
    for group in shown:
        flow = group.flow
        confident = f"Confidence {units.confidence(flow.summary['confidence'])}."
        parts += [
            ("  ", f"Stream {flow.stream}: {flow.sender} → {flow.receiver}"),
            ("    ", verdict.sentence(flow)),
            ("    ", f"{verdict.numbers(flow.summary)} {confident}"),
        ]
        parts += [("    ", group.same)] if group.same else []
    if capture.flows.empty:
        parts.append(("  ", "No flow carried payload: there is nothing to judge."))
    elif said := ranking.no_bulk(capture):
        parts.append(("  ", said))
    if said := ranking.rest(capture, shown):
        parts.append(("  ", said))
    return parts


def _actions(shown: list[Group]) -> list[Part]:
    parts: list[Part] = []
    for group in shown:
        action = verdict.action(group.flow)
        which = f"Stream {group.flow.stream}. " if len(shown) > 1 else ""
        parts.append(("  ", f"{which}{action}"))
        parts += [(None, line) for command in action.commands for line in command_lines(command)]
    return parts


def _failed(capture: Capture) -> list[Part]:
    return [("  - ", told) for told in connections.sentences(capture)]


def _account(capture: Capture, shown: list[Group]) -> list[Part]:
    if capture.host is None:
        return []
    parts: list[Part] = []
    for flow in (group.flow for group in shown):
        told = compare(flow)
        if told is None:
            parts.append(("  ", f"Stream {flow.stream}: no two samples of {flow.sender}."))
            continue
        head = ((f"  {host.title(flow, told)}", "host", "capture"), *host.rows(told))
        parts += [(None, f"{'    ' if place else ''}{name:<{48 - 4 * bool(place)}}{own:>12}{seen:>12}")
                  for place, (name, own, seen) in enumerate(head)]  # fmt: skip
        parts += [("    ", note) for note in host.notes(told)]
    return [*parts, *(("  - ", doubt) for doubt in capture.host.doubts(capture))]


def _why(flow: Flow, *, full: bool) -> list[Part]:
    parts = _section(f"WHY, stream {flow.stream}", partial(_evidence, flow))
    found = part("the findings", lambda: weights(flow), lambda _: [])
    order = {weight: place for place, weight in enumerate(Weight)}
    for finding, weight in sorted(found, key=lambda item: order[item[1]]):
        if full:
            parts += finding_parts(finding, flow.capture)
        elif weight is not Weight.NOTE:
            parts.append(("  * ", finding.sentence))
    return parts


def _evidence(flow: Flow) -> list[Part]:
    parts: list[Part] = [
        (None, f"  {LIMIT_NAMES[limit]:<19}{units.share(share):>6}  {'#' * max(1, round(share * 50))}")
        for limit, share in verdict.shares(flow.summary)
    ]
    parts += [("  - ", total) for total in verdict.arithmetic(flow.summary)]
    span = verdict.best_span(flow)
    if span is not None:
        stripe = span.stripe
        shown = (
            f"{units.span('Round', stripe.first_round, stripe.last_round)} "
            f"({flow.capture.frame_span(span.first_frame, span.last_frame)}), {stripe.limit}"
            f"{f' ({stripe.detail})' if stripe.detail else ''}: {stripe.evidence}"
        )
        parts.append(("  - ", shown))
    return parts


def finding_parts(finding: Finding, capture: Capture | None) -> list[Part]:
    """Return a whole finding; `capture` is what it was found in, if in any."""
    where = f" ({capture.frame_span(*finding.frames)})" if finding.frames and capture else ""
    told = (
        ("Evidence", f"{finding.evidence}{where}" if finding.evidence else ""),
        ("Cause", finding.cause),
        ("Remedy", finding.remedy),
    )
    return [
        ("  * ", finding.sentence),
        *(("    ", f"{name}: {said}") for name, said in told if said),
        *((None, line) for command in finding.commands for line in command_lines(command)),
        ("    ", f"[{'; '.join([f'{finding.code}, {finding.certainty}', *sources(finding)])}]"),
    ]


def sources(finding: Finding) -> list[str]:
    """Return where a finding's arithmetic is from, as far as a reader of the report can look it up: no file of ours."""
    return [source for source in finding.source.split("; ") if source and "docs/" not in source]


def finding_lines(finding: Finding, capture: Capture | None) -> list[str]:
    """Return a finding in lines of at most 80 columns; commands stand on their own, whatever their length."""
    return _lines(finding_parts(finding, capture), ascii_only=False)


def command_lines(command: str) -> list[str]:
    """Return a command on a line of its own, and its comment behind it or, where it has no room, above it.

    A command that has no room breaks where the shell lets it: after a semicolon, and after ``||``.
    """
    typed, _, comment = units.printable(command).partition("   # ")
    line = f"      {typed}   # {comment}" if comment else f"      {typed}"
    if len(line) <= COLUMNS:
        return [line]
    if len(f"      {typed}") > COLUMNS:
        typed = typed.replace("; ", "\n      ").replace(" || ", " ||\n        ")
    return [*([f"      # {comment}"] if comment else []), *f"      {typed}".split("\n")]


def _facts(capture: Capture) -> list[Part]:
    return [(f"  {name:<25}", value) for name, value in trust.facts(capture)]


def _caveats(capture: Capture) -> list[Part]:
    return [("  - ", caveat) for caveat in trust.caveats(capture) or ["None found."]]


def _reproduce(shown: list[Group]) -> list[Part]:
    spans = [(group.flow, verdict.best_span(group.flow)) for group in shown]
    return [
        (None, f"  {span.display_filter if span else f'tcp.stream eq {flow.stream}'}") for flow, span in spans
    ]


def _lines(parts: Iterable[Part], *, ascii_only: bool) -> list[str]:
    lines = []
    for lead, words in parts:
        spelt = words.translate(_ASCII).encode("ascii", "backslashreplace").decode() if ascii_only else words
        lines += [spelt] if lead is None else wrap(spelt, lead)
    return lines


def wrap(words: str, lead: str) -> list[str]:
    """Wrap after a lead that stands on the first line only; a number keeps its unit beside it, and a word its letters.

    A word that has no room beside the lead stands below it; only one longer than a line is broken.
    """
    joined = units.joined(units.printable(words))
    longest = max(map(len, joined.split(" ")))
    if longest > COLUMNS - len(lead) and len(lead) > _INDENT:
        return [lead.rstrip(), *wrap(words, " " * _INDENT)]
    lines = textwrap.wrap(
        joined, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
