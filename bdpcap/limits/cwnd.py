"""Congestion control: what is left when data waits and neither window, nor buffer, nor link holds it.

Its own signs: doubling from round to round, a loss being repaired, every acknowledgment answered at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.claim import Claim, grade
from bdpcap.limits.sndbuf import flat

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim rounds by their own signs; weakly, every round in which data moved."""
    lossy = evidence.near(evidence.lossy, 1, 0)
    after_loss = evidence.near(evidence.lossy, 8, 0)
    eager = np.nan_to_num(grade(evidence.response, 0.3, 0.8), nan=0.2)
    moved = (evidence.sent_bytes + evidence.resent_bytes + evidence.acked_bytes) > 0
    strength = np.fmax.reduce([0.95 * lossy, 0.9 * evidence.doubling, 0.8 * after_loss, 0.5 + 0.4 * eager])
    recovery = (evidence.resent_bytes > 0) | evidence.blackout
    # A steady stream at the flow's own highest rate, with no queue to make it steady.
    paced = (evidence.fullness > 0.85) & (evidence.queue_packets < 3) & ~after_loss & flat(evidence)
    # The first flights of a connection, and whatever doubles after them.
    first = (evidence.flight_max_bytes <= 10 * evidence.mss) & ~evidence.lossy_so_far
    slow_start = (evidence.doubling | first) & ~lossy
    return Claim.build(
        evidence,
        np.where(evidence.blackout, 0.8, strength * moved),
        [
            ("recovery", recovery),
            ("slow start", slow_start),
            ("pacing", paced),
            ("avoidance", np.ones(evidence.size, dtype=bool)),
        ],
    )
