"""Time that the evidence does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Cause, Limit, longest
from bdpcap.diagnosis.outlook import nothing
from bdpcap.explain.findings import program
from bdpcap.limits.decision import NO_RULE
from bdpcap.words import palette

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["LIMIT"]


def _undecided(_: Flow, own: pd.DataFrame) -> str:
    reason = NO_RULE.get(str(longest(own, "rule")), "")
    shut = own["window_min_bytes"].eq(0).any()
    also = ". Its receiver's window was shut for a time: the receiving program did not read" if shut else ""
    return f"{reason[:1].lower()}{reason[1:].rstrip('.')}{also}"


def _undecided_by(where: Callable[[Flow], str], action: str) -> Cause:
    return Cause("The evidence does not decide what held the sender back", _undecided, where, action, nothing)


_PARTIAL: Final = _undecided_by(
    places.either,
    "Capture again there, both directions and without a filter on payload: data and acknowledgments.",
)

LIMIT: Final = Limit(
    code="unknown",
    name="undecided",
    colour=palette.GREY,
    meaning="The evidence does not decide; each round says why.",
    usual=_undecided_by(places.sender, "Capture again there, from the handshake on: that shows most."),
    by_rule={
        "missed": _PARTIAL,
        "silent": _PARTIAL,
        "coarse": _undecided_by(
            places.either,
            "Capture again there with time stamps in microseconds: this clock is coarser than a round trip.",
        ),
    },
    findings=lambda flow, _: program.own_window(flow),
)
