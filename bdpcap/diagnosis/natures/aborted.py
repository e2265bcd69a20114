"""A short transfer to a server that reset the connection while data still came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures import farewell, outage, short
from bdpcap.limits.evidence.writes import FAREWELL_BYTES
from bdpcap.words.endpoints import both

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE", "WORDS", "is_reset"]

WORDS: Final = "{} reset the connection while data still came: no program got the last of them."
"""Sentence on such a reset, with a place for the receiver."""


def is_reset(flow: Flow) -> bool:
    """Return whether the receiver of a flow, which sent no FIN, reset the connection while data still came."""
    fin, _ = flow.capture._contents.streams.ending(flow.stream)
    return not fin and outage.reset_by_receiver(flow) and bool(flow._counts["disowned"])


def _is_aborted(flow: Flow) -> bool:
    """Return whether the server of a short transfer reset the connection, and more than a farewell was lost by that.

    A client that resets had its reason, as a browser that leaves a page.
    """
    reset = flow.is_from_client and is_reset(flow)
    return reset and farewell.left_bytes(flow) >= FAREWELL_BYTES and short.NATURE.holds(flow)


def _said(flow: Flow) -> str:
    return f"{short.NATURE.sentence(flow)} {WORDS.format(both(flow.sender, flow.receiver)[1])}"


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
