"""The manual page says what the command line declares, and reads without a complaint of the formatter."""

import shutil
import subprocess
import tomllib

import pytest
from man_page import ENVIRONMENT, PAGE
from oracles import ROOT

from bdpcap.cli.commands import COMMANDS, loaded


def test_the_page_is_where_an_install_puts_manual_pages():
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    # Of a wheel's data, the scheme "data" is the prefix of the environment.
    assert PAGE.relative_to(ROOT / maturin["data"]).as_posix() == "data/share/man/man1/bdpcap.1"


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_the_formatter_shows_every_command_and_option_and_warns_of_nothing():
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rLL=80n", "-P-cbou", str(PAGE)],
        capture_output=True, check=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    for name in COMMANDS:
        section = done.stdout.partition(f"\n   {name}\n")[2]
        assert section
        names = [option for parameter in loaded(name).params for option in parameter.opts if option[0] == "-"]
        assert [option for option in names if option not in section] == []
    assert all(name in done.stdout for name in ENVIRONMENT)


def test_variables_of_the_environment_are_those_that_the_program_reads():
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "bdpcap" / "cli").glob("*.py"))
    assert [name for name in ENVIRONMENT if name != "COLUMNS" and f'"{name}"' not in source] == []
