"""Tables as CSV that a spreadsheet may open and a terminal may show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, Final

from bdpcap import _core, units

if TYPE_CHECKING:
    from bdpcap.cells import Cells, Columns

_FORMULA: Final = ("=", "+", "-", "@")
_PLAIN: Final = re.compile(r"[0-9A-Za-z_:\[][0-9A-Za-z_:.\[\] -]*")
"""Written as it is, as most text: addresses and names."""


def write_csv(columns: Columns, file: BinaryIO, *, header: bool = True) -> None:
    """Write a table; in text of a capture nothing is a formula, and nothing moves a terminal's cursor."""
    if header:
        file.write(",".join(map(_quoted, columns)).encode() + b"\n")
    file.write(_core.csv_lines([_written(cells) for cells in columns.values()]))


def _written(cells: Cells) -> Cells:
    values, beside = cells
    return (
        (values, [_quoted(_cell(text)) for text in beside]) if isinstance(beside, list) else (values, beside)
    )


def _quoted(text: str) -> str:
    """Write a cell as RFC 4180 has it."""
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text


def _cell(text: str) -> str:
    shown = units.printable(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
