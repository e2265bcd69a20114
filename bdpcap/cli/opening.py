"""From arguments to a capture that was read, and what to say of one that was damaged."""

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
from bdpcap.read.progress import shown
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from bdpcap.analysis import Capture
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.facts import Damage
    from bdpcap.tables.events import Events


def sources(
    captures: Sequence[str] | None, read: Sequence[str] | None, outputs: Iterable[Path | None]
) -> list[str] | BinaryIO:
    """
    Return the files that were named, positional ones first, or standard input for ``-``.

    Parameters
    ----------
    captures, read
        Names of captures.
    outputs
        What is to be written; None is standard output. None of them may be a capture: it would be lost.
    """
    named = [*(captures or ()), *(read or ())]
    found = [file for name in named for file in _files(name)]
    keep([0 if name == "-" else name for name in found], outputs, "the capture")
    if not named:
        raise typer.BadParameter("no capture given: name a file, or - for standard input")
    if "-" not in named:
        return found
    if len(named) > 1:
        raise typer.BadParameter("standard input (-) cannot be read along with files")
    if sys.stdin.isatty():
        raise typer.BadParameter("standard input is a terminal: pipe a capture into it")
    return sys.stdin.buffer


def _files(name: str) -> list[str]:
    """Return the captures that a name stands for, and say what of a directory is none."""
    files, passed_over = rotation.files(name) if name != "-" else ([name], [])
    if passed_over:
        others = ", ".join(Path(one).name for one in passed_over)
        sys.stderr.write(units.printable(f"bdpcap: {name}: passed over what is no capture: {others}") + "\n")
    return files


def keep(inputs: Sequence[Path | str | int], outputs: Iterable[Path | None], what: str) -> None:
    """Refuse to write over what is read: `inputs` are paths or descriptors, `what` names them."""
    for output in outputs:
        if output is not None and any(_same(output, one) for one in inputs):
            raise typer.BadParameter(f"{output} is {what} itself: name another file")


def distinct(outputs: Sequence[Path]) -> None:
    """Refuse to write two outputs into one file."""
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
) -> Capture:
    """Analyse what was named, with progress on a terminal.

    `outputs` are as `sources` takes them, `limit` as it is typed, and `summarize` as `bdpcap.analyze` takes it.
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
    )
    if (twice := same_packets(capture)) is not None:
        one, other = map(units.printable, twice)
        sys.stderr.write(
            f"bdpcap: warning: {one} and {other} hold the same packets twice: "
            "did you mean `bdpcap pair`, or `bdpcap compare`?\n"
        )
    return capture


def _same(output: Path, input_: Path | str | int) -> bool:
    """Tell whether two names, or descriptors, are one file, by whatever links."""
    try:
        return os.path.samefile(output, input_)  # noqa: PTH121 - Path's takes no descriptor
    except OSError:  # one of them is not there
        return False


class Pieces:
    """
    The events of what was named, piece by piece; at least one piece, which may be empty.

    A capture that breaks in the middle ends the pieces, and `exit_code` speaks of it.
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
        """Read; what cannot be read at all raises."""
        found = False
        # Standard input must be interrupted where it is waited for: here.
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
        """Warn if the capture broke, and return the exit code that this means."""
        return exit_code(self._damage)


def of_streams(table: pd.DataFrame, streams: Sequence[int] | None, number: int) -> pd.DataFrame:
    """
    Select streams.

    Parameters
    ----------
    table
        Any table with a column ``stream``.
    streams
        Those wanted; all where empty or None.
    number
        How many streams the capture has.
    """
    if not streams:
        return table
    beyond = [stream for stream in streams if stream >= number]
    if beyond:
        has = f"streams 0 to {number - 1}" if number else "no TCP stream"
        raise typer.BadParameter(f"no stream {beyond[0]}: the capture has {has}")
    return table[table["stream"].isin(streams)].reset_index(drop=True)


def exit_code(damage: Damage | bdpcap.CaptureError | None) -> int:
    """Warn of a damaged capture in one line, and return the exit code it means."""
    if damage is None:
        return exits.DONE
    sys.stderr.write(f"bdpcap: warning: {units.printable(damage)}; everything before it is reported\n")
    return exits.DAMAGED
