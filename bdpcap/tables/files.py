"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODE: Final = 0o666
"""What a new file may be, before the process's mask takes from it; `open` gives the same."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Give a path to write to, and put what was written there under the final name once it is whole.

    The path is in the same directory, since only there a file can be renamed in one step. Whatever fails before the
    end leaves the final name as it was. What is no regular file, such as a device or a named pipe, cannot be replaced
    and is written directly.

    Parameters
    ----------
    path
        The final name. A symbolic link stays, and the file that it names is replaced.

    Raises
    ------
    OSError
        There is no such directory, or it cannot be written to.
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
            error.filename = str(path)  # a full disk is not told of with a name
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _mode(final: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    with contextlib.suppress(FileNotFoundError):
        return final.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return _MODE & ~mask
