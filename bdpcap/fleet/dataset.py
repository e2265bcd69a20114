"""The dataset of many captures: tables partitioned by capture, with a status for each capture.

``DIR/flows``, ``DIR/rtts`` and ``DIR/findings`` have ``capture=NAME/part.parquet``, or ``part0.parquet`` and so on if
several workers wrote a table. ``DIR/reports`` has ``capture=NAME/part.html`` if reports were requested. ``DIR/status``
has ``capture=NAME/part.json`` with one object. It is written last: a capture with a status is complete. Every file
appears complete or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import quote, unquote

from bdpcap import _core
from bdpcap.read.remote import located
from bdpcap.tables import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

__all__ = ["REPORTS", "TABLES", "Dataset"]

TABLES: Final = ("flows", "rtts", "findings")
REPORTS: Final = "reports"
"""Folder of the captures' reports."""
_UNFINISHED: Final = "_unfinished"
_READERS: Final = 16
"""Status files that are read in parallel, since each takes a round trip to object storage."""


class Dataset:
    """A dataset in a directory of any file system that fsspec writes."""

    def __init__(self, url: str) -> None:
        self.system, self._root = located(url)
        self.is_remote: Final = "file" not in self.system.protocol
        self.url: Final = url.rstrip("/") if self.is_remote else self._root
        """URL, or absolute path, of the dataset; it does not depend on the working directory."""

    def path(self, table: str, capture: str) -> str:
        """Return the path of a table of a capture; the capture's name is percent-encoded, as DuckDB and Arrow expect."""
        end = {"status": "json", REPORTS: "html"}.get(table, "parquet")
        return posixpath.join(self._folder(table, capture), f"part.{end}")

    def _folder(self, table: str, capture: str) -> str:
        return posixpath.join(self._root, table, f"capture={quote(capture, safe='')}")

    def statuses(self) -> dict[str, dict[str, Any]]:
        """Return the status of every finished or failed capture, by name."""
        paths = self.system.glob(posixpath.join(self._root, "status", "capture=*", "part.json"))
        with ThreadPoolExecutor(_READERS) as readers:
            read = readers.map(lambda path: json.loads(self.system.cat_file(path)), paths)
            return dict(zip(map(_capture, paths), read, strict=True))

    def reports(self, folder: Path) -> dict[str, str]:
        """Return the link from a page in `folder` to the report of each capture that has one, by the capture's name.

        It is relative for a dataset on this machine, so both may be moved together. Browsers open no other URL than
        those of HTTP.
        """
        if self.is_remote and not self.url.startswith("http"):
            return {}
        paths = self.system.glob(posixpath.join(self._root, REPORTS, "capture=*", "part.html"))
        if not self.is_remote:
            return {_capture(path): quote(os.path.relpath(path, folder)) for path in paths}
        return {_capture(path): quote(path, safe=":/") for path in paths}

    def write(
        self,
        capture: str,
        tables: Mapping[str, Iterable[pd.DataFrame]],
        status: dict[str, Any],
        report: str | None = None,
    ) -> None:
        """Write the tables of a capture and its report, if any, then its status. An earlier result is deleted first."""
        with self.unfinished() as folder:
            parts = {table: [self.store(folder, pieces)] for table, pieces in tables.items()}
            if report is not None:
                parts[REPORTS] = [self.store_bytes(folder, [report.encode()])]
            self.publish(capture, parts, status)

    def store(self, folder: str, pieces: Iterable[pd.DataFrame]) -> str:
        """Write a table, or a part of a table, as Parquet into an unfinished folder; return the path."""
        path = self._fresh(folder)
        with self.system.open(path, "wb") as file:
            _write_parquet(pieces, file)
        return path

    def store_bytes(self, folder: str, pieces: Iterable[bytes]) -> str:
        """Write bytes into an unfinished folder; return the path."""
        path = self._fresh(folder)
        with self.system.open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
        return path

    def stored(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes `start` to `end` of a stored file."""
        found: bytes = self.system.cat_file(path, start, end)
        return found

    @staticmethod
    def _fresh(folder: str) -> str:
        # Names are unique: a task may run twice at the same time, if its worker seems to have died.
        return posixpath.join(folder, uuid.uuid4().hex)

    def publish(self, capture: str, parts: Mapping[str, list[str]], status: dict[str, Any]) -> None:
        """Move the stored parts of tables to their final paths, then write the status. An earlier result is deleted."""
        self.forget(capture)
        for table, stored in parts.items():
            final = self.path(table, capture)
            self.system.makedirs(posixpath.dirname(final), exist_ok=True)
            stem, end = posixpath.splitext(final)
            for number, path in enumerate(stored):
                self.system.mv(path, final if len(stored) == 1 else f"{stem}{number}{end}")
        with self.unfinished() as folder:
            whole = self.store_bytes(folder, [json.dumps(status).encode()])
            final = self.path("status", capture)
            self.system.makedirs(posixpath.dirname(final), exist_ok=True)
            self.system.mv(whole, final)

    def forget(self, capture: str) -> None:
        """Delete the results of a capture: first the status, since without a status its tables are ignored."""
        for table in ("status", *TABLES, REPORTS):
            with contextlib.suppress(FileNotFoundError):
                self.system.rm(self._folder(table, capture), recursive=True)

    def clear(self) -> None:
        """Delete the unfinished files of runs that were stopped."""
        with contextlib.suppress(FileNotFoundError):
            self.system.rm(posixpath.join(self._root, _UNFINISHED), recursive=True)

    @contextmanager
    def unfinished(self) -> Iterator[str]:
        """Yield a temporary folder for files that are not complete; it is deleted when the block ends."""
        folder = posixpath.join(self._root, _UNFINISHED, uuid.uuid4().hex)
        self.system.makedirs(folder, exist_ok=True)
        try:
            yield folder
        finally:
            with contextlib.suppress(FileNotFoundError):
                self.system.rm(folder, recursive=True)


def _capture(path: str) -> str:
    """Return the name of the capture that a file of the dataset belongs to."""
    return unquote(posixpath.basename(posixpath.dirname(path)).partition("=")[2])


def _write_parquet(pieces: Iterable[pd.DataFrame], file: BinaryIO) -> None:
    parquet: _core.Parquet | None = None
    for piece in pieces:
        columns = cells.of_frame(piece)
        parquet = parquet or _core.Parquet([*columns], [*columns.values()])
        file.write(parquet.rows([*columns.values()]))
    if parquet:
        file.write(parquet.finish())
