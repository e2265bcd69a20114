"""Every example of the documents runs: commands are typed, and Python is executed, where the files that they name are."""

from __future__ import annotations

import contextlib
import doctest
import glob
import inspect
import pydoc
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, cached_property

import pytest
import yaml
from oracles import KEPT, ROOT, chromium
from small_transfer import write_many
from test_documents import DOCUMENTS, TOP

import bdpcap
from bdpcap.cli import exits, main
from bdpcap.cli.commands import COMMANDS
from bdpcap.comparing import settings

API = ROOT / "docs" / "api.md"
ELSEWHERE = {
    ".": "changes the shell that is typed in",
    "_BDPCAP_COMPLETE": "tests/test_completion.py runs all three lines",
    "cargo": "the tests",
    "dumpcap": "captures on an interface, until it is stopped",
    "ethtool": "changes an adapter",
    "export": "tests/test_remote.py runs it with the line that it is for",
    "make": "tests/test_readme.py holds the targets to the Makefile",
    "man": "tests/test_man_page.py",
    "pip": "installs; tests/test_clone.py has a clone",
    "pipx": "installs what is published",
    "pktmon": "is a program of Windows",
    "python": "tests and benchmarks",
    "python3": "makes an environment",
    "route": "asks for an interface as macOS does",
    "sh": "installs Rust",
    "sudo": "captures on an interface of macOS, or installs",
    "tcpdump": "captures on an interface, until it is stopped",
    "uvx": "runs what is published",
    "while": "asks a kernel until it is stopped; tests/test_account.py reads such a log",
    ".venv/bin/python": "the tests",
}
"""Programs that are not started here, and why."""


@dataclass(frozen=True)
class Block:
    """A block of code: its document, the line where it begins, its language and its text."""

    document: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def blocks(*languages):
    """Yield the blocks of some languages in all documents."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
            if found[1] in languages:
                name = str(path.relative_to(ROOT))
                yield Block(name, text.count("\n", 0, found.start()) + 1, found[1], found[2])


def commands():
    """Yield each line that is typed, in the block where it stands."""
    for block in blocks("console"):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                yield pytest.param(line.removeprefix("$ "), id=f"{block}:{line.removeprefix('$ ')[:60]}")


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """Write a capture of five flows that last three seconds."""
    return write_many(tmp_path_factory.mktemp("capture") / "trace.pcap", flows=5, rounds=150)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, capture):
    """Return a folder with ``captures``, and ``results`` of them."""
    folder = tmp_path_factory.mktemp("dataset")
    (folder / "captures").mkdir()
    for name in ("monday.pcap", "tuesday.pcap"):
        shutil.copy(capture, folder / "captures" / name)
    words = ["batch", str(folder / "captures"), "--out", str(folder / "results"), "--workers", "1"]
    # Its workers are processes that begin as the one did that started them.
    subprocess.run([sys.executable, "-m", "bdpcap", *words], check=True, timeout=120)
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch, capture, dataset):
    """Return a folder with every file that the examples read; they write here, too."""
    for folder in ("sample_captures", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for name in (
        "trace.pcap",
        "trace.pcapng",
        "before.pcap",
        "after.pcap",
        "ring_00001.pcapng",
        "ring_00002.pcapng",
    ):
        shutil.copy(capture, tmp_path / name)
    shutil.copy(KEPT / "host" / "ss.log", tmp_path)
    for end in ("sender", "receiver"):
        shutil.copy(ROOT / "sample_captures" / f"rwnd_slow_reader.{end}.pcap.zst", tmp_path / f"{end}.pcap")
    for folder in ("captures", "results"):
        (tmp_path / folder).symlink_to(dataset / folder)
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_blocks_are_of_languages_that_are_known():
    everything = {
        block.language for block in blocks("", *["console", "python", "sh", "text", "toml", "yaml", "csv"])
    }
    assert everything <= {"console", "python", "text", "yaml"}
    assert len(list(blocks("python"))) >= 5


@pytest.mark.parametrize("line", list(commands()))
def test_every_command_does_what_it_says(line, place, monkeypatch, capsysbinary):
    words = shlex.split(line.rpartition("| ")[2], comments=True)
    if words[0].partition("=")[0] in ELSEWHERE or words[0] == "docs":
        return
    assert words[0] == "bdpcap", f"{words[0]}: neither run here, nor said why not"
    if words[-1].endswith((".svg", ".png")):
        chromium()
    if "--install-completion" in words:
        monkeypatch.setenv("HOME", str(place))  # tests/test_completion.py tries it in a shell
        return
    if words[-1].startswith("s3://"):
        return  # tests/test_remote.py runs it, with a store on this machine
    if words[1] == "view":
        return  # it serves until it is ended: tests/test_view_page.py does both
    words = [name for word in words for name in (sorted(glob.glob(word)) if word.startswith("*") else [word])]  # noqa: PTH207  a shell's
    if "|" in line:
        words[words.index("-")] = "trace.pcap"  # what comes out of the pipe
    code = 0
    with contextlib.suppress(SystemExit):
        code = main(words[1:])
    said = capsysbinary.readouterr()
    rule = "--fail-on" in words
    assert code in ((exits.DONE, exits.LIMITED) if rule else (exits.DONE,)), said.err.decode()
    if "-o" in words:
        assert (place / words[words.index("-o") + 1]).stat().st_size


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("block", list(blocks("python")), ids=str)
def test_every_example_in_python_runs(block):
    exec(compile(block.text, str(block), "exec"), {})  # noqa: S102  ours


def public():
    """Yield the name and the object of every public module, class and function, of api.md's reference, too."""
    yield "bdpcap", bdpcap
    for module in (bdpcap, bdpcap.host, bdpcap.plots):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
                yield ("" if module is bdpcap else f"{module.__name__}.".partition(".")[2]) + name, thing
    for path in re.findall(r"^::: (\S+)$", API.read_text(encoding="utf-8"), flags=re.MULTILINE):
        yield path, pydoc.locate(path)


def documented():
    """Yield everything public once, with the methods and properties of classes."""
    once = {id(thing): (name, thing) for name, thing in reversed([*public()])}
    for name, thing in once.values():
        yield name, thing
        kinds = inspect.getmro(thing) if inspect.isclass(thing) else ()
        for kind in kinds:
            for own, member in vars(kind).items() if kind.__module__.startswith("bdpcap") else ():
                is_described = inspect.isroutine(member) or isinstance(member, (property, cached_property))
                if is_described and not own.startswith("_"):
                    yield f"{name}.{own}", member


@cache
def known():
    """Return the names that every docstring's example may use; `place` has their files."""
    capture = bdpcap.analyze("sample_captures/linux61_advwinscale2_w50000.pcap.zst")
    ends = (f"sample_captures/rwnd_slow_reader.{end}.pcap.zst" for end in ("sender", "receiver"))
    return {"bdpcap": bdpcap, "capture": capture, "flow": capture[0], "both": bdpcap.pair(*ends)}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("name", "thing"), [pytest.param(*one, id=one[0]) for one in documented()])
def test_every_example_in_a_docstring_prints_what_it_shows(name, thing):
    example = doctest.DocTestParser().get_doctest(thing.__doc__, known(), name, None, None)
    assert example.examples, f"{name} has no example"
    shown = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert shown.failed == 0


@pytest.mark.parametrize("block", list(blocks("yaml")), ids=str)
def test_every_file_of_settings_is_read_and_every_workflow_names_commands(block, tmp_path):
    document = yaml.safe_load(block.text)
    if "jobs" in document:
        typed = " ".join(step.get("run", "") for job in document["jobs"].values() for step in job["steps"])
        assert set(re.findall(r"\bbdpcap (\w+)", typed)) <= set(COMMANDS)
        return
    file = tmp_path / "bdpcap.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert settings.read(file)


@pytest.mark.parametrize("block", list(blocks("text")), ids=str)
def test_no_command_hides_in_a_text(block):
    """Commands stand in blocks of ``console``, where they are run; a text quotes output, filters or a file."""
    begun = [line.split() for line in block.text.splitlines() if line[:1].strip()]
    named = {words[0].partition("=")[0] for words in begun} & ELSEWHERE.keys()
    assert not named
    assert not [words for words in begun if words[0] == "bdpcap" and set(words[1:2]) <= COMMANDS.keys()]


def test_the_readme_is_among_them():
    assert any(block.document == TOP[0].name for block in blocks("console"))
