"""Put what ``--help`` prints into docs/command-line.md, after each heading that names a command."""

import contextlib
import io
import os
import re
from pathlib import Path

from bdpcap.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"


def with_help(page: str) -> str:
    """Return the page with the text block after every ``## bdpcap ...`` heading made anew."""
    return re.sub(r"^## bdpcap([^\n]*)\n\n```text\n.*?^```$", _section, page, flags=re.MULTILINE | re.DOTALL)


def _section(heading: re.Match[str]) -> str:
    said = io.StringIO()
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "82"  # the help leaves two columns free
    with contextlib.redirect_stdout(said):
        main([*heading[1].split(), "-h"])
    if width is None:
        del os.environ["COLUMNS"]
    else:
        os.environ["COLUMNS"] = width
    return f"## bdpcap{heading[1]}\n\n```text\n{said.getvalue().rstrip()}\n```"
