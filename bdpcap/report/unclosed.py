"""Advice on connections whose end closed, and got no answer to its FINs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.report.failed_lines import Line

__all__ = ["advice"]

_IDLE: Final = (
    "The other end was gone, or a NAT or firewall had forgotten the idle connection: nothing to mend, unless a program "
    "needed it. Then keep-alives hold it."
)
_GAVE_UP: Final = (
    "The end that closed gave up with a reset. The other end was gone, or a NAT or firewall had forgotten the "
    "connection: nothing to mend, unless a program waited."
)
_CLOSED_IN_VAIN: Final = (
    "The other end was gone, or something on the way dropped the FINs. "
    "Nothing to mend, unless a program needed the connection."
)
_DEAF: Final = (
    "Both ends sent again and again, and neither got what the other sent. See what dropped that between them, as a "
    "firewall may that forgot a connection."
)
_FORGOTTEN: Final = (
    "The FINs reached the capture next to {}, which answered none: it had forgotten the connection, as after a sleep or "
    "a change of address. Nothing to mend, unless a program there needed it."
)
_CLOSED_ITSELF: Final = (
    "The FINs reached the capture next to {}, which had closed the connection itself: it took no notice, or its "
    "answer was lost. Nothing to mend."
)
_HAD_CLOSED: Final = (
    "The other end had closed the connection first, and was gone, as a server is in time. Nothing to mend."
)
_MOST_HAD_CLOSED: Final = (
    "In most of them, the other end had closed first, and was gone, as a server is in time. Nothing to mend."
)
_LEAST_FORGOTTEN_NS: Final = 60_000_000_000
"""Time for which NATs and firewalls keep an idle connection at least; a choice: RFC 5382 (REQ-5) asks for 2 h 4 min."""


def advice(line: Line) -> str:
    """Return the advice on connections whose FINs nothing answered."""
    if line.reached:
        itself = line.by_client if line.at_client else line.by_server
        return (_CLOSED_ITSELF if itself else _FORGOTTEN).format(line.nearest)
    if 2 * line.deaf > line.connections:
        return _DEAF
    if 2 * line.had_closed > line.connections:
        return _HAD_CLOSED if line.had_closed == line.connections else _MOST_HAD_CLOSED
    if line.reset:
        return _GAVE_UP
    # What no device can have forgotten as idle by then.
    is_young = line.opening_ns[0] >= 0 and line.longest_ns < _LEAST_FORGOTTEN_NS
    return _CLOSED_IN_VAIN if is_young else _IDLE
