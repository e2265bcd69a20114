"""A progress bar on a terminal or in a notebook; elsewhere there is none."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bdpcap.read.facts import Progress

    Update = Callable[[Progress], None]

Item = TypeVar("Item")

__all__ = ["counted", "shown"]


def counted(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """Yield the items, and show on a terminal how many of them are done."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich import progress as rich  # noqa: PLC0415 - slow to import, and seldom needed
    from rich.console import Console  # noqa: PLC0415

    columns = (rich.TextColumn(what), rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total)


@contextmanager
def shown(*, wanted: bool = True) -> Iterator[Update | None]:
    """Yield the function that updates the progress bar; None if no bar is wanted, or without notebook and terminal."""
    if not wanted:
        yield None
    elif (display := _notebook()) is not None:
        yield from _in_notebook(display)
    elif sys.stderr.isatty():
        yield from _on_terminal()
    else:
        yield None


def _notebook() -> Any | None:
    """Return the display module of the notebook in which this code runs; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display  # noqa: PLC0415 - installed wherever a kernel runs

    return display


def _done(progress: Progress) -> str:
    """Return ``37 of 62 captures``, or ``reading`` for a single one."""
    if progress.captures is None:
        return "reading"
    done, total = progress.captures
    return f"{done:,} of {units.number(total, 'capture')}"


def _in_notebook(display: Any) -> Iterator[Update]:
    place = display.display(display.HTML(""), display_id=True)

    def update(progress: Progress) -> None:
        part = "" if progress.bytes_total is None else f' value="{progress.bytes_read}"'
        most = progress.bytes_total or 1
        place.update(
            display.HTML(f'<progress max="{most}"{part}></progress> reading: {progress.frames:,} frames')
        )

    try:
        yield update
    finally:
        place.update(display.HTML(""))


def _on_terminal() -> Iterator[Update]:
    """Show a bar with the bytes read and the total for files, a spinner for a pipe."""
    from rich import progress as rich  # noqa: PLC0415 - slow to import, and seldom needed
    from rich.console import Console  # noqa: PLC0415

    bar = rich.Progress(
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.DownloadColumn(),
        rich.TransferSpeedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[frames]:,} frames"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("reading", total=None, frames=0)

        def update(progress: Progress) -> None:
            bar.update(
                task,
                description=_done(progress),
                completed=progress.bytes_read,
                total=progress.bytes_total,
                frames=progress.frames,
            )

        yield update
