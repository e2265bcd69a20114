"""What bdpcap raises of its own; `CaptureError` and `FilterError` come from the core."""

from __future__ import annotations

__all__ = ["ArgumentError", "NotFoundError"]


class ArgumentError(ValueError):
    """An argument that bdpcap cannot use. The text is one line: what is wrong, and what to give instead.

    >>> bdpcap.bdp("fast", "40ms")
    Traceback (most recent call last):
    bdpcap.ArgumentError: cannot read 'fast': write a number and its unit, such as 100Mbit
    """

    __module__ = "bdpcap"


class NotFoundError(KeyError, IndexError):
    """A flow or a stream that the capture does not have. The text is one line, and names what there is.

    >>> capture.flow(7)
    Traceback (most recent call last):
    bdpcap.NotFoundError: no flow of stream 7: the capture has 1 stream, stream 0
    """

    __module__ = "bdpcap"

    def __str__(self) -> str:
        """Return the text as it is, where a KeyError puts it in quotes."""
        return str(self.args[0])
