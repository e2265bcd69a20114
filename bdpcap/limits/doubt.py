"""Doubts about a round's counts, which its evidence mentions and which lower its confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.limits.decision import LIMITS
from bdpcap.read.flaws import COARSE_NS
from bdpcap.read.quality import FINE_TICKS
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

COARSE_TRUST: Final = 0.8
"""Factor on the confidence where an RTT is few ticks of a coarse clock: it may be a tick off. Bytes show rwnd."""
LOSSY_TRUST: Final = 0.8
"""Factor on the confidence of a round of which the capture lost a byte; `LOST_WEIGHT` lowers it by the share lost."""
LOST_WEIGHT: Final = 0.5
"""Part by which the confidence falls if the capture lost all of a round's data."""
BRIDGED_TRUST: Final = 0.5
"""Factor on the confidence of a round that takes the limit of its neighbours: the capture lacks most of its data."""
REVERSED_TRUST: Final = 0.8
"""Factor on the confidence where time ran backwards: order and durations of some packets are wrong."""
OUTRUN_ROUNDS: Final = 3
"""Rounds that acknowledge more than the window holds in less than an RTT, from which the RTT is too long.

Away from the sender, one or two rounds of some labelled transfers did, at the end of the capture.
"""
TOO_LONG_TRUST: Final = 0.5
"""Factor on the confidence where the RTT is too long: nearly all rules compare times with it."""
REACHED_TRUST: Final = 0.95
"""Factor on the confidence of rwnd where the flight reached the window at the inferred scale."""
INFERRED_TRUST: Final = 0.7
"""Factor on the confidence of rwnd at another inferred scale: a scale one larger doubles the window."""
EITHER_TRUST: Final = 0.8
"""Factor on the confidence of sndbuf or app where bursts come once a round trip: 0.6 in all."""
SHARED_TRUST: Final = 0.65
"""Counterpart of `EITHER_TRUST` away from the sender: 0.49 in all."""
UNKNOWN_SCALE_TRUST: Final = 0.75
"""Factor on the confidence of what ranks below rwnd, while the window's scale is unknown."""
UNSEEN_TRUST: Final = 0.5
"""Factor on the confidence of "cwnd-clocked" where the answered acknowledgments are unknown.

In ten labelled captures it was right in 8 % of the 0.3 s that it decided so; that is little time, so a half is a choice.
"""
SUBFLOW_TRUST: Final = 0.6
"""Factor on the confidence of rwnd where subflows share the window (RFC 8684 section 3.3.1)."""


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt the verdicts, and the rounds to which it applies."""

    holds: Bools
    words: str
    trust: Floats
    """Factor on the confidence where the doubt applies."""


def doubts(evidence: Evidence, verdict: Verdict, flows: Mapping[str, Any]) -> list[Doubt]:
    """Return all doubts about verdicts. What the sending kernel's account decides does not depend on the capture.

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
    either = (verdict.is_by("sndbuf-standing") & (verdict.alternatives == LIMITS.index("app"))) | (
        verdict.is_by("app-blocks") & (verdict.alternatives == LIMITS.index("sndbuf"))
    )
    lost_share = np.clip(rounds.unseen_bytes / np.maximum(rounds.reported_bytes, 1.0), 0.0, 1.0)
    reached = flows["scale_reached"][flow] > 0
    ones = np.ones(rounds.size)
    tick_ns = evidence.vantage.tick_ns
    found = [
        Doubt(
            (tick_ns >= COARSE_NS)
            & ~(evidence.queue.rtt_ns >= FINE_TICKS * tick_ns)
            & ~(by_window | verdict.is_by("coarse")),
            "The clock of the capture is coarse for this round-trip time.",
            COARSE_TRUST * ones,
        ),
        Doubt(
            (rounds.unseen_bytes > 0) & ~verdict.is_by("missed"),
            "The capture lost part of the round's data.",
            LOSSY_TRUST - LOST_WEIGHT * lost_share,
        ),
        Doubt(
            verdict.is_by("bridged"),
            "Nothing of the round itself shows it.",
            BRIDGED_TRUST * ones,
        ),
        Doubt(rounds.time_reversals > 0, "Time ran backwards in the round.", REVERSED_TRUST * ones),
        Doubt(
            (rounds.total(evidence.window.outrun.astype(float)) >= OUTRUN_ROUNDS)
            & (source != INFERRED)[flow],
            "More was acknowledged within the round-trip time than the window holds: that time is too long.",
            TOO_LONG_TRUST * ones,
        ),
        Doubt(
            by_window & (source == INFERRED)[flow],
            "The window scale is inferred.",
            np.where(reached, REACHED_TRUST, INFERRED_TRUST),
        ),
        Doubt(
            either,
            "A full send buffer and a program that writes once per round trip look alike; `ss -tmi` on the sender "
            "separates them.",
            np.where(evidence.vantage.at_sender, EITHER_TRUST, SHARED_TRUST),
        ),
        Doubt(
            below_window & (source == UNKNOWN)[flow],
            "The window scale is unknown.",
            UNKNOWN_SCALE_TRUST * ones,
        ),
        Doubt(
            verdict.is_by("cwnd-clocked") & evidence.ack_clock.unseen,
            "Without timestamps, it is unknown which acknowledgments the sender had when it sent.",
            UNSEEN_TRUST * ones,
        ),
        Doubt(
            by_window & (flows["multipath"][flow] > 0),
            "Other subflows of a multipath connection share the window.",
            SUBFLOW_TRUST * ones,
        ),
    ]
    return [replace(each, holds=each.holds & (verdict.account < 0)) for each in found]


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
