"""Where a fleet's results lie: tables partitioned by capture, each file whole or not there, and what is complete.

``DIR/flows``, ``DIR/rtts`` and ``DIR/findings`` hold ``capture=NAME/part.parquet``, or ``part0.parquet`` and so on where
several workers wrote them; ``DIR/status`` holds ``capture=NAME/part.json``, one object, written last: what has one is
complete.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import quote, unquote

import fsspec

from bdpcap import _core
from bdpcap.tables import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

__all__ = ["TABLES", "Dataset"]

TABLES: Final = ("flows", "rtts", "findings")
_UNFINISHED: Final = "_unfinished"
_READERS: Final = 16
"""Status files read at once: with object storage each takes a round trip."""


class Dataset:
    """A directory of any file system that fsspec writes."""

    def __init__(self, url: str) -> None:
        self._system, self._root = fsspec.core.url_to_fs(url)
        self.url: Final = self._root if "file" in self._system.protocol else url
        """The same from any working directory."""

    def path(self, table: str, capture: str) -> str:
        """Return where a table of a capture lies; its name is quoted as DuckDB and Arrow read it."""
        end = "json" if table == "status" else "parquet"
        return posixpath.join(self._folder(table, capture), f"part.{end}")

    def _folder(self, table: str, capture: str) -> str:
        return posixpath.join(self._root, table, f"capture={quote(capture, safe='')}")

    def statuses(self) -> dict[str, dict[str, Any]]:
        """Return what is said of every capture that was finished, well or not, by name."""
        paths = self._system.glob(posixpath.join(self._root, "status", "capture=*", "part.json"))
        with ThreadPoolExecutor(_READERS) as readers:
            said = readers.map(lambda path: json.loads(self._system.cat_file(path)), paths)
            names = (unquote(posixpath.basename(posixpath.dirname(path)).partition("=")[2]) for path in paths)
            return dict(zip(names, said, strict=True))

    def write(
        self, capture: str, tables: Mapping[str, Iterable[pd.DataFrame]], status: dict[str, Any]
    ) -> None:
        """Write the tables of a capture, then its status; an earlier result is taken away first."""
        with self.unfinished() as folder:
            parts = {table: [self.store(folder, pieces)] for table, pieces in tables.items()}
            self.publish(capture, parts, status)

    def store(self, folder: str, pieces: Iterable[pd.DataFrame]) -> str:
        """Write a table, or a part of one, into an unfinished folder; return its path."""
        path = self._fresh(folder)
        with self._system.open(path, "wb") as file:
            _write_parquet(pieces, file)
        return path

    def store_bytes(self, folder: str, pieces: Iterable[bytes]) -> str:
        """Write bytes likewise."""
        path = self._fresh(folder)
        with self._system.open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
        return path

    def stored(self, path: str, start: int, end: int) -> bytes:
        """Return some of the bytes that were stored."""
        found: bytes = self._system.cat_file(path, start, end)
        return found

    @staticmethod
    def _fresh(folder: str) -> str:
        # A task that is run again, since its worker died or seemed to, gets in nobody's way.
        return posixpath.join(folder, uuid.uuid4().hex)

    def publish(self, capture: str, parts: Mapping[str, list[str]], status: dict[str, Any]) -> None:
        """Give the stored parts of tables their places, then write the status; an earlier result is taken away first."""
        self.forget(capture)
        for table, stored in parts.items():
            final = self.path(table, capture)
            self._system.makedirs(posixpath.dirname(final), exist_ok=True)
            stem, end = posixpath.splitext(final)
            for number, path in enumerate(stored):
                self._system.mv(path, final if len(stored) == 1 else f"{stem}{number}{end}")
        with self.unfinished() as folder:
            whole = self.store_bytes(folder, [json.dumps(status).encode()])
            final = self.path("status", capture)
            self._system.makedirs(posixpath.dirname(final), exist_ok=True)
            self._system.mv(whole, final)

    def forget(self, capture: str) -> None:
        """Take away what there is of a capture: its status first, since without one nothing counts."""
        for table in ("status", *TABLES):
            with contextlib.suppress(FileNotFoundError):
                self._system.rm(self._folder(table, capture), recursive=True)

    def clear(self) -> None:
        """Take away what runs that were stopped left unfinished."""
        with contextlib.suppress(FileNotFoundError):
            self._system.rm(posixpath.join(self._root, _UNFINISHED), recursive=True)

    @contextmanager
    def unfinished(self) -> Iterator[str]:
        """Give a folder for what is not complete; it is taken away afterwards."""
        folder = posixpath.join(self._root, _UNFINISHED, uuid.uuid4().hex)
        self._system.makedirs(folder, exist_ok=True)
        try:
            yield folder
        finally:
            with contextlib.suppress(FileNotFoundError):
                self._system.rm(folder, recursive=True)


def _write_parquet(pieces: Iterable[pd.DataFrame], file: BinaryIO) -> None:
    parquet: _core.Parquet | None = None
    for piece in pieces:
        columns = cells.of_frame(piece)
        parquet = parquet or _core.Parquet([*columns], [*columns.values()])
        file.write(parquet.rows([*columns.values()]))
    if parquet:
        file.write(parquet.finish())
