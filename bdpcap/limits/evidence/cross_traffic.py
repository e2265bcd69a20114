"""Cross traffic: bytes that other flows between the same hosts delivered during each round of a flow."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.evidence.rate import HIGH, NEAR_HIGHEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.limits.rounds import Floats, Ints

__all__ = ["CrossTraffic", "meanwhile"]

FEW: Final = 0.05
"""Share of all bytes between two hosts from which other flows count: below it, they are control connections."""


class CrossTraffic(Concept):
    """Bytes that the flow and all others between the same two hosts delivered."""

    name = "cross_traffic"

    @cached_property
    def _rate(self) -> Floats:
        """Delivery rate of all flows between the hosts, over three rounds."""
        return self.rounds.rate_around(self._carried, 1)

    @cached_property
    def _carried(self) -> Floats:
        """Bytes that all flows between the hosts delivered during the round."""
        return self.rounds.delivered_bytes + self.all.vantage.cross_traffic_bytes

    @field("share")
    def utilization(self) -> Floats:
        """Rate of this flow and others, over the highest that they reached together; 0 if others had less than 5 %."""
        rounds, rate, carried = self.rounds, self.all.rate, self._carried
        long = rounds.rate_around_similar(carried)
        most = rate.without_jumps(
            rate.percentile((self._rate, NEAR_HIGHEST), (long, HIGH), rate.moving(carried))
        )
        others = rounds.ratio(
            rounds.around(self.all.vantage.cross_traffic_bytes, 1), rounds.around(carried, 1)
        )
        full = np.nan_to_num(rounds.ratio(self._rate, np.fmax(most, rate.capacity)))
        return np.where(others >= FEW, full, 0.0)

    @field("ratio")
    def over_initial(self) -> Floats:
        """Rate of this flow and others, over that of the initial bursts; 1 where none was seen."""
        return np.nan_to_num(self.rounds.ratio(self._rate, self.all.rate.initial_burst), nan=1.0)


def meanwhile(
    rounds: Mapping[str, Any], path: Ints, datagrams: Mapping[str, Any], path_of_datagrams: Ints
) -> Floats:
    """
    Return for each round the bytes that other flows between the same hosts delivered during it, datagrams included.

    Each flow is assumed to deliver evenly: over each of its rounds, or over its life if it consists of datagrams.

    Parameters
    ----------
    rounds
        Columns of `bdpcap._core.Analysis.rounds`.
    datagrams
        Columns of `bdpcap._core.Analysis.datagrams`.
    path, path_of_datagrams
        Number of the path, from host to host, of each round and of each flow of datagrams.
    """
    spans = np.concatenate([path, path_of_datagrams])
    start_ns = np.concatenate([rounds["start_ns"], datagrams["start_ns"]])
    end_ns = np.concatenate([rounds["end_ns"], datagrams["end_ns"]])
    amount = np.concatenate([rounds["delivered_bytes"], datagrams["payload_bytes"]])
    others = np.zeros(len(spans))
    # The spans are sorted once: there may be as many paths as flows, and most paths have one flow.
    crowded = np.flatnonzero((np.bincount(spans) > 1)[spans])
    crowded = crowded[np.argsort(spans[crowded], kind="stable")]
    for same in np.split(crowded, np.flatnonzero(np.diff(spans[crowded])) + 1):
        if same.size:
            others[same] = _during(start_ns[same], end_ns[same], amount[same])
    return others[: len(path)]


def _during(start_ns: np.ndarray, end_ns: np.ndarray, amount: np.ndarray) -> Floats:
    """Return the bytes that all other spans delivered during each span."""
    # Lengths are integers, since floats lose nanoseconds where a clock was set years ahead.
    length_ns = np.maximum(end_ns - start_ns, 1)
    begin = (start_ns - start_ns.min()).astype(np.float64)
    end = begin + length_ns
    rate = amount / length_ns
    times, place = np.unique(np.concatenate([begin, end]), return_inverse=True)
    slope = np.cumsum(np.bincount(place, np.concatenate([rate, -rate])))
    total = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(times))])
    first, last = place[: len(begin)], place[len(begin) :]
    # Overlaps are counted, since sums and differences of rates leave rounding errors.
    met = np.searchsorted(np.sort(begin), end) - np.searchsorted(np.sort(end), begin, side="right") > 1
    others: Floats = np.where(met, np.maximum(total[last] - total[first] - amount, 0.0), 0.0)
    return others
