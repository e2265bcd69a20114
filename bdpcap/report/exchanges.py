"""Requests and responses as the report shows them: the time taken by each side, and the slowest exchanges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap.explain.exchange_shares import Shares, slowest
from bdpcap.explain.findings import requests

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bdpcap.capture import Flow

__all__ = ["ROWS", "Section", "section"]

ROWS: Final = 10
"""Maximum number of exchanges shown."""


@dataclass(frozen=True, slots=True)
class Section:
    """Contents of the page's section on a flow's exchanges."""

    shares: Shares
    side: str
    """The side that took most of the time: server, network or client."""
    slowest: list[dict[Hashable, Any]]
    """Rows of the ``exchanges`` table, in falling order of the time taken by that side."""


def section(flow: Flow) -> Section | None:
    """Return the section if a stream is mostly requests and responses, else None; only its larger flow has one."""
    found = requests.told(flow)
    if found is None or flow.capture.flow(flow.stream).sender != flow.sender:
        return None
    side = next(iter(found.parts))
    return Section(found, side, slowest(flow, side, ROWS).to_dict("records"))
