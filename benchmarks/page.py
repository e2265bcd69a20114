"""The page docs/accuracy.md: how often verdicts agree with labels."""

from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grading
from calibration import reliability, sure
from labelled import LIMITS, VIEWS, kernels, seeds
from markdown import percent, table

import bdpcap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd
    from batch import Batch
    from labelled import Transfer

    from bdpcap.limits.decision import Verdict

__all__ = ["calibrations", "page"]

MANY: Final = 10
"""Transfers that must hold a limit, so that its recall stands without brackets."""
WORST: Final = 25
"""Captures shown."""

HEAD: Final = """\
# Accuracy

Verdicts against what the sending kernel and the bottleneck said of themselves; how transfers are made and labelled is
in [lab/README.md](../lab/README.md). Graded are decisive bins, of about a round-trip time each. In these the link
transmits for 97 % of the time, or the kernel's samples have one state in 70 %. Where labels tell the flow's own part
of the link's work, bins on which both may honestly differ are left out (see benchmarks/labelled.py). The answer of a
bin is the limit that covers most of it; `unknown` is wrong. Bins count by time within a transfer, transfers equally.
Intervals: 95 %, bootstrap over transfers.
"""


def page(
    sets: Mapping[str, Sequence[Transfer]], batch: Batch, verdict: Verdict, peers: pd.DataFrame
) -> Iterator[str]:
    """The whole of it; `peers` is of `peers.compare`."""
    graded, met = grading.grade(batch, verdict), grading.rows(batch, verdict)
    alone = grading.grade(batch, grading.by_rules_alone(verdict))
    yield HEAD
    yield f"bdpcap {bdpcap.__version__}, rules of {commit()}, {dt.datetime.now(tz=dt.UTC).date()}."
    yield ""
    yield from made(sets, batch.captures.groupby("group")["lab"].first())
    yield "## Agreement, per cent"
    yield ""
    yield from agreements(graded, alone, peers)
    yield f"## Recall, per cent: at the sender / between / at the receiver (number, where under {MANY} transfers hold it)"
    yield ""
    yield from recalls(graded)
    yield f"## Rows with a confidence of {grading.CONFIDENT} and more: per cent right (and of all time)"
    yield ""
    yield from by_set_and_view(met, lambda own: "{} ({})".format(*map(percent, sure(own))))
    yield "## Calibration, by lab"
    yield ""
    yield from calibrations(met)
    yield "## Details, per cent found where the limit was"
    yield ""
    yield from detail_table(graded)
    yield f"## Where agreement is least: {WORST} captures"
    yield ""
    yield from worst(graded)


def made(sets: Mapping[str, Sequence[Transfer]], labs: pd.Series[str]) -> Iterator[str]:
    """Where the sets are from."""
    rows = []
    for group, own in sets.items():
        rows.append([group, labs[group], kernels(own), seeds(own), str(len(own))])
    yield from table(["set", "lab", "Linux", "seeds", "transfers"], rows, words=4)


def by_set_and_view(frame: pd.DataFrame, cell: Callable[[pd.DataFrame], str]) -> Iterator[str]:
    """A row a set, a column a vantage."""
    rows = [
        [str(group), *(cell(own[own["view"] == view]) for view in VIEWS)]
        for group, own in frame.groupby("group", sort=False)
    ]
    yield from table(["set", *VIEWS.values()], rows)


def agreements(graded: pd.DataFrame, alone: pd.DataFrame, peers: pd.DataFrame) -> Iterator[str]:
    """Agreement with its interval; without what no rule decided; and of the rules of today."""

    def cell(own: pd.DataFrame) -> str:
        shares = grading.by_capture(own).to_numpy()
        low, high = grading.interval(shares)
        return f"{percent(shares.mean())} ({percent(low)} to {percent(high)})"

    yield from by_set_and_view(graded, cell)
    yield "With rounds that no rule decided (`prevailing`, `bridged`, `alike`) taken as `unknown`:"
    yield ""
    yield from by_set_and_view(alone, lambda own: percent(grading.agreement(own)))
    for rule in peers.columns.drop(["group", "view"]):
        yield f"The rule of today, {rule}, completed (benchmarks/naive.py):"
        yield ""
        yield from by_set_and_view(peers, lambda own, rule=rule: percent(own[rule].mean()))


def recalls(graded: pd.DataFrame) -> Iterator[str]:
    """Recall of each limit."""
    rows = []
    for group, own in graded.groupby("group", sort=False):
        by_view = [grading.recall(own[own["view"] == view]) for view in VIEWS]
        holding = own.groupby("truth")["transfer"].nunique().reindex(LIMITS, fill_value=0)
        cells = [" / ".join(percent(shares[limit]) for shares in by_view) for limit in LIMITS]
        rows.append(
            [
                str(group),
                *(
                    cell
                    if holding[limit] >= MANY
                    else f"({cell}; {holding[limit]})"
                    if holding[limit]
                    else ""
                    for limit, cell in zip(LIMITS, cells, strict=True)
                ),
            ]
        )
    yield from table(["set", *LIMITS], rows)


def calibrations(met: pd.DataFrame) -> Iterator[str]:
    """What confidences are worth: rows by lab and bin."""
    rows = []
    for lab, own in [("all", met), *met.groupby("lab")]:
        for name, line in reliability(own).iterrows():
            rows.append(
                [lab, str(name), percent(line["confidence"]), percent(line["right"]), f"{line['flows']:.0f}"]
            )
    yield from table(["lab", "confidence", "mean, per cent", "right, per cent", "flows"], rows, words=2)


def detail_table(graded: pd.DataFrame) -> Iterator[str]:
    """How often a limit's kind is told, in sets whose labels name it."""
    shares = {view: grading.details(graded[graded["view"] == view]) for view in VIEWS}
    rows = [
        [f"{limit}: {detail}", *(percent(own.get((limit, detail))) for own in shares.values())]
        for limit, detail in sorted(set().union(*(own.index for own in shares.values())))
    ]
    yield from table(["detail", *VIEWS.values()], rows)


def worst(graded: pd.DataFrame) -> Iterator[str]:
    """The captures with the least agreement, and what was taken for what."""
    shares = grading.by_capture(graded).sort_values(kind="stable").head(WORST)
    rows = []
    for capture, share in shares.items():
        own = graded[graded["capture"] == capture]
        wrong = own[own["truth"] != own["answer"]]
        errors = (
            wrong["weight"]
            .groupby(wrong["truth"] + " as " + wrong["answer"])
            .sum()
            .sort_values(ascending=False)
        )
        said = ", ".join(f"{pair} {percent(part)}" for pair, part in errors.items() if part >= 0.01)
        one = own.iloc[0]
        rows.append([one["group"], one["name"], VIEWS[one["view"]], said, percent(share)])
    yield from table(["set", "transfer", "capture at", "errors", "agreement"], rows, words=4)


def commit() -> str:
    """Commit of this checkout, as git abbreviates it."""
    here = Path(__file__).parent
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "an unknown commit"
