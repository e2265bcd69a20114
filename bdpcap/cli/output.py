"""Tables on their way out, frame after frame: for people, as CSV, JSON, JSON lines or Parquet."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, BinaryIO, Final, TypeAlias, cast

import typer

from bdpcap.cli.options import Format
from bdpcap.tables import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import pandas as pd

    from bdpcap.tables.cells import Columns

    Frames: TypeAlias = Iterable[pd.DataFrame]

SCHEMA_VERSION: Final = 1
"""Raised when a column or key changes its meaning or goes away; new ones may come without."""


SUFFIXES: Final = {".txt": Format.TABLE} | {f".{form}": form for form in Format if form is not Format.TABLE}
"""What each suffix of a table's file names."""
CELLS: Final = (Format.CSV, Format.PARQUET)
"""What the core writes: pieces may be `bdpcap.tables.cells.Columns` as well as frames."""


def chosen(format_: Format | None, output: Path | None) -> Format:
    """Return the format asked for, else the one that the output's suffix names, else the table."""
    if format_ is not None or output is None:
        return format_ or Format.TABLE
    named(output, SUFFIXES, "give --format")
    return SUFFIXES.get(output.suffix.lower(), Format.TABLE)


def named(
    output: Path | None, suffixes: Iterable[str], otherwise: str = "", *, option: str = "--output"
) -> None:
    """Refuse a file whose suffix names something else; without a suffix a name says nothing."""
    if output is not None and output.suffix and output.suffix.lower() not in suffixes:
        *others, last = suffixes
        right = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(
            f"{output} ends in {output.suffix}: end it in {right}{otherwise and f', or {otherwise}'}",
            param_hint=option,
        )


@contextmanager
def opened(output: Path | None) -> Iterator[IO[str]]:
    """Open where text goes: a file, or standard output."""
    if output is None:
        yield sys.stdout
    else:
        with files.replacing(output) as part, part.open("w", encoding="utf-8", newline="") as file:
            yield file


def write(
    name: str,
    frames: Iterable[pd.DataFrame | Columns],
    format_: Format,
    output: Path | None,
    human: Callable[[Frames, IO[str]], None],
) -> None:
    """
    Write a table.

    Parameters
    ----------
    name
        The table's name, which JSON carries.
    frames
        Pieces of the table, in order, at least one; an empty piece still has the columns. Where `CELLS` has the
        format, they may be cells.
    format_, output
        How, and where; None is standard output.
    human
        Writes the table for people.
    """
    if format_ in CELLS:
        from bdpcap.tables import cells  # noqa: PLC0415 - numpy is slow to import, and of no use to text that is no table

        columns = (piece if isinstance(piece, dict) else cells.of_frame(piece) for piece in frames)
        (_csv if format_ is Format.CSV else _parquet)(columns, output)
        return
    tables = cast("Frames", frames)
    with opened(output) as file:
        match format_:
            case Format.TABLE:
                human(tables, file)
            case Format.JSON:
                _json(name, tables, file)
            case Format.JSONL:
                _jsonl(tables, file)


@contextmanager
def _binary(output: Path | None) -> Iterator[BinaryIO]:
    """Open where bytes go: a file, or standard output."""
    if output is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
    else:
        with files.replacing(output) as part, part.open("wb") as file:
            yield file


def _csv(pieces: Iterable[Columns], output: Path | None) -> None:
    from bdpcap.tables import spreadsheet  # noqa: PLC0415 - likewise

    with _binary(output) as file:
        for index, columns in enumerate(pieces):
            spreadsheet.write_csv(columns, file, header=index == 0)


def _jsonl(frames: Frames, file: IO[str]) -> None:
    from bdpcap.tables import rows  # noqa: PLC0415 - threads are slow to import, and of no use to other formats

    for frame in frames:
        file.write(rows.lines(frame))


def _json(name: str, frames: Frames, file: IO[str]) -> None:
    from bdpcap.tables import rows  # noqa: PLC0415 - likewise

    file.write(f'{{"schema_version": {SCHEMA_VERSION}, "table": "{name}", "rows": [')
    separator = "\n"
    for frame in frames:
        lines = rows.lines(frame)
        if lines:
            file.write(separator + lines.rstrip("\n").replace("\n", ",\n"))
            separator = ",\n"
    file.write("\n]}\n")


def _parquet(pieces: Iterable[Columns], output: Path | None) -> None:
    from bdpcap import _core  # noqa: PLC0415 - likewise

    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is not for a terminal: give -o FILE", param_hint="--format")
    with _binary(output) as file:
        parquet: _core.Parquet | None = None
        for columns in pieces:
            cells = [*columns.values()]
            parquet = parquet or _core.Parquet([*columns], cells)
            file.write(parquet.rows(cells))
        if parquet:
            file.write(parquet.finish())
