"""What the shells are told when a word is to be completed."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from oracles import ROOT

from bdpcap import tables
from bdpcap.cli.commands import COMMANDS
from bdpcap.limits import STATES


def completed(shell, line):
    """Complete the last word of a line, as the shell's script asks for it; the words offered."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = subprocess.run(
        [sys.executable, "-m", "bdpcap"],
        env=os.environ | asked | {"_BDPCAP_COMPLETE": f"complete_{shell}"},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    if shell == "zsh":
        return [part.split('"')[1] for part in done.stdout.splitlines() if '"' in part]
    return [part.split("\t")[0] for part in done.stdout.split("\n") if part]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_every_shell_is_told_in_its_own_way(shell):
    assert completed(shell, "bdpcap ") == list(COMMANDS)
    assert completed(shell, "bdpcap flows --format j") == ["json", "jsonl"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bdpcap ", list(COMMANDS)),
        ("bdpcap f", ["flows"]),
        ("bdpcap flows --so", ["--sort"]),
        ("bdpcap flows --sort rtt", [name for name in tables.FLOWS if name.startswith("rtt")]),
        ("bdpcap flows --format j", ["json", "jsonl"]),
        ("bdpcap plot --kind ", ["window", "throughput", "rtt", "sequence"]),
        ("bdpcap flows --fail-on ", [f"{limit}>50%" for limit in STATES]),
        ("bdpcap trace.pcap --js", ["--json", "--jsonl"]),
    ],
)
def test_commands_options_and_values_are_offered(line, words):
    assert completed("bash", line) == words


@pytest.mark.parametrize("line", ["bdpcap tr", "bdpcap flows ", "bdpcap flows -o "])
def test_where_a_file_may_stand_nothing_else_is_offered(line):
    """The shell's script then offers files."""
    assert completed("bash", line) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script_and_completes_by_it(tmp_path):
    bdpcap = tmp_path / "bdpcap"
    bdpcap.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bdpcap "$@"\n')
    bdpcap.chmod(0o755)
    program = (
        "source <(_BDPCAP_COMPLETE=source_bash bdpcap); COMP_WORDS=(bdpcap rt) COMP_CWORD=1; "
        '_bdpcap_completion bdpcap; echo "${COMPREPLY[@]}"; complete -p bdpcap'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "rtts\ncomplete -o default -F _bdpcap_completion bdpcap\n"


def test_the_commands_for_all_users_write_the_script_of_each_shell(tmp_path):
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8").partition("For all users of a machine:")[2]
    commands = page.partition("```console\n")[2].partition("```")[0].replace("$ ", "")
    targets = re.findall(r"> (/\S+)", commands)
    assert len(targets) == 3
    for target in targets:
        (tmp_path / target.lstrip("/")).parent.mkdir(parents=True)
    commands = commands.replace("> /", f"> {tmp_path}/")
    bdpcap = f'bdpcap() {{ "{sys.executable}" -m bdpcap "$@"; }}'
    subprocess.run(["bash", "-e", "-c", f"{bdpcap}\n{commands}"], check=True, timeout=120)
    for target, shell in zip(targets, ("bash", "zsh", "fish"), strict=True):
        written = (tmp_path / target.lstrip("/")).read_text(encoding="utf-8")
        assert f"complete_{shell}" in written
