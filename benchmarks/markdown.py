"""Tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["percent", "points", "table"]


def percent(share: float) -> str:
    """One decimal, so that 99.96 is not read as all; nothing where it is not known."""
    return "" if pd.isna(share) else f"{100 * share:.1f}"


def points(change: float) -> str:
    """A change in percentage points, with its sign."""
    return "" if pd.isna(change) else f"{change:+.2f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    """A table, its first columns words and the others numbers."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * words + "---:|" * (len(head) - words)
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""
