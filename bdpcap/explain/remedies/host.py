"""Who advice addresses: an end of a flow with its system, role and program, and whether its reader can change it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain import place
from bdpcap.explain.once import once
from bdpcap.words.endpoints import host, is_public

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["UNKNOWN", "Host", "ends", "is_ours", "of"]

_SITE_BITS: Final = {4: 16, 6: 48}
"""Prefix that the hosts of one site share: the usual assignment to an organisation (RFC 6177 section 2; for IPv4, what
was a class B)."""


@dataclass(frozen=True, slots=True)
class Host:
    """
    One end of a flow.

    Attributes
    ----------
    end
        ``sender`` or ``receiver`` of the flow's data.
    address
        IP address, or its pseudonym; empty without a capture.
    system
        Family of its system, as in `bdpcap.hosts`; empty if unknown.
    sure
        Whether the system is likely; one that is only possible rules out other systems' commands, but gets none.
    role
        ``client`` or ``server``; empty if the handshake was not captured.
    program
        Program or protocol of the connection; empty if unknown.
    window_scale
        Window scale of its handshake, if the host is the receiver; None if unknown.
    ours
        Whether the reader can change the host's settings; False for a host of others on the Internet.
    """

    end: str
    address: str = ""
    system: str = ""
    role: str = ""
    program: str = ""
    window_scale: int | None = None
    ours: bool = True
    sure: bool = True

    @property
    def takes_commands(self) -> bool:
        """Whether the reader can run commands of the host's system on it."""
        return self.ours and self.sure

    def linux(self, *commands: str) -> tuple[str, ...]:
        """Return commands of Linux if the reader can run them on this host; else none."""
        return commands if self.takes_commands and self.system == "linux" else ()


UNKNOWN: Final = {end: Host(end) for end in ("sender", "receiver")}
"""Ends of a path without a capture: nothing is known of them."""


def of(flow: Flow, end: str) -> Host:
    """Return the sender or the receiver of a flow."""
    return _both(flow)[end == "receiver"]


def ends(flow: Flow | None) -> tuple[Host, Host]:
    """Return the sender and the receiver of a flow; `UNKNOWN` without a flow."""
    return (UNKNOWN["sender"], UNKNOWN["receiver"]) if flow is None else _both(flow)


@once
def _both(flow: Flow) -> tuple[Host, Host]:
    return _host(flow, "sender"), _host(flow, "receiver")


def _host(flow: Flow, end: str) -> Host:
    summary = flow.summary
    address = host(flow.sender if end == "sender" else flow.receiver)
    system, scale = summary[f"{end}_system"], summary["window_scale"]
    program = flow.program
    is_client = flow.is_from_client == (end == "sender")
    return Host(
        end=end,
        address=address,
        system=system if isinstance(system, str) else "",
        role=("client" if is_client else "server") if int(flow._counts["handshake"]) else "",
        program=program.name if program else "",
        window_scale=int(scale) if end == "receiver" and pd.notna(scale) else None,
        ours=is_ours(flow, end),
        sure=summary[f"{end}_system_certainty"] != "possible",
    )


def is_ours(flow: Flow, end: str) -> bool:
    """
    Return whether the reader of a capture can change settings of one end.

    That is so for a private address, for the host of the capture, and for one of the same site as the reader's own host.
    Captured between the ends, the host of most connections is the reader's.
    """
    own, other = (flow.sender, flow.receiver) if end == "sender" else (flow.receiver, flow.sender)
    vantage = str(flow.summary["vantage"])
    if not is_public(host(own)) or vantage == end:
        return True
    if not is_public(host(other)):
        return False
    # Between two public hosts, the place of the capture shows which one is the reader's.
    elsewhere = vantage not in ("sender", "receiver") and place.common(flow.capture) != host(other)
    return elsewhere or _are_of_one_site(host(own), host(other))


def _are_of_one_site(one: str, other: str) -> bool:
    first, second = ip_address(one), ip_address(other)
    site = ip_network(f"{one}/{_SITE_BITS[first.version]}", strict=False)
    return first.version == second.version and second in site
