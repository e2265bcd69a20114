"""What changes on a slower host: captures at the sender with its answers a little later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grading
import pandas as pd
from batch import join, read_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from labelled import Transfer

__all__ = ["changes"]


def changes(transfers: Sequence[Transfer], delays_ms: Iterable[float]) -> pd.DataFrame:
    """Return by how many points agreement (the mean of transfers) and the recall of each limit change, a row a delay."""
    at_once = _measured(transfers, 0.0)
    return pd.DataFrame({f"{delay:g} ms": _measured(transfers, delay) - at_once for delay in delays_ms}).T


def _measured(transfers: Sequence[Transfer], delay_ms: float) -> pd.Series[float]:
    batch = join(read_all(transfers, ["sender"], round(1e6 * delay_ms)))
    graded = grading.grade(batch, grading.judge(batch))
    recall = grading.recall(graded)
    return 100 * pd.concat([pd.Series({"agreement": grading.agreement(graded)}), recall])
