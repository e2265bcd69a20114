"""The receiver's window: was there room in it to send more?

The stall clock (docs/how-limits-are-inferred.md): time with less than a segment, or less than a tenth of the
window, left to send. Linux counts itself limited as soon as the next segmentation-offload chunk does not fit
(``tcp_tso_should_defer``), which the tenth stands for. Wireshark's Window Full, an exact equality, fires on
few of these packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.claim import Claim, grade

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence, Floats

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim rounds in which the window was used up for at least half of the time."""
    zero = evidence.share("zero_window_ns")
    tight = evidence.tightness
    # In slow start the window may be full for a moment each round while congestion control still grows.
    growing = (evidence.growth >= 1.55) & (evidence.growth <= 2.4) & (tight < 0.5)
    strength = np.where(growing, 0.0, grade(tight, 0.1, 0.9))
    strength = np.maximum(strength, grade(zero, 0.1, 0.5))
    largest = evidence.percentile(evidence.window_max_bytes, evidence.duration, 1.0)
    below = evidence.window_max_bytes < 0.75 * largest
    later = evidence.shifted(evidence.window_max_bytes, 2, np.nan)
    ramp = later > 1.02 * evidence.window_max_bytes
    before_largest = evidence.window_max_bytes >= 0.98 * _running_max(evidence, evidence.window_max_bytes)
    closing = evidence.window_min_bytes < 0.75 * evidence.window_max_bytes
    return Claim.build(
        evidence,
        strength,
        [
            ("zero window", zero > 0.1),
            ("ramp", ramp & before_largest & ~closing),
            ("slow reader", closing | (below & ~before_largest)),
            ("buffer", np.ones(evidence.size, dtype=bool)),
        ],
    )


def _running_max(evidence: Evidence, values: Floats) -> Floats:
    """Largest value so far in each flow."""
    result = np.empty(evidence.size)
    ends = np.append(evidence.starts, evidence.size)[1:]
    for start, end in zip(evidence.starts, ends, strict=True):
        result[start:end] = np.maximum.accumulate(np.nan_to_num(values[start:end]))
    return result
