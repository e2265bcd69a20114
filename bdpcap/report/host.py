"""Comparison of the sending host's statistics (``ss``, ``TCP_INFO``) with the capture, as a report shows it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.host import Comparison, compare
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow

    Row = tuple[str, str, str]
    """Name of a quantity, its value by the host, and its value by the capture."""


def rows(both: Comparison) -> list[Row]:
    """Return the quantities for which the host has a value."""
    quantities = (
        ("busy: anything unacknowledged", units.share, both.host_busy_share, both.busy_share),
        ("limited by the receive window", units.share, both.host_rwnd_share, both.rwnd_share),
        ("limited by the send buffer", units.share, both.host_sndbuf_share, both.sndbuf_share),
        ("cwnd x MSS; bytes in flight", units.data_size, both.host_cwnd_bytes, both.in_flight_bytes),
        ("smoothed RTT; RTT of the rounds", units.duration, both.host_rtt_ns, both.rtt_ns),
        ("packets retransmitted", units.count, both.host_retransmits, both.retransmits),
    )
    return [(name, show(host), show(capture)) for name, show, host, capture in quantities if host is not None]


def notes(both: Comparison) -> list[str]:
    """Return sentences that explain the quantities whose meaning is not obvious."""
    found = []
    if both.cwnd_used_share is not None:
        found.append(f"In flight at the samples: {units.share(both.cwnd_used_share)} of cwnd x MSS (median).")
    if both.host_sndbuf_share is not None and both.sndbuf_share - both.host_sndbuf_share > NOTABLE_SHARE:
        found.append(
            "Linux counts the send buffer only while all in it was sent and its writer waits for room; a full buffer "
            "may cost more."
        )
    return found


def title(flow: Flow, both: Comparison) -> str:
    """Return the flow's stream, the number of its samples, and the time from first to last sample."""
    lasting = units.duration(both.end_ns - both.start_ns)
    return f"stream {flow.stream}, {units.number(both.samples, 'sample')} in {lasting}"


def document(capture: Capture) -> dict[str, Any] | None:
    """Return the JSON value for all host statistics of a capture; None if none were given."""
    if capture.host is None:
        return None
    return {"samples": len(capture.host.samples), "doubts": capture.host.doubts(capture)}


def flow_document(flow: Flow) -> dict[str, Any] | None:
    """Return the JSON value for the host statistics of a flow; None without at least two samples."""
    both = compare(flow) if flow.capture.host is not None else None
    return None if both is None else asdict(both)
