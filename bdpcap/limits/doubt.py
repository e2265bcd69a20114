"""What speaks against what a round's counts say: marked in its evidence, and taken off its confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bdpcap.read.quality import COARSE_NS, FINE_TICKS
from bdpcap.read.scale_source import INFERRED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bdpcap.limits.decision import Verdict
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["Doubt", "doubts", "lowered", "marked"]


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt, for every round."""

    holds: Bools
    words: str
    trust: Floats
    """What is left of the confidence, where it holds."""


def doubts(evidence: Evidence, verdict: Verdict, flows: Mapping[str, Any]) -> list[Doubt]:
    """Name what to doubt.

    Parameters
    ----------
    flows
        Columns of `bdpcap._core.Analysis.directions`, of the flows that the rounds belong to.
    """
    rounds = evidence.rounds
    flow = rounds.flow
    source = flows["window_scale_source"]
    by_window = verdict.is_limit("rwnd")
    # The window is looked at before these, and of an unknown one nothing can be said.
    instead = verdict.is_limit("sndbuf", "cwnd")
    lost = np.clip(rounds.missed_bytes / np.maximum(rounds.acked_bytes, 1.0), 0.0, 1.0)
    reached = flows["scale_reached"][flow] > 0
    flat = np.ones(rounds.size)
    tick_ns = flows["tick_ns"][flow]
    return [
        Doubt(
            (tick_ns >= COARSE_NS) & ~(rounds.rtt_ns >= FINE_TICKS * tick_ns) & (rounds.zero_window_ns == 0),
            "The clock of the capture is too coarse for this round-trip time.",
            np.where(rounds.rtt_ns >= tick_ns, 0.8, 0.5),
        ),
        Doubt(
            (rounds.missed_bytes > 0) & ~verdict.is_by("missed"),
            "The capture lost part of the round's data.",
            0.85 - 0.5 * lost,
        ),
        Doubt(rounds.backwards > 0, "Time ran backwards in the round.", 0.8 * flat),
        Doubt(
            by_window & (source == INFERRED)[flow],
            "The window scale is inferred.",
            np.where(reached, 0.95, 0.7),
        ),
        Doubt(instead & (source == UNKNOWN)[flow], "The window scale is unknown.", 0.75 * flat),
        Doubt(
            by_window & (flows["multipath"][flow] > 0),
            "Other subflows of a multipath connection share the window.",
            0.6 * flat,
        ),
    ]


def lowered(verdict: Verdict, found: Sequence[Doubt]) -> Verdict:
    """Take the doubts off the confidence."""
    left = np.ones(len(verdict.confidence))
    for doubt in found:
        left = np.where(doubt.holds, left * doubt.trust, left)
    return replace(verdict, confidence=np.round(verdict.confidence * left, 2))


def marked(sentences: list[str], found: Sequence[Doubt]) -> list[str]:
    """Add the doubts to the rounds' sentences."""
    words = list(sentences)
    for doubt in found:
        for at in np.flatnonzero(doubt.holds):
            words[at] += f" {doubt.words}"
    return words
