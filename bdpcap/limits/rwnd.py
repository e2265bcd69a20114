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
    from bdpcap.limits.evidence import Evidence

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim rounds in which the window was used up for at least half of the time."""
    zero = evidence.share("zero_window_ns")
    tight = evidence.tightness
    # In slow start the window may be full for a moment each round while congestion control still grows.
    growing = (evidence.growth >= 1.55) & (evidence.growth <= 2.4) & (tight < 0.5)
    strength = np.where(growing, 0.0, grade(tight, 0.1, 0.9))
    # From afar, acknowledgments merged on their way shorten the time at the edge; who comes there in every round is held.
    edge = ~evidence.direct & (evidence.usable_min_bytes < evidence.mss) & ~evidence.doubling
    always = evidence.around(edge.astype(np.float64), 4) / evidence.around(np.ones(evidence.size), 4)
    strength = np.maximum(strength, grade(always, 0.8, 1.0) * grade(tight, 0.1, 0.3) * edge)
    strength = np.maximum(strength, grade(zero, 0.1, 0.5))
    window = evidence.window_max_bytes
    most = evidence.most_so_far(window)
    next_most = np.fmax.reduce([evidence.shifted(window, by, np.nan) for by in (1, 2, 3)])
    # Half a percent: less is the rounding of a window to its scale.
    ramp = (window >= 0.98 * most) & (next_most > 1.005 * window)
    # Falling, not merely smaller at the start of a round in which it grew.
    before = evidence.shifted(window, -1, np.nan)
    closing = (evidence.window_min_bytes < 0.75 * window) & (evidence.window_min_bytes < 0.75 * before)
    return Claim.build(
        evidence,
        strength,
        [
            ("zero window", zero > 0.1),
            ("slow reader", closing | (window < 0.75 * most)),
            ("ramp", ramp),
            ("buffer", np.ones(evidence.size, dtype=bool)),
        ],
    )
