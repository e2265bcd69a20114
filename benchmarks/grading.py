"""Grade answers against labels: weighted by time within a transfer, transfers counting equally."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from labelled import LIMITS

import bdpcap

if TYPE_CHECKING:
    from labelled import Transfer

__all__ = ["agreement", "by_transfer", "confident", "confusion", "details", "grade", "recall", "verdicts"]


def verdicts(transfer: Transfer, view: str) -> pd.DataFrame:
    """What bdpcap says of the transfer's own flow: start_ns, end_ns, limit, detail, confidence."""
    rows = bdpcap.analyze(transfer.capture(view)).rtts
    sender, receiver = transfer.hosts
    own = rows["sender"].str.startswith(sender) & (rows["receiver"] == receiver)
    return rows.loc[own, ["start_ns", "end_ns", "limit", "detail", "confidence"]].sort_values("start_ns")


def most(words: np.ndarray, weights: np.ndarray) -> str | None:
    """Return the word with the most weight."""
    if not len(words):
        return None
    held = pd.Series(weights).groupby(pd.Series(words)).sum()
    return str(held.idxmax()) if len(held) else None


def overlaps(a: pd.DataFrame, b: pd.DataFrame) -> list[tuple[slice, np.ndarray]]:
    """Of every interval (first two columns) in `a`: which of `b` it meets, and for how long; both sorted."""
    starts, ends = b.iloc[:, 0].to_numpy(np.int64), b.iloc[:, 1].to_numpy(np.int64)
    result = []
    for begin, end in a.iloc[:, :2].to_numpy(np.int64):
        met = slice(int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(starts, end, "left")))
        result.append((met, np.minimum(ends[met], end) - np.maximum(starts[met], begin)))
    return result


def grade(transfer: Transfer, rows: pd.DataFrame) -> pd.DataFrame:
    """Lay rows over decisive bins.

    Returns
    -------
    DataFrame
        A row a bin: transfer, weight (its share of the transfer's decisive time), truth, detail, answer (the limit that
        covers most of it, or "none"), answer_detail (the detail that covers most of that).
    """
    truth = transfer.truth()
    bins = truth[truth["decisive"]]
    limits, kinds = rows["limit"].to_numpy(object), rows["detail"].to_numpy(object)
    answers = []
    for met, durations in overlaps(bins, rows):
        answer = most(limits[met], durations) or "none"
        same = limits[met] == answer
        answers.append((answer, most(kinds[met][same], durations[same])))
    duration = bins["t1"] - bins["t0"]
    graded = pd.DataFrame(answers, columns=["answer", "answer_detail"], index=bins.index)
    graded = graded.assign(transfer=str(transfer.folder), weight=duration / duration.sum())
    return graded.join(bins[["truth", "detail"]])


def confident(transfer: Transfer, rows: pd.DataFrame, least: float) -> pd.DataFrame:
    """Say which rows with at least that confidence are right.

    Returns
    -------
    DataFrame
        A row for each of them that lies mostly in decisive bins: weight (one over their number), right.
    """
    truth = transfer.truth()
    sure = rows[rows["confidence"] >= least]
    names = truth["truth"].where(truth["decisive"], "undecided").to_numpy(object)
    wanted = pd.Series(
        [most(names[met], held) for met, held in overlaps(sure, truth)], index=sure.index, dtype="str"
    )
    kept = wanted.isin(LIMITS)
    right = (wanted == sure["limit"])[kept]
    return pd.DataFrame({"weight": 1 / max(1, len(right)), "right": right})


def agreement(graded: pd.DataFrame) -> float:
    """Mean agreement of transfers."""
    return float(by_transfer(graded).mean())


def by_transfer(graded: pd.DataFrame) -> pd.Series[float]:
    """Agreement of each transfer."""
    right = graded["weight"].where(graded["answer"] == graded["truth"], 0.0)
    return right.groupby(graded["transfer"]).sum()


def confusion(graded: pd.DataFrame) -> pd.DataFrame:
    """Transfers' worth of time by label (rows) and answer (columns)."""
    table = graded.pivot_table(
        values="weight", index="truth", columns="answer", aggfunc="sum", fill_value=0.0, observed=True
    )
    others = [answer for answer in ("unknown", "none") if answer in table.columns]
    return table.reindex(index=LIMITS, columns=[*LIMITS, *others], fill_value=0.0)


def recall(graded: pd.DataFrame) -> pd.Series[float]:
    """Of the time under each label, the share that was answered so."""
    table = confusion(graded)
    right = pd.Series({limit: table.loc[limit, limit] for limit in LIMITS})
    return right / table.sum(axis=1)


def details(graded: pd.DataFrame) -> pd.DataFrame:
    """Of the time whose limit was answered rightly and whose detail is known: share by detail and answer."""
    known = graded[graded["detail"].notna() & (graded["answer"] == graded["truth"])]
    table = known.assign(answer_detail=known["answer_detail"].fillna("none")).pivot_table(
        values="weight", index=["truth", "detail"], columns="answer_detail", aggfunc="sum", fill_value=0.0
    )
    return table.div(table.sum(axis=1), axis=0)
