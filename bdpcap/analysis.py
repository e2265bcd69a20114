"""The ways into the library: read a capture, stream its events, compare captures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bdpcap import _core
from bdpcap.capture import Capture
from bdpcap.contents import Contents
from bdpcap.errors import ArgumentError, wanted
from bdpcap.read import core_pass
from bdpcap.read.anonymize import Pseudonyms
from bdpcap.read.budget import Budget
from bdpcap.read.jobs import threads
from bdpcap.read.progress import shown
from bdpcap.read.scale import infer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from bdpcap.comparing.settings import Settings
    from bdpcap.host import Account
    from bdpcap.read.core_pass import OneSource, Read, Source
    from bdpcap.read.facts import Progress
    from bdpcap.tables.events import Events

__all__ = ["analyze", "compare", "event_pieces", "stream_events"]


def analyze(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
    progress: Callable[[Progress], None] | bool | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
    budget: Budget | None = None,
    memory_bytes: int | None = None,
    summarize: bool = False,
    host: Account | None = None,
) -> Capture:
    """Read a capture and classify every round trip in it.

    Parameters
    ----------
    source
        Path, URL, bytes or binary file object. A list is read as one capture, with files in the order of their first
        packets.
        The format is pcap or pcapng, plain or compressed by gzip, zstd or lz4; it is detected from the first bytes.
    filter
        Capture filter in the syntax of tcpdump (pcap-filter(7)).
    progress
        Function that is called repeatedly while the capture is read. True shows a bar on a terminal and in a notebook,
        also when the events of a file are read later.
    pseudonyms
        Pseudonyms for the addresses, files and comments of the capture; the true names appear nowhere.
    jobs
        Number of threads that follow connections; results do not depend on it. None is one thread per processor, or a
        single thread if the files are small.
    budget
        Limits on the data that are followed and kept. Data beyond a limit are left out and counted: see
        ``info.left_out`` and `Capture.quality`.
    memory_bytes
        Most memory that the analysis may take, in bytes. It lowers the limits on connections and rows.
    summarize
        Keep flows, rounds and connections only, so that a pipe takes little memory. `Capture.exchanges` then raises
        `CaptureError`, and so does `Capture.events` if the source is a pipe.
    host
        Statistics of the sending host's kernel, from `bdpcap.host.read`. Where they decide, they outrank the rules.

    Raises
    ------
    CaptureError
        A source cannot be read at all. A capture that breaks in the middle is analysed up to there; see
        `Capture.damages`.
    FilterError
        The filter has an error, or does not fit a link type in the capture.
    ArgumentError
        There is no source, or it is open for text. An argument is of another type, `jobs` or a limit is below 1, or
        `memory_bytes` is less than Python itself takes.

    Examples
    --------
    >>> capture = bdpcap.analyze("sample_captures/rwnd_slow_reader.sender.pcap.zst", filter="tcp port 5001")
    >>> print(capture[0].verdict)
    The receiving program read too slowly for 97 % of 6.1 s: the window fell from 211,056 bytes to 29,664 bytes.
    """
    _checked(filter, budget, pseudonyms)
    fits = host is None or hasattr(host, "samples")
    wanted("host", host, "the counters that bdpcap.host.read returns", fits=fits)
    sources, broken = core_pass.sources(source)
    budget = (budget or Budget()).within(memory_bytes)
    lasting = core_pass.is_lasting(sources)
    with shown(wanted=progress is True) as bar:
        update = progress if callable(progress) else bar
        # A source that cannot be read twice keeps its events now.
        core = core_pass.opened(sources, filter, events=not (lasting or summarize), budget=budget, jobs=jobs)
        kept, left_out = None, 0
        if lasting or summarize:
            _read(core, sources, update, turns=not summarize)
        else:
            kept, left_out = core_pass.kept_events(core, sources, update, budget.rows)
        sums = core_pass.summed(core)
        scales = []
        whole = core_pass.whole(core)
        if lasting and sums.scales_to_infer:
            known = (None, None) if whole is None else whole.scales
            scales = infer(lambda names: core_pass.directions(core, pseudonyms, names), known)
        if scales:
            # Windows are evaluated as packets come, so with other scales the capture is read again.
            core = core_pass.opened(sources, filter, events=False, scales=scales, budget=budget, jobs=jobs)
            _read(core, sources, update, turns=not summarize)
            sums = core_pass.summed(core)
    account = host.named(pseudonyms) if host and pseudonyms else host
    contents = Contents(
        core,
        sources,
        filter,
        kept,
        broken=broken,
        whole=whole,
        scales=scales,
        pseudonyms=pseudonyms,
        sums=sums,
        events_left_out=left_out,
        summarized=summarize,
        watched=progress is True,
        counters=account._counters if account else None,
    )
    return Capture(contents, account)


def _checked(expression: str | None, budget: Budget | None, pseudonyms: Pseudonyms | None) -> None:
    """Refuse options of another type."""
    for name, given, kind, such in (
        ("filter", expression, str, "an expression of tcpdump, such as 'tcp port 80'"),
        ("budget", budget, Budget, "limits, such as bdpcap.Budget(connections=1000)"),
        ("pseudonyms", pseudonyms, Pseudonyms, "bdpcap.Pseudonyms()"),
    ):
        wanted(name, given, such, fits=given is None or isinstance(given, kind))


def _read(
    core: _core.Analysis, sources: list[Read], progress: Callable[[Progress], None] | None, *, turns: bool
) -> None:
    """Read to the end; unless `turns` is true, discard the turns of requests and responses."""
    for _ in core_pass.steps(core, sources, progress):
        if not turns:
            core.take_turns()


def stream_events(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
    streams: Sequence[int] | None = None,
    progress: Callable[[Progress], None] | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
    budget: Budget | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a capture and yield its events in pieces; the memory used does not grow with the capture.

    Windows whose scale was not captured are null, since to infer a scale takes the whole capture.

    Yields
    ------
    DataFrame
        Events in the order of the capture, with the columns of `bdpcap.tables.EVENTS`. ``attrs["first_ns"]`` is the time
        of the capture's first frame.

    Raises
    ------
    CaptureError, FilterError
        See `analyze`. A capture that breaks in the middle raises `CaptureError` after the last good piece.

    Examples
    --------
    >>> pieces = bdpcap.stream_events("sample_captures/rwnd_slow_reader.sender.pcap.zst")
    >>> sum(len(piece) for piece in pieces)
    4658
    """
    for piece in event_pieces(
        source,
        filter=filter,
        streams=streams,
        progress=progress,
        pseudonyms=pseudonyms,
        jobs=jobs,
        budget=budget,
    ):
        yield piece.frame()


def event_pieces(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
    streams: Sequence[int] | None = None,
    progress: Callable[[Progress], None] | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
    budget: Budget | None = None,
    written: bool = False,
) -> Iterator[Events]:
    """Yield the events of a capture in pieces that are no tables yet; see `stream_events`.

    `written` states that another thread writes the previous piece meanwhile, so one processor is left for it.
    """
    from bdpcap.tables.events import NAMES, Events  # noqa: PLC0415 - needed for events only

    _checked(filter, budget, pseudonyms)
    sources, broken = core_pass.sources(source)
    core = core_pass.opened(
        sources,
        filter,
        events=True,
        rounds=False,
        streams=streams,
        budget=budget,
        jobs=threads(jobs, sources, written=written),
    )
    names: dict[str, list[str]] = {"sender": [], "receiver": []}
    for _ in core_pass.steps(core, sources, progress, events=True):
        core.take_turns()
        columns = core.take_events(NAMES)
        if len(columns["stream"]):
            # Names of streams do not change and may be many, so only the names of new streams are added.
            named = len(names["sender"]) // 2
            if core.streams > named:
                new = core_pass.named(core.directions(named, names=list(names)), pseudonyms)
                for side, known in names.items():
                    known.extend(new[side])
            yield Events(columns, names, core.first_ns)
    if damages := core_pass.damages(core, broken, pseudonyms):
        raise _core.CaptureError("; ".join(map(str, damages)))


def compare(*captures: Capture | OneSource, settings: Sequence[Settings] | None = None) -> pd.DataFrame:
    """Compare captures in a table: window, RTT, the throughput that these allow, and the throughput measured.

    Parameters
    ----------
    captures
        Analysed captures, or sources of `analyze`; each source is one capture.
    settings
        Settings of each capture that the capture does not show: link rate, path RTT, buffer sizes requested.

    Returns
    -------
    DataFrame
        One row for each capture, with the columns of `bdpcap.comparing.comparison.COMPARISON`.

    Raises
    ------
    ArgumentError
        There is no capture, or the settings are not as many as the captures, or are none.

    Examples
    --------
    >>> ends = [f"sample_captures/rwnd_slow_reader.{end}.pcap.zst" for end in ("sender", "receiver")]
    >>> bdpcap.compare(*ends)[["streams", "window_max_bytes"]]
       streams  window_max_bytes
    0        1            211056
    1        1            211056
    """
    from bdpcap.comparing import comparison  # noqa: PLC0415 - needed for comparisons only
    from bdpcap.comparing.settings import Settings  # noqa: PLC0415
    from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

    if not captures:
        raise ArgumentError("no capture given: name those to compare")
    listed = isinstance(settings, Sequence) and all(isinstance(one, Settings) for one in settings)
    fits = settings is None or listed
    wanted("settings", settings, "a list of bdpcap.comparing.settings.Settings", fits=fits)
    if settings is not None and len(settings) != len(captures):
        raise ArgumentError(
            f"{len(settings)} settings for {len(captures)} captures: give each capture its own"
        )
    read = [one if isinstance(one, Capture) else analyze(one) for one in captures]
    names = [", ".join(one.info.files) for one in read]
    given = [Settings()] * len(read) if settings is None else settings
    table = comparison.compare(read, names, given)
    return frames.described(table, comparison.COMPARISON)
