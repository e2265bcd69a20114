"""
The send buffer: what SO_SNDBUF bounds, and what it does not.

Linux doubles SO_SNDBUF and counts memory against it, not payload: ``sk_sndbuf = max(2 x min(value, wmem_max), 4608)``
on x86-64. A writer that found it full is woken when at least a third is free (sk_stream_write_space()). Room is asked
for before each piece of memory, not before each byte, so a large write may end far above the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["SMALL_WRITES", "WAKE_SHARE", "SendBuffer", "least_setting", "settings_for"]

SOCK_MIN_SNDBUF: Final = 4608
"""2 x 2304, on x86-64."""
SMALL_WRITES: Final = 0.64
"""Payload in flight as a share of sk_sndbuf when each write is one segment; measured on Linux 6.18."""
OVERSHOOT: Final = 1.25
"""The most seen with writes of ten segments into a buffer of four of them."""
WAKE_SHARE: Final = 2 / 3
"""Fill of the buffer at which a writer is woken."""


@dataclass(frozen=True, slots=True)
class SendBuffer:
    """What a setting bounds, in bytes."""

    memory: int
    """sk_sndbuf."""
    flight_low: int
    """Payload in flight, at most, when the application writes segment by segment."""
    flight_high: int
    """The same when it writes large blocks."""

    @classmethod
    def of(cls, setting: int) -> SendBuffer:
        """Run SO_SNDBUF forward."""
        memory = max(2 * setting, SOCK_MIN_SNDBUF)
        return cls(memory, int(memory * SMALL_WRITES), int(memory * OVERSHOOT))


def settings_for(flight: int) -> tuple[int, int]:
    """Return the least and the largest SO_SNDBUF that explain a plateau of bytes in flight."""
    return math.ceil(flight / OVERSHOOT / 2), math.floor(flight / SMALL_WRITES / 2)


def least_setting(flight: int) -> int:
    """Return the SO_SNDBUF that keeps at least so much in flight, however the application writes.

    The writer is woken at two thirds of the memory, of which `SMALL_WRITES` is payload.
    """
    return math.ceil(flight / (2 * SMALL_WRITES * WAKE_SHARE))
