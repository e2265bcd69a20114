"""``bdpcap pair``: compare captures from both ends of a path."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import bdpcap
from bdpcap.cli import opening, options, output, pair_text
from bdpcap.tables import rows
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.path_ends import Pair

EPILOG: Final = (
    "SENDER was captured next to the sender of the data, RECEIVER next to their receiver. Addresses and ports may "
    "differ, as behind NAT: connections are matched by their sequence numbers."
)


class Format(StrEnum):
    """Format of the comparison."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


SUFFIXES: Final = {".txt": Format.TABLE, ".json": Format.JSON, ".html": Format.HTML}
"""Formats by the suffix of the output."""


def command(
    sender: Annotated[str, typer.Argument(metavar="SENDER", help="Capture taken next to the data's sender.")],
    receiver: Annotated[
        str, typer.Argument(metavar="RECEIVER", help="Capture taken next to the data's receiver.")
    ],
    *,
    filter_: options.Filter = None,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"One of {', '.join(Format)}. Default: by the suffix of -o, else table.",
            show_default=False,
        ),
    ] = None,
    output_: options.Output = None,
) -> int:
    """Compare captures from both ends of a path: clocks, one-way delays, losses, rewritten fields.

    Also compares the sender's view inferred from the receiver's capture with the one from the sender's capture.
    """
    if format_ is None:
        output.named(output_, SUFFIXES, "give --format")
    chosen = format_ or SUFFIXES.get(output_.suffix.lower() if output_ else "", Format.TABLE)
    if "-" in (sender, receiver):
        raise typer.BadParameter("standard input cannot be read twice: name two files")
    captures = [opening.capture([name], None, filter_, outputs=[output_]) for name in (sender, receiver)]
    try:
        both = bdpcap.pair(*captures)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if both.swapped:
        names = [units.printable(Path(name).name) for name in (receiver, sender)]
        sys.stderr.write(
            "bdpcap: note: most data came from the other end; {} is taken as the sender's capture, {} as the "
            "receiver's\n".format(*names)
        )
    with output.opened(output_) as file:
        match chosen:
            case Format.TABLE:
                pair_text.write(both, file)
            case Format.JSON:
                file.write(rows.text(_document(both), indent=1))
            case Format.HTML:
                file.write(both.html())
    return max(opening.exit_code(capture.damages) for capture in captures)


def _document(both: Pair) -> dict[str, Any]:
    clock = both.clock
    return {
        "schema_version": output.SCHEMA_VERSION,
        "sender": both.sender.info.files,
        "receiver": both.receiver.info.files,
        "swapped": both.swapped,
        "clock": {
            "offset_ns": round(clock.offset_ns),
            "offset_error_ns": round(clock.offset_error_ns),
            "reference_ns": clock.reference_ns,
            "drift_ppm": clock.drift * 1e6 if clock.has_drift else None,
            "drift_error_ppm": clock.drift_error * 1e6 if clock.has_drift else None,
            "drift_applied_ppm": clock.applied_drift * 1e6,
            "jumped": clock.jumped,
        },
        **{
            name: rows.records(getattr(both, name))
            for name in ("streams", "delays", "losses", "options", "views")
        },
    }
