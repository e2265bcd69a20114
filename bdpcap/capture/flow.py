"""One direction of a stream that carried payload, with its verdict, causes and figures."""

from __future__ import annotations

import math
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.errors import ArgumentError, is_count, wanted
from bdpcap.limits import HIDDEN
from bdpcap.limits.evidence.writes import TLS_FAREWELL_BYTES, TLS_GOODBYES
from bdpcap.read import vantage
from bdpcap.read.in_process import InProcess
from bdpcap.words import quantities

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd
    import plotly.graph_objects as go

    from bdpcap import hosts
    from bdpcap.capture.capture import Capture
    from bdpcap.diagnosis.model import Remedy
    from bdpcap.diagnosis.why import Why
    from bdpcap.explain.findings import Findings
    from bdpcap.plots import Kind
    from bdpcap.view.notebook import View

__all__ = ["Flow"]


_HTTP2_CONTROL_BYTES: Final = (31, 35, 38, 39, 42, 46, 74, 88)
"""Bytes of a record that holds one control frame of HTTP/2: an acknowledgment of settings, a ping or a credit.

The frames have 9, 17 and 13 bytes (RFC 9113 sections 6.5, 6.7 and 6.9). A record adds 22 in TLS 1.3 and, with AES-GCM,
29 in TLS 1.2 (RFC 8446 section 5.2, RFC 5288 section 3). The last two are those of a credit and a ping, which browsers
send together after an answer.
"""
_HTTPS_PORTS: Final = ("443", "8443")
"""Ports of HTTP inside TLS (RFC 9110 section 4.2.2): the assigned one first, and its usual substitute."""


class Flow(InProcess):
    """One direction of a stream that carried payload: its rounds, events, findings and figures.

    Attributes
    ----------
    capture : Capture
        The capture that has the flow.
    summary : pandas.Series
        The flow's row of `Capture.flows`.
    stream : int
        The number of the flow's stream, as Wireshark's ``tcp.stream``.
    sender, receiver : str
        ``address:port``, IPv6 in brackets.

    Examples
    --------
    >>> flow = capture.flow(0)
    >>> flow.sender, flow.summary["limit"]
    ('192.168.1.3:54348', 'rwnd')
    """

    def __init__(self, capture: Capture, summary: pd.Series) -> None:
        self.capture: Final = capture
        self.summary: Final = summary
        self.stream: Final = int(summary["stream"])
        self.sender: Final = str(summary["sender"])
        self.receiver: Final = str(summary["receiver"])

    def __repr__(self) -> str:
        return f"<Flow {self.stream}: {self.sender} -> {self.receiver}, {self.summary['limit']}>"

    @cached_property
    def rtts(self) -> pd.DataFrame:
        """The rounds of the flow, as a table of `bdpcap.tables.RTTS`.

        Examples
        --------
        >>> flow.rtts[["round", "rtt_ns", "limit"]].head(2)
           round    rtt_ns limit
        0      0  45423000  cwnd
        1      1  66347000  cwnd
        """
        rounds, _ = self.capture._contents.verdicts.of(self.stream)
        return rounds[(rounds["sender"] == self.sender).to_numpy()].reset_index(drop=True)

    @cached_property
    def _hidden(self) -> pd.DataFrame:
        """Columns `bdpcap.limits.HIDDEN` of each round, such as its first frame."""
        rounds, hidden = self.capture._contents.verdicts.of(self.stream)
        return type(rounds)(hidden[(rounds["sender"] == self.sender).to_numpy()], columns=[*HIDDEN])

    @cached_property
    def _counts(self) -> dict[str, Any]:
        """The core's counts of the flow, more than the table has, such as ``largest_bytes`` and ``sender_side_ns``."""
        return self.capture._contents.streams.counts_of(self.stream, self.sender)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The flow's events, as a table of `bdpcap.tables.EVENTS`. If they were not kept, the capture is read again.

        Examples
        --------
        >>> flow.events["kind"].value_counts().to_dict()
        {'data': 6148, 'ack': 2736, 'duplicate ack': 19, 'syn': 1, 'retransmission': 1}
        """
        events = self.capture._contents.events.of(self.stream)
        return events[events["sender"] == self.sender].reset_index(drop=True)

    def events_between(self, start: float = 0.0, end: float = math.inf) -> pd.DataFrame:
        """Return the events of the flow between two times. The memory used grows with these events, not with the flow.

        Parameters
        ----------
        start, end
            Seconds since the capture's first frame.

        Raises
        ------
        ArgumentError
            A time is no number, or the end comes before the start.

        Examples
        --------
        >>> len(flow.events_between(1.0, 1.5))
        850
        """
        for name, given in {"start": start, "end": end}.items():
            such = "seconds since the capture's first frame, such as 1.5"
            wanted(name, given, such, fits=isinstance(given, Real))
        if not start <= end:
            raise ArgumentError(f"no time from {start:g} s to {end:g} s: the end comes after the start")
        return self.capture._contents.events.between(self.stream, self.sender, start, end)

    @cached_property
    def exchanges(self) -> pd.DataFrame:
        """Requests and responses of the flow's stream; both directions have the same table.

        Examples
        --------
        >>> len(flow.exchanges)
        0
        """
        table = self.capture.exchanges
        first, end = np.searchsorted(table["stream"].to_numpy(), [self.stream, self.stream + 1])
        return table.iloc[first:end].reset_index(drop=True)

    @cached_property
    def _requests(self) -> pd.DataFrame:
        """The exchanges with a request and its answer, with their index in `exchanges`.

        Turns of a TLS handshake are none. Nor is a last one in TLS that a server's farewell ends, with its FIN. Nor are
        the last ones that a goodbye ends, from either end. Nor is a control frame of HTTP/2 after the first request of a
        connection: it asks for nothing.
        """
        each = self.exchanges
        asked = ~each["tls_handshake"]
        # A capture may lack the handshake.
        if asked.all() and not each["server"].iloc[:1].str.endswith(f":{_HTTPS_PORTS[0]}").any():
            return each
        # Short messages of another protocol have such sizes, too.
        of_https = each["server"].str.rpartition(":")[2].isin(_HTTPS_PORTS)
        control = of_https & each["request_bytes"].isin(_HTTP2_CONTROL_BYTES) & asked.cumsum().gt(1)
        streams, response_bytes = self.capture._contents.streams, each["response_bytes"]
        parting = response_bytes.isin(TLS_GOODBYES if streams.ending(self.stream)[0] else ())
        if streams.closed_by_server(self.stream):
            parting.iloc[-1] |= response_bytes.iloc[-1] <= TLS_FAREWELL_BYTES
        return each[asked & ~control & ~parting[::-1].cummin()]

    @property
    def is_from_client(self) -> bool:
        """Whether the client sends the flow's data: the end that sent the SYN.

        Without a SYN in the capture, it is the end with the higher port, since servers listen on assigned ports.

        Examples
        --------
        >>> flow.is_from_client
        True
        """
        return int(self._counts["direction"]) == 0

    @property
    def systems(self) -> tuple[hosts.System | None, hosts.System | None]:
        """The systems of the sender and of the receiver by their SYNs; None where unknown.

        Examples
        --------
        >>> [system.family for system in flow.systems]
        ['linux', 'linux']
        """
        client, server = self.capture._contents.systems.of(self.stream)
        return (client, server) if self.is_from_client else (server, client)

    @property
    def program(self) -> hosts.Program | None:
        """The program of the flow's connection, by a cookie of iperf3 or a well-known port; None where unknown.

        Examples
        --------
        >>> flow.program.name
        'iperf'
        """
        return self.capture._contents.systems.program_of(self.stream)

    @property
    def vantage_evidence(self) -> str:
        """The evidence for the flow's vantage as text: delays, the capturing host, and routers passed.

        Examples
        --------
        >>> flow.vantage_evidence.split(";")[0]
        '20 ms to the sender and back, 23.9 ms to the receiver and back'
        """
        both = self.capture._contents.streams.sides(self.stream)
        return vantage.sentence(both, both["sender"].index(self.sender), str(self.summary["vantage"]))

    @property
    def verdict(self) -> str:
        """The limit of the flow, its duration, and the numbers that show it, in one or two sentences.

        Examples
        --------
        >>> flow.verdict.partition(":")[0]
        'The receive window held the sender back for 96 % of 5.61 s'
        """
        from bdpcap.report import verdict  # noqa: PLC0415 - the report is slow to import

        return verdict.sentence(self)

    @property
    def findings(self) -> Findings:
        """Causes of the flow's numbers, with remedies; the most important finding first.

        Examples
        --------
        >>> [str(finding.code) for finding in flow.findings[:3]]
        ['window-below-bdp', 'what-it-takes', 'window-setting']
        """
        from bdpcap.diagnosis.findings import found  # noqa: PLC0415 - needed for findings only

        return found(self)

    @property
    def why(self) -> Why | None:
        """The setting behind the window that limits the flow; None if no window does, or the setting is unknown.

        ``print(flow.why)`` gives the arithmetic: "Why 73,552? 2 x 50,000 x 3/4 - 1,448 = 73,552: ...".

        Examples
        --------
        >>> flow.why.number
        '73,552'
        >>> flow.why.sentences[0][:44]
        '2 x 50,000 x 3/4 - 1,448 = 73,552: SO_RCVBUF'
        """
        from bdpcap.diagnosis.why import why  # noqa: PLC0415 - needed for findings only

        return why(self)

    @property
    def remedy(self) -> Remedy:
        """The first thing to do: the place, the advice, commands, and the rate to expect.

        ``print(flow.remedy)`` gives the advice; ``flow.remedy.expected`` is such as "12.4 → about 24.3 Mbit/s, then the
        link", or empty.

        Examples
        --------
        >>> flow.remedy.where
        'the receiver, 192.168.1.34'
        >>> flow.remedy.expected
        '12.4 → about 24.3 Mbit/s, then the link'
        """
        from bdpcap.diagnosis.remedy import remedy  # noqa: PLC0415 - needed for findings only

        return remedy(self)

    def explain(
        self,
        *,
        rcvbuf: int | None = None,
        sndbuf: int | None = None,
        kernel: str | None = None,
        adv_win_scale: int | None = None,
        rmem_max: int | None = None,
        rmem: tuple[int, int, int] | None = None,
        wmem: tuple[int, int, int] | None = None,
        link_rate: float | str | None = None,
        rtt: float | str | None = None,
    ) -> Findings:
        """Return the findings, using facts that the capture does not show, as ``bdpcap explain`` does.

        Parameters
        ----------
        rcvbuf, sndbuf
            SO_RCVBUF of the receiver and SO_SNDBUF of the sender as passed to ``setsockopt``, in bytes.
        kernel
            The receiver's Linux version, as ``uname -r`` prints it.
        adv_win_scale
            The receiver's ``net.ipv4.tcp_adv_win_scale``.
        rmem_max, rmem
            The receiver's ``net.core.rmem_max`` and the three values of its ``net.ipv4.tcp_rmem``, in bytes.
        wmem
            The three values of the sender's ``net.ipv4.tcp_wmem``, in bytes.
        link_rate, rtt
            Rate of another link and RTT of another path, for which the findings give the window needed. A number is in
            bits per second or in seconds; a text has a unit.

        Raises
        ------
        ArgumentError
            A text is no rate, no duration or no version, or a size or number is not above zero or of another type.

        Examples
        --------
        >>> flow.explain(link_rate="1Gbit/s", rtt="40ms").of("what-it-takes").sentence.partition(" Headers")[0]
        'To fill 1.00 Gbit/s over 40 ms takes a window of 5,000,000 bytes (the BDP).'
        """
        for name, given in {"rcvbuf": rcvbuf, "sndbuf": sndbuf, "rmem_max": rmem_max}.items():
            fits = given is None or is_count(given)
            wanted(name, given, "a size in bytes, above zero", fits=fits)
        for name, three in {"rmem": rmem, "wmem": wmem}.items():
            fits = three is None or [isinstance(one, Integral) for one in np.atleast_1d(three)] == [True] * 3
            wanted(name, three, "three sizes in bytes, such as (4096, 131072, 6291456)", fits=fits)
        fits = adv_win_scale is None or isinstance(adv_win_scale, Integral)
        wanted("adv_win_scale", adv_win_scale, "a whole number, such as 1", fits=fits)
        wanted("kernel", kernel, "a version, such as '6.1'", fits=kernel is None or isinstance(kernel, str))
        from bdpcap.diagnosis.findings import findings  # noqa: PLC0415 - needed for findings only
        from bdpcap.explain.kernels import version  # noqa: PLC0415
        from bdpcap.explain.solver import Facts  # noqa: PLC0415

        known = version(kernel) if kernel else None
        facts = Facts(rcvbuf, sndbuf, known, adv_win_scale, rmem_max, rmem, wmem)
        rate = None if link_rate is None else float(quantities.rate(link_rate))
        rtt_ns = None if rtt is None else round(quantities.duration(rtt) * 10**9)
        return findings(self, facts, rate_bps=rate, rtt_ns=rtt_ns)

    def _repr_html_(self) -> str:
        from bdpcap.report import card  # noqa: PLC0415 - slow to import

        return card.of_flow(self)

    def plot(
        self,
        kind: Kind = "window",
        *,
        start: float | None = None,
        end: float | None = None,
        figure: go.Figure | None = None,
        row: int | None = None,
        col: int = 1,
    ) -> go.Figure:
        """Return a figure of the flow: by default its window with the bytes in flight.

        Parameters
        ----------
        kind
            ``window``, ``throughput``, ``rtt`` or ``sequence``.
        start, end
            The time to draw, in seconds since the capture's first frame; None is the whole flow.
        figure, row, col
            The figure to draw into, and its subplot, counted from 1 as in ``plotly.subplots.make_subplots``.

        Raises
        ------
        ArgumentError
            There is no such figure, the flow does not overlap that time, or ``row`` is given without ``figure``.

        Examples
        --------
        >>> figure = flow.plot(start=1.0, end=2.0)
        >>> figure.write_html("window.html")
        """
        from bdpcap import plots  # noqa: PLC0415 - plotly is slow to import

        return plots.figure(self, kind, start=start, end=end, figure=figure, row=row, col=col)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report on this flow alone as one self-contained HTML file; return its path.

        Raises
        ------
        ArgumentError
            The file's name does not end in ``.html``.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> flow.report("flow.html").name
        'flow.html'
        """
        from bdpcap.report.page import write_html  # noqa: PLC0415 - plotting is slow to import
        from bdpcap.tables import files  # noqa: PLC0415

        return write_html(self.capture, files.html(path), self)

    def view(self) -> View:
        """Return the linked figures of the flow as a widget for a notebook, zoomable down to single segments.

        Raises
        ------
        ModuleNotFoundError
            The extra ``bdpcap[view]`` is not installed.

        Examples
        --------
        >>> widget = flow.view()
        """
        try:
            from bdpcap.view.notebook import View  # noqa: PLC0415 - part of an extra, may be missing
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{error.name} is missing: pip install 'bdpcap[view]'", name=error.name
            ) from None
        return View(self)
