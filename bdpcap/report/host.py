"""The sending host's own account beside the capture, as a report shows it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bdpcap.host import Comparison, compare
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow

    Row = tuple[str, str, str]
    """A quantity, as the host says it, and as the capture shows it."""


def rows(told: Comparison) -> list[Row]:
    """Return the quantities that at least the host knows."""
    both = (
        ("busy: anything unacknowledged", units.share, told.host_busy_share, told.busy_share),
        ("limited by the receive window", units.share, told.host_rwnd_share, told.rwnd_share),
        ("limited by the send buffer", units.share, told.host_sndbuf_share, told.sndbuf_share),
        ("cwnd x MSS; bytes in flight", units.data_size, told.host_cwnd_bytes, told.in_flight_bytes),
        ("smoothed RTT; RTT of the rounds", units.duration, told.host_rtt_ns, told.rtt_ns),
        ("packets retransmitted", units.count, told.host_retransmits, told.retransmits),
    )
    return [(name, show(host), show(capture)) for name, show, host, capture in both if host is not None]


def notes(told: Comparison) -> list[str]:
    """Say what the numbers mean where they do not speak for themselves."""
    said = []
    if told.cwnd_used_share is not None:
        said.append(f"In flight at the samples: {units.share(told.cwnd_used_share)} of cwnd x MSS (median).")
    if told.host_sndbuf_share is not None and told.sndbuf_share - told.host_sndbuf_share > 0.1:
        said.append(
            "Linux counts the send buffer only while all in it was sent and its writer waits for room; a full buffer "
            "may cost more."
        )
    return said


def title(flow: Flow, told: Comparison) -> str:
    """Name a flow, and the samples of it."""
    lasting = units.duration(told.end_ns - told.start_ns)
    return f"stream {flow.stream}, {units.number(told.samples, 'sample')} in {lasting}"


def document(capture: Capture) -> dict[str, Any] | None:
    """Return what the JSON file holds of the account as a whole; None where none was given."""
    if capture.host is None:
        return None
    return {"samples": len(capture.host.samples), "doubts": capture.host.doubts(capture)}


def flow_document(flow: Flow) -> dict[str, Any] | None:
    """Return what the JSON file holds of a flow's account; None where there is none."""
    told = compare(flow) if flow.capture.host is not None else None
    return None if told is None else asdict(told)
