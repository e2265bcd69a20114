"""Limits on the connections that an analysis follows and on the memory that it takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral
from typing import Final

from bdpcap import _core
from bdpcap.errors import ArgumentError, is_count, wanted
from bdpcap.words import quantities

__all__ = ["CONNECTION_BYTES", "MEMORY", "ROW_BYTES", "Budget"]

CONNECTION_BYTES: Final = 2_000
"""Bytes that a budget counts for a connection.

A lone SYN takes a tenth of this, and a short transfer with its rounds half of it once it has ended. A connection of up
to sixteen segments takes most of it, a longer one five times as much while it lasts.
"""
ROW_BYTES: Final = 250
"""Bytes that a budget counts for a row that is kept: an event of a pipe, a request or response, or a round."""
BASE_BYTES: Final = 150 << 20
"""Bytes that Python and its libraries take, independent of the capture."""
MEMORY: Final = "memory"
"""Name under which users give `Budget.within` its bytes."""


@dataclass(frozen=True)
class Budget:
    """Limits of an analysis. Data beyond a limit are left out and counted, and the caveats of the capture report them.

    Examples
    --------
    >>> small = bdpcap.analyze(
    ...     "sample_captures/linux61_advwinscale2_w50000.pcap.zst", budget=bdpcap.Budget(ranges=16)
    ... )
    >>> small.info.left_out
    {}
    """

    connections: int = _core.BUDGET["connections"]
    """Most TCP connections that are followed, and most UDP flows; some 37,000 more connections may begin before the limit
    takes effect."""
    rows: int = _core.BUDGET["rows"]
    """Most rows that are kept: events of a pipe, requests and responses, and rounds of each flow."""
    ranges: int = _core.BUDGET["ranges"]
    """Most ranges in each set of a flow, such as its SACK scoreboard; beyond the limit the lowest two become one."""
    headers: int = _core.BUDGET["headers"]
    """Most headers of a frame down to the segment, tunnels and tags included; a frame with more is not decoded."""
    ratio: int = _core.BUDGET["ratio"]
    """Largest compression ratio of a capture; beyond it the capture counts as damaged."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            such = "a whole number, one at least"
            wanted(f"{name} of the budget", value, such, fits=is_count(value))

    def within(self, memory_bytes: int | None) -> Budget:
        """Return limits that keep an analysis within `memory_bytes`; these limits unchanged if None.

        Of the memory beyond `BASE_BYTES`, half is for connections and half for rows. Many large connections at the same
        time may take more.

        Examples
        --------
        >>> bdpcap.Budget().within(1 << 30).connections
        229113
        """
        if memory_bytes is None:
            return self
        wanted("memory_bytes", memory_bytes, "a number of bytes", fits=isinstance(memory_bytes, Integral))
        half = (memory_bytes - BASE_BYTES) // 2
        if half < CONNECTION_BYTES:
            raise ArgumentError(
                f"memory of the budget must be above {BASE_BYTES + 2 * CONNECTION_BYTES:,} bytes, "
                f"not {memory_bytes:,}"
            )
        return replace(
            self,
            connections=min(self.connections, half // CONNECTION_BYTES),
            rows=min(self.rows, half // ROW_BYTES),
        )

    def changed(self, assignments: list[str]) -> Budget:
        """Return these limits with some changed, each as ``NAME=VALUE``; ``memory=250MB`` bounds them by `within`.

        Raises
        ------
        ArgumentError
            There is no such limit, or the value is not a whole number above 0, or not enough memory.

        Examples
        --------
        >>> bdpcap.Budget().changed(["rows=1000", "ranges=16"]).rows
        1000
        """
        names = [*(field.name for field in fields(self)), MEMORY]
        values, memory_bytes = {}, None
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            if name not in names:
                raise ArgumentError(f"the budget has no {name!r}: there are {', '.join(names)}")
            if name == MEMORY:
                memory_bytes = int(quantities.size(value))
                continue
            if not value.isdecimal():
                raise ArgumentError(
                    f"{name} of the budget takes a whole number, as {name}={getattr(self, name)}"
                )
            values[name] = int(value)
        return replace(self, **values).within(memory_bytes)
