"""The share from which on a part of a flow is worth a sentence."""

from __future__ import annotations

from typing import Final

__all__ = ["NOTABLE_SHARE"]

NOTABLE_SHARE: Final = 0.1
"""Share of a flow's time, rounds or payload from which on a part is reported.

A choice: a path's rate is known to about a tenth, and less time under a limit moves a flow's rate by less than that.
"""
