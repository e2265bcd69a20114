"""A dataset made in this process: what a run does by its workers, one group after the other."""

from __future__ import annotations

from bdpcap.fleet import run
from bdpcap.fleet.dataset import Dataset, new_part
from bdpcap.fleet.work import work


def analysed(group, order):
    """Analyse captures into one part of the dataset; return the status of each."""
    dataset, part = Dataset(order.out), new_part()
    dataset.clear()
    dataset.forget({task.name for task in group})
    statuses = work(group, order, part)
    dataset.commit(part, statuses)
    return statuses


def left(tasks, order, *, retry_failed=False):
    """Return the tasks that a run would analyse."""
    before = run.earlier(tasks, order, retry_failed=retry_failed)
    return [task for task in tasks if task not in before]
