"""Doubts about a round's counts, which its evidence mentions and which lower its confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.limits.decision import LIMITS
from bdpcap.read.quality import COARSE_NS, FINE_TICKS
from bdpcap.read.scale_source import INFERRED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bdpcap.limits.decision import Verdict
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Doubt", "doubts", "lowered", "marked"]


MOST_BESIDE_ANOTHER: Final = 0.75
"""Highest confidence of a verdict with an alternative.

On programs that no rule was tuned on, such verdicts had a mean confidence of 0.93 and were right in 0.73 of their time.
"""


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt the verdicts, and the rounds to which it applies."""

    holds: Bools
    words: str
    trust: Floats
    """Factor on the confidence where the doubt applies."""


def doubts(evidence: Evidence, verdict: Verdict, flows: Mapping[str, Any]) -> list[Doubt]:
    """Return all doubts about verdicts.

    Parameters
    ----------
    flows
        Columns of `bdpcap._core.Analysis.directions` for the flows to which the rounds belong.
    """
    rounds = evidence.rounds
    flow = rounds.flow
    source = flows["window_scale_source"]
    by_window = verdict.is_limit("rwnd")
    # These limits rank below the receiver's window, which cannot be excluded while its scale is unknown.
    below_window = verdict.is_limit("sndbuf", "cwnd")
    perhaps_program = verdict.is_by("sndbuf-standing") & (verdict.alternatives == LIMITS.index("app"))
    lost_share = np.clip(rounds.unseen_bytes / np.maximum(rounds.acked_bytes, 1.0), 0.0, 1.0)
    reached = flows["scale_reached"][flow] > 0
    ones = np.ones(rounds.size)
    tick_ns = flows["tick_ns"][flow]
    return [
        Doubt(
            (tick_ns >= COARSE_NS) & ~(rounds.rtt_ns >= FINE_TICKS * tick_ns) & (rounds.zero_window_ns == 0),
            "The clock of the capture is too coarse for this round-trip time.",
            np.where(rounds.rtt_ns >= tick_ns, 0.8, 0.5),
        ),
        Doubt(
            (rounds.unseen_bytes > 0) & ~verdict.is_by("missed"),
            "The capture lost part of the round's data.",
            0.85 - 0.5 * lost_share,
        ),
        Doubt(rounds.time_reversals > 0, "Time ran backwards in the round.", 0.8 * ones),
        Doubt(
            by_window & (source == INFERRED)[flow],
            "The window scale is inferred.",
            np.where(reached, 0.95, 0.7),
        ),
        Doubt(
            perhaps_program & ~evidence.vantage.at_sender,
            "Away from the sender, a program that writes once per round trip looks the same.",
            0.65 * ones,
        ),
        Doubt(below_window & (source == UNKNOWN)[flow], "The window scale is unknown.", 0.75 * ones),
        Doubt(
            by_window & (flows["multipath"][flow] > 0),
            "Other subflows of a multipath connection share the window.",
            0.6 * ones,
        ),
    ]


def lowered(verdict: Verdict, found: Sequence[Doubt]) -> Verdict:
    """Return the verdict with its confidence lowered by an alternative and by the doubts."""
    open_ = verdict.alternatives >= 0
    measured = np.where(open_, np.minimum(verdict.confidence, MOST_BESIDE_ANOTHER), verdict.confidence)
    left = np.ones(len(verdict.confidence))
    for doubt in found:
        left = np.where(doubt.holds, left * doubt.trust, left)
    return replace(verdict, confidence=np.round(measured * left, 2))


def marked(sentences: list[str], found: Sequence[Doubt]) -> list[str]:
    """Return the sentences of the rounds with the doubts appended."""
    words = list(sentences)
    for doubt in found:
        for at in np.flatnonzero(doubt.holds):
            words[at] += f" {doubt.words}"
    return words
