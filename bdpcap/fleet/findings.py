"""The findings of a capture as a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.diagnosis.decide import weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.capture import Flow

__all__ = ["table"]

_WHOLE: Final = ("stream", "rank", "first_frame", "last_frame")
_TEXT: Final = (
    "sender", "receiver", "code", "weight", "certainty", "sentence", "evidence", "cause", "remedy", "settings",
)  # fmt: skip


def table(ranked: Iterable[tuple[int, Flow]]) -> pd.DataFrame:
    """Return a table with a row for each finding of the flows; the column ``settings`` has its values as JSON.

    `ranked` has the flows with their ranks.
    """
    rows: list[dict[str, Any]] = []
    for rank, flow in ranked:
        for finding, weight in weights(flow):
            first, last = finding.frames or (None, None)
            rows.append(
                {
                    "stream": flow.stream,
                    "sender": flow.sender,
                    "receiver": flow.receiver,
                    "rank": rank,
                    "code": str(finding.code),
                    "weight": str(weight),
                    "certainty": str(finding.certainty),
                    "sentence": finding.sentence,
                    "evidence": finding.evidence,
                    "cause": finding.cause,
                    "remedy": finding.remedy,
                    "settings": json.dumps(finding.values, default=str),
                    "first_frame": first,
                    "last_frame": last,
                }
            )
    columns = ["stream", "sender", "receiver", "rank", *_TEXT[2:], "first_frame", "last_frame"]
    found = pd.DataFrame(rows, columns=columns)
    return found.astype(dict.fromkeys(_WHOLE, "Int64") | dict.fromkeys(_TEXT, "str"))
