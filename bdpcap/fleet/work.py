"""The work of one worker: analyse captures and write a part of the dataset; failures are recorded in it, too."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import bdpcap
from bdpcap.fleet import findings
from bdpcap.fleet.dataset import Dataset
from bdpcap.read.remote import NoReaderError, explained, is_url, located, shown
from bdpcap.report import headline, page, ranking
from bdpcap.tables import cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bdpcap.fleet.captures import Task
    from bdpcap.fleet.dataset import Part

__all__ = ["Order", "failed", "local", "named_by_url", "record", "work"]


@dataclass(frozen=True)
class Order:
    """Settings of a run, common to all its captures."""

    out: str
    """URL or path of the dataset, as the workers reach it."""
    filter: str | None
    """Capture filter in the syntax of tcpdump."""
    command: tuple[str, ...]
    """The command line, recorded in every status."""
    reports: bool = False
    """Write the report of each capture, too."""


def work(tasks: Sequence[Task], order: Order, part: str) -> list[dict[str, Any]]:
    """Analyse captures, write their tables as a part of the dataset, and return their statuses, which are not written.

    If a capture cannot be read, or bdpcap fails, its status is ``failed`` with the reason, and it has no tables.

    Raises
    ------
    Exception
        Tables cannot be written.
    """
    with Dataset(order.out).part(part) as files:
        return [_analysed(task, order, files) for task in tasks]


def _analysed(task: Task, order: Order, part: Part) -> dict[str, Any]:
    """Analyse a capture, add its tables to a part, and return its status."""
    started, began = time.time_ns(), time.monotonic_ns()
    with ExitStack() as copies:
        try:
            paths = copies.enter_context(local(task.files))
            with named_by_url(paths, task.files):
                capture = bdpcap.analyze(paths, filter=order.filter, jobs=1)
            about = {
                "state": "done",
                "error": None,
                "damage": damage_text(task, capture.damages),
                "inputs": [
                    {**dataclasses.asdict(one), "name": named}
                    for one, named in zip(capture.fingerprints(), task.files, strict=True)
                ],
                "frames": capture.info.frames,
                "datagrams": capture.info.datagrams,
                "streams": capture.info.streams,
                "flows": len(capture),
                "first_ns": capture.info.first_ns,
                "last_ns": capture.info.last_ns,
                "started_ns": started,
            }
            first = ranking.first(capture)
            about["verdict"] = first[0].verdict if first else headline.summary(capture, []) or None
            ranked = findings.table(enumerate(first, start=1))
            report = page.html(capture) if order.reports else None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of the core is not an Exception
            return failed(task, order, error)
        verdicts = capture._contents.verdicts
        tables = {
            "flows": verdicts.flow_cells(),
            "rtts": verdicts.rtt_cells(),
            "findings": [cells.of_frame(ranked)],
        }
        groups = part.add(task.name, tables, report)
        return record(task, order) | about | {"work_ns": time.monotonic_ns() - began, "row_groups": groups}


def failed(task: Task, order: Order, error: BaseException) -> dict[str, Any]:
    """Return the status of a capture that could not be analysed."""
    about: dict[str, Any] = {
        "state": "failed",
        "error": _reason(task, error),
        "inputs": None,
        "row_groups": {},
    }
    return record(task, order) | about


def _reason(task: Task, error: BaseException) -> str:
    """Return why a capture could not be analysed, without the name of its only file, which the status has."""
    plain = isinstance(error, bdpcap.CaptureError | bdpcap.FilterError | NoReaderError | OSError)
    reason = str(error).partition(" (os error")[0] if plain else f"{type(error).__name__}: {error}"
    return reason if len(task.files) > 1 else reason.removeprefix(f"{_name(task.files[0])}: ")


def _name(file: str) -> str:
    """Return a file's name in messages: its path, or its URL without credentials."""
    return shown(file) if is_url(file) else file


def record(task: Task, order: Order) -> dict[str, Any]:
    """Return the entries of a status that identify the task, the version and the settings."""
    return {
        "capture": task.name,
        "generator": f"bdpcap {bdpcap.__version__}",
        "command": list(order.command),
        "filter": order.filter,
        "reports": order.reports,
        "files": list(task.files),
        "size_bytes": sum(task.sizes_bytes),
        "changed": list(task.changed),
    }


def damage_text(task: Task, damages: Sequence[bdpcap.Damage]) -> str | None:
    """Return where and why a capture first broke as text, with the file if there are several; None without damage."""
    if not damages:
        return None
    damage = damages[0]
    file = f"{Path(damage.file).name}: " if len(task.files) > 1 else ""
    return f"{file}frame {damage.frame}, byte {damage.offset}: {damage.reason}"


@contextmanager
def named_by_url(paths: Sequence[str], files: Sequence[str]) -> Iterator[None]:
    """Name files by their URLs in an error of the block, which names their copies."""
    try:
        yield
    except bdpcap.CaptureError as error:
        reason = str(error)
        for path, file in zip(paths, files, strict=True):
            reason = reason.replace(path, _name(file))
        raise bdpcap.CaptureError(reason) from None


@contextmanager
def local(files: Sequence[str]) -> Iterator[list[str]]:
    """Yield local paths of the files.

    Remote files are copied, since they are read more than once; the copies are deleted when the block ends.
    """
    with tempfile.TemporaryDirectory(prefix="bdpcap-") as scratch:
        paths = []
        for number, url in enumerate(files):
            system, path = located(url)
            if "file" not in system.protocol:
                # Each copy has its own folder, since files of one task may have the same name.
                copy = Path(scratch, str(number), PurePosixPath(path).name)
                copy.parent.mkdir()
                with explained(url):
                    system.get_file(path, str(copy))
                path = str(copy)
            paths.append(path)
        yield paths
