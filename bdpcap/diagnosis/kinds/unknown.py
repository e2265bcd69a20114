"""Time that the evidence does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Cause, Limit, longest
from bdpcap.limits.decision import NO_RULE
from bdpcap.words import palette

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["LIMIT"]


def _undecided(_: Flow, own: pd.DataFrame) -> str:
    reason = NO_RULE.get(str(longest(own, "rule")), "")
    return f"{reason[:1].lower()}{reason[1:].rstrip('.')}"


LIMIT: Final = Limit(
    code="unknown",
    name="undecided",
    colour=palette.GREY,
    meaning="The evidence does not decide; each round says why.",
    usual=Cause(
        "The evidence does not decide what held the sender back",
        _undecided,
        places.sender,
        "Capture again there: both directions, from the handshake on.",
    ),
)
