"""``bdpcap compare``: compare several captures in one table."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import bdpcap
from bdpcap.cli import comparison_tables, exits, opening, options, output
from bdpcap.comparing import comparison, settings
from bdpcap.read.core_pass import source_name
from bdpcap.tables import rows
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import pandas as pd

    from bdpcap.capture import Capture
    from bdpcap.comparing.settings import Settings
    from bdpcap.read.facts import Damage

EPILOG: Final = (
    "CAPTURE is as in other commands, but each capture is analysed separately. Settings are also read from bdpcap.yaml "
    "or bdpcap.csv in a capture's folder. Give an option once for all captures, or once for each, in order."
)


class Format(StrEnum):
    """Format of a comparison."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


SUFFIXES: Final = {
    ".txt": Format.TABLE,
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
}
"""Formats by the suffix of the output."""


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    link_rate: Annotated[
        list[str] | None, typer.Option(metavar="RATE", help="Rate of the bottleneck: 25Mbit/s.")
    ] = None,
    rtt: Annotated[
        list[str] | None, typer.Option(metavar="TIME", help="RTT of the path without queueing: 40ms.")
    ] = None,
    sndbuf: Annotated[
        list[str] | None, typer.Option(metavar="SIZE", help="SO_SNDBUF set by the sender: 64KiB, 50000.")
    ] = None,
    rcvbuf: Annotated[
        list[str] | None, typer.Option(metavar="SIZE", help="SO_RCVBUF set by the receiver (iperf -w).")
    ] = None,
    settings_: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="YAML or CSV file with link_rate, rtt, sndbuf and rcvbuf by name of the capture.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="HTML page to write, with measured and theoretical throughput by window."
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"One of {', '.join(Format)}. Default: by the suffix of -o, else table.",
            show_default=False,
        ),
    ] = None,
    output_: options.Output = None,
) -> int:
    """Compare captures: window, RTT, expected and measured throughput.

    Parallel streams between two hosts are added up. For two captures, the changes from the first to the second are
    shown, too.
    """
    outputs = _outputs(format_, output_, plot)
    named = opening.sources(captures, read, outputs)
    if not isinstance(named, list):
        raise typer.BadParameter("standard input holds one capture: name files")
    paths = [path for name in named for path in opening.files(name)]
    wheres = [settings_ or settings.beside(Path(path)) for path in paths]
    opening.keep([where for where in wheres if where], outputs, "a file of settings")
    typed = {"link_rate": link_rate, "rtt": rtt, "sndbuf": sndbuf, "rcvbuf": rcvbuf}
    given = _settings(paths, wheres, _typed(typed, len(paths)))
    sources = [source_name(path) for path in paths]
    names = [Path(name).name for name in sources]
    damages: list[list[Damage]] = []
    unread: list[bdpcap.CaptureError] = []

    def analysed() -> Iterator[Capture | None]:
        for path in paths:
            try:
                capture = opening.capture([path], None, filter_, outputs=())
            except bdpcap.CaptureError as error:
                unread.append(error)
                yield None
                continue
            damages.append(capture.damages)
            yield capture

    table = comparison.compare(analysed(), names if len(set(names)) == len(names) else sources, given)
    if not damages:
        raise unread[0]
    for error in unread:
        sys.stderr.write(f"bdpcap: {units.printable(error)}; the others are compared\n")
    for name, streams in zip(table["capture"], table["streams"], strict=True):
        if not streams:
            sys.stderr.write(f"bdpcap: {units.printable(name)}: no TCP payload was captured\n")
    _write(table, format_, output_)
    if plot is not None:
        from bdpcap.report import figure  # noqa: PLC0415 - plotly is slow to import

        figure.write_comparison(table, plot)
        sys.stderr.write(f"plot: {plot} ({units.data_size(plot.stat().st_size)}), for a browser\n")
    return max(exits.DAMAGED if unread else exits.DONE, *map(opening.exit_code, damages))


def _outputs(format_: Format | None, table: Path | None, plot: Path | None) -> list[Path]:
    """Return the files to write; a suffix of another format is refused."""
    if format_ is None:
        output.named(table, SUFFIXES, "give --format")
    output.named(plot, [".html"], option="--plot")
    outputs = [path for path in (table, plot) if path is not None]
    opening.distinct(outputs)
    return outputs


def _typed(options_: dict[str, list[str] | None], number: int) -> list[dict[str, Fraction | None]]:
    """Return the settings from options, one dictionary per capture."""
    rows: list[dict[str, Fraction | None]] = [{} for _ in range(number)]
    for name, texts in options_.items():
        if not texts:
            continue
        hint = f"--{name.replace('_', '-')}"
        if len(texts) not in (1, number):
            raise typer.BadParameter(f"give it once, or once for each of {number} captures", param_hint=hint)
        try:
            values = [settings.READERS[name](text) for text in texts]
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=hint) from None
        for row, value in zip(rows, values * (number if len(values) == 1 else 1), strict=True):
            row[name] = value
    return rows


def _settings(
    paths: list[str], wheres: list[Path | None], typed: list[dict[str, Fraction | None]]
) -> list[Settings]:
    """Return the settings of each capture; options take precedence over its file of settings."""
    rows = []
    for path, where, mine in zip(paths, wheres, typed, strict=True):
        found = _read(where).get(Path(path).name) if where else None
        rows.append((found or settings.Settings()).updated(mine))
    return rows


def _read(file: Path) -> dict[str, Settings]:
    try:
        return settings.read(file)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--settings") from None
    except ModuleNotFoundError:
        raise typer.BadParameter(
            f"reading {file} needs the extra: pip install 'bdpcap[yaml]', or write it as CSV",
            param_hint="--settings",
        ) from None


def _write(table: pd.DataFrame, format_: Format | None, file: Path | None) -> None:
    chosen = format_ or SUFFIXES.get(file.suffix.lower() if file else "", Format.TABLE)
    if chosen is Format.CSV:
        output.write("compare", [table], options.Format.CSV, file, lambda _frames, _file: None)
        return
    with output.opened(file) as out:
        match chosen:
            case Format.JSON:
                out.write(rows.text(_document(table), indent=1))
            case Format.MARKDOWN:
                comparison_tables.markdown(table, out)
            case Format.TABLE:
                comparison_tables.text(table, out)


def _document(table: pd.DataFrame) -> dict[str, Any]:
    changes = comparison.difference(table) if len(table) == 2 else None
    return {
        "schema_version": output.SCHEMA_VERSION,
        "table": "compare",
        "rows": rows.records(table),
        "difference": changes
        and [
            {
                "quantity": change.quantity,
                "before": change.before,
                "after": change.after,
                "ratio": change.ratio,
            }
            for change in changes
        ],
    }
