"""The rounds of a capture with their limits: all, in pieces, or those of a few streams."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bdpcap import tables
from bdpcap.limits import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.limits import Classification
    from bdpcap.limits.evidence import Evidence
    from bdpcap.read.whole import PerRound
    from bdpcap.tables import cells


class Verdicts:
    """The tables of flows and rounds. To classify all rounds of a large capture takes much time and memory."""

    def __init__(self, classification: Classification) -> None:
        self._classification = classification
        self._loaded: dict[int, tuple[pd.DataFrame, np.ndarray]] = {}

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

        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        pieces = [
            (frames.of_cells(tables.FLOWS, piece), details) for piece, details in self._classification.flows()
        ]
        flows = pd.concat([table for table, _ in pieces], ignore_index=True)
        names = np.array([*KINDS, None], dtype=object)  # index -1, which means no detail, gives None
        return frames.described(flows, tables.FLOWS), names[np.concatenate([places for _, places in pieces])]

    @cached_property
    def rtts(self) -> pd.DataFrame:
        """The rounds of all flows, as a table of `bdpcap.tables.RTTS`."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        pieces = [frames.of_cells(tables.RTTS, piece) for piece in self.rtt_cells()]
        return frames.described(pd.concat(pieces, ignore_index=True), tables.RTTS)

    def flow_cells(self) -> Iterator[cells.Columns]:
        """Yield the table of flows as cells, in pieces, at least one; none of them is kept."""
        return (piece for piece, _ in self._classification.flows())

    def rtt_cells(self) -> Iterator[cells.Columns]:
        """Yield the table of rounds as cells, in pieces, at least one; none of them is kept."""
        return self._classification.rtts()

    @property
    def gathered(self) -> tuple[Evidence, dict[str, np.ndarray]]:
        """The evidence that the rules read, and the core's columns about the flows of its rounds."""
        return self._classification.gathered

    @cached_property
    def hidden(self) -> tuple[NDArray[np.int64], ...]:
        """The columns `bdpcap.limits.HIDDEN` of every row of `rtts`."""
        return self._classification.hidden()

    def load(self, streams: Iterable[int]) -> None:
        """Classify the rounds of several streams in one call, and keep them for `of`."""
        missing = sorted({*streams} - self._loaded.keys())
        if not missing:
            return
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        if self._classification.few or "rtts" in vars(self):
            table, hidden = self.rtts, self.hidden
        else:
            columns, hidden = self._classification.rounds_of(missing)
            table = frames.described(frames.of_cells(tables.RTTS, columns), tables.RTTS)
        of_stream = table["stream"].to_numpy()
        first, end = (of_stream.searchsorted(missing, side) for side in ("left", "right"))
        for stream, own in zip(missing, map(slice, first, end), strict=True):
            self._loaded[stream] = table.iloc[own], np.stack([of[own] for of in hidden], axis=1)

    @contextmanager
    def loaded(self, streams: Iterable[int]) -> Iterator[None]:
        """Load the rounds of several streams as `load` does, and forget them at the end."""
        before = set(self._loaded)
        self.load(streams)
        try:
            yield
        finally:
            for stream in self._loaded.keys() - before:
                del self._loaded[stream]

    def of(self, stream: int) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the rows of `rtts` of both directions of a stream, and the columns `bdpcap.limits.HIDDEN` of each."""
        self.load([stream])
        return self._loaded[stream]

    def cross_traffic(self, stream: int) -> PerRound:
        """Return the bytes that other flows of the path delivered during each round of both directions of a stream."""
        return self._classification.cross_traffic(stream)
