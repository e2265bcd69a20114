"""The send buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import gains, places
from bdpcap.diagnosis.model import Cause, Limit
from bdpcap.diagnosis.outlook import Outlook, with_change
from bdpcap.explain.capacity import sent_a_window
from bdpcap.explain.expected import can_grow
from bdpcap.explain.findings import send
from bdpcap.explain.standing import spoken
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["LIMIT"]

_WAITS: Final = 2
"""Usual RTT over the least from which data wait longer in queues than they travel."""


def _buffer(flow: Flow, own: pd.DataFrame) -> str:
    flights, window = own["in_flight_max_bytes"], flow.summary["window_max_bytes"]
    room = pd.notna(window) and window > flights.median()
    usual_ns = flow.summary["rtt_median_ns"]
    trips = f", round trips took {units.duration(usual_ns)}" if pd.notna(usual_ns) else ""
    # A window that can grow may allow the rate to expect, though it did not yet.
    so_far = " so far" if can_grow(flow) else ""
    allowed = f", and the window allowed {units.exact_bytes(window)}{so_far}" if room else ""
    return spoken(flights) + trips + allowed


def _then(flow: Flow) -> Outlook:
    usual, least = flow.summary["rtt_median_ns"], flow.summary["rtt_min_ns"]
    if pd.isna(usual) or pd.isna(least) or usual < _WAITS * least or not sent_a_window(flow.summary):
        return with_change("with a larger buffer")(flow)
    trips = f"round trips take {units.duration(usual)}, {units.duration(least)} at best"
    return Outlook(f"a longer queue, perhaps no higher rate: {trips}")


LIMIT: Final[Limit] = Limit(
    code="sndbuf",
    name="send buffer",
    colour=palette.PURPLE,
    meaning="The sender's socket buffer could hold no more unacknowledged data.",
    usual=Cause(
        "The send buffer held the sender back",
        _buffer,
        places.sender,
        "Raise the send buffer: SO_SNDBUF, or the third number of net.ipv4.tcp_wmem.",
        _then,
    ),
    findings=lambda flow, _: send.limits(flow),
    first=(gains.of_pauses, lambda flow, _: gains.little(flow, LIMIT.name)),
    is_lifted=lambda flow: not send.fills(flow),
)
