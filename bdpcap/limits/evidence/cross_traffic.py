"""Cross traffic: what other flows between the same hosts delivered during each round of a flow."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bdpcap.limits.evidence.field import Concept, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.limits.rounds import Floats, Ints

__all__ = ["CrossTraffic", "meanwhile"]


class CrossTraffic(Concept):
    """Bytes of the flow and of all others between the same two hosts."""

    name = "cross_traffic"

    @cached_property
    def _rate(self) -> Floats:
        """Delivery rate of all that went this way, over three rounds."""
        return self.rounds.rate_around(self._carried, 1)

    @cached_property
    def _carried(self) -> Floats:
        return self.rounds.delivered_bytes + self.all.vantage.cross_traffic_bytes

    @field("share")
    def utilization(self) -> Floats:
        """Rate of this flow and others, over the highest they reached together; 0 where this flow was nearly alone."""
        rounds, rate, carried = self.rounds, self.all.rate, self._carried
        long = rounds.rate_beside(carried)
        most = rate.without_jumps(rate.percentile((self._rate, 0.95), (long, 0.9), rate.moving(carried)))
        others = rounds.ratio(
            rounds.around(self.all.vantage.cross_traffic_bytes, 1), rounds.around(carried, 1)
        )
        full = np.nan_to_num(rounds.ratio(self._rate, np.fmax(most, rate.capacity)))
        return np.where(others >= 0.05, full, 0.0)

    @field("ratio")
    def over_initial(self) -> Floats:
        """Rate of this flow and others, over that of the initial bursts; 1 where none was seen."""
        return np.nan_to_num(self.rounds.ratio(self._rate, self.all.rate.initial_burst), nan=1.0)


def meanwhile(
    rounds: Mapping[str, Any], path: Ints, datagrams: Mapping[str, Any], path_of_datagrams: Ints
) -> Floats:
    """
    Return the bytes that other flows and datagrams between the same hosts delivered meanwhile, per round.

    Each is taken to go on evenly, a flow for a round, a flow of datagrams for all its life.

    Parameters
    ----------
    rounds
        Columns of `bdpcap._core.Analysis.rounds`.
    datagrams
        Columns of `bdpcap._core.Analysis.datagrams`.
    path, path_of_datagrams
        From which host to which each round, and each flow of datagrams, goes.
    """
    spans = np.concatenate([path, path_of_datagrams])
    start_ns = np.concatenate([rounds["start_ns"], datagrams["start_ns"]])
    end_ns = np.concatenate([rounds["end_ns"], datagrams["end_ns"]])
    amount = np.concatenate([rounds["delivered_bytes"], datagrams["payload_bytes"]])
    others = np.zeros(len(spans))
    # Sorted once: there may be as many ways as flows, and most have one.
    crowded = np.flatnonzero((np.bincount(spans) > 1)[spans])
    crowded = crowded[np.argsort(spans[crowded], kind="stable")]
    for alike in np.split(crowded, np.flatnonzero(np.diff(spans[crowded])) + 1):
        if alike.size:
            others[alike] = _during(start_ns[alike], end_ns[alike], amount[alike])
    return others[: len(path)]


def _during(start_ns: np.ndarray, end_ns: np.ndarray, amount: np.ndarray) -> Floats:
    """What all spans but itself delivered during each."""
    # Lengths as integers: where a clock was set years ahead, floats tell no nanoseconds apart.
    length_ns = np.maximum(end_ns - start_ns, 1)
    begin = (start_ns - start_ns.min()).astype(np.float64)
    end = begin + length_ns
    rate = amount / length_ns
    times, place = np.unique(np.concatenate([begin, end]), return_inverse=True)
    slope = np.cumsum(np.bincount(place, np.concatenate([rate, -rate])))
    total = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(times))])
    first, last = place[: len(begin)], place[len(begin) :]
    # Counted, not subtracted: of rates that came and went, a rounding is left.
    met = np.searchsorted(np.sort(begin), end) - np.searchsorted(np.sort(end), begin, side="right") > 1
    others: Floats = np.where(met, np.maximum(total[last] - total[first] - amount, 0.0), 0.0)
    return others
