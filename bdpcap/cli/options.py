"""The options that several commands share, each declared once."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bdpcap.explain.kernels import version
from bdpcap.read import budget as budgets
from bdpcap.tables import STATES
from bdpcap.words import quantities

if TYPE_CHECKING:
    from collections.abc import Callable


def parser(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return an option's parser that calls `read`, and shows the message of its ValueError as a usage error."""

    def parse(typed: str) -> Any:
        try:
            return read(typed)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse


class Format(StrEnum):
    """Format of a table."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"


CAPTURES: Final = (
    "CAPTURE is a pcap or pcapng file, plain or compressed with gzip, zstd or lz4, or - for standard input. "
    "A directory means all captures in it, a quoted pattern ('ring_*.pcap') all matching files. Several files are read "
    "as one capture, in the order of their first packets. A URL is streamed: https://, s3:// or gs://, with the extra "
    "bdpcap[http], bdpcap[s3] or bdpcap[gs]."
)
Captures = Annotated[
    list[str] | None,
    # `CAPTURES` explains it below the options: with a help text here, typer would add its name of the type.
    typer.Argument(metavar="CAPTURE", hidden=True),
]
Read = Annotated[
    list[str] | None,
    typer.Option("--read", "-r", metavar="FILE", help="Same as CAPTURE, as tcpdump's -r."),
]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter", "-f", metavar="EXPRESSION", help="Capture filter in tcpdump syntax: 'tcp port 5001'."
    ),
]
Streams = Annotated[
    list[int] | None,
    typer.Option(
        "--stream", min=0, metavar="N", help="Stream to show, as tcp.stream in Wireshark. Repeatable."
    ),
]


def whole_bytes(typed: str) -> int:
    """Parse a size that is a whole number of bytes: ``64KiB``."""
    size = quantities.size(typed)
    if size.denominator != 1:
        raise ValueError(f"{typed!r} is no whole number of bytes")
    return int(size)


def three_sizes(typed: str) -> tuple[int, int, int]:
    """Parse the three values of net.ipv4.tcp_rmem or tcp_wmem as sysctl prints them: ``4096 131072 6291456``."""
    values = typed.split()
    if len(values) != 3:
        raise ValueError(f"{typed!r} must be three sizes, as sysctl prints them: '4096 131072 6291456'")
    least, default, most = map(whole_bytes, values)
    if not 0 < least <= most or not 0 < default <= most:
        raise ValueError(f"{typed!r} must be in order: least, default and largest size")
    return least, default, most


def size_option(help_: str) -> Any:
    """Return an option whose value is a whole number of bytes."""
    return typer.Option(metavar="SIZE", parser=parser(whole_bytes), help=help_)


def sizes_option(help_: str) -> Any:
    """Return an option whose value is three sizes, as sysctl prints them."""
    return typer.Option(metavar="SIZES", parser=parser(three_sizes), help=help_)


RcvBuf = Annotated[
    Any, size_option("SO_RCVBUF of the receiver (iperf -w), to predict its window and compare.")
]
SndBuf = Annotated[
    Any, size_option("SO_SNDBUF of the sender, to predict the bytes in flight that it allows.")
]
RmemMax = Annotated[Any, size_option("net.core.rmem_max of the receiver, which cuts SO_RCVBUF.")]
Rmem = Annotated[Any, sizes_option("net.ipv4.tcp_rmem of the receiver: '4096 131072 6291456'.")]
Wmem = Annotated[Any, sizes_option("net.ipv4.tcp_wmem of the sender: '4096 16384 4194304'.")]
Kernel = Annotated[
    Any,
    typer.Option(
        metavar="VERSION",
        parser=parser(version),
        help="Linux version of the receiver, as uname -r prints it: 6.6.45.",
    ),
]
AdvWinScale = Annotated[
    int | None,
    typer.Option(min=-30, max=31, metavar="N", help="net.ipv4.tcp_adv_win_scale of the receiver."),
]
Stream = Annotated[
    int, typer.Option("--stream", min=0, metavar="N", help="Stream to write, as tcp.stream in Wireshark.")
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
        help="Threads that follow connections; the output is the same for any number. Default: one per processor, or "
        "one for a small file.",
        show_default=False,
    ),
]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        autocompletion=lambda: [
            *(f"{name}={value}" for name, value in asdict(budgets.Budget()).items()),
            f"{budgets.MEMORY}=250MB",
        ],
        help="Change the budget of the analysis; data beyond it are left out and counted: "
        f"{', '.join(f'{name} ({value:,})' for name, value in asdict(budgets.Budget()).items())}. "
        f"{budgets.MEMORY}=250MB lowers connections and rows to what fits in so many bytes. Repeatable.",
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
    typer.Option("--output", "-o", metavar="FILE", help="File to write instead of standard output."),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="RULE",
        autocompletion=lambda: [f"{limit}>50%" for limit in STATES],
        help="Exit with 3 if any flow breaks this rule: a limit's share of the time, 'rwnd>50%', or a condition over the "
        "columns of `flows`, \"limit == 'rwnd' and active_throughput_bps < 0.8 * capacity_bps\". Repeatable. Flows of "
        "less than ten full segments and less than 1 % of all bytes are ignored.",
    ),
]


class Annotations(StrEnum):
    """CI systems in whose format messages about broken rules can be written."""

    GITHUB = "github"


AnnotationsOf = Annotated[
    Annotations | None,
    typer.Option(
        "--annotations",
        metavar="SYSTEM",
        help="Write messages about broken rules in the format of a CI system: github (::error ...).",
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Write --fail-on results as JUnit XML: one suite per rule, one case per flow.",
    ),
]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Replace addresses, comments, and names of files and interfaces, consistently in all output.",
    ),
]
AnonymizeKey = Annotated[
    Path | None,
    typer.Option(
        "--anonymize-key",
        metavar="FILE",
        help="Anonymize with a secret key of 32 bytes or 64 hexadecimal digits. Prefixes are kept (Crypto-PAn), and "
        "names are the same in every run. With --anonymize, BDPCAP_ANONYMIZE_KEY may contain the digits instead.",
    ),
]
