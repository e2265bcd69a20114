"""A dataset made in this process: what a run does by its workers, one group after the other."""

from __future__ import annotations

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
