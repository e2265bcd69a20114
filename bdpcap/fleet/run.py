"""Captures to workers: Dask's own processes on this machine, or a cluster that is there."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import distributed

import bdpcap
from bdpcap.facts import Progress
from bdpcap.fleet.dataset import Dataset
from bdpcap.fleet.work import failed, work

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

    A capture whose worker dies is given to another one; one that kills several is recorded as failed.

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
    # The longest work first: otherwise the last capture may keep one worker busy while the others wait.
    largest = sorted(tasks, key=lambda task: -sum(task.sizes_bytes))
    with _client(scheduler, workers) as client:
        futures = {client.submit(work, task, order, pure=False): task for task in largest}
        for future in distributed.as_completed(futures, loop=client.loop):
            task = futures.pop(future)
            error = future.exception()
            status = future.result() if error is None else failed(task, order, error)
            future.release()
            read += sum(task.sizes_bytes)
            frames += status.get("frames") or 0
            if progress:
                progress(Progress(read, total, frames))
            yield task, status
    Dataset(order.out).clear()


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
