"""What segments meant to their flows, on the way out of the core: as a table, or as cells."""

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
"""The core's columns that the table is made of."""


@dataclass(frozen=True)
class Events:
    """Some events, in the order of the capture."""

    columns: dict[str, np.ndarray]
    """Those that `NAMES` lists, and any others."""
    ends: Mapping[str, Sequence[str]]
    """``sender`` and ``receiver``, two entries a stream."""
    first_ns: int | None = None
    """Time of the capture's first frame."""

    @classmethod
    def none(cls) -> Events:
        """Return events of a capture that has none."""
        return cls({name: np.zeros(0, np.int64) for name in NAMES}, {side: [] for side in _SIDES})

    def per_segment(self) -> Events:
        """Leave out the acknowledgments that data carry along: the rows of a frame lie side by side."""
        sent = self.columns["sequence"] != _core.NULL
        firsts = np.flatnonzero(np.diff(self.columns["frame"].astype(np.int64), prepend=-1))
        rows = np.diff(firsts, append=len(sent))
        if not len(sent) or rows.max() == 1:
            return self
        kept = sent | ~np.repeat(np.logical_or.reduceat(sent, firsts), rows)
        return replace(self, columns={name: values[kept] for name, values in self.columns.items()})

    @property
    def _row(self) -> NDArray[np.int64]:
        """Which of `ends` each event has."""
        row: NDArray[np.int64] = 2 * self.columns["stream"].astype(np.int64) + self.columns["direction"]
        return row

    def frame(self) -> pd.DataFrame:
        """Return a table as `bdpcap.tables.EVENTS`; its ``attrs`` have ``first_ns``."""
        names = {side: np.asarray(self.ends[side], dtype=object)[self._row] for side in _SIDES}
        kinds = np.asarray(_core.KINDS, dtype=object)[self.columns["kind"]]
        causes = np.asarray([name or None for name in _core.CAUSES], dtype=object)[self.columns["cause"]]
        table = frames.frame(schema.EVENTS, {**self.columns, **names, "kind": kinds, "cause": causes})
        table.attrs["first_ns"] = self.first_ns
        return table

    def cells(self) -> cells.Columns:
        """Return the same table as cells."""
        row = self._row
        first = int(row.min(initial=0))
        seen = np.bincount(row - first) > 0
        place = (np.cumsum(seen) - 1)[row - first]
        rows = (np.flatnonzero(seen) + first).tolist()
        made: dict[str, Any] = {
            side: (place, [self.ends[side][row] for row in rows] if len(row) else []) for side in _SIDES
        }
        made["kind"] = self.columns["kind"].astype(np.int64), _core.KINDS
        # The first cause is none.
        made["cause"] = self.columns["cause"].astype(np.int64) - 1, _core.CAUSES[1:]
        return {name: made.get(name) or cells.whole(self.columns[name]) for name in schema.EVENTS}
