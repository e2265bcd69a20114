"""Findings: a number of the flow, its cause, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from bdpcap import units

if TYPE_CHECKING:
    from bdpcap.analysis import Flow

__all__ = ["Finding", "findings"]


@dataclass(frozen=True)
class Finding:
    """One thing worth telling about a flow."""

    code: str
    """Stable, for programs."""
    sentence: str
    cause: str
    remedy: str
    evidence: str
    source: str


def findings(flow: Flow) -> list[Finding]:
    """Explain what held the flow for most of its time; empty where nothing can be said."""
    explain = _BY_LIMIT.get(str(flow.summary["limit"]))
    finding = explain(flow) if explain else None
    return [finding] if finding else []


def _share(flow: Flow) -> str:
    held = int((flow.rtts["limit"] == flow.summary["limit"]).sum())
    return f"{flow.summary['limit']} in {held} of {len(flow.rtts)} rounds"


def _rwnd(flow: Flow) -> Finding | None:
    window, rtt_ns = flow.summary["window_max_bytes"], flow.summary["rtt_min_ns"]
    if pd.isna(window) or pd.isna(rtt_ns) or rtt_ns <= 0:
        return None
    bdp = flow.summary["bdp_bytes"]
    details = flow.rtts.loc[flow.rtts["limit"] == "rwnd", "detail"]
    slow = details.isin(["slow reader", "zero window"]).mean() > 0.5
    ceiling = f"{units.exact_bytes(window)} / {units.duration(rtt_ns)} = {units.rate(window * 8e9 / rtt_ns)}"
    if slow:
        cause = "The receiving application reads more slowly than data arrives, so its window closes."
        remedy = (
            "Look at the receiving application; a larger buffer only delays the moment the window closes."
        )
    else:
        cause = "The receiver's window is smaller than the path could hold, so the sender waits for it every round trip."
        remedy = (
            "Raise the receive buffer (SO_RCVBUF, iperf -w; or leave it to autotuning up to net.ipv4.tcp_rmem[2]) "
            f"until the window exceeds rate times round-trip time, here at least {units.exact_bytes(bdp)}."
        )
    return Finding(
        code="window-below-bdp" if not slow else "slow-reader",
        sentence=f"The window, at most {units.exact_bytes(window)}, allows no more than {ceiling}.",
        cause=cause,
        remedy=remedy,
        evidence=_share(flow),
        source="RFC 9293 section 3.8.6; RFC 7323 section 1.1",
    )


def _sndbuf(flow: Flow) -> Finding:
    flight = flow.summary["in_flight_max_bytes"]
    return Finding(
        code="send-buffer",
        sentence=f"No more than {units.exact_bytes(flight)} were ever in flight, though the window had room.",
        cause="The sending socket's buffer was full, and its writer was woken only when a third of it was free.",
        remedy="Raise SO_SNDBUF on the sender, or leave it unset so that net.ipv4.tcp_wmem[2] is the limit.",
        evidence=_share(flow),
        source="Linux sk_stream_write_space()",
    )


def _link(flow: Flow) -> Finding:
    floor, median = flow.summary["rtt_min_ns"], flow.summary["rtt_median_ns"]
    return Finding(
        code="link-full",
        sentence=f"The bottleneck was busy; round trips took {units.duration(median)}, {units.duration(floor)} at best.",
        cause="The sender keeps a queue in front of the bottleneck at all times.",
        remedy="Larger windows or buffers only lengthen the queue; more throughput needs a faster link.",
        evidence=_share(flow),
        source="rate and RTT of the rounds",
    )


def _cwnd(flow: Flow) -> Finding:
    again, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    lost = f"{units.exact_bytes(again)} of {units.exact_bytes(payload)} were sent again."
    return Finding(
        code="congestion-window",
        sentence=lost
        if again
        else "The congestion window was still growing, or was held back by pacing; nothing was lost.",
        cause="Congestion control allowed less in flight than the path and the receiver could have taken.",
        remedy=(
            "Find where packets are lost; over long paths with stray losses BBR or CUBIC recovers faster than Reno."
            if again
            else "Longer transfers leave slow start behind; check pacing and route metrics on the sender."
        ),
        evidence=_share(flow),
        source="RFC 5681",
    )


def _app(flow: Flow) -> Finding:
    return Finding(
        code="sender-idle",
        sentence="The sending application had nothing to send for most of the time.",
        cause="TCP was ready to send more than it was given.",
        remedy="Look at the sending application: its reads, its requests, its pauses between writes.",
        evidence=_share(flow),
        source="gaps that no acknowledgment ended",
    )


_BY_LIMIT = {"rwnd": _rwnd, "sndbuf": _sndbuf, "link": _link, "cwnd": _cwnd, "app": _app}
