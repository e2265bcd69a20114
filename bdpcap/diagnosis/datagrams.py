"""UDP that took as much of a path as the flow or more: the reason why a full link, or losses, held the flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Remedy
from bdpcap.diagnosis.outlook import Outlook, Rate
from bdpcap.explain.findings import tap, udp
from bdpcap.explain.once import once

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause
    from bdpcap.explain.findings import Finding

__all__ = ["datagrams", "first"]


@once
def datagrams(flow: Flow) -> Finding | None:
    """
    Return the finding on UDP if its share of the path is the most that a remedy can give back; else None.

    That is so where a full link or losses held the flow, and UDP had as much of the path as the flow or more.
    """
    if flow.summary["limit"] not in ("link", "cwnd") or tap.incomplete(flow):
        return None
    for finding in udp.explains(flow):
        numbers = finding.values
        return finding if numbers["udp_bps"] >= numbers["tcp_bps"] else None
    return None


def first(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on datagrams that take the path from the flow; None if they do not. Their share becomes its."""
    finding = datagrams(flow)
    if finding is None:
        return None
    numbers = finding.values
    gain = Rate(numbers["tcp_bps"] + numbers["udp_bps"], "link", numbers["tcp_bps"])
    return Remedy(places.path(flow), finding.remedy, finding.commands, Outlook(rate=gain))
