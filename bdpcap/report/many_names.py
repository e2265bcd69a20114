"""Names of hosts and ports of millions of connections: how many differ, and the first of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["NAMED", "Names"]

NAMED: Final = 3
"""Maximum number of ports, and of servers, that a sentence names; of more, it gives the number."""


@dataclass
class Names:
    """The number of different names. Only the first names are kept, and a hash of each."""

    first: list[str] = field(default_factory=list)
    _hashes: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, names: NDArray[np.object_], hashes_: NDArray[np.int64]) -> NDArray[np.object_]:
        """Add names, each with its hash; return those that differ."""
        first = np.flatnonzero(~pd.Series(hashes_).duplicated().to_numpy())
        different = names[first]
        self._keep(different[:NAMED])
        self._hashes.append(hashes_[first])
        return different

    def join(self, others: Names) -> None:
        """Add other names."""
        self._keep(others.first)
        self._hashes += others._hashes

    def _keep(self, names: Iterable[str]) -> None:
        self.first = list(dict.fromkeys([*self.first, *names]))[:NAMED]

    @property
    def one(self) -> str:
        """The first name; empty before it."""
        return self.first[0] if self.first else ""

    def __len__(self) -> int:
        return len(self.hashes())

    def hashes(self) -> NDArray[np.int64]:
        """Return a hash of each name."""
        if len(self._hashes) != 1:
            self._hashes = [pd.unique(np.concatenate([np.zeros(0, dtype=np.int64), *self._hashes]))]
        return self._hashes[0]

    def text(self, noun: str) -> str:
        """Return the only name, or the number of names."""
        count = len(self)
        return self.one if count == 1 else units.number(count, noun)
