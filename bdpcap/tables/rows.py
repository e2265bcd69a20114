"""Rows of a table as JSON: integers are exact, and missing values are null."""

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
    """Return the rows as text with one JSON object a line."""
    if table.empty:
        return ""
    rows = _json(table, lines=True)
    return rows.rstrip("\n").replace("\\/", "/") + "\n"  # pandas escapes slashes, which JSON does not require


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as dictionaries of plain Python values."""
    rows: list[dict[str, Any]] = json.loads(_json(table))
    return rows


def _json(table: pd.DataFrame, *, lines: bool = False) -> str:
    with _interrupt_deferred():
        return table.to_json(orient="records", lines=lines, double_precision=15)


@contextmanager
def _interrupt_deferred() -> Iterator[None]:
    """Defer an interrupt until the block ends: raised while pandas writes JSON, it would crash the process."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield  # no interrupt is raised in this thread
        return
    deferred: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: deferred.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    for interrupt in deferred[:1]:
        handler(*interrupt)
