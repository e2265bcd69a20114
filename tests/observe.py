"""What the core makes of packets, as rows that tests can name: the columns behind the events table."""

from __future__ import annotations

import io
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from packets import pcap

import bdpcap
from bdpcap import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packets import Address, Packet


def run(*sources: object) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Run the core over captures read as one; give the columns of events and of directions."""
    core = _core.Analysis(list(sources), events=True)
    batches = []
    more = True
    while more:
        more = core.advance(100_000)
        batches.append(core.take_events())
    events = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    directions = core.directions()
    row = 2 * events["stream"].astype(np.int64) + events["direction"]
    for side in ("sender", "receiver"):
        events[side] = np.asarray(directions[side], dtype=object)[row]
    events["kind"] = np.asarray(_core.KINDS, dtype=object)[events["kind"]]
    return events, directions


@dataclass(frozen=True)
class Observation:
    """Event rows of a capture; a missing value is None."""

    rows: list[SimpleNamespace]
    directions: list[SimpleNamespace]
    packets: list[Packet]

    def sent(self, sender: Address) -> list[SimpleNamespace]:
        """Rows of what the flow from `sender` carried."""
        return [row for row in self.rows if row.sender == str(sender) and row.length is not None]

    def acks(self, sender: Address) -> list[SimpleNamespace]:
        """Rows of what acknowledged the flow from `sender`."""
        return [row for row in self.rows if row.sender == str(sender) and row.length is None]

    def frame(self, number: int) -> list[SimpleNamespace]:
        return [row for row in self.rows if row.frame == number]

    @property
    def capture(self) -> bdpcap.Capture:
        return bdpcap.analyze(io.BytesIO(pcap(self.packets)))


def observe(packets: Iterable[Packet]) -> Observation:
    packets = list(packets)
    events, directions = run(io.BytesIO(pcap(packets)))
    return Observation(records(events), records(directions), packets)


def records(table: dict[str, np.ndarray]) -> list[SimpleNamespace]:
    lists = [
        [None if value == _core.NULL else value for value in np.asarray(column).tolist()]
        for column in table.values()
    ]
    return [SimpleNamespace(**dict(zip(table, values, strict=True))) for values in zip(*lists, strict=True)]
