"""Rows of a table as JSON: integers are exact, and missing values are null."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    import pandas as pd

DELETE: Final = "\x7f"
"""The control character that JSON allows unescaped, unlike those below the space (RFC 8259 section 7)."""

__all__ = ["lines", "records", "text"]


def lines(table: pd.DataFrame) -> str:
    """Return the rows as text with one JSON object a line."""
    if table.empty:
        return ""
    rows = _json(table, lines=True)
    # pandas escapes slashes, which JSON does not require.
    return _harmless(rows.rstrip("\n").replace("\\/", "/")) + "\n"


def text(document: Any, *, indent: int | None = None) -> str:
    """Return a document as JSON text that has no control character and ends in a newline."""
    return _harmless(json.dumps(document, allow_nan=False, indent=indent)) + "\n"


def _harmless(text: str) -> str:
    """Return JSON text in which DEL is escaped as the other control characters are."""
    return text.replace(DELETE, "\\u007f")


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
