"""``bdpcap annotate``: write the capture with comments, for Wireshark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bdpcap.cli import opening, options, output
from bdpcap.tables import files
from bdpcap.words import units

_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="pcapng file to write; - is standard output.")
]


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    output_: _Output,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
) -> int:
    """Write the capture as pcapng with comments, for Wireshark.

    Comments mark the first packet of each stretch of rounds with the same limit. They also mark where the window
    closes, opens again or shrinks, and the first packet of a finding. The comment on the capture is the verdict.
    Packets, times, interfaces and existing comments stay as they are. In Wireshark, the filter
    frame.comment contains "bdpcap" finds the comments.
    """
    output.named(output_, [".pcapng"])
    to_stdout = str(output_) == "-"
    if to_stdout and sys.stdout.isatty():
        raise typer.BadParameter("a capture is not for a terminal: give -o FILE", param_hint="--output")
    capture = opening.capture(
        captures,
        read,
        filter_,
        outputs=[None if to_stdout else output_],
        jobs=jobs,
        budget=budget,
    )
    if to_stdout:
        packets = capture.annotate(sys.stdout.buffer)
    else:
        with files.replacing(output_) as part, part.open("wb") as file:
            packets = capture.annotate(file)
    where = "standard output" if to_stdout else units.printable(output_)
    sys.stderr.write(f"annotate: {where}, {units.number(packets, 'packet')} with comments\n")
    return opening.exit_code(capture.damages)
