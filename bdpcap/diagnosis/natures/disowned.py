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

_MOST_RETRIES: Final = 15
"""Most retransmissions of data that nobody acknowledges: tcp_retries2 of Linux, the most of any usual TCP."""


def _is_disowned(flow: Flow) -> bool:
    resets = flow._counts["disowned"]
    if not resets or not flow._counts["acks"]:
        return bool(resets)
    # What would be an outage is none where resets answered the data and each of its retransmissions.
    return bool(resets > flow.summary["timeout_retransmits"] and outage.stalled(flow))


def _disowned(flow: Flow) -> str:
    counts = flow._counts
    times = _times_again(flow)
    crafted = (
        f" {host(flow.sender)} went on, and sent these bytes {units.count(times)} times more: "
        "a program makes the packets, no TCP."
    )
    sent = units.number(int(counts["packets"]), "packet")
    known = "no longer knew the connection" if counts["acks"] else "knows no such connection"
    known = "had closed the connection" if _is_closed(flow) else known
    return (
        f"{host(flow.receiver)} {known}: of {sent} it answered {units.count(int(counts['disowned']))} "
        f"with resets{'' if counts['acks'] else ', and it acknowledged none'}.{crafted if times > _MOST_RETRIES else ''}"
    )


def _is_closed(flow: Flow) -> bool:
    """Return whether the receiver acknowledged data, and a FIN came before the resets."""
    fin, _ = flow.capture._contents.streams.ending(flow.stream)
    return bool(flow._counts["acks"] and fin)


def _times_again(flow: Flow) -> int:
    """Return how many times the payload was sent again, though nobody acknowledged any; 0 where somebody did.

    A TCP stops at a reset; where a filter drops resets, it gives up after some retransmissions.
    """
    if flow._counts["acks"]:
        return 0
    return int(flow.summary["retransmitted_bytes"]) // max(1, int(flow.summary["payload_bytes"]))


def _remedy(flow: Flow) -> tuple[str, str]:
    if _times_again(flow) > _MOST_RETRIES:
        return places.sender(flow), "Look at the program that makes these packets: a TCP stops at a reset."
    if _is_closed(flow):
        return "", (
            f"Nothing to mend, unless the program at {host(flow.receiver)} needed the rest: it closed the connection "
            "before all data had come."
        )
    return (
        places.receiver(flow),
        "See why it does not know the connection: it ended it, it started anew, or no handshake went before.",
    )


NATURE: Final = Nature(
    "answered by resets",
    _is_disowned,
    _disowned,
    _remedy,
)
"""The answer to a segment of an unknown connection is a reset (RFC 9293 section 3.10.7.1)."""
