"""Samples of a host's kernel counters as a table, and the samples of one flow."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap import tables
from bdpcap.host import ss, tcp_info
from bdpcap.tables import frames
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from bdpcap.capture import Capture, Flow
    from bdpcap.host.sample import Reading, Sample

APART_NS: Final = 1_000_000_000
"""Largest time between a sample and its flow's packets: the clocks of host and capture may differ."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Lines of a file that could not be parsed: their count, and the line number of the first."""

    file: str
    lines: int
    first: int

    def __str__(self) -> str:
        return f"{self.file}: {units.number(self.lines, 'line')} not understood, the first is line {self.first:,}"


@dataclass(frozen=True)
class Account:
    """Kernel counters of a host's connections, sampled over time."""

    samples: pd.DataFrame
    """Table with the columns of `bdpcap.tables.HOST`, ordered by time."""
    unread: tuple[Unread, ...] = ()

    def doubts(self, capture: Capture) -> list[str]:
        """Return sentences on lines and samples that could not be used; empty if there are none."""
        lives: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        connections = capture.connections
        for client, server, start, end in zip(
            *(connections[name] for name in ("client", "server", "start_ns", "end_ns")), strict=True
        ):
            for pair in ((client, server), (server, client)):
                lives[pair].append((int(start) - APART_NS, int(end) + APART_NS))
        elsewhere = outside = 0
        for sender, receiver, time in zip(*self._ends(capture), self.samples["time_ns"], strict=True):
            known = lives.get((sender, receiver))
            elsewhere += known is None
            outside += known is not None and not any(start <= time <= end for start, end in known)
        said = []
        if self.unread:
            lines = units.number(sum(one.lines for one in self.unread), "line")
            said.append(f"{lines} of the host's logs not understood.")
        if elsewhere:
            said.append(f"{units.number(elsewhere, 'sample')} of connections that the capture does not hold.")
        if outside:
            said.append(
                f"{units.number(outside, 'sample')} from before or after the connection's packets: the clocks of host "
                "and capture differ, or the ports were used again."
            )
        return said

    def of(self, flow: Flow) -> pd.DataFrame:
        """Return the samples of a flow: its sender and receiver, within `APART_NS` of its first and last packet."""
        start, end = int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
        lived = self.samples["time_ns"].between(start - APART_NS, end + APART_NS)
        sender, receiver = self._ends(flow.capture)
        return self.samples[lived & (sender == flow.sender) & (receiver == flow.receiver)]

    def _ends(self, capture: Capture) -> tuple[pd.Series[str], pd.Series[str]]:
        """Return the sender and the receiver of every sample under the names that the capture's tables use."""
        sender, receiver = self.samples["sender"], self.samples["receiver"]
        if capture.pseudonyms is None:
            return sender, receiver
        named = {end: capture.pseudonyms.endpoint(end) for end in {*sender, *receiver}}
        return sender.map(named), receiver.map(named)


def samples_of(flow: Flow) -> pd.DataFrame:
    """Return a flow's samples, a table with the columns of `bdpcap.tables.HOST`; empty where no account was given."""
    if flow.capture.host is None:
        return frames.frame(tables.HOST, dict.fromkeys(tables.HOST, ()))
    return flow.capture.host.of(flow)


def read(ss_logs: Sequence[Path] = (), tcp_info_logs: Sequence[Path] = ()) -> Account:
    """
    Read the logs of a host.

    Parameters
    ----------
    ss_logs
        Logs of ``ss -tin`` with times, see `bdpcap.host.ss`.
    tcp_info_logs
        Logs of ``TCP_INFO`` as JSON lines, see `bdpcap.host.tcp_info`.

    Raises
    ------
    OSError
        A file cannot be read.
    ValueError
        A file contains no sample.
    """
    samples: list[Sample] = []
    unread = []
    for paths, reader in ((ss_logs, ss.read), (tcp_info_logs, tcp_info.read)):
        for path in paths:
            reading = _read(path, reader)
            if not reading.samples:
                raise ValueError(f"{path} holds no sample with time, addresses and numbers")
            samples += reading.samples
            if reading.unread:
                unread.append(Unread(str(path), len(reading.unread), reading.unread[0]))
    samples.sort(key=lambda sample: sample.time_ns)
    columns: dict[str, list[object]] = {
        "time_ns": [sample.time_ns for sample in samples],
        "sender": [sample.sender for sample in samples],
        "receiver": [sample.receiver for sample in samples],
    }
    for name in tables.HOST:
        columns.setdefault(name, [sample.said.get(name) for sample in samples])
    return Account(frames.frame(tables.HOST, columns), tuple(unread))


def _read(path: Path, reader: Callable[[Iterator[str]], Reading]) -> Reading:
    with path.open(encoding="utf-8", errors="replace") as file:
        return reader(iter(file))
