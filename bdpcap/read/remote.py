"""Captures named by a URL: each pass streams them from the server through fsspec, and nothing is kept."""

from __future__ import annotations

import logging
import os
import re
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from bdpcap import _core
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NoReaderError", "RemoteFile", "explained", "is_url", "located", "matching", "shown", "size_bytes"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_EXTRAS: Final = {"http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
"""Extras of bdpcap by the schemes that they read."""
_HTTP: Final = ("http", "https")
BLOCK_BYTES: Final = 1 << 23
"""Bytes of one request to object storage: at 20 ms for a request and 1 Gbit/s, waiting takes a fifth of the time."""
CHUNK_BYTES: Final = 1 << 20
"""Bytes that are taken from fsspec at once, since each call waits for another thread."""
_STALLED_S: Final = 60
"""Seconds without a byte after which an HTTP server is given up; the whole transfer may take any time."""
_REMEDIES: Final = {
    "NoSuchBucket": "there is no such bucket: check its name",
    "NoCredentialsError": "no credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run aws configure",
    "InvalidAccessKeyId": "the server does not know the access key: check AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "the secret key does not fit the access key: check AWS_SECRET_ACCESS_KEY",
    "AccessDenied": "access denied: ask the owner of the bucket to let you read it",
}
"""Failures of object storage and what to do, by the code of S3's answer or the class of botocore's error."""


# gcsfs logs each try of a request, and Python writes a log that has no handler to standard error. What failed at last is
# an error of this module.
logging.getLogger("gcsfs").addHandler(logging.NullHandler())


class NoReaderError(ValueError):
    """No installed package reads URLs of a scheme."""


def is_url(name: str) -> bool:
    """Return whether a name is a URL and not a path."""
    return _SCHEME.match(name) is not None


def shown(url: str) -> str:
    """Return a URL without user, password, query and fragment, which may hold credentials."""
    scheme, _, rest = url.partition("://")
    host, slash, path = re.split("[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def located(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec for a URL or a path, and the path there.

    Raises
    ------
    NoReaderError
        A package is missing that reads such URLs, or fsspec does not know the scheme.
    CaptureError
        The server cannot be reached, or the URL is none.
    """
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else "file"
    try:
        import fsspec  # noqa: PLC0415 - an extra

        if scheme not in fsspec.available_protocols():
            raise NoReaderError(f"{units.printable(shown(url))}: fsspec reads no {scheme}://")
        with explained(url):
            system, path = fsspec.core.url_to_fs(url, **_settings(scheme))
    except ImportError as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        extra = _EXTRAS.get(scheme)
        remedy = f"pip install 'bdpcap[{extra}]'" if extra else str(error)
        raise NoReaderError(f"{scheme}:// needs {missing or 'another package'}: {remedy}") from None
    return system, str(path)


def matching(url: str) -> list[str]:
    """Return the URLs that a pattern stands for; a URL without ``*`` stands for itself.

    Raises
    ------
    CaptureError
        No file matches, or there is no such file.
    """
    if "*" not in shown(url):
        size_bytes(url)
        return [url]
    system, path = located(url)
    with explained(url):
        found = [str(system.unstrip_protocol(one)) for one in system.glob(path)]
    if not found:
        raise _core.CaptureError(f"{units.printable(shown(url))}: no file matches this pattern")
    return found


@lru_cache
def size_bytes(url: str) -> int | None:
    """Return the size of a file in bytes; None if the server does not give it.

    Raises
    ------
    CaptureError
        The server cannot be reached, or does not give the file.
    """
    system, path = located(url)
    with explained(url):
        about = system.info(path)
    if about["type"] == "directory":
        folder = units.printable(shown(url))
        inside = folder if folder.endswith("/") else f"{folder}/"
        raise _core.CaptureError(f"{folder}: is a folder; name its captures: '{inside}*'")
    size = about.get("size")
    return None if size is None else int(size)


class RemoteFile:
    """A remote file as a stream, which is opened at the first read and closed at its end.

    Raises
    ------
    CaptureError
        The file cannot be opened, or no longer be read.
    """

    def __init__(self, url: str) -> None:
        self.name: Final = shown(url)
        self._url = url
        self._file: Any = None
        self._rest = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end of the file."""
        if not self._rest:
            with explained(self._url):
                if self._file is None:
                    self._file = _opened(self._url)
                self._rest = memoryview(b"" if self._file.closed else self._file.read(CHUNK_BYTES))
            if not self._rest:
                self.close()
        piece, self._rest = self._rest[:size], self._rest[size:]
        return bytes(piece)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes from here to the end."""
        while piece := self.read(CHUNK_BYTES):
            yield piece

    def close(self) -> None:
        """Close the connection; a later read returns nothing."""
        if self._file is not None and not self._file.closed:
            self._file.close()

    def __del__(self) -> None:
        """Close the connection of a file that was not read to its end."""
        self.close()


def _settings(scheme: str) -> dict[str, Any]:
    """Return settings of a file system: no bound on the duration of a transfer by HTTP, which has one of five minutes."""
    if scheme not in _HTTP:
        return {}
    from aiohttp import ClientTimeout  # noqa: PLC0415 - an extra

    return {
        "client_kwargs": {"timeout": ClientTimeout(total=None, sock_connect=_STALLED_S, sock_read=_STALLED_S)}
    }


def _opened(url: str) -> Any:
    system, path = located(url)
    # By HTTP one request, since not every server answers requests for parts.
    block_bytes = 0 if urlsplit(url).scheme.lower() in _HTTP else BLOCK_BYTES
    return system.open(path, "rb", block_size=block_bytes, cache_type="readahead")


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn every failure of a server into a `CaptureError` that names the file."""
    try:
        yield
    except (NoReaderError, ImportError, _core.CaptureError):
        raise
    except Exception as error:  # noqa: BLE001 - every file system has other classes of errors
        reason = error.__cause__ or error
        raise _core.CaptureError(
            f"{units.printable(shown(url))}: cannot be read: {_why(reason, url)}"
        ) from None


def _why(reason: BaseException, url: str) -> str:
    """Return the reason of a failure in words, without the credentials that the URL may hold."""
    answer = getattr(reason, "response", None)
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else type(reason).__name__
    if code in _REMEDIES:
        return _REMEDIES[code]
    status = getattr(reason, "status", None)
    if status:  # the text of HTTP's errors has the whole URL
        return f"{status} {getattr(reason, 'message', '')}".strip()
    if isinstance(reason, FileNotFoundError):
        return "no such file"
    if isinstance(reason, OSError) and reason.errno:
        # The text of asyncio's errors is a call. Numbers below zero are errors of names, whose text says enough.
        return os.strerror(reason.errno) if reason.errno > 0 else str(reason.strerror)
    return f"{type(reason).__name__}: {str(reason).replace(url, shown(url))}"
