"""``bdpcap report``: write the verdict as a page, as text for a ticket, as JSON or as an archive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bdpcap import host, report
from bdpcap.cli import opening, options, output, privacy, rules
from bdpcap.read.progress import counted
from bdpcap.report import ranking, verdict
from bdpcap.tables import rows
from bdpcap.words import units

_DEFAULT = Path("report.html")


def command(
    context: typer.Context,
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    output_: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="HTML page to write. Default: report.html, unless --text, --json, --jsonl or --bundle is given.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text", metavar="FILE", help="Write the verdict as text of 80 columns; - is standard output."
        ),
    ] = None,
    json_: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write connections, and the 100 leading flows with their rounds, as JSON; - is standard output.",
        ),
    ] = None,
    jsonl: Annotated[
        Path | None,
        typer.Option(
            "--jsonl",
            metavar="FILE",
            help="Write every flow as --json has it, one on each line; - is standard output.",
        ),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Write a ZIP archive of page, text, CSV, JSON, manifest and PNG figures (extra bdpcap[png]).",
        ),
    ] = None,
    ascii_: Annotated[
        bool, typer.Option("--ascii", help="Write the text of --text in ASCII characters only.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Add every finding with its cause, and all caveats, to the text of --text."
        ),
    ] = False,
    ss: Annotated[
        list[Path] | None,
        typer.Option(
            "--ss",
            metavar="FILE",
            help="Log of `ss -tinm` with times from the sending host, which outranks the capture. Repeatable.",
        ),
    ] = None,
    tcp_info: Annotated[
        list[Path] | None,
        typer.Option(
            "--tcp-info",
            metavar="FILE",
            help="TCP_INFO of the sending host as JSON lines, used as --ss. Repeatable.",
        ),
    ] = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
    fail_on: options.FailOn = None,
    junit: options.JUnit = None,
    annotations: options.AnnotationsOf = None,
) -> int:
    """Write a report as HTML, text, JSON or all in one archive.

    The report shows the limit of every flow, the evidence, and how far the capture can be trusted.
    """
    gate = rules.Gate(fail_on, junit, annotations)
    for path, suffixes, option in (
        (output_, [".html", ".htm"], "--output"),
        (text, [".txt"], "--text"),
        (json_, [".json"], "--json"),
        (jsonl, [".jsonl"], "--jsonl"),
        (bundle, [".zip"], "--bundle"),
    ):
        output.named(path, suffixes, option=option)
    names = privacy.pseudonyms(anonymize, anonymize_key)
    page = output_ or (None if any((text, json_, jsonl, bundle)) else _DEFAULT)
    outputs = [path for path in (page, text, json_, jsonl, bundle, junit) if path is not None]
    opening.distinct(outputs)
    opening.keep([*(ss or ()), *(tcp_info or ())], map(_file, outputs), "the host's account")
    account = _account(ss, tcp_info)
    capture = opening.capture(
        captures, read, filter_, names, outputs=map(_file, outputs), jobs=jobs, budget=budget, host=account
    )
    if text is not None:
        with output.opened(_file(text)) as file:
            file.write(report.text(capture, full=full, ascii_only=ascii_))
    if json_ is not None:
        with output.opened(_file(json_)) as file:
            file.write(rows.text(report.document(capture)))
    if jsonl is not None:
        with output.opened(_file(jsonl)) as file:
            file.writelines(counted(report.lines(capture), len(capture), "explaining flows"))
    if bundle is not None:
        missing = report.write_bundle(capture, bundle, context.obj)
        size = units.data_size(bundle.stat().st_size)
        without = f", without figures: {missing}" if missing else ""
        sys.stderr.write(f"bundle: {units.printable(bundle)} ({size}){without}\n")
    if page is not None:
        report.write_html(capture, page)
        if text is None:
            for flow in ranking.that_matter(capture):
                ends = units.printable(f"{flow.sender} → {flow.receiver}")
                sys.stderr.write(f"stream {flow.stream}, {ends}: {verdict.sentence(flow)}\n")
        sys.stderr.write(f"report: {page} ({units.data_size(page.stat().st_size)}), for a browser\n")
    gate.check(capture.flows)
    code = gate.finish(capture)
    return opening.exit_code(capture.damages) or code


def _account(ss: list[Path] | None, tcp_info: list[Path] | None) -> host.Account | None:
    if not ss and not tcp_info:
        return None
    try:
        account = host.read(ss or (), tcp_info or ())
    except ValueError as error:
        raise typer.BadParameter(f"{error}; docs/command-line.md shows what is read") from None
    for unread in account.unread:
        sys.stderr.write(f"bdpcap: warning: {units.printable(unread)}\n")
    return account


def _file(path: Path) -> Path | None:
    return None if str(path) == "-" else path
