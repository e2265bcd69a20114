"""A path that drops large packets without a message that reaches their sender: a path MTU black hole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places, silence
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures import outage
from bdpcap.timers import TWO_TIMERS_NS
from bdpcap.words import units
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]

_ADVICE: Final = (
    "Let its routers report packets that are too big, and firewalls pass these ICMP messages. Or lower the MSS of SYNs "
    "to what the path carries (MSS clamping)."
)


def _pieces(flow: Flow) -> tuple[int, int] | None:
    """Return the bytes of a segment that never got through, and of the first piece that did; None without one.

    A second timer had run out. A packet in the capture may be several on the wire, if it is larger than the receiver
    allows, or a whole number of pieces.
    """
    if not outage.stalled(flow) or on_one_machine(host(flow.sender), host(flow.receiver)):
        return None
    quiet, most = silence.of(flow), flow._counts["announced_mss_bytes"]
    if quiet is None or quiet.pieces is None or most is None or quiet.waited_ns < TWO_TIMERS_NS:
        return None
    whole, piece = quiet.pieces
    return quiet.pieces if whole <= most and whole % piece else None


def _said(flow: Flow) -> str:
    whole, piece = _pieces(flow) or (0, 0)
    waited = units.duration(flow.summary["longest_stall_ns"])
    return (
        f"A segment of {units.exact_bytes(whole)} was not acknowledged for {waited}. Then the sender sent its bytes in "
        f"pieces of {units.exact_bytes(piece)}, and these were acknowledged: large packets do not pass (a path MTU black "
        "hole)."
    )


NATURE: Final = Nature(
    "packets too big for the path",
    lambda flow: _pieces(flow) is not None,
    _said,
    lambda flow: (places.path(flow), _ADVICE),
    outage.shown,
)
"""Senders that hear of no MTU try smaller segments after some timeouts (RFC 4821 and RFC 2923 section 2.1)."""
