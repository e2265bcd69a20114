"""Waiting for the machine to have something to spare, and for others who measure on it."""

from __future__ import annotations

import fcntl
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PATIENCE_S", "alone", "quiet"]

PATIENCE_S = 300


def quiet(patience_s: float = PATIENCE_S) -> None:
    """Wait, up to so long, until the machine has something to spare, and its host takes nothing of it."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        before = processor()
        time.sleep(2)
        spent = [after - ticks for ticks, after in zip(before, processor(), strict=True)]
        idle, stolen = spent[3] / sum(spent), spent[7] / sum(spent)
        if idle > 0.25 and stolen < 0.005:
            return


def processor() -> list[int]:
    """Ticks of all processors so far, by what they did: see proc(5)."""
    return [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]


@contextmanager
def alone(turn: Path | None) -> Iterator[None]:
    """Take turns with whoever else locks this file."""
    if not turn:
        yield
        return
    with turn.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
