"""Finding captures by files, directories and patterns on any file system that fsspec reads; each becomes a task."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap.read import rotation
from bdpcap.read.remote import explained, located

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    _File = tuple[str, int, str | None]  # URL, size and time of the last change

__all__ = ["Task", "groups", "tasks"]

CAPTURE_BYTES: Final = 1_000_000
"""A capture costs a worker as much as so many bytes of short connections, even if it is empty: some 50 ms."""
GROUPS_EACH: Final = 4
"""Groups for each worker, so that no worker waits long for the one that has the last group."""
GROUP_BYTES: Final = (16_000_000, 64_000_000)
"""Least and most cost of a group. Starting a worker takes longer than less; more is lost if a run is stopped."""
_CHANGED: Final = ("mtime", "LastModified", "updated")
"""Names by which file systems of fsspec give the time of a file's last change: on disks, S3 and Google's store."""


@dataclass(frozen=True)
class Task:
    """A capture of one or more files that a worker analyses."""

    name: str
    """Name of the capture's partition in the dataset: its path relative to the input."""
    files: tuple[str, ...]
    """URLs or local paths."""
    sizes_bytes: tuple[int, ...]
    """Size of each file."""
    changed: tuple[str | None, ...] = ()
    """Time of the last change of each file, as its file system gives it; None if it gives none."""


def tasks(inputs: Sequence[str], *, rotated: bool) -> tuple[list[Task], int]:
    """Return the tasks, and the number of files in directories that were skipped because of their names.

    Parameters
    ----------
    inputs
        Paths or URLs of files, directories (with their subdirectories) and patterns.
    rotated
        Take the files of one ring buffer, found by the numbers in their names, as one capture.

    Raises
    ------
    FileNotFoundError
        No capture matches an input.
    CaptureError
        A server cannot be reached, or refuses.
    ValueError
        Two captures would have the same name.
    """
    found: dict[str, Task] = {}
    skipped = 0
    for named in inputs:
        files, others = _below(named)
        skipped += others
        for task in _rings(files) if rotated else (_task(name, [file]) for name, file in files):
            if found.setdefault(task.name, task).files != task.files:
                raise ValueError(
                    f"{found[task.name].files[0]} and {task.files[0]} would both be {task.name}: "
                    "name a directory above both"
                )
    return list(found.values()), skipped


def groups(tasks: Sequence[Task], workers: int) -> list[tuple[Task, ...]]:
    """Return groups of captures that share files, the costliest group first; a large capture is a group by itself."""
    costs = {task: CAPTURE_BYTES + sum(task.sizes_bytes) for task in tasks}
    least, most = GROUP_BYTES
    limit = min(max(sum(costs.values()) / (GROUPS_EACH * workers), least), most)
    found: list[list[Task]] = []
    room = 0.0
    for task in sorted(tasks, key=lambda task: -costs[task]):
        if costs[task] > room:
            found.append([])
            room = limit
        found[-1].append(task)
        room -= costs[task]
    return [tuple(group) for group in found]


def _task(name: str, files: Iterable[_File]) -> Task:
    """Return the task of a capture."""
    return Task(name, *map(tuple, zip(*files, strict=True)))


def _below(named: str) -> tuple[list[tuple[str, _File]], int]:
    """Return name and file of every capture that an input stands for, and the number of other files."""
    if not named:
        raise FileNotFoundError("the name of an input is empty")
    system, path = located(named)
    others = 0
    with explained(named):
        if system.isdir(path):
            every = system.find(path, detail=True)
            # Files are not opened to detect captures, since there may be thousands.
            listed = {one: about for one, about in every.items() if rotation.CAPTURE.search(one)}
            others, root = len(every) - len(listed), path
        elif system.exists(path):
            listed, root = {path: system.info(path)}, posixpath.dirname(path)
        else:
            matching = system.glob(path, detail=True)
            listed = {one: about for one, about in matching.items() if about["type"] == "file"}
            root = posixpath.dirname(re.split(r"[*?\[]", path, maxsplit=1)[0])
    if not listed:
        raise FileNotFoundError(f"{named}: no capture there")
    return [
        (
            posixpath.relpath(one, root or "."),
            (_url(system, one), int(about.get("size") or 0), _changed(about)),
        )
        for one, about in sorted(listed.items())
    ], others


def _url(system: Any, path: str) -> str:
    return path if "file" in system.protocol else str(system.unstrip_protocol(path))


def _changed(about: Mapping[str, Any]) -> str | None:
    return next((str(about[name]) for name in _CHANGED if about.get(name)), None)


def _rings(files: Iterable[tuple[str, _File]]) -> list[Task]:
    """Return one task for each ring buffer, named by the common part of its file names, and one for each other file."""
    rings: dict[str, list[_File]] = {}
    for name, file in files:
        ring = rotation.members(name)
        rings.setdefault(posixpath.normpath(ring[0]) if ring else name, []).append(file)
    return [_task(name, own) for name, own in rings.items()]
