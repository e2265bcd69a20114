"""Relays: a NAT or proxy that sends in a far host's place, and a program that passes on what it receives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.model import Remedy
from bdpcap.explain.findings import tap
from bdpcap.explain.gateways import gateway
from bdpcap.explain.once import once
from bdpcap.explain.sharing import met
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause
    from bdpcap.explain.findings import Finding

__all__ = ["BEHIND", "first", "onward", "passes_on", "place", "relayed"]

BEHIND: Final = "wait behind a NAT or proxy"
"""Title of a flow that waited for the program or the path that a NAT or proxy hides."""
_LEAST_BYTES: Final = 100_000
"""Least payload by which two flows are related: few bytes are equal by chance."""
_ALIKE: Final = 0.01
"""Largest relative difference of the payload that a program receives and passes on: it may change headers."""


def relayed(flow: Flow) -> Finding | None:
    """
    Return the finding on a NAT or proxy that sends in a far host's place, if the flow waited for it; else None.

    The wait may be for the path behind it, which the capture does not show.
    """
    waited = flow.summary["limit"] == "app" and passes_on(flow) and not tap.incomplete(flow)
    return tap.proxy(flow) if waited else None


def passes_on(flow: Flow) -> bool:
    """Return whether a NAT or proxy sends in a far host's place."""
    passing = gateway(flow)
    return passing is not None and passing.address == host(flow.sender)


def place(flow: Flow) -> str:
    """Return the NAT or proxy, by the host that it is next to."""
    passing, (far, near) = gateway(flow), (host(flow.sender), host(flow.receiver))
    own = near if passing is None or passing.address == far else far
    return f"the NAT or proxy next to {own}"


def first(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a flow that a NAT or proxy next to the capture relays; None for any other flow."""
    proxy = relayed(flow)
    return None if proxy is None else Remedy(place(flow), proxy.remedy)


@once
def onward(flow: Flow) -> tuple[int, str] | None:
    """
    Return the stream and the receiver of the flow on which the receiving host passes the data on; None if there is none.

    Only one flow of that host carried as many bytes at the same time, to another host, and no program held it.
    """
    summary, flows = flow.summary, flow.capture.flows
    carried = summary["payload_bytes"]
    if carried < _LEAST_BYTES:
        return None
    twins = {stream for pair in flow.capture._contents.twins if flow.stream in pair for stream in pair}
    alike = (
        ((flows["payload_bytes"] - carried).abs() <= _ALIKE * carried)
        & met(flows, summary)
        & (flows["limit"] != "app")
        & ~flows["stream"].isin({flow.stream, *twins})
    )
    ends = zip(*(flows.loc[alike, name] for name in ("stream", "sender", "receiver")), strict=True)
    relays = [
        (int(stream), host(receiver))
        for stream, sender, receiver in ends
        if host(sender) == host(flow.receiver)
        and host(receiver) not in (host(flow.sender), host(flow.receiver))
    ]
    return relays[0] if len(relays) == 1 else None
