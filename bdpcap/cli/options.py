"""The options that commands share, so that each is spelt and explained once."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bdpcap.read import budget as budgets
from bdpcap.words.palette import LIMIT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable


def parser(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser of an option that says what is wrong in the words of what reads it."""

    def parse(typed: str) -> Any:
        try:
            return read(typed)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse


class Format(StrEnum):
    """How a table is written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"


CAPTURES: Final = (
    "CAPTURE is a pcap or pcapng file, plain or compressed with gzip, zstd or lz4, or - for standard input. "
    "A directory stands for the captures in it, a quoted pattern ('ring_*.pcap') for the files that match. Several "
    "files are read as one capture, in the order of their first packets."
)
Captures = Annotated[
    list[str] | None,
    # Its help stands below the options, since typer would put its own name of the type beside it here.
    typer.Argument(metavar="CAPTURE", hidden=True),
]
Read = Annotated[
    list[str] | None,
    typer.Option("--read", "-r", metavar="FILE", help="Same as CAPTURE, as tcpdump's -r."),
]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter", "-f", metavar="EXPRESSION", help="Capture filter in tcpdump's syntax: 'tcp port 5001'."
    ),
]
Streams = Annotated[
    list[int] | None,
    typer.Option(
        "--stream", min=0, metavar="N", help="Only this stream, as tcp.stream in Wireshark. Repeatable."
    ),
]
Stream = Annotated[
    int, typer.Option("--stream", min=0, metavar="N", help="The stream, as tcp.stream in Wireshark.")
]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"One of {', '.join(Format)}. Default: by the suffix of -o, else table.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        metavar="N",
        help="Threads that follow connections; the output does not depend on it. Default: one per processor, "
        "a single one for a small file.",
        show_default=False,
    ),
]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        autocompletion=lambda: [f"{name}={value}" for name, value in asdict(budgets.Budget()).items()],
        help="Follow or keep no more than this, and count what is left out: "
        f"{', '.join(f'{name} ({value:,})' for name, value in asdict(budgets.Budget()).items())}. Repeatable.",
    ),
]


def budget(typed: list[str] | None) -> budgets.Budget:
    """Return the budget that was typed; a limit that was not typed keeps its default."""
    try:
        return budgets.Budget().changed(typed or [])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--budget") from None


Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to standard output."),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="RULE",
        autocompletion=lambda: [f"{limit}>50%" for limit in LIMIT_NAMES],
        help="Exit with 3 if a limit held any flow for a larger share of its time: 'rwnd>50%'; or if a condition over "
        "the columns of `flows` holds: \"limit == 'rwnd' and throughput_bps < 0.8 * capacity_bps\". Repeatable. "
        "A flow under ten full segments and 1 % of all bytes does not count.",
    ),
]


class Annotations(StrEnum):
    """Whose messages name what broke a rule."""

    GITHUB = "github"


AnnotationsOf = Annotated[
    Annotations | None,
    typer.Option(
        "--annotations",
        metavar="SYSTEM",
        help="Name flows that break a rule on stderr as a CI system shows them: github (::error ...).",
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="What came of the rules of --fail-on as JUnit XML: a suite for each rule, a case for each flow.",
    ),
]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Other names for addresses, files, interfaces and comments, the same ones all over the output.",
    ),
]
AnonymizeKey = Annotated[
    Path | None,
    typer.Option(
        "--anonymize-key",
        metavar="FILE",
        help="Anonymize by a secret key (32 bytes, or 64 hexadecimal digits) that keeps prefixes (Crypto-PAn), and "
        "the same names in every run. With --anonymize, BDPCAP_ANONYMIZE_KEY may hold the digits instead.",
    ),
]
