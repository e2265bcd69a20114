"""The systems and programs at the ends of a capture's streams."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bdpcap import hosts
from bdpcap.hosts import columns as host_columns
from bdpcap.words.endpoints import host, port

if TYPE_CHECKING:
    from bdpcap import _core
    from bdpcap.contents.streams import Streams


class Systems:
    """Systems by the SYNs of their hosts, and programs by a cookie or a port."""

    def __init__(self, core: _core.Analysis, streams: Streams) -> None:
        self._core = core
        self._streams = streams

    @cached_property
    def by_host(self) -> dict[str, set[hosts.System | None]]:
        """The systems of each host of a connection with payload, by address; None is an unknown one."""
        found: dict[str, set[hosts.System | None]] = {}
        for columns in self._streams.blocks(("carried", "sender", *host_columns.NEEDED)):
            carried = np.flatnonzero(columns["carried"])
            rows = np.union1d(carried, carried ^ 1)
            systems = host_columns.systems_of(columns, rows)
            for row, system in zip(rows.tolist(), systems, strict=True):
                found.setdefault(host(columns["sender"][row]), set()).add(system)
        return found

    def of(self, stream: int) -> tuple[hosts.System | None, hosts.System | None]:
        """Return the systems of a stream's client and server by their SYNs; None where unknown."""
        syn, answer = self.syns_of(stream)
        client = None if syn is None else hosts.system_of(syn)
        return client, None if answer is None else hosts.system_of(answer, syn, is_answer=True)

    def syns_of(self, stream: int) -> tuple[hosts.Syn | None, hosts.Syn | None]:
        """Return a stream's SYN and SYN-ACK as they show their senders; None where not captured."""
        client, server = host_columns.syns(self._core.directions(stream, 1, host_columns.NEEDED))
        return client, server

    def program_of(self, stream: int) -> hosts.Program | None:
        """Return the program of a stream, by a cookie of iperf3 or by a well-known port; None where unknown."""
        client, server = self._core.directions(stream, 1, ("sender",))["sender"]
        life = self._core.connections(stream, 1)
        return hosts.program_of(
            port(client),
            port(server),
            has_cookie=bool(life["iperf3_cookie"][0]),
            has_syn=bool(life["syns"][0] + life["syn_acks"][0]),
        )
