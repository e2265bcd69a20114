"""A set of files too large for one worker: its files to all workers, then the flows between two hosts to one of them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap.fleet import findings
from bdpcap.fleet.dataset import Dataset
from bdpcap.fleet.partitions import explain, follow, judge, share_out, whole
from bdpcap.fleet.work import broke, record
from bdpcap.read import scale
from bdpcap.read.facts import Damage
from bdpcap.report import ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import distributed
    from numpy.typing import NDArray

    from bdpcap.fleet.captures import Task
    from bdpcap.fleet.partitions import Followed, Judged, Member
    from bdpcap.fleet.work import Order
    from bdpcap.read.scale import InferredScale

__all__ = ["is_spread", "spread"]

LEAST_BYTES: Final = 1_000_000_000
"""One worker reads a smaller set in some ten seconds; to hand it around gains little."""
BUCKETS: Final = 64
"""At most eight buckets are read again for findings: of so many, that is little."""
BUCKETS_EACH: Final = 4
"""Buckets for each worker, so that none waits long for the one with the largest."""


def is_spread(task: Task, total_bytes: int, workers: int) -> bool:
    """Tell whether a task would keep one worker busy for longer than all others together need for the rest."""
    size = sum(task.sizes_bytes)
    return len(task.files) > 1 and size >= LEAST_BYTES and size * workers > total_bytes


def spread(
    client: distributed.Client, task: Task, order: Order, workers: int, buckets: int | None = None
) -> dict[str, Any]:
    """Do with all workers what `bdpcap.fleet.work.work` does with one; the tables are the same.

    Raises
    ------
    Exception
        What a worker raised: that it cannot read a file, or what `distributed` says of a worker that died.
    """
    started = time.time_ns()
    crew, dataset = _Crew(client), Dataset(order.out)
    buckets = buckets or max(BUCKETS, BUCKETS_EACH * workers)
    with dataset.unfinished() as folder:
        members, parts = whole(
            crew.run(share_out, [(url, order, buckets, folder) for url in task.files]), order.out
        )
        followed: list[Followed] = crew.run(follow, [(part,) for part in parts])
        numbers, scales = _numbers(followed), _scales(followed)
        judged: list[Judged] = crew.run(
            judge, [(*one, folder) for one in zip(parts, scales, numbers, strict=True)]
        )
        chosen = _chosen(judged, numbers)
        tables: list[pd.DataFrame] = crew.run(
            explain, [(parts[place], scales[place], own) for place, own in chosen.items()]
        )
        found = [_numbered(table, numbers[place]) for place, table in zip(chosen, tables, strict=True)]
        told = pd.concat(found).sort_values("rank", kind="stable") if found else findings.table(())
        status = record(task, order) | {
            **_about(task, members),
            "streams": sum(map(len, numbers)),
            "flows": sum(len(one.standing) for one in judged),
            "started_ns": started,
            "work_ns": crew.work_ns,
            "buckets": buckets,
        }
        stored = {
            "flows": [one.flows for one in judged],
            "rtts": [one.rtts for one in judged],
            "findings": [dataset.store(folder, [told])],
        }
        dataset.publish(task.name, stored, status)
    return status


class _Crew:
    """All workers, and the time that they worked."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self.work_ns = 0

    def run(self, function: Callable[..., Any], arguments: Iterable[Sequence[Any]]) -> list[Any]:
        """Do the same with each of the arguments; a task whose worker dies is given to another one."""
        futures = [self._client.submit(_timed, function, *one, pure=False) for one in arguments]
        done = self._client.gather(futures)
        self.work_ns += sum(took_ns for _, took_ns in done)
        return [result for result, _ in done]


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    began = time.monotonic_ns()
    return function(*arguments), time.monotonic_ns() - began


def _numbers(followed: Sequence[Followed]) -> list[NDArray[np.int64]]:
    """Return the numbers that each bucket's streams have in the set: by their first frames."""
    frames = np.concatenate([one.first_frames for one in followed])
    numbers = np.empty(len(frames), np.int64)
    numbers[np.argsort(frames, kind="stable")] = np.arange(len(frames))
    return np.split(numbers, np.cumsum([len(one.first_frames) for one in followed])[:-1])


def _scales(followed: Sequence[Followed]) -> list[list[InferredScale]]:
    """Choose the window scales of each bucket, by what a host negotiated in any."""
    elsewhere: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in followed:
        for host, counted in one.negotiated.items():
            elsewhere[host].update(counted)
    return [scale.choose(one.to_infer, elsewhere) for one in followed]


def _chosen(
    judged: Sequence[Judged], numbers: Sequence[NDArray[np.int64]]
) -> dict[int, list[tuple[int, int, str]]]:
    """Return the flows that a report treats one by one, by bucket: rank, stream in the bucket and sender."""
    every = [
        one.standing.assign(bucket=place, own=one.standing["stream"], stream=own[one.standing["stream"]])
        for place, (one, own) in enumerate(zip(judged, numbers, strict=True))
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
    """Return what the status says of the files; they are named in the order given."""
    counts = [one.counts for one in members]
    damages = [Damage(*place) for one in counts for place in one["damages"]]
    inputs = {one.input["name"]: one.input for one in members}
    return {
        "state": "done",
        "error": None,
        "damage": broke(damages[0] if damages else None),
        "inputs": [inputs[url] for url in task.files],
        "frames": sum(one["frames"] for one in counts),
        "first_ns": min((one["first_ns"] for one in counts if one["first_ns"] is not None), default=None),
        "last_ns": max((one["last_ns"] for one in counts if one["last_ns"] is not None), default=None),
    }
