"""The send buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Cause, Limit
from bdpcap.diagnosis.outlook import with_change
from bdpcap.explain.standing import alike
from bdpcap.words import palette, units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["LIMIT"]


def _buffer(flow: Flow, own: pd.DataFrame) -> str:
    flights, window = own["in_flight_max_bytes"], flow.summary["window_max_bytes"]
    flight = flights.median()
    reason = (
        f"about {units.exact_bytes(flight)} were in flight, round after round"
        if alike(flights)
        else f"{units.exact_bytes(flight)} were in flight in the median round, {units.exact_bytes(flights.max())} at most"
    )
    return (
        reason
        if pd.isna(window) or window <= flight
        else f"{reason}, and the window allowed {units.exact_bytes(window)}"
    )


LIMIT: Final = Limit(
    code="sndbuf",
    name="send buffer",
    colour=palette.PURPLE,
    meaning="The sender's socket buffer could hold no more unacknowledged data.",
    usual=Cause(
        "The send buffer held the sender back",
        _buffer,
        places.sender,
        "Raise the send buffer: SO_SNDBUF, or the third number of net.ipv4.tcp_wmem.",
        with_change("with a larger buffer"),
    ),
)
