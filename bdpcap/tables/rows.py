"""Rows of a table as JSON: integers are exact, missing values null."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

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
    with _undisturbed():
        return table.to_json(orient="records", lines=lines, double_precision=15)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold an interrupt back until the end: raised while pandas writes JSON, one would crash the process."""
    heed = signal.getsignal(signal.SIGINT)
    if not callable(heed) or threading.current_thread() is not threading.main_thread():
        yield  # none is raised here
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: held.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heed)
    for interrupt in held[:1]:
        heed(*interrupt)
