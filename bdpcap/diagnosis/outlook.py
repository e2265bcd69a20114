"""The outlook of advice: a rate and the limit that follows, or words where the capture shows no rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain import in_flight
from bdpcap.explain.capacity import Basis, basis, doublings, is_burst, known_bps, spoken
from bdpcap.explain.expected import GAIN, active_bps, window_bps
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.words import rates, units

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow

__all__ = ["NOTHING", "Outlook", "Rate", "nothing", "paced", "with_change"]

_NEXT: Final = {
    "link": "then the link",
    "rwnd": "then the receive window",
    "sndbuf": "then the send buffer",
    "cwnd": "then congestion control",
    "app": "then the program",
    "reader": "then the reading program",
}
"""Limit that comes next, in words."""
_UP_TO: Final = {
    "link": "up to about {}, then the link",
    "rwnd": "up to {} with today's window",
    "slow start": "up to about {}, in slow start",
}
"""The most that a change gives, in words, by the limit that follows."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate to expect."""

    bps: float
    """The rate, in bits per second."""
    follows: str
    """The limit that holds the flow then, ``reader`` or ``slow start``."""
    before_bps: float | None = None
    """Today's rate, if the new one is a forecast; None if that is the most that may come."""
    longer: bool = False
    """Whether only a longer transfer gets there."""

    def __str__(self) -> str:
        if self.before_bps is None:
            return _UP_TO[self.follows].format(units.rate(self.bps))
        before, after = units.rate(self.before_bps), units.rate(self.bps)
        if before.split(" ")[1] == after.split(" ")[1]:
            before = before.split(" ", maxsplit=1)[0]
        start = "past slow start, " if self.longer else ""
        return f"{start}{before} → about {after}, {_NEXT.get(self.follows, 'then another limit')}"


@dataclass(frozen=True, slots=True)
class Outlook:
    """The outlook of advice."""

    words: str = ""
    """The change, or all that is to be expected; the rate follows."""
    rate: Rate | None = None
    """The rate to expect; None where the capture does not show one."""
    path: str = ""
    """The rate that the network can carry, where no more than a lower bound is known."""
    unless: str = ""
    """What would hold the flow before, though the capture does not show it."""

    def __str__(self) -> str:
        said = " ".join(filter(None, (self.words, "" if self.rate is None else str(self.rate))))
        said += f", unless {self.unless}" if self.unless else ""
        return f"{said}; the network can carry {self.path}" if self.path else said

    def __bool__(self) -> bool:
        return bool(str(self))


NOTHING: Final = Outlook()
"""Nothing is to be expected, or known."""


def nothing(_: Flow) -> Outlook:
    """Return no outlook: nothing is to be expected."""
    return NOTHING


def paced(words: str) -> Callable[[Flow], Outlook]:
    """Return the outlook for any flow: a program's pace, and the rate at which the link or the window limits next.

    Where the send buffer held a notable part of the time, it comes first, at no known rate.
    """

    def outlook(flow: Flow) -> Outlook:
        bound = None if flow.summary["sndbuf_share"] >= NOTABLE_SHARE else _bound(flow)
        return Outlook(f"{words},", bound) if bound else _at_least(words, flow)

    return outlook


def with_change(words: str) -> Callable[[Flow], Outlook]:
    """Return the outlook for any flow: a change, and the rate at which the link or the window limits then."""

    def outlook(flow: Flow) -> Outlook:
        bound = None if _is_held_elsewhere(flow) else _in_slow_start(flow) or _bound(flow)
        if not bound and _fills(flow):
            return NOTHING
        return Outlook(words, bound) if bound else _at_least(f"more {words}", flow)

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


def _at_least(words: str, flow: Flow) -> Outlook:
    """Return a change with the least that the path can carry, where that is all that is known, and more than was reached.

    A receive window that also limited the flow is the next limit, and its rate is known.
    """
    window = window_bps(flow) if flow.summary["limit"] != "rwnd" else None
    if window is not None and flow.summary["rwnd_share"] >= NOTABLE_SHARE:
        gains = GAIN * active_bps(flow) <= window < (known_bps(flow.summary) or window + 1)
        return Outlook(f"{words},", Rate(window, "rwnd")) if gains else Outlook(words)
    if basis(flow.summary) is not Basis.BOUND or is_burst(flow.summary):
        return Outlook(words)
    if (known_bps(flow.summary) or 0) < max(GAIN * active_bps(flow), in_flight.whole(flow).reached_bps):
        return Outlook(words)
    return Outlook(words, path=spoken(flow.summary))


def _in_slow_start(flow: Flow) -> Rate | None:
    """Return the rate that slow start allows a flow, if its data end before the link is full; None for any other."""
    path, carried, rtt_ns = _path_bps(flow), flow.summary["payload_bytes"], flow.summary["rtt_min_ns"]
    if path is None or pd.isna(rtt_ns) or not carried * rtt_ns:
        return None
    flights = doublings(int(carried), int(flow.summary["mss_bytes"]))
    most_bps = rates.of_bytes(int(carried), flights * int(rtt_ns))
    # The last flight has half of all data: as many as the path holds fill the link.
    fills = carried / 2 >= rates.bytes_at(path, int(rtt_ns))
    if fills or not GAIN * active_bps(flow) <= most_bps < path:
        return None
    return Rate(most_bps, "slow start")


def _bound(flow: Flow) -> Rate | None:
    """Return the next limit and its rate; None if the capture does not show it, or no gain."""
    path, window = _path_bps(flow), window_bps(flow)
    if path is None or _fills(flow):
        return None
    # The window of a receiver that is the limit today is lifted by the advice.
    if window is not None and window < path and flow.summary["limit"] != "rwnd":
        return Rate(window, "rwnd") if window >= GAIN * active_bps(flow) else None
    return Rate(path, "link")
