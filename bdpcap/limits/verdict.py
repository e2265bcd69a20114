"""Where the rules are weighed: one limit, with detail, confidence and evidence, for every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits import app, cwnd, link, rwnd, sndbuf
from bdpcap.limits.claim import Claim

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats, Ints

__all__ = ["LIMITS", "Verdict", "weigh"]

LIMITS: Final = ("rwnd", "cwnd", "sndbuf", "link", "app", "unknown")
"""What can limit a round."""


@dataclass(frozen=True)
class Verdict:
    """One entry per round."""

    limit: NDArray[np.object_]
    detail: NDArray[np.object_]
    confidence: Floats
    reason: NDArray[np.object_]
    """Why a round is unknown, or judged by the rounds around it; None elsewhere."""


def weigh(evidence: Evidence) -> Verdict:
    """Take the first limit, in order of precedence, whose rule holds.

    A sender with nothing to send is not held by the link; the link outranks the window that happens to be full;
    a full window outranks the buffer behind it; congestion control is what is left.
    """
    window = rwnd.claim(evidence)
    busy = link.claim(evidence)
    # A window that a slow reader keeps small binds, however long its data wait: that wait is no queue.
    shut = np.isin(window.detail, ("slow reader", "zero window")) & (window.strength >= 0.5)
    claims = {
        "app": app.claim(evidence),
        "link": Claim(np.where(shut, 0.0, busy.strength), busy.detail),
        "rwnd": window,
        "sndbuf": sndbuf.claim(evidence),
        "cwnd": cwnd.claim(evidence),
    }
    limit = np.full(evidence.size, "unknown", dtype=object)
    detail = np.full(evidence.size, None, dtype=object)
    confidence = np.zeros(evidence.size)
    open_ = np.ones(evidence.size, dtype=bool)
    for name, claim in claims.items():
        takes = open_ & (claim.strength >= 0.5)
        limit[takes] = name
        detail[takes] = claim.detail[takes]
        confidence[takes] = claim.strength[takes] * _doubt(claims, name)[takes]
        open_ &= ~takes
    reason = np.full(evidence.size, None, dtype=object)
    hidden = np.zeros(evidence.size, dtype=bool)
    for text, holds in _blind(evidence):
        hidden |= holds
        limit[holds], detail[holds], confidence[holds], reason[holds] = "unknown", None, 0.0, text
    bridged, model = _between_alike(evidence, limit, hidden)
    limit[bridged], detail[bridged] = limit[model], detail[model]
    confidence[bridged] = 0.6 * confidence[model]
    reason[bridged] = "taken from the rounds before and after: the capture lost too much here"
    return Verdict(limit, detail, np.round(confidence, 2), reason)


def _doubt(claims: dict[str, Claim], name: str) -> Floats:
    """Less than 1 where a limit of higher precedence nearly took the round."""
    doubt = np.ones_like(claims[name].strength)
    for other, claim in claims.items():
        if other == name:
            break
        doubt *= 1 - 0.6 * claim.strength
    return doubt


def _blind(evidence: Evidence) -> list[tuple[str, Bools]]:
    """Rounds about which the capture cannot tell, and why."""
    missed = evidence.around(evidence.missed_bytes, 1) > 0.5 * np.maximum(
        evidence.around(evidence.acked_bytes, 1), 1.0
    )
    # The sender sent at once what came to be captured a moment later only: it was not idle for that moment.
    moment = (evidence.acked_bytes == 0) & (evidence.end_ns - evidence.start_ns < evidence.floor)
    missed |= moment & evidence.shifted(missed, -1, missing=False)
    silent = evidence.flow_acks == 0
    return [
        ("the capture lost most of the round's data, or holds one direction only", missed),
        ("the capture holds no acknowledgments of this flow", silent),
    ]


def _between_alike(evidence: Evidence, limit: NDArray[np.object_], hidden: Bools) -> tuple[Ints, Ints]:
    """Hidden rounds between two seen ones that the same limit held, and the one before each.

    What limits a sender seldom changes and changes back within 20 RTTs: in the labelled transfers 97 % of what lay
    between two moments so far apart, and alike, was like both.
    """
    at = np.arange(evidence.size)
    before = np.maximum.accumulate(np.where(hidden, 0, at))
    after = np.minimum.accumulate(np.where(hidden, evidence.size - 1, at)[::-1])[::-1]
    near = evidence.start_ns[after] - evidence.end_ns[before] <= 20 * evidence.rtt[before]
    alike = (evidence.flow[before] == evidence.flow[after]) & (limit[before] == limit[after])
    bridged = np.flatnonzero(hidden & near & alike & (limit[before] != "unknown"))
    return bridged, before[bridged]
