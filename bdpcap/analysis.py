"""The Python interface: `analyze`, and the objects that it returns, with findings, figures and reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack, overload

from bdpcap import _core, capture
from bdpcap.read import core_pass
from bdpcap.read.budget import Budget
from bdpcap.read.jobs import threads
from bdpcap.read.progress import shown
from bdpcap.read.scale import infer
from bdpcap.words import quantities

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd
    import plotly.graph_objects as go

    from bdpcap.comparing.settings import Settings
    from bdpcap.diagnosis.remedy import Remedy
    from bdpcap.diagnosis.why import Why
    from bdpcap.explain.findings import Findings
    from bdpcap.host import Account
    from bdpcap.plots import Kind, Options
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.core_pass import OneSource, Read, Source
    from bdpcap.read.facts import Progress
    from bdpcap.tables.events import Events
    from bdpcap.view.notebook import View

__all__ = ["Capture", "Flow", "analyze", "compare", "event_pieces", "stream_events"]

WRITTEN: Final = 16 << 20
"""Bytes of an annotated capture that are written in one step."""


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
        `Capture.damage`.
    TypeError
        A source has another type, or is a file object open for text.
    FilterError
        The filter has an error, or does not fit a link type in the capture.
    ValueError
        There is no source, `jobs` or a limit is below 1, or `memory_bytes` is less than Python itself takes.
    """
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
    return Capture(
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
        host=host,
    )


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
    """
    from bdpcap.comparing import comparison  # noqa: PLC0415 - needed for comparisons only
    from bdpcap.comparing.settings import Settings  # noqa: PLC0415
    from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

    read = [one if isinstance(one, Capture) else analyze(one) for one in captures]
    names = [", ".join(one.info.files) for one in read]
    given = [Settings()] * len(read) if settings is None else settings
    table = comparison.compare(read, names, given)
    return frames.described(table, comparison.COMPARISON)


class Capture(capture.Capture):
    """An analysed capture: its flows, its rounds with their limits, its events, its report. Made by `analyze`.

    A round is the time of one round trip of a flow. Iteration, ``len`` and indexing work on the flows.

    Attributes
    ----------
    info : CaptureInfo
        The contents of the capture, and facts that show how far it can be trusted.
    damage : Damage or None
        The first of `damages`; None if the capture did not break.
    damages : list of Damage
        The places where its files broke, and the captures of a directory that could not be read at all.
    scales : list of InferredScale
        Window scales that were inferred, since no handshake was captured or the traffic contradicts it.
    pseudonyms : Pseudonyms or None
        Pseudonyms for the names in the capture; None if the true names are used.
    host : bdpcap.host.Account or None
        Statistics of the sending host's kernel, from `bdpcap.host.read`; None without any.
    frames_of_files : list of int
        Number of frames in each of ``info.files``.
    """

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one self-contained HTML file; return its path."""
        from bdpcap.report.page import write_html  # noqa: PLC0415 - plotting is slow to import

        return write_html(self, Path(path))

    def annotate(self, file: BinaryIO) -> int:
        """Write the capture as pcapng with comments for Wireshark: where limits begin, and where windows close.

        Packets, times, interfaces and existing comments stay as they are. The comment on the whole capture is the report
        as text. Several files become sections of one file. `bdpcap.report.comments` chooses the comments.

        Parameters
        ----------
        file
            A binary file that is open for writing, but none of the capture's own files.

        Returns
        -------
        int
            The number of comments on packets.

        Raises
        ------
        CaptureError
            The capture came from a pipe.
        ValueError
            The capture has pseudonyms, but its packets have the true addresses.
        """
        from bdpcap.report import comments  # noqa: PLC0415 - the report is slow to import

        files = self.need_files()
        if self.pseudonyms:
            raise ValueError("the packets of an annotated capture bear its true addresses")
        about, placed = comments.of_capture(self)
        core = _core.Annotated(core_pass.readable(files), about, placed)
        more = True
        while more:
            piece, more = core.take(WRITTEN)
            file.write(piece)
        return core.written

    def _repr_html_(self) -> str:
        from bdpcap.report import card  # noqa: PLC0415 - slow to import

        return card.of_capture(self)

    def _flow(self, summary: pd.Series) -> Flow:
        return Flow(self, summary)

    def flow(self, which: int | str, other: str | None = None) -> Flow:
        """Return one flow.

        Parameters
        ----------
        which
            The number of a stream, or the sender as ``address:port`` or as an address alone.
        other
            The sender if `which` is a number, and the receiver if `which` is a sender. If several flows match, the one
            with most payload is returned.

        Raises
        ------
        KeyError
            There is no such flow: the stream carried no payload, or no such endpoint sent any.
        """
        return self._flow(self._summary(which, other))

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Flow]: ...
        @overload
        def __getitem__(self, place: int) -> Flow: ...
        @overload
        def __getitem__(self, place: slice) -> list[Flow]: ...
        def __getitem__(self, place: int | slice) -> Flow | list[Flow]: ...


class Flow(capture.Flow):
    """One direction of a stream that carried payload: its rounds, events, findings and figures.

    Attributes
    ----------
    capture : Capture
        The capture that has the flow.
    summary : pandas.Series
        The flow's row of `Capture.flows`.
    stream : int
        The number of the flow's stream, as Wireshark's ``tcp.stream``.
    sender, receiver : str
        ``address:port``, IPv6 in brackets.
    """

    @property
    def verdict(self) -> str:
        """The limit of the flow, its duration, and the numbers that show it, in one or two sentences."""
        from bdpcap.report import verdict  # noqa: PLC0415 - the report is slow to import

        return verdict.sentence(self)

    @property
    def findings(self) -> Findings:
        """Causes of the flow's numbers, with remedies; the most important finding first."""
        from bdpcap.explain.findings import found  # noqa: PLC0415 - needed for findings only

        return found(self)

    @property
    def why(self) -> Why | None:
        """The setting behind the window that limits the flow; None if no window does, or the setting is unknown.

        ``print(flow.why)`` gives the arithmetic: "Why 73,552? 2 x 50,000 x 3/4 - 1,448 = 73,552: ...".
        """
        from bdpcap.diagnosis.why import why  # noqa: PLC0415 - needed for findings only

        return why(self)

    @property
    def remedy(self) -> Remedy:
        """The first thing to do: the place, the advice, commands, and the rate to expect.

        ``print(flow.remedy)`` gives the advice; ``flow.remedy.expected`` is such as "12.4 → about 24.3 Mbit/s, then the
        link", or empty.
        """
        from bdpcap.diagnosis.remedy import remedy  # noqa: PLC0415 - needed for findings only

        return remedy(self)

    def explain(
        self,
        *,
        rcvbuf: int | None = None,
        sndbuf: int | None = None,
        kernel: str | None = None,
        adv_win_scale: int | None = None,
        rmem_max: int | None = None,
        rmem: tuple[int, int, int] | None = None,
        wmem: tuple[int, int, int] | None = None,
        link_rate: float | str | None = None,
        rtt: float | str | None = None,
    ) -> Findings:
        """Return the findings, using facts that the capture does not show, as ``bdpcap explain`` does.

        Parameters
        ----------
        rcvbuf, sndbuf
            SO_RCVBUF of the receiver and SO_SNDBUF of the sender as passed to ``setsockopt``, in bytes.
        kernel
            The receiver's Linux version, as ``uname -r`` prints it.
        adv_win_scale
            The receiver's ``net.ipv4.tcp_adv_win_scale``.
        rmem_max, rmem
            The receiver's ``net.core.rmem_max`` and the three values of its ``net.ipv4.tcp_rmem``, in bytes.
        wmem
            The three values of the sender's ``net.ipv4.tcp_wmem``, in bytes.
        link_rate, rtt
            Rate of another link and RTT of another path, for which the findings give the window needed. A number is in
            bits per second or in seconds; a text has a unit.

        Raises
        ------
        ValueError
            A text is no rate, no duration or no version.
        """
        from bdpcap.explain.findings import findings  # noqa: PLC0415 - needed for findings only
        from bdpcap.explain.kernels import version  # noqa: PLC0415
        from bdpcap.explain.solver import Facts  # noqa: PLC0415

        known = version(kernel) if kernel else None
        facts = Facts(rcvbuf, sndbuf, known, adv_win_scale, rmem_max, rmem, wmem)
        rate = quantities.rate(link_rate) if isinstance(link_rate, str) else link_rate
        trip = quantities.duration(rtt) if isinstance(rtt, str) else rtt
        return findings(
            self,
            facts,
            rate_bps=None if rate is None else float(rate),
            rtt_ns=None if trip is None else round(trip * 10**9),
        )

    def _repr_html_(self) -> str:
        from bdpcap.report import card  # noqa: PLC0415 - slow to import

        return card.of_flow(self)

    def plot(self, kind: Kind = "window", **options: Unpack[Options]) -> go.Figure:
        """Return a figure of the flow.

        Parameters
        ----------
        kind
            ``window`` (with the bytes in flight), ``throughput``, ``rtt`` or ``sequence``.
        options
            Options of `bdpcap.plots.figure`: ``start`` and ``end`` in seconds since the capture's first frame, and
            ``figure``, ``row`` and ``col`` to draw into.

        Raises
        ------
        ValueError
            There is no such figure, the flow does not overlap that time, or ``row`` is given without ``figure``.
        """
        from bdpcap.plots import figure  # noqa: PLC0415 - plotly is slow to import

        return figure(self, kind, **options)

    def view(self) -> View:
        """Return the linked figures of the flow as a widget for a notebook, zoomable down to single segments.

        Raises
        ------
        ModuleNotFoundError
            The extra ``bdpcap[view]`` is not installed.
        """
        try:
            from bdpcap.view.notebook import View  # noqa: PLC0415 - part of an extra, may be missing
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{error.name} is missing: pip install 'bdpcap[view]'", name=error.name
            ) from None
        return View(self)
