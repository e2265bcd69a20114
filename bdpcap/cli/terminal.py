"""Text for a terminal: width, colours, and tables with columns of fixed width."""

from __future__ import annotations

import codecs
import os
import shutil
import textwrap
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from rich.console import Console, RenderableType
    from rich.text import Text


NO_PAYLOAD: Final = "no TCP segment with payload was found. `bdpcap info` shows what was."

SPELT: Final = "bdpcap.spelt"
"""Name of the error handler that spells out characters missing in the output's encoding, such as → in ASCII."""
_SPELLINGS: Final = {"→": "->", "…": "~"}


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    spelt = [_SPELLINGS.get(one) or one.encode("ascii", "backslashreplace").decode() for one in lacking]
    return "".join(spelt), error.end


codecs.register_error(SPELT, _spell)


def width() -> int:
    """Return the width of the terminal in columns, 120 if there is no terminal."""
    return shutil.get_terminal_size(fallback=(120, 24)).columns


def bold(text: str, file: IO[str]) -> str:
    """Return the text with the codes for bold; unchanged if the file is no terminal, or TERM is dumb."""
    return f"\x1b[1m{text}\x1b[0m" if file.isatty() and os.environ.get("TERM") != "dumb" else text


def grid(rows: Sequence[Sequence[str]], file: IO[str], *, right: int | None = None) -> None:
    """Write rows in aligned columns: the first bold, the last wrapped, and column `right` right-aligned."""
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    before = sum(size + 2 for size in widths)
    for *cells, last in rows:
        fitted = [
            cell.rjust(size) if at == right else cell.ljust(size)
            for at, (cell, size) in enumerate(zip(cells, widths, strict=True))
        ]
        room = max(20, width() - before)
        first, *more = textwrap.wrap(last, room, break_on_hyphens=False) or [""]
        head = "  ".join([bold(fitted[0], file), *fitted[1:], first])
        file.write(f"{head.rstrip()}\n")
        file.writelines(f"{' ' * before}{line}\n" for line in more)


def console(file: IO[str]) -> Console:
    """Return a console of the terminal's width; NO_COLOR turns its colours off."""
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import, and other formats need none

    return Console(
        file=file,
        width=width(),
        highlight=False,
        force_terminal=None if file.isatty() else False,
        no_color=bool(os.environ.get("NO_COLOR")),
    )


def show(table: RenderableType, file: IO[str]) -> None:
    """Write a table without trailing blanks."""
    wide = console(file)
    with wide.capture() as captured:
        wide.print(table)
    file.writelines(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])


@dataclass(frozen=True, slots=True)
class Column:
    """
    A column of fixed width.

    Attributes
    ----------
    title, width
        Heading, and width in characters; a column is right-aligned, or left-aligned if its width is negative.
    cell
        Function that returns the text of one value.
    source
        Column of the table that is shown.
    at
        Minimum width of a terminal on which the column is shown.
    """

    title: str
    width: int
    source: str
    cell: Callable[[Any], str] = units.printable
    at: int = 0

    def fit(self, text: str) -> str:
        """Return a text padded to the column's width, or cut if it is longer."""
        size = abs(self.width)
        if len(text) > size:
            text = text[: size - 1] + "…"
        return text.rjust(size) if self.width > 0 else text.ljust(size)


class Lines:
    """Writes rows of a table as lines, piece by piece."""

    def __init__(self, columns: Sequence[Column], file: IO[str]) -> None:
        self.console = console(file)
        self.columns = [column for column in columns if column.at <= self.console.width]

    def head(self) -> None:
        """Write the headings."""
        self._write(" ".join(column.fit(column.title) for column in self.columns).rstrip(), style="bold")

    def rows(self, frame: pd.DataFrame) -> None:
        """Write a piece of the table; on a terminal, each limit has its colour."""
        texts = [
            [column.fit(column.cell(value)) for value in frame[column.source]] for column in self.columns
        ]
        if not self.console.is_terminal:
            self.console.file.writelines(" ".join(row).rstrip() + "\n" for row in zip(*texts, strict=True))
            return
        from rich.text import Text  # noqa: PLC0415 - rich is slow to import, and only terminals need it

        from bdpcap.diagnosis import STATE_COLOURS  # noqa: PLC0415 - slow to import

        for row in zip(*texts, strict=True):
            line = Text()
            for column, text in zip(self.columns, row, strict=True):
                colour = STATE_COLOURS.get(text.strip(), "") if column.source == "limit" else ""
                line.append(text, style=f"bold {colour}" if colour else "")
                line.append(" ")
            self._write(line)

    def note(self, text: str) -> None:
        """Write a line between the rows."""
        self._write(units.printable(text))

    def _write(self, line: str | Text, style: str | None = None) -> None:
        """Write a line; on a terminal, it is cut at the edge."""
        if not self.console.is_terminal:
            self.console.file.write(f"{line}\n")
            return
        self.console.print(
            line, style=style, markup=False, emoji=False, no_wrap=True, overflow="ellipsis", crop=True
        )
