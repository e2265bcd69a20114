"""Finding on UDP on the path of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import remedies
from bdpcap.explain.findings.finding import Code, Finding
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.sharing import sharing
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["explains"]

_LOST: Final = {
    "receiver": "{} of its datagrams were lost.",
    "sender": "A capture at the sender does not show what was lost behind it.",
    "between": "{} of its datagrams were lost before this place; what was lost behind it does not show.",
    "unknown": "{} of its datagrams were lost before the place of the capture, which is not known.",
}


def explains(flow: Flow, *, rate_bps: float | None = None) -> list[Finding]:
    """Return a finding on UDP on the flow's path, if it carried a tenth or more of the payload and of the link's rate."""
    beside = sharing(flow.summary, flow.capture.datagrams, rate_bps)
    if beside is None or beside.udp_share < NOTABLE_SHARE:
        return []
    if beside.link_share is not None and beside.link_share < NOTABLE_SHARE:
        return []
    of_link = "" if beside.link_share is None else f", {units.share(beside.link_share)} of the link"
    lost = "" if beside.lost is None else f" {_LOST[str(flow.summary['vantage'])].format(f'{beside.lost:,}')}"
    return [
        Finding(
            code=Code.UDP_BESIDE,
            sentence=f"UDP went the same way at {units.rate(beside.udp_bps)}{of_link}; this flow had "
            f"{units.rate(beside.tcp_bps)}.{lost}",
            cause="UDP does not give way when packets are lost, TCP does.",
            remedy="Limit the sender of the datagrams, or give each a share of the bottleneck: fq_codel or CAKE.",
            commands=remedies.fair_queue(*remedies.ends(flow)),
            evidence=f"{beside.streams} UDP {'flow' if beside.streams == 1 else 'flows'} between the same hosts",
            values={"udp_bps": beside.udp_bps, "tcp_bps": beside.tcp_bps, "link_share": beside.link_share},
            source="RFC 8085 section 3.1",
        )
    ]
