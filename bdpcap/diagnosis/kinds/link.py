"""The link: the bottleneck of the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Cause, Limit
from bdpcap.explain.capacity import delivered_bps
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["LIMIT"]


def _queue(flow: Flow, own: pd.DataFrame) -> str:
    least, usual = flow.summary["rtt_min_ns"], own["rtt_ns"].median()
    reasons = (
        [f"it carried this flow at {units.rate(delivered_bps(own))}"] if own["acked_bytes"].any() else []
    )
    if pd.notna(least) and pd.notna(usual) and usual > least:
        reasons.append(f"packets waited {units.duration(usual - least)} in its queue")
    return ", and ".join(reasons)


_FULL: Final = Cause(
    "The link was full",
    _queue,
    places.path,
    "Nothing to tune at the ends: more throughput takes a faster link.",
)

LIMIT: Final = Limit(
    code="link",
    name="link",
    colour=palette.GREEN,
    meaning="The bottleneck was busy all the time; a larger window would only lengthen its queue.",
    usual=_FULL,
    causes={
        "own queue": _FULL,
        "others' queue": Cause(
            "Other traffic filled the link", _queue, places.path, "Find who shares the bottleneck."
        ),
    },
)
