"""The Rust core of bdpcap: it reads captures and counts. Python classifies the counts; start at `bdpcap.analysis`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from bdpcap.tables.cells import Cells

_Instructions: TypeAlias = list[tuple[int, int, int, int]]
"""Classic BPF: code, jump if true, jump if false, constant."""
_Recordings: TypeAlias = Sequence[tuple[int, int]]
_Whole: TypeAlias = tuple[int | None, _Recordings, Sequence[tuple[int, int]], Sequence[tuple[int, int]]]
_File: TypeAlias = tuple[tuple[int, int, int, int], int, tuple[int, int, int | None], int]

__all__ = [
    "BUDGET",
    "CAUSES",
    "ENDINGS",
    "HANDSHAKES",
    "KINDS",
    "LINK_TYPES",
    "NULL",
    "OPTIMISED",
    "REFUSALS",
    "SCALE_SOURCES",
    "SYN_OPTIONS",
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
    "recordings",
    "somewhere",
    "sums",
    "with_row_groups",
]

__version__: Final[str]
CAUSES: Final[list[str]]
"""Names of the codes in the `cause` column of events. The first is empty: the segment is no retransmission."""
ENDINGS: Final[list[str]]
"""Names of the codes in the `ended` column of connections."""
HANDSHAKES: Final[list[str]]
"""Names of the codes in the `handshake` column of connections."""
KINDS: Final[list[str]]
"""Names of the codes in the `kind` column of events."""
BUDGET: Final[dict[str, int]]
"""Default limits of an analysis by name; see `bdpcap.Budget`."""
LINK_TYPES: Final[list[int]]
"""LINKTYPE_ values that the core can decode."""
NULL: Final[int]
"""Value of an absent integer in a column: the least 64-bit integer."""
OPTIMISED: Final[bool]
"""Whether the core was compiled with optimisation; false in a debug build."""
REFUSALS: Final[list[str]]
"""Names of the codes in the `refusal` column of refused packets."""
SCALE_SOURCES: Final[list[str]]
"""Names of the codes in the `window_scale_source` column of directions."""
SYN_OPTIONS: Final[list[str]]
"""Letters of the four-bit codes in the `syn_layout` column of directions."""

class CaptureError(Exception):
    """A capture could not be read at all."""

class FilterError(ValueError):
    """A capture filter cannot be used."""

@final
class Analysis:
    """One pass over a capture of one file or of several.

    Parameters
    ----------
    sources
        Paths or binary file objects. Regular files are read in the order of their first frames' times. If any source
        is a file object or not a regular file, all are read in the order given.
    filters
        The compiled filter by link type, or the reason why it does not compile. The reason is raised when a frame of
        that link type is read.
    events
        Make events. They take memory until `take_events` hands them out.
    rounds
        Keep rounds although the events of all streams are made. Without events rounds are always kept; with `streams`
        they never are.
    streams
        Make events of these streams only. Of other streams only the addresses and ports are known.
    scales
        Window scales (shifts) that an earlier pass inferred. The key is the first frame of the stream and the direction
        of the data that the windows limit.
    budget
        Limits on the data that are followed and kept, by the names of `BUDGET`. A missing name keeps its default.
    jobs
        Number of threads that follow connections; results do not depend on it. With `streams` there is one thread.

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
        budget: Mapping[str, int] | None = None,
        jobs: int = 1,
    ) -> Analysis: ...
    @staticmethod
    def of_pieces(
        pieces: Sequence[BinaryIO], whole: _Whole, scales: Mapping[tuple[int, int], int]
    ) -> Analysis:
        """Begin a pass over one bucket of a capture: one of the `Pieces` of each file.

        Parameters
        ----------
        pieces
            The pieces that are not empty, in the order of their files.
        whole
            Facts of the whole capture: the time of its first frame, its `recordings`, the number of frames by link type.
            The last entry holds, for each piece, the number of frames in the files before its own. With it comes the
            time of the last frame in those files.
        scales
            Window scales in the form that `Analysis` takes them.
        """
    def advance(self, frames: int) -> bool:
        """Read `frames` frames or a few more, without the interpreter lock; return whether there may be more."""
    @property
    def bytes_read(self) -> int:
        """Bytes read from the sources, before decompression."""
    @property
    def frames(self) -> int:
        """Number of frames read."""
    @property
    def streams(self) -> int:
        """Number of streams so far."""
    @property
    def first_ns(self) -> int | None:
        """Time of the earliest frame so far; None before the first frame with a time."""
    def take_events(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Return the columns of the events made since the last call: all columns, or those in `names`.

        `kind` is an index into `KINDS`, `cause` one into `CAUSES`.
        """
    def rounds(
        self, first: int = 0, most: int | None = None, names: Sequence[str] | None = None
    ) -> tuple[dict[str, np.ndarray], int]:
        """Return columns of the finished rounds of whole streams, and the number of the stream that follows.

        Streams are added from `first` on until there are `most` rounds or `most` streams; the last stream is whole, so
        there may be more rounds. Rows are sorted by stream, direction and round. The columns are all, or those in
        `names`: the fields of ``Round`` in ``core/src/track/rounds/round.rs``.
        """
    def paths(self) -> dict[str, Any]:
        """Return which flows share a path, the path's min RTT, and the bytes that each flow delivered in each round.

        A path leads from one host to another in one recording, and has a number. Streams of SYNs alone have path 0.

        - ``of_streams`` and ``of_datagrams``: the path of each row of `directions` and of `datagrams`.
        - ``rtt_ns``: the min RTT of each path.
        - ``row``, ``start_ns``, ``end_ns`` and ``delivered_bytes``: the rounds of flows that share their path with
          others; ``row`` is the row of `directions`.
        - ``last_ns``: for each path the end of the last round in its recording.
        - ``rounds``: the number of rounds of all flows.
        """
    def take_turns(self) -> dict[str, np.ndarray]:
        """Return the columns of the turns finished since the last call, sorted by stream and time.

        A turn is the payload that one side sends until the other side answers: a request or a response.
        """
    def directions(
        self, first: int = 0, count: int | None = None, names: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Return columns about both directions of `count` streams from `first` on: all columns, or those in `names`.

        Each stream has two rows, the client's first. `window_scale_source` is an index into `SCALE_SOURCES`.
        `data_alone` is 1 everywhere if each of the capture's many segments has payload.
        """
    def connections(self, first: int = 0, count: int | None = None) -> dict[str, np.ndarray]:
        """Return columns about `count` streams from `first` on (all that follow where None), sorted by stream.

        `handshake` is an index into `HANDSHAKES`, `ended` one into `ENDINGS`. `ended_by` and `closed_by` are 0 for the
        client and 1 for the server; `closed_by` sent the first FIN, before any reset. `retry_wait_ns` is the wait before
        the last SYN or retransmission, if nothing answered that one. `opening_ns` is the time from the first packet to
        the first one after both SYNs. `tls_alert` is the description of the first fatal TLS alert in clear text, which
        `tls_alert_by` sent. `tls_unanswered_ns` is the time from a TLS hello until an end closed, if the server sent no
        data before; `http_unanswered_ns` is that from an HTTP/1 request in clear text. `asks_proxy` is 1 where the client
        sent such a request to a proxy. `error_status` is the status of the last of `error_responses`: the errors among
        the `http_responses`, and FTP's replies that data or a login failed. `unanswered_fins_by` sent
        `unanswered_fins`. `client_unacknowledged_bytes` are those of `unacknowledged_bytes` that the client sent.
        """
    def datagrams(self) -> dict[str, Any]:
        """Return columns about the UDP flows, in the order of their first datagrams; `tool` is empty where unknown."""
    def refusals(self) -> dict[str, Any]:
        """Return columns about packets that ICMP error messages quote, a row for each flow, reporter and refusal.

        `refusal` is an index into `REFUSALS`; `mtu_bytes` is the least MTU that the messages say.
        """
    def capturing_hosts(self) -> list[str]:
        """Return the addresses of the host that captured, by the packet types of Linux's cooked captures, in order.

        An address is in the list if the host made all packets from it, with an initial TTL.
        """
    def unpadded_hosts(self) -> list[str]:
        """Return the addresses whose small Ethernet frames are unpadded, in order, where those of others are padded."""
    def first_frames(self) -> np.ndarray:
        """Return the first frame of every stream, also of streams that only ICMP messages quote.

        The array is empty unless the pass was begun by `of_pieces`.
        """
    def recordings(self) -> _Recordings:
        """Return begin and tick of each recording in nanoseconds: of files that follow one another, if rotated.

        A recording begins where no frame came for longer than between any two frames of a file.
        """
    def damages(self) -> list[tuple[str, int, int, str]]:
        """Return where captures broke: file, frame, offset in bytes, reason."""
    def counts(self) -> dict[str, Any]:
        """Return counts of the whole pass, by the names of fields of `bdpcap.CaptureInfo`.

        ``packets_left_out``, ``turns_left_out`` and ``too_deep`` count the data left out beyond a limit.
        """
    def captures(self) -> list[dict[str, Any]]:
        """Return facts of each file that was read to its end or damage: format, comments, interfaces, times, drops.

        ``unit_ns`` is the coarsest unit of its times, ``least_step_ns`` the smallest time from a frame to a later one.
        """

@final
class Excerpt:
    """Copies chosen frames of captures into a pcapng file.

    Parameters
    ----------
    sources
        Paths, read in the order that `Analysis` has.
    wanted
        Frames in ascending order: the number, counted over all sources, and the time to write in nanoseconds since the
        epoch.
    headers_only
        Leave out the payload that follows the TCP header.
    rename
        Returns another address of the same length (4 bytes: IPv4, 6: MAC, 16: IPv6). If given, all addresses are
        replaced and options that may hold one are blanked. A valid checksum stays valid, a wrong one stays wrong.
    about
        Comment on the section.
    resolution
        Negative exponent of the unit of the times, 0 for seconds to 9 for nanoseconds.

    Raises
    ------
    CaptureError
        A source cannot be read at all.
    """

    def __new__(
        cls,
        sources: Sequence[str | BinaryIO],
        wanted: Sequence[tuple[int, int]],
        *,
        headers_only: bool = False,
        rename: Callable[[bytes], bytes] | None = None,
        about: str | None = None,
        resolution: int = 9,
    ) -> Excerpt: ...
    def take(self, frames: int) -> tuple[bytes, bool]:
        """Read up to `frames` frames; return the next bytes of the pcapng file, and whether there may be more.

        Raises
        ------
        CaptureError
            A source cannot be read, or the frames have a second link type.
        """

@final
class Annotated:
    """Copies captures into one pcapng file and adds comments; packets, times and interfaces stay as they are.

    Parameters
    ----------
    sources
        Paths, read in the order that `Analysis` has.
    about
        The comment on the whole file.
    comments
        Frames in ascending order: the number, counted over all sources, and the comment.

    Raises
    ------
    CaptureError
        A source cannot be read at all.
    """

    def __new__(
        cls, sources: Sequence[str | BinaryIO], about: str, comments: Sequence[tuple[int, str]]
    ) -> Annotated: ...
    def take(self, least: int) -> tuple[bytes, bool]:
        """Return the next bytes of the file, at least `least` of them before its end, and whether there may be more.

        Raises
        ------
        CaptureError
            A source cannot be read.
        """
    @property
    def written(self) -> int:
        """Number of comments written on frames. A simple packet block of pcapng cannot have a comment."""

@final
class Pieces:
    """Divides the headers of one file of a capture into buckets by host pair.

    Parameters
    ----------
    path
        The file.
    filters
        Compiled filters in the form that `Analysis` takes them.
    buckets
        Number of pieces. All frames between two hosts are in one piece; its number depends on the two addresses only.

    Raises
    ------
    CaptureError
        The file cannot be read at all.
    """

    def __new__(cls, path: str, filters: dict[int, _Instructions | str] | None, buckets: int) -> Pieces: ...
    def advance(self, frames: int) -> bool:
        """Read up to `frames` frames; return whether there may be more."""
    def take(self) -> list[bytes]:
        """Return the pieces, each a source for `Analysis.of_pieces`; one without frames is empty."""
    def counts(self) -> dict[str, Any]:
        """Return counts of the file.

        - ``place``: the key that sorts the files of a capture.
        - ``frames``: the number of frames.
        - ``first_ns`` and ``last_ns``: the times of the earliest and of the latest frame.
        - ``opened_ns`` and ``closed_ns``: the times of the first and of the last frame in the file that have one.
        - ``longest_gap_ns``: the longest time from a frame to the next.
        - ``steps``: the number of frames at the time of the frame before, and of later ones, with the least time to one.
        - ``unit_ns``: the coarsest unit of the times.
        - ``link_types``: the number of frames by LINKTYPE_ value.
        - ``damages``: where the file broke, as `Analysis.damages` returns it.
        """

@final
class Parquet:
    """Writes a Parquet file from cells in the form of `bdpcap.tables.cells.Cells`; any cell may be absent.

    Raises
    ------
    ValueError
        Two columns have the same name.
    """

    def __new__(cls, names: Sequence[str], columns: Sequence[Cells]) -> Parquet: ...
    def rows(self, columns: Sequence[Cells]) -> bytes:
        """Add a row group; return the bytes of the file that follow.

        Raises
        ------
        ValueError
            A column is of another kind than in the constructor.
        """
    def finish(self) -> bytes:
        """Return the last bytes of the file."""

def with_row_groups(file: bytes, groups: Sequence[int]) -> bytes:
    """Return a Parquet file with some row groups of another, in the order of their numbers given.

    Raises
    ------
    ValueError
        The file is broken, or has no such row group.
    """

def csv_lines(columns: Sequence[Cells], written: Callable[[str], str]) -> bytes:
    """Return columns as lines of comma-separated values; numbers look as Python prints them.

    `written` is called for each text that may need quoting; it returns the text to write. Texts of letters, digits and
    marks without a meaning in CSV, spreadsheets and terminals are written unchanged.
    """

def recordings(files: Sequence[_File]) -> _Recordings:
    """Return begin and tick of each recording, as `Analysis.recordings` does.

    Parameters
    ----------
    files
        An entry for each file with frames, in the order of reading, from `Pieces.counts`. It has ``opened_ns``,
        ``closed_ns``, ``first_ns`` and ``last_ns`` together, then ``longest_gap_ns``, ``steps`` and ``unit_ns``.
    """

def filter_matches(program: _Instructions, data: bytes, wire_len: int) -> bool:
    """Return whether a compiled filter matches a frame, of which `data` was captured.

    Raises
    ------
    FilterError
        The program is no valid classic BPF.
    """

def median_around(values: np.ndarray, starts: np.ndarray, before: int, after: int) -> NDArray[np.float64]:
    """Return a running median: from `before` rounds before each round to `after` rounds after it, within its flow.

    `starts` are the indexes of the flows' first rounds. NaN and infinite values are left out; NaN where no others are.
    """

def medians(values: np.ndarray, starts: np.ndarray) -> NDArray[np.float64]:
    """Return the median of each flow's finite values; NaN where there are none."""

def percentiles(
    values: np.ndarray, weights: np.ndarray, starts: np.ndarray, part: float
) -> NDArray[np.float64]:
    """Return the weighted percentile `part` (0 to 1) of each flow's finite values with a positive weight, else NaN."""

def floats(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a column of the core as floats; absent values become NaN."""

def somewhere(holds: NDArray[np.bool_], first: np.ndarray, past: np.ndarray) -> NDArray[np.bool_]:
    """Return for each round whether `holds` is true anywhere in the rounds `first` to `past` - 1."""

def sums(values: np.ndarray, first: np.ndarray, past: np.ndarray) -> NDArray[np.float64]:
    """Return for each round the sum of whole numbers over the rounds `first` to `past` - 1; NaN counts as 0."""
