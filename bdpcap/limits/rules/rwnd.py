"""The receiver's window: the sender had used it up."""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import Loss, Window
from bdpcap.limits.rule import Rule, all_of, it
from bdpcap.limits.rules.common import CLOSED, FULL, OPEN

__all__ = ["DETAILS", "READER", "RULES"]

RULES: Final = (
    Rule(
        id="rwnd-full",
        limit="rwnd",
        holds=FULL,
        # What no acknowledgment answers would not be answered under a larger window.
        unless=all_of(it(Loss.timer_backed_off), OPEN),
        says="The window was full or closed for {window.full_share} of the round: {window.filled} in flight of "
        "{window.largest}.",
        why="A sender does not send while less than a segment is usable. A closed window is a full one.",
        source="RFC 9293 section 3.8.6",
        blind="A percent or two of rate tells a window of just the BDP from a link that is just busy.",
    ),
)

DETAILS: Final = {
    "zero window": CLOSED,
    "slow reader": it(Window.unread),
    "ramp": it(Window.rising),
    "buffer": None,
}

READER: Final = ("slow reader", "zero window")
"""Details of rounds in which the receiving program read slowly: no larger window helps."""
