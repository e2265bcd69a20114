"""The outlook of advice in words, where the capture shows no rate to expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.explain import in_flight
from bdpcap.explain.capacity import Basis, basis, doublings, is_burst, known_bps, spoken
from bdpcap.explain.expected import GAIN, active_bps, window_bps
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.words import rates, units

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow

__all__ = ["nothing", "paced", "with_change"]


def nothing(_: Flow) -> str:
    """Return no words: nothing is to be expected."""
    return ""


def paced(words: str) -> Callable[[Flow], str]:
    """Return the outlook for any flow: a program's pace, and the rate at which the link or the window limits next."""

    def outlook(flow: Flow) -> str:
        bound = _bound(flow)
        return f"{words}, {bound}" if bound else f"{words}{_least(flow)}"

    return outlook


def with_change(words: str) -> Callable[[Flow], str]:
    """Return the outlook for any flow: a change, and the rate at which the link or the window limits then."""

    def outlook(flow: Flow) -> str:
        bound = "" if _is_held_elsewhere(flow) else _in_slow_start(flow) or _bound(flow)
        if not bound and _fills(flow):
            return ""
        return f"{words} {bound}" if bound else f"more {words}{_least(flow)}"

    return outlook


def _fills(flow: Flow) -> bool:
    """Return whether the flow went as fast as its path; False if that is not known."""
    path = _path_bps(flow)
    return path is not None and path < GAIN * active_bps(flow)


def _path_bps(flow: Flow) -> float | None:
    """Return the rate of the path; None if no more than a lower bound of it is known."""
    return None if basis(flow.summary) is Basis.BOUND else known_bps(flow.summary)


def _is_held_elsewhere(flow: Flow) -> bool:
    """Return whether another limit that the change does not lift took a notable part of the time."""
    others = {"rwnd", "sndbuf", "app", "cwnd"} - {str(flow.summary["limit"])}
    return any(flow.summary[f"{limit}_share"] >= NOTABLE_SHARE for limit in others)


def _least(flow: Flow) -> str:
    """Return the least that the path can carry, where that is all that is known; empty if the flow shows as much.

    A receive window that also limited the flow is the next limit, and its rate is known.
    """
    window = window_bps(flow) if flow.summary["limit"] != "rwnd" else None
    if window is not None and flow.summary["rwnd_share"] >= NOTABLE_SHARE:
        gains = GAIN * active_bps(flow) <= window < (known_bps(flow.summary) or window + 1)
        return f", up to {units.rate(window)} with today's window" if gains else ""
    if basis(flow.summary) is not Basis.BOUND or is_burst(flow.summary):
        return ""
    if (known_bps(flow.summary) or 0) < max(GAIN * active_bps(flow), in_flight.whole(flow).reached_bps):
        return ""
    return f"; the network can carry {spoken(flow.summary)}"


def _in_slow_start(flow: Flow) -> str:
    """Return the rate that slow start allows a flow, if its data end before the link is full; empty for any other."""
    path, carried, rtt_ns = _path_bps(flow), flow.summary["payload_bytes"], flow.summary["rtt_min_ns"]
    if path is None or pd.isna(rtt_ns) or not carried * rtt_ns:
        return ""
    flights = doublings(int(carried), int(flow.summary["mss_bytes"]))
    most_bps = rates.of_bytes(int(carried), flights * int(rtt_ns))
    # The last flight has half of all data: as many as the path holds fill the link.
    fills = carried / 2 >= rates.bytes_at(path, int(rtt_ns))
    if fills or not GAIN * active_bps(flow) <= most_bps < path:
        return ""
    return f"up to about {units.rate(most_bps)}, in slow start"


def _bound(flow: Flow) -> str:
    """Return the next limit and its rate; empty if the capture does not show it, or no gain."""
    path, window = _path_bps(flow), window_bps(flow)
    if path is None or _fills(flow):
        return ""
    # The window of a receiver that is the limit today is lifted by the advice.
    if window is not None and window < path and flow.summary["limit"] != "rwnd":
        return f"up to {units.rate(window)} with today's window" if window >= GAIN * active_bps(flow) else ""
    return f"up to about {units.rate(path)}, then the link"
