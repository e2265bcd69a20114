"""From captures to objects: `analyze`, and what it returns, with what there is to say and to draw of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack, overload

from bdpcap import _core, capture
from bdpcap.read import core_pass
from bdpcap.read.budget import Limits
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
    from bdpcap.explain.findings import Findings
    from bdpcap.plots import Kind, Options
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.core_pass import OneSource, Read, Source
    from bdpcap.read.facts import Progress
    from bdpcap.tables.events import Events

__all__ = ["Capture", "Flow", "analyze", "compare", "event_pieces", "stream_events"]

WRITTEN: Final = 16 << 20
"""Bytes of a capture that are written at once."""


def analyze(
    source: Source,
    *,
    filter: str | None = None,  # noqa: A002 - the word users look for
    progress: Callable[[Progress], None] | bool | None = None,
    pseudonyms: Pseudonyms | None = None,
    jobs: int | None = None,
    limits: Limits | None = None,
    memory_bytes: int | None = None,
    summarize: bool = False,
) -> Capture:
    """Read a capture and classify every round trip in it.

    Parameters
    ----------
    source
        Path, bytes or binary file object; a list is read as one capture, files in the order of their first packets.
        pcap and pcapng, plain or packed by gzip, zstd or lz4, told apart by their first bytes.
    filter
        Capture filter in the syntax of tcpdump (pcap-filter(7)).
    progress
        Called now and then while core_pass. True shows a bar on a terminal and in a notebook, also when events of a file
        are read later.
    pseudonyms
        Other names for the addresses, files and comments of the capture; its own appear nowhere.
    jobs
        Threads that follow the connections; what they find does not depend on their number. None for one per
        processor, or a single one where files are small.
    limits
        What may be followed and kept. What lies beyond is counted: see ``info.left_out`` and `Capture.quality`.
    memory_bytes
        Lower the limits on connections and rows, so that the analysis takes no more memory than this.
    summarize
        Keep flows, rounds and connections only, so that a pipe takes little memory. `Capture.exchanges`, and of a pipe
        `Capture.events`, raise `CaptureError` then.

    Raises
    ------
    CaptureError
        A source cannot be read at all. One that breaks in the middle is read so far; see `Capture.damage`.
    TypeError
        A source is none of these; a file object open for text is not.
    FilterError
        The filter is wrong, or does not fit a link type in the capture.
    ValueError
        A limit is below 1, or `memory_bytes` below what Python takes.
    """
    sources = core_pass.sources(source)
    limits = (limits or Limits()).within(memory_bytes)
    lasting = core_pass.is_lasting(sources)
    with shown(wanted=progress is True) as bar:
        update = progress if callable(progress) else bar
        # What cannot be read twice keeps its events at once.
        core = core_pass.opened(sources, filter, events=not (lasting or summarize), limits=limits, jobs=jobs)
        kept, left_out = None, 0
        if lasting or summarize:
            _read(core, sources, update, turns=not summarize)
        else:
            kept, left_out = core_pass.kept_events(core, sources, update, limits.rows)
        sums = core_pass.summed(core)
        scales = []
        if lasting and sums.scales_to_infer:
            scales = infer(lambda names: core_pass.directions(core, pseudonyms, names))
        if scales:
            # Windows count as packets come: with another scale, all of them anew.
            core = core_pass.opened(sources, filter, events=False, scales=scales, limits=limits, jobs=jobs)
            _read(core, sources, update, turns=not summarize)
            sums = core_pass.summed(core)
    return Capture(
        core,
        sources,
        filter,
        kept,
        scales=scales,
        pseudonyms=pseudonyms,
        sums=sums,
        events_left_out=left_out,
        summarized=summarize,
        watched=progress is True,
    )


def _read(
    core: _core.Analysis, sources: list[Read], progress: Callable[[Progress], None] | None, *, turns: bool
) -> None:
    """Read to the end, and keep turns or let them go."""
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
    limits: Limits | None = None,
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
        source,
        filter=filter,
        streams=streams,
        progress=progress,
        pseudonyms=pseudonyms,
        jobs=jobs,
        limits=limits,
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
    limits: Limits | None = None,
    written: bool = False,
) -> Iterator[Events]:
    """Do as `stream_events`, before a table is made of it; `written`: another thread writes the piece before."""
    from bdpcap.tables.events import NAMES, Events  # noqa: PLC0415 - only loaded where events are asked for

    sources = core_pass.sources(source)
    core = core_pass.opened(
        sources,
        filter,
        events=True,
        rounds=False,
        streams=streams,
        limits=limits,
        jobs=threads(jobs, sources, written=written),
    )
    names: dict[str, list[str]] = {"sender": [], "receiver": []}
    for _ in core_pass.steps(core, sources, progress, events=True):
        core.take_turns()
        columns = core.take_events(NAMES)
        if len(columns["stream"]):
            # Names stay as they are, and there may be many: only new streams are named.
            named = len(names["sender"]) // 2
            if core.streams > named:
                new = core_pass.named(core.directions(named, names=list(names)), pseudonyms)
                for side, known in names.items():
                    known.extend(new[side])
            yield Events(columns, names, core.first_ns)
    for damage in core.damages():
        raise _core.CaptureError(str(core_pass.damage(damage, pseudonyms)))


def compare(*captures: Capture | OneSource, settings: Sequence[Settings] | None = None) -> pd.DataFrame:
    """Set captures side by side: window, RTT, what they allow, what was measured.

    Parameters
    ----------
    captures
        Analysed ones, or sources as `analyze` takes them, each for itself.
    settings
        Of each, what no capture can tell: link rate, path RTT, buffers that were asked for.

    Returns
    -------
    DataFrame
        A row a capture; columns as `bdpcap.comparing.comparison.COMPARISON`.
    """
    from bdpcap.comparing import comparison  # noqa: PLC0415 - only loaded where it is asked
    from bdpcap.comparing.settings import Settings  # noqa: PLC0415
    from bdpcap.tables import frames  # noqa: PLC0415 - only loaded where it is asked

    read = [one if isinstance(one, Capture) else analyze(one) for one in captures]
    names = [", ".join(one.info.files) for one in read]
    given = [Settings()] * len(read) if settings is None else settings
    table = comparison.compare(read, names, given)
    return frames.described(table, comparison.COMPARISON)


class Capture(capture.Capture):
    """An analysed capture: its flows, its rounds with their limits, its events, its report. Made by `analyze`.

    Iterating, ``len`` and an index see its flows.

    Attributes
    ----------
    info : CaptureInfo
        What the capture holds, and how far it can be trusted.
    damage : Damage or None
        Where the capture broke; the first place, if several files did.
    scales : list of InferredScale
        Window scales that no handshake showed, or another one.
    pseudonyms : Pseudonyms or None
        The names that stand for the capture's own; None where these are used.
    host : bdpcap.host.Account or None
        What the sending host's kernel said, for figures and reports; see `bdpcap.host.read`.
    frames_of_files : list of int
        Frames of each of ``info.files``.
    """

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one self-contained HTML file."""
        from bdpcap.report.page import write_html  # noqa: PLC0415 - plots are only loaded where they are drawn

        return write_html(self, Path(path))

    def annotate(self, file: BinaryIO) -> int:
        """Write the capture as pcapng with comments, for Wireshark: the limits where they begin, windows that close.

        Packets, times, interfaces and comments that were there stay as they are. The capture's own comment is the
        report as text. Several files are written as sections of one. `bdpcap.report.comments` chooses the comments.

        Parameters
        ----------
        file
            Open for writing; none of the capture's own files.

        Returns
        -------
        int
            The number of comments on packets.

        Raises
        ------
        CaptureError
            The capture came from a pipe.
        ValueError
            With pseudonyms, since the packets bear the true addresses.
        """
        from bdpcap.report import comments  # noqa: PLC0415 - the report is slow to import

        files = self.need_files()
        if self.pseudonyms:
            raise ValueError("the packets of an annotated capture bear its true addresses")
        about, placed = comments.of_capture(self)
        core = _core.Annotated(files, about, placed)
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
        """Find one flow.

        Parameters
        ----------
        which
            The number of a stream, or the sender as ``address:port`` or as an address alone.
        other
            With a number, the sender; with a sender, the receiver. Where it is left out, the flow that carried most
            payload is meant.

        Raises
        ------
        KeyError
            There is no such flow: the stream carried no payload, or nobody of that name sent any.
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
        The capture that it is of.
    summary : pandas.Series
        Its row of `Capture.flows`.
    stream : int
        The number of its stream, as Wireshark's ``tcp.stream``.
    sender, receiver : str
        ``address:port``, IPv6 in brackets.
    """

    @property
    def verdict(self) -> str:
        """What limited it, for how long, and by which of its numbers, in a sentence or two."""
        from bdpcap.report import verdict  # noqa: PLC0415 - only loaded where it is asked

        return verdict.sentence(self)

    @property
    def findings(self) -> Findings:
        """Why these numbers, and what to change; most important first."""
        from bdpcap.explain.findings import found  # noqa: PLC0415 - only loaded where it is asked

        return found(self)

    def explain(
        self,
        *,
        rcvbuf: int | None = None,
        sndbuf: int | None = None,
        kernel: str | None = None,
        adv_win_scale: int | None = None,
        link_rate: float | str | None = None,
        rtt: float | str | None = None,
    ) -> Findings:
        """Explain it by what is known besides the capture, as ``bdpcap explain`` does.

        Parameters
        ----------
        rcvbuf, sndbuf
            SO_RCVBUF of the receiver and SO_SNDBUF of the sender, as asked for, in bytes.
        kernel
            The receiver's Linux, as ``uname -r`` prints it.
        adv_win_scale
            The receiver's ``net.ipv4.tcp_adv_win_scale``.
        link_rate, rtt
            Ask what another link or another path would take: bits per second and seconds, or text with a unit.

        Raises
        ------
        ValueError
            A text is no rate, no duration or no version.
        """
        from bdpcap.explain.findings import findings  # noqa: PLC0415 - likewise
        from bdpcap.explain.kernels import version  # noqa: PLC0415
        from bdpcap.explain.solver import Facts  # noqa: PLC0415

        facts = Facts(rcvbuf, sndbuf, version(kernel) if kernel else None, adv_win_scale)
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
