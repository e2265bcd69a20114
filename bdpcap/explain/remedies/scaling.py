"""Advice on window scaling that is off, by the systems of both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import FIELD_MAX
from bdpcap.explain.remedies.remedy import Remedy

if TYPE_CHECKING:
    from bdpcap.explain.remedies.host import Host

__all__ = ["window_scaling"]

_WITHOUT: Final = {"embedded": "lwIP (LWIP_WND_SCALE)", "virtual-nat": "A virtual machine's NAT"}
"""Stacks that are built without window scaling: lwIP opt.h, and SYN-ACKs of NATs."""
_ON: Final = "sysctl -w net.ipv4.tcp_window_scaling=1"


def window_scaling(sender: Host, receiver: Host) -> Remedy:
    """Return advice on turning window scaling on: RFC 7323 section 2.2 needs the option in both SYNs."""
    why = f"without it no buffer makes a window of more than {FIELD_MAX:,} bytes."
    ends = (sender, receiver)
    built = next((host for host in ends if host.system in _WITHOUT), None)
    if built is not None:
        return Remedy(f"{_WITHOUT[built.system]} offers no window scaling here: {why}")
    linux = [host.end for host in ends if host.ours and host.system == "linux"]
    where = "both ends" if len(linux) == len(ends) else "".join(linux)
    commands: tuple[str, ...] = (f"{_ON}   # {where}",) if linux else ()
    if any(host.ours and host.system == "windows" for host in ends):
        commands += (
            "netsh int tcp show global   # Windows: Auto-Tuning Level; disabled offers no window scale",
        )
    return Remedy(f"Turn window scaling on at both ends first: {why}", commands)
