"""The counting half of bdpcap, in Rust. Nothing here judges; see `bdpcap.analysis` for the way in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bdpcap.tables.cells import Cells

_Instructions: TypeAlias = list[tuple[int, int, int, int]]
"""Classic BPF: code, jump if true, jump if false, constant."""
_Whole: TypeAlias = tuple[int | None, int, Sequence[tuple[int, int]], Sequence[tuple[int, int]]]
_Steps: TypeAlias = tuple[int, int, int | None]

__all__ = [
    "CAUSES",
    "ENDINGS",
    "HANDSHAKES",
    "KINDS",
    "LIMITS",
    "LINK_TYPES",
    "NULL",
    "OPTIMISED",
    "SCALE_SOURCES",
    "Analysis",
    "Annotated",
    "CaptureError",
    "Excerpt",
    "FilterError",
    "Parquet",
    "Pieces",
    "__version__",
    "csv_lines",
    "filter_matches",
    "floats",
    "median_around",
    "medians",
    "percentiles",
    "somewhere",
    "sums",
    "tick_ns",
]

__version__: Final[str]
CAUSES: Final[list[str]]
"""Names of `cause` in events; the first, of what was not sent again, is empty."""
ENDINGS: Final[list[str]]
"""Names of `ended` in connections."""
HANDSHAKES: Final[list[str]]
"""Names of `handshake` in connections."""
KINDS: Final[list[str]]
"""Names of `kind` in events."""
LIMITS: Final[dict[str, int]]
"""The usual limits of an analysis; see `bdpcap.Limits`."""
LINK_TYPES: Final[list[int]]
"""LINKTYPE_ values that can be decoded."""
NULL: Final[int]
"""Marks an absent integer in columns."""
OPTIMISED: Final[bool]
"""False in a debug build."""
SCALE_SOURCES: Final[list[str]]
"""Names of `window_scale_source` in directions."""

class CaptureError(Exception):
    """A capture could not be read at all."""

class FilterError(ValueError):
    """A capture filter cannot be used."""

@final
class Analysis:
    """One pass over one capture, or over several as one.

    Parameters
    ----------
    sources
        Paths, read in the order of their first frames' times, or binary file objects. With one of these, or with
        a path that is no regular file, all are read as given.
    filters
        By link type, the compiled filter, or why there is none; raised if such a frame comes.
    events
        Make events (at a cost in memory until they are taken).
    rounds
        Keep the rounds of all streams, if all streams' events are made; of some streams' events they are not kept.
    streams
        Make events of these streams only; of others nothing is told but their ends.
    scales
        Window scales that an earlier pass inferred, by first frame of the stream and direction of the data that they
        limit.
    limits
        What may be followed and kept, by the names of `LIMITS`; those that are left out are the usual ones.
    jobs
        Threads that follow connections; what they find does not depend on their number. Events of some streams alone
        take one.

    Raises
    ------
    CaptureError
        A source cannot be read at all.
    FilterError
        A program is no valid classic BPF.
    """

    def __new__(
        cls,
        sources: Sequence[str | BinaryIO],
        filters: dict[int, _Instructions | str] | None = None,
        *,
        events: bool = False,
        rounds: bool = True,
        streams: Sequence[int] | None = None,
        scales: Mapping[tuple[int, int], int] | None = None,
        limits: Mapping[str, int] | None = None,
        jobs: int = 1,
    ) -> Analysis: ...
    @staticmethod
    def of_pieces(
        pieces: Sequence[BinaryIO], whole: _Whole, scales: Mapping[tuple[int, int], int]
    ) -> Analysis:
        """Begin a pass over one of the `Pieces` of each file of a capture.

        Parameters
        ----------
        pieces
            Those that are not empty, in the order of the files.
        whole
            What they are told of the whole capture: the time of its first frame, its tick, its frames by link type;
            and for each piece how many frames the files before its own have, and the time of the latest of these.
        scales
            As those of an `Analysis`.
        """
    def advance(self, frames: int) -> bool:
        """Read `frames` frames or a few more, without the interpreter lock; say whether there may be more."""
    @property
    def bytes_read(self) -> int:
        """Bytes taken from the sources, compressed as they are."""
    @property
    def frames(self) -> int:
        """Frames read."""
    @property
    def streams(self) -> int:
        """Streams so far."""
    @property
    def first_ns(self) -> int | None:
        """Time of the earliest frame so far."""
    def take_events(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Columns of the events made since they were last taken; `kind` indexes `KINDS`, `cause` `CAUSES`.

        All columns, or those named.
        """
    def rounds(
        self, first: int = 0, most: int | None = None, names: Sequence[str] | None = None
    ) -> tuple[dict[str, np.ndarray], int]:
        """Columns of the finished rounds of whole streams, by stream, direction and round, and the next stream.

        From stream `first` on, until there are `most` rounds or a stream's more, or as many streams; of all
        columns, or those named. They are the fields of ``Round`` in ``core/src/track/round.rs``, with their meaning.
        """
    def paths(self) -> dict[str, Any]:
        """What flows from one host to another tell of each other.

        ``of_streams`` and ``of_datagrams``: ways from host to host as numbers, of the rows of `directions` and of
        `datagrams`; ``rtt_ns``: the least RTT of each way; ``row``, ``start_ns``, ``end_ns`` and ``delivered_bytes``: of
        the rounds of rows whose way has others; ``last_ns``: when the last round ended; ``rounds``: how many there are.
        """
    def take_turns(self) -> dict[str, np.ndarray]:
        """Turns finished since the last call, by stream and time, as columns."""
    def directions(
        self, first: int = 0, count: int | None = None, names: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Columns about both directions of `count` streams from `first` on, two rows each, client's first.

        All columns, or those named; `window_scale_source` indexes `SCALE_SOURCES`.
        """
    def connections(self, first: int = 0, count: int | None = None) -> dict[str, np.ndarray]:
        """Columns about `count` streams from `first` on, or all, by number.

        `handshake` indexes `HANDSHAKES`, `ended` `ENDINGS`; `ended_by` is 0 for the client, 1 for the server;
        `retry_wait_ns` is what the last SYN or retransmission waited for where nothing answered it.
        """
    def datagrams(self) -> dict[str, Any]:
        """Columns about the UDP flows, by their first datagram; `tool` is empty where none is known."""
    def first_frames(self) -> np.ndarray:
        """First frame of every stream, also of one that ICMP messages quote; only of pieces, else empty."""
    def damages(self) -> list[tuple[str, int, int, str]]:
        """Where captures broke: file, frame, offset, reason."""
    def counts(self) -> dict[str, Any]:
        """What was counted on the way."""
    def captures(self) -> list[dict[str, Any]]:
        """What each capture read to its end says about itself."""

@final
class Excerpt:
    """Chosen frames of captures as a pcap file in nanoseconds.

    Parameters
    ----------
    sources
        Paths, as those of an `Analysis`.
    wanted
        Frames, ascending: number over all sources, and the time to write in nanoseconds since the epoch.
    headers_only
        Leave out what follows the TCP header.
    rename
        Gives an address (4 bytes: IPv4, 6: MAC, 16: IPv6) another of its length. With it all addresses are
        replaced, options that may hold one are blanked, and checksums stay as valid as they were.

    Raises
    ------
    CaptureError
        A source cannot be read at all.
    """

    def __new__(
        cls,
        sources: Sequence[str],
        wanted: Sequence[tuple[int, int]],
        *,
        headers_only: bool = False,
        rename: Callable[[bytes], bytes] | None = None,
    ) -> Excerpt: ...
    def take(self, frames: int) -> tuple[bytes, bool]:
        """Read up to `frames` frames: the next bytes of the pcap file, and whether there may be more.

        Raises
        ------
        CaptureError
            A source cannot be read, or a pcap file cannot hold a frame: a second link type, a time after 2106.
        """

@final
class Annotated:
    """Captures as one pcapng file, with comments; packets, times and interfaces are as they were.

    Parameters
    ----------
    sources
        Paths, as those of an `Analysis`.
    about
        The comment on the whole.
    comments
        Frames, ascending: number over all sources, and the comment.

    Raises
    ------
    CaptureError
        A source cannot be read at all.
    """

    def __new__(
        cls, sources: Sequence[str], about: str, comments: Sequence[tuple[int, str]]
    ) -> Annotated: ...
    def take(self, least: int) -> tuple[bytes, bool]:
        """Return the next `least` bytes of the file and the rest of their last packet; say whether there may be more.

        Raises
        ------
        CaptureError
            A source cannot be read.
        """
    @property
    def written(self) -> int:
        """Comments on frames that were written; a simple packet block of pcapng can have none."""

@final
class Pieces:
    """The headers of one file of a capture, shared out by host pair.

    Parameters
    ----------
    path
        The file.
    filters
        As those of an `Analysis`.
    buckets
        How many pieces. All frames between two hosts are in one piece, which one depends on nothing but the hosts.

    Raises
    ------
    CaptureError
        The file cannot be read at all.
    """

    def __new__(cls, path: str, filters: dict[int, _Instructions | str] | None, buckets: int) -> Pieces: ...
    def advance(self, frames: int) -> bool:
        """Read up to `frames` frames; say whether there may be more."""
    def take(self) -> list[bytes]:
        """Return the pieces, each a source of an `Analysis`; one without frames is empty."""
    def counts(self) -> dict[str, Any]:
        """Return what was counted on the way.

        ``place`` sorts the files of a capture. ``frames``; ``first_ns`` and ``last_ns``, the earliest and the latest
        frame; ``opened_ns`` and ``closed_ns``, the first and the last frame with a time; ``steps`` for `tick_ns`;
        ``link_types``, frames by number; ``damages`` as those of an `Analysis`.
        """

@final
class Parquet:
    """A Parquet file in the making, of columns as `bdpcap.tables.cells.Columns` has them; any cell may be absent.

    Raises
    ------
    ValueError
        Two columns have one name.
    """

    def __new__(cls, names: Sequence[str], columns: Sequence[Cells]) -> Parquet: ...
    def rows(self, columns: Sequence[Cells]) -> bytes:
        """Add a group of rows: the bytes of the file that follow.

        Raises
        ------
        ValueError
            A column is of another kind than at first.
        """
    def finish(self) -> bytes:
        """Return the last bytes of the file."""

def csv_lines(columns: Sequence[Cells], written: Callable[[str], str]) -> bytes:
    """Write columns as lines of comma-separated values, numbers as Python writes them.

    `written` is asked how to write texts of more than letters, digits and marks that mean nothing to a reader of CSV.
    """

def tick_ns(steps: Sequence[_Steps]) -> int:
    """Return the tick of a capture's clock, 0 where the times do not show it.

    Parameters
    ----------
    steps
        Of each file, and between files: steps to the same time, steps to a later one, the least of these.
    """

def filter_matches(program: _Instructions, data: bytes, wire_len: int) -> bool:
    """Run a compiled filter over one frame.

    Raises
    ------
    FilterError
        The program is no valid classic BPF.
    """

def median_around(values: np.ndarray, starts: np.ndarray, before: int, after: int) -> NDArray[np.float64]:
    """Median of what is known from `before` rounds before each to `after` rounds after it, within its flow.

    `starts` are the places of the flows' first rounds. NaN where nothing is known.
    """

def medians(values: np.ndarray, starts: np.ndarray) -> NDArray[np.float64]:
    """Median of what is known of each flow; NaN where nothing is."""

def percentiles(
    values: np.ndarray, weights: np.ndarray, starts: np.ndarray, part: float
) -> NDArray[np.float64]:
    """Return the weighted percentile of what is known of each flow and has a weight; NaN where nothing is."""

def floats(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a column of the core as floats; what is absent as NaN."""

def somewhere(holds: NDArray[np.bool_], first: np.ndarray, past: np.ndarray) -> NDArray[np.bool_]:
    """Tell whether it holds anywhere from `first` to before `past` of each round."""

def sums(values: np.ndarray, first: np.ndarray, past: np.ndarray) -> NDArray[np.float64]:
    """Sum whole numbers from `first` to before `past` of each round; NaN counts as nothing."""
