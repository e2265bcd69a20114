"""The commands by name, each loaded when it is run; and what a first word means that is none of them."""

from __future__ import annotations

import glob
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from bdpcap.cli import options
from bdpcap.cli.plain import read_plainly
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "report": "Write the verdict as HTML page, text, JSON or all in one archive.",
    "info": "Say what was captured, and how far to trust it.",
    "flows": "List the flows: what each carried, how fast, and what limited it.",
    "rtts": "List the round trips of every flow, with the limit of each.",
    "events": "List the segments, and what each meant to its flow.",
    "explain": "Explain the numbers: why this window, this rate, what to change.",
    "plot": "Draw one flow: window, throughput, RTT or sequence.",
    "excerpt": "Write the packets of one stream as a capture of its own.",
    "annotate": "Write the capture with comments, for Wireshark.",
    "compare": "Compare captures: before and after.",
    "pair": "Compare both ends of a path: losses, delays, clocks.",
    "batch": "Analyse many captures into one dataset, here or on a cluster.",
    "summary": "Say what a dataset of many captures shows: who loses time to what.",
    "bdp": "Calculate: bandwidth-delay product, buffers, ceilings, time.",
}
"""What `bdpcap --help` says of each command, in its order; a module of this package has the command itself."""

SHORT: Final = ("report", "--text", "-")
"""What a capture without a command is short for."""


def loaded(name: str) -> Any:
    """Load a command from the module of its name."""
    module = import_module(f"bdpcap.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Command, epilog=getattr(module, "EPILOG", options.CAPTURES))(module.command)
    return get_command(app)


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> Any:
        """Return its options and arguments."""
        return read_plainly(super().get_params(ctx))


class Deferred(TyperCommand):
    """A command that is listed without its module, and loads the module to read its arguments."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command itself."""
        return loaded(str(self.name)).make_context(info_name, args, parent, **extra)


class Root(TyperGroup):
    """The program: its first word is a command, or a capture to report on."""

    _hint: str | None = None

    def get_params(self, ctx: Any) -> Any:
        """Return its options."""
        return read_plainly(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command; a capture in its place is reported as text."""
        first = args[0]
        if first not in COMMANDS and not ctx.resilient_parsing:
            if first != "-" and not Path(first).exists() and not glob.has_magic(first):
                ctx.fail(_unknown(first))
            self._hint = (
                f"hint: `bdpcap report {first}` writes a page with figures; `bdpcap --help` shows the rest"
            )
        if first not in COMMANDS:
            args = [*SHORT, *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and say what else there is to whoever named none."""
        result = super().invoke(ctx)
        if self._hint:
            sys.stdout.flush()
            sys.stderr.write(f"{units.printable(self._hint)}\n")
        return result


def _unknown(word: str, names: Sequence[str] = tuple(COMMANDS)) -> str:
    near = get_close_matches(word, names, 1)
    return f"no such command or file: {word!r}{f' (did you mean {near[0]!r}?)' if near else ''}"
