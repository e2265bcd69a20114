"""What the exit codes mean."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
DAMAGED: Final = 1
USAGE: Final = 2
LIMITED: Final = 3
INTERRUPTED: Final = 130

HELP: Final = (
    "Exit codes: 0 done; 1 the capture was damaged or could not be read (what could be read is reported); "
    "2 usage, or a bad filter; 3 a flow broke a --fail-on rule; 130 interrupted."
)
