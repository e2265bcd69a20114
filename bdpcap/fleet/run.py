"""Captures to workers: Dask's own processes on this machine, or a cluster that is there."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import distributed

import bdpcap
from bdpcap.fleet.dataset import Dataset
from bdpcap.fleet.spread import is_spread, spread
from bdpcap.fleet.work import failed, work
from bdpcap.read.facts import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bdpcap.fleet.captures import Task
    from bdpcap.fleet.work import Order

__all__ = ["left", "run"]


def left(tasks: Sequence[Task], order: Order) -> list[Task]:
    """Return what a run before this one has not finished, or finished from other files, by other rules, or in vain."""
    before = Dataset(order.out).statuses()
    return [task for task in tasks if not _is_done(task, order, before.get(task.name))]


def _is_done(task: Task, order: Order, status: dict[str, Any] | None) -> bool:
    return status is not None and (
        status["state"],
        status["generator"],
        status["filter"],
        status["files"],
        status["size_bytes"],
    ) == ("done", f"bdpcap {bdpcap.__version__}", order.filter, list(task.files), sum(task.sizes_bytes))


def run(
    tasks: Sequence[Task],
    order: Order,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Analyse captures, the largest first, and yield each with its status as it is finished.

    A capture whose worker dies is given to another one; one that kills several is recorded as failed. A set of files
    that is larger than a worker's part of the run is shared out to all of them.

    Parameters
    ----------
    scheduler
        Address of a Dask scheduler; without one, processes of this machine.
    workers
        How many processes; None for one per processor.

    Raises
    ------
    OSError
        The scheduler cannot be reached.
    """
    Dataset(order.out).clear()
    total, read, frames = sum(sum(task.sizes_bytes) for task in tasks), 0, 0
    with _client(scheduler, workers) as client:
        for task, status in _done(client, tasks, order, total):
            read += sum(task.sizes_bytes)
            frames += status.get("frames") or 0
            if progress:
                progress(Progress(read, total, frames))
            yield task, status
    Dataset(order.out).clear()


def _done(
    client: distributed.Client, tasks: Sequence[Task], order: Order, total_bytes: int
) -> Iterator[tuple[Task, dict[str, Any]]]:
    # The longest work first: otherwise the last capture may keep one worker busy while the others wait.
    largest = sorted(tasks, key=lambda task: -sum(task.sizes_bytes))
    client.wait_for_workers(1)  # those of a scheduler that was just started may be on their way
    workers = sum(client.ncores().values())
    together = [task for task in largest if is_spread(task, total_bytes, workers)]
    # The others fill the time in which a set's last part keeps some workers waiting.
    futures = {
        client.submit(work, task, order, pure=False, priority=-1): task
        for task in largest
        if task not in together
    }
    for task in together:
        try:
            status = spread(client, task, order, workers)
        except Exception as failure:  # noqa: BLE001  of whatever kind, it is recorded as that of a single worker is
            status = failed(task, order, failure)
        yield task, status
    for future in distributed.as_completed(futures, loop=client.loop):
        task = futures.pop(future)
        error = future.exception()
        status = future.result() if error is None else failed(task, order, error)
        future.release()
        yield task, status


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[distributed.Client]:
    if scheduler is not None:
        with distributed.Client(scheduler, set_as_default=False) as client:
            yield client
        return
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # None would take one port, which another run may have
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
