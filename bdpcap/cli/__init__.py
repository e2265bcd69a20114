"""
The command line: thin commands over :func:`bdpcap.analyze`, the tables and the report.

Here every failure becomes one line and an exit code; no traceback reaches a user.
"""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from pathlib import Path
from typing import Annotated, Final

import typer

import bdpcap
from bdpcap.cli import exits, terminal
from bdpcap.cli.commands import COMMANDS, Deferred, Root
from bdpcap.words import units

_OS_ERROR: Final = re.compile(r" \(os error \d+\)")
"""What Rust adds to the system's own words."""


def application() -> typer.Typer:
    """Build the command line; a command's module is loaded when the command is run."""
    app = typer.Typer(
        name="bdpcap",
        cls=Root,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(
        epilog=exits.HELP, subcommand_metavar="COMMAND [ARGS]... | CAPTURE", options_metavar="[OPTIONS]"
    )(_root)
    for name, summary in COMMANDS.items():
        app.command(name, cls=Deferred, short_help=summary)(lambda: None)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bdpcap {bdpcap.__version__}")
        raise typer.Exit


def _root(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Say what kept a TCP sender from sending more, for every round trip in a packet capture.

    `bdpcap CAPTURE` is short for `bdpcap report CAPTURE --text -`.
    """


def main(arguments: list[str] | None = None) -> int:
    """
    Run a command line.

    Parameters
    ----------
    arguments
        Without the program's name; those of the process where None.

    Returns
    -------
    The exit code; see :mod:`bdpcap.cli.exits`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=terminal.SPELT)
    given = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = int(application()(given, prog_name="bdpcap", standalone_mode=False, obj=given) or exits.DONE)
        if code != exits.INTERRUPTED:  # else who reads may be gone, too
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        # Typer and rich leave with an exit code of their own when a pipe is closed.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # What reads our output has seen enough. Nothing more may be flushed into the pipe on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = exits.DONE
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    except BaseException as error:  # a panic of the core is no Exception
        if os.environ.get("BDPCAP_DEBUG"):
            raise
        code, message = _explained(error, given[0])
        sys.stderr.write(f"bdpcap: {units.printable(' '.join(message.split()))}\n")
    return code


def _explained(error: BaseException, first: str) -> tuple[int, str]:
    """Return the exit code that a failure means, and what to say of it."""
    match error:
        case typer.TyperException():
            return exits.USAGE, _usage(error, first)
        case bdpcap.FilterError():
            return exits.USAGE, str(error)
        case bdpcap.CaptureError():
            return exits.DAMAGED, _OS_ERROR.sub("", str(error))
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return exits.DAMAGED, f"{where}{error.strerror or error}"
        case MemoryError():
            return exits.DAMAGED, "out of memory: narrow the capture with -f"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return exits.DAMAGED, (
        f"internal error at {Path(place.filename).name}:{place.lineno}: {type(error).__name__}: {error}; "
        "BDPCAP_DEBUG=1 shows the traceback for a bug report"
    )


def _usage(error: typer.TyperException, first: str) -> str:
    """Say what is wrong with which option, and where to read on; `first` is the first word typed."""
    said = error.format_message().rstrip(".").replace("Value error, ", "")
    said = re.sub(r"^Invalid value( for|:) ", "", said)
    said = re.sub(r"^No such option: --limit\b.*", "--limit is now --budget, as --budget rows=1000000", said)
    faults = getattr(error.__cause__, "errors", None)
    if faults:  # pydantic, which typer asks, does not say of what
        said = re.sub(
            r"Input (should be [^,]*).*", lambda found: f"{faults()[0]['input']!r} {found[1]}", said
        )
    context = getattr(error, "ctx", None)
    command = context.command_path if context else f"bdpcap {first}" if first in COMMANDS else "bdpcap"
    return f"{said}; try '{command} --help'"
