"""From the core's columns to the tables of flows and rounds, a block of streams at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap import _core, tables, vantage
from bdpcap.columns import floats
from bdpcap.limits import doubt
from bdpcap.limits.decide import decide, explain
from bdpcap.limits.evidence import Evidence, Vantage
from bdpcap.limits.evidence.cross_traffic import meanwhile
from bdpcap.limits.evidence.queue import least_rtt_ns
from bdpcap.limits.rounds import Rounds
from bdpcap.limits.verdict import LIMITS, Verdict
from bdpcap.quality import acknowledgments_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bdpcap.limits.doubt import Doubt
    from bdpcap.limits.rounds import Floats, Ints

    Columns = dict[str, Any]

__all__ = ["Classification"]

BLOCK: Final = 1 << 14
"""Rounds that are judged together, in whole streams: enough for numpy, few enough for a cache and little memory."""
SPAN: Final = ("start_ns", "end_ns", "delivered_bytes")
SHARED: Final = ("stream", "direction", *SPAN, "rtt_floor_ns")
"""Columns of rounds that tell something of the rounds of other flows."""
DIRECTIONS: Final = 2


@dataclass(frozen=True)
class _Judged:
    """Some streams: what was counted of the flows and rounds, and what came of it."""

    flows: dict[str, np.ndarray]
    evidence: Evidence
    verdict: Verdict
    doubts: list[Doubt]


class Classification:
    """Every round with what limited it. Streams are judged when a table asks for them.

    Parameters
    ----------
    core
        A pass that has come to its end.
    named
        Gives the core's columns about directions the names they are to have.
    datagrams
        Columns of `bdpcap._core.Analysis.datagrams`.
    """

    def __init__(self, core: _core.Analysis, named: Callable[[Columns], Columns], datagrams: Columns) -> None:
        self._core, self._named = core, named
        self._path, of_datagrams = (ways.astype(np.int64) for ways in core.ways())
        shared = np.bincount(np.concatenate([self._path, of_datagrams])) > 1
        self._first: list[int] = []
        self._end_ns = 0
        self._rtt_ns = np.full(len(shared), np.nan)
        spans: list[Columns] = []
        for first, columns, directions in self._blocks(SHARED, ("initial_rtt_ns",)):
            self._first.append(first)
            self._end_ns = max(self._end_ns, int(columns["end_ns"].max(initial=0)))
            row = _rows(columns)
            starts = np.flatnonzero(np.diff(row, prepend=-1))
            initial = floats(directions["initial_rtt_ns"])[row - DIRECTIONS * first]
            rounds = Rounds(columns, np.cumsum(np.diff(row, prepend=-1) > 0) - 1)
            np.fmin.at(self._rtt_ns, self._path[row[starts]], least_rtt_ns(rounds, initial))
            crowded = shared[self._path[row]]
            spans.append({name: columns[name][crowded] for name in SPAN} | {"row": row[crowded]})
        together = {name: np.concatenate([span[name] for span in spans]) for name in (*SPAN, "row")}
        self._crowded = together["row"]
        self._meanwhile = meanwhile(together, self._path[self._crowded], datagrams, of_datagrams)

    def _blocks(
        self, of_rounds: tuple[str, ...] | None = None, of_directions: tuple[str, ...] | None = None
    ) -> Iterator[tuple[int, Columns, Columns]]:
        """Yield the first stream of each block, columns of its rounds and of its directions; at least one block."""
        first, more = 0, True
        while more:
            columns, following = self._core.rounds(first, BLOCK, of_rounds)
            directions = self._core.directions(first, following - first, of_directions)
            yield first, columns, directions
            first, more = following, DIRECTIONS * following < len(self._path)

    def _judge(self, first: int, rounds: Columns, directions: Columns) -> _Judged:
        carried = np.flatnonzero(directions["carried"])
        flows = {name: np.asarray(values)[carried] for name, values in self._named(directions).items()}
        row = _rows(rounds)
        flow = np.searchsorted(carried + DIRECTIONS * first, row)
        path = self._path[row]
        seen = Vantage(
            at_sender=flows["direct"][flow].astype(bool),
            at_receiver=(vantage.places(flows) == "receiver")[flow],
            mss_bytes=flows["mss_bytes"][flow].astype(np.float64),
            initial_rtt_ns=floats(flows["initial_rtt_ns"])[flow],
            # Few of the many ways of a capture are in a block.
            path=np.unique(path, return_inverse=True)[1],
            path_rtt_ns=self._rtt_ns[path],
            cross_traffic_bytes=self._cross_traffic(row),
            flow_acks=np.where(acknowledgments_missing(flows), 0.0, flows["acks"])[flow],
            capture_end_ns=np.full(len(flow), self._end_ns, dtype=np.float64),
        )
        evidence = Evidence(Rounds(rounds, flow), seen)
        verdict = decide(evidence)
        doubts = doubt.doubts(evidence, verdict, flows)
        return _Judged(flows, evidence, doubt.lowered(verdict, doubts), doubts)

    def _cross_traffic(self, row: Ints) -> Floats:
        """Return what others delivered during each round, of directions in ascending order."""
        others = np.zeros(len(row))
        begin, end = np.searchsorted(self._crowded, [row[0], row[-1] + 1]) if len(row) else (0, 0)
        others[np.isin(row, self._crowded[begin:end])] = self._meanwhile[begin:end]
        return others

    @cached_property
    def _only(self) -> _Judged:
        """All streams at once."""
        columns, _ = self._core.rounds()
        return self._judge(0, columns, self._core.directions())

    def _pieces(self) -> Iterator[_Judged]:
        """Yield the blocks, judged; most captures have one, and it is kept."""
        if len(self._first) == 1:
            yield self._only
        else:
            for block in self._blocks():
                piece = self._judge(*block)
                yield piece
                piece.evidence.forget()

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """What the rules looked at, and the core's columns about the flows of its rounds."""
        return self._only.evidence, self._only.flows

    def flows(self) -> Iterator[pd.DataFrame]:
        """Yield the table of `bdpcap.tables.FLOWS` in pieces, at least one."""
        for piece in self._pieces():
            yield _flows(piece.flows, piece.evidence, piece.verdict)

    def rtts(self) -> Iterator[pd.DataFrame]:
        """Yield the table of `bdpcap.tables.RTTS` in pieces, at least one."""
        for piece in self._pieces():
            words = doubt.marked(explain(piece.evidence, piece.verdict), piece.doubts)
            yield _rtts(piece.flows, piece.evidence, piece.verdict, words)

    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last frame of every row of `rtts`."""
        columns, _ = self._core.rounds(names=("first_frame", "last_frame"))
        return columns["first_frame"], columns["last_frame"]


def _rows(rounds: Columns) -> Ints:
    """Return for each round which row it is of, of the directions of all streams."""
    rows: Ints = DIRECTIONS * rounds["stream"].astype(np.int64) + rounds["direction"]
    return rows


def _whole(values: Floats) -> pd.api.extensions.ExtensionArray:
    """Nullable integers from floats; what 64 bits do not hold is absent, too."""
    absent = ~(np.abs(values) < 2.0**63)
    return pd.arrays.IntegerArray(
        np.where(absent, 0, np.round(np.where(absent, 0, values))).astype(np.int64), absent
    )


def _positive(values: Floats) -> pd.api.extensions.ExtensionArray:
    """Nullable integers from floats; 0 is absent, too: a time or a size that the capture is too coarse to show."""
    return _whole(np.where(values > 0.5, values, np.nan))  # a half is rounded to even, which is 0


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
            "throughput_bps": tables.bits_per_second(rounds["acked_bytes"].astype(np.float64), length),
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
    held = {name: np.bincount(flow, length * verdict.is_limit(name), count) for name in LIMITS}
    # A flow captured in one instant has no time to share out.
    held["unknown"] = np.where(total > 1e-9, held["unknown"], total)
    most = np.argmax(np.stack([held[name] for name in LIMITS]), axis=0) if count else np.zeros(0, dtype=int)
    shares = {name: held[name] / total for name in LIMITS}
    leads = verdict.limits == most[flow]
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
    least_ns = floats(flows["rtt_min_ns"])
    # The least round trip has the sender's delay as known at the end; early rounds may have had less of it.
    median = np.asarray(pd.Series(trip_ns).groupby(flow).median(), dtype=np.float64)
    median = np.maximum(median, np.nan_to_num(least_ns))
    life = (flows["end_ns"] - flows["start_ns"]).astype(np.float64)
    acked = flows["acked_bytes"].astype(np.float64)
    capacity_bps = pd.Series(capacity).astype("Float64").mask(~np.isfinite(capacity) | (capacity <= 0))
    return tables.frame(
        tables.FLOWS,
        {
            **{name: flows[name] for name in tables.FLOWS if name in flows},
            "rtt_min_ns": _positive(least_ns),
            "rtt_median_ns": _whole(median),
            "throughput_bps": tables.bits_per_second(np.where(acked > 0, acked, np.nan), life),
            "capacity_bps": capacity_bps,
            "bdp_bytes": _positive(capacity * rtt_min_ns / 8e9),
            "vantage": vantage.places(flows),
            "limit": np.asarray(LIMITS, dtype=object)[most],
            **{f"{name}_share": np.clip(shares[name], 0.0, 1.0) for name in LIMITS},
            "confidence": np.round(np.divide(sure, weight, out=np.zeros(count), where=weight > 0), 2),
        },
    )
