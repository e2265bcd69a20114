"""
The command line: thin commands that use :func:`bdpcap.analyze`, the tables and the report.

`main` turns every failure into one line and an exit code; a user sees no traceback.
"""

from __future__ import annotations

import errno
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
from bdpcap.read.remote import NoReaderError
from bdpcap.words import units

_OS_ERROR: Final = re.compile(r" \(os error \d+\)")
"""Error number that Rust appends to a message of the operating system."""


def application() -> typer.Typer:
    """Build the command line; the module of a command is loaded when the command runs."""
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
    """Show why TCP senders did not send faster, for every round trip in a packet capture.

    `bdpcap CAPTURE` is short for `bdpcap report CAPTURE --text -`.
    """


def main(arguments: list[str] | None = None) -> int:
    """
    Run a command line.

    Parameters
    ----------
    arguments
        Arguments without the program's name; None takes those of the process.

    Returns
    -------
    The exit code; see :mod:`bdpcap.cli.exits`.
    """
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=terminal.SPELT)
    given = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        code = int(application()(given, prog_name="bdpcap", standalone_mode=False, obj=given) or exits.DONE)
        if code != exits.INTERRUPTED:  # the interrupt may have ended the reader of a pipe, too
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        # When a pipe is closed, typer and rich raise SystemExit with another exit code.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader closed the pipe, which is no error.
        _discard_output()
        code = exits.DONE
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    except BaseException as error:  # a panic of the Rust core is a BaseException, not an Exception
        if os.environ.get("BDPCAP_DEBUG"):
            raise
        code, message = _explained(error, given[0])
        if isinstance(error, OSError) and error.errno == errno.EBADF:
            _discard_output()
            message = "standard output is closed: give -o FILE, or > /dev/null"
        sys.stderr.write(f"bdpcap: {units.printable(' '.join(message.split()))}\n")
    return code


def _open_closed() -> None:
    """Open standard streams that are closed, since the next files opened would take their descriptors.

    Nothing can be read from the input or written to the output then; messages are discarded.
    """
    for descriptor, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest descriptor that is free, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _discard_output() -> None:
    """Discard output that is written and not flushed: at exit, it could not be flushed either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explained(error: BaseException, first: str) -> tuple[int, str]:
    """Return the exit code and the message of a failure."""
    match error:
        case typer.TyperException():
            return exits.USAGE, _usage(error, first)
        case bdpcap.FilterError() | NoReaderError():
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
    """Return a message that names the wrong option and the help to read; `first` is the first word typed."""
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    message = re.sub(r"^Invalid value( for|:) ", "", message)
    message = re.sub(
        r"^No such option: --limit\b.*", "--limit is now --budget, as --budget rows=1000000", message
    )
    faults = getattr(error.__cause__, "errors", None)
    if faults:  # typer checks with pydantic, whose message lacks the wrong input
        message = re.sub(
            r"Input (should be [^,]*).*", lambda found: f"{faults()[0]['input']!r} {found[1]}", message
        )
    context = getattr(error, "ctx", None)
    command = context.command_path if context else f"bdpcap {first}" if first in COMMANDS else "bdpcap"
    return f"{message}; try '{command} --help'"
