"""The send buffer: was the writer asleep until a part of it was free?

Linux wakes a blocked writer only when a third of the buffer is free (``sk_stream_write_space``): most acknowledgments
are left unanswered, then one of them starts a burst that refills the buffer, always from the same level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.app import regular
from bdpcap.limits.claim import Claim, grade

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools

__all__ = ["claim", "flat"]


def flat(evidence: Evidence) -> Bools:
    """Is the most in flight the same, within two segments or a tenth, in most rounds around?"""
    top = evidence.flight_max_bytes
    slack = np.maximum(2 * evidence.mss, 0.1 * top)
    alike = np.zeros(evidence.size)
    known = np.zeros(evidence.size)
    for by in (-4, -3, -2, -1, 1, 2, 3, 4):
        other = evidence.shifted(top, by, np.nan)
        known += np.isfinite(other)
        alike += np.abs(other - top) <= slack
    return alike >= np.maximum(0.5 * known, 1)


def claim(evidence: Evidence) -> Claim:
    """Claim rounds whose acknowledgments are mostly left unanswered, until one starts a burst from a middle level."""
    loud = evidence.near(evidence.lossy, 2, 0)
    # The round itself may show how long it slept: a congestion window as small may take turns.
    slept = evidence.asleep > 0.7
    lazy = np.fmin(grade(evidence.response, 0.88, 0.6), grade(evidence.asleep, 0.35, 0.55))
    # A long burst is refilled as it goes, from a higher level than the two thirds it began at; so is a long answer.
    began_low = np.nan_to_num(grade(evidence.burst_level, 0.72, 0.64)) * (evidence.turns == 0)
    level = grade(evidence.refill, 0.2, 0.35) * np.maximum(grade(evidence.refill_high, 0.8, 0.7), began_low)
    prompt = grade(evidence.promptness, 0.3, 0.8)
    # From afar a path that delays unevenly hides what started a burst; a timer's bursts end in short segments.
    unseen = np.where(evidence.direct, 0.0, 0.9 * grade(evidence.ends_short, 0.8, 0.4))
    woken = np.where(np.isnan(evidence.promptness), 0.9, np.maximum(prompt, unseen))
    woken = woken * (1 - regular(evidence))
    never_empty = evidence.around(evidence.fresh_starts, 4) <= 1
    # A buffer gives a plateau; where losses are about, what is no plateau is congestion control's.
    restless = evidence.near(evidence.lossy, 20, 0)
    steady = np.where(flat(evidence), 1.0, np.where(restless, 0.5, 0.8))
    strength = (
        lazy
        * level
        * woken
        * never_empty
        * steady
        * (evidence.tightness < 0.5)
        * ~loud
        * ~(evidence.opening & ~(evidence.direct & slept))
        * ~(evidence.subdued & (evidence.response > 0.3) & ~slept)
    )
    # Without echoes away from the sender only the plateau is left: flat, and no loss for long.
    plateau = (
        flat(evidence)
        & ~evidence.near(evidence.lossy, 30, 0)
        & (evidence.tightness < 0.1)
        & ~evidence.doubling
    )
    return Claim.build(evidence, np.where(evidence.blind, 0.6 * plateau, strength), [])
