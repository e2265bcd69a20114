"""A short transfer to a server that reset the connection while data still came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures import outage, short
from bdpcap.limits.evidence.writes import FAREWELL_BYTES
from bdpcap.words.endpoints import both

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]


def _left_bytes(flow: Flow) -> int:
    """Return the payload that was never acknowledged."""
    return int(flow._counts["payload_bytes"]) - int(flow._counts["acked_bytes"])


def _is_aborted(flow: Flow) -> bool:
    """Return whether the server of a short transfer reset the connection, and more than a farewell was lost by that.

    A client that resets had its reason, as a browser that leaves a page.
    """
    fin, _ = flow.capture._contents.streams.ending(flow.stream)
    reset = flow.is_from_client and not fin and outage.reset_by_receiver(flow) and flow._counts["disowned"]
    return bool(reset) and _left_bytes(flow) >= FAREWELL_BYTES and short.NATURE.holds(flow)


def _said(flow: Flow) -> str:
    receiver = both(flow.sender, flow.receiver)[1]
    aborted = f"{receiver} reset the connection while data still came: no program got the last of them."
    return f"{short.NATURE.sentence(flow)} {aborted}"


NATURE: Final = Nature(
    "a transfer that its server ended",
    _is_aborted,
    _said,
    lambda flow: (
        places.receiver(flow),
        "See in its log why its program ended the connection while data came, as at a limit of size.",
    ),
    short.shown,
)
"""A program that closes with unread data makes its TCP send a reset (RFC 2525 section 2.17)."""
