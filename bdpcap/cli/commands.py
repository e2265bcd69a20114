"""The commands by name, each loaded when it runs; any other first word is taken as a capture."""

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
from bdpcap.read.remote import is_url
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "report": "Write the verdict as HTML page, text, JSON or all in one archive.",
    "info": "Describe the capture, and how far it can be trusted.",
    "flows": "List the flows: bytes, throughput and limit of each.",
    "rtts": "List the round trips of every flow, with the limit of each.",
    "events": "List the TCP segments, with the role of each in its flow.",
    "explain": "Explain window and rate of a flow, and name settings to change.",
    "plot": "Draw one flow: window, throughput, RTT or sequence numbers.",
    "view": "Show the figures in a browser: zoom from all to one segment.",
    "excerpt": "Write the packets of one stream into a new capture.",
    "annotate": "Write the capture with comments, for Wireshark.",
    "compare": "Compare captures: before and after a change.",
    "pair": "Compare captures from both ends of a path: losses, delays, clocks.",
    "batch": "Analyse many captures into one dataset, here or on a cluster.",
    "summary": "Summarize a dataset: the hosts and paths that lose most time.",
    "bdp": "Calculate bandwidth-delay product, buffers, rates and times.",
}
"""Names and summaries of the commands, in the order of `bdpcap --help`; each command is a module of this package."""

SHORT: Final = ("report", "--text", "-")
"""Words inserted before a capture that is given without a command."""


def loaded(name: str) -> Any:
    """Load a command from the module of its name."""
    module = import_module(f"bdpcap.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, epilog=getattr(module, "EPILOG", options.CAPTURES))(module.command)
    return get_command(app)


class Deferred(TyperCommand):
    """A command whose module is loaded only when the command is called, not to list the command."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the command and return its context."""
        return loaded(str(self.name)).make_context(info_name, args, parent, **extra)


class Root(TyperGroup):
    """The program: its first word is a command, or a capture to report on."""

    _hint: str | None = None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command of the first word; if that word is a capture, the command reports it as text."""
        first = args[0]
        if first not in COMMANDS and not ctx.resilient_parsing:
            if not (first == "-" or is_url(first) or Path(first).exists() or glob.has_magic(first)):
                ctx.fail(_unknown(first))
            self._hint = (
                f"hint: `bdpcap report {first}` writes a page with figures; `bdpcap --help` shows the rest"
            )
        if first not in COMMANDS:
            args = [*SHORT, *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; if no command was named, print a hint about the other commands."""
        result = super().invoke(ctx)
        if self._hint:
            sys.stdout.flush()
            sys.stderr.write(f"{units.printable(self._hint)}\n")
        return result


def _unknown(word: str, names: Sequence[str] = tuple(COMMANDS)) -> str:
    near = get_close_matches(word, names, 1)
    return f"no such command or file: {word!r}{f' (did you mean {near[0]!r}?)' if near else ''}"
