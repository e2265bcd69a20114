"""Requests and responses as the report shows them: whose time they took, and the slowest."""

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
"""Most exchanges that are shown."""


@dataclass(frozen=True, slots=True)
class Section:
    """What the page shows of a flow's exchanges."""

    shares: Shares
    side: str
    """Who took most of the time: server, network or client."""
    slowest: list[dict[Hashable, Any]]
    """Rows of the table of exchanges, those first that took most of that side's time."""


def section(flow: Flow) -> Section | None:
    """Return what is shown, where requests and responses are what a stream is about; with its larger flow only."""
    found = requests.told(flow)
    if found is None or flow.capture.flow(flow.stream).sender != flow.sender:
        return None
    side = next(iter(found.parts))
    return Section(found, side, slowest(flow, side, ROWS).to_dict("records"))
