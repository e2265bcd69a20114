"""Both ends of a path, from two captures: `pair`, and the `Pair` that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.analysis import analyze
from bdpcap.capture import Capture
from bdpcap.errors import wanted
from bdpcap.pairing import Ends
from bdpcap.tables import files

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from bdpcap.read.core_pass import OneSource

__all__ = ["Pair", "pair"]


def pair(
    sender: Capture | OneSource,
    receiver: Capture | OneSource,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
) -> Pair:
    """Match captures from both ends of a path: losses by place, one-way delays, clocks, rewritten options.

    Parameters
    ----------
    sender, receiver
        Captures taken near the sender of the data and near its receiver, analysed or as files. Addresses and ports may
        differ; connections are matched by sequence numbers.
    filter
        Capture filter for the captures that are not analysed yet.

    Raises
    ------
    CaptureError
        A source cannot be read at all, or it is a pipe or bytes, which cannot be read twice.
    ArgumentError
        The captures have no connection in common, or no packets of both directions.

    Examples
    --------
    >>> both = bdpcap.pair(*(f"sample_captures/rwnd_slow_reader.{end}.pcap.zst" for end in ("sender", "receiver")))
    >>> both.streams[["client", "matched_by"]]
                  client                matched_by
    0  192.168.1.3:33126  initial sequence numbers
    """
    read = [one if isinstance(one, Capture) else analyze(one, filter=filter) for one in (sender, receiver)]
    return Pair(read[0], read[1])


class Pair(Ends):
    """Both ends of a path, as tables and as a page. Made by `pair`.

    Examples
    --------
    >>> both = bdpcap.pair(*(f"sample_captures/rwnd_slow_reader.{end}.pcap.zst" for end in ("sender", "receiver")))
    >>> both.report("both.html").name
    'both.html'
    """

    def __init__(self, sender: Capture, receiver: Capture) -> None:
        for name, given in {"sender": sender, "receiver": receiver}.items():
            wanted(
                name, given, "an analysed capture; bdpcap.pair takes paths", fits=isinstance(given, Capture)
            )
        super().__init__(sender, receiver)

    def html(self) -> str:
        """Return the report on both ends: one self-contained HTML page.

        Examples
        --------
        >>> both.html()[:15].lower()
        '<!doctype html>'
        """
        from bdpcap.report import pair_page as page  # noqa: PLC0415 - plotting is slow to import

        return page.html(self)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report on both ends to an HTML file; return its path.

        Examples
        --------
        >>> both.report("both.html").name
        'both.html'
        """
        target = files.html(path)
        with files.replacing(target) as part:
            part.write_text(self.html(), encoding="utf-8")
        return target
