"""The send buffer: was the writer asleep until a part of it was free?

The kernel wakes a blocked writer only when a third of the buffer is free (``sk_stream_write_space``), so most
acknowledgments are not answered at once, and the most in flight is the same round after round.
"""

from __future__ import annotations

import numpy as np

from bdpcap.limits.claim import Claim, grade
from bdpcap.limits.evidence import Bools, Evidence
from bdpcap.limits.rwnd import tightness

__all__ = ["claim", "flat"]


def flat(evidence: Evidence) -> Bools:
    """Is the most in flight the same, within a segment or a twentieth, in most rounds around?"""
    top = evidence.flight_max_bytes
    slack = np.maximum(evidence.mss, 0.05 * top)
    alike = np.zeros(evidence.size)
    known = np.zeros(evidence.size)
    for by in (-4, -3, -2, -1, 1, 2, 3, 4):
        other = evidence.shifted(top, by, np.nan)
        known += np.isfinite(other)
        alike += np.abs(other - top) <= slack
    return alike >= np.maximum(0.6 * known, 2)


def claim(evidence: Evidence) -> Claim:
    """Claim rounds on a plateau whose acknowledgments are mostly left unanswered."""
    loud = evidence.near(evidence.lossy, 3, 1)
    lazy = grade(evidence.response, 0.75, 0.35)
    free = tightness(evidence) < 0.3
    strength = lazy * np.where(flat(evidence), 1.0, 0.6) * free * ~loud
    return Claim.build(evidence, strength, [])
