"""How often verdicts agree with the sending kernel, and what rules, thresholds and confidences are worth.

python benchmarks/accuracy.py lab/out -o docs/accuracy.md
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ablation
import confidence_table
import other_hosts
import sensitivity
from batch import join, read_all
from grading import judge
from labelled import Transfer, find
from markdown import percent, points, table
from page import calibrations, page
from peers import compare
from tuning import leave_one_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from batch import Batch


def arguments() -> argparse.ArgumentParser:
    """What may be asked."""
    parser = argparse.ArgumentParser(description="grade bdpcap against labelled transfers")
    parser.add_argument("roots", nargs="+", type=Path, help="sets of transfers, or folders of sets")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file (standard output)")
    parser.add_argument(
        "--lab",
        action="append",
        default=[],
        metavar="NAME=SET,SET",
        help="the lab of these sets (by their metadata)",
    )
    parser.add_argument("--without", action="append", metavar="RULE", help="what changes without this rule")
    parser.add_argument("--each", action="store_true", help="what changes without each rule")
    parser.add_argument(
        "--leave-one-out", action="store_true", help="thresholds found without a lab, graded on it"
    )
    parser.add_argument("--seed", type=int, default=1, help="of --leave-one-out (1)")
    parser.add_argument(
        "--thresholds", action="store_true", help="what changes with each number moved, as docs/thresholds.md"
    )
    parser.add_argument(
        "--delay", nargs="+", type=float, metavar="MS", help="what changes on a slower sender"
    )
    parser.add_argument(
        "--clumps",
        nargs="+",
        type=float,
        metavar="US",
        help="what changes where a receiver's interrupts coalesce",
    )
    parser.add_argument("--calibration", action="store_true", help="each lab by the other labs' confidences")
    parser.add_argument("--confidence", type=Path, metavar="FILE", help="write bdpcap/limits/confidence.csv")
    return parser


def named(sets: dict[str, list[Transfer]], labs: list[str]) -> dict[str, str]:
    """Return the lab of each set.

    Raises
    ------
    ValueError
        A set is named that there is not.
    """
    result = {group: own[0].lab for group, own in sets.items()}
    for said in labs:
        lab, _, groups = said.partition("=")
        for group in groups.split(","):
            if group not in result:
                raise ValueError(f"no such set: {group!r} (there are {', '.join(result)})")
            result[group] = lab
    return result


def changes(frame: pd.DataFrame, what: str) -> Iterator[str]:
    """A table of changes in points."""
    rows = [[str(name), *map(points, line)] for name, line in frame.iterrows()]
    yield from table([f"{what}, points", *map(str, frame.columns)], rows)


def reports(options: argparse.Namespace, sets: dict[str, list[Transfer]], batch: Batch) -> Iterator[str]:
    """What was asked for; the page if nothing in particular."""
    transfers = [transfer for own in sets.values() for transfer in own]
    asked = False
    if options.without:
        asked = True
        change = ablation.without(batch, options.without)
        yield from changes(change.to_frame(", ".join(options.without)).T, "without")
    if options.each:
        asked = True
        yield from changes(ablation.each(batch), "without")
    if options.leave_one_out:
        asked = True
        yield f"Seed {options.seed}."
        yield ""
        found = leave_one_out(batch, options.seed)
        rows = [[str(lab), *(percent(share / 100) for share in line)] for lab, line in found.iterrows()]
        yield from table(["lab left out, agreement", *found.columns], rows)
    if options.thresholds:
        asked = True
        yield from sensitivity.page(batch)
    if options.delay:
        asked = True
        yield from changes(other_hosts.with_delays(transfers, options.delay), "answers later by")
    if options.clumps:
        asked = True
        yield from changes(other_hosts.with_clumps(transfers, options.clumps), "arrivals in clumps of")
    if options.calibration:
        asked = True
        yield from calibrations(confidence_table.left_out(batch, judge(batch)))
    if options.confidence:
        asked = True
        options.confidence.write_text(confidence_table.text(sets, batch, judge(batch)))
    if not asked:
        yield from page(sets, batch, judge(batch), compare(transfers))


def main() -> None:
    """Command line."""
    parser = arguments()
    options = parser.parse_args()
    sets = find(options.roots)
    if not sets:
        parser.error("no meta.json there: make transfers with `make lab`")
    try:
        labs = named(sets, options.lab)
        batch = join(read_all(transfer for own in sets.values() for transfer in own))
        batch.captures["lab"] = batch.captures["group"].map(labs)
        text = "\n".join(reports(options, sets, batch))
    except ValueError as error:
        parser.error(str(error))
    if options.output:
        options.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
