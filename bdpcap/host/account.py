"""Samples of a host's kernel counters as a table, and the samples of one flow."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import tables
from bdpcap.errors import ArgumentError, CaptureError, of_flow, wanted
from bdpcap.host import ss, tcp_info
from bdpcap.host.rounds import around
from bdpcap.tables import frames
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from bdpcap.capture import Capture, Flow
    from bdpcap.host.sample import Reading, Sample
    from bdpcap.limits.rounds import Rounds
    from bdpcap.read.anonymize import Pseudonyms

Log = str | os.PathLike[str]
Logs = Log | Iterable[Log]
"""The path of a log, or the paths of several."""
_ONE: Final = (str, bytes, os.PathLike)
"""Types of a single path, bytes for a clear refusal."""
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
    """Kernel counters of a host's connections, sampled over time.

    Examples
    --------
    >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
    >>> counters.samples[["sender", "cwnd_segments"]].head(1)
                  sender  cwnd_segments
    0  192.168.1.3:43970             10
    """

    samples: pd.DataFrame
    """Table with the columns of `bdpcap.tables.HOST`, ordered by time."""
    unread: tuple[Unread, ...] = ()

    def doubts(self, capture: Capture) -> list[str]:
        """Return sentences on lines and samples that could not be used; empty if there are none.

        Examples
        --------
        >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
        >>> counters.doubts(capture)
        ['154 samples of connections that the capture does not hold.']
        """
        lives: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        connections = capture.connections
        for client, server, start, end in zip(
            *(connections[name] for name in ("client", "server", "start_ns", "end_ns")), strict=True
        ):
            for pair in ((client, server), (server, client)):
                lives[pair].append((int(start) - APART_NS, int(end) + APART_NS))
        elsewhere = outside = 0
        for sender, receiver, time in zip(
            *(self.samples[name] for name in ("sender", "receiver", "time_ns")), strict=True
        ):
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
        """Return the samples of a flow: its sender and receiver, within `APART_NS` of its first and last packet.

        Examples
        --------
        >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
        >>> flow = bdpcap.analyze("tests/data/host/sender.pcap.zst", host=counters)[0]
        >>> len(counters.of(flow))
        154
        """
        of_flow(flow)
        return self._of(
            flow.sender, flow.receiver, int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
        )

    def _counters(self, flows: dict[str, Any], rounds: Rounds) -> dict[str, Any]:
        """Return the quantities of `bdpcap.limits.evidence.Kernel` by name, a value per round; NaN without samples.

        `flows` has the names and times of the rounds' flows, with the columns of `bdpcap.tables.FLOWS`.
        """
        start, end = (rounds.columns[name].astype(np.int64) for name in ("start_ns", "end_ns"))
        edges = np.append(rounds.starts, rounds.size)
        pieces = [around(self.samples.iloc[:0], start[:0], end[:0])]
        for first, past in pairwise(edges.tolist()):
            flow = rounds.flow[first]
            ends = (flows[name][flow] for name in ("sender", "receiver", "start_ns", "end_ns"))
            pieces.append(around(self._of(*ends), start[first:past], end[first:past]))
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}

    def named(self, pseudonyms: Pseudonyms) -> Account:
        """Return the account with pseudonyms for the addresses of its samples.

        Examples
        --------
        >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
        >>> counters.named(bdpcap.Pseudonyms()).samples["sender"].iloc[0]
        '240.0.0.1:43970'
        """
        ends = {name: self.samples[name].map(pseudonyms.endpoint) for name in ("sender", "receiver")}
        return replace(self, samples=self.samples.assign(**ends))

    def _of(self, sender: str, receiver: str, start_ns: int, end_ns: int) -> pd.DataFrame:
        """Return the samples of a connection that lived from `start_ns` to `end_ns`."""
        own = self._by_ends.get((sender, receiver), self.samples.iloc[:0])
        return own[own["time_ns"].between(int(start_ns) - APART_NS, int(end_ns) + APART_NS)]

    @cached_property
    def _by_ends(self) -> dict[Any, pd.DataFrame]:
        """Samples by sender and receiver."""
        return dict(iter(self.samples.groupby(["sender", "receiver"], sort=False)))


def samples_of(flow: Flow) -> pd.DataFrame:
    """Return a flow's samples, a table with the columns of `bdpcap.tables.HOST`; empty where no account was given.

    Examples
    --------
    >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
    >>> flow = bdpcap.analyze("tests/data/host/sender.pcap.zst", host=counters)[0]
    >>> len(bdpcap.host.samples_of(flow))
    154
    """
    of_flow(flow)
    if flow.capture.host is None:
        return frames.frame(tables.HOST, dict.fromkeys(tables.HOST, ()))
    return flow.capture.host.of(flow)


def read(ss_logs: Logs = (), tcp_info_logs: Logs = ()) -> Account:
    """
    Read the logs of a host.

    Parameters
    ----------
    ss_logs
        Path, or paths, of logs of ``ss -tin`` with times, see `bdpcap.host.ss`.
    tcp_info_logs
        Path, or paths, of logs of ``TCP_INFO`` as JSON lines, see `bdpcap.host.tcp_info`.

    Raises
    ------
    CaptureError
        A log cannot be read.
    ArgumentError
        A log contains no sample, or is no path.

    Examples
    --------
    >>> counters = bdpcap.host.read("tests/data/host/ss.log")
    >>> len(counters.samples)
    29
    """
    samples: list[Sample] = []
    unread = []
    for logs, reader in ((ss_logs, ss.read), (tcp_info_logs, tcp_info.read)):
        for path in [logs] if isinstance(logs, _ONE) or not isinstance(logs, Iterable) else logs:
            reading = _read(path, reader)
            if not reading.samples:
                raise ArgumentError(f"{path} holds no sample with time, addresses and numbers")
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


def _read(path: Log, reader: Callable[[Iterator[str]], Reading]) -> Reading:
    wanted("the log", path, "a path, such as 'ss.log'", fits=isinstance(path, (str, os.PathLike)))
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return reader(iter(file))
    except OSError as error:
        raise CaptureError(
            f"{path}: cannot be read: {error.strerror}; name a log of ss or of TCP_INFO"
        ) from None
