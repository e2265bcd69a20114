"""A capture that was read, and its flows, as data: tables, events, packets."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Protocol, TypeAlias, cast, get_args, overload

import numpy as np

from bdpcap import _core, hosts
from bdpcap.hosts import columns as host_columns
from bdpcap.read import core_pass, rotation, vantage
from bdpcap.read.in_process import InProcess
from bdpcap.read.progress import shown
from bdpcap.read.quality import FLAW_COLUMNS, Flaw, acknowledgments_missing, flaws
from bdpcap.read.whole import Whole
from bdpcap.words.endpoints import host, port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.limits import Classification
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Rounds
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.core_pass import Read
    from bdpcap.read.facts import Damage, Fingerprint
    from bdpcap.read.scale import InferredScale
    from bdpcap.read.sums import Sums
    from bdpcap.read.whole import Pair
    from bdpcap.tables import cells

__all__ = ["TABLES", "Capture", "Flow", "Table", "Taker"]

Table = Literal["flows", "rtts", "connections", "exchanges", "datagrams", "events"]
TABLES: Final[tuple[Table, ...]] = get_args(Table)

_ENDS: Final = ("sender", "receiver")

Taker: TypeAlias = "tuple[Flow, Callable[[dict[str, np.ndarray]], None], Sequence[str]]"
"""A flow, a function that takes the core's columns of its next events, and the names of those that it needs."""
_DELAYS: Final = ("sender_side_ns", "receiver_side_ns")
"""Columns about directions that show where they were captured."""
_OF_CARRIERS: Final = (
    "stream", "direction", "payload_bytes", "largest_bytes", "mss_bytes", "announced_mss_bytes",
    "handshake", "window_scale_source",
)  # fmt: skip
"""Columns about directions in `Capture.carriers`, which show how far a capture can be trusted."""


class HostAccount(Protocol):
    """Statistics of a host's kernel about its connections; `bdpcap.host.Account` implements it."""

    @property
    def samples(self) -> pd.DataFrame:
        """The samples, as a table of `bdpcap.tables.HOST`."""

    def of(self, flow: Flow) -> pd.DataFrame:
        """Return the samples of a flow."""

    def counters(self, flows: dict[str, Any], rounds: Rounds) -> dict[str, Any]:
        """Return the quantities of `bdpcap.limits.evidence.Kernel` for the rounds of these flows."""

    def named(self, pseudonyms: Pseudonyms) -> HostAccount:
        """Return the statistics with pseudonyms for their addresses."""

    def doubts(self, capture: Capture) -> list[str]:
        """Return sentences about samples and lines that could not be used."""


class Capture(InProcess):
    """A capture that was read: flows, rounds with their limits, events.

    `bdpcap.analysis.Capture` adds findings, figures and reports.
    """

    def __init__(
        self,
        core: _core.Analysis,
        sources: list[Read],
        expression: str | None,
        events: dict[str, np.ndarray] | None,
        *,
        broken: Sequence[Damage] = (),
        whole: Whole | None = None,
        scales: list[InferredScale],
        pseudonyms: Pseudonyms | None,
        sums: Sums | None = None,
        events_left_out: int = 0,
        summarized: bool = False,
        watched: bool = False,
        host: HostAccount | None = None,
    ) -> None:
        self._summarized = summarized
        self._watched = watched
        self._sources = sources
        self._filter = expression
        self.pseudonyms: Final = pseudonyms
        if pseudonyms:
            # Pseudonyms are numbered in the order of the requests: the ends of streams come first.
            for _ in core_pass.directions(core, pseudonyms, _ENDS):
                pass
        self._core = core
        self._kept = events
        self._by_stream: dict[int, pd.DataFrame] = {}
        self._rounds: dict[int, tuple[pd.DataFrame, np.ndarray]] = {}
        self.damages: Final = core_pass.damages(core, broken, pseudonyms)
        self.damage: Final[Damage | None] = self.damages[0] if self.damages else None
        self._whole = whole
        info = core_pass.info(core, sums or core_pass.summed(core), whole)
        if events_left_out:
            rows = info.left_out.get("rows", 0) + events_left_out
            info = replace(info, left_out=info.left_out | {"rows": rows})
        self.info: Final = pseudonyms.info(info) if pseudonyms else info
        self.frames_of_files: Final = [capture["frames"] for capture in core.captures()]
        self.scales: Final = scales
        self._udp = core_pass.named(core.datagrams(), pseudonyms)
        self.host: Final = host.named(pseudonyms) if host and pseudonyms else host

    @cached_property
    def _classification(self) -> Classification:
        from bdpcap.limits import Classification  # noqa: PLC0415 - needed for verdicts only

        counters = None if self.host is None else self.host.counters
        others = ((), ()) if self._whole is None else self._whole.cross_traffic_bytes
        return Classification(self._core, self._named, self._paths, self._places, counters, whole=others)

    @cached_property
    def _paths(self) -> dict[str, Any]:
        paths = self._core.paths()
        if self._whole is not None:
            paths["last_ns"] = max(paths["last_ns"], self._whole.end_ns or 0)
            for path, known_ns in zip(paths["of_streams"], self._whole.rtt_ns, strict=True):
                if known_ns is not None:
                    own_ns = paths["rtt_ns"][path]
                    paths["rtt_ns"][path] = known_ns if own_ns == _core.NULL else min(own_ns, known_ns)
        return paths

    @cached_property
    def _places(self) -> NDArray[np.object_]:
        """Where each direction of every stream was captured."""
        paths = self._paths["of_streams"]
        # Streams of a SYN alone have no path: a flood has millions, and nothing shows their place.
        followed = paths > 0
        places = np.empty(len(paths), dtype=object)
        places.fill("unknown")  # np.full would make a text for each element
        pieces = [{name: np.zeros(0, dtype=np.int64) for name in _DELAYS}]
        first = 0
        for columns in core_pass.directions(self._core, None, _DELAYS):
            own = followed[first : first + len(columns[_DELAYS[0]])]
            pieces.append({name: values[own] for name, values in columns.items()})
            first += len(own)
        known = () if self._whole is None else self._whole.sender_side_ns
        delays = core_pass.joined(pieces)
        places[followed] = vantage.places(delays, paths[followed].astype(np.int64), known)
        return places

    def _named(self, columns: dict[str, Any]) -> dict[str, Any]:
        if "tick_ns" in columns:
            columns["tick_ns"] = np.full(len(columns["tick_ns"]), self.info.tick_ns)
        return core_pass.named(columns, self.pseudonyms)

    @cached_property
    def quality(self) -> list[Flaw]:
        """The flaws of the capture itself, gravest first."""
        return flaws(self.info, core_pass.directions(self._core, self.pseudonyms, FLAW_COLUMNS))

    @property
    def flows(self) -> pd.DataFrame:
        """The flows, as a table of `bdpcap.tables.FLOWS`."""
        return self._flows[0]

    @property
    def main_details(self) -> NDArray[np.object_]:
        """For each row of `flows`, the detail of its limit with the most time; None if the limit has no detail."""
        return self._flows[1]

    @cached_property
    def _flows(self) -> tuple[pd.DataFrame, NDArray[np.object_]]:
        import pandas as pd  # noqa: PLC0415 - slow to import

        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.limits import KINDS  # noqa: PLC0415 - needed for verdicts only
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        pieces = [
            (frames.of_cells(tables.FLOWS, piece), details) for piece, details in self._classification.flows()
        ]
        flows = pd.concat([table for table, _ in pieces], ignore_index=True)
        names = np.array([*KINDS, None], dtype=object)  # index -1, which means no detail, gives None
        return frames.described(flows, tables.FLOWS), names[np.concatenate([places for _, places in pieces])]

    def flows_in_pieces(self) -> Iterator[pd.DataFrame]:
        """Yield the table of flows in pieces, at least one; none of them is kept."""
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        return (frames.of_cells(tables.FLOWS, piece) for piece in self.flow_cells())

    def flow_cells(self) -> Iterator[cells.Columns]:
        """Yield the table of flows as cells, in the pieces of `flows_in_pieces`."""
        return (piece for piece, _ in self._classification.flows())

    def rtts_in_pieces(self) -> Iterator[pd.DataFrame]:
        """Yield the table of rounds in pieces, at least one; none of them is kept."""
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        return (frames.of_cells(tables.RTTS, piece) for piece in self.rtt_cells())

    def rtt_cells(self) -> Iterator[cells.Columns]:
        """Yield the table of rounds as cells, in the pieces of `rtts_in_pieces`."""
        return self._classification.rtts()

    @cached_property
    def datagrams(self) -> pd.DataFrame:
        """The UDP flows, as a table of `bdpcap.tables.DATAGRAMS`."""
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import datagrams, frames  # noqa: PLC0415 - needed for tables only

        return frames.described(datagrams.flows(self._udp), tables.DATAGRAMS)

    def lifecycles(self, *names: str) -> Iterator[tuple[dict[str, np.ndarray], dict[str, Any]]]:
        """Yield how connections began and ended, without addresses, a block of streams at a time.

        With each block come the columns `names` about its directions, and ``end_ns``: two rows for each stream.
        """
        from bdpcap.tables import connections  # noqa: PLC0415 - needed for tables only

        for first in range(0, self.info.streams, core_pass.STREAMS):
            columns = self._core.connections(first, core_pass.STREAMS)
            both = self._core.directions(first, core_pass.STREAMS, ("end_ns", *names))
            yield connections.with_timeouts(columns, both["end_ns"][::2], self.info.last_ns), both

    @cached_property
    def connections(self) -> pd.DataFrame:
        """All streams, with or without payload, as a table of `bdpcap.tables.CONNECTIONS`."""
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import connections, frames  # noqa: PLC0415 - needed for tables only

        named = connections.named(
            self._core.connections(), self.directions(*connections.NEEDED), self.info.last_ns
        )
        return frames.described(frames.frame(tables.CONNECTIONS, named), tables.CONNECTIONS)

    @cached_property
    def rtts(self) -> pd.DataFrame:
        """The rounds of all flows, as a table of `bdpcap.tables.RTTS`."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        rtts = pd.concat(self.rtts_in_pieces(), ignore_index=True)
        return frames.described(rtts, tables.RTTS)

    @property
    def has_exchanges(self) -> bool:
        """Whether requests and responses were kept; False for a summarized capture."""
        return not self._summarized

    @cached_property
    def exchanges(self) -> pd.DataFrame:
        """Requests with their responses, as a table of `bdpcap.tables.EXCHANGES`."""
        if self._summarized:
            raise _core.CaptureError("exchanges were not kept: analyze the capture without summarize")
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import exchanges, frames  # noqa: PLC0415 - needed for tables only

        found = exchanges.exchanges(self._core.take_turns(), self.directions(*exchanges.DIRECTIONS))
        return frames.described(found, tables.EXCHANGES)

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """The evidence that the rules read, and the core's columns about the flows of its rounds."""
        return self._classification.gathered

    @cached_property
    def frames_of_rounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the first and of the last frame of every row of `rtts`, as two arrays."""
        return self._classification.frames()

    def load_rounds(self, streams: Iterable[int]) -> None:
        """Classify the rounds of several streams in one call, and keep them for `Flow.rtts`.

        To classify all rounds of a large capture would take much time and memory.
        """
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        missing = sorted({*streams} - self._rounds.keys())
        if not missing:
            return
        if self._classification.few or "rtts" in vars(self):
            table, numbers = self.rtts, self.frames_of_rounds
        else:
            columns, numbers = self._classification.rounds_of(missing)
            table = frames.described(frames.of_cells(tables.RTTS, columns), tables.RTTS)
        of_stream = table["stream"].to_numpy()
        first, end = (of_stream.searchsorted(missing, side) for side in ("left", "right"))
        for stream, own in zip(missing, map(slice, first, end), strict=True):
            self._rounds[stream] = table.iloc[own], np.stack([of[own] for of in numbers], axis=1)

    @contextmanager
    def rounds_loaded(self, streams: Iterable[int]) -> Iterator[None]:
        """Load the rounds of several streams as `load_rounds` does, and forget them at the end."""
        before = set(self._rounds)
        self.load_rounds(streams)
        try:
            yield
        finally:
            for stream in self._rounds.keys() - before:
                del self._rounds[stream]

    def rounds_of(self, stream: int) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the rows of `rtts` of both directions of a stream, and the first and last frame of each."""
        self.load_rounds([stream])
        return self._rounds[stream]

    def counts_of(self, stream: int, sender: str) -> dict[str, Any]:
        """Return the core's counts of a direction by name; an absent number is None."""
        both = self.sides(stream)
        row = both["sender"].index(sender)
        values = {name: column[row] for name, column in both.items()}
        one = {name: np.asarray(column[row : row + 1]) for name, column in both.items()}
        values["acknowledgments_missing"] = bool(acknowledgments_missing(one)[0])
        return {
            name: None if isinstance(value, np.integer) and value == _core.NULL else value
            for name, value in values.items()
        }

    def table(self, name: Table, *, timestamps: bool = False, endpoints: bool = False) -> pd.DataFrame:
        """Return a table by its name; times and endpoints can be converted.

        Parameters
        ----------
        name
            One of ``flows``, ``rtts``, ``connections``, ``exchanges``, ``datagrams`` and ``events``.
        timestamps
            Convert times to UTC timestamps with nanoseconds: ``start_ns`` becomes ``start``.
        endpoints
            Split endpoints into host and port: ``sender`` becomes ``sender_host`` and ``sender_port``.
        """
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        if name not in TABLES:
            raise ValueError(f"no table {name!r}; there are {', '.join(TABLES)}")
        table: pd.DataFrame = getattr(self, name)
        table = frames.apart(table) if endpoints else table
        return frames.timestamped(table) if timestamps else table

    def __repr__(self) -> str:
        files, flows = ", ".join(self.info.files), len(self)
        return f"<Capture of {files}: {self.info.frames:,} frames, {flows:,} flow{'' if flows == 1 else 's'}>"

    def __len__(self) -> int:
        """Return the number of flows, without classifying any round."""
        return len(self.carriers["stream"])

    def __bool__(self) -> bool:
        """Return True, also for a capture without flows."""
        return True

    def __iter__(self) -> Iterator[Flow]:
        """Yield the flows in the order of `flows`."""
        return (self._flow(row) for _, row in self.flows.iterrows())

    @overload
    def __getitem__(self, place: int) -> Flow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Flow]: ...
    def __getitem__(self, place: int | slice) -> Flow | Sequence[Flow]:
        """Return the flow of a row of `flows`; for a slice, the flows of several rows."""
        if isinstance(place, slice):
            return [self._flow(row) for _, row in self.flows.iloc[place].iterrows()]
        return self._flow(self.flows.iloc[place])

    def flow(self, which: int | str, other: str | None = None) -> Flow:
        """Find one flow; see `bdpcap.analysis.Capture.flow`."""
        return self._flow(self._summary(which, other))

    def _flow(self, summary: pd.Series) -> Flow:
        return Flow(self, summary)

    def _summary(self, which: int | str, other: str | None) -> pd.Series:
        """Return the row of `flows` that the arguments of `flow` select; raise `KeyError` if there is none."""
        rows = self.flows
        if isinstance(which, str):
            chosen = _is_end(rows["sender"], which)
            chosen = chosen if other is None else chosen & _is_end(rows["receiver"], other)
            selection = f"from {which}" + (f" to {other}" if other else "")
        else:
            first, end = rows["stream"].to_numpy().searchsorted([which, which + 1])
            rows = rows.iloc[first:end]
            chosen = rows["stream"] == which if other is None else _is_end(rows["sender"], other)
            selection = f"of stream {which}" + (f" from {other}" if other else "")
        places = np.flatnonzero(chosen.to_numpy())
        if not places.size:
            raise KeyError(f"no flow {selection}")
        return rows.iloc[int(places[rows["payload_bytes"].to_numpy()[places].argmax()])]

    @cached_property
    def carriers(self) -> dict[str, np.ndarray]:
        """Columns about the directions that carried payload. No round has to be classified."""
        pieces = [{name: np.zeros(0, dtype=np.int64) for name in _OF_CARRIERS}]
        for columns in core_pass.directions(self._core, self.pseudonyms, ("carried", *_OF_CARRIERS)):
            # A port scan has millions of directions without payload.
            carried = np.flatnonzero(columns["carried"])
            if len(carried):
                pieces.append({name: np.asarray(columns[name])[carried] for name in _OF_CARRIERS})
        return core_pass.joined(pieces[1:] or pieces)

    @property
    def places(self) -> NDArray[np.object_]:
        """Where each of `carriers` was captured: sender, receiver, between or unknown. No round has to be classified."""
        rows = 2 * self.carriers["stream"] + self.carriers["direction"]
        places: NDArray[np.object_] = self._places[rows]
        return places

    def directions(self, *names: str) -> dict[str, Any]:
        """Return the named columns of the core: two rows for each stream, the client's first.

        Each call builds the columns again, since all columns of many streams would take much memory.
        """
        return self._named(self._core.directions(names=list(names)))

    def endpoints(self, rows: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the senders of some directions, whose rows in `directions` are given in ascending order.

        Names of all directions of many streams would take much memory, so they are made for a block of streams at a time.
        """
        size = 2 * core_pass.STREAMS
        found = [np.zeros(0, dtype=object)]
        for own in np.split(rows, np.flatnonzero(np.diff(rows // size)) + 1):
            if len(own):
                block = int(own[0]) // size
                names = self._core.directions(block * core_pass.STREAMS, core_pass.STREAMS, ("sender",))
                found.append(np.array(self._named(names)["sender"], dtype=object)[own - block * size])
        return np.concatenate(found)

    def sides(self, stream: int) -> dict[str, Any]:
        """Return all columns of the core about both directions of a stream, the client's first."""
        return self._named(self._core.directions(stream, 1))

    @property
    def events(self) -> pd.DataFrame:
        """All events, as a table of `bdpcap.tables.EVENTS`. It is large; `Flow.events` has the events of one flow."""
        if self._kept is not None:
            return core_pass.events(self._kept, self.directions(*_ENDS))
        return self._read_events(None)

    def load_events(self, streams: Sequence[int]) -> None:
        """Read the events of several streams in one pass, and keep them for `Flow.events`."""
        missing = [stream for stream in streams if stream not in self._by_stream]
        if not missing:
            return
        if self._kept is not None:
            chosen = np.isin(self._kept["stream"], missing)
            table = core_pass.events(
                {name: values[chosen] for name, values in self._kept.items()}, self.directions(*_ENDS)
            )
        else:
            table = self._read_events(missing)
        for stream in missing:
            self._by_stream[stream] = table[table["stream"] == stream].reset_index(drop=True)

    def _read_events(self, streams: Sequence[int] | None) -> pd.DataFrame:
        core = self._opened_again(streams)
        pieces = [core.take_events() for _ in self._steps(core, streams)]
        return core_pass.events(core_pass.joined(pieces), self.directions(*_ENDS))

    def _steps(self, core: _core.Analysis, streams: Sequence[int] | None) -> Iterator[None]:
        """Read the capture again step by step, up to the last packet of `streams`; to the end if `streams` is None."""
        last_frame = None
        if streams is not None:
            last_frames = self.directions("last_frame")["last_frame"][::2]
            last_frame = int(last_frames[np.isin(np.arange(len(last_frames)), streams)].max(initial=0))
        with shown(wanted=self._watched) as bar:
            yield from core_pass.steps(core, self._sources, bar, events=True, last_frame=last_frame)

    def _opened_again(self, streams: Sequence[int] | None) -> _core.Analysis:
        """Return a second pass over the capture, which makes events."""
        if not core_pass.is_lasting(self._sources):
            raise _core.CaptureError("events of a pipe were not kept: analyze it without summarize")
        return core_pass.opened(
            self._sources, self._filter, events=True, rounds=False, streams=streams, scales=self.scales
        )

    def events_of(self, stream: int) -> pd.DataFrame:
        """Return the events of both directions of a stream."""
        self.load_events([stream])
        return self._by_stream[stream]

    def events_between(self, stream: int, sender: str, start: float, end: float) -> pd.DataFrame:
        """Return the events of one flow between two times; see `Flow.events_between`."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        origin = self.info.first_ns or 0
        directions = self.directions(*_ENDS)
        found = []
        for columns in self.event_columns([stream]):
            seconds = (columns["time_ns"] - origin) / 1e9
            chosen = (columns["stream"] == stream) & (seconds >= start) & (seconds <= end)
            table = core_pass.events({name: values[chosen] for name, values in columns.items()}, directions)
            found.append(table[table["sender"] == sender])
            if len(seconds) and seconds[-1] > end and not self.info.time_backwards:
                break
        return pd.concat([table for table in found if len(table)] or found[:1], ignore_index=True)

    def event_columns(
        self, streams: Sequence[int], names: Sequence[str] | None = None
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield the core's columns of events in the order of the capture.

        The columns include the events of `streams`, and may include others. They come in pieces, at least one; none of
        them is kept.

        Parameters
        ----------
        streams
            Numbers of streams.
        names
            Names of the columns; None is all of them.
        """
        if self._kept is not None:
            for first in range(0, max(1, len(self._kept["stream"])), core_pass.EVENTS_STEP):
                end = first + core_pass.EVENTS_STEP
                yield {name: self._kept[name][first:end] for name in names or self._kept}
            return
        core = self._opened_again(streams)
        pieces: list[dict[str, np.ndarray]] = []
        # Of a capture of many streams, few frames of a step are of these.
        for _ in self._steps(core, streams):
            core.take_turns()
            pieces.append(core.take_events(names))
            if sum(len(piece["stream"]) for piece in pieces) >= core_pass.EVENTS_STEP:
                yield core_pass.joined(pieces)
                pieces = []
        pieces.append(core.take_events(names))  # at least one piece
        yield core_pass.joined(pieces)

    def give_events(self, takers: Sequence[Taker]) -> None:
        """Read the events of flows in one pass, and give them to functions in pieces; none of them is kept."""
        names = sorted({"stream", "direction", *(name for _, _, own in takers for name in own)})
        rows = [2 * flow.stream + int(flow.counts["direction"]) for flow, _, _ in takers]
        for columns in self.event_columns([flow.stream for flow, _, _ in takers], names):
            row = 2 * columns["stream"].astype(np.int64) + columns["direction"]
            own = {one: np.flatnonzero(row == one) for one in set(rows)}
            pieces = {
                one: {name: values[at] for name, values in columns.items()}
                for one, at in own.items()
                if len(at)
            }
            for one, (_, take, _) in zip(rows, takers, strict=True):
                if one in pieces:
                    take(pieces[one])

    def vantage_of(self, flow: Flow) -> str:
        """Return the evidence for the vantage of a flow as text."""
        both = self.sides(flow.stream)
        return vantage.sentence(both, both["sender"].index(flow.sender), str(flow.summary["vantage"]))

    def frame_span(self, first: int, last: int) -> str:
        """Return ``frames 12 to 40``; with several files also the file names and the frame numbers within the files."""
        return rotation.frames(first, last, self.info.files, self.frames_of_files)

    def need_files(self) -> list[str]:
        """Return the paths or URLs of the capture's files, which can be read again.

        Raises
        ------
        CaptureError
            The capture came from a pipe, or from bytes.
        """
        if self._kept is not None or not core_pass.is_lasting(self._sources):
            raise _core.CaptureError("a pipe cannot be read twice: save the capture to a file first")
        if any(isinstance(source, bytes) for source in self._sources):
            raise _core.CaptureError("bytes are no file: save the capture to a file first")
        return cast("list[str]", self._sources)

    @cached_property
    def host_systems(self) -> dict[str, set[hosts.System | None]]:
        """The systems of each host of a connection with payload, by address; None is an unknown one."""
        found: dict[str, set[hosts.System | None]] = {}
        wanted = ("carried", "sender", *host_columns.NEEDED)
        for columns in core_pass.directions(self._core, self.pseudonyms, wanted):
            carried = np.flatnonzero(columns["carried"])
            rows = np.union1d(carried, carried ^ 1)
            systems = host_columns.systems_of(columns, rows)
            for row, system in zip(rows.tolist(), systems, strict=True):
                found.setdefault(host(columns["sender"][row]), set()).add(system)
        return found

    def systems_of(self, stream: int) -> tuple[hosts.System | None, hosts.System | None]:
        """Return the systems of a stream's client and server by their SYNs; None where unknown."""
        syn, answer = self.syns_of(stream)
        client = None if syn is None else hosts.system_of(syn)
        return client, None if answer is None else hosts.system_of(answer, syn, is_answer=True)

    def syns_of(self, stream: int) -> tuple[hosts.Syn | None, hosts.Syn | None]:
        """Return a stream's SYN and SYN-ACK as they show their senders; None where not captured."""
        client, server = host_columns.syns(self._core.directions(stream, 1, host_columns.NEEDED))
        return client, server

    def program_of(self, stream: int) -> hosts.Program | None:
        """Return the program of a stream, by a cookie of iperf3 or by a well-known port; None where unknown."""
        client, server = self._core.directions(stream, 1, ("sender",))["sender"]
        life = self._core.connections(stream, 1)
        return hosts.program_of(
            port(client),
            port(server),
            has_cookie=bool(life["iperf3_cookie"][0]),
            has_syn=bool(life["syns"][0] + life["syn_acks"][0]),
        )

    def excerpt(self, stream: int, file: BinaryIO, *, headers_only: bool = False) -> int:
        """Write the packets of a stream to a pcapng file.

        A comment has what the whole capture shows of the stream: window scales, clock, drops, the path's least delays and
        cross traffic. With it, an analysis of the excerpt gives the results that the stream has here.

        If the capture has pseudonyms, the packets get the pseudonyms of the tables as addresses, and the payload is
        always left out. A valid IP or TCP checksum stays valid, a wrong one stays wrong.

        Parameters
        ----------
        stream
            The number of the stream in this capture; in the excerpt it is stream 0.
        file
            A binary file that is open for writing.
        headers_only
            Leave out the payload that follows the TCP header.

        Returns
        -------
        int
            The number of packets written.

        Raises
        ------
        KeyError
            There is no such stream.
        CaptureError
            The capture came from a pipe or from bytes, or the stream has two link types.
        """
        if not 0 <= stream < self.info.streams:
            raise KeyError(f"no stream {stream}")
        packets = self.events_of(stream)[["frame", "time_ns"]].drop_duplicates("frame").sort_values("frame")
        frames = list(packets.itertuples(index=False, name=None))
        self.excerpted(frames, file, headers_only=headers_only, about=self._whole_of(stream).comment())
        return len(packets)

    def _whole_of(self, stream: int) -> Whole:
        """Return the facts on a stream that this capture shows, and the packets of the stream alone do not."""
        rows = [2 * stream, 2 * stream + 1]
        paths = self._paths["of_streams"].astype(np.int64)
        rtts_ns = self._paths["rtt_ns"][paths[rows]]
        sides_ns = vantage.sender_sides(self._core.directions(names=_DELAYS), paths)[paths[rows]]
        scales = {scale.direction: scale.shift for scale in self.scales if scale.stream == stream}
        return Whole(
            tick_ns=self.info.tick_ns,
            end_ns=int(self._paths["last_ns"]),
            dropped=self.info.capture_drops,
            rtt_ns=_pair(None if rtt_ns == _core.NULL else int(rtt_ns) for rtt_ns in rtts_ns),
            sender_side_ns=_pair(int(side_ns) if np.isfinite(side_ns) else None for side_ns in sides_ns),
            scales=(scales.get(0), scales.get(1)),
            cross_traffic_bytes=self._classification.cross_traffic(stream),
        )

    def excerpted(
        self,
        frames: list[tuple[int, int]],
        file: BinaryIO,
        *,
        headers_only: bool = False,
        about: str | None = None,
    ) -> None:
        """Write chosen frames to a pcapng file, as `excerpt` does.

        `frames` has the numbers of the frames in ascending order, each with the time to write in nanoseconds; `about`
        is the comment on all of them.
        """
        core = _core.Excerpt(
            core_pass.readable(self.need_files()),
            frames,
            headers_only=headers_only or self.pseudonyms is not None,
            rename=self.pseudonyms.packed if self.pseudonyms else None,
            about=about,
            resolution=core_pass.resolution(self._core),
        )
        more = True
        while more:
            piece, more = core.take(core_pass.COPY_STEP)
            file.write(piece)

    def fingerprints(self) -> list[Fingerprint]:
        """Read the files again; return name, size and SHA-256 of each, in the order given."""
        name = self.pseudonyms.file if self.pseudonyms else str
        return [core_pass.fingerprint(source, name) for source in self._sources]


def _pair(values: Iterator[int | None]) -> Pair:
    client, server = values
    return client, server


def _is_end(ends: pd.Series[Any], named: str) -> pd.Series[bool]:
    """Return which endpoints `named` stands for: an ``address:port``, or an address alone."""
    return (ends == named) | (ends.map(host) == named.strip("[]"))


class Flow(InProcess):
    """One direction of a stream that carried payload. `bdpcap.analysis.Flow` adds findings and figures."""

    def __init__(self, capture: Capture, summary: pd.Series) -> None:
        self.capture: Final = capture
        self.summary: Final = summary
        self.stream: Final = int(summary["stream"])
        self.sender: Final = str(summary["sender"])
        self.receiver: Final = str(summary["receiver"])

    def __repr__(self) -> str:
        return f"<Flow {self.stream}: {self.sender} -> {self.receiver}, {self.summary['limit']}>"

    @cached_property
    def rtts(self) -> pd.DataFrame:
        """The rounds of the flow, as a table of `bdpcap.tables.RTTS`."""
        rounds, _ = self.capture.rounds_of(self.stream)
        return rounds[(rounds["sender"] == self.sender).to_numpy()].reset_index(drop=True)

    @cached_property
    def round_frames(self) -> pd.DataFrame:
        """Numbers of the first and of the last frame of each round, in columns ``first`` and ``last``."""
        rounds, frames = self.capture.rounds_of(self.stream)
        own = frames[(rounds["sender"] == self.sender).to_numpy()]
        return type(rounds)(own, columns=["first", "last"])

    @cached_property
    def counts(self) -> dict[str, Any]:
        """The core's counts of the flow, more than the table has, such as ``largest_bytes`` and ``sender_side_ns``."""
        return self.capture.counts_of(self.stream, self.sender)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The flow's events, as a table of `bdpcap.tables.EVENTS`. If they were not kept, the capture is read again."""
        events = self.capture.events_of(self.stream)
        return events[events["sender"] == self.sender].reset_index(drop=True)

    def events_between(self, start: float = 0.0, end: float = math.inf) -> pd.DataFrame:
        """Return the events of the flow between two times. The memory used grows with these events, not with the flow.

        Parameters
        ----------
        start, end
            Seconds since the capture's first frame.
        """
        return self.capture.events_between(self.stream, self.sender, start, end)

    @cached_property
    def exchanges(self) -> pd.DataFrame:
        """Requests and responses of the flow's stream; both directions have the same table."""
        table = self.capture.exchanges
        first, end = np.searchsorted(table["stream"].to_numpy(), [self.stream, self.stream + 1])
        return table.iloc[first:end].reset_index(drop=True)

    @property
    def is_from_client(self) -> bool:
        """Whether the client sends the flow's data: the end that sent the SYN, or else the first packet."""
        return int(self.counts["direction"]) == 0

    @property
    def systems(self) -> tuple[hosts.System | None, hosts.System | None]:
        """The systems of the sender and of the receiver by their SYNs; None where unknown."""
        client, server = self.capture.systems_of(self.stream)
        return (client, server) if self.is_from_client else (server, client)

    @property
    def program(self) -> hosts.Program | None:
        """The program of the flow's connection, by a cookie of iperf3 or a well-known port; None where unknown."""
        return self.capture.program_of(self.stream)

    @property
    def vantage_evidence(self) -> str:
        """The evidence for the flow's vantage as text: delays, the capturing host, and routers passed."""
        return self.capture.vantage_of(self)
