"""``bdpcap plot``: one figure of one flow, as a file."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bdpcap import units
from bdpcap.cli import options, output, privacy, source
from bdpcap.plots import FIGURES
from bdpcap.report import figure

# mypy wants members written out; the figures have their names elsewhere.
_Kind = StrEnum("_Kind", list(FIGURES))  # type: ignore[misc]
_WINDOW = _Kind("window")
_KindOption = Annotated[_Kind, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(FIGURES)}.")]
_Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Its suffix tells what it is: .html, .svg or .png."),
]


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    stream: options.Stream,
    kind: _KindOption = _WINDOW,
    output_: _Output,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Draw one flow: the direction of a stream that carried most.

    HTML stands alone and asks no network for anything. SVG and PNG need the extra bdpcap[png], and an installed
    Chromium or Chrome that draws them.
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    output.named(output_, figure.SUFFIXES)
    if not output_.suffix:
        raise typer.BadParameter(
            f"cannot tell the format of {output_}: end it in {' or '.join(figure.SUFFIXES)}",
            param_hint="--output",
        )
    capture = source.capture(captures, read, filter_, names, outputs=[output_])
    if source.of_streams(capture.flows, [stream], capture.info.streams).empty:
        raise typer.BadParameter(f"stream {stream} carried no payload: there is no flow to draw")
    try:
        figure.write(capture.flow(stream), str(kind), output_)
    except figure.NoImageWriterError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None
    sys.stderr.write(f"plot: {units.printable(output_)} ({units.data_size(output_.stat().st_size)})\n")
    return source.exit_code(capture.damage)
