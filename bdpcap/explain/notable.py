"""The share, and the wait, from which on a part of a flow is worth a sentence."""

from __future__ import annotations

from typing import Final

__all__ = ["NOTABLE_SHARE", "NOTICED_NS"]

NOTABLE_SHARE: Final = 0.1
"""Share of a flow's time, rounds or payload from which on a part is reported.

A choice: a path's rate is known to about a tenth, and less time under a limit moves a flow's rate by less than that.
"""
NOTICED_NS: Final = 1_000_000_000
"""Wait from which on a person notices it (Nielsen, Usability Engineering, 1993: 1.0 second)."""
