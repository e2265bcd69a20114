"""The dataset of many captures: tables in parts, which captures share, with a status for each capture.

A part holds the results of captures that one worker analysed. ``DIR/flows``, ``DIR/rtts`` and ``DIR/findings`` have
``PART.parquet``. If several workers wrote a table, they have ``PART.0.parquet`` and so on. A row group has rows of one
capture, which the column ``capture`` names. ``DIR/status`` has ``PART.jsonl`` with an object for each capture, in the
order of the row groups. It is written last: files of a part without a status are ignored, and deleted by the next run.
``DIR/reports`` has ``capture=NAME/part.html`` if reports were requested. Every file appears complete or not at all.

A part never changes. Captures are taken out of it by a new part with the others, after which the old one is deleted. So
of two parts with a capture in common, which a stopped run may leave, the smaller one counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import quote, unquote

import numpy as np

from bdpcap import _core
from bdpcap.read.remote import located
from bdpcap.tables import cells

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["REPORTS", "TABLES", "Dataset", "Part", "new_part"]

TABLES: Final = ("flows", "rtts", "findings")
REPORTS: Final = "reports"
"""Folder of the captures' reports."""
_STATUS: Final = "status"
_ENDS: Final = (".parquet", ".jsonl")
"""Ends of the names of tables, and of files of statuses."""
_UNFINISHED: Final = "_unfinished"
_READERS: Final = 16
"""Status files that are read in parallel, since each takes a round trip to object storage."""


def new_part() -> str:
    """Return a name that no part has."""
    return uuid.uuid4().hex


class Dataset:
    """A dataset in a directory of any file system that fsspec writes."""

    def __init__(self, url: str) -> None:
        self.system, self._root = located(url)
        self.is_remote: Final = "file" not in self.system.protocol
        self.url: Final = url.rstrip("/") if self.is_remote else self._root
        """URL, or absolute path, of the dataset; it does not depend on the working directory."""

    def statuses(self) -> dict[str, dict[str, Any]]:
        """Return the status of every finished or failed capture, by name."""
        return {one["capture"]: one for part in self.parts().values() for one in part}

    def parts(self) -> dict[str, list[dict[str, Any]]]:
        """Return the statuses of each part that counts, by the name of the part."""
        paths = self._found(_STATUS)
        with ThreadPoolExecutor(_READERS) as readers:
            read = readers.map(lambda path: self.system.cat_file(path).splitlines(), paths)
            parts = {_part(path): [*map(json.loads, lines)] for path, lines in zip(paths, read, strict=True)}
        counted, captures = {}, set[str]()
        for name in sorted(parts, key=lambda name: (len(parts[name]), name)):
            own = {one["capture"] for one in parts[name]}
            if captures.isdisjoint(own):
                counted[name] = parts[name]
                captures |= own
        return counted

    def files(self, table: str, parts: Collection[str]) -> list[str]:
        """Return the files of a table that belong to parts, each by its path on this machine or its URL."""
        paths = [path for path in self._found(table) if _part(path) in parts]
        return [str(self.system.unstrip_protocol(path)) for path in paths] if self.is_remote else paths

    def _found(self, folder: str) -> list[str]:
        """Return the paths of a folder's files; none if there is no such folder."""
        self.system.invalidate_cache()  # workers write them, too
        try:
            found: list[str] = self.system.ls(posixpath.join(self._root, folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(path for path in found if path.endswith(_ENDS))

    def reports(self, folder: Path) -> dict[str, str]:
        """Return the link from a page in `folder` to the report of each capture that has one, by the capture's name.

        It is relative for a dataset on this machine, so both may be moved together. Browsers open no other URL than
        those of HTTP.
        """
        if self.is_remote and not self.url.startswith("http"):
            return {}
        paths = self._reports()
        if not self.is_remote:
            return {_capture(path): quote(os.path.relpath(path, folder)) for path in paths}
        return {_capture(path): quote(path, safe=":/") for path in paths}

    def _reports(self) -> list[str]:
        """Return the paths of all reports."""
        found: list[str] = self.system.glob(posixpath.join(self._root, REPORTS, "capture=*", "part.html"))
        return found

    @contextmanager
    def part(self, name: str) -> Iterator[Part]:
        """Yield a part to add captures to. Its files get their final names when the block ends, its status later."""
        with self.unfinished() as folder:
            with ExitStack() as files:
                part = Part(self, folder, files)
                yield part
                stored = part.finish()
            self.place(name, stored, part.reports)

    def store(self, folder: str, capture: str, pieces: Iterable[cells.Columns]) -> str:
        """Write a table of a capture, or a piece of it, as Parquet into an unfinished folder; return the path."""
        path = self.fresh(folder)
        with self.system.open(path, "wb") as file:
            table = _Table(file)
            table.add(capture, pieces)
            table.finish()
        return path

    def store_bytes(self, folder: str, pieces: Iterable[bytes]) -> str:
        """Write bytes into an unfinished folder; return the path."""
        path = self.fresh(folder)
        with self.system.open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
        return path

    def stored(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes `start` to `end` of a stored file."""
        found: bytes = self.system.cat_file(path, start, end)
        return found

    @staticmethod
    def fresh(folder: str) -> str:
        """Return a path in an unfinished folder for a file."""
        # Names are unique: a task may run twice at the same time, if its worker seems to have died.
        return posixpath.join(folder, uuid.uuid4().hex)

    def place(self, part: str, stored: Mapping[str, Sequence[str]], reports: Mapping[str, str]) -> None:
        """Move stored tables, and reports by their captures, to their final paths."""
        for table, paths in stored.items():
            for number, path in enumerate(paths):
                self._move(path, self._path(table, part if len(paths) == 1 else f"{part}.{number}"))
        for capture, path in reports.items():
            self._move(path, posixpath.join(self._report(capture), "part.html"))

    def commit(self, part: str, statuses: Sequence[dict[str, Any]]) -> None:
        """Write the statuses of a part whose other files are in place, which completes it."""
        with self.unfinished() as folder:
            lines = (json.dumps(status).encode() + b"\n" for status in statuses)
            self._move(self.store_bytes(folder, lines), self._path(_STATUS, part))

    def forget(self, captures: Collection[str]) -> None:
        """Delete the results of captures."""
        replaced: list[str] = []
        reported: list[str] = []
        for name, statuses in self.parts().items():
            kept = [one["capture"] not in captures for one in statuses]
            if any(kept) and not all(kept):
                self._copy(name, statuses, kept)
            if not all(kept):
                replaced.append(name)
                reported += [
                    one["capture"] for one in statuses if one["reports"] and one["capture"] in captures
                ]
        self._delete(replaced)
        for capture in reported:  # as long as a part counts, so do the reports of its captures
            self._remove(self._report(capture))

    def _copy(self, name: str, statuses: Sequence[dict[str, Any]], kept: Sequence[bool]) -> None:
        """Write a new part with the captures of another that are kept."""
        part = new_part()
        tables = {table for one in statuses for table in one["row_groups"]}
        with self.unfinished() as folder:
            stored = {}
            for table in tables:
                counts = [one["row_groups"].get(table, 0) for one in statuses]
                groups = np.flatnonzero(np.repeat(kept, counts)).tolist()
                whole = self.system.cat_file(self._path(table, name))
                stored[table] = [self.store_bytes(folder, [_core.with_row_groups(whole, groups)])]
            self.place(part, stored, {})
        self.commit(part, [one for one, stays in zip(statuses, kept, strict=True) if stays])

    def _delete(self, parts: Collection[str]) -> None:
        """Delete parts: first their statuses, since without a status tables are ignored."""
        for table in (_STATUS, *TABLES):
            paths = [path for path in self._found(table) if _part(path) in parts]
            if paths:
                self.system.rm(paths)

    def _remove(self, folder: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.system.rm(folder, recursive=True)

    def clear(self) -> None:
        """Delete files that stopped runs left: unfinished ones, and those of parts and captures that do not count."""
        self._remove(posixpath.join(self._root, _UNFINISHED))
        every = {_part(path) for table in (_STATUS, *TABLES) for path in self._found(table)}
        parts = self.parts()
        self._delete(every.difference(parts))
        reported = {one["capture"] for part in parts.values() for one in part if one["reports"]}
        for capture in {*map(_capture, self._reports())} - reported:
            self._remove(self._report(capture))

    def _path(self, table: str, name: str) -> str:
        return posixpath.join(self._root, table, name + _ENDS[table == _STATUS])

    def _report(self, capture: str) -> str:
        """Return the folder of a capture's report; the capture's name is percent-encoded."""
        return posixpath.join(self._root, REPORTS, f"capture={quote(capture, safe='')}")

    def _move(self, path: str, final: str) -> None:
        self.system.makedirs(posixpath.dirname(final), exist_ok=True)
        self.system.mv(path, final)

    @contextmanager
    def unfinished(self) -> Iterator[str]:
        """Yield a temporary folder for files that are not complete; it is deleted when the block ends."""
        folder = posixpath.join(self._root, _UNFINISHED, uuid.uuid4().hex)
        self.system.makedirs(folder, exist_ok=True)
        try:
            yield folder
        finally:
            self._remove(folder)


class Part:
    """The tables and reports of captures, in the making."""

    def __init__(self, dataset: Dataset, folder: str, files: ExitStack) -> None:
        self._dataset: Final = dataset
        self._folder: Final = folder
        self._files: Final = files
        self._tables: Final[dict[str, tuple[str, _Table]]] = {}
        self.reports: Final[dict[str, str]] = {}
        """Path of each stored report, by its capture."""

    def add(
        self, capture: str, tables: Mapping[str, Iterable[cells.Columns]], report: str | None
    ) -> dict[str, int]:
        """Write the tables of a capture, and its report if any; return the number of row groups in each table."""
        groups = {table: self._table(table).add(capture, pieces) for table, pieces in tables.items()}
        if report is not None:
            self.reports[capture] = self._dataset.store_bytes(self._folder, [report.encode()])
        return groups

    def _table(self, table: str) -> _Table:
        if table not in self._tables:
            path = self._dataset.fresh(self._folder)
            file = self._files.enter_context(self._dataset.system.open(path, "wb"))
            self._tables[table] = path, _Table(file)
        return self._tables[table][1]

    def finish(self) -> dict[str, list[str]]:
        """Write the ends of the tables; return the path of each stored table."""
        for _, table in self._tables.values():
            table.finish()
        return {name: [path] for name, (path, _) in self._tables.items()}


class _Table:
    """A Parquet file in the making, whose last column names the capture of each row."""

    def __init__(self, file: BinaryIO) -> None:
        self._file: Final = file
        self._parquet: _core.Parquet | None = None

    def add(self, capture: str, pieces: Iterable[cells.Columns]) -> int:
        """Write rows of a capture; return the number of row groups, which is that of the pieces with rows."""
        groups = 0
        for piece in pieces:
            rows = len(piece["stream"][0])
            columns = piece | {"capture": cells.named(np.zeros(rows, np.int64), [capture])}
            self._parquet = self._parquet or _core.Parquet([*columns], [*columns.values()])
            self._file.write(self._parquet.rows([*columns.values()]))
            groups += rows > 0
        return groups

    def finish(self) -> None:
        """Write the end of the file, which stays open."""
        if self._parquet:
            self._file.write(self._parquet.finish())


def _part(path: str) -> str:
    """Return the name of the part that a file of the dataset belongs to."""
    return posixpath.basename(path).partition(".")[0]


def _capture(path: str) -> str:
    """Return the name of the capture that a report belongs to."""
    return unquote(posixpath.basename(posixpath.dirname(path)).partition("=")[2])
