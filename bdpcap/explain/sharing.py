"""UDP beside TCP: what datagrams took of a link while a flow ran. They do not give way, TCP does (RFC 8085)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sharing", "sharing"]


@dataclass(frozen=True, slots=True)
class Sharing:
    """A TCP flow and the datagrams that went the same way meanwhile; payload, bits per second of the flow's life."""

    streams: int
    """UDP flows from the same host to the same host."""
    udp_bps: float
    tcp_bps: float
    """Each byte once, however often it was sent."""
    capacity_bps: float | None
    """Of the link, as given or as the flow shows it."""
    lost: int | None
    """Datagrams lost, of iperf's flows; over their whole life. None without such a flow."""

    @property
    def udp_share(self) -> float:
        """What UDP took of all that went through, 0 to 1."""
        return self.udp_bps / (self.udp_bps + self.tcp_bps)

    @property
    def link_share(self) -> float | None:
        """What UDP took of the capacity, 0 to 1; None where that is unknown."""
        return min(1.0, self.udp_bps / self.capacity_bps) if self.capacity_bps else None


def sharing(
    summary: pd.Series, datagrams: pd.DataFrame, link_rate_bps: float | None = None
) -> Sharing | None:
    """
    Say how a TCP flow shared its way with UDP.

    A UDP flow counts with its mean rate for as long as both ran.

    Parameters
    ----------
    summary
        The flow's row of `bdpcap.tables.FLOWS`.
    datagrams
        Table as `bdpcap.tables.DATAGRAMS`, of the same capture.
    link_rate_bps
        The link's rate, if it is known; else the capacity that the flow shows, which must be no less than what was
        measured to count.

    Returns
    -------
    None where no datagram went the same way while the flow ran, where the flow is of one instant, or where all
    that it carried was sent before: it has no rate to compare.
    """
    start_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    if end_ns <= start_ns or summary["payload_bytes"] == 0:
        return None
    same_way = (datagrams["sender"].map(host) == host(str(summary["sender"]))) & (
        datagrams["receiver"].map(host) == host(str(summary["receiver"]))
    )
    met = (datagrams["start_ns"] < end_ns) & (datagrams["end_ns"] > start_ns)
    beside = datagrams[same_way & met]
    if beside.empty:
        return None
    starts, ends = _float(beside["start_ns"]), _float(beside["end_ns"])
    together_ns = np.minimum(ends, end_ns) - np.maximum(starts, start_ns)
    part = np.divide(together_ns, ends - starts, out=np.ones(len(beside)), where=ends > starts)
    per_second = 8e9 / (end_ns - start_ns)
    udp_bps = float((_float(beside["payload_bytes"]) * part).sum()) * per_second
    tcp_bps = float(summary["payload_bytes"]) * per_second
    shown = summary["capacity_bps"]
    capacity_bps = link_rate_bps
    if capacity_bps is None and pd.notna(shown) and shown >= udp_bps + tcp_bps:
        capacity_bps = float(shown)
    lost = beside["lost"].dropna()
    return Sharing(len(beside), udp_bps, tcp_bps, capacity_bps, int(lost.sum()) if len(lost) else None)


def _float(column: pd.Series) -> NDArray[np.float64]:
    return column.to_numpy(dtype=np.float64)
