"""``bdpcap plot``: draw one figure of one flow into a file."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bdpcap.cli import opening, options, output, privacy
from bdpcap.cli.chosen_flow import chosen_flow
from bdpcap.plots import FIGURES
from bdpcap.report import figure
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.plots import Kind

# mypy accepts only members that are written out; the names come from FIGURES instead.
_SUFFIXES = f"{', '.join(figure.SUFFIXES[:-1])} or {figure.SUFFIXES[-1]}"
_Kind = StrEnum("_Kind", list(FIGURES))  # type: ignore[misc]
_WINDOW = _Kind("window")
_KindOption = Annotated[_Kind, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(FIGURES)}.")]
_Stream = Annotated[
    int | None,
    typer.Option(
        "--stream",
        min=0,
        metavar="N",
        help="Stream to draw, as tcp.stream in Wireshark. Default: that of the most important flow.",
        show_default=False,
    ),
]
_From = Annotated[
    float | None,
    typer.Option(
        "--from",
        metavar="SECONDS",
        help="Start of the time to draw, in seconds since the capture's first frame.",
    ),
]
_To = Annotated[
    float | None, typer.Option("--to", metavar="SECONDS", help="End of the time to draw, counted as --from.")
]
_Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help=f"File to write; its suffix selects the format: {_SUFFIXES}."
    ),
]


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    stream: _Stream = None,
    kind: _KindOption = _WINDOW,
    start: _From = None,
    end: _To = None,
    output_: _Output,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Draw one flow: the most important one, or the larger direction of a stream.

    An HTML page needs no other files and no network. SVG and PNG need the extra bdpcap[png], and an installed
    Chromium or Chrome.
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    output.named(output_, figure.SUFFIXES)
    if not output_.suffix:
        raise typer.BadParameter(
            f"cannot tell the format of {output_}: end it in {_SUFFIXES}",
            param_hint="--output",
        )
    capture = opening.capture(captures, read, filter_, names, outputs=[output_], jobs=jobs, budget=budget)
    flow = chosen_flow(capture, stream)
    try:
        figure.write(flow, cast("Kind", str(kind)), output_, start=start, end=end)
    except figure.NoImageWriterError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--from, --to") from None
    drawn = f"stream {flow.stream}, {units.printable(flow.sender)} to {units.printable(flow.receiver)}"
    size = units.data_size(output_.stat().st_size)
    sys.stderr.write(f"plot: {units.printable(output_)} ({size}): {drawn}\n")
    return opening.exit_code(capture.damages)
