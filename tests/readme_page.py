"""Put what bdpcap prints into README.md, after each command there that reads a sample."""

import contextlib
import io
import os
import re
import shlex
from pathlib import Path
from unittest import mock

from bdpcap.cli import main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"


def with_output(page: str) -> str:
    """Return the page with what stands below commands on samples made anew."""
    return re.sub(
        r"^\$ (bdpcap [^\n]*sample_captures/[^\n]*)\n(.*?)(?=^```$)",
        _command,
        page,
        flags=re.MULTILINE | re.DOTALL,
    )


def printed(*arguments: str) -> list[str]:
    """Return the lines that a command prints on a terminal of 80 columns, from the repository's root."""
    said = io.StringIO()
    columns = mock.patch.dict(os.environ, {"COLUMNS": "80"})
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(said), columns:
        assert main(list(arguments)) == 0
    return said.getvalue().splitlines()


def _command(found: re.Match[str]) -> str:
    lines = printed(*shlex.split(found[1])[1:])
    before = found[2].splitlines()
    if before[-1:] == ["..."]:
        lines = [*lines[: len(before) - 1], "..."]
    return "".join(f"{line}\n" for line in (f"$ {found[1]}", *lines))
