"""Analysing a set of files that is too large for one worker.

The files are distributed to all workers, which split them by host pair. Then all flows between two hosts are analysed by
one worker.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap.fleet import findings, sharing
from bdpcap.fleet.dataset import Dataset, new_part
from bdpcap.fleet.partitions import classify, combine, explain, follow, split
from bdpcap.fleet.work import damage_text, record
from bdpcap.read import scale
from bdpcap.read.facts import Damage
from bdpcap.report import ranking
from bdpcap.tables import cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import distributed
    from numpy.typing import NDArray

    from bdpcap.fleet.captures import Task
    from bdpcap.fleet.partitions import Classified, Followed, Member
    from bdpcap.fleet.work import Order
    from bdpcap.read.scale import InferredScale

__all__ = ["is_spread", "spread"]

BUCKETS: Final = 64
"""Fewest buckets. At most eight buckets are read again for findings, a small part of this number."""
BUCKETS_EACH: Final = 4
"""Fewest buckets for each worker, so that no worker waits long for the one with the largest bucket."""


def is_spread(client: distributed.Client, task: Task, order: Order, total_bytes: int, workers: int) -> bool:
    """Return whether a set of files is divided among the workers.

    One worker would take longer for the set than the other workers together take for all other tasks. And dividing it
    saves time, by an estimate that a worker makes. A set that cannot be read is not divided.
    """
    if len(task.files) == 1 or sum(task.sizes_bytes) * workers <= total_bytes:
        return False
    try:
        load: sharing.Load = client.gather(client.submit(sharing.estimated, task, order, pure=False))
    except Exception:  # noqa: BLE001 - the worker that analyses the set records the failure
        return False
    return sharing.pays(load, workers, _buckets(workers))


def _buckets(workers: int) -> int:
    return max(BUCKETS, BUCKETS_EACH * workers)


def spread(
    client: distributed.Client, task: Task, order: Order, workers: int, buckets: int | None = None
) -> dict[str, Any]:
    """Analyse a set of files with all workers, and write its tables and its status; return the status.

    Raises
    ------
    Exception
        The exception of a worker: a file cannot be read, or the error of `distributed` about a worker that died.
    """
    started = time.time_ns()
    all_workers, dataset = _Workers(client), Dataset(order.out)
    buckets = buckets or _buckets(workers)
    with dataset.unfinished() as folder:
        members, parts = combine(
            all_workers.run(split, [(url, order, buckets, folder) for url in task.files]), order.out
        )
        followed: list[Followed] = all_workers.run(follow, [(part,) for part in parts])
        numbers, scales = _numbers(followed), _scales(followed)
        classified: list[Classified] = all_workers.run(
            classify, [(*one, folder, task.name) for one in zip(parts, scales, numbers, strict=True)]
        )
        chosen = _chosen(classified, numbers)
        tables: list[pd.DataFrame] = all_workers.run(
            explain, [(parts[place], scales[place], own) for place, own in chosen.items()]
        )
        found = [_numbered(table, numbers[place]) for place, table in zip(chosen, tables, strict=True)]
        ranked = pd.concat(found).sort_values("rank", kind="stable") if found else findings.table(())
        status = record(task, order) | {
            **_about(task, members),
            "streams": sum(map(len, numbers)),
            "flows": sum(len(one.standing) for one in classified),
            "started_ns": started,
            "work_ns": all_workers.work_ns,
            "buckets": buckets,
        }
        stored = {
            "flows": [one.flows for one in classified],
            "rtts": [one.rtts for one in classified],
            "findings": [dataset.store(folder, task.name, [cells.of_frame(ranked)])],
        }
        part = new_part()
        dataset.place(part, stored, {})
        dataset.commit(part, [status])
    return status


class _Workers:
    """All workers of a client, and the sum of their working times."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self.work_ns = 0

    def run(self, function: Callable[..., Any], arguments: Iterable[Sequence[Any]]) -> list[Any]:
        """Call a function once for each tuple of arguments; return the results in order.

        A call whose worker dies is given to another worker.
        """
        futures = [self._client.submit(_timed, function, *one, pure=False) for one in arguments]
        done = self._client.gather(futures)
        self.work_ns += sum(took_ns for _, took_ns in done)
        return [result for result, _ in done]


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    began = time.monotonic_ns()
    return function(*arguments), time.monotonic_ns() - began


def _numbers(followed: Sequence[Followed]) -> list[NDArray[np.int64]]:
    """Return for each bucket the numbers of its streams in the set, which are sorted by their first frames."""
    frames = np.concatenate([one.first_frames for one in followed])
    numbers = np.empty(len(frames), np.int64)
    numbers[np.argsort(frames, kind="stable")] = np.arange(len(frames))
    return np.split(numbers, np.cumsum([len(one.first_frames) for one in followed])[:-1])


def _scales(followed: Sequence[Followed]) -> list[list[InferredScale]]:
    """Return the inferred window scales of each bucket, by scales that the hosts negotiated in any bucket."""
    elsewhere: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in followed:
        for host, counted in one.negotiated.items():
            elsewhere[host].update(counted)
    return [scale.choose(one.to_infer, elsewhere) for one in followed]


def _chosen(
    classified: Sequence[Classified], numbers: Sequence[NDArray[np.int64]]
) -> dict[int, list[tuple[int, int, str]]]:
    """Return the flows that a report describes one by one, by bucket: rank, stream in the bucket, sender."""
    every = [
        one.standing.assign(bucket=place, own=one.standing["stream"], stream=own[one.standing["stream"]])
        for place, (one, own) in enumerate(zip(classified, numbers, strict=True))
        if len(one.standing)
    ]
    if not every:
        return {}
    standing = pd.concat(every).sort_values("stream", kind="stable", ignore_index=True)
    leaders = ranking.leaders(ranking.alike(standing))
    chosen: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for rank, leader in enumerate(leaders.to_dict("records"), start=1):
        chosen[leader["bucket"]].append((rank, leader["own"], leader["sender"]))
    return chosen


def _numbered(table: pd.DataFrame, numbers: NDArray[np.int64]) -> pd.DataFrame:
    return table.assign(stream=numbers[table["stream"].to_numpy(np.int64)]).astype({"stream": "Int64"})


def _about(task: Task, members: Sequence[Member]) -> dict[str, Any]:
    """Return the entries of the status about the files, which are named in the order given."""
    counts = [one.counts for one in members]
    damages = [Damage(*place) for one in counts for place in one["damages"]]
    inputs = {one.input["name"]: one.input for one in members}
    return {
        "state": "done",
        "error": None,
        "damage": damage_text(task, damages),
        "inputs": [inputs[url] for url in task.files],
        "frames": sum(one["frames"] for one in counts),
        "first_ns": min((one["first_ns"] for one in counts if one["first_ns"] is not None), default=None),
        "last_ns": max((one["last_ns"] for one in counts if one["last_ns"] is not None), default=None),
    }
