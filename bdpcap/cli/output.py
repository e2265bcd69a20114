"""Writing of tables, piece by piece: as text for people, CSV, JSON, JSON lines or Parquet."""

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

SCHEMA_VERSION: Final = 2
"""Increased when a column or key changes its meaning or is removed; new ones do not increase it."""


SUFFIXES: Final = {".txt": Format.TABLE} | {f".{form}": form for form in Format if form is not Format.TABLE}
"""Formats by the suffix of the file."""
CELLS: Final = (Format.CSV, Format.PARQUET)
"""Formats that the core writes; for these, a piece may be `bdpcap.tables.cells.Columns` instead of a frame."""


def chosen(format_: Format | None, output: Path | None) -> Format:
    """Return the given format, else that of the output's suffix, else the table; another suffix is refused."""
    if format_ is not None or output is None:
        return format_ or Format.TABLE
    named(output, SUFFIXES, "give --format")
    return SUFFIXES.get(output.suffix.lower(), Format.TABLE)


def named(
    output: Path | None, suffixes: Iterable[str], otherwise: str = "", *, option: str = "--output"
) -> None:
    """Refuse an output with a suffix that is not in `suffixes`; a name without a suffix is accepted."""
    if output is not None and output.suffix and output.suffix.lower() not in suffixes:
        *others, last = suffixes
        right = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(
            f"{output} ends in {output.suffix}: end it in {right}{otherwise and f', or {otherwise}'}",
            param_hint=option,
        )


@contextmanager
def opened(output: Path | None) -> Iterator[IO[str]]:
    """Open a file for text, or return standard output for None."""
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
        Name of the table, which is part of the JSON.
    frames
        Pieces of the table in order, at least one; an empty piece still has the columns. For a format in `CELLS`,
        pieces may be cells.
    format_
        Format to write.
    output
        File to write; None is standard output.
    human
        Function that writes the table for people.
    """
    if format_ in CELLS:
        from bdpcap.tables import cells  # noqa: PLC0415 - numpy is slow to import, and plain text needs none

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
    """Open a file for bytes, or return standard output for None."""
    if output is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
    else:
        with files.replacing(output) as part, part.open("wb") as file:
            yield file


def _csv(pieces: Iterable[Columns], output: Path | None) -> None:
    from bdpcap.tables import spreadsheet  # noqa: PLC0415 - only CSV needs it

    with _binary(output) as file:
        for index, columns in enumerate(pieces):
            spreadsheet.write_csv(columns, file, header=index == 0)


def _jsonl(frames: Frames, file: IO[str]) -> None:
    from bdpcap.tables import rows  # noqa: PLC0415 - threading is slow to import, and other formats need none

    for frame in frames:
        file.write(rows.lines(frame))


def _json(name: str, frames: Frames, file: IO[str]) -> None:
    from bdpcap.tables import rows  # noqa: PLC0415 - threading is slow to import, and other formats need none

    file.write(f'{{"schema_version": {SCHEMA_VERSION}, "table": "{name}", "rows": [')
    separator = "\n"
    for frame in frames:
        lines = rows.lines(frame)
        if lines:
            file.write(separator + lines.rstrip("\n").replace("\n", ",\n"))
            separator = ",\n"
    file.write("\n]}\n")


def _parquet(pieces: Iterable[Columns], output: Path | None) -> None:
    from bdpcap import _core  # noqa: PLC0415 - other formats do not need the core here

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
