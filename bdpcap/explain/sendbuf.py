"""
The send buffer: how SO_SNDBUF bounds the bytes in flight.

Linux doubles SO_SNDBUF and counts memory against it, not payload: ``sk_sndbuf = max(2 x min(value, wmem_max), 4608)``
on x86-64. A writer that finds the buffer full is woken when at least a third is free (sk_stream_write_space()). The
kernel checks for room before each piece of memory, not before each byte, so a large write may end far above the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["SMALL_WRITES", "WAKE_SHARE", "SendBuffer", "least_setting", "settings_for"]

SOCK_MIN_SNDBUF: Final = 4608
"""Smallest send buffer on x86-64: 2 x 2304."""
SMALL_WRITES: Final = 0.64
"""Payload in flight as a share of sk_sndbuf when each write is one segment; measured on Linux 6.18."""
OVERSHOOT: Final = 1.25
"""Largest payload in flight as a share of sk_sndbuf: seen with writes of ten segments and an SO_SNDBUF of four."""
WAKE_SHARE: Final = 2 / 3
"""Occupied share of the buffer at which a blocked writer is woken."""


@dataclass(frozen=True, slots=True)
class SendBuffer:
    """Bounds that a setting of SO_SNDBUF implies, in bytes."""

    memory: int
    """Size of the buffer, sk_sndbuf."""
    flight_low: int
    """Largest payload in flight when the application writes one segment at a time."""
    flight_high: int
    """Largest payload in flight when the application writes large blocks."""

    @classmethod
    def of(cls, setting: int) -> SendBuffer:
        """Return the bounds that an SO_SNDBUF of `setting` bytes implies."""
        memory = max(2 * setting, SOCK_MIN_SNDBUF)
        return cls(memory, int(memory * SMALL_WRITES), int(memory * OVERSHOOT))


def settings_for(flight: int) -> tuple[int, int]:
    """Return the smallest and the largest SO_SNDBUF that explain a plateau of bytes in flight."""
    return math.ceil(flight / OVERSHOOT / 2), math.floor(flight / SMALL_WRITES / 2)


def least_setting(flight: int) -> int:
    """Return the smallest SO_SNDBUF that keeps `flight` bytes in flight, however the application writes.

    A blocked writer is woken when two thirds of the memory are occupied, of which `SMALL_WRITES` is payload.
    """
    return math.ceil(flight / (2 * SMALL_WRITES * WAKE_SHARE))
