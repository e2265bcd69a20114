"""Finding on a SYN that a middlebox changed: options replaced by no operations, or a lowered MSS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.hosts import clamped_from_mss_bytes, stripped
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.hosts import Syn

__all__ = ["explains"]

_NAMES: Final = {"W": "window scale", "S": "SACK permitted", "T": "timestamps"}
"""Options by their letters in a layout (RFC 7323, RFC 2018)."""


def explains(flow: Flow) -> list[Finding]:
    """Return a finding for each SYN of a flow's connection that was changed before the capture."""
    ends = (flow.sender, flow.receiver) if flow.is_from_client else (flow.receiver, flow.sender)
    both = zip(ends, flow.capture._contents.systems.syns_of(flow.stream), strict=True)
    return [
        told
        for end, syn in both
        if syn is not None
        for told in (_stripped(host(end), syn), _clamped(host(end), syn))
        if told is not None
    ]


def _stripped(address: str, syn: Syn) -> Finding | None:
    gone = [_NAMES[letter] for letter in stripped(syn)]
    if not gone:
        return None
    return Finding(
        code=Code.SYN_CHANGED,
        sentence=f"The SYN of {address} lost {' and '.join(gone)} on the way to the capture.",
        cause="Something on the way wrote no operations over the option: both ends go without it.",
        remedy="Let the firewall, NAT or accelerator between that host and the capture leave TCP options as they are.",
        evidence=f"layout of the options: {syn.layout}",
        values={"layout": syn.layout},
        source="RFC 9293 section 3.1; RFC 7323; RFC 2018",
    )


def _clamped(address: str, syn: Syn) -> Finding | None:
    before = clamped_from_mss_bytes(syn)
    if before is None or syn.mss_bytes is None:
        return None
    return Finding(
        code=Code.SYN_CHANGED,
        sentence=f"The SYN of {address} carries an MSS of {syn.mss_bytes:,}; it was sent with {before:,}.",
        cause="A router or the end of a tunnel lowers the MSS so that segments fit a smaller MTU on the path.",
        evidence=f"its window, {syn.window_bytes:,}, is whole segments of {before:,} bytes",
        values={"mss_bytes": syn.mss_bytes, "sent_mss_bytes": before},
        certainty=Certainty.LIKELY,
        source="tcp_select_initial_window(); RFC 9293 section 3.7.1",
    )
