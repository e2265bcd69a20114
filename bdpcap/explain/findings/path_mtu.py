"""Packets that a router refused because they are larger than the path carries (path MTU discovery)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.headers import of_endpoint
from bdpcap.explain.once import once
from bdpcap.explain.solver import Exactness
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.contents.refusals import Refused

__all__ = ["ADVICE", "AVOIDED", "asked", "explains", "most_resent", "too_big"]

ADVICE: Final = (
    "Let the router lower the MSS of SYNs to what the path carries (MSS clamping), or give the hosts' interfaces "
    "that MTU."
)
"""Advice on packets that are too big for the path."""

AVOIDED: Final = "MSS clamping at the router avoids that."
"""The remedy in a sentence for a flow that something else held, whose advice is another."""

_MOST: Final = 1 / 2
"""Share of the retransmitted bytes from which on refused packets are the reason why the sender sent again."""


@once
def too_big(flow: Flow) -> list[Refused]:
    """Return the packets of a flow that routers refused as too big, the router with the least MTU first."""
    first, last = int(flow._counts["first_frame"]), int(flow._counts["last_frame"])
    found = [
        one
        for one in flow.capture._contents.refusals
        if one.reason == "too big"
        and (one.sender, one.receiver) == (flow.sender, flow.receiver)
        and first <= one.frames[0] <= last
    ]
    return sorted(found, key=lambda one: (one.mtu_bytes is None, one.mtu_bytes))


def _has_size(one: Refused) -> bool:
    """Return whether the quotes have the size of the refused packets: each is larger than the router carries.

    A NAT or firewall may have changed the length in a quote.
    """
    return one.payload_bytes > one.packets * _carried(one)


def _carried(one: Refused) -> int:
    """Return the payload of the largest packet that the next link carries, in bytes; 0 where unknown."""
    return max(0, (one.mtu_bytes or 0) - of_endpoint(one.sender))


def _payload(flow: Flow) -> int:
    """Return the payload of the refused packets in bytes, at least: each had more than the next link carries."""
    return sum(max(one.payload_bytes, one.packets * _carried(one)) for one in too_big(flow))


def most_resent(flow: Flow) -> bool:
    """Return whether refused packets are most of the data sent again: no loss by congestion (RFC 1191 section 6.4)."""
    return _payload(flow) > _MOST * max(1, int(flow.summary["retransmitted_bytes"]))


def asked(flow: Flow) -> str:
    """Return the router's request as a sentence without its full stop; `too_big` must not be empty."""
    router = too_big(flow)[0]
    packets = sum(one.packets for one in too_big(flow))
    limit = (
        ""
        if router.mtu_bytes is None
        else f": it carries packets of at most {units.exact_bytes(router.mtu_bytes)}"
    )
    return f"A router at {router.reporter} refused {units.number(packets, 'packet')}{limit}"


def explains(flow: Flow) -> list[Finding]:
    """Return a finding on packets that were too big for the path; none where no router said so."""
    routers = too_big(flow)
    if not routers:
        return []
    least = routers[0].mtu_bytes
    payload = _payload(flow) if all(map(_has_size, routers)) else None
    refused = "They" if payload is None else f"The refused {units.exact_bytes(payload)}"
    return [
        Finding(
            code=Code.PATH_MTU,
            sentence=f"{asked(flow)}. {refused} had to be sent again.",
            cause="A link or tunnel behind that router has a smaller MTU than the hosts, which learn of it only by "
            "losing packets.",
            remedy=ADVICE,
            evidence=f"ICMP messages from frame {routers[0].frames[0]:,} to frame {routers[0].frames[1]:,}",
            frames=routers[0].frames,
            values={
                "refused_packets": sum(one.packets for one in routers),
                **({} if payload is None else {"refused_bytes": payload}),
                **({} if least is None else {"mtu_bytes": least}),
            },
            exactness=Exactness.EXACT,
            certainty=Certainty.CERTAIN,
            source="RFC 1191 section 4; RFC 8201 section 4",
        )
    ]
