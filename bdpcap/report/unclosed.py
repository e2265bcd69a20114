"""Advice on connections whose end closed, and got no answer to its FINs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.report.failed_line import Line

__all__ = ["advice"]

_CLOSED_IN_VAIN: Final = (
    "The other end was gone, or something on the way dropped the FINs. "
    "Nothing to mend, unless a program needed the connection."
)
_GAVE_UP: Final = f"The end that closed gave up with a reset. {_CLOSED_IN_VAIN}"
_DEAF: Final = (
    "Both ends sent again and again, and neither got what the other sent. See what dropped that between them, as a "
    "firewall may that forgot a connection."
)
_REACHED: Final = (
    "The FINs reached the capture next to {}, which answered none. Nothing to mend, unless a program there needed the "
    "connection."
)
_CLOSED_ITSELF: Final = (
    "The FINs reached the capture next to {}, which had closed the connection itself. Nothing to mend."
)
_HAD_CLOSED: Final = "The other end had closed the connection first. Nothing to mend."
_MOST_HAD_CLOSED: Final = "In most of them, the other end had closed first. Nothing to mend."


def advice(line: Line) -> str:
    """Return the advice on connections whose FINs nothing answered."""
    if line.reached:
        itself = line.by_client if line.at_client else line.by_server
        return (_CLOSED_ITSELF if itself else _REACHED).format(line.nearest)
    if 2 * line.deaf > line.connections:
        return _DEAF
    if 2 * line.had_closed > line.connections:
        return _HAD_CLOSED if line.had_closed == line.connections else _MOST_HAD_CLOSED
    return _GAVE_UP if line.reset else _CLOSED_IN_VAIN
