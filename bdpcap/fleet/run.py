"""Running tasks on Dask workers: processes on this machine, or an existing cluster."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import distributed

from bdpcap.fleet.captures import groups
from bdpcap.fleet.dataset import Dataset, new_part
from bdpcap.fleet.spread import is_spread, spread
from bdpcap.fleet.work import failed, record, work
from bdpcap.read.facts import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bdpcap.fleet.captures import Task
    from bdpcap.fleet.work import Order

__all__ = ["earlier", "run"]

_SAME: Final = ("generator", "filter", "files", "size_bytes", "changed")
"""Entries of a status that are the same if an analysis would find the same."""


def earlier(tasks: Sequence[Task], order: Order, *, retry_failed: bool) -> dict[Task, dict[str, Any]]:
    """Return the status of each task that has a valid result from an earlier run; a failure is one, too.

    A result is valid for the same files, unchanged, with the same filter and version of bdpcap. It must have been made
    with reports if those are requested.

    Parameters
    ----------
    retry_failed
        Take no failure as a valid result.
    """
    before = Dataset(order.out).statuses()

    def is_valid(task: Task) -> bool:
        status, asked = before.get(task.name, {}), record(task, order)
        return (
            all(status.get(name) == asked[name] for name in _SAME)
            and (status["reports"] or not order.reports)
            and (status["state"] == "done" or not retry_failed)
        )

    return {task: before[task.name] for task in tasks if is_valid(task)}


def run(
    tasks: Sequence[Task],
    order: Order,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Analyse captures, the largest first, and yield each task with its status when it is finished.

    Earlier results of the captures are deleted first. Small captures are analysed in groups, which share files. A group
    whose worker dies is given to another worker. If a group cannot be written, or kills several workers, each of its
    captures is analysed alone; one that fails alone, too, is recorded as failed. A set of files that is larger than a
    worker's part of the run is divided among all workers if that saves time.

    Parameters
    ----------
    scheduler
        Address of a Dask scheduler; None starts processes on this machine.
    workers
        Number of processes; None is one per processor.

    Raises
    ------
    OSError
        The scheduler cannot be reached.
    """
    dataset = Dataset(order.out)
    dataset.clear()
    dataset.forget({task.name for task in tasks})
    total, read, frames = sum(sum(task.sizes_bytes) for task in tasks), 0, 0
    with _client(scheduler, workers) as client:
        if progress:
            progress(Progress(0, total, 0, (0, len(tasks))))
        for done, (task, status) in enumerate(_done(client, tasks, order, total), start=1):
            read += sum(task.sizes_bytes)
            frames += status.get("frames") or 0
            if progress:
                progress(Progress(read, total, frames, (done, len(tasks))))
            yield task, status
    dataset.clear()


def _done(
    client: distributed.Client, tasks: Sequence[Task], order: Order, total_bytes: int
) -> Iterator[tuple[Task, dict[str, Any]]]:
    client.wait_for_workers(1)  # workers of a scheduler that was just started may not be connected yet
    dataset, workers = Dataset(order.out), sum(client.ncores().values())
    largest = sorted(tasks, key=lambda task: -sum(task.sizes_bytes))
    together = [task for task in largest if is_spread(client, task, order, total_bytes, workers)]
    futures: dict[distributed.Future, tuple[str, tuple[Task, ...]]] = {}

    def submit(group: tuple[Task, ...]) -> distributed.Future:
        # Groups have lower priority; they fill the time in which some workers wait for a set's last part.
        # A group that runs twice writes the same files.
        part = new_part()
        future = client.submit(work, group, order, part, pure=False, priority=-1)
        futures[future] = part, group
        return future

    # The largest captures come first: otherwise the last capture may keep one worker busy while the others wait.
    for group in groups([task for task in largest if task not in together], workers):
        submit(group)
    for task in together:
        try:
            status = spread(client, task, order, workers)
        except Exception as failure:  # noqa: BLE001 - any failure is recorded in the status
            status = failed(task, order, failure)
            dataset.commit(new_part(), [status])
        yield task, status
    completed = distributed.as_completed(futures, loop=client.loop)
    for future in completed:
        part, group = futures.pop(future)
        error = future.exception()
        if error is not None and len(group) > 1:
            completed.update([submit((task,)) for task in group])
            continue
        if error is None:
            statuses = future.result()
        else:
            # Tables that were written before the error belong to the other part, which stays without a status.
            part, statuses = new_part(), [failed(group[0], order, error)]
        future.release()
        dataset.commit(part, statuses)
        yield from zip(group, statuses, strict=True)


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
            dashboard_address="127.0.0.1:0",  # None means a fixed port, which another run may use
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
