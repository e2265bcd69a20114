"""The events of a capture: those of a pipe were kept, those of files are read again when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bdpcap import _core
from bdpcap.read import core_pass
from bdpcap.read.progress import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from bdpcap.capture import Flow
    from bdpcap.contents.streams import Streams
    from bdpcap.read.core_pass import Read
    from bdpcap.read.facts import CaptureInfo
    from bdpcap.read.scale import InferredScale

_ENDS: Final = ("sender", "receiver")

Taker: TypeAlias = "tuple[Flow, Callable[[dict[str, np.ndarray]], None], Sequence[str]]"
"""A flow, a function that takes the core's columns of its next events, and the names of those that it needs."""


class EventReader:
    """Reads the events of chosen streams; `watched` shows a bar while it reads."""

    def __init__(
        self,
        streams: Streams,
        info: CaptureInfo,
        sources: list[Read],
        *,
        expression: str | None,
        scales: list[InferredScale],
        kept: dict[str, np.ndarray] | None,
        watched: bool,
    ) -> None:
        self._streams = streams
        self._info = info
        self._sources = sources
        self._filter = expression
        self._scales = scales
        self._kept = kept
        self._watched = watched
        self._loaded: dict[int, pd.DataFrame] = {}

    def all(self) -> pd.DataFrame:
        """Return all events, as a table of `bdpcap.tables.EVENTS`."""
        return self._table(self._read(None) if self._kept is None else self._kept)

    def load(self, streams: Sequence[int]) -> None:
        """Read the events of several streams in one pass, and keep them for `of`."""
        missing = [stream for stream in streams if stream not in self._loaded]
        if not missing:
            return
        if self._kept is None:
            columns = self._read(missing)
        else:
            chosen = np.isin(self._kept["stream"], missing)
            columns = {name: values[chosen] for name, values in self._kept.items()}
        table = self._table(columns)
        for stream in missing:
            self._loaded[stream] = table[table["stream"] == stream].reset_index(drop=True)

    def of(self, stream: int) -> pd.DataFrame:
        """Return the events of both directions of a stream."""
        self.load([stream])
        return self._loaded[stream]

    def between(self, stream: int, sender: str, start: float, end: float) -> pd.DataFrame:
        """Return the events of one flow between two times in seconds since the capture's first frame."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        found = []
        for columns in self.columns([stream]):
            seconds = (columns["time_ns"] - (self._info.first_ns or 0)) / 1e9
            chosen = (columns["stream"] == stream) & (seconds >= start) & (seconds <= end)
            table = self._table({name: values[chosen] for name, values in columns.items()})
            found.append(table[table["sender"] == sender])
            if len(seconds) and seconds[-1] > end and not self._info.time_backwards:
                break
        return pd.concat([table for table in found if len(table)] or found[:1], ignore_index=True)

    def columns(
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
        core = self._opened(streams)
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

    def give(self, takers: Sequence[Taker]) -> None:
        """Read the events of flows in one pass, and give them to functions in pieces; none of them is kept."""
        names = sorted({"stream", "direction", *(name for _, _, own in takers for name in own)})
        rows = [2 * flow.stream + (not flow.is_from_client) for flow, _, _ in takers]
        for columns in self.columns([flow.stream for flow, _, _ in takers], names):
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

    def _table(self, columns: dict[str, np.ndarray]) -> pd.DataFrame:
        return core_pass.events(columns, self._streams.directions(*_ENDS))

    def _read(self, streams: Sequence[int] | None) -> dict[str, np.ndarray]:
        core = self._opened(streams)
        return core_pass.joined([core.take_events() for _ in self._steps(core, streams)])

    def _steps(self, core: _core.Analysis, streams: Sequence[int] | None) -> Iterator[None]:
        """Read the capture again step by step, up to the last packet of `streams`; to the end if `streams` is None."""
        last_frame = None
        if streams is not None:
            last_frames = self._streams.directions("last_frame")["last_frame"][::2]
            last_frame = int(last_frames[np.isin(np.arange(len(last_frames)), streams)].max(initial=0))
        with shown(wanted=self._watched) as bar:
            yield from core_pass.steps(core, self._sources, bar, events=True, last_frame=last_frame)

    def _opened(self, streams: Sequence[int] | None) -> _core.Analysis:
        """Return a second pass over the capture, which makes events."""
        if not core_pass.is_lasting(self._sources):
            raise _core.CaptureError("events of a pipe were not kept: analyze it without summarize")
        return core_pass.opened(
            self._sources, self._filter, events=True, rounds=False, streams=streams, scales=self._scales
        )
