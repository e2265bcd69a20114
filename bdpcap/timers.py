"""Timers of TCP that several rooms compare times with."""

from __future__ import annotations

from typing import Final

__all__ = ["FIRST_TIMEOUT_NS", "LEAST_TIMER_NS", "LONGEST_DELAYED_ACK_NS", "TWO_TIMERS_NS"]

LEAST_TIMER_NS: Final = 200_000_000
"""Least retransmission timer (``TCP_RTO_MIN`` of Linux)."""
LONGEST_DELAYED_ACK_NS: Final = 500_000_000
"""Longest time for which a receiver may delay an acknowledgment (RFC 9293 section 3.8.6.3)."""
FIRST_TIMEOUT_NS: Final = 1_000_000_000
"""Retransmission timer before the first round trip is known, as of a SYN (RFC 6298 section 2.1): few last longer."""
TWO_TIMERS_NS: Final = 3_000_000_000
"""A first timer and its double (RFC 6298 sections 2.1 and 5.5): after this time a second one has run out."""
