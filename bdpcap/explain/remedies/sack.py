"""Advice on an end that offers no selective acknowledgments (SACK), where that makes the repair of losses slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.explain.remedies.host import of
from bdpcap.explain.remedies.remedy import Remedy
from bdpcap.hosts import stripped

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.remedies.host import Host

__all__ = ["sack"]


def sack(flow: Flow) -> Remedy:
    """Return advice on the end that did not offer SACK (RFC 2018); empty if both did, or losses were repaired at once."""
    end = _without(flow)
    return Remedy("") if end is None or not _is_slow(flow) else _on(of(flow, end))


def _without(flow: Flow) -> str | None:
    """Return the end without SACK; None if both have it, or their SYNs do not show it.

    A server may permit it only where the client did (RFC 2018 section 2), so a client without it is the reason.
    """
    ends = ("sender", "receiver") if flow.is_from_client else ("receiver", "sender")
    for end, syn in zip(ends, flow.capture._contents.systems.syns_of(flow.stream), strict=True):
        if syn is None or set(syn.layout) & {"!", "+"} or "S" in stripped(syn):
            return None
        if "S" not in syn.layout:
            return end
    return None


def _is_slow(flow: Flow) -> bool:
    """Return whether the repair of a loss took more than a round trip: SACK reports all losses of a flight at once."""
    least_ns, rounds = flow.summary["rtt_min_ns"], flow.rtts[flow.rtts["retransmits"] > 0]
    if pd.isna(least_ns):
        return False
    lasting_ns = (rounds["end_ns"] - rounds["start_ns"]).sum()
    return bool(lasting_ns > rounds["retransmits"].sum() * least_ns)


def _on(host: Host) -> Remedy:
    """Return the advice for the end that goes without: its setting by system."""
    named = " (SackOpts in the registry)" if host.system == "windows" else ""
    words = f"Turn SACK on at {host.address}{named}: without it, losses are repaired one per round trip."
    return Remedy(words, host.linux(f"sysctl -w net.ipv4.tcp_sack=1   # {host.end}: offers SACK"))
