"""Flows that share the path of a TCP flow: others of TCP, and UDP, which does not back off as TCP does (RFC 8085)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bdpcap.words import rates
from bdpcap.words.endpoints import same_way

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sharing", "beside", "met", "sharing", "together_bps"]


@dataclass(frozen=True, slots=True)
class Sharing:
    """A TCP flow and the datagrams in its direction; rates are payload bits per second over the flow's life."""

    streams: int
    """Number of UDP flows between the same hosts in the same direction."""
    udp_bps: float
    tcp_bps: float
    """Rate of the TCP flow, each payload byte counted once."""
    capacity_bps: float | None
    """Rate of the link, as given or as the flow shows it; None if unknown."""
    lost: int | None
    """Datagrams that iperf's UDP flows lost during their whole life; None without such a flow."""

    @property
    def udp_share(self) -> float:
        """UDP's share of the UDP and TCP payload, 0 to 1."""
        return self.udp_bps / (self.udp_bps + self.tcp_bps)

    @property
    def link_share(self) -> float | None:
        """UDP's share of the capacity, 0 to 1; None where the capacity is unknown."""
        return min(1.0, self.udp_bps / self.capacity_bps) if self.capacity_bps else None


def together_bps(flows: pd.DataFrame) -> float:
    """Return the rate of all rows of the ``flows`` table, over the time in which any of them ran."""
    lasted_ns = max(1, int(flows["end_ns"].max() - flows["start_ns"].min()))
    return float(rates.of_bytes(int(flows["payload_bytes"].sum()), lasted_ns))


def beside(flows: pd.DataFrame, flow: pd.Series) -> pd.DataFrame:
    """Return the rows with ``start_ns`` and ``end_ns`` that go the way of a flow, in a time in which it ran."""
    found: pd.DataFrame = flows[same_way(flows, flow) & met(flows, flow)]
    return found


def met(flows: pd.DataFrame, flow: pd.Series) -> pd.Series[bool]:
    """Return which rows with ``start_ns`` and ``end_ns`` ran in a time in which a flow ran."""
    own: pd.Series[bool] = (flows["start_ns"] < flow["end_ns"]) & (flows["end_ns"] > flow["start_ns"])
    return own


def sharing(
    summary: pd.Series, datagrams: pd.DataFrame, link_rate_bps: float | None = None
) -> Sharing | None:
    """
    Return how a TCP flow shared its path with UDP.

    A UDP flow counts at its mean rate for the time in which both ran.

    Parameters
    ----------
    summary
        Row of the flow in a table with the columns of `bdpcap.tables.FLOWS`.
    datagrams
        Table of the same capture with the columns of `bdpcap.tables.DATAGRAMS`.
    link_rate_bps
        Rate of the link. None takes the flow's capacity, unless UDP and TCP together were faster.

    Returns
    -------
    None if no datagram went the same way while the flow ran. Also None if the flow has no duration or no new payload,
    and so no rate to compare.
    """
    start_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    if datagrams.empty or end_ns <= start_ns or summary["payload_bytes"] == 0:
        return None
    others = beside(datagrams, summary)
    if others.empty:
        return None
    starts, ends = _float(others["start_ns"]), _float(others["end_ns"])
    together_ns = np.minimum(ends, end_ns) - np.maximum(starts, start_ns)
    part = np.divide(together_ns, ends - starts, out=np.ones(len(others)), where=ends > starts)
    lasted_ns = end_ns - start_ns
    udp_bps = float(rates.of_bytes((_float(others["payload_bytes"]) * part).sum(), lasted_ns))
    tcp_bps = float(rates.of_bytes(float(summary["payload_bytes"]), lasted_ns))
    shown = summary["capacity_bps"]
    capacity_bps = link_rate_bps
    if capacity_bps is None and pd.notna(shown) and shown >= udp_bps + tcp_bps:
        capacity_bps = float(shown)
    lost = others["lost"].dropna()
    return Sharing(len(others), udp_bps, tcp_bps, capacity_bps, int(lost.sum()) if len(lost) else None)


def _float(column: pd.Series) -> NDArray[np.float64]:
    return column.to_numpy(dtype=np.float64)
