"""Marks of a time-sequence graph for segments other than data in sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bdpcap._core import CAUSES, KINDS
from bdpcap.words import palette

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "BY_FLAG",
    "BY_NAME",
    "LOSS_CODES",
    "NAMES",
    "PLAIN",
    "PLAIN_CODES",
    "Mark",
    "codes",
    "of",
    "ordered",
]


class Mark(NamedTuple):
    """Label in the legend, and look of a mark."""

    label: str
    colour: str
    symbol: str
    """One of `bdpcap.plots.svg.SYMBOLS`."""
    size: float = 7
    common: bool = False
    """Whether the mark is on so many packets that it is drawn only where packets are far apart."""


PLAIN: Final = ("syn", "syn-ack", "data", "fin", "rst", "ack", "window update", "keep-alive ack")
"""Kinds without a mark: a tick, a step of a line or the mark of a TCP flag already shows them."""

BY_NAME: Final = {
    "fast retransmit": Mark("fast retransmit", palette.RETRANSMITTED, "x"),
    "timeout": Mark("retransmitted on timeout", palette.RETRANSMITTED, "square", 8),
    "after timeout": Mark("retransmitted after a timeout", palette.RETRANSMITTED, "square-open", 8),
    "tail loss probe": Mark("tail loss probe", palette.RETRANSMITTED, "triangle-up", 9),
    "unexplained": Mark("retransmitted, cause unknown", palette.RETRANSMITTED, "asterisk-open", 8),
    "retransmission": Mark("retransmitted", palette.RETRANSMITTED, "cross"),
    "reordered": Mark("out of order", palette.SENT, "diamond", 8),
    "duplicate": Mark("captured twice", palette.SENT, "circle-open", 8),
    "keep-alive": Mark("keep-alive", palette.SENT, "triangle-up", 8),
    "zero-window probe": Mark("zero-window probe", palette.WINDOW, "triangle-up", 8),
    "duplicate ack": Mark("duplicate ACK", palette.ACKNOWLEDGED, "triangle-down", 6, common=True),
    "zero window": Mark("zero window", palette.WINDOW, "square", 8),
}
"""Marks by ``cause`` or, without one, by ``kind`` of the events table; in the order of the legend."""

BY_FLAG: Final = {
    0x08: Mark("PUSH", palette.SENT, "diamond-open", 6, common=True),
    0x02: Mark("SYN", palette.SENT, "circle", 8),
    0x01: Mark("FIN", palette.SENT, "square-open", 9),
    0x04: Mark("RST", palette.SENT, "x", 9),
}
"""Marks by TCP flag, for segments of the flow's sender."""


NAMES: Final = (*KINDS, *CAUSES[1:])
"""Names of the codes of `codes`: kinds of events, and after them causes of retransmissions."""

PLAIN_CODES: Final = tuple(NAMES.index(name) for name in PLAIN)
LOSS_CODES: Final = tuple(NAMES.index(name) for name in ("retransmission", "reordered", *CAUSES[1:]))
"""Codes of packets that show a loss, or what a receiver takes for one."""


def codes(events: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return the code of each event's mark: of the cause of a retransmission if known, else of the event's kind."""
    kind, cause = (events[name].astype(np.int64) for name in ("kind", "cause"))
    return np.where(cause > 0, len(KINDS) - 1 + cause, kind)


def ordered(given: Iterable[str]) -> list[str]:
    """Return names that have a mark in the order of the legend."""
    known = list(BY_NAME)
    return sorted(given, key=lambda name: (known.index(name) if name in known else len(known), name))


def of(name: str) -> Mark:
    """Return the mark of a name; a name without an entry becomes the label of a default mark."""
    return BY_NAME.get(name, Mark(name, palette.RETRANSMITTED, "cross"))
