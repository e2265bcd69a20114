"""The errors that bdpcap raises. The core makes `CaptureError` and `FilterError`."""

from __future__ import annotations

from numbers import Integral
from typing import Final

from bdpcap._core import CaptureError, FilterError

__all__ = ["ArgumentError", "CaptureError", "FilterError", "NotFoundError", "is_count", "of_flow", "wanted"]

_SHOWN: Final = 60
"""Most characters of a wrong argument that an error shows; a choice."""

_CAPTURE: Final = """

    Examples
    --------
    >>> bdpcap.analyze(b"")
    Traceback (most recent call last):
    bdpcap.CaptureError: <bytes>: the file is empty
    """
_FILTER: Final = """

    Examples
    --------
    >>> bdpcap.analyze("sample_captures/linux61_advwinscale2_w50000.pcap.zst", filter="tcp prt 1")
    Traceback (most recent call last):
    bdpcap.FilterError: bad filter 'tcp prt 1': can't parse filter expression: syntax error; check its syntax ...
    """
for _error, _example in ((CaptureError, _CAPTURE), (FilterError, _FILTER)):
    _error.__doc__ = f"{_error.__doc__}{_example}"
    _error.__module__ = "bdpcap"  # where users import it, and where pickle finds it


class ArgumentError(ValueError):
    """An argument that bdpcap cannot use. The text is one line: the fault, and an argument that would do.

    Examples
    --------
    >>> bdpcap.bdp("fast", "40ms")
    Traceback (most recent call last):
    bdpcap.ArgumentError: cannot read 'fast': write a number and its unit, such as 100Mbit
    """

    __module__ = "bdpcap"


class NotFoundError(KeyError, IndexError):
    """A flow or a stream that the capture does not have. The text is one line, and names what there is.

    Examples
    --------
    >>> capture.flow(7)
    Traceback (most recent call last):
    bdpcap.NotFoundError: no flow of stream 7: the capture has 1 stream, stream 0
    """

    __module__ = "bdpcap"

    def __str__(self) -> str:
        """Return the text as it is, where a KeyError puts it in quotes."""
        return str(self.args[0])


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def wanted(name: str, given: object, such: str, *, fits: bool) -> None:
    """Refuse an argument unless it fits; `such` is one that would do."""
    if not fits:
        raise ArgumentError(f"{name} is {_shown(given)}: give {such}")


def is_count(given: object) -> bool:
    """Return whether an argument is a whole number above zero."""
    return isinstance(given, Integral) and int(given) > 0


def of_flow(given: object) -> None:
    """Refuse any object but a `Flow`; modules below cannot import the class."""
    wanted("flow", given, "a flow of a capture, such as capture[0]", fits=hasattr(given, "sender"))
