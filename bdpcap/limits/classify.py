"""From the core's columns to the tables of flows and rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bdpcap import _core, tables, vantage
from bdpcap.limits import doubt
from bdpcap.limits.decide import LIMITS, Verdict, decide, explain
from bdpcap.limits.evidence import Evidence, Vantage
from bdpcap.limits.evidence.cross_traffic import meanwhile, paths
from bdpcap.limits.rounds import Rounds

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Floats

__all__ = ["Classification", "gather"]


def gather(
    rounds: dict[str, np.ndarray], directions: dict[str, Any], datagrams: dict[str, Any]
) -> tuple[Evidence, dict[str, np.ndarray]]:
    """Bring together what the core counted: evidence about every round, and the flows that they belong to.

    Parameters
    ----------
    rounds
        Columns of `bdpcap._core.Analysis.take_rounds`, in its order.
    directions
        Columns of `bdpcap._core.Analysis.directions`.
    datagrams
        Columns of `bdpcap._core.Analysis.datagrams`.
    """
    carried = np.flatnonzero(directions["carried"])
    flows = {name: np.asarray(values)[carried] for name, values in directions.items()}
    flow = np.searchsorted(carried, 2 * rounds["stream"].astype(np.int64) + rounds["direction"])
    path, path_of_datagrams = paths(flows, datagrams)
    seen = Vantage(
        at_sender=flows["direct"][flow].astype(bool),
        at_receiver=(vantage.places(flows) == "receiver")[flow],
        mss_bytes=flows["mss_bytes"][flow].astype(np.float64),
        initial_rtt_ns=_floats(flows["initial_rtt_ns"])[flow],
        path=path[flow],
        cross_traffic_bytes=meanwhile(rounds, path[flow], datagrams, path_of_datagrams),
        flow_acks=flows["acks"][flow].astype(np.float64),
        capture_end_ns=np.full(len(flow), rounds["end_ns"].max(initial=0), dtype=np.float64),
    )
    return Evidence(Rounds(rounds, flow), seen), flows


class Classification:
    """Every round with what limited it. The tables are made when asked for; parameters as `gather`'s."""

    def __init__(
        self, rounds: dict[str, np.ndarray], directions: dict[str, Any], datagrams: dict[str, Any]
    ) -> None:
        self._evidence, self._flows = gather(rounds, directions, datagrams)
        verdict = decide(self._evidence)
        self._doubts = doubt.doubts(self._evidence, verdict, self._flows)
        self._verdict = doubt.lowered(verdict, self._doubts)

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """What was judged, as `gather` returned it."""
        return self._evidence, self._flows

    def flows(self) -> pd.DataFrame:
        """Table of `bdpcap.tables.FLOWS`."""
        return _flows(self._flows, self._evidence, self._verdict)

    def rtts(self) -> pd.DataFrame:
        """Table of `bdpcap.tables.RTTS`."""
        words = doubt.marked(explain(self._evidence, self._verdict), self._doubts)
        return _rtts(self._flows, self._evidence, self._verdict, words)

    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last frame of every row of `rtts`."""
        columns = self._evidence.rounds.columns
        return columns["first_frame"], columns["last_frame"]


def _floats(values: np.ndarray) -> Floats:
    return np.where(values == _core.NULL, np.nan, values.astype(np.float64))


def _whole(values: Floats) -> pd.api.extensions.ExtensionArray:
    """Nullable integers from floats; what 64 bits do not hold is absent, too."""
    absent = ~(np.abs(values) < 2.0**63)
    return pd.arrays.IntegerArray(
        np.where(absent, 0, np.round(np.where(absent, 0, values))).astype(np.int64), absent
    )


def _positive(values: Floats) -> pd.api.extensions.ExtensionArray:
    """Nullable integers from floats; 0 is absent, too: a time or a size that the capture is too coarse to show."""
    return _whole(np.where(values >= 0.5, values, np.nan))


def _per_second(amount: Floats, duration_ns: Floats) -> pd.Series:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(duration_ns > 0, amount * 8e9 / duration_ns, np.nan)
    return pd.Series(rate).astype("Float64").mask(np.isnan(rate))


def _rtts(
    flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict, words: list[str]
) -> pd.DataFrame:
    rounds, flow = evidence.rounds.columns, evidence.rounds.flow
    length = (rounds["end_ns"] - rounds["start_ns"]).astype(np.float64)
    return tables.frame(
        tables.RTTS,
        {
            **{name: rounds[name] for name in ("stream", "round", "start_ns", "end_ns", "acked_bytes")},
            "rtt_ns": _positive(evidence.rounds.rtt_ns),
            "sender": flows["sender"][flow],
            "receiver": flows["receiver"][flow],
            "throughput_bps": _per_second(rounds["acked_bytes"].astype(np.float64), length),
            "in_flight_max_bytes": rounds["flight_max_bytes"],
            "window_min_bytes": rounds["window_min_bytes"],
            "window_max_bytes": rounds["window_max_bytes"],
            "retransmits": rounds["resent_segments"],
            "limit": verdict.limit,
            "detail": verdict.detail,
            "confidence": verdict.confidence,
            "rule": verdict.rule,
            "evidence": words,
            "alternative": verdict.alternative,
        },
    )


def _flows(flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict) -> pd.DataFrame:
    count = len(flows["stream"])
    rounds, rate, flow = evidence.rounds, evidence.rate, evidence.rounds.flow
    length = rounds.end_ns - rounds.start_ns
    total = np.maximum(np.bincount(flow, length, count), 1e-9)
    held = {name: np.bincount(flow, length * (verdict.limit == name), count) for name in LIMITS}
    # A flow captured in one instant has no time to share out.
    held["unknown"] = np.where(total > 1e-9, held["unknown"], total)
    most = np.argmax(np.stack([held[name] for name in LIMITS]), axis=0) if count else np.zeros(0, dtype=int)
    shares = {name: held[name] / total for name in LIMITS}
    leads = verdict.limit == np.asarray(LIMITS, dtype=object)[most][flow]
    weight = np.bincount(flow, length * leads, count)
    sure = np.bincount(flow, length * leads * verdict.confidence, count)
    first = rounds.starts
    # The bottleneck's rate shows in the first bursts, whatever held the flow later; but a flow that kept the link busy at
    # much less shared it, and had a part.
    filled = held["link"][flow] > 0.1 * total[flow]
    shared = filled & (rate.initial_burst > 1.5 * rate.capacity)
    capacity = np.where(shared, rate.capacity, np.fmax(rate.capacity, rate.initial_burst))[first] * 8
    rtt_min_ns = evidence.queue.rtt_min_ns[first]
    trip_ns = np.where(rounds.rtt_ns > 0, rounds.rtt_ns, np.nan)
    median = np.asarray(pd.Series(trip_ns).groupby(flow).median(), dtype=np.float64)
    life = (flows["end_ns"] - flows["start_ns"]).astype(np.float64)
    acked = flows["acked_bytes"].astype(np.float64)
    capacity_bps = pd.Series(capacity).astype("Float64").mask(~np.isfinite(capacity) | (capacity <= 0))
    return tables.frame(
        tables.FLOWS,
        {
            **{name: flows[name] for name in tables.FLOWS if name in flows},
            "rtt_min_ns": _positive(_floats(flows["rtt_min_ns"])),
            "rtt_median_ns": _whole(median),
            "throughput_bps": _per_second(np.where(acked > 0, acked, np.nan), life),
            "capacity_bps": capacity_bps,
            "bdp_bytes": _positive(capacity * rtt_min_ns / 8e9),
            "vantage": vantage.places(flows),
            "limit": np.asarray(LIMITS, dtype=object)[most],
            **{f"{name}_share": np.clip(shares[name], 0.0, 1.0) for name in LIMITS},
            "confidence": np.round(np.divide(sure, weight, out=np.zeros(count), where=weight > 0), 2),
        },
    )
