"""One number for how well all labs agree with the rules: their mean agreement, and each lab's, in per cent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from grading import answers, codes

if TYPE_CHECKING:
    from batch import Batch

__all__ = ["MEAN", "by_lab"]

MEAN = "mean"


def by_lab(batch: Batch, limit: np.ndarray) -> pd.Series[float]:
    """Return the agreement of every lab, captures weighing equally, and first their mean.

    Parameters
    ----------
    limit
        Of every row, as words or as places in `grading.ANSWERS`.
    """
    places = codes(limit) if limit.dtype == object else limit
    right = batch.bins["weight"].to_numpy() * (answers(batch, places) == batch.bins["truth"].to_numpy())
    shares = np.bincount(batch.bins["capture"], right, len(batch.captures))
    labs = 100 * pd.Series(shares).groupby(batch.captures["lab"]).mean()
    return pd.concat([pd.Series({MEAN: labs.mean()}), labs])
