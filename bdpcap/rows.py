"""Rows of a table as JSON: integers are exact, missing values null."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["lines", "records"]


def lines(table: pd.DataFrame) -> str:
    """Return one JSON object a line."""
    if table.empty:
        return ""
    rows = _json(table, lines=True)
    return rows.rstrip("\n").replace("\\/", "/") + "\n"  # pandas escapes every slash, needlessly


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as dictionaries of plain Python values."""
    rows: list[dict[str, Any]] = json.loads(_json(table))
    return rows


def _json(table: pd.DataFrame, *, lines: bool = False) -> str:
    """Have pandas write JSON in a thread, which no interrupt reaches: raised within, one would crash the process."""
    with ThreadPoolExecutor(1) as thread:
        written = thread.submit(table.to_json, orient="records", lines=lines, double_precision=15)
        return str(written.result())
