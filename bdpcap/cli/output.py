"""Tables on their way out, frame after frame: for people, as CSV, JSON, JSON lines or Parquet."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import typer

from bdpcap import files
from bdpcap.cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    Frames = Iterable[pd.DataFrame]

SCHEMA_VERSION: Final = 1
"""Raised when a column or key changes its meaning or goes away; new ones may come without."""


SUFFIXES: Final = {".txt": Format.TABLE} | {f".{form}": form for form in Format if form is not Format.TABLE}
"""What each suffix of a table's file names."""


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
    frames: Frames,
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
        Pieces of the table, in order, at least one; an empty piece still has the columns.
    format_, output
        How, and where; None is standard output.
    human
        Writes the table for people.
    """
    if format_ is Format.PARQUET:
        _parquet(frames, output)
        return
    with opened(output) as file:
        match format_:
            case Format.TABLE:
                human(frames, file)
            case Format.CSV:
                _csv(frames, file)
            case Format.JSON:
                _json(name, frames, file)
            case Format.JSONL:
                for frame in frames:
                    file.write(_rows(frame))


def _csv(frames: Frames, file: IO[str]) -> None:
    from bdpcap import spreadsheet  # noqa: PLC0415 - pandas is slow to import, and of no use to a table for people

    for index, frame in enumerate(frames):
        spreadsheet.write_csv(frame, file, header=index == 0)


def _rows(frame: pd.DataFrame) -> str:
    """Return one JSON object a line; integers are exact, missing values null."""
    if frame.empty:
        return ""
    rows = frame.to_json(orient="records", lines=True, double_precision=15)
    return rows.rstrip("\n").replace("\\/", "/") + "\n"  # pandas escapes every slash, needlessly


def _json(name: str, frames: Frames, file: IO[str]) -> None:
    file.write(f'{{"schema_version": {SCHEMA_VERSION}, "table": "{name}", "rows": [')
    separator = "\n"
    for frame in frames:
        rows = _rows(frame)
        if rows:
            file.write(separator + rows.rstrip("\n").replace("\n", ",\n"))
            separator = ",\n"
    file.write("\n]}\n")


def _parquet(frames: Frames, output: Path | None) -> None:
    """Gather the pieces in a database on disk, which writes them as one file."""
    try:
        import duckdb  # noqa: PLC0415  an extra
    except ImportError:
        raise typer.BadParameter(
            "writing Parquet needs the extra: pip install 'bdpcap[parquet]'", param_hint="--format"
        ) from None
    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is not for a terminal: give -o FILE", param_hint="--format")
    with tempfile.TemporaryDirectory(prefix="bdpcap-") as scratch:
        file = Path(scratch, "rows.parquet")
        with duckdb.connect(Path(scratch, "rows.duckdb")) as database:
            for index, frame in enumerate(frames):
                if index == 0:
                    columns = ", ".join(f'"{column}" {_sql_type(frame[column])}' for column in frame)
                    database.execute(f"CREATE TABLE rows ({columns})")
                database.register("piece", frame)
                database.execute("INSERT INTO rows SELECT * FROM piece")
                database.unregister("piece")
            database.execute(f"COPY rows TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        if output is None:
            with file.open("rb") as rows:
                shutil.copyfileobj(rows, sys.stdout.buffer)
        else:
            with files.replacing(output) as part:
                shutil.copyfile(file, part)


def _sql_type(column: pd.Series[Any]) -> str:
    return {"i": "BIGINT", "u": "BIGINT", "f": "DOUBLE"}.get(column.dtype.kind, "VARCHAR")
