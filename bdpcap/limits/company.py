"""Every byte on the path: what others delivered the same way, from host to host, during each round of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bdpcap.datagrams import host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.limits.rounds import Floats

__all__ = ["company"]


def company(
    rounds: Mapping[str, Any], flow: np.ndarray, flows: Mapping[str, Any], datagrams: Mapping[str, Any]
) -> Floats:
    """
    Return the bytes that other flows and datagrams between the same hosts delivered meanwhile, per round.

    Each is taken to go on evenly, a flow for a round, a flow of datagrams for all its life.

    Parameters
    ----------
    rounds
        Columns of `bdpcap._core.Analysis.take_rounds`.
    flow
        Which flow each round belongs to.
    flows, datagrams
        Columns of `bdpcap._core.Analysis.directions` and `datagrams`, with names.
    """
    of_flows, of_datagrams = _ways(flows), _ways(datagrams)
    way, _ = pd.factorize(np.concatenate([of_flows, of_datagrams]))
    spans = np.concatenate([way[: len(of_flows)][flow], way[len(of_flows) :]])
    start_ns = np.concatenate([rounds["start_ns"], datagrams["start_ns"]])
    end_ns = np.concatenate([rounds["end_ns"], datagrams["end_ns"]])
    amount = np.concatenate([rounds["delivered_bytes"], datagrams["payload_bytes"]])
    others = np.zeros(len(spans))
    # Sorted once: there may be as many ways as flows, and most have one.
    crowded = np.flatnonzero((np.bincount(way) > 1)[spans])
    crowded = crowded[np.argsort(spans[crowded], kind="stable")]
    for alike in np.split(crowded, np.flatnonzero(np.diff(spans[crowded])) + 1):
        if alike.size:
            others[alike] = _meanwhile(start_ns[alike], end_ns[alike], amount[alike])
    return others[: len(flow)]


def _ways(columns: Mapping[str, Any]) -> np.ndarray:
    """From which host to which."""
    pairs = zip(columns["sender"], columns["receiver"], strict=True)
    return np.asarray([f"{host(sender)} {host(receiver)}" for sender, receiver in pairs], dtype=object)


def _meanwhile(start_ns: np.ndarray, end_ns: np.ndarray, amount: np.ndarray) -> Floats:
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
    others: Floats = np.maximum(total[last] - total[first] - amount, 0.0)
    return others
