"""The tables of flows and rounds, made from the core's columns one block of streams at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core, tables
from bdpcap.hosts import columns as hosts
from bdpcap.limits import doubt, to_tables
from bdpcap.limits.decide import decide, explain
from bdpcap.limits.evidence import Evidence, Vantage
from bdpcap.limits.evidence.cross_traffic import meanwhile
from bdpcap.limits.rounds import Rounds
from bdpcap.read import hops, vantage
from bdpcap.read.ahead import ahead
from bdpcap.read.quality import NEEDED, acknowledgments_missing
from bdpcap.tables.columns import floats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bdpcap.limits.decision import Places, Verdict
    from bdpcap.limits.doubt import Doubt
    from bdpcap.limits.rounds import Floats, Ints
    from bdpcap.read.whole import PerRound
    from bdpcap.tables import cells

    Columns = dict[str, Any]
    Counters = Callable[[Columns, Rounds], Columns]
    """Returns the quantities of `bdpcap.limits.evidence.Kernel` for rounds; the first argument describes their flows."""

__all__ = ["HIDDEN", "Classification"]

BLOCK: Final = 1 << 13
"""Number of rounds after which a block of whole streams ends: enough for numpy, few enough for the CPU's cache."""
HIDDEN: Final = (
    "first_frame",
    "last_frame",
    "length_ns",
    "empty_ns",
    "short_segments",
    "forward_delay_p20_ns",
    "congestion_echoes",
)
"""The core's columns about rounds that no table shows, but sentences and display filters need."""
DIRECTIONS: Final = 2
"""Rows per stream among the directions."""
DIRECTION_COLUMNS: Final = (
    *tables.FLOWS,
    *NEEDED,
    *hosts.NEEDED,
    *("direction", "acked_bytes", "tap_at_sender", "initial_rtt_ns", "multipath", "scale_reached", "tick_ns"),
    *("sustained_rate", "standstill_ns", "lost_before_tap"),
)
"""Columns about directions that classification and the table of flows need; the core skips names that it lacks."""
NEXT_TO_NS: Final = 1_000_000
"""Round trip below which a host may be the one next to the capture; a choice: paths beyond a network take longer."""


@dataclass(frozen=True)
class _Classified:
    """Evidence and verdict of some streams, and the core's columns about their flows."""

    flows: dict[str, np.ndarray]
    evidence: Evidence
    verdict: Verdict
    doubts: list[Doubt]


def _needless(flows: dict[str, np.ndarray]) -> np.ndarray:
    """Return the number of packets of each flow that were sent again though they had arrived.

    The receiver may not report them (RFC 2883 section 4). Next to it, what the capture holds has arrived. Where the
    network delivers packets twice, its reports may be of such copies.
    """
    again, near = flows["retransmits"], flows["vantage"] == "receiver"
    reported = np.where(near & (flows["delivered_twice"] > 0), 0, flows["spurious_retransmits"])
    arrived = np.where(near, again - flows["lost_before_tap"], 0)
    needless: np.ndarray = np.maximum(reported, arrived)
    return needless


def _unmeasured(flows: Columns, receiver_ttl: np.ndarray) -> np.ndarray:
    """Return for each flow whether no handshake measured the path, and the capture may be next to the receiver.

    TTLs show the place where delays do not. Without either, a short round trip may be the receiver's part of a path.
    """
    far = (flows["vantage"] == "sender") | hops.nearer(flows["ttl"], receiver_ttl)
    near = (flows["vantage"] == "receiver") | hops.nearer(receiver_ttl, flows["ttl"])
    near |= flows["rtt_min_ns"] < NEXT_TO_NS
    unmeasured: np.ndarray = (flows["initial_rtt_ns"] == _core.NULL) & near & ~far
    return unmeasured


class Classification:
    """Every round with its limit. Streams are classified when a table needs them.

    Parameters
    ----------
    core
        A pass that is complete.
    named
        Returns the core's columns about directions with the final names of hosts.
    paths
        Columns of `bdpcap._core.Analysis.paths`.
    places
        Where each direction of every stream was captured, as an index into `bdpcap.read.vantage.NAMES`.
    counters
        Returns the sending kernel's counters around rounds; None without an account of the host.
    whole
        Cross traffic in each round of both directions of an excerpt's only stream, in the whole capture.
    """

    def __init__(
        self,
        core: _core.Analysis,
        named: Callable[[Columns], Columns],
        paths: Columns,
        places: np.ndarray,
        counters: Counters | None = None,
        *,
        whole: PerRound = ((), ()),
    ) -> None:
        self._core, self._named, self._places, self._counters = core, named, places, counters
        self._path = paths["of_streams"]
        self._rtt_ns = floats(paths["rtt_ns"])
        self._end_ns = floats(paths["last_ns"])
        self.few: Final[bool] = max(paths["rounds"], len(self._path) // DIRECTIONS) <= BLOCK
        """Whether all streams are classified together, once: the streams and their rounds fit one block."""
        self._shared_rows = paths["row"]
        shared, of_datagrams = (
            of.astype(np.int64) for of in (self._path[self._shared_rows], paths["of_datagrams"])
        )
        self._shared_bytes = meanwhile(paths, shared, core.datagrams(), of_datagrams)
        self._whole = whole

    def _blocks(self) -> Iterator[tuple[Columns, Columns]]:
        """Yield the columns of the rounds and of the directions of each block; at least one block."""
        first, more = 0, True
        while more:
            columns, following = self._core.rounds(first, BLOCK)
            directions = self._core.directions(first, following - first, DIRECTION_COLUMNS)
            yield columns, directions
            first, more = following, DIRECTIONS * following < len(self._path)

    def _classify(self, rounds: Columns, directions: Columns) -> _Classified:
        """Classify some streams, given in ascending order."""
        carried = np.flatnonzero(directions["carried"])
        flows = {name: _column(values)[carried] for name, values in self._named(directions).items()}
        flows["vantage"] = vantage.NAMES[self._places[_rows(flows)]]
        flows["spurious_retransmits"] = _needless(flows)
        for end, rows in (("sender", carried), ("receiver", carried ^ 1)):
            flows[f"{end}_system"], flows[f"{end}_system_certainty"] = hosts.systems(directions, rows)
        row = _rows(rounds)
        flow = np.searchsorted(_rows(flows), row)
        path = self._path[row]
        seen = Vantage(
            at_sender=flows["tap_at_sender"][flow].astype(bool),
            at_receiver=(flows["vantage"] == "receiver")[flow],
            mss_bytes=floats(flows["mss_bytes"])[flow],
            initial_rtt_ns=floats(flows["initial_rtt_ns"])[flow],
            path_rtt_ns=self._rtt_ns[path],
            cross_traffic_bytes=self._cross_traffic(row),
            flow_acks=np.where(acknowledgments_missing(flows), 0.0, flows["acks"])[flow],
            needless=(flows["spurious_retransmits"] >= flows["retransmits"])[flow],
            tick_ns=floats(flows["tick_ns"])[flow],
            shifted=(flows["standstill_ns"] > 0)[flow],
            unmeasured=_unmeasured(flows, directions["ttl"][carried ^ 1])[flow],
            capture_end_ns=self._end_ns[path],
        )
        all_rounds = Rounds(rounds, flow)
        counted = None if self._counters is None else self._counters(flows, all_rounds)
        evidence = Evidence(all_rounds, seen, counted)
        verdict = decide(evidence)
        doubts = doubt.doubts(evidence, verdict, flows)
        return _Classified(flows, evidence, doubt.lowered(verdict, doubts), doubts)

    def _cross_traffic(self, row: Ints) -> Floats:
        """Return the bytes that other flows delivered during each round; `row` is the row of its direction, ascending."""
        others = np.zeros(len(row))
        begin, end = np.searchsorted(self._shared_rows, [row[0], row[-1] + 1]) if len(row) else (0, 0)
        rows, delivered = self._shared_rows[begin:end], self._shared_bytes[begin:end]
        others[np.isin(row, rows)] = delivered[np.isin(rows, row)]
        for direction, in_whole in enumerate(self._whole):
            own = row == direction
            if in_whole and len(in_whole) == own.sum():
                others[own] = in_whole
        return others

    def cross_traffic(self, stream: int) -> PerRound:
        """Return the bytes that other flows of the path delivered during each round of both directions of a stream."""
        row = _rows(self._core.rounds(stream, 1, ("stream", "direction"))[0])
        others = self._cross_traffic(row).astype(np.int64)
        client, server = (others[row == DIRECTIONS * stream + direction] for direction in range(DIRECTIONS))
        return tuple(client.tolist()) if client.any() else (), tuple(server.tolist()) if server.any() else ()

    @cached_property
    def _all(self) -> _Classified:
        """All streams, classified at once."""
        columns, _ = self._core.rounds()
        return self._classify(columns, self._core.directions(names=DIRECTION_COLUMNS))

    def _pieces(self) -> Iterator[_Classified]:
        """Yield the classified blocks; most captures have one, which is kept."""
        if self.few:
            yield self._all
        else:
            for block in ahead(self._blocks()):
                piece = self._classify(*block)
                yield piece
                piece.evidence.forget()

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """The evidence that the rules read, and the core's columns about the flows of its rounds."""
        return self._all.evidence, self._all.flows

    def flows(self) -> Iterator[tuple[cells.Columns, Places]]:
        """Yield the results of `bdpcap.limits.to_tables.flows` in pieces, at least one."""
        for piece in self._pieces():
            yield to_tables.flows(piece.flows, piece.evidence, piece.verdict)

    def rtts(self) -> Iterator[cells.Columns]:
        """Yield the columns of `bdpcap.tables.RTTS` in pieces, at least one."""
        return map(_rounds, self._pieces())

    def hidden(self) -> tuple[Ints, ...]:
        """Return the columns `HIDDEN` of every row of `rtts`."""
        return _hidden(self._core.rounds(names=HIDDEN)[0])

    def rounds_of(self, streams: Sequence[int]) -> tuple[cells.Columns, tuple[Ints, ...]]:
        """Return the rows of `rtts` of streams, given in ascending order, and the columns `HIDDEN` of them."""
        rounds = _concatenated([self._core.rounds(stream, 1)[0] for stream in streams])
        classified = self._classify(
            rounds, _concatenated([self._core.directions(stream, 1, DIRECTION_COLUMNS) for stream in streams])
        )
        return _rounds(classified), _hidden(rounds)


def _hidden(rounds: Columns) -> tuple[Ints, ...]:
    return tuple(rounds[name].astype(np.int64) for name in HIDDEN)


def _rounds(piece: _Classified) -> cells.Columns:
    words = doubt.marked(explain(piece.evidence, piece.verdict), piece.doubts)
    return to_tables.rounds(piece.flows, piece.evidence, piece.verdict, words)


def _concatenated(parts: Sequence[Columns]) -> Columns:
    """Return the columns of consecutive parts, joined; those of a single part uncopied, as a long flow's are large."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([_column(part[name]) for part in parts]) for name in parts[0]}


def _column(values: Any) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else np.array(values, dtype=object)


def _rows(columns: Columns) -> Ints:
    """Return for each round or direction its row among the directions of all streams."""
    rows: Ints = DIRECTIONS * columns["stream"].astype(np.int64) + columns["direction"]
    return rows
