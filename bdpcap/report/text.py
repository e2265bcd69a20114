"""The report as text for a ticket: at most 80 columns, the verdict first, and commands that can be copied."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import bdpcap
from bdpcap.diagnosis import LIMIT_NAMES, Weight, silence
from bdpcap.diagnosis.decide import weights
from bdpcap.diagnosis.natures import nature, of_packets
from bdpcap.diagnosis.natures.short import NATURE as SHORT
from bdpcap.diagnosis.remedy import remedy
from bdpcap.diagnosis.why import why
from bdpcap.explain import trust
from bdpcap.host import compare
from bdpcap.report import (
    common_stalls,
    connections,
    error_responses,
    headline,
    host,
    no_flows,
    oversized,
    ranking,
    screen,
    verdict,
)
from bdpcap.report.part import part
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from bdpcap.capture import Capture, Flow
    from bdpcap.diagnosis.model import Remedy
    from bdpcap.explain.findings import Finding
    from bdpcap.report.common_stalls import Shared
    from bdpcap.report.ranking import Group

    Part = tuple[str | None, str]
    """A lead, and words to wrap after it; only the first line has the lead. With None, the words are not wrapped."""

COLUMNS: Final = 80
"""Characters of a line, as a terminal and a mail have."""

LINES: Final = 22
"""Maximum number of lines of a text on one flow, unless the full text is requested."""

_MOST: Final = (
    (2, None, False, True),
    (1, None, False, True),
    (1, None, True, True),
    (1, 2, True, True),
    (1, 1, True, True),
    (1, 0, True, True),
    (1, 0, True, False),
)
"""Choices of contents, the first of which that fits `LINES` is taken.

Each has the most doubts, and the most commands of one advice, None for all. Then: whether notes are left out, and
whether other settings of a window are named. An advice needs all its commands; notes and a second doubt change nothing
that a reader does.
"""
_FAILED: Final = 3
"""Sentences on failed connections on the first screen, gravest first, and as many on those that opened late."""

_INDENT: Final = 4
"""Spaces before words whose lead is too long for their line."""
_NAMES: Final = 48
"""Characters of the column of names in the table of a host's numbers, its indent included."""
_BAR: Final = 50
"""Characters of the bar of a whole share."""
_ASCII: Final = str.maketrans({"→": "->", "\N{MICRO SIGN}": "u"})


def text(capture: Capture, *, full: bool = False, ascii_only: bool = False) -> str:
    """
    Return the report as text: capture, doubts, verdict, advice, reasons, and filters for Wireshark.

    Parameters
    ----------
    capture
        The capture to report on.
    full
        Add every finding with its evidence, cause and remedy, all facts of the capture, and all caveats. Without
        it, a text on one flow should have at most `LINES` lines, not counting statistics of the host.
    ascii_only
        Replace characters that are not ASCII.
    """
    groups = ranking.groups(capture)
    part("the packets", lambda: silence.load(of_packets(group.flow for group in groups)), lambda _: None)
    entries = screen.entries(groups)
    shown, several = entries.detailed, len(groups) > 1
    spelt = partial(_lines, ascii_only=ascii_only)
    names = ", ".join(Path(file).name for file in capture.info.files)
    head: list[Part] = [
        ("", f"bdpcap {bdpcap.__version__}: what limited the senders in {names}"),
        ("", trust.line(capture)),
        *(("", sentence) for sentence in trust.notable(capture)),
    ]
    stalls = part("the common stalls", lambda: common_stalls.shared(capture), lambda _: None)

    def first(
        most: int | None, commands: int | None, brief: bool, others: bool
    ) -> tuple[list[str], list[str]]:
        body = _verdicts(capture, groups, entries, stalls, brief=brief)
        windows = [line for group in shown for line in _window(group.flow, several=several, others=others)]
        doubts = _doubts(capture, most, windows=full or entries.depend_on_scale)
        return spelt([*head, *doubts, *body, *windows]), spelt(
            _actions(shown, commands, stalls, several=several)
        )

    udp = _section("UDP", partial(_datagrams, capture))
    failed_title = part(
        "the failed connections", lambda: connections.title(capture), lambda _: "Failed"
    ).upper()

    def failed(most: int | None) -> list[Part]:
        return [
            *udp,
            *_section(failed_title, lambda: _first(connections.counted(capture), most)),
            *_section("CONNECTIONS THAT OPENED LATE", lambda: _first(connections.late(capture), most)),
            *_section(
                error_responses.TITLE.upper(), lambda: _first(error_responses.sentences(capture), most)
            ),
        ]

    account = _section("THE HOST'S OWN ACCOUNT", partial(_account, capture, shown))
    seen = _section("TO SEE IT IN WIRESHARK", partial(_reproduce, shown))
    if full:
        why = [line for group in groups for line in _why(group.flow)]
        about = [
            *_section("CONNECTIONS ENDED BY A RESET", partial(_reset, capture)),
            *_section("CAPTURE", partial(_facts, capture)),
            *_section("CAVEATS", partial(_caveats, capture)),
        ]
        made, actions = first(None, None, False, True)
        return _joined([*made, *actions, *spelt([*failed(None), *account, *why, *seen, *about])])
    last = spelt([(None, ""), ("", _more(shown))])
    choices = [first(*most) for most in (_MOST if len(groups) == 1 else _MOST[:1])]
    made, actions = next((one for one in choices if sum(map(len, one)) + len(last) <= LINES), choices[-1])
    # Statistics of the host were given by the user, so they do not count.
    failures = [spelt(failed(most)) for most in (_FAILED, 1, 0)]
    filters = spelt(seen)
    room = (
        LINES - len(made) - len(actions) - len(last) if len(groups) == 1 else len(failures[0]) + len(filters)
    )
    failures_shown = next((one for one in failures if len(one) <= room), [])
    filters_shown = filters if len(filters) <= room - len(failures_shown) else []
    mended = [one.flow for one in shown if ranking.has_place(one.flow)]
    failing = part("the failed connections", lambda: connections.fail_or_wait(capture), lambda _: False)
    short = all(nature(one.flow) is SHORT for one in shown)
    if several and failing and failures_shown and short and not (mended or stalls):
        # Short transfers need no step, and these connections have their own advice.
        actions = []
    order = [actions, spelt(account), failures_shown]
    # A client that asked in vain comes before flows that nothing held, or that waited for their programs.
    in_vain = part("the failed connections", lambda: connections.in_vain(capture), lambda _: False)
    programs = all(flow.summary["limit"] == "app" and nature(flow) is None for flow in mended)
    if in_vain and failures_shown and programs:
        order = [failures_shown, ["", *actions] if mended or stalls else [], spelt(account)]
    return _joined([*made, *(line for lines in order for line in lines), *filters_shown, *last])


def _more(shown: list[Group]) -> str:
    what = "Every finding" if shown else "Everything"
    return f"{what}, with evidence and caveats: bdpcap report CAPTURE --text - --full"


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _section(title: str, make: Callable[[], list[Part]]) -> list[Part]:
    """Return a section with its title; an empty list if the section has no contents."""
    made: list[Part] = part(f"the section {title}", make, lambda notice: [("  ", notice)])
    return [(None, ""), (None, title), *made] if made else []


def _doubts(capture: Capture, most: int | None, *, windows: bool) -> list[Part]:
    """Return the gravest doubts about the capture, `most` or all; those about `windows` only if asked for."""

    def doubts() -> list[Part]:
        return [("  - ", doubt) for doubt in trust.doubts(capture, windows=windows)[:most]]

    return _section("DOUBTFUL", doubts)


def _verdicts(
    capture: Capture, groups: list[Group], entries: screen.Entries, stalls: Shared | None, *, brief: bool
) -> list[Part]:
    """Return the verdict: of one flow in full, of several after a sentence on all of them."""

    def verdicts() -> list[Part]:
        shown = entries.detailed
        if len(groups) == 1:
            return [
                ("VERDICT  ", screen.head(shown[0].flow)),
                *_verdict(shown[0], entries.sums[0], brief=brief),
                *rest(),
            ]
        parts: list[Part] = [("VERDICT  ", headline.summary(capture, groups))]
        for group, together in zip(shown, entries.sums, strict=True):
            parts += _verdict(group, together, screen.head(group.flow), brief=brief)
        return [*parts, *rest()]

    def rest() -> list[Part]:
        said = [entries.quiet, headline.rest(capture, entries.shown), oversized.sentence(capture, groups)]
        if stalls is not None:
            said.append(stalls.fact if entries.detailed else str(stalls))
        return [("  ", sentence) for sentence in said if sentence]

    return [
        (None, ""),
        *part("the section VERDICT", verdicts, lambda notice: [(None, "VERDICT"), ("  ", notice)]),
    ]


def _verdict(group: Group, together: str, head: str = "", *, brief: bool) -> list[Part]:
    flow = group.flow
    parts: list[Part] = [("  ", f"Stream {flow.stream}: {flow.sender} → {flow.receiver}")]
    parts += [("    ", f"{head[0].upper()}{head[1:]}.")] if head else []
    parts += [("    ", sentence) for sentence in screen.sentences(flow, brief=brief)]
    return [*parts, *(("    ", sentence) for sentence in (group.same, together) if sentence)]


def _window(flow: Flow, *, several: bool, others: bool) -> list[Part]:
    """Return the arithmetic of the setting behind a window that limits a flow; empty where it is unknown.

    `others` adds other settings that give this window.
    """
    found = part("the section WHY", lambda: why(flow), lambda _: None)
    if found is None:
        return []
    which = f"Stream {flow.stream}. " if several else ""
    first, *rest = found.sentences if others else found.sentences[:1]
    return [(None, f"WHY {found.number}?"), ("  ", f"{which}{first}"), *(("  ", other) for other in rest)]


def _expected(flow: Flow) -> str:
    """Return the gain of the advice, without a rate of the network that the verdict gives."""
    outlook = remedy(flow).outlook
    return str(replace(outlook, path="") if outlook.path == screen.path_rate(flow) else outlook)


def _actions(shown: list[Group], commands: int | None, stalls: Shared | None, *, several: bool) -> list[Part]:
    """Return the advice with so many commands of each, None for all; equal advice for several flows is given once.

    The link that stalled for several connections comes first. "Nothing to mend" would then be untrue, and the waits of
    these connections need no other advice.
    """

    def actions() -> list[Part]:
        expected = _expected(shown[0].flow) if len(shown) == 1 else ""
        parts: list[Part] = [("WHAT TO DO  ", f"expected: {expected}") if expected else (None, "WHAT TO DO")]
        parts += [("  ", stalls.advice)] if stalls is not None else []
        alike: dict[Remedy, list[Flow]] = {}
        for group in shown:
            alike.setdefault(remedy(group.flow), []).append(group.flow)
        for one, flows in alike.items():
            if stalls is not None and (
                not one.where or all(common_stalls.explains(stalls, flow) for flow in flows)
            ):
                continue
            # "Nothing to mend" of one flow is no sentence on the others.
            named = len(shown) > 1 or (several and not one.where)
            which = f"{_which(flows, alike.values())}. " if named else ""
            gain = f" Expected: {one.expected}." if one.expected and len(shown) > 1 else ""
            parts.append(("  ", f"{which}{one}{gain}"))
            parts += [(None, line) for command in one.commands[:commands] for line in command_lines(command)]
        return parts

    def left_out(notice: str) -> list[Part]:
        return [(None, "WHAT TO DO"), ("  ", notice)]

    return part("the section WHAT TO DO", actions, left_out) if shown else []


def _which(flows: list[Flow], every: Collection[list[Flow]]) -> str:
    """Return the streams of flows with one advice; with the sender where the other direction has another advice."""
    streams = list(dict.fromkeys(flow.stream for flow in flows))
    several = any(flow.stream in streams for others in every if others is not flows for flow in others)
    return f"{units.streams(streams)}{f' from {flows[0].sender}' if several else ''}"


def _first(found: list[tuple[str, int]], most: int | None) -> list[Part]:
    """Return the first sentences on connections, None for all, and the number of the other connections.

    A last sentence takes the place of its number.
    """
    kept = found if most and len(found) == most + 1 else found[:most]
    rest = sum(count for _, count in found[len(kept) :])
    others = units.number(rest, "more connection" if kept else "connection")
    more: list[Part] = [("  - ", f"{others}: --full lists them.")] if rest else []
    return [*(("  - ", sentence) for sentence, _ in kept), *more]


def _datagrams(capture: Capture) -> list[Part]:
    return [("  - ", sentence) for sentence in no_flows.datagrams(capture)]


def _reset(capture: Capture) -> list[Part]:
    return [("  - ", sentence) for sentence in connections.ends(capture)]


def _account(capture: Capture, shown: list[Group]) -> list[Part]:
    if capture.host is None:
        return []
    parts: list[Part] = []
    for flow in (group.flow for group in shown):
        both = compare(flow)
        if both is None:
            parts.append(("  ", f"Stream {flow.stream}: no two samples of {flow.sender}."))
            continue
        head = ((f"  {host.title(flow, both)}", "host", "capture"), *host.rows(both))
        parts += [(None, f"{'    ' if place else ''}{name:<{_NAMES - _INDENT * bool(place)}}{own:>12}{seen:>12}")
                  for place, (name, own, seen) in enumerate(head)]  # fmt: skip
        parts += [("    ", note) for note in host.notes(both)]
    return [*parts, *(("  - ", doubt) for doubt in capture.host.doubts(capture))]


def _why(flow: Flow) -> list[Part]:
    parts = _section(f"WHY, stream {flow.stream}", partial(_evidence, flow))
    found = part("the findings", lambda: weights(flow), lambda _: [])
    order = {weight: place for place, weight in enumerate(Weight)}
    for finding, _ in sorted(found, key=lambda item: order[item[1]]):
        parts += finding_parts(finding, flow.capture)
    return parts


def _evidence(flow: Flow) -> list[Part]:
    parts: list[Part] = [
        (None, f"  {LIMIT_NAMES[limit]:<19}{units.share(share):>6}  {'#' * max(1, round(share * _BAR))}")
        for limit, share in verdict.shares(flow.summary)
    ]
    parts += [("  - ", total) for total in verdict.arithmetic(flow.summary)]
    span = verdict.best_span(flow)
    if span is not None:
        stripe = span.stripe
        shown = (
            f"{units.span('Round', stripe.first_round, stripe.last_round)} "
            f"({flow.capture._contents.files.span(span.first_frame, span.last_frame)}), {stripe.limit}"
            f"{f' ({stripe.detail})' if stripe.detail else ''}: {stripe.evidence}"
        )
        parts.append(("  - ", shown))
    return parts


def finding_parts(finding: Finding, capture: Capture | None) -> list[Part]:
    """Return the text of a whole finding; `capture` is None for a finding that is not from a capture."""
    where = f" ({capture._contents.files.span(*finding.frames)})" if finding.frames and capture else ""
    fields = (
        ("Evidence", f"{finding.evidence}{where}" if finding.evidence else ""),
        ("Cause", finding.cause),
        ("Remedy", finding.remedy),
    )
    return [
        ("  * ", finding.sentence),
        *(("    ", f"{name}: {words}") for name, words in fields if words),
        *((None, line) for command in finding.commands for line in command_lines(command)),
        ("    ", f"[{'; '.join([f'{finding.code}, {finding.certainty}', *sources(finding)])}]"),
    ]


def sources(finding: Finding) -> list[str]:
    """Return the sources of a finding that a reader can look up; files of this project are left out."""
    return [source for source in finding.source.split("; ") if source and "docs/" not in source]


def finding_lines(finding: Finding, capture: Capture | None) -> list[str]:
    """Return a finding in lines of at most 80 columns; lines of commands may be longer."""
    return _lines(finding_parts(finding, capture), ascii_only=False)


def command_lines(command: str) -> list[str]:
    """Return the lines of a command: its comment follows it, or comes first if the line would be too long.

    A command that is too long itself is broken where the shell allows it: after a semicolon, ``||`` and ``&&``.
    """
    typed, _, comment = units.printable(command).partition("   # ")
    line = f"      {typed}   # {comment}" if comment else f"      {typed}"
    if len(line) <= COLUMNS:
        return [line]
    if len(f"      {typed}") > COLUMNS:
        typed = (
            typed.replace("; ", "\n      ").replace(" || ", " ||\n        ").replace(" && ", " &&\n        ")
        )
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
    """Return lines of at most 80 columns; only the first has the lead, and a number and its unit are not separated.

    If a word does not fit next to the lead, the lead gets a line alone. Only a word longer than a line is broken.
    """
    joined = units.joined(units.printable(words))
    longest = max(map(len, joined.split(" ")))
    if longest > COLUMNS - len(lead) and len(lead) > _INDENT:
        return [lead.rstrip(), *wrap(words, " " * _INDENT)]
    lines = textwrap.wrap(
        joined, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
