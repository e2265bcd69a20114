"""Rates from bytes and durations, and back: every rate in bits per second is computed here."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["BITS_PER_BYTE", "bytes_at", "duration_ns", "of_bytes"]

BITS_PER_BYTE: Final = 8
"""Bits of an octet, which TCP counts and links do not."""


def of_bytes(amount_bytes: Any, duration_ns: Any) -> Any:
    """Return the rate in bits per second of bytes that took `duration_ns`; of numbers or of arrays.

    A window over the round-trip time gives the highest rate that the window allows (RFC 7323 section 1.1).
    """
    return amount_bytes * 8e9 / duration_ns


def bytes_at(rate_bps: Any, duration_ns: Any) -> Any:
    """Return the bytes that a rate carries in `duration_ns`; over the round-trip time this is the BDP."""
    return rate_bps * duration_ns / 8e9


def duration_ns(amount_bytes: Any, rate_bps: Any) -> Any:
    """Return the nanoseconds that bytes take at a rate."""
    return amount_bytes * 8e9 / rate_bps
