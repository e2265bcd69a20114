"""What a worker does: one capture to its part of the dataset, whatever is wrong with it."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import fsspec

import bdpcap
from bdpcap.fleet import findings
from bdpcap.fleet.dataset import Dataset
from bdpcap.report import ranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bdpcap.fleet.captures import Task

__all__ = ["Order", "failed", "local", "record", "work"]


@dataclass(frozen=True)
class Order:
    """What is the same for all captures of a run."""

    out: str
    """The dataset, as the workers reach it."""
    filter: str | None
    command: tuple[str, ...]
    """The command line, for the record."""


def work(task: Task, order: Order) -> dict[str, Any]:
    """Analyse a capture and write its tables; return its status, which is written with them.

    A capture that cannot be read, or at which bdpcap fails, has a status of ``failed`` with the reason and no tables.
    """
    started, began = time.time_ns(), time.monotonic_ns()
    dataset = Dataset(order.out)
    try:
        with local(task.files) as paths:
            capture = bdpcap.analyze(paths, filter=order.filter, jobs=1)
            about = {
                "state": "done",
                "error": None,
                "damage": broke(capture.damage),
                "inputs": [
                    {**dataclasses.asdict(one), "name": named}
                    for one, named in zip(capture.fingerprints(), task.files, strict=True)
                ],
                "frames": capture.info.frames,
                "streams": capture.info.streams,
                "flows": len(capture),
                "first_ns": capture.info.first_ns,
                "last_ns": capture.info.last_ns,
                "started_ns": started,
            }
            first = ranking.first(capture)
            tables = {
                "flows": capture.flows_in_pieces(),
                "rtts": capture.rtts_in_pieces(),
                "findings": iter([findings.table(enumerate(first, start=1))]),
            }
            status = record(task, order) | about | {"work_ns": time.monotonic_ns() - began}
            dataset.write(task.name, tables, status)
            return status
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a panic of the core is no Exception
        return failed(task, order, error)


def failed(task: Task, order: Order, error: BaseException) -> dict[str, Any]:
    """Record that a capture could not be analysed, and return its status."""
    about = {"state": "failed", "error": f"{type(error).__name__}: {error}", "inputs": None}
    status = record(task, order) | about
    Dataset(order.out).write(task.name, {}, status)
    return status


def record(task: Task, order: Order) -> dict[str, Any]:
    """Return what tells which task was done, and how."""
    return {
        "generator": f"bdpcap {bdpcap.__version__}",
        "command": list(order.command),
        "filter": order.filter,
        "files": list(task.files),
        "size_bytes": sum(task.sizes_bytes),
    }


def broke(damage: bdpcap.Damage | None) -> str | None:
    """Say where a capture broke, if it did."""
    if damage is None:
        return None
    return f"{Path(damage.file).name}: frame {damage.frame}, byte {damage.offset}: {damage.reason}"


@contextmanager
def local(files: Sequence[str]) -> Iterator[list[str]]:
    """Give local paths of the files: of those elsewhere, copies for as long as it takes; they are read more than once."""
    with tempfile.TemporaryDirectory(prefix="bdpcap-") as scratch:
        paths = []
        for number, url in enumerate(files):
            system, path = fsspec.core.url_to_fs(url)
            if "file" not in system.protocol:
                # Apart, since files of one task may have one name.
                copy = Path(scratch, str(number), PurePosixPath(path).name)
                copy.parent.mkdir()
                system.get_file(path, str(copy))
                path = str(copy)
            paths.append(path)
        yield paths
