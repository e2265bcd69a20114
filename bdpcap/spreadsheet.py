"""Tables as CSV that a spreadsheet may open."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def write_csv(frame: pd.DataFrame, file: IO[str], *, header: bool = True) -> None:
    """Write a table; text of a capture that would be taken for a formula gets a quote before it."""
    text = frame.select_dtypes(["object", "string"])
    guarded = {str(name): text[name].str.replace(r"^(?=[=+\-@\t\r])", "'", regex=True) for name in text}
    frame.assign(**guarded).to_csv(file, index=False, header=header, lineterminator="\n")
