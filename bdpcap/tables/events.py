"""Events, which describe each segment's meaning for its flow, as a table or as cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.tables import cells, frames, schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["NAMES", "Events"]

_SIDES: Final = ("sender", "receiver")
NAMES: Final = (*(name for name in schema.EVENTS if name not in _SIDES), "direction")
"""The core's columns that the table needs."""


@dataclass(frozen=True)
class Events:
    """Events in the order of the capture."""

    columns: dict[str, np.ndarray]
    """The core's columns: those in `NAMES`, and possibly others."""
    ends: Mapping[str, Sequence[str]]
    """``sender`` and ``receiver`` of every direction: two entries for each stream."""
    first_ns: int | None = None
    """Time of the capture's first frame."""

    @classmethod
    def none(cls) -> Events:
        """Return an empty set of events."""
        return cls({name: np.zeros(0, np.int64) for name in NAMES}, {side: [] for side in _SIDES})

    def per_segment(self) -> Events:
        """Return the events without the acknowledgments that data segments carry. Rows of one frame are adjacent."""
        sent = self.columns["sequence"] != _core.NULL
        firsts = np.flatnonzero(np.diff(self.columns["frame"].astype(np.int64), prepend=-1))
        rows = np.diff(firsts, append=len(sent))
        if not len(sent) or rows.max() == 1:
            return self
        kept = sent | ~np.repeat(np.logical_or.reduceat(sent, firsts), rows)
        return replace(self, columns={name: values[kept] for name, values in self.columns.items()})

    @property
    def _row(self) -> NDArray[np.int64]:
        """Index of each event's direction in the lists of `ends`."""
        row: NDArray[np.int64] = 2 * self.columns["stream"].astype(np.int64) + self.columns["direction"]
        return row

    def frame(self) -> pd.DataFrame:
        """Return the events as a table of `bdpcap.tables.EVENTS`, with ``first_ns`` in its ``attrs``."""
        names = {side: np.asarray(self.ends[side], dtype=object)[self._row] for side in _SIDES}
        kinds = np.asarray(_core.KINDS, dtype=object)[self.columns["kind"]]
        causes = np.asarray([name or None for name in _core.CAUSES], dtype=object)[self.columns["cause"]]
        table = frames.frame(schema.EVENTS, {**self.columns, **names, "kind": kinds, "cause": causes})
        table.attrs["first_ns"] = self.first_ns
        return table

    def cells(self) -> cells.Columns:
        """Return the events as cells of `bdpcap.tables.EVENTS`."""
        row = self._row
        first = int(row.min(initial=0))
        seen = np.bincount(row - first) > 0
        place = (np.cumsum(seen) - 1)[row - first]
        rows = (np.flatnonzero(seen) + first).tolist()
        made: dict[str, Any] = {
            side: (place, [self.ends[side][row] for row in rows] if len(row) else []) for side in _SIDES
        }
        made["kind"] = self.columns["kind"].astype(np.int64), _core.KINDS
        # The first name in CAUSES is empty and means absent.
        made["cause"] = self.columns["cause"].astype(np.int64) - 1, _core.CAUSES[1:]
        return {name: made.get(name) or cells.whole(self.columns[name]) for name in schema.EVENTS}
