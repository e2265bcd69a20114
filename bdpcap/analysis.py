"""From captures to objects: `analyze`, and what it returns."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Unpack, cast

import numpy as np

from bdpcap import _core, vantage
from bdpcap.filter import compile_filter
from bdpcap.jobs import threads
from bdpcap.quality import NEEDED, Flaw, acknowledgments_missing, flaws
from bdpcap.scale import InferredScale, infer

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from bdpcap.anonymize import Pseudonyms
    from bdpcap.events import Events
    from bdpcap.explain.findings import Finding
    from bdpcap.limits import Classification
    from bdpcap.limits.evidence import Evidence
    from bdpcap.plots import Options

__all__ = [
    "Capture",
    "CaptureInfo",
    "Damage",
    "Flow",
    "Progress",
    "Source",
    "analyze",
    "event_pieces",
    "stream_events",
]

OneSource = str | os.PathLike[str] | BinaryIO
Source = OneSource | Sequence[OneSource]
"""A path, a binary file object, or a list of them that is read as one capture."""

STEP: Final = 200_000
"""Frames between two looks at progress and at the keyboard."""
EVENTS_STEP: Final = 1 << 15
"""Frames whose events are taken together: so many still fit a cache."""
STREAMS: Final = 1 << 14
"""Streams that are looked at together."""

_ENDS: Final = ("sender", "receiver")
_OF_CARRIERS: Final = (
    "stream", "direction", "payload_bytes", "largest_bytes", "mss_bytes", "handshake", "window_scale_source",
    "sender_side_ns", "receiver_side_ns",
)  # fmt: skip
"""Columns about directions that tell how far a capture can be trusted."""


@dataclass(frozen=True)
class Progress:
    """How far reading has come."""

    bytes_read: int
    """Of the files as they are, compressed or not."""
    bytes_total: int | None
    """None where it cannot be known, as with a pipe."""
    frames: int


@dataclass(frozen=True)
class Damage:
    """Where a capture broke. Everything before it was read."""

    file: str
    frame: int
    """The frame that broke, counted from 1 in this file."""
    offset: int
    """Where its record begins, in bytes of the uncompressed capture."""
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: frame {self.frame}, byte {self.offset}: {self.reason}"


@dataclass(frozen=True)
class Fingerprint:
    """What tells a file from any other. What came from a pipe has only a name."""

    name: str
    size_bytes: int | None
    sha256: str | None


@dataclass(frozen=True)
class CaptureInfo:
    """What a capture holds and how far it can be trusted."""

    files: list[str]
    formats: list[str]
    """Of each file: format, unit of time, byte order."""
    compression: list[str | None]
    link_types: dict[str, int]
    """Frames by link type."""
    interfaces: list[dict[str, Any]]
    frames: int
    filtered_out: int
    segments: int
    """TCP segments, in `streams` connections."""
    streams: int
    """Numbered as Wireshark does; of some, `quoted`, there is nothing but what ICMP messages quote."""
    datagrams: int
    """UDP datagrams."""
    undecoded: dict[str, int]
    """Frames that hold neither, by reason."""
    first_ns: int | None
    last_ns: int | None
    time_backwards: int
    """Frames captured, by their time, before the frame before."""
    without_time: int
    cut_by_snaplen: int
    capture_drops: int | None
    """Packets that the capture says it lost; None where it says nothing."""
    tick_ns: int = 0
    """Step of a clock so coarse that many frames share a time; 0 where the times do not show it."""
    comments: list[str] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=dict)
    """Frames by what they were wrapped in: tags and tunnels."""
    copies: int = 0
    """Packets that the capture holds another time."""
    unacknowledged: int = 0
    """Flows whose receiver must have sent acknowledgments that the capture does not hold."""
    missed_bytes: int = 0
    """Bytes that were acknowledged and that the capture does not hold."""
    data_only: int = 0
    """Flows of which the capture holds no acknowledgment."""
    acknowledgments_only: int = 0
    """Flows of which it holds nothing else."""
    quoted: int = 0
    multipath: int = 0
    """Streams that are part of a multipath connection (RFC 8684)."""


def analyze(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
    progress: Callable[[Progress], None] | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
) -> Capture:
    """Read a capture and classify every round trip in it.

    Parameters
    ----------
    source
        Path or binary file object; a list is read as one capture, files in the order of their first packets.
        pcap and pcapng, plain or packed by gzip, zstd or lz4, told apart by their first bytes.
    filter
        Capture filter in the syntax of tcpdump (pcap-filter(7)).
    progress
        Called now and then while reading.
    pseudonyms
        Other names for the addresses, files and comments of the capture; its own appear nowhere.
    jobs
        Threads that follow the connections; what they find does not depend on their number. None for one per
        processor, or a single one where files are small.

    Raises
    ------
    CaptureError
        A source cannot be read at all. One that breaks in the middle is read so far; see `Capture.damage`.
    TypeError
        A source is neither; a file object open for text is not.
    FilterError
        The filter is wrong, or does not fit a link type in the capture.
    """
    sources = _sources(source)
    again = all(isinstance(one, str) and Path(one).is_file() for one in sources)
    # What cannot be read twice keeps its events at once.
    core = _open(sources, filter, events=not again, jobs=jobs)
    events = [core.take_events() for _ in _steps(core, sources, progress)]
    scales = infer(lambda names: _directions(core, pseudonyms, names)) if again else []
    if scales:
        # Windows are weighed as packets come: with another scale, all of them anew.
        core = _open(sources, filter, events=False, scales=scales, jobs=jobs)
        for _ in _steps(core, sources, progress):
            pass
    kept = None if again else _joined(events)
    return Capture(core, sources, filter, kept, scales=scales, pseudonyms=pseudonyms)


def stream_events(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
    streams: Sequence[int] | None = None,
    progress: Callable[[Progress], None] | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a capture and hand out its events in pieces, in memory that does not grow with it.

    Windows whose scale was not captured are null: to infer it takes the whole capture.

    Yields
    ------
    DataFrame
        Columns as `bdpcap.tables.EVENTS`, in the order of the capture; ``attrs["first_ns"]`` is the time
        of the capture's first frame.

    Raises
    ------
    CaptureError, FilterError
        As `analyze`. A capture that breaks in the middle raises `CaptureError` after the last good piece.
    """
    for piece in event_pieces(
        source, filter=filter, streams=streams, progress=progress, pseudonyms=pseudonyms, jobs=jobs
    ):
        yield piece.frame()


def event_pieces(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - likewise
    streams: Sequence[int] | None = None,
    progress: Callable[[Progress], None] | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
) -> Iterator[Events]:
    """Do as `stream_events`, before a table is made of it."""
    from bdpcap.events import NAMES, Events  # noqa: PLC0415 - only loaded where events are asked for

    sources = _sources(source)
    core = _open(sources, filter, events=True, streams=streams, jobs=jobs)
    names: dict[str, list[str]] = {"sender": [], "receiver": []}
    for _ in _steps(core, sources, progress, EVENTS_STEP):
        core.take_turns()
        columns = core.take_events(NAMES)
        if len(columns["stream"]):
            # Names stay as they are, and there may be many: only new streams are named.
            new = _named(core.directions(len(names["sender"]) // 2, names=list(_ENDS)), pseudonyms)
            for side, known in names.items():
                known.extend(new[side])
            yield Events(columns, names, core.counts()["first_ns"])
    for damage in core.damages():
        raise _core.CaptureError(str(_damage(damage, pseudonyms)))


def _sources(source: Source) -> list[str | BinaryIO]:
    if isinstance(source, (list, tuple)):
        many: Sequence[OneSource] = source
    else:
        many = [cast("OneSource", source)]
    sources = [os.fspath(one) if isinstance(one, (str, os.PathLike)) else one for one in many]
    if not sources:
        raise ValueError("no capture given")
    for one in sources:
        if isinstance(one, io.TextIOBase):
            raise TypeError("a capture is read as bytes: open the file with mode 'rb'")
        if not isinstance(one, str) and not hasattr(one, "read"):
            raise TypeError(f"neither a path nor a binary file object: {type(one).__name__}")
        if isinstance(one, str) and Path(one).is_dir():
            raise _core.CaptureError(f"{source_name(one)}: a directory: name the files in it")
    return sources


def _open(
    sources: list[str | BinaryIO],
    expression: str | None,
    *,
    events: bool,
    streams: Sequence[int] | None = None,
    scales: Sequence[InferredScale] = (),
    jobs: int | None = None,
) -> _core.Analysis:
    filters = compile_filter(expression, _core.LINK_TYPES) if expression else None
    shifts = {(scale.first_frame, scale.direction): scale.shift for scale in scales}
    return _core.Analysis(
        sources, filters, events=events, streams=streams, scales=shifts, jobs=threads(jobs, sources)
    )


def _steps(
    core: _core.Analysis,
    sources: list[str | BinaryIO],
    progress: Callable[[Progress], None] | None,
    frames: int = STEP,
) -> Iterator[None]:
    total = None
    if all(isinstance(one, str) and Path(one).is_file() for one in sources):
        total = sum(Path(one).stat().st_size for one in sources if isinstance(one, str))
    more = True
    while more:
        more = core.advance(frames)
        if progress:
            progress(Progress(core.bytes_read, total, core.frames))
        yield


def _joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _events(columns: dict[str, np.ndarray], directions: dict[str, Any]) -> pd.DataFrame:
    from bdpcap.events import Events  # noqa: PLC0415 - likewise

    return Events(columns, directions).frame()


class Capture:
    """An analysed capture: its flows, its rounds with their limits, its events.

    Made by `analyze`.
    """

    def __init__(
        self,
        core: _core.Analysis,
        sources: list[str | BinaryIO],
        expression: str | None,
        events: dict[str, np.ndarray] | None,
        *,
        scales: list[InferredScale],
        pseudonyms: Pseudonyms | None,
    ) -> None:
        self._sources = sources
        self._filter = expression
        self.pseudonyms: Final = pseudonyms
        """The names that stand for the capture's own; None where these are used."""
        if pseudonyms:
            # Names are given in the order in which they are asked for: streams first.
            for _ in _directions(core, pseudonyms, _ENDS):
                pass
        self._core = core
        self._kept = events
        self._by_stream: dict[int, pd.DataFrame] = {}
        damages = [_damage(damage, pseudonyms) for damage in core.damages()]
        self.damage: Final[Damage | None] = damages[0] if damages else None
        """Where the capture broke; the first place, if several files did."""
        info = _info(core)
        self.info: Final = pseudonyms.info(info) if pseudonyms else info
        self.frames_of_files: Final = [capture["frames"] for capture in core.captures()]
        """Frames of each of `CaptureInfo.files`."""
        self.scales: Final = scales
        """Window scales that no handshake showed, or another one."""
        self._udp = _named(core.datagrams(), pseudonyms)

    @cached_property
    def _classification(self) -> Classification:
        from bdpcap.limits import Classification  # noqa: PLC0415 - likewise

        return Classification(self._core, self._named, self._core.datagrams())

    def _named(self, columns: dict[str, Any]) -> dict[str, Any]:
        return _named(columns, self.pseudonyms)

    @cached_property
    def quality(self) -> list[Flaw]:
        """What is wrong with the capture itself, gravest first."""
        return flaws(self)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """Table as `bdpcap.tables.FLOWS`."""
        import pandas as pd  # noqa: PLC0415 - likewise

        return pd.concat(self._classification.flows(), ignore_index=True)

    def flows_in_pieces(self) -> Iterator[pd.DataFrame]:
        """Yield the table of flows in pieces, at least one, none of which is kept."""
        return self._classification.flows()

    def rtts_in_pieces(self) -> Iterator[pd.DataFrame]:
        """Yield the table of rounds in pieces, at least one, none of which is kept."""
        return self._classification.rtts()

    @cached_property
    def datagrams(self) -> pd.DataFrame:
        """UDP flows, table as `bdpcap.tables.DATAGRAMS`."""
        from bdpcap import datagrams  # noqa: PLC0415 - likewise

        return datagrams.flows(self._udp)

    @cached_property
    def lifecycles(self) -> dict[str, np.ndarray]:
        """Columns of `connections`."""
        from bdpcap import connections  # noqa: PLC0415 - likewise

        directions = self.directions(*_ENDS, "start_ns", "end_ns")
        return connections.named(self._core.connections(), directions, self.info.last_ns)

    @cached_property
    def connections(self) -> pd.DataFrame:
        """Every stream, with or without payload; table as `bdpcap.tables.CONNECTIONS`."""
        from bdpcap import tables  # noqa: PLC0415 - likewise

        return tables.frame(tables.CONNECTIONS, self.lifecycles)

    @cached_property
    def rtts(self) -> pd.DataFrame:
        """Table as `bdpcap.tables.RTTS`."""
        import pandas as pd  # noqa: PLC0415 - likewise

        return pd.concat(self._classification.rtts(), ignore_index=True)

    @cached_property
    def exchanges(self) -> pd.DataFrame:
        """Requests with their responses, table as `bdpcap.tables.EXCHANGES`."""
        from bdpcap import exchanges  # noqa: PLC0415 - likewise

        return exchanges.exchanges(self._core.take_turns(), self.directions(*exchanges.DIRECTIONS))

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """What the rules looked at, and the flows of its rounds, as the core counted them."""
        return self._classification.gathered

    @cached_property
    def frames_of_rounds(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last frame of every row of `rtts`."""
        return self._classification.frames()

    def counts_of(self, stream: int, sender: str) -> dict[str, Any]:
        """Return what the core counted of a direction; absent numbers are None."""
        both = self.sides(stream)
        row = both["sender"].index(sender)
        values = {name: column[row] for name, column in both.items()}
        one = {name: np.asarray(column[row : row + 1]) for name, column in both.items()}
        values["acknowledgments_missing"] = bool(acknowledgments_missing(one)[0])
        return {
            name: None if isinstance(value, np.integer) and value == _core.NULL else value
            for name, value in values.items()
        }

    def __repr__(self) -> str:
        return (
            f"<Capture of {', '.join(self.info.files)}: {self.info.frames} frames, {len(self.flows)} flows>"
        )

    def _repr_html_(self) -> str:
        shown = ["stream", "sender", "receiver", "payload_bytes", "throughput_bps", "limit", "confidence"]
        html: str = self.flows[shown].to_html(max_rows=20, index=False)
        return html

    def flow(self, stream: int, sender: str | None = None) -> Flow:
        """One direction of a stream: the one that carried most payload, unless a sender is named.

        Raises
        ------
        KeyError
            There is no such flow, or the stream carried no payload.
        """
        rows = self.flows[self.flows["stream"] == stream]
        if sender is not None:
            rows = rows[rows["sender"] == sender]
        if rows.empty:
            raise KeyError(f"no flow of stream {stream}" + (f" from {sender}" if sender else ""))
        return Flow(self, rows.iloc[int(rows["payload_bytes"].to_numpy().argmax())])

    @cached_property
    def carriers(self) -> dict[str, np.ndarray]:
        """Columns of `directions` of those that carried payload, and their ``vantage``: flows, with no round judged."""
        directions = self.directions("carried", *_OF_CARRIERS)
        carried = np.flatnonzero(directions["carried"])
        columns = {name: np.asarray(directions[name])[carried] for name in _OF_CARRIERS}
        return columns | {"vantage": vantage.places(columns)}

    def directions(self, *names: str) -> dict[str, Any]:
        """Return the core's columns of these names, two rows a stream, the client's first.

        They are made anew each time: of many streams all columns would take much memory.
        """
        return self._named(self._core.directions(names=list(names)))

    def sides(self, stream: int) -> dict[str, Any]:
        """Return all of the core's columns about both directions of a stream, the client's first."""
        return self._named(self._core.directions(stream, 1))

    @property
    def events(self) -> pd.DataFrame:
        """All events, as `bdpcap.tables.EVENTS`. Large: `Flow.events` has one flow's."""
        if self._kept is not None:
            return _events(self._kept, self.directions(*_ENDS))
        return self._read_events(None)

    def load_events(self, streams: Sequence[int]) -> None:
        """Read the events of several streams in one pass, for `Flow.events` to find them."""
        missing = [stream for stream in streams if stream not in self._by_stream]
        if not missing:
            return
        if self._kept is not None:
            chosen = np.isin(self._kept["stream"], missing)
            table = _events(
                {name: values[chosen] for name, values in self._kept.items()}, self.directions(*_ENDS)
            )
        else:
            table = self._read_events(missing)
        for stream in missing:
            self._by_stream[stream] = table[table["stream"] == stream].reset_index(drop=True)

    def _read_events(self, streams: Sequence[int] | None) -> pd.DataFrame:
        core = _open(self._sources, self._filter, events=True, streams=streams, scales=self.scales)
        pieces = [core.take_events() for _ in _steps(core, self._sources, None, EVENTS_STEP)]
        return _events(_joined(pieces), self.directions(*_ENDS))

    def events_of(self, stream: int) -> pd.DataFrame:
        """Events of both directions of a stream."""
        self.load_events([stream])
        return self._by_stream[stream]

    def vantage_of(self, flow: Flow) -> str:
        """Say what shows where a flow was captured."""
        both = self.sides(flow.stream)
        return vantage.sentence(both, both["sender"].index(flow.sender))

    def excerpt(self, stream: int, file: BinaryIO, *, headers_only: bool = False) -> int:
        """Write the packets of a stream as a pcap file in nanoseconds, whose analysis is that of the stream here.

        With pseudonyms, addresses are renamed in the packets as they are in the tables, and the payload is left
        out whatever `headers_only` says; IP and TCP checksums stay as valid as they were.

        Parameters
        ----------
        stream
            Its number here; in the excerpt it is stream 0.
        file
            Open for writing.
        headers_only
            Leave out what follows the TCP header.

        Returns
        -------
        int
            The number of packets written.

        Raises
        ------
        KeyError
            There is no such stream.
        CaptureError
            The capture came from a pipe, or the stream from two kinds of link, which a pcap file cannot hold.
        """
        if not 0 <= stream < self.info.streams:
            raise KeyError(f"no stream {stream}")
        if self._kept is not None:
            raise _core.CaptureError("a pipe cannot be read twice: save the capture to a file first")
        packets = self.events_of(stream)[["frame", "time_ns"]].drop_duplicates("frame").sort_values("frame")
        core = _core.Excerpt(
            cast("list[str]", self._sources),
            list(packets.itertuples(index=False, name=None)),
            headers_only=headers_only or self.pseudonyms is not None,
            rename=self.pseudonyms.packed if self.pseudonyms else None,
        )
        more = True
        while more:
            piece, more = core.take(STEP)
            file.write(piece)
        return len(packets)

    def fingerprints(self) -> list[Fingerprint]:
        """Return name, size and SHA-256 of every file that was read, in the order given; reads them again."""
        name = self.pseudonyms.file if self.pseudonyms else str
        return [_fingerprint(source, name) for source in self._sources]

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one self-contained HTML file."""
        from bdpcap.report import write_html  # noqa: PLC0415 - plots are only loaded where they are drawn

        return write_html(self, Path(path))


class Flow:
    """One direction of a stream that carried payload."""

    def __init__(self, capture: Capture, summary: pd.Series) -> None:
        self.capture: Final = capture
        self.summary: Final = summary
        """Its row of `Capture.flows`."""
        self.stream: Final = int(summary["stream"])
        self.sender: Final = str(summary["sender"])
        self.receiver: Final = str(summary["receiver"])

    def __repr__(self) -> str:
        return f"<Flow {self.stream}: {self.sender} -> {self.receiver}, {self.summary['limit']}>"

    @cached_property
    def rtts(self) -> pd.DataFrame:
        """Its rounds."""
        return self.capture.rtts.iloc[self._rows].reset_index(drop=True)

    @cached_property
    def round_frames(self) -> pd.DataFrame:
        """First and last frame of each of its rounds; columns ``first`` and ``last``."""
        first, last = self.capture.frames_of_rounds
        return type(self.rtts)({"first": first[self._rows], "last": last[self._rows]})

    @cached_property
    def _rows(self) -> np.ndarray:
        """Which rows of `Capture.rtts` are its."""
        rtts = self.capture.rtts
        rows = np.flatnonzero(rtts["stream"].to_numpy() == self.stream)
        return rows[(rtts["sender"].iloc[rows] == self.sender).to_numpy()]

    @cached_property
    def counts(self) -> dict[str, Any]:
        """What was counted of it beyond the table, such as ``largest_bytes`` and ``sender_side_ns``."""
        return self.capture.counts_of(self.stream, self.sender)

    @cached_property
    def events(self) -> pd.DataFrame:
        """Its events. Reads the capture again, unless they were kept."""
        events = self.capture.events_of(self.stream)
        return events[events["sender"] == self.sender].reset_index(drop=True)

    @cached_property
    def exchanges(self) -> pd.DataFrame:
        """Requests and responses of its stream; the same for both directions."""
        table = self.capture.exchanges
        first, end = np.searchsorted(table["stream"].to_numpy(), [self.stream, self.stream + 1])
        return table.iloc[first:end].reset_index(drop=True)

    @property
    def vantage_evidence(self) -> str:
        """What shows where it was captured, in words."""
        return self.capture.vantage_of(self)

    @cached_property
    def findings(self) -> list[Finding]:
        """Why these numbers, and what to change; most important first."""
        from bdpcap.explain.findings import findings  # noqa: PLC0415 - only loaded where it is asked

        return findings(self)

    def plot(self, kind: str = "window", **options: Unpack[Options]) -> go.Figure:
        """Draw the flow: `window` (with what was in flight), `throughput`, `rtt`, `sequence` or `packets`.

        Parameters
        ----------
        kind, options
            As `bdpcap.plots.figure`: ``start`` and ``end`` in seconds since the capture's first frame, and ``figure``,
            ``row`` and ``col`` to draw into.

        Raises
        ------
        ValueError
            As `bdpcap.plots.figure`.
        """
        from bdpcap.plots import figure  # noqa: PLC0415 - plotly is slow to import

        return figure(self, kind, **options)


def source_name(source: str | BinaryIO) -> str:
    """Return what the core calls a source; bytes of a path that are no UTF-8 are replaced."""
    name = source if isinstance(source, str) else getattr(source, "name", None)
    return os.fsencode(name).decode(errors="replace") if isinstance(name, str) else "<stream>"


def _fingerprint(source: str | BinaryIO, named: Callable[[str], str]) -> Fingerprint:
    name = named(source_name(source))
    if not isinstance(source, str) or not Path(source).is_file():
        return Fingerprint(name, None, None)
    with Path(source).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Fingerprint(name, file.tell(), digest.hexdigest())


def _named(directions: dict[str, Any], pseudonyms: Pseudonyms | None) -> dict[str, Any]:
    return pseudonyms.directions(directions) if pseudonyms else directions


def _damage(damage: tuple[str, int, int, str], pseudonyms: Pseudonyms | None) -> Damage:
    return pseudonyms.damage(Damage(*damage)) if pseudonyms else Damage(*damage)


def _directions(
    core: _core.Analysis, pseudonyms: Pseudonyms | None, names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the core's columns about both directions of every stream, some streams at a time."""
    for first in range(0, core.counts()["streams"], STREAMS):
        yield _named(core.directions(first, STREAMS, names), pseudonyms)


def _info(core: _core.Analysis) -> CaptureInfo:
    directions = core.directions(names=["copies", *NEEDED])
    captures = core.captures()
    drops = [capture["drops"] for capture in captures if capture["drops"] is not None]
    return CaptureInfo(
        files=[capture["file"] for capture in captures],
        formats=[capture["format"] for capture in captures],
        compression=[capture["compression"] for capture in captures],
        interfaces=[interface for capture in captures for interface in capture["interfaces"]],
        comments=[comment for capture in captures for comment in capture["comments"]],
        capture_drops=sum(drops) if drops else None,
        copies=int(directions["copies"].sum()),
        unacknowledged=int(acknowledgments_missing(directions).sum()),
        **core.counts(),
    )
