"""Findings: what is worth telling about a flow, most important first; one theme a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.explain.findings import handshake, path, receive, send, tap
from bdpcap.explain.findings.finding import Code, Finding

if TYPE_CHECKING:
    from bdpcap.analysis import Flow
    from bdpcap.explain.solver import Facts

__all__ = ["Code", "Finding", "findings"]


def findings(
    flow: Flow,
    facts: Facts | None = None,
    *,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
) -> list[Finding]:
    """
    Explain a flow.

    Parameters
    ----------
    flow
        Any flow; its packets are not read again.
    facts
        What is known of the receiver besides.
    rate_bps, rtt_ns
        Ask what another link or another path would take.
    """
    # What held the flow comes first, then what would lift it, then why its other numbers are as they are.
    main = {
        "rwnd": receive.limits(flow),
        "sndbuf": send.limits(flow),
        "link": path.link(flow),
        "cwnd": path.congestion(flow),
        "app": path.application(flow),
    }.get(str(flow.summary["limit"]), [])
    return [
        *main,
        *path.takes(flow, facts, rate_bps=rate_bps, rtt_ns=rtt_ns),
        *path.shared(flow, rate_bps=rate_bps),
        *receive.explains(flow, facts),
        *send.explains(flow, facts),
        *handshake.explains(flow),
        *tap.explains(flow),
    ]
