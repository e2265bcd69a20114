"""Open and analyse the captures that a command line names, and warn of damaged ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

import bdpcap
from bdpcap.analysis import event_pieces
from bdpcap.cli import exits, options
from bdpcap.cli.twice import same_packets
from bdpcap.read import rotation
from bdpcap.read.ahead import ahead
from bdpcap.read.facts import Damage
from bdpcap.read.progress import shown
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from bdpcap.capture import Capture
    from bdpcap.host import Account
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.tables.events import Events


def sources(
    captures: Sequence[str] | None, read: Sequence[str] | None, outputs: Iterable[Path | None]
) -> list[str] | BinaryIO:
    """
    Return the names of captures, positional arguments first, or standard input for ``-``.

    Parameters
    ----------
    captures, read
        Names of captures from the arguments, and from ``--read``.
    outputs
        Files to be written; None is standard output. An output that is one of the captures is refused, since the
        capture would be lost.
    """
    named = [*(captures or ()), *(read or ())]
    every = [file for name in named for file in (files(name, report=True) if name != "-" else [0])]
    keep(every, outputs, "the capture")
    if not named:
        raise typer.BadParameter("no capture given: name a file, or - for standard input")
    if "-" not in named:
        return named
    if len(named) > 1:
        raise typer.BadParameter("standard input (-) cannot be read along with files")
    if sys.stdin is None:
        raise typer.BadParameter("standard input is closed: pipe a capture into it")
    if sys.stdin.isatty():
        raise typer.BadParameter("standard input is a terminal: pipe a capture into it")
    return sys.stdin.buffer


def files(name: str, *, report: bool = False) -> list[str]:
    """Return the captures for a name, with the broken ones; `report` other files of a directory."""
    found = rotation.files(name)
    if found.others and report:
        others = ", ".join(Path(one).name for one in found.others)
        sys.stderr.write(units.printable(f"bdpcap: {name}: skipped what is no capture: {others}") + "\n")
    return [*found.captures, *(damage.file for damage in found.broken)]


def keep(inputs: Sequence[Path | str | int], outputs: Iterable[Path | None], name: str) -> None:
    """Refuse outputs that would overwrite an input; `inputs` are paths or descriptors, `name` is for the message."""
    for output in outputs:
        if output is not None and any(_same(output, one) for one in inputs):
            raise typer.BadParameter(f"{output} is {name} itself: name another file")


def distinct(outputs: Sequence[Path]) -> None:
    """Refuse two outputs that are the same file."""
    for output in outputs:
        if outputs.count(output) > 1:
            raise typer.BadParameter(f"two outputs in one, {output}: name another file for one of them")


def capture(
    captures: Sequence[str] | None,
    read: Sequence[str] | None,
    filter_: str | None,
    pseudonyms: Pseudonyms | None = None,
    *,
    outputs: Iterable[Path | None],
    jobs: int | None = None,
    budget: list[str] | None = None,
    summarize: bool = False,
    host: Account | None = None,
) -> Capture:
    """Analyse the named captures, with progress on a terminal; warn if two of them contain the same packets.

    `outputs` is that of `sources`, `budget` is the option as typed; `summarize` and `host` are those of
    `bdpcap.analyze`.
    """
    chosen = options.budget(budget)
    source = sources(captures, read, outputs)
    capture = bdpcap.analyze(
        source,
        filter=filter_,
        progress=True,
        pseudonyms=pseudonyms,
        jobs=jobs,
        budget=chosen,
        summarize=summarize,
        host=host,
    )
    if (twice := same_packets(capture)) is not None:
        one, other = map(units.printable, twice)
        sys.stderr.write(
            f"bdpcap: warning: {one} and {other} hold the same packets twice: "
            "did you mean `bdpcap pair`, or `bdpcap compare`?\n"
        )
    return capture


def _same(output: Path, input_: Path | str | int) -> bool:
    """Return whether two names or descriptors are the same file, also through links."""
    try:
        return os.path.samefile(output, input_)  # noqa: PTH121 - Path.samefile takes no descriptor
    except OSError:  # one of the files does not exist
        return False


class Pieces:
    """
    The events of the named captures in pieces; there is at least one piece, which may be empty.

    Damage in the middle of a capture ends the pieces; then `exit_code` warns of it.
    """

    def __init__(
        self,
        captures: Sequence[str] | None,
        read: Sequence[str] | None,
        filter_: str | None,
        streams: Sequence[int] | None,
        pseudonyms: Pseudonyms | None = None,
        *,
        output: Path | None,
        progress: bool,
        jobs: int | None = None,
        budget: list[str] | None = None,
    ) -> None:
        self._progress = progress
        self._pseudonyms = pseudonyms
        self._source = sources(captures, read, [output])
        self._filter = filter_
        self._streams = streams
        self._jobs = jobs
        self._budget = options.budget(budget)
        self._damage: bdpcap.CaptureError | None = None

    def __iter__(self) -> Iterator[Events]:
        """Yield the pieces; a capture that cannot be read at all raises `bdpcap.CaptureError`."""
        found = False
        # Standard input is read in this thread, where Ctrl-C interrupts the wait for data.
        files = isinstance(self._source, list)
        with shown(wanted=self._progress) as progress:
            pieces = event_pieces(
                self._source,
                filter=self._filter,
                streams=self._streams or None,
                progress=progress,
                pseudonyms=self._pseudonyms,
                jobs=self._jobs,
                budget=self._budget,
                written=files,
            )
            try:
                for piece in ahead(pieces) if files else pieces:
                    found = True
                    yield piece
            except bdpcap.CaptureError as error:
                if not found:
                    raise
                self._damage = error
        if not found:
            from bdpcap.tables.events import Events  # noqa: PLC0415 - only this command lists events

            yield Events.none()

    def exit_code(self) -> int:
        """Return the exit code, and warn if the capture was damaged."""
        return exit_code([] if self._damage is None else [self._damage])


def of_streams(table: pd.DataFrame, streams: Sequence[int] | None, number: int) -> pd.DataFrame:
    """
    Return the rows of some streams; a stream that the capture does not have is refused.

    Parameters
    ----------
    table
        Any table with a column ``stream``.
    streams
        Streams to select; empty or None selects all.
    number
        Number of streams in the capture.
    """
    if not streams:
        return table
    beyond = [stream for stream in streams if stream >= number]
    if beyond:
        has = f"streams 0 to {number - 1}" if number else "no TCP stream"
        raise typer.BadParameter(f"no stream {beyond[0]}: the capture has {has}")
    return table[table["stream"].isin(streams)].reset_index(drop=True)


def exit_code(damages: Sequence[Damage | bdpcap.CaptureError]) -> int:
    """Return the exit code for a capture; warn of each damage in one line."""
    for damage in damages:
        unread = isinstance(damage, Damage) and not damage.offset
        kept = "the other captures are reported" if unread else "everything before it is reported"
        sys.stderr.write(f"bdpcap: warning: {units.printable(damage)}; {kept}\n")
    return exits.DAMAGED if damages else exits.DONE
