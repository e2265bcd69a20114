"""Tables as CSV that a spreadsheet may open and a terminal may show."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap import _core, units

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMULA: Final = ("=", "+", "-", "@")


def write_csv(frame: pd.DataFrame, file: IO[str], *, header: bool = True) -> None:
    """Write a table; in text of a capture nothing is a formula, and nothing moves a terminal's cursor."""
    if header:
        file.write(",".join(map(_quoted, frame.columns)) + "\n")
    file.write(_core.csv_lines([_cells(frame[name]) for name in frame]))


def _cells(column: pd.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]] | tuple[NDArray[Any], list[str]]:
    """Return a column as the core takes it."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        kind = np.int64 if pd.api.types.is_integer_dtype(column) else np.float64
        absent = column.isna().to_numpy()
        return column.to_numpy(kind, na_value=0) if absent.any() else column.to_numpy(kind), absent
    codes, texts = pd.factorize(column)
    return codes.astype(np.int64), [_quoted(_cell(text)) for text in texts]


def _quoted(text: str) -> str:
    """Write a cell as RFC 4180 has it."""
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text


def _cell(text: Any) -> str:
    shown = units.printable(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
