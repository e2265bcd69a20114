"""Tables as CSV that a spreadsheet may open and a terminal may show."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap import units

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMULA: Final = ("=", "+", "-", "@")


def write_csv(frame: pd.DataFrame, file: IO[str], *, header: bool = True) -> None:
    """Write a table; in text of a capture nothing is a formula, and nothing moves a terminal's cursor."""
    text = frame.select_dtypes(["object", "string"])
    harmless = {str(name): _harmless(text[name]) for name in text}
    frame.assign(**harmless).to_csv(file, index=False, header=header, lineterminator="\n")


def _harmless(column: pd.Series[Any]) -> NDArray[np.object_]:
    codes, texts = pd.factorize(column)
    # The last one is what is missing, whose code is -1.
    return np.array([*map(_cell, texts), None], dtype=object)[codes]


def _cell(text: Any) -> str:
    shown = units.printable(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
