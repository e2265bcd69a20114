"""The nature of a flow that no single limit holds: an outage, losses, requests, a timer, an end, and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.kinds import rwnd
from bdpcap.diagnosis.natures import (
    aborted,
    black_hole,
    cut_off,
    disowned,
    farewell,
    half,
    hidden,
    in_turn,
    no_tcp,
    outage,
    requests,
    short,
    slow_start,
    stopped,
    timer,
    too_late,
    unasked,
)
from bdpcap.explain.once import once

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Nature

__all__ = [
    "ABORTED",
    "BLACK_HOLE",
    "DISOWNED",
    "FAREWELL",
    "HIDDEN",
    "LATE",
    "LOSSES",
    "MUTUAL",
    "NO_TCP",
    "OUTAGE",
    "REQUESTS",
    "SLOW_START",
    "STOPPED",
    "TIMER",
    "TOO_LATE",
    "nature",
    "of_packets",
]

ABORTED: Final = aborted.NATURE
BLACK_HOLE: Final = black_hole.NATURE
DISOWNED: Final = disowned.NATURE
NO_TCP: Final = no_tcp.NATURE
TOO_LATE: Final = too_late.NATURE
OUTAGE: Final = outage.NATURE
LOSSES: Final = outage.LOSSES
LATE: Final = outage.LATE
STOPPED: Final = stopped.NATURE
FAREWELL: Final = farewell.NATURE
HIDDEN: Final = hidden.NATURE
SLOW_START: Final = slow_start.NATURE
REQUESTS: Final = requests.NATURE
MUTUAL: Final = (requests.MESSAGES, in_turn.NATURE, REQUESTS)
"""Natures of a stream whose both directions are one exchange."""
TIMER: Final = timer.NATURE

_ALL: Final = (
    half.NATURE,
    DISOWNED,
    NO_TCP,
    BLACK_HOLE,
    TOO_LATE,
    OUTAGE,
    LOSSES,
    LATE,
    STOPPED,
    FAREWELL,
    cut_off.NATURE,
    SLOW_START,
    TIMER,
    *MUTUAL,
    ABORTED,
    short.NATURE,
    short.LITTLE,
    unasked.NATURE,
    HIDDEN,
)
"""Natures, the gravest first: the first that holds is the flow's."""


@once
def nature(flow: Flow) -> Nature | None:
    """Return the nature of a flow; None if its main limit is its verdict."""
    if flow.summary["active_ns"] == 0 or flow.summary["payload_bytes"] == 0:
        return None
    return next((one for one in _ALL if one.holds(flow)), None)


def of_packets(flows: Iterable[Flow]) -> list[Flow]:
    """Return the flows whose verdict or notes are read from their packets, by `bdpcap.diagnosis.silence`."""
    return [flow for flow in flows if outage.stalled(flow) or rwnd.shut(flow.rtts).any()]
