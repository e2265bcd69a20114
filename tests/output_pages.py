"""Put what bdpcap prints into README.md and the documents, after each command that is shown with its output."""

import contextlib
import io
import math
import os
import re
import shlex
from itertools import groupby
from pathlib import Path
from unittest import mock

from bdpcap.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
ACCURACY = DOCS / "accuracy.md"
LEFT_OUT = "..."
"""A line that stands for lines that are not shown."""
SHOWN = re.compile(
    r"(?<=^```console\n)\$ (bdpcap [^\n]*)\n((?!\$ )[^`].*?)(?=^```$)", re.MULTILINE | re.DOTALL
)
"""A command alone in its block, and its output below it."""
SHARES = re.compile(r"\d+ to \d+ % (of the decisive time.*?), and \d+ to \d+ % from elsewhere", re.DOTALL)
"""The README's sentence on accuracy."""


def pages() -> list[Path]:
    """Return README.md and the documents that show output."""
    return [path for path in (README, *sorted(DOCS.rglob("*.md"))) if SHOWN.search(path.read_text("utf-8"))]


def with_output(page: str) -> str:
    """Return the page with the output of its commands, and its figures of accuracy, made anew."""
    return SHARES.sub(_shares, SHOWN.sub(_command, page))


def printed(*arguments: str) -> list[str]:
    """Return the lines that a command prints on a terminal of 80 columns, from the repository's root."""
    output = io.StringIO()
    columns = mock.patch.dict(os.environ, {"COLUMNS": "80"})
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(output), columns:
        assert main(list(arguments)) == 0
    return output.getvalue().splitlines()


def chosen(lines: list[str], before: list[str]) -> list[str]:
    """
    Return the part of an output that is shown.

    `before` is the part that was shown. Without a line of `LEFT_OUT` it is all. Else each piece between two of these
    begins at the next line with the same first word, and has as many lines as it had.
    """
    if LEFT_OUT not in before:
        return lines
    shown, at = list[str](), 0
    for left_out, group in groupby(before, LEFT_OUT.__eq__):
        piece = list(group)
        if left_out:
            shown.append(LEFT_OUT)
            continue
        words = piece[0].split()[:1]
        at = next(place for place in range(at, len(lines)) if lines[place].split()[:1] == words)
        shown += lines[at : at + len(piece)]
        at += len(piece)
    return shown


def _command(found: re.Match[str]) -> str:
    lines = chosen(printed(*shlex.split(found[1])[1:]), found[2].splitlines())
    return "".join(f"{line}\n" for line in (f"$ {found[1]}", *lines))


def _shares(found: re.Match[str]) -> str:
    """Return the least and the most that a set of docs/accuracy.md agrees, at the sender and elsewhere."""
    table = ACCURACY.read_text("utf-8").partition("## Agreement")[2].partition("\n\nWith")[0]
    rows = [
        [float(share) for share in re.findall(r"\| ([\d.]+) \(", line)]
        for line in table.splitlines()
        if "(" in line
    ]
    sender, elsewhere = [row[0] for row in rows], [share for row in rows for share in row[1:]]
    return f"{_span(sender)} {found[1]}, and {_span(elsewhere)} from elsewhere"


def _span(shares: list[float]) -> str:
    # Rounded down: 99.5 % is not all.
    return f"{math.floor(min(shares))} to {math.floor(max(shares))} %"
