"""What README.md shows is what bdpcap does: commands exist, examples run, numbers are those printed."""

import re
import shlex

import pytest
import typer
from output_pages import README as PAGE
from output_pages import ROOT, with_output

from bdpcap.cli import application

README = PAGE.read_text(encoding="utf-8")
CONSOLE = re.findall(r"^```console\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
TYPED = [line.removeprefix("$ ") for block in CONSOLE for line in block.splitlines() if line.startswith("$ ")]


def commands():
    """Return the arguments of every bdpcap command, without what stands before it in a pipe."""
    words = [shlex.split(line.rpartition("| ")[2], comments=True) for line in TYPED]
    return [arguments for program, *arguments in words if program == "bdpcap"]


def test_the_first_commands_are_demo_and_test():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert TYPED[:2] == ["make demo", "make test"]
    assert {"demo", "test"} <= set(targets)


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_every_command_exists_with_its_options(arguments):
    root = typer.main.get_command(application())
    first, *others = arguments
    if (ROOT / first).is_file():
        first, *others = "report", first, "--text", "-"
    if first.startswith("-"):
        assert first in {name for option in root.params for name in option.opts}
    else:
        root.commands[first].make_context(first, others)


def test_every_file_that_it_names_is_there():
    names = re.findall(r"\]\(([\w/.-]+)\)|(sample_captures/[\w.]+\w)", README)
    assert [name for pair in names for name in pair if name and not (ROOT / name).exists()] == []
    assert names


def test_printing_anew_reaches_every_command_on_a_sample():
    shown = [block for block in CONSOLE if block.startswith("$ bdpcap")]
    assert len(shown) == 4
    assert with_output(README.replace(" Mbit/s", " bit/s")) == README
    assert with_output(re.sub(r"\d+ to \d+ %", "1 to 2 %", README)) == README


def test_the_python_example_runs(monkeypatch, tmp_path, capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "sample_captures").symlink_to(ROOT / "sample_captures")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  ours
    assert "rwnd" in capsys.readouterr().out
    assert {"window.html", "report.html"} <= {path.name for path in tmp_path.iterdir()}


def test_it_is_short_and_begins_with_its_answer():
    lines = README.splitlines()
    assert len(lines) <= 130
    assert "what kept a TCP sender from sending more" in lines[0]
