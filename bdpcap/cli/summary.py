"""``bdpcap summary``: summarize a dataset of many captures."""

from __future__ import annotations

import sys
import textwrap
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from bdpcap.cli import exits, options, output
from bdpcap.cli.terminal import Column, Lines
from bdpcap.tables import LIMITS, files
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.fleet.questions import Answers, Since

EPILOG: Final = (
    "DIR is the dataset that `bdpcap batch --out DIR` wrote. Time lost is time limited by the receive window, the send "
    "buffer or congestion control, which another setting or a path without losses would lift. Needs the extra "
    "bdpcap[summary]."
)

_LIMIT: Final = Column("limit", -7, "limit")
_LOST: Final = Column("lost", 9, "lost_ns", units.duration)
_FLOWS: Final = Column("flows", 7, "flows", units.count)


def command(
    folder: Annotated[str | None, typer.Argument(metavar="DIR", hidden=True)] = None,
    *,
    before_after: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Compare flows that begin before this UTC time with later ones: 2026-11-22, 2026-11-22T18:00.",
        ),
    ] = None,
    output_: options.Output = None,
) -> int:
    """Summarize a dataset of many captures: which hosts and paths lose most time to which limit.

    The summary is text; with `-o FILE.html` it is a page with figures.
    """
    if not folder:
        raise typer.BadParameter("name the folder that bdpcap batch --out wrote")
    date = _date(before_after)
    output.named(output_, [".html", ".htm"])
    try:
        from bdpcap.fleet.questions import ask  # noqa: PLC0415 - DuckDB is an extra
    except ModuleNotFoundError as error:
        raise typer.BadParameter(f"{error.name} is missing: pip install 'bdpcap[summary]'") from None
    answers = ask(folder, date)
    all_failed = answers.totals["failed"] == answers.totals["captures"]
    code = exits.DAMAGED if all_failed else exits.DONE
    if output_ is None:
        _text(answers, sys.stdout)
        return code
    from bdpcap.fleet.dataset import Dataset  # noqa: PLC0415
    from bdpcap.fleet.page import html  # noqa: PLC0415 - templates are slow to import

    with files.replacing(output_) as part:
        part.write_text(html(answers, folder, Dataset(folder).reports(output_.parent)), encoding="utf-8")
    sys.stderr.write(f"summary: {output_} ({units.data_size(output_.stat().st_size)}), for a browser\n")
    return code


def _date(typed: str | None) -> datetime | None:
    if typed is None:
        return None
    try:
        date = datetime.fromisoformat(typed)
    except ValueError:
        raise typer.BadParameter(
            f"{typed!r} is no date: write 2026-11-22 or 2026-11-22T18:00", param_hint="--before-after"
        ) from None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _text(answers: Answers, file: IO[str]) -> None:
    from bdpcap.fleet import sentences  # noqa: PLC0415 - DuckDB is an extra

    _paragraph(sentences.totals(answers), file)
    file.write("\n")
    _paragraph(f"VERDICT  {sentences.head(answers)}.", file)
    for sentence in (sentences.reason(answers), sentences.advice(answers), sentences.omitted(answers)):
        _paragraph(sentence, file)
    share = Column("share of time", 14, "share", units.share)
    time = Column("time", 9, "ns", units.duration)
    _section("Time by limit", answers.limits, [_LIMIT, share, time, _FLOWS], file)
    _section(
        "Hosts that lose most", answers.hosts, [_LIMIT, _LOST, _FLOWS, Column("host", -45, "host")], file
    )
    _section(
        "Paths that lose most", answers.paths, [_LIMIT, _LOST, _FLOWS, Column("path", -60, "path")], file
    )
    _section("Causes that cost most", answers.causes, [_LOST, _FLOWS, Column("cause", -40, "code")], file)
    worst = answers.worst.assign(flow=answers.worst["sender"] + " → " + answers.worst["receiver"])
    stream = Column("stream", 6, "stream", str)
    rate = Column("throughput", 12, "active_throughput_bps", units.rate)
    columns = [_LIMIT, _LOST, rate, stream, Column("capture", -40, "capture"), Column("flow", -50, "flow")]
    _section("Flows that lose most", worst, columns, file)
    for period, quantiles in answers.quantiles.items():
        when = "" if answers.since is None else f", {period} {answers.since.date:%Y-%m-%d %H:%M}"
        _distributions(when, quantiles, file)
    if answers.since is not None:
        _changes(answers, answers.since, file)
    troubled = answers.captures.assign(reason=answers.captures["error"].fillna(answers.captures["damage"]))
    troubled = troubled[troubled["reason"].notna()]
    if len(troubled):
        file.write("\nCaptures that could not be read, or broke\n")
        for row in troubled.itertuples():
            _paragraph(f"{row.capture}: {row.reason}", file)


def _paragraph(text: str, file: IO[str]) -> None:
    for line in textwrap.wrap(units.printable(text), 80, break_on_hyphens=False):
        file.write(f"{line}\n")


def _section(title: str, table: pd.DataFrame, columns: list[Column], file: IO[str]) -> None:
    if table.empty:
        return
    file.write(f"\n{title}\n")
    lines = Lines(columns, file)
    lines.head()
    lines.rows(table)


_SHOWN: Final = (5, 25, 50, 75, 95)
"""Percentiles in the text."""


def _distributions(of: str, quantiles: pd.DataFrame, file: IO[str]) -> None:
    """Write percentiles of each quantity over flows."""
    from bdpcap.fleet.questions import DISTRIBUTED  # noqa: PLC0415 - DuckDB is an extra
    from bdpcap.fleet.sentences import cell  # noqa: PLC0415

    if quantiles.empty:
        return
    file.write(f"\nFlows by percentile{of}\n")
    head = "".join(f"{f'{part}%':>12}" for part in _SHOWN)
    file.write(f"{'':<20}{'flows':>8}{head}\n")
    for name, called in DISTRIBUTED.items():
        if name not in quantiles.index:
            continue
        row = quantiles.loc[name]
        cells = "".join(f"{cell(name, row['percentiles'][part]):>12}" for part in _SHOWN)
        file.write(f"{called:<20}{units.count(row['flows']):>8}{cells}\n")


def _changes(answers: Answers, since: Since, file: IO[str]) -> None:
    from bdpcap.fleet import sentences  # noqa: PLC0415 - DuckDB is an extra

    file.write(f"\nBefore and after {since.date:%Y-%m-%d %H:%M} UTC\n")
    _paragraph(sentences.changes(answers), file)
    for called, before, after, _ in sentences.medians(answers):
        file.write(f"{f'median {called}':<28}{before:>12}  →{after:>12}\n")
    shares = {(row.limit, row.period): row.share for row in since.limits.itertuples()}
    for limit in LIMITS:
        one, other = (units.share(shares.get((limit, period), 0.0)) for period in ("before", "after"))
        file.write(f"{f'time under {limit}':<28}{one:>12}  →{other:>12}\n")
    if since.paths.empty:
        return
    file.write("\nPaths with flows in both periods: throughput (median), share of time lost\n")
    for row in since.paths.itertuples():
        rates = f"{units.rate(row.bps_before)} → {units.rate(row.bps_after)}"
        lost = f"{units.share(row.lost_before)} → {units.share(row.lost_after)}"
        file.write(f"{rates:>28}{lost:>16}  {units.printable(row.path)}\n")
