"""Progress on a terminal: bytes of bytes for files, a spinner for a pipe; nothing where nobody watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bdpcap.facts import Progress as Read


@contextmanager
def shown(*, wanted: bool = True) -> Iterator[Callable[[Read], None] | None]:
    """Yield what ``analyze`` may call as it reads: None unless wanted and stderr is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich  # noqa: PLC0415 - slow to import, and seldom shown
    from rich.console import Console  # noqa: PLC0415

    bar = rich.Progress(
        rich.SpinnerColumn(),
        rich.TextColumn("reading"),
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

        def update(progress: Read) -> None:
            bar.update(
                task, completed=progress.bytes_read, total=progress.bytes_total, frames=progress.frames
            )

        yield update
