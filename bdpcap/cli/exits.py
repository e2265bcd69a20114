"""The exit codes and their meanings."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
DAMAGED: Final = 1
USAGE: Final = 2
LIMITED: Final = 3
INTERRUPTED: Final = 130

MEANINGS: Final = {
    DONE: "done",
    DAMAGED: "a capture was damaged or unreadable (everything before the damage is reported)",
    USAGE: "wrong usage, or a bad filter",
    LIMITED: "a flow broke a --fail-on rule",
    INTERRUPTED: "interrupted",
}

HELP: Final = f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in MEANINGS.items())}."
