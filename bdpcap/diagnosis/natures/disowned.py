"""A connection that its receiver does not know: resets answered the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures import outage
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]


def _is_disowned(flow: Flow) -> bool:
    resets = flow._counts["disowned"]
    if not resets or not flow._counts["acks"]:
        return bool(resets)
    # What would be an outage is none where resets answered the data and each of its retransmissions.
    return bool(resets > flow.summary["timeout_retransmits"] and outage.has_outage(flow))


def _disowned(flow: Flow) -> str:
    counts = flow._counts
    sent = units.number(int(counts["packets"]), "packet")
    return (
        f"{host(flow.receiver)} knows no such connection: of {sent} it answered {units.count(int(counts['disowned']))} "
        f"with resets{'' if counts['acks'] else ', and it acknowledged none'}."
    )


NATURE: Final = Nature(
    "answered by resets",
    _is_disowned,
    _disowned,
    lambda flow: (
        places.receiver(flow),
        "See why it does not know the connection: it ended it, it started anew, or no handshake went before.",
    ),
)
"""The answer to a segment of an unknown connection is a reset (RFC 9293 section 3.10.7.1)."""
