"""What changes on other hosts: a sender that answers a little later, a receiver that gets its packets in clumps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import grading
import numpy as np
import pandas as pd
from batch import join, read_all
from retimed import clumped, delayed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from batch import Batch, Change
    from labelled import Transfer

__all__ = ["with_clumps", "with_delays"]


def with_delays(transfers: Sequence[Transfer], delays_ms: Iterable[float]) -> pd.DataFrame:
    """Return by how many points agreement and the recall of each limit change at the sender, a row a delay.

    Agreement is the mean of transfers.
    """
    at_once = _measured(_captured(transfers, "sender", None))
    return pd.DataFrame(
        {
            f"{delay:g} ms": _measured(_captured(transfers, "sender", partial(slower, delay_ms=delay)))
            - at_once
            for delay in delays_ms
        }
    ).T


def with_clumps(transfers: Sequence[Transfer], clumps_us: Iterable[float]) -> pd.DataFrame:
    """Return the changes of `with_delays` at the receiver, two rows a length of clumps: with and without timestamps."""
    single = _captured(transfers, "receiver", None)
    kinds = _by_timestamps(single)
    before = {kind: _measured(single, captures) for kind, captures in kinds.items()}
    changed = {}
    for clump in clumps_us:
        batch = _captured(transfers, "receiver", partial(in_clumps, clump_us=clump))
        for kind, captures in kinds.items():
            changed[f"{clump:g} us, {kind}"] = _measured(batch, captures) - before[kind]
    return pd.DataFrame(changed).T


def slower(transfer: Transfer, view: str, delay_ms: float) -> bytes:
    """Return a capture whose sender answers so much later."""
    return delayed(transfer.capture(view), transfer.flows[0].sender_address, round(1e6 * delay_ms))


def in_clumps(transfer: Transfer, view: str, clump_us: float) -> bytes:
    """Return a capture whose receiver gets its packets in clumps of this length."""
    return clumped(transfer.capture(view), transfer.flows[0].receiver_address, round(1e3 * clump_us))


def _captured(transfers: Sequence[Transfer], view: str, change: Change | None) -> Batch:
    return join(read_all(transfers, [view], change))


def _by_timestamps(batch: Batch) -> dict[str, np.ndarray]:
    """Return the captures with and those without TCP timestamps, by their numbers."""
    stamped = batch.evidence.ack_clock.has_timestamps[batch.met["row"].to_numpy()]
    has = np.unique(batch.bins["capture"].to_numpy()[batch.met["bin"]][stamped])
    kinds = {"timestamps": has, "no timestamps": np.setdiff1d(batch.captures.index, has)}
    return {kind: captures for kind, captures in kinds.items() if captures.size}


def _measured(batch: Batch, captures: np.ndarray | None = None) -> pd.Series[float]:
    """Return agreement and recall of some captures, or of all, in per cent."""
    graded = grading.grade(batch, grading.judge(batch))
    if captures is not None:
        graded = graded[graded["capture"].isin(captures)]
    return 100 * pd.concat([pd.Series({"agreement": grading.agreement(graded)}), grading.recall(graded)])
