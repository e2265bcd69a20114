"""A capture that was read: its flows, tables, figures and reports."""

from __future__ import annotations

import io
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, get_args, overload

import numpy as np

from bdpcap.capture.flow import Flow
from bdpcap.errors import ArgumentError, NotFoundError, is_count, wanted
from bdpcap.read.in_process import InProcess
from bdpcap.words import units
from bdpcap.words.endpoints import host as host_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from bdpcap.contents import Contents
    from bdpcap.host import Account
    from bdpcap.plots import Kind
    from bdpcap.read.facts import CaptureInfo, Damage, Fingerprint
    from bdpcap.read.quality import Flaw
    from bdpcap.read.scale import InferredScale

__all__ = ["TABLES", "Capture", "Table"]

Table = Literal["flows", "rtts", "connections", "exchanges", "datagrams", "events"]
TABLES: Final[tuple[Table, ...]] = get_args(Table)


class Capture(InProcess):
    """An analysed capture: its flows, its rounds with their limits, its events, its report. Made by `analyze`.

    A round is the time of one round trip of a flow. Iteration, ``len`` and indexing work on the flows.

    Examples
    --------
    >>> capture = bdpcap.analyze("sample_captures/linux61_advwinscale2_w50000.pcap.zst")
    >>> len(capture)
    2
    >>> capture[0]
    <Flow 0: 192.168.1.3:54348 -> 192.168.1.34:5001, rwnd>
    """

    def __init__(self, contents: Contents, host: Account | None = None) -> None:
        self._contents = contents
        self._host = host

    @property
    def info(self) -> CaptureInfo:
        """The contents of the capture, and facts that show how far it can be trusted.

        Examples
        --------
        >>> capture.info.frames, capture.info.streams
        (8912, 1)
        """
        return self._contents.info

    @property
    def damages(self) -> list[Damage]:
        """The places where its files broke, and the captures of a directory that could not be read at all.

        Examples
        --------
        >>> capture.damages
        []
        """
        return self._contents.damages

    @property
    def quality(self) -> list[Flaw]:
        """The flaws of the capture itself, gravest first.

        Examples
        --------
        >>> print(capture.quality[0].sentence)
        Time runs backwards at 8 frames, by 8.04 ms at most.
        """
        return self._contents.quality

    @property
    def scales(self) -> list[InferredScale]:
        """Window scales that were inferred, since no handshake was captured or the traffic contradicts it.

        Examples
        --------
        >>> capture.scales
        []
        """
        return self._contents.scales

    @property
    def host(self) -> Account | None:
        """Statistics of the sending host's kernel, from `bdpcap.host.read`; None without any.

        Examples
        --------
        >>> capture.host is None
        True
        """
        return self._host

    @property
    def flows(self) -> pd.DataFrame:
        """The flows, as a table of `bdpcap.tables.FLOWS`.

        Examples
        --------
        >>> capture.flows[["stream", "payload_bytes", "limit"]]
           stream  payload_bytes limit
        0       0        8781884  rwnd
        1       0             28   app
        """
        return self._contents.verdicts.flows

    @property
    def rtts(self) -> pd.DataFrame:
        """The rounds of all flows, as a table of `bdpcap.tables.RTTS`.

        Examples
        --------
        >>> capture.rtts["limit"].value_counts().head(2).to_dict()
        {'rwnd': 122, 'idle': 5}
        """
        return self._contents.verdicts.rtts

    @property
    def connections(self) -> pd.DataFrame:
        """All streams, with or without payload, as a table of `bdpcap.tables.CONNECTIONS`.

        Examples
        --------
        >>> capture.connections[["stream", "handshake", "ended"]]
           stream handshake ended
        0       0  complete   fin
        """
        return self._contents.connections

    @property
    def exchanges(self) -> pd.DataFrame:
        """Requests with their responses, as a table of `bdpcap.tables.EXCHANGES`.

        Examples
        --------
        >>> len(capture.exchanges)
        0
        """
        return self._contents.exchanges

    @property
    def datagrams(self) -> pd.DataFrame:
        """The UDP flows, as a table of `bdpcap.tables.DATAGRAMS`.

        Examples
        --------
        >>> len(capture.datagrams)
        0
        """
        return self._contents.datagrams

    @property
    def events(self) -> pd.DataFrame:
        """All events, as a table of `bdpcap.tables.EVENTS`. It is large; `Flow.events` has the events of one flow.

        Examples
        --------
        >>> capture.events["kind"].value_counts().to_dict()
        {'ack': 8881, 'data': 6149, 'duplicate ack': 19, 'syn': 1, 'syn-ack': 1, 'retransmission': 1, 'fin': 1}
        """
        return self._contents.events.all()

    def table(self, name: Table, *, timestamps: bool = False, endpoints: bool = False) -> pd.DataFrame:
        """Return a table by its name; times and endpoints can be converted.

        Parameters
        ----------
        name
            One of ``flows``, ``rtts``, ``connections``, ``exchanges``, ``datagrams`` and ``events``.
        timestamps
            Convert times to UTC timestamps with nanoseconds: ``start_ns`` becomes ``start``.
        endpoints
            Split endpoints into host and port: ``sender`` becomes ``sender_host`` and ``sender_port``.

        Examples
        --------
        >>> capture.table("flows", endpoints=True)[["sender_host", "sender_port"]]
            sender_host  sender_port
        0   192.168.1.3        54348
        1  192.168.1.34         5001
        """
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        if name not in TABLES:
            raise ArgumentError(f"no table {name!r}: there are {', '.join(TABLES)}")
        table: pd.DataFrame = getattr(self, name)
        table = frames.apart(table) if endpoints else table
        return frames.timestamped(table) if timestamps else table

    def pieces(self, name: Literal["flows", "rtts"]) -> Iterator[pd.DataFrame]:
        """Yield a table in pieces, at least one; none of them is kept, so that a large capture takes little memory.

        Examples
        --------
        >>> sum(len(piece) for piece in capture.pieces("rtts"))
        131
        """
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import frames  # noqa: PLC0415 - needed for tables only

        verdicts = self._contents.verdicts
        of = {
            "flows": (tables.FLOWS, verdicts.flow_cells),
            "rtts": (tables.RTTS, verdicts.rtt_cells),
        }
        if name not in [*of]:  # a name that is a list has no hash
            raise ArgumentError(f"no pieces of {name!r}: there are {', '.join(of)}")
        columns, cells = of[name]
        return (frames.of_cells(columns, piece) for piece in cells())

    def __repr__(self) -> str:
        files, flows = ", ".join(self.info.files), len(self)
        return f"<Capture of {files}: {self.info.frames:,} frames, {flows:,} flow{'' if flows == 1 else 's'}>"

    def _repr_html_(self) -> str:
        from bdpcap.report import card  # noqa: PLC0415 - slow to import

        return card.of_capture(self)

    def __len__(self) -> int:
        """Return the number of flows, without classifying any round."""
        return len(self._contents.streams.carriers["stream"])

    def __bool__(self) -> bool:
        """Return True, also for a capture without flows."""
        return True

    def __iter__(self) -> Iterator[Flow]:
        """Yield the flows in the order of `flows`."""
        return (Flow(self, row) for _, row in self.flows.iterrows())

    @overload
    def __getitem__(self, place: int) -> Flow: ...
    @overload
    def __getitem__(self, place: slice) -> list[Flow]: ...
    def __getitem__(self, place: int | slice) -> Flow | list[Flow]:
        """Return the flow of a row of `flows`; for a slice, the flows of several rows."""
        such = f"a number; Capture.flow({place!r}) finds a flow by its sender"
        wanted("place", place, such, fits=isinstance(place, (slice, Integral)))
        if isinstance(place, slice):
            return [Flow(self, row) for _, row in self.flows.iloc[place].iterrows()]
        if not -len(self) <= place < len(self):
            there = units.number(len(self), "flow")
            raise NotFoundError(f"no flow at place {place}: the capture has {there}")
        return Flow(self, self.flows.iloc[place])

    def flow(self, which: int | str, other: str | None = None) -> Flow:
        """Return one flow.

        Parameters
        ----------
        which
            The number of a stream, or the sender as ``address:port`` or as an address alone.
        other
            The sender if `which` is a number, and the receiver if `which` is a sender. If several flows match, the one
            with most payload is returned.

        Raises
        ------
        NotFoundError
            There is no such flow: the stream carried no payload, or no such endpoint sent any.
        ArgumentError
            A flow is named by neither a stream nor an endpoint.

        Examples
        --------
        >>> capture.flow(0)
        <Flow 0: 192.168.1.3:54348 -> 192.168.1.34:5001, rwnd>
        >>> capture.flow("192.168.1.3")
        <Flow 0: 192.168.1.3:54348 -> 192.168.1.34:5001, rwnd>
        """
        wanted("which", which, "the number of a stream, or a sender", fits=isinstance(which, (str, Integral)))
        wanted("other", other, "an address", fits=other is None or isinstance(other, str))
        flows, first = self.flows, 0
        if isinstance(which, str):
            chosen = _is_end(flows["sender"], which)
            chosen = chosen if other is None else chosen & _is_end(flows["receiver"], other)
            selection = f"from {which}" + (f" to {other}" if other else "")
        else:
            first, end = flows["stream"].to_numpy().searchsorted([which, which + 1])
            # Slices of all columns would take most of the time.
            senders = flows["sender"].iloc[first:end]
            chosen = np.full(len(senders), fill_value=True) if other is None else _is_end(senders, other)
            selection = f"of stream {which}" + (f" from {other}" if other else "")
        places = first + np.flatnonzero(chosen)
        if not places.size:
            raise NotFoundError(f"no flow {selection}: {self._lacking(which)}")
        return Flow(self, flows.iloc[int(places[flows["payload_bytes"].to_numpy()[places].argmax()])])

    def top(self, flows: int | None = None) -> list[Flow]:
        """Return the flows that matter, in the order of the report.

        A flow matters by its part of all bytes and of all time lost. Of flows between the same hosts with the same limit,
        the first stands for all.

        Parameters
        ----------
        flows
            Number of flows; those that the report only lists come after the others. None is those that it shows in
            detail, at most eight.

        Raises
        ------
        ArgumentError
            `flows` is no whole number, or below 1.

        Examples
        --------
        >>> capture.top()
        [<Flow 0: 192.168.1.3:54348 -> 192.168.1.34:5001, rwnd>]
        """
        from bdpcap.report import ranking  # noqa: PLC0415 - the report is slow to import

        if flows is None:
            return ranking.first(self)
        wanted("flows", flows, "a number, one at least", fits=is_count(flows))
        return ranking.top(self, flows)

    def plot(self, kind: Kind = "window") -> go.Figure:
        """Return a figure of the flows that matter most: a row for each, at most four.

        Parameters
        ----------
        kind
            ``window``, ``throughput``, ``rtt`` or ``sequence``, as for `Flow.plot`.

        Raises
        ------
        ArgumentError
            There is no such figure.
        NotFoundError
            No flow carried payload.

        Examples
        --------
        >>> figure = capture.plot("rtt")
        >>> figure.layout.title.text
        'Round-trip time'
        """
        from bdpcap import plots  # noqa: PLC0415 - plotly is slow to import
        from bdpcap.plots.several import several  # noqa: PLC0415

        if not len(self):
            raise NotFoundError("no flow carried payload: there is nothing to draw")
        return several(self.top() or self.top(1), partial(plots.figure, kind=kind))

    @property
    def _streams(self) -> str:
        """Which streams the capture has, in words."""
        last = self.info.streams - 1
        named = "" if last < 0 else ", stream 0" if last == 0 else f", 0 to {last:,}"
        return f"the capture has {units.number(last + 1, 'stream')}{named}"

    def _lacking(self, which: int | str) -> str:
        """Return why there is no flow of a stream, or where a user finds the senders."""
        if isinstance(which, str) or which in self.flows["stream"].to_numpy():
            return "Capture.flows lists senders and receivers"
        if 0 <= which < self.info.streams:
            return "it carried no payload; Capture.connections shows how it began and ended"
        return self._streams

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one self-contained HTML file; return its path.

        Raises
        ------
        ArgumentError
            The file's name does not end in ``.html``.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> capture.report("report.html").name
        'report.html'
        """
        from bdpcap.report.page import write_html  # noqa: PLC0415 - plotting is slow to import
        from bdpcap.tables import files  # noqa: PLC0415

        return write_html(self, files.html(path))

    def annotate(self, file: BinaryIO) -> int:
        """Write the capture as pcapng with comments for Wireshark: where limits begin, and where windows close.

        Packets, times, interfaces and existing comments stay as they are. The comment on the whole capture is the report
        as text. Several files become sections of one file. `bdpcap.report.comments` chooses the comments.

        Parameters
        ----------
        file
            A binary file that is open for writing, but none of the capture's own files.

        Returns
        -------
        int
            The number of comments on packets.

        Raises
        ------
        CaptureError
            The capture came from a pipe.
        ArgumentError
            The file takes no bytes, or the capture has pseudonyms, but its packets have the true addresses.

        Examples
        --------
        >>> with open("annotated.pcapng", "wb") as file:
        ...     comments = capture.annotate(file)
        """
        from bdpcap.report import comments  # noqa: PLC0415 - the report is slow to import

        _takes_bytes(file)
        self._contents.files.needed()
        if self._contents.pseudonyms:
            raise ArgumentError(
                "annotated packets bear their true addresses: analyze the capture without pseudonyms"
            )
        about, placed = comments.of_capture(self)
        return self._contents.files.annotate(about, placed, file)

    def excerpt(self, stream: int, file: BinaryIO, *, headers_only: bool = False) -> int:
        """Write the packets of a stream to a pcapng file.

        A comment has what the whole capture shows of the stream: window scales, clock, drops, the path's least delays and
        cross traffic. With it, an analysis of the excerpt gives the results that the stream has here.

        If the capture has pseudonyms, the packets get the pseudonyms of the tables as addresses, and the payload is
        always left out. A valid IP or TCP checksum stays valid, a wrong one stays wrong.

        Parameters
        ----------
        stream
            The number of the stream in this capture; in the excerpt it is stream 0.
        file
            A binary file that is open for writing.
        headers_only
            Leave out the payload that follows the TCP header.

        Returns
        -------
        int
            The number of packets written.

        Raises
        ------
        NotFoundError
            There is no such stream.
        ArgumentError
            The stream is no number, or the file takes no bytes.
        CaptureError
            The capture came from a pipe or from bytes, or the stream has two link types.

        Examples
        --------
        >>> with open("excerpt.pcapng", "wb") as file:
        ...     packets = capture.excerpt(0, file, headers_only=True)
        >>> packets
        8912
        """
        wanted("stream", stream, "the number of a stream", fits=isinstance(stream, Integral))
        _takes_bytes(file)
        if not 0 <= stream < self.info.streams:
            raise NotFoundError(f"no stream {stream}: {self._streams}")
        return self._contents.excerpt(stream, file, headers_only=headers_only)

    def fingerprints(self) -> list[Fingerprint]:
        """Read the files again; return name, size and SHA-256 of each, in the order given.

        Examples
        --------
        >>> capture.fingerprints()[0].size_bytes
        106315
        """
        return self._contents.files.fingerprints()


def _takes_bytes(file: BinaryIO) -> None:
    """Refuse a path, and a file that is open for text."""
    fits = hasattr(file, "write") and not isinstance(file, io.TextIOBase)
    wanted("file", file, "one that is open for bytes, as by open('packets.pcapng', 'wb')", fits=fits)


def _is_end(ends: pd.Series[Any], named: str) -> NDArray[np.bool_]:
    """Return which endpoints `named` stands for: an ``address:port``, or an address alone."""
    address = named.strip("[]")
    return np.array([end == named or host_of(end) == address for end in ends.tolist()], dtype=bool)
