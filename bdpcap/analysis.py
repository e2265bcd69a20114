"""From captures to objects: `analyze`, and what it returns, with what there is to say and to draw of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from bdpcap import _core, capture, reading
from bdpcap.scale import infer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd
    import plotly.graph_objects as go

    from bdpcap.anonymize import Pseudonyms
    from bdpcap.explain.findings import Finding
    from bdpcap.facts import Progress
    from bdpcap.plots import Options
    from bdpcap.reading import Source

__all__ = ["Capture", "Flow", "analyze", "stream_events"]


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
    sources = reading.sources(source)
    again = all(isinstance(one, str) and Path(one).is_file() for one in sources)
    # What cannot be read twice keeps its events at once.
    core = reading.opened(sources, filter, events=not again, jobs=jobs)
    events = [core.take_events() for _ in reading.steps(core, sources, progress)]
    scales = infer(lambda: reading.directions(core, pseudonyms)) if again else []
    if scales:
        # Windows are weighed as packets come: with another scale, all of them anew.
        core = reading.opened(sources, filter, events=False, scales=scales, jobs=jobs)
        for _ in reading.steps(core, sources, progress):
            pass
    kept = None if again else reading.joined(events)
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
    sources = reading.sources(source)
    core = reading.opened(sources, filter, events=True, streams=streams, jobs=jobs)
    names: dict[str, list[str]] = {"sender": [], "receiver": []}
    for _ in reading.steps(core, sources, progress):
        core.take_turns()
        columns = core.take_events()
        if len(columns["stream"]):
            # Names stay as they are, and there may be many: only new streams are named.
            new = reading.named(core.directions(len(names["sender"]) // 2, names=list(names)), pseudonyms)
            for side, known in names.items():
                known.extend(new[side])
            piece = reading.events(columns, names)
            piece.attrs["first_ns"] = core.counts()["first_ns"]
            yield piece
    for damage in core.damages():
        raise _core.CaptureError(str(reading.damage(damage, pseudonyms)))


class Capture(capture.Capture):
    """An analysed capture: its flows, its rounds with their limits, its events.

    Made by `analyze`.
    """

    def flow(self, stream: int, sender: str | None = None) -> Flow:
        """One direction of a stream: the one that carried most payload, unless a sender is named.

        Raises
        ------
        KeyError
            There is no such flow, or the stream carried no payload.
        """
        return Flow(self, self.summary_of(stream, sender))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one self-contained HTML file."""
        from bdpcap.report.page import write_html  # noqa: PLC0415 - plots are only loaded where they are drawn

        return write_html(self, Path(path))


class Flow(capture.Flow):
    """One direction of a stream that carried payload."""

    @property
    def findings(self) -> list[Finding]:
        """Why these numbers, and what to change; most important first."""
        from bdpcap.explain.findings import found  # noqa: PLC0415 - only loaded where it is asked

        return found(self)

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
