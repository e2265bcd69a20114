"""One way of a connection: the other way is another stream of the capture, with other addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Nature

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]


def _is_half(flow: Flow) -> bool:
    return flow.stream in flow.capture._contents.halves


def _half(flow: Flow) -> str:
    return (
        f"Stream {flow.capture._contents.halves[flow.stream]} is its other way, by the sequence numbers: a NAT or "
        "firewall changed the addresses in between."
    )


NATURE: Final = Nature(
    "half of a connection",
    _is_half,
    _half,
    lambda flow: (
        places.path(flow),
        "Capture on one side of the NAT or firewall: there, both ways have the same addresses.",
    ),
)
