"""Random parameters of a transfer, from a seed and a name, and the arithmetic that they need."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

from transfer import Transfer

__all__ = ["NO_AUTOTUNING", "NO_TIMESTAMPS", "Draw", "receive_buffer"]

NO_AUTOTUNING = "net.ipv4.tcp_moderate_rcvbuf=0"
NO_TIMESTAMPS = "net.ipv4.tcp_timestamps=0"
PAYLOAD_SHARE = 1448 / 1538  # of a full segment with timestamps, preamble and gap counted


def receive_buffer(window: float) -> int:
    """SO_RCVBUF for a window: Linux doubles it and, from 6.6 on and in this lab, takes 5/8 of that less a segment."""
    return int((window * 1.6 + 1280) / 2)


class Draw:
    """A path drawn at random: `rtt_ms`, `rate_mbps` and `cc` may be changed before `transfer` takes them."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.rtt_ms = self.log(12, 90)
        self.rate_mbps = round(self.log(15, 120), 1)
        self.cc = self.random.choice(["cubic", "cubic", "reno"])

    def log(self, low: float, high: float) -> float:
        """Draw evenly by magnitude."""
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def whole(self, low: float, high: float) -> int:
        """Draw a whole number."""
        return self.random.randint(int(low), int(high))

    def real(self, low: float, high: float) -> float:
        """Draw a real number."""
        return self.random.uniform(low, high)

    @property
    def rate_bps(self) -> float:
        """Rate of the bottleneck."""
        return self.rate_mbps * 1e6

    @property
    def bdp(self) -> float:
        """Payload in flight that fills the path, in bytes."""
        return self.rate_bps / 8 * self.rtt_ms / 1000 * PAYLOAD_SHARE

    def transfer(
        self,
        *,
        link: dict[str, Any] | None = None,
        sender: dict[str, Any] | None = None,
        window: float | None = None,
        **settings: Any,
    ) -> Transfer:
        """Put a transfer over this path together; `window` fixes the receiver's buffer."""
        half_us = round(self.rtt_ms * 500)
        path = {
            "delay_us": half_us,
            "back_delay_us": half_us,
            "rate_bps": round(self.rate_bps),
            "queue_bytes": int(max(30000, self.bdp * self.real(0.8, 2.5))),
            "seed": self.whole(1, 9999),
        }
        transfer = Transfer(link=path | (link or {}), sender={"cc": self.cc} | (sender or {}), **settings)
        if window is None:
            return transfer
        receiver = {"rcvbuf": receive_buffer(window)} | transfer.receiver
        sysctl = (*transfer.receiver_sysctl, NO_AUTOTUNING)
        return replace(transfer, receiver=receiver, receiver_sysctl=sysctl)
