"""The link: was the bottleneck busy all the round?

A standing queue says so: every segment waited, and the waits join without a gap. The rate must agree: at the
capacity, or, where others share the link, at a fair part of it behind a queue that this flow's window does not explain.
"""

from __future__ import annotations

import numpy as np

from bdpcap.limits.claim import Claim, grade
from bdpcap.limits.evidence import Evidence

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim rounds with a queue nearly all the time, at the capacity or at a fair part of it."""
    busy = evidence.share("busy_ns")
    full = evidence.fullness
    tight = evidence.tightness > 0.3
    queue = evidence.queue_packets
    # A flow alone on the link, whatever window it fills: at the rate of the link, with a few packets always waiting.
    alone = grade(full, 0.9, 0.98) * grade(busy, 0.75, 0.95) * (queue >= 1.5)
    # A flow that shares: a deep queue that never drains, though no window of its own keeps it there.
    deep = grade(busy, 0.88, 0.99) * grade(queue, 2.0, 4.0) * (full >= 0.1) * ~tight
    # No echo, no RTT at this tap: arrivals at the rate of the link are all there is.
    blind = ~evidence.direct & ~evidence.stamped
    arrivals = np.where(blind, grade(full, 0.9, 1.0), 0.0)
    return Claim.build(evidence, np.maximum.reduce([alone, deep, arrivals]), [])
