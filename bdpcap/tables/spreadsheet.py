"""Tables as CSV that a spreadsheet may open and a terminal may show."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from bdpcap import _core
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.tables.cells import Columns

_FORMULA: Final = ("=", "+", "-", "@")


def write_csv(columns: Columns, file: BinaryIO, *, header: bool = True) -> None:
    """Write a table; in text of a capture nothing is a formula, and nothing moves a terminal's cursor."""
    if header:
        file.write(",".join(map(_quoted, columns)).encode() + b"\n")
    file.write(_core.csv_lines([*columns.values()], _written))


def _written(text: str) -> str:
    shown = units.printable(text)
    return _quoted(f"'{shown}" if shown.startswith(_FORMULA) else shown)


def _quoted(text: str) -> str:
    """Write a cell as RFC 4180 has it."""
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text
