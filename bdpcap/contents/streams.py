"""The streams of a finished pass as the core's columns: two rows for each, the client's first."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.read import core_pass
from bdpcap.read.quality import acknowledgments_missing
from bdpcap.tables import connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from bdpcap.read.anonymize import Pseudonyms

_OF_CARRIERS: Final = (
    "stream", "direction", "payload_bytes", "largest_bytes", "mss_bytes", "announced_mss_bytes",
    "handshake", "window_scale_source", "acks",
)  # fmt: skip
"""Columns in `Streams.carriers`, which show how far a capture can be trusted."""

FIN_SEEN: Final = 16
"""Value of a FIN in ``completeness`` of connections, as in Wireshark's tcp.completeness."""


class Streams:
    """Columns about both directions of every stream. Each call builds them again, since all of many take much memory."""

    def __init__(self, core: _core.Analysis, least_tick_ns: int, pseudonyms: Pseudonyms | None) -> None:
        """Take the pass, and the tick of the clock in a capture of which this is an excerpt, 0 for none."""
        self._core = core
        self._least_tick_ns = least_tick_ns
        self._pseudonyms = pseudonyms

    def named(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return the core's columns with the capture's clock, and with pseudonyms if there are any."""
        if "tick_ns" in columns:
            columns["tick_ns"] = np.maximum(columns["tick_ns"], self._least_tick_ns)
        return core_pass.named(columns, self._pseudonyms)

    def directions(self, *names: str) -> dict[str, Any]:
        """Return the named columns about the directions of all streams."""
        return self.named(self._core.directions(names=list(names)))

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the named columns, `bdpcap.read.core_pass.STREAMS` streams at a time."""
        return core_pass.directions(self._core, self._pseudonyms, names)

    def sides(self, stream: int) -> dict[str, Any]:
        """Return all columns about both directions of a stream."""
        return self.named(self._core.directions(stream, 1))

    def counts_of(self, stream: int, sender: str) -> dict[str, Any]:
        """Return the core's counts of a direction by name; an absent number is None."""
        both = self.sides(stream)
        row = both["sender"].index(sender)
        values = {name: column[row] for name, column in both.items()}
        one = {name: np.asarray(column[row : row + 1]) for name, column in both.items()}
        values["acknowledgments_missing"] = bool(acknowledgments_missing(one)[0])
        return {
            name: None if isinstance(value, np.integer) and value == _core.NULL else value
            for name, value in values.items()
        }

    @cached_property
    def carriers(self) -> dict[str, np.ndarray]:
        """Columns about the directions that carried payload. No round has to be classified."""
        # A port scan has millions of directions without payload.
        found = self.where(lambda columns: columns["carried"], "carried", *_OF_CARRIERS)
        return {name: found[name] for name in _OF_CARRIERS}

    def opening_ns(self, stream: int) -> int:
        """Return the time from a stream's first SYN to the end of its handshake; 0 where that was not captured."""
        return max(0, int(self._core.connections(stream, 1)["opening_ns"][0]))

    def confirmed_in_vain(self, stream: int) -> int:
        """Return how often a stream's server sent its SYN-ACK again after its client had confirmed it."""
        return int(connections.confirmed_in_vain(self._core.connections(stream, 1))[0])

    def lifecycles(
        self, last_ns: int | None, *names: str
    ) -> Iterator[tuple[dict[str, np.ndarray], dict[str, Any]]]:
        """Yield how connections began and ended, without addresses, a block of streams at a time.

        With each block come the columns `names` about its directions, and ``end_ns``: two rows for each stream. `last_ns`
        is the time of the capture's last frame.
        """
        for first in range(0, self._core.streams, core_pass.STREAMS):
            columns = self._core.connections(first, core_pass.STREAMS)
            both = self._core.directions(first, core_pass.STREAMS, ("end_ns", *names))
            yield connections.with_timeouts(columns, both["end_ns"][::2], last_ns), both

    def with_changed_payload(self) -> Iterator[int]:
        """Yield the streams of which packets were captured again with a longer payload."""
        for first in range(0, self._core.streams, core_pass.STREAMS):
            lengthened = self._core.connections(first, core_pass.STREAMS)["lengthened"]
            yield from (first + np.flatnonzero(lengthened)).tolist()

    def ending(self, stream: int) -> tuple[bool, int | None]:
        """Return whether an end of a stream sent a FIN, and the direction whose end reset it, or None."""
        life = self._core.connections(stream, 1)
        reset = _core.ENDINGS[int(life["ended"][0])] == "rst"
        return bool(life["completeness"][0] & FIN_SEEN), int(life["ended_by"][0]) if reset else None

    def closed_by_server(self, stream: int) -> bool:
        """Return whether the server of a stream sent the first FIN."""
        return int(self._core.connections(stream, 1)["closed_by"][0]) == 1

    def asks_proxy(self, stream: int) -> bool:
        """Return whether the client of a stream sent requests to a proxy, as its HTTP/1 in clear text shows."""
        return bool(self._core.connections(stream, 1)["asks_proxy"][0])

    def endpoints(self, rows: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the senders of some directions, whose rows in `directions` are given in ascending order."""
        return self.at(rows, "sender")["sender"].astype(object)

    def at(self, rows: NDArray[np.int64], *names: str) -> dict[str, NDArray[Any]]:
        """Return the named columns about some directions, whose rows in `directions` are given in ascending order.

        Columns of all directions of many streams would take much memory, so a block of streams is read at a time.
        """
        size = 2 * core_pass.STREAMS
        found = [{name: np.zeros(0, np.int64) for name in names}]
        for own in np.split(rows, np.flatnonzero(np.diff(rows // size)) + 1):
            if len(own):
                block = int(own[0]) // size
                columns = self.named(
                    self._core.directions(block * core_pass.STREAMS, core_pass.STREAMS, names)
                )
                found.append({name: _array(columns[name])[own - block * size] for name in names})
        return core_pass.joined(found[1:] or found)

    def where(
        self, holds: Callable[[dict[str, Any]], NDArray[np.bool_]], *names: str
    ) -> dict[str, NDArray[Any]]:
        """Return the named columns about the directions for which `holds` is true, and their ``row`` in `directions`.

        `holds` takes the columns of a block of streams, and returns a boolean array.
        """
        found, first = [{name: np.zeros(0, np.int64) for name in ("row", *names)}], 0
        for columns in self.blocks(names):
            own = np.flatnonzero(holds(columns))
            if len(own):
                found.append({"row": own + first} | {name: _array(columns[name])[own] for name in names})
            first += 2 * core_pass.STREAMS
        return core_pass.joined(found[1:] or found)


def _array(column: Any) -> NDArray[Any]:
    """Return a column as an array; texts are objects."""
    return np.array(column, dtype=object) if isinstance(column, list) else np.asarray(column)
