"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bdpcap.errors import ArgumentError, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODE: Final = 0o666
"""Permissions of a new file before the process's umask is applied, the default of `open`."""


def html(path: str | os.PathLike[str]) -> Path:
    """Return the path of a report.

    Raises
    ------
    ArgumentError
        It is no path, or its name is that of another format.
    """
    wanted("path", path, "a path, such as 'report.html'", fits=isinstance(path, (str, os.PathLike)))
    named = Path(path)
    if named.suffix.lower() not in {".html", ".htm"}:
        raise ArgumentError(
            f"{path}: reports are HTML; name it {named.with_suffix('.html')}, a browser prints it as PDF"
        )
    return named


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Yield a temporary path to write to, and rename the file to its final name when the block ends.

    The temporary file is in the directory of the final one, since a rename is atomic only within a file system. If the
    block fails, the file under the final name stays as it was. A device or a named pipe cannot be replaced and is
    written directly.

    Parameters
    ----------
    path
        The final name. If it is a symbolic link, the link stays and its target is replaced.

    Raises
    ------
    OSError
        The directory does not exist, or cannot be written to.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    final = path.resolve()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{final.stem[:100]}-", suffix=final.suffix, dir=final.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(_mode(final))
        part.replace(final)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a full disk lacks a file name
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _mode(final: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    with contextlib.suppress(FileNotFoundError):
        return final.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return _MODE & ~mask
