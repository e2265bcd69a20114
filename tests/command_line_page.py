"""Put what ``--help`` prints into docs/commands/, a page for each command, and into docs/command-line.md."""

import contextlib
import io
import os
import re
from unittest import mock

from output_pages import DOCS

from bdpcap.cli import main
from bdpcap.cli.commands import COMMANDS

OVERVIEW = DOCS / "command-line.md"
PAGES = {name: DOCS / "commands" / f"{name}.md" for name in COMMANDS}
HELP = re.compile(r"^```text\nUsage: .*?^```$", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"(?<=^<!-- generated: commands -->\n).*?(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """Return the page of a command with its help made anew; a new command begins with a heading and its help."""
    path = PAGES[name]
    content = (
        path.read_text(encoding="utf-8") if path.exists() else f"# bdpcap {name}\n\n```text\nUsage: \n```\n"
    )
    return HELP.sub(lambda _: _help(name), content)


def overview(content: str) -> str:
    """Return the page of the command line with the list of commands and the help made anew."""
    rows = "".join(
        f"| [`bdpcap {name}`](commands/{name}.md) | {about} |\n" for name, about in COMMANDS.items()
    )
    table = f"\n| command | what it does |\n|---|---|\n{rows}\n"
    return HELP.sub(lambda _: _help(), LISTED.sub(lambda _: table, content))


def _help(*command: str) -> str:
    """Return the help of a command as a block."""
    printed = io.StringIO()
    columns = mock.patch.dict(os.environ, {"COLUMNS": "82"})  # the help leaves two columns free
    with contextlib.redirect_stdout(printed), columns:
        main([*command, "-h"])
    return f"```text\n{printed.getvalue().rstrip()}\n```"
