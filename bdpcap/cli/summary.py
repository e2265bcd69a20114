"""``bdpcap summary``: summarize a dataset of many captures."""

from __future__ import annotations

import re
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

    from bdpcap.fleet.questions import Answers

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
    if output_ is None:
        _text(answers, sys.stdout)
        return exits.DONE
    from bdpcap.fleet.page import html  # noqa: PLC0415 - plotly is slow to import

    with files.replacing(output_) as part:
        part.write_text(html(answers, ask(folder, date, _HUNDREDTHS).quantiles), encoding="utf-8")
    sys.stderr.write(f"summary: {output_} ({units.data_size(output_.stat().st_size)}), for a browser\n")
    return exits.DONE


_HUNDREDTHS: Final = tuple(hundredth / 100 for hundredth in range(101))


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
    for line in textwrap.wrap(totals(answers), 80):
        file.write(f"{line}\n")
    share = Column("share of time", 14, "share", units.share)
    _section("Time by limit", answers.limits, [_LIMIT, share, Column("time", 9, "ns", units.duration)], file)
    _section(
        "Hosts that lose most", answers.hosts, [_LIMIT, _LOST, _FLOWS, Column("host", -45, "host")], file
    )
    _section(
        "Paths that lose most", answers.paths, [_LIMIT, _LOST, _FLOWS, Column("path", -60, "path")], file
    )
    _section("Causes that cost most", answers.causes, [_LOST, _FLOWS, Column("finding", -40, "code")], file)
    worst = answers.worst.assign(flow=answers.worst["sender"] + " → " + answers.worst["receiver"])
    stream = Column("stream", 6, "stream", str)
    rate = Column("throughput", 12, "active_throughput_bps", units.rate)
    columns = [_LIMIT, _LOST, rate, stream, Column("capture", -40, "capture"), Column("flow", -50, "flow")]
    _section("Flows that lose most", worst, columns, file)
    for period, quantiles in answers.quantiles.items():
        _distributions(
            "" if period == "all" else f", {period} {answers.date:%Y-%m-%d %H:%M}", quantiles, file
        )
    if answers.since is not None:
        _changes(answers.since, file)


def totals(answers: Answers) -> str:
    """Return the number of captures and flows, their bytes and their total duration, as a sentence."""
    of = answers.totals
    failed = f" ({units.count(of['failed'])} could not be read)" if of["failed"] else ""
    return (
        f"{units.number(of['captures'], 'capture')}{failed}, {units.number(of['flows'], 'flow')} that carried "
        f"{units.data_size(of['payload_bytes'])} in {units.duration(of['life_ns'])} of their time, "
        f"{units.duration(of['active_ns'])} of it active."
    )


def _section(title: str, table: pd.DataFrame, columns: list[Column], file: IO[str]) -> None:
    file.write(f"\n{title}\n")
    if table.empty:
        file.write("  none\n")
        return
    lines = Lines(columns, file)
    lines.head()
    lines.rows(table)


def _distributions(of: str, quantiles: pd.DataFrame, file: IO[str]) -> None:
    """Write the 5th, 25th, 50th, 75th and 95th percentile of each quantity over all flows."""
    from bdpcap.fleet.questions import DISTRIBUTED, PERCENTILES  # noqa: PLC0415 - DuckDB is an extra

    file.write(f"\nFlows by percentile{of}\n")
    head = "".join(f"{f'{part:.0%}':>12}" for part in PERCENTILES)
    file.write(f"{'':<20}{'flows':>8}{head}\n")
    for name, called in DISTRIBUTED.items():
        if name not in quantiles.index:
            continue
        row = quantiles.loc[name]
        cells = "".join(f"{cell(name, value):>12}" for value in row["percentiles"])
        file.write(f"{called:<20}{units.count(row['flows']):>8}{cells}\n")


def cell(name: str, value: float) -> str:
    """Return a value with its unit, which the ending of the quantity's name determines; a share by default."""
    for end, show in (("_bps", units.rate), ("_ns", units.duration), ("_bytes", units.data_size)):
        if re.search(f"{end}$", name):
            return show(value)
    return units.percent(value)


def _changes(since: pd.DataFrame, file: IO[str]) -> None:
    file.write("\nShare of active time by limit, before and after\n")
    shares = {(row.limit, row.period): row.share for row in since.itertuples()}
    for limit in LIMITS:
        before, after = (shares.get((limit, period), 0.0) for period in ("before", "after"))
        file.write(f"{limit:<8}{units.percent(before):>9}  →{units.percent(after):>9}\n")
