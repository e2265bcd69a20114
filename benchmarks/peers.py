"""How often the rules that people go by today agree with the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import naive
import pandas as pd
from batch import workers
from labelled import VIEWS, read_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labelled import Transfer

__all__ = ["compare"]


class _Job(NamedTuple):
    transfer: Transfer
    view: str


def compare(transfers: Iterable[Transfer]) -> pd.DataFrame:
    """Return the agreement of every capture: group, view, and a column for each rule."""
    jobs = [_Job(transfer, view) for transfer in transfers for view in VIEWS]
    with workers() as pool:
        rows = pool.map(_graded, jobs, chunksize=4)
        return pd.DataFrame([row for row in rows if row])


def _graded(job: _Job) -> dict[str, str | float]:
    """Agreement of one capture; empty if no bin is graded."""
    right, whole = dict.fromkeys(naive.RULES, 0.0), 0.0
    for flow in job.transfer.flows:
        labels = read_labels(flow.labels)
        own = labels[labels["graded"]]
        if own.empty:
            continue
        seen = naive.read(job.transfer.capture(job.view), int(flow.receiver.rpartition(":")[2]))
        looks = naive.look(seen, labels).loc[own.index]
        length = (own["t1"] - own["t0"]).to_numpy(float)
        whole += length.sum()
        for rule in naive.RULES:
            right[rule] += length[naive.answer(looks, rule) == own["truth"].to_numpy()].sum()
    if not whole:
        return {}
    shares = {rule: amount / whole for rule, amount in right.items()}
    return {"group": job.transfer.group, "view": job.view, **shares}
