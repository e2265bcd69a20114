"""Idle time, which is no limit."""

from __future__ import annotations

from typing import Final

from bdpcap.diagnosis.model import Limit
from bdpcap.words import palette

__all__ = ["LIMIT"]

LIMIT: Final = Limit(
    code="idle",
    name="idle",
    colour=palette.LIGHT_GREY,
    meaning="Nothing was asked of the sender. Shares of limits are shares of the other, active time.",
)
