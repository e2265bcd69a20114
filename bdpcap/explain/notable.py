"""The share, and the wait, from which on a part of a flow is worth a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.capture import Capture

__all__ = ["NOTABLE_SHARE", "NOTICED_NS", "slow_opening_ns"]

NOTABLE_SHARE: Final = 0.1
"""Share of a flow's time, rounds or payload from which on a part is reported.

A choice: a path's rate is known to about a tenth, and less time under a limit moves a flow's rate by less than that.
"""
NOTICED_NS: Final = 1_000_000_000
"""Wait from which on a person notices it (Nielsen, Usability Engineering, 1993: 1.0 second)."""


def slow_opening_ns(capture: Capture, stream: int) -> int:
    """Return the time from a stream's first SYN to the end of its handshake, 0 if no person notices it."""
    opening_ns = capture._contents.streams.opening_ns(stream)
    return opening_ns if opening_ns >= NOTICED_NS else 0
