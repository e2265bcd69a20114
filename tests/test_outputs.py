"""Outputs are whole or not there, whatever happens while they are written."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from small_transfer import write_pcap

from bdpcap.cli import main
from bdpcap.tables import files, rows

OUTPUTS = {
    "report.html": ("report", "-o"),
    "report.txt": ("report", "--text"),
    "report.json": ("report", "--json"),
    "report.zip": ("report", "--bundle"),
    "flows.csv": ("flows", "-o"),
    "flows.parquet": ("flows", "-o"),
    "events.jsonl": ("events", "-o"),
    "info.json": ("info", "-o"),
    "window.html": ("plot", "-o"),
    "stream.pcap": ("excerpt", "--stream", "0", "-o"),
    "commented.pcapng": ("annotate", "-o"),
    "both.md": ("compare", "-o"),
}
SECONDS = 60
"""Longest wait for a process."""

WRITES_THEN_WAITS = """
import pathlib, sys, time
from bdpcap.tables import files
with files.replacing(pathlib.Path(sys.argv[1])) as part:
    part.write_text("half")
    print("written", flush=True)
    time.sleep(60)
"""

INTERRUPTED_AT_AN_IMPORT = """
import runpy, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == at:
            print("what nobody reads any more")
            signal.raise_signal(signal.SIGINT)
at = sys.argv.pop(1)
sys.meta_path.insert(0, Finder())
runpy.run_module("bdpcap", run_name="__main__")
"""


@pytest.fixture(scope="module")
def transfer(tmp_path_factory):
    return write_pcap(tmp_path_factory.mktemp("outputs") / "transfer.pcap")


def fail(*_):
    raise OSError(28, "No space left on device")


def begun(path):
    """Start a process that has written half of an output, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_THEN_WAITS, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "written\n"
    return process


def ended(process, number):
    process.send_signal(number)
    process.wait(SECONDS)
    process.stdout.close()


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_cannot_be_finished_leaves_the_one_that_was(
    name, transfer, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent")  # no images: they are slow, and not what is asked here
    path = tmp_path / name
    path.write_text("the one before")
    command, *option = OUTPUTS[name]
    captures = [str(transfer)] * (2 if command == "compare" else 1)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        assert main([command, *captures, *option, str(path)]) == 1
    assert capsys.readouterr().err == f"bdpcap: {path}: No space left on device\n"
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208
    assert path.read_text() == "the one before"
    assert main([command, *captures, *option, str(path)]) == 0
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208
    assert path.read_bytes()[:14] != b"the one before"


@pytest.mark.parametrize("there", [False, True])
def test_a_process_that_is_killed_leaves_no_half_output(there, tmp_path):
    path = tmp_path / "report.html"
    if there:
        path.write_text("the one before")
    ended(begun(path), signal.SIGKILL)
    assert path.exists() == there
    assert not there or path.read_text() == "the one before"


def test_an_interrupt_removes_what_was_begun(tmp_path):
    ended(begun(tmp_path / "report.html"), signal.SIGINT)
    assert list(tmp_path.iterdir()) == []


def test_permissions_and_links_are_those_of_the_file_that_is_replaced(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    with files.replacing(link) as part:
        part.write_text("after")
    assert (link.is_symlink(), file.read_text()) == (True, "after")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_that_any_has(tmp_path):
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("")
    with files.replacing(ours) as part:
        part.write_text("")
    assert ours.stat().st_mode == plain.stat().st_mode


def test_a_directory_that_is_not_there_is_named_with_the_file(transfer, tmp_path, capsys):
    path = tmp_path / "none" / "flows.csv"
    assert main(["flows", str(transfer), "-o", str(path)]) == 1
    assert capsys.readouterr().err == f"bdpcap: {path}: No such file or directory\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["flows", "events", "report --text", "excerpt --stream 0", "annotate"])
def test_a_full_disk_is_told_in_one_line(command, transfer):
    with Path("/dev/full").open("wb") as full:
        words = [*command.split(), *(["-"] if "--text" in command else [])]
        to = ["-o", "-"] if command.split()[0] in ("excerpt", "annotate") else []
        done = subprocess.run(
            [sys.executable, "-m", "bdpcap", *words, str(transfer), *to],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
            timeout=SECONDS,
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_named_pipe_is_written_to_and_not_replaced(transfer, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main(["flows", str(transfer), "--format", "csv", "-o", str(pipe)]) == 0
    reader.join(SECONDS)
    assert read[0].startswith(b"stream,")
    assert pipe.is_fifo()


CLOSED = [
    "report --text -",
    "flows",
    "info",
    "rtts",
    "explain",
    "events",
    "bdp",
    "excerpt",
    "annotate",
    "parquet",
    "--help",
]


def unread(*arguments, **environment):
    """Run Python with an output that nobody reads."""
    end, start = os.pipe()
    os.close(end)
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        stdout=start,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
        timeout=SECONDS,
    )
    os.close(start)
    return done


@pytest.mark.parametrize("command", CLOSED)
def test_a_reader_that_never_reads_is_no_error(command, transfer):
    words = {
        "bdp": ["bdp", "--rate", "1g", "--rtt", "20ms"],
        "excerpt": ["excerpt", str(transfer), "--stream", "0", "-o", "-"],
        "annotate": ["annotate", str(transfer), "-o", "-"],
        "parquet": ["flows", str(transfer), "--format", "parquet"],
        "--help": ["--help"],
    }.get(command) or [*command.split(), str(transfer)]
    done = unread("-m", "bdpcap", *words)
    assert (done.returncode, "Traceback" in done.stderr, "internal" in done.stderr) == (0, False, False)


def redirected(words, redirection):
    """Run bdpcap with redirections of a shell."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "bdpcap", *map(str, words)],
        capture_output=True,
        check=False,
        text=True,
        timeout=SECONDS,
    )


@pytest.mark.parametrize(
    "command", ["flows", "report --text -", "events", "info", "flows --format parquet", "--help"]
)
def test_a_closed_output_is_told_in_one_line(command, transfer):
    done = redirected([*command.split(), *([] if command == "--help" else [transfer])], ">&-")
    assert (done.returncode, done.stderr) == (
        1,
        "bdpcap: standard output is closed: give -o FILE, or > /dev/null\n",
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_what_is_closed_is_not_needed_to_write_a_file(closed, transfer, tmp_path):
    open_, shut = tmp_path / "open.csv", tmp_path / "shut.csv"
    assert redirected(["flows", transfer, "-o", open_], "").returncode == 0
    done = redirected(["flows", transfer, "-o", shut], closed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert shut.read_bytes() == open_.read_bytes()


def test_messages_to_a_closed_output_are_discarded(transfer):
    told = redirected(["flows", transfer], "2>&-")
    assert (told.returncode, told.stdout) == (0, redirected(["flows", transfer], "").stdout)
    assert redirected(["flows", "absent.pcap"], "2>&-").returncode == 1


def test_a_closed_input_is_wrong_usage():
    done = redirected(["flows", "-"], "<&-")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard input is closed" in done.stderr


def test_an_interrupt_while_reading_exits_as_such(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "bdpcap", "flows", str(pipe), "-o", str(tmp_path / "flows.csv")],
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("wb"):  # opened once the program reads
        process.send_signal(signal.SIGINT)
        # A signal is looked at between two reads: the end of the pipe is one.
    _, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, said) == (130, "")
    assert os.listdir(tmp_path) == ["pipe"]  # noqa: PTH208


@pytest.mark.parametrize("at", ["typer", "bdpcap.cli.commands", "bdpcap.cli.flows", "bdpcap.analysis"])
def test_an_interrupt_at_any_moment_of_the_start_is_quiet(at, transfer):
    # As of `bdpcap flows | head`, of which ^C ends both.
    done = unread("-c", INTERRUPTED_AT_AN_IMPORT, at, "flows", str(transfer), PYTHONUNBUFFERED="")
    assert (done.returncode, done.stderr) == (130, "")


def test_no_interrupt_is_raised_while_pandas_writes_json(monkeypatch):
    # Raised there, one crashes the process, or turns into an error of another name.
    done = []

    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)
        done.append(1)
        return "{}"

    monkeypatch.setattr(pd.DataFrame, "to_json", interrupted)
    for write in (rows.lines, rows.records):
        with pytest.raises(KeyboardInterrupt):
            write(pd.DataFrame({"stream": [0]}))
    assert len(done) == 2


def test_the_archive_is_a_whole_one(transfer, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent")
    path = tmp_path / "report.zip"
    assert main(["report", str(transfer), "--bundle", str(path)]) == 0
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
