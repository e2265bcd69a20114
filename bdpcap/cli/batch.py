"""``bdpcap batch``: analyse many captures into one dataset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bdpcap import _core
from bdpcap.cli import exits, options
from bdpcap.read.filter import compile_filter
from bdpcap.read.progress import shown
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.fleet.captures import Task

EPILOG: Final = (
    "INPUT is a capture, a directory with all captures below it, or a quoted pattern. It is a path, or a URL (s3://, "
    "gs://, https://; extras bdpcap[s3], bdpcap[gs], bdpcap[http]); DIR may be a URL, too. Each capture is analysed "
    "separately. To continue a run that was stopped, give the same command again. Needs the extra bdpcap[cluster]."
)


def command(
    context: typer.Context,
    inputs: Annotated[list[str] | None, typer.Argument(metavar="INPUT", hidden=True)] = None,
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Dataset to write: flows, rtts and findings of all captures, and the status of each.",
        ),
    ] = None,
    filter_: options.Filter = None,
    rotated: Annotated[
        bool,
        typer.Option(
            "--rotated",
            help="Read the numbered files of a ring buffer as one capture: ring_00001...",
        ),
    ] = False,
    reports: Annotated[
        bool, typer.Option("--reports", help="Write the report of each capture into DIR/reports, too.")
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Read captures again that an earlier run could not read, though they did not change.",
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Dask scheduler, tcp://host:8786; its workers must reach INPUT and DIR."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of processes on this machine. Default: one per processor.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Analyse many captures, each separately, into one Parquet dataset."""
    if not inputs or out is None:
        raise typer.BadParameter("name captures, and --out DIR")
    if scheduler is not None and workers is not None:
        raise typer.BadParameter("--workers is for this machine: a scheduler has its own")
    try:
        from bdpcap.fleet import run  # noqa: PLC0415 - Dask is an extra, and slow to import
        from bdpcap.fleet.captures import tasks  # noqa: PLC0415
        from bdpcap.fleet.dataset import Dataset  # noqa: PLC0415
        from bdpcap.fleet.work import Order  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise typer.BadParameter(
            f"{error.name} is missing: pip install 'bdpcap[cluster]', or analyse files one by one"
        ) from None
    if filter_:
        compile_filter(filter_, _core.LINK_TYPES)  # refuse a wrong filter before any capture is read
    try:
        found, passed_over = tasks(inputs, rotated=rotated)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if passed_over:
        _note(f"skipped {units.number(passed_over, 'file')} whose names are no capture's")
    order = Order(Dataset(out).url, filter_, ("bdpcap", *context.obj), reports)
    before = run.earlier(found, order, retry_failed=retry_failed)
    left = [task for task in found if task not in before]
    troubled = _named(before.items())
    if before:
        of_all = f"{units.count(len(before))} of {units.number(len(found), 'capture')}"
        _ended(f"{of_all} were done before", troubled)
    if left:
        with shown() as progress:
            statuses = run.run(left, order, scheduler=scheduler, workers=workers, progress=progress)
            troubled_now = _named(statuses)
        _ended(f"{units.number(len(left), 'capture')} analysed", troubled_now)
        troubled += troubled_now
    return exits.DAMAGED if troubled else exits.DONE


def _named(statuses: Iterable[tuple[Task, dict[str, Any]]]) -> int:
    """Name each capture that is damaged or unreadable, with the reason; return their number."""
    troubled = 0
    for task, status in statuses:
        trouble = status["error"] or status["damage"]
        if trouble:
            troubled += 1
            _note(f"{task.name}: {trouble}")
    return troubled


def _ended(done: str, troubled: int) -> None:
    _note(f"{done}, {troubled} of them damaged or unreadable: see status" if troubled else done)


def _note(message: str) -> None:
    sys.stderr.write(f"bdpcap: {units.printable(message)}\n")
