"""The link: was the bottleneck busy all the round?

A standing queue says so: every segment waited, and the waits join without a gap. The rate confirms it. A flow that
shares the link reaches only part of its rate, so the rate alone does not decide.
"""

from __future__ import annotations

import numpy as np

from bdpcap.limits.claim import Claim, grade
from bdpcap.limits.evidence import Evidence
from bdpcap.limits.rwnd import tightness

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim rounds with a queue nearly all the time, at the capacity or at a fair part of it."""
    busy = evidence.share("busy_ns")
    with np.errstate(divide="ignore", invalid="ignore"):
        packet_ns = evidence.mss / evidence.capacity * 1e9
        fullness = evidence.smooth_rate / evidence.capacity
    standing = evidence.queue_low_ns >= packet_ns
    tight = tightness(evidence)
    shared = (tight < 0.05) & (fullness >= 0.15)
    at_rate = (fullness >= 0.8) | shared
    strength = grade(busy, 0.86, 1.0) * (standing & at_rate)
    return Claim.build(evidence, strength, [])
