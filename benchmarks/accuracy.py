"""How often verdicts agree with the sending kernel, from every vantage, beside the rules people go by today.

python benchmarks/accuracy.py lab/out -o docs/accuracy.md
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grading
import naive
import pandas as pd
from labelled import LIMITS, VIEWS, Transfer, find

import bdpcap

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIDENT = 0.9
AIMS = {  # per cent, by vantage
    "agreement": (97, 95, 95),
    "recall": (95, 92, 92),
    "worst": (85, 80, 80),
    "confident": (98, 98, 98),
}


class Result(NamedTuple):
    """Everything known of one capture."""

    view: str
    graded: pd.DataFrame
    naive: dict[str, pd.DataFrame]
    confident: pd.DataFrame
    looks: pd.DataFrame


def measure(job: tuple[Transfer, str]) -> Result:
    """Analyse one capture and lay all answers over its labels."""
    transfer, view = job
    rows = grading.verdicts(transfer, view)
    graded = grading.grade(transfer, rows)
    looks = naive.look(naive.read(transfer.capture(view)), transfer.truth()).loc[graded.index]
    rules = {rule: graded.assign(answer=naive.answer(looks, rule)) for rule in naive.RULES}
    looks = looks.assign(weight=graded["weight"], truth=graded["truth"])
    sure = grading.confident(transfer, rows, CONFIDENT).assign(transfer=str(transfer.folder))
    return Result(view, graded, rules, sure, looks)


def percent(share: float) -> str:
    """One decimal, so that 99.96 is not read as all."""
    return "" if pd.isna(share) else f"{100 * share:.1f}"


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """A Markdown table, its first column words and the others numbers."""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    yield from ("| " + " | ".join(row) + " |" for row in rows)
    yield ""


def joined(results: list[Result], view: str, what: str, rule: str = "") -> pd.DataFrame:
    """Put one kind of frame of all captures of a view under each other."""
    frames = [getattr(result, what) for result in results if result.view == view]
    whole: pd.DataFrame = pd.concat([frame[rule] if rule else frame for frame in frames], ignore_index=True)
    return whole


def headline(results: list[Result]) -> Iterator[str]:
    """The table of aims."""
    rows: dict[str, list[str]] = {}
    for place, view in enumerate(VIEWS):
        graded, sure = joined(results, view, "graded"), joined(results, view, "confident")
        measured = {"agreement": grading.agreement(graded)}
        measured |= {f"recall of {limit}": share for limit, share in grading.recall(graded).items()}
        measured["worst transfer"] = float(grading.by_transfer(graded).min())
        right = (sure["weight"] * sure["right"]).sum() / sure["weight"].sum()
        measured[f"confident (>= {CONFIDENT}) rows that are right"] = float(right)
        for name, share in measured.items():
            aim = AIMS[next(word for word in ("agreement", "recall", "worst", "confident") if word in name)]
            rows.setdefault(name, []).append(f"{percent(share)} ({aim[place]})")
    yield from table(["per cent (aim)", *VIEWS.values()], [[name, *cells] for name, cells in rows.items()])


def rules(results: list[Result]) -> Iterator[str]:
    """Agreement of today's rules, and what their detectors are worth one by one."""
    lines = [["bdpcap", *(percent(grading.agreement(joined(results, view, "graded"))) for view in VIEWS)]]
    for rule in naive.RULES:
        shares = [grading.agreement(joined(results, view, "naive", rule)) for view in VIEWS]
        lines.append([rule + ", completed", *map(percent, shares)])
    yield from table(["agreement, per cent", *VIEWS.values()], lines)
    lines = []
    for name, column, limit in (
        ("window full = rwnd", "window_full", "rwnd"),
        ("90 % of the window = rwnd", "nearly_full", "rwnd"),
        ("plateau = sndbuf", "plateau", "sndbuf"),
    ):
        cells = []
        for view in VIEWS:
            looks = joined(results, view, "looks")
            said, true = looks[column].astype(bool), looks["truth"] == limit
            both = looks["weight"].where(said & true, 0).sum()
            held = [looks["weight"].where(mask, 0).sum() for mask in (true, said)]
            found, right = (both / whole if whole else float("nan") for whole in held)
            cells.append(f"{percent(found)} / {percent(right)}")
        lines.append([name, *cells])
    yield from table(["recall / precision, per cent", *VIEWS.values()], lines)


def confusions(results: list[Result]) -> Iterator[str]:
    """What was answered under each label, a table a vantage."""
    for view, place in VIEWS.items():
        matrix = grading.confusion(joined(results, view, "graded"))
        shares = matrix.div(matrix.sum(axis=1), axis=0)
        yield f"Capture at the {place}:" if place != "between" else "Capture in between:"
        yield ""
        rows = [[limit, *map(percent, shares.loc[limit])] for limit in LIMITS]
        yield from table(["label, and per cent answered", *matrix.columns], rows)


def detail_table(results: list[Result]) -> Iterator[str]:
    """How often a limit's detail is right where the limit is."""
    shares = {view: grading.details(joined(results, view, "graded")) for view in VIEWS}
    keys = sorted(set().union(*(table.index for table in shares.values())))
    rows = []
    for limit, detail in keys:
        cells = []
        for matrix in shares.values():
            known = (limit, detail) in matrix.index and detail in matrix.columns
            cells.append(percent(matrix.loc[(limit, detail), detail] if known else float("nan")))
        rows.append([f"{limit}: {detail}", *cells])
    yield from table(["per cent of the time with that limit", *VIEWS.values()], rows)


def transfers(results: list[Result], sets: list[Transfer]) -> Iterator[str]:
    """Agreement of every transfer, and the errors at the vantage where there are most."""
    shares = {view: grading.by_transfer(joined(results, view, "graded")) for view in VIEWS}
    graded = {view: joined(results, view, "graded") for view in VIEWS}
    rows = []
    for transfer in sorted(sets, key=lambda each: each.name):
        key = str(transfer.folder)
        if key not in shares["sender"]:
            continue  # nothing decisive in it
        worst = min(VIEWS, key=lambda view: shares[view][key])
        own = graded[worst][graded[worst]["transfer"] == key]
        wrong = own[own["truth"] != own["answer"]]
        pairs = wrong["truth"] + " as " + wrong["answer"]
        shares_wrong = wrong["weight"].groupby(pairs).sum().sort_values(ascending=False)
        errors = [f"{pair} {percent(share)}" for pair, share in shares_wrong.items() if share >= 0.01]
        cells = [percent(shares[view][key]) for view in VIEWS]
        rows.append([transfer.name, *cells, f"{VIEWS[worst]}: {', '.join(errors)}" if errors else ""])
    yield from table(
        ["transfer, agreement in per cent", *VIEWS.values(), "errors where there are most"], rows
    )


def commit() -> str:
    """Commit of this checkout, as git abbreviates it."""
    here = Path(__file__).parent
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "an unknown commit"


def page(results: dict[str, list[Result]], sets: dict[str, list[Transfer]], command: str) -> Iterator[str]:
    """The whole of it in Markdown."""
    kernels = sorted({transfer.meta["kernel"] for group in sets.values() for transfer in group})
    today = dt.datetime.now(tz=dt.UTC).date()
    yield "# Accuracy"
    yield ""
    yield "Verdicts against what the sending kernel and the bottleneck said of themselves; how the transfers are made and"
    yield "labelled stands in [lab/README.md](../lab/README.md). Only decisive intervals count (the link transmitting for"
    yield "97 % of a round-trip time, or one state in 70 % of the kernel's samples), weighted by time; transfers count"
    yield "equally. What is not answered (`unknown`) counts as wrong. No threshold was chosen by looking at `holdout`."
    yield ""
    yield f"- bdpcap {bdpcap.__version__}, rules of {commit()}, {today}; transfers by Linux {', '.join(kernels)}"
    yield f"- `{command}`"
    yield ""
    for name, own in results.items():
        yield f"## {name}: {len(sets[name])} transfers"
        yield ""
        yield from headline(own)
        yield "### Beside the rules of today"
        yield ""
        yield from rules(own)
        yield "### What is taken for what"
        yield ""
        yield from confusions(own)
        yield "### Details"
        yield ""
        yield from detail_table(own)
        yield "### Every transfer"
        yield ""
        yield from transfers(own, sets[name])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="grade bdpcap against labelled transfers")
    parser.add_argument("roots", nargs="+", type=Path, help="folders of sets of transfers")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file (standard output)")
    parser.add_argument("--set", action="append", help="only this set (all)")
    options = parser.parse_args()
    sets = {name: own for name, own in find(options.roots).items() if not options.set or name in options.set}
    if not sets:
        parser.error("no truth.csv there: make transfers with `make lab`")
    results = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, own in sets.items():
            jobs = [(transfer, view) for transfer in own for view in VIEWS]
            results[name] = list(pool.map(measure, jobs, chunksize=3))
            print(f"{name}: {len(own)} transfers", file=sys.stderr)
    arguments = [*map(str, options.roots), *(f"--set {name}" for name in options.set or ())]
    text = "\n".join(page(results, sets, f"python benchmarks/accuracy.py {' '.join(arguments)}"))
    if options.output:
        options.output.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
