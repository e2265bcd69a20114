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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.fleet.captures import Task

__all__ = ["Order", "failed", "work"]


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
        with _local(task) as paths:
            capture = bdpcap.analyze(paths, filter=order.filter, jobs=1)
            about = {
                "state": "done",
                "error": None,
                "damage": capture.damage and f"{Path(capture.damage.file).name}: {_broke(capture.damage)}",
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
            tables = {
                "flows": capture.flows_in_pieces(),
                "rtts": capture.rtts_in_pieces(),
                "findings": iter([findings.table(capture)]),
            }
            status = _record(task, order) | about | {"work_ns": time.monotonic_ns() - began}
            dataset.write(task.name, tables, status)
            return status
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a panic of the core is no Exception
        return failed(task, order, error)


def failed(task: Task, order: Order, error: BaseException) -> dict[str, Any]:
    """Record that a capture could not be analysed, and return its status."""
    about = {"state": "failed", "error": f"{type(error).__name__}: {error}", "inputs": None}
    status = _record(task, order) | about
    Dataset(order.out).write(task.name, {}, status)
    return status


def _record(task: Task, order: Order) -> dict[str, Any]:
    return {
        "generator": f"bdpcap {bdpcap.__version__}",
        "command": list(order.command),
        "filter": order.filter,
        "files": list(task.files),
        "size_bytes": sum(task.sizes_bytes),
    }


def _broke(damage: bdpcap.Damage) -> str:
    return f"frame {damage.frame}, byte {damage.offset}: {damage.reason}"


@contextmanager
def _local(task: Task) -> Iterator[list[str]]:
    """Give local paths of the files: of those elsewhere, copies for as long as it takes; they are read more than once."""
    with tempfile.TemporaryDirectory(prefix="bdpcap-") as scratch:
        paths = []
        for number, url in enumerate(task.files):
            system, path = fsspec.core.url_to_fs(url)
            if "file" not in system.protocol:
                # Apart, since files of one task may have one name.
                copy = Path(scratch, str(number), PurePosixPath(path).name)
                copy.parent.mkdir()
                system.get_file(path, str(copy))
                path = str(copy)
            paths.append(path)
        yield paths
