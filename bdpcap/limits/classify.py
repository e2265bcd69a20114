"""From the core's columns to the tables of flows and rounds, a block of streams at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core, tables
from bdpcap.limits import doubt, to_tables
from bdpcap.limits.decide import decide, explain
from bdpcap.limits.evidence import Evidence, Vantage
from bdpcap.limits.evidence.cross_traffic import meanwhile
from bdpcap.limits.rounds import Rounds
from bdpcap.read import vantage
from bdpcap.read.ahead import ahead
from bdpcap.read.quality import NEEDED, acknowledgments_missing
from bdpcap.tables.columns import floats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bdpcap.limits.decision import Places, Verdict
    from bdpcap.limits.doubt import Doubt
    from bdpcap.limits.rounds import Floats, Ints
    from bdpcap.tables import cells

    Columns = dict[str, Any]

__all__ = ["Classification"]

BLOCK: Final = 1 << 14
"""Rounds that are judged together, in whole streams: enough for numpy, few enough for a cache and little memory."""
DIRECTIONS: Final = 2
LOOKED_AT: Final = (
    *tables.FLOWS,
    *NEEDED,
    *("direction", "acked_bytes", "direct", "initial_rtt_ns", "multipath", "scale_reached", "tick_ns"),
    *("sender_side_ns", "receiver_side_ns"),
)
"""Columns about directions, as far as the core has them, that judging and the table of flows look at."""


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
        paths = core.paths()
        self._path, of_datagrams = (paths[name].astype(np.int64) for name in ("of_streams", "of_datagrams"))
        self._rtt_ns = floats(paths["rtt_ns"])
        self._end_ns = paths["last_ns"]
        self.few: Final[bool] = paths["rounds"] <= BLOCK
        """Are all rounds judged together, once?"""
        self._crowded = paths["row"]
        self._meanwhile = meanwhile(paths, self._path[self._crowded], datagrams, of_datagrams)

    def _blocks(self) -> Iterator[tuple[Columns, Columns]]:
        """Yield columns of the rounds of each block and of its directions; at least one block."""
        first, more = 0, True
        while more:
            columns, following = self._core.rounds(first, BLOCK)
            directions = self._core.directions(first, following - first, LOOKED_AT)
            yield columns, directions
            first, more = following, DIRECTIONS * following < len(self._path)

    def _judge(self, rounds: Columns, directions: Columns) -> _Judged:
        """Judge some streams, in ascending order."""
        carried = np.flatnonzero(directions["carried"])
        flows = {name: _column(values)[carried] for name, values in self._named(directions).items()}
        flows["vantage"] = vantage.places(flows)
        row = _rows(rounds)
        flow = np.searchsorted(_rows(flows), row)
        path = self._path[row]
        seen = Vantage(
            at_sender=flows["direct"][flow].astype(bool),
            at_receiver=(flows["vantage"] == "receiver")[flow],
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
        crowded, delivered = self._crowded[begin:end], self._meanwhile[begin:end]
        others[np.isin(row, crowded)] = delivered[np.isin(crowded, row)]
        return others

    @cached_property
    def _only(self) -> _Judged:
        """All streams at once."""
        columns, _ = self._core.rounds()
        return self._judge(columns, self._core.directions(names=LOOKED_AT))

    def _pieces(self) -> Iterator[_Judged]:
        """Yield the blocks, judged; most captures have one, and it is kept."""
        if self.few:
            yield self._only
        else:
            for block in ahead(self._blocks()):
                piece = self._judge(*block)
                yield piece
                piece.evidence.forget()

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """What the rules looked at, and the core's columns about the flows of its rounds."""
        return self._only.evidence, self._only.flows

    def flows(self) -> Iterator[tuple[cells.Columns, Places]]:
        """Yield what `bdpcap.limits.to_tables.flows` does, in pieces, at least one."""
        for piece in self._pieces():
            yield to_tables.flows(piece.flows, piece.evidence, piece.verdict)

    def rtts(self) -> Iterator[cells.Columns]:
        """Yield the table of `bdpcap.tables.RTTS` in pieces, at least one."""
        return map(_rounds, self._pieces())

    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last frame of every row of `rtts`."""
        columns, _ = self._core.rounds(names=("first_frame", "last_frame"))
        return columns["first_frame"], columns["last_frame"]

    def rounds_of(self, streams: Sequence[int]) -> tuple[cells.Columns, tuple[np.ndarray, np.ndarray]]:
        """Return the rows of `rtts` of some streams, given in ascending order, and the first and last frame of each."""
        rounds = _together([self._core.rounds(stream, 1)[0] for stream in streams])
        judged = self._judge(
            rounds, _together([self._core.directions(stream, 1, LOOKED_AT) for stream in streams])
        )
        return _rounds(judged), (rounds["first_frame"], rounds["last_frame"])


def _rounds(piece: _Judged) -> cells.Columns:
    words = doubt.marked(explain(piece.evidence, piece.verdict), piece.doubts)
    return to_tables.rounds(piece.flows, piece.evidence, piece.verdict, words)


def _together(parts: Sequence[Columns]) -> Columns:
    """Return the columns of consecutive parts as one."""
    return {name: np.concatenate([_column(part[name]) for part in parts]) for name in parts[0]}


def _column(values: Any) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else np.array(values, dtype=object)


def _rows(columns: Columns) -> Ints:
    """Return of rounds, or of directions, which row of the directions of all streams each belongs to."""
    rows: Ints = DIRECTIONS * columns["stream"].astype(np.int64) + columns["direction"]
    return rows
