"""Decisions on a flow: the cause of its main limit, and each finding's weight (root cause, contributing, or note)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.diagnosis.findings import found
from bdpcap.diagnosis.kinds import ALL
from bdpcap.explain.findings import Weight
from bdpcap.explain.once import once

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause
    from bdpcap.explain.findings import Finding

__all__ = ["cause", "remedied", "root_cause", "weights"]


@once
def cause(flow: Flow) -> tuple[Cause, pd.DataFrame]:
    """Return the cause of a flow's main limit, and the flow's rounds under this limit."""
    limit = str(flow.summary["limit"])
    own = flow.rtts[flow.rtts["limit"] == limit]
    return ALL[limit].cause(flow, own), own


def weights(flow: Flow) -> list[tuple[Finding, Weight]]:
    """
    Return a flow's findings in order, each with its weight.

    The first finding is the root cause if the limit is decided, the finding has a remedy, and its code may be a root
    cause. Other findings with a remedy contribute, unless their code is a note's. The remaining findings are notes.
    """
    weighted = []
    for place, finding in enumerate(found(flow)):
        heaviest = finding.code.heaviest
        if not finding.remedy or heaviest is Weight.NOTE:
            weight = Weight.NOTE
        elif place == 0 and heaviest is Weight.ROOT_CAUSE and flow.summary["limit"] != "unknown":
            weight = Weight.ROOT_CAUSE
        else:
            weight = Weight.CONTRIBUTING
        weighted.append((finding, weight))
    return weighted


def root_cause(flow: Flow) -> Finding | None:
    """Return the finding that is the root cause, None if there is none."""
    return next((finding for finding, weight in weights(flow) if weight is Weight.ROOT_CAUSE), None)


def remedied(flow: Flow) -> Finding | None:
    """Return the finding with the remedy for the root cause, None without a root cause."""
    root = root_cause(flow)
    return root and (found(flow).of(root.code.in_detail) or root)
