"""``bdpcap excerpt``: write the packets of one stream into a new capture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from bdpcap.cli import opening, options, output, privacy
from bdpcap.tables import files
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture

_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="pcapng file to write; - is standard output.")
]


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    stream: options.Stream,
    output_: _Output,
    headers_only: Annotated[
        bool, typer.Option("--headers-only", help="Leave out the payload, as --anonymize always does.")
    ] = False,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Write the packets of one stream into a new capture.

    The new capture is pcapng. A comment in it has what the whole capture shows of this stream, so that its analysis
    gives the same results. With --anonymize it has no payload and no options that may contain an address; times, ports
    and TCP timestamps stay.
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    output.named(output_, [".pcapng", ".pcap"])
    to_stdout = str(output_) == "-"
    if to_stdout and sys.stdout.isatty():
        raise typer.BadParameter("a capture is not for a terminal: give -o FILE", param_hint="--output")
    capture = opening.capture(captures, read, filter_, names, outputs=[None if to_stdout else output_])
    opening.of_streams(capture.flows, [stream], capture.info.streams)
    if to_stdout:
        packets = _excerpt(capture, stream, sys.stdout.buffer, headers_only=headers_only)
    else:
        with files.replacing(output_) as part, part.open("wb") as file:
            packets = _excerpt(capture, stream, file, headers_only=headers_only)
    where = "standard output" if to_stdout else units.printable(output_)
    sys.stderr.write(f"excerpt: {where}, {packets:,} packets; stream {stream} is stream 0 there\n")
    return opening.exit_code(capture.damages)


def _excerpt(capture: Capture, stream: int, file: BinaryIO, *, headers_only: bool) -> int:
    """Write the packets and return their number; a stream without packets is refused."""
    packets = capture.excerpt(stream, file, headers_only=headers_only)
    if not packets:
        raise typer.BadParameter(
            f"stream {stream} has no packets: only ICMP messages quote it", param_hint="--stream"
        )
    return packets
