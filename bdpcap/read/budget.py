"""What an analysis may take: limits on what is followed and kept, and what was left out beyond them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Final

from bdpcap import _core

__all__ = ["CONNECTION_BYTES", "ROW_BYTES", "Limits"]

CONNECTION_BYTES: Final = 2_000
"""What a budget counts for a connection: a lone SYN takes a tenth of it, a short transfer with its rounds half once it
has ended, one of up to sixteen segments most of it, and a longer one five times as much while it lasts."""
ROW_BYTES: Final = 250
"""What a budget counts for a row that is kept: of a pipe's events, of requests with their responses, of rounds."""
BASE_BYTES: Final = 150 << 20
"""What Python and its libraries take, whatever the capture."""


@dataclass(frozen=True)
class Limits:
    """Limits of an analysis. What lies beyond one is left out and counted, and the caveats say so."""

    connections: int = _core.LIMITS["connections"]
    """TCP connections that are followed; some 37,000 more may begin until that is noticed."""
    rows: int = _core.LIMITS["rows"]
    """Rows that are kept: events of a pipe, requests and responses, and of each flow rounds."""
    ranges: int = _core.LIMITS["ranges"]
    """Ranges in each set of a flow, as its SACK scoreboard and its holes; beyond it the lowest two become one."""
    headers: int = _core.LIMITS["headers"]
    """Headers of a frame, tunnels and tags among them, down to the segment; beyond it the frame is not decoded."""
    ratio: int = _core.LIMITS["ratio"]
    """How often the bytes of a compressed capture may be multiplied; beyond it the capture counts as damaged."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise ValueError(f"the limit {name} must be at least 1, not {value}")

    def within(self, memory_bytes: int | None) -> Limits:
        """Return limits that keep an analysis within so much memory; the same ones where None.

        Half of what Python leaves is for connections, half for rows. Many large connections at the same time may take
        more.
        """
        if memory_bytes is None:
            return self
        half = (memory_bytes - BASE_BYTES) // 2
        if half < CONNECTION_BYTES:
            raise ValueError(
                f"memory_bytes must be above {BASE_BYTES + 2 * CONNECTION_BYTES:,}, not {memory_bytes:,}"
            )
        return replace(
            self,
            connections=min(self.connections, half // CONNECTION_BYTES),
            rows=min(self.rows, half // ROW_BYTES),
        )

    def changed(self, assignments: list[str]) -> Limits:
        """Return these limits with some changed, each as ``NAME=VALUE``.

        Raises
        ------
        ValueError
            There is no such limit, or the value is no number above 0.
        """
        names = [field.name for field in fields(self)]
        values = {}
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            if name not in names:
                raise ValueError(f"no limit {name!r}: there are {', '.join(names)}")
            if not value.isdecimal():
                raise ValueError(f"the limit {name} takes a whole number, as {name}={getattr(self, name)}")
            values[name] = int(value)
        return replace(self, **values)
