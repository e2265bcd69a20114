"""A NAT or proxy next to the capture that ends TCP itself, and sends in a far host's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.explain.findings import Code, found
from bdpcap.words.endpoints import host, is_public

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.findings import Finding

__all__ = ["place", "relayed"]


def relayed(flow: Flow) -> Finding | None:
    """
    Return the finding on a NAT or proxy that sends in a far host's place, if the flow waited for it; else None.

    The wait may be for the path behind it, which the capture does not show.
    """
    if flow.summary["limit"] != "app" or not is_public(host(flow.sender)):
        return None
    return found(flow).of(Code.PROXY)


def place(flow: Flow) -> str:
    """Return the NAT or proxy, by the host that it is next to."""
    return f"the NAT or proxy next to {host(flow.receiver)}"
