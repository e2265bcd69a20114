"""From the core's columns to the tables of flows and rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bdpcap import _core, tables, vantage
from bdpcap.limits import doubt
from bdpcap.limits.company import company
from bdpcap.limits.evidence import Evidence
from bdpcap.limits.sentences import sentences
from bdpcap.limits.verdict import LIMITS, Verdict, weigh

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Floats

__all__ = ["Judgement"]


class Judgement:
    """Every round judged. The tables are made when asked for.

    Parameters
    ----------
    rounds
        Columns of `bdpcap._core.Analysis.take_rounds`, in its order.
    directions
        Columns of `bdpcap._core.Analysis.directions`.
    datagrams
        Columns of `bdpcap._core.Analysis.datagrams`.
    """

    def __init__(
        self, rounds: dict[str, np.ndarray], directions: dict[str, Any], datagrams: dict[str, Any]
    ) -> None:
        carried = np.flatnonzero(directions["carried"])
        self._flows = flows = {name: np.asarray(values)[carried] for name, values in directions.items()}
        flow = np.searchsorted(carried, 2 * rounds["stream"].astype(np.int64) + rounds["direction"])
        self._evidence = Evidence(
            columns=rounds,
            flow=flow,
            mss=flows["mss_bytes"][flow].astype(np.float64),
            direct=flows["direct"][flow].astype(bool),
            handshake_ns=_floats(flows["initial_rtt_ns"])[flow],
            facing=(vantage.places(flows) == "receiver")[flow],
            others_bytes=company(rounds, flow, flows, datagrams),
            flow_acks=flows["acks"][flow].astype(np.float64),
        )
        verdict = weigh(self._evidence)
        self._doubts = doubt.doubts(self._evidence, verdict, flows)
        self._verdict = doubt.lowered(verdict, self._doubts)

    def flows(self) -> pd.DataFrame:
        """Table of `bdpcap.tables.FLOWS`."""
        return _flows(self._flows, self._evidence, self._verdict)

    def rtts(self) -> pd.DataFrame:
        """Table of `bdpcap.tables.RTTS`."""
        words = doubt.marked(sentences(self._evidence, self._verdict), self._doubts)
        return _rtts(self._flows, self._evidence, self._verdict, words)

    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last frame of every row of `rtts`."""
        columns = self._evidence.columns
        return columns["first_frame"], columns["last_frame"]


def _floats(values: np.ndarray) -> Floats:
    return np.where(values == _core.NULL, np.nan, values.astype(np.float64))


def _whole(values: Floats) -> pd.api.extensions.ExtensionArray:
    """Nullable integers from floats; what 64 bits do not hold is absent, too."""
    absent = ~(np.abs(values) < 2.0**63)
    return pd.arrays.IntegerArray(
        np.where(absent, 0, np.round(np.where(absent, 0, values))).astype(np.int64), absent
    )


def _per_second(amount: Floats, duration_ns: Floats) -> pd.Series:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(duration_ns > 0, amount * 8e9 / duration_ns, np.nan)
    return pd.Series(rate).astype("Float64").mask(np.isnan(rate))


def _rtts(
    flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict, words: list[str]
) -> pd.DataFrame:
    rounds, flow = evidence.columns, evidence.flow
    length = (rounds["end_ns"] - rounds["start_ns"]).astype(np.float64)
    return tables.frame(
        tables.RTTS,
        {
            **{
                name: rounds[name]
                for name in ("stream", "round", "start_ns", "end_ns", "rtt_ns", "acked_bytes")
            },
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
            "evidence": words,
        },
    )


def _flows(flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict) -> pd.DataFrame:
    count = len(flows["stream"])
    length = evidence.end_ns - evidence.start_ns
    total = np.maximum(np.bincount(evidence.flow, length, count), 1e-9)
    held = {name: np.bincount(evidence.flow, length * (verdict.limit == name), count) for name in LIMITS}
    # A flow captured in one instant has no time to share out.
    held["unknown"] = np.where(total > 1e-9, held["unknown"], total)
    most = np.argmax(np.stack([held[name] for name in LIMITS]), axis=0) if count else np.zeros(0, dtype=int)
    shares = {name: held[name] / total for name in LIMITS}
    shares["unknown"] = 1.0 - np.sum([shares[name] for name in LIMITS if name != "unknown"], axis=0)
    leads = verdict.limit == np.asarray(LIMITS, dtype=object)[most][evidence.flow]
    weight = np.bincount(evidence.flow, length * leads, count)
    sure = np.bincount(evidence.flow, length * leads * verdict.confidence, count)
    first = evidence.starts
    # The bottleneck's rate shows in the first bursts, whatever held the flow later; but a flow that kept the link busy at
    # much less shared it, and had a part.
    filled = held["link"][evidence.flow] > 0.1 * total[evidence.flow]
    shared = filled & (evidence.opened_rate > 1.5 * evidence.capacity)
    capacity = (
        np.where(shared, evidence.capacity, np.fmax(evidence.capacity, evidence.opened_rate))[first] * 8
    )
    floor = evidence.floor[first]
    median = np.asarray(pd.Series(evidence.rtt_ns).groupby(evidence.flow).median(), dtype=np.float64)
    life = (flows["end_ns"] - flows["start_ns"]).astype(np.float64)
    capacity_bps = pd.Series(capacity).astype("Float64").mask(~np.isfinite(capacity) | (capacity <= 0))
    return tables.frame(
        tables.FLOWS,
        {
            **{name: flows[name] for name in tables.FLOWS if name in flows},
            "rtt_median_ns": _whole(median),
            "throughput_bps": _per_second(flows["acked_bytes"].astype(np.float64), life),
            "capacity_bps": capacity_bps,
            "bdp_bytes": _whole(np.where(capacity > 0, capacity * floor / 8e9, np.nan)),
            "vantage": vantage.places(flows),
            "limit": np.asarray(LIMITS, dtype=object)[most],
            **{f"{name}_share": np.clip(shares[name], 0.0, 1.0) for name in LIMITS},
            "confidence": np.round(np.divide(sure, weight, out=np.zeros(count), where=weight > 0), 2),
        },
    )
