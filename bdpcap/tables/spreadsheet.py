"""Tables as CSV that is safe to open in a spreadsheet and to show in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from bdpcap import _core
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.tables.cells import Columns

_FORMULA: Final = ("=", "+", "-", "@")


def write_csv(columns: Columns, file: BinaryIO, *, header: bool = True) -> None:
    """Write a table as CSV. Text from a capture can be neither a formula nor a control sequence of a terminal."""
    if header:
        file.write(",".join(map(_quoted, columns)).encode() + b"\n")
    file.write(_core.csv_lines([*columns.values()], _written))


def _written(text: str) -> str:
    shown = units.printable(text)
    return _quoted(f"'{shown}" if shown.startswith(_FORMULA) else shown)


def _quoted(text: str) -> str:
    """Return a cell, in quotes if RFC 4180 requires them."""
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text
