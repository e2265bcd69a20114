"""The application: did it offer more data?

Idle time, bursts that no acknowledgment called for, and rounds that send much less than was in flight before, without
a loss, have no other cause. One short segment in a round proves nothing: a full send buffer ends in one, too.
"""

from __future__ import annotations

import numpy as np

from bdpcap.limits.claim import Claim, grade
from bdpcap.limits.evidence import Evidence

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim idle rounds and rounds whose data came when the application pleased."""
    sent = np.maximum(evidence.sent_bytes, 1.0)
    unprompted = evidence.unprompted_bytes / sent
    empty = evidence.share("empty_ns")
    open_window = evidence.share("zero_window_ns") < 0.1
    quiet = ~evidence.near(evidence.lossy, 2, 0)
    small = evidence.small_segments / np.maximum(evidence.sent_segments, 1.0)
    drained = evidence.share("after_small_ns")
    strength = np.maximum.reduce(
        [
            grade(empty, 0.1, 0.5),
            grade(unprompted, 0.2, 0.8) * quiet,
            grade(small, 0.3, 0.8) * (drained > 0.3) * quiet,
            grade(drained, 0.4, 0.8) * quiet,
        ]
    )
    strength = np.where(evidence.idle, 1.0, strength) * open_window
    few = evidence.sent_bytes < evidence.mss * np.maximum(evidence.sent_segments, 1.0) * 0.7
    return Claim.build(
        evidence,
        strength,
        [
            ("idle", evidence.idle | (empty > 1 / 3)),
            ("small writes", few & (evidence.small_segments > 0)),
            ("idle", np.ones(evidence.size, dtype=bool)),
        ],
    )
