"""Advice on window scaling that is off, by who did not offer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import FIELD_MAX
from bdpcap.explain.gateways import gateway
from bdpcap.explain.remedies import host
from bdpcap.explain.remedies.remedy import Remedy
from bdpcap.hosts import stripped

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.remedies.host import Host

__all__ = ["scaling_of", "window_scaling"]

_WITHOUT: Final = {
    "embedded": "a small stack (in lwIP, LWIP_WND_SCALE)",
    "virtual-nat": "a virtual machine's NAT",
}
"""Stacks that are built without window scaling: lwIP opt.h, and SYN-ACKs of NATs."""
_ON: Final = "sysctl -w net.ipv4.tcp_window_scaling=1"
_LEVEL: Final = (
    "netsh int tcp show global   # {end}, Windows: Auto-Tuning Level; disabled offers no window scale"
)
_WHY: Final = f"without it no buffer makes a window of more than {FIELD_MAX:,} bytes."


def scaling_of(flow: Flow) -> Remedy:
    """Return advice on a flow without window scaling: on the end whose SYN lacks the option, or on a middlebox."""
    if found := gateway(flow):
        return Remedy(
            f"The NAT or proxy in place of {found.address} offers no window scale: {_WHY} A virtual machine on a bridged "
            "network needs no such NAT."
        )
    sender, receiver = host.ends(flow)
    client, server = (sender, receiver) if flow.is_from_client else (receiver, sender)
    syns = flow.capture._contents.systems.syns_of(flow.stream)
    for one, syn in zip((client, server), syns, strict=True):
        if syn is not None and "W" in stripped(syn):
            return Remedy(
                f"Something on the way took the window scale out of the SYN of {one.address}, before the capture. Let "
                "the firewall, NAT or accelerator there leave the option as it is."
            )
    # A server answers with the option only if the client offered it (RFC 7323 section 2.2).
    is_asked = syns[0] is not None and syns[0].scale is not None
    return window_scaling(server if is_asked else client)


def window_scaling(lacking: Host) -> Remedy:
    """Return advice on turning window scaling on, at the end whose SYN lacks the option."""
    if lacking.system in _WITHOUT:
        return Remedy(
            f"The {lacking.end} is {_WITHOUT[lacking.system]}, which offers no window scale: {_WHY}"
        )
    if not lacking.ours:
        return Remedy(f"Ask the operator of {lacking.address} why its SYN offers no window scale: {_WHY}")
    windows = (_LEVEL.format(end=lacking.end),) if lacking.system == "windows" else ()
    return Remedy(
        f"Turn window scaling on at the {lacking.end} first: {_WHY} If it is on, something on the way takes the option "
        "out. Compare its SYN in captures at both ends.",
        (*lacking.linux(f"{_ON}   # {lacking.end}"), *windows),
    )
