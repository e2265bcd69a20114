"""Grade verdicts against labels: weighted by time within a transfer, transfers counting equally.

The answer of a bin is the limit that covers most of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from labelled import LIMITS

from bdpcap.limits import doubt
from bdpcap.limits.decide import decide
from bdpcap.limits.decision import IDLE, NO_RULE, STATES
from bdpcap.limits.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batch import Batch

    from bdpcap.limits.decision import Verdict
    from bdpcap.limits.rule import Rule

__all__ = [
    "CONFIDENT",
    "MEAN",
    "agreement",
    "answers",
    "by_capture",
    "by_lab",
    "by_rules_alone",
    "codes",
    "confusion",
    "details",
    "grade",
    "interval",
    "judge",
    "recall",
    "rows",
]

ANSWERS: Final = (*LIMITS, "unknown", "none")
CONFIDENT: Final = 0.9
MEAN: Final = "mean"
"""Of all labs, among the agreement of each."""
DRAWS: Final = 2000
"""Of the bootstrap."""


def judge(batch: Batch, rules: Sequence[Rule] = RULES) -> Verdict:
    """Return what bdpcap says of each row, doubts taken off."""
    verdict = decide(batch.evidence, rules)
    return doubt.lowered(verdict, doubt.doubts(batch.evidence, verdict, batch.flows))


def by_rules_alone(verdict: Verdict) -> Verdict:
    """Leave unanswered what no rule decided."""
    return replace(
        verdict,
        limits=np.where(verdict.is_by(*NO_RULE), STATES.index("unknown"), verdict.limits).astype(np.int8),
    )


def codes(words: np.ndarray, names: Sequence[str] = ANSWERS) -> np.ndarray:
    """Return the place of each word among the names. Labels call idle time `app`: there was nothing to send."""
    return pd.Index(names).get_indexer(np.where(words == IDLE, "app", words))


def answers(batch: Batch, limit: np.ndarray) -> np.ndarray:
    """Return the answer of every bin, as a place in `ANSWERS`, from that of every row."""
    bins, row, ns = (batch.met[name].to_numpy() for name in ("bin", "row", "ns"))
    held = np.bincount(bins * len(ANSWERS) + limit[row], ns, len(batch.bins) * len(ANSWERS))
    held = held.reshape(-1, len(ANSWERS))
    return np.where(held.any(axis=1), held.argmax(axis=1), ANSWERS.index("none"))


def grade(batch: Batch, verdict: Verdict) -> pd.DataFrame:
    """Lay rows over bins.

    Returns
    -------
    DataFrame
        A row a bin: those of `Batch.captures`, weight (its share of the capture's graded time), truth, detail, answer,
        answer_detail (the detail that covers most of the answer).
    """
    limit = codes(verdict.limit)
    answer = answers(batch, limit)
    kinds, names = pd.factorize(pd.Series(verdict.detail, dtype=object).fillna("none"))
    met = batch.met[limit[batch.met["row"]] == answer[batch.met["bin"]]]
    held = np.bincount(met["bin"] * len(names) + kinds[met["row"]], met["ns"], len(answer) * len(names))
    kind = np.asarray(names, dtype=object)[held.reshape(len(answer), -1).argmax(axis=1)]
    table = batch.bins[["weight", "detail"]].join(batch.captures, on=batch.bins["capture"].to_numpy())
    words = np.asarray(ANSWERS, dtype=object)
    return table.assign(
        capture=batch.bins["capture"],
        truth=words[batch.bins["truth"]],
        answer=words[answer],
        answer_detail=kind,
    )


def rows(batch: Batch, verdict: Verdict) -> pd.DataFrame:
    """Return where each row met a graded bin: those of `Batch.captures`, capture, flow, row, ns, confidence, right."""
    met = batch.met
    bins = batch.bins.iloc[met["bin"]]
    right = batch.bins["truth"].to_numpy()[met["bin"]] == codes(verdict.limit)[met["row"]]
    table = batch.captures.iloc[bins["capture"]].reset_index(drop=True)
    return table.assign(
        capture=bins["capture"].to_numpy(),
        flow=bins["flow"].to_numpy(),
        row=met["row"].to_numpy(),
        ns=met["ns"].to_numpy(float),
        weight=bins["weight"].to_numpy()
        * met["ns"].to_numpy()
        / np.bincount(met["bin"], met["ns"])[met["bin"]],
        confidence=verdict.confidence[met["row"]],
        right=right,
    )


def by_capture(graded: pd.DataFrame) -> pd.Series[float]:
    """Agreement of each capture, by its number."""
    right = graded["weight"].where(graded["answer"] == graded["truth"], 0.0)
    return right.groupby(graded["capture"]).sum()


def agreement(graded: pd.DataFrame) -> float:
    """Mean agreement of captures."""
    return float(by_capture(graded).mean())


def by_lab(batch: Batch, limit: np.ndarray) -> pd.Series[float]:
    """Return the agreement of every lab, captures weighing equally, and first their mean.

    Parameters
    ----------
    limit
        Of every row, as words or as places in `ANSWERS`.
    """
    places = codes(limit) if limit.dtype == object else limit
    right = batch.bins["weight"].to_numpy() * (answers(batch, places) == batch.bins["truth"].to_numpy())
    shares = np.bincount(batch.bins["capture"], right, len(batch.captures))
    labs = 100 * pd.Series(shares).groupby(batch.captures["lab"]).mean()
    return pd.concat([pd.Series({MEAN: labs.mean()}), labs])


def interval(values: np.ndarray, part: float = 0.95) -> tuple[float, float]:
    """Between what the mean lies, by a bootstrap over transfers."""
    drawn = np.random.default_rng(1).choice(values, (DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [(1 - part) / 2, (1 + part) / 2])
    return float(low), float(high)


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


def details(graded: pd.DataFrame) -> pd.Series[float]:
    """Of the time whose limit was answered rightly and whose detail is known: the share told rightly, by detail."""
    known = graded[graded["detail"].notna() & (graded["answer"] == graded["truth"])]
    told = known["weight"].where(known["detail"] == known["answer_detail"], 0.0)
    by = [known["truth"], known["detail"]]
    return told.groupby(by).sum() / known["weight"].groupby(by).sum()
