"""The receive window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import gains, places, relay
from bdpcap.diagnosis.model import GENERAL, Cause, Limit, Remedy, longest
from bdpcap.diagnosis.outlook import nothing, paced, with_change
from bdpcap.explain import gate, in_flight
from bdpcap.explain.expected import active_bps
from bdpcap.explain.findings import Code, handshake, receive, tap
from bdpcap.explain.findings.receive import in_force, shut, slow_part, stopped_ns
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.words import palette, units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["LIMIT", "shut", "shut_ns"]


STOOD: Final = 2
"""Last rounds that show the ceiling of a window: one that grows does so each round trip (tcp_rcv_space_adjust())."""


FLOOR_SEGMENTS: Final = 2
"""Segments to which a receiver that yields to other traffic lowers its window, and no further (RFC 9840)."""
ETHERNET_MSS: Final = 1460
"""Payload of a full segment on Ethernet over IPv4, in bytes (RFC 6691): a receiver counts in its own."""
FALLS: Final = 3
"""Fewest times that a window falls to that floor, and rises again; a choice. That of a slow reader falls below, to 0."""


def shut_ns(rtts: pd.DataFrame) -> int:
    """Return for how long the window was closed, or too small for a segment."""
    return int((rtts["end_ns"] - rtts["start_ns"])[shut(rtts)].sum())


def _window(flow: Flow, own: pd.DataFrame) -> str:
    lasting = _shut(own)
    return f"{_allowed(flow)}{f'. It was {lasting}' if lasting else ''}"


def _allowed(flow: Flow) -> str:
    window, rtt = in_force(flow), flow.summary["rtt_min_ns"]
    if window is None:
        return ""
    allowed, reached = gate.allowed_bps(window, rtt), max(active_bps(flow), in_flight.whole(flow).reached_bps)
    if allowed is None or allowed < reached:
        most = flow.summary["window_max_bytes"]
        later = f" for most of that time, {units.exact_bytes(most)} at most"
        return f"{units.exact_bytes(window)}{later if most > window else ' were the most'}"
    return f"{units.exact_bytes(window)} per round trip of {units.duration(rtt)} allow {units.rate(allowed)} at most"


def _reader(flow: Flow, own: pd.DataFrame) -> str:
    lasting = _shut(own)
    least = own["window_min_bytes"].dropna()
    if least.empty:
        return f"the window was {lasting}" if lasting else ""
    # A window is larger once all is read, at the end of a transfer.
    smallest, largest = least.min(), flow.rtts.loc[: least.idxmin(), "window_max_bytes"].max()
    if pd.isna(largest) or smallest >= largest:
        return f"the window was {lasting}" if lasting else ""
    also = f". It was {lasting}" if lasting else ""
    return f"the window fell from {units.exact_bytes(largest)} to {units.exact_bytes(smallest)}{also}"


def _yields(flow: Flow) -> bool:
    """Return whether the window of a flow fell to two segments again and again, and never below."""
    rounds = flow.rtts.dropna(subset=["window_min_bytes"])
    floor = rounds["window_min_bytes"].min()
    falls = (rounds["window_min_bytes"] == floor) & (rounds["window_max_bytes"].shift() > floor)
    return floor in _floors(flow) and int(falls.sum()) >= FALLS


def _floors(flow: Flow) -> dict[int, bool]:
    """Return the windows that stand for two segments, each with whether the window scale rounded it down.

    The segments are those of the path, those that the receiver announced, or Ethernet's.
    """
    scale, announced = flow.summary["window_scale"], flow._counts["announced_mss_bytes"]
    unit = 1 << (0 if pd.isna(scale) else int(scale))
    segments = (int(mss) for mss in (flow.summary["mss_bytes"], announced, ETHERNET_MSS) if pd.notna(mss))
    # Of a larger scale, no window stands for two segments.
    two = [FLOOR_SEGMENTS * mss for mss in segments if unit <= mss]
    return {size // unit * unit: size % unit > 0 for size in reversed(two)}


def _yielding(flow: Flow, _: pd.DataFrame) -> str:
    floor = flow.rtts["window_min_bytes"].min()
    segments = f"two segments{' rounded down to its scale' if _floors(flow).get(floor) else ''}"
    return f"it fell to {units.exact_bytes(floor)}, {segments}, again and again, and never below"


def _passed_on(flow: Flow, own: pd.DataFrame) -> str:
    stream, receiver = relay.onward(flow) or (None, "")
    reason = _reader(flow, own)
    return f"{reason}{'. ' if reason else ''}It passes the data on to {receiver} in stream {stream}"


def _onward(flow: Flow) -> str:
    """Return the stream on which the receiving host passes the data on."""
    stream, _ = relay.onward(flow) or (None, "")
    return f"stream {stream}, on which {host(flow.receiver)} passes the data on"


def _shut(own: pd.DataFrame) -> str:
    """Return for how long the window was shut; empty if it never was."""
    if not shut(own).any():
        return ""
    return f"shut, or smaller than a segment, for {units.duration(shut_ns(own))} in all"


def _ramp(flow: Flow, own: pd.DataFrame) -> str:
    """Return from where to where the window grew, from its first round as the limit on, also if it limits no more."""
    least, largest = own["window_min_bytes"].dropna(), flow.rtts.loc[own.index[0] :, "window_max_bytes"].max()
    if least.empty or least.iloc[0] >= largest:
        return ""
    return f"it grew from {units.exact_bytes(least.iloc[0])} to {units.exact_bytes(largest)}"


def _detail(flow: Flow, own: pd.DataFrame) -> str | None:
    if _yields(flow):
        return "yielding"
    # A reader that closes the window and one that nearly does are the same cause.
    named = longest(own.replace({"detail": {"zero window": "slow reader"}}), "detail")
    if named == "slow reader":
        return "passed on" if relay.onward(flow) else "stopped reader" if stopped_ns(flow) else named
    stood = len(own) > STOOD and (own["detail"].iloc[-STOOD:] == "buffer").all()
    return "buffer" if named == "ramp" and stood else named


def _rewritten(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a device that changed the scale of the window; None if there is no sign of one."""
    changed = None if tap.incomplete(flow) else handshake.rewritten(flow)
    if changed is None:
        return None
    return Remedy(places.path(flow), f"{changed.cause} {changed.remedy}", changed.commands)


def _stops(flow: Flow) -> str:
    """Return a sentence on a reader that stopped for a notable time, whatever the buffer; empty if it did not."""
    lasting_ns = shut_ns(flow.rtts)
    if lasting_ns < NOTABLE_SHARE * flow.summary["active_ns"]:
        return ""
    return f"Then see why the receiving program stopped reading: that shut the window for {units.duration(lasting_ns)}."


_FULL: Final = Cause(
    "The receive window held the sender back",
    _window,
    places.receiver,
    "See whether the receiving program sets SO_RCVBUF: without it, autotuning grows the window.",
    with_change("with a larger window"),
    also=_stops,
)
_SLOW: Final = Cause(
    "The receiving program read too slowly",
    _reader,
    places.receiver,
    "Look at what the receiving program does between its reads.",
    paced("as fast as the program reads"),
)

LIMIT: Final[Limit] = Limit(
    code="rwnd",
    name="receive window",
    colour=palette.BLUE,
    meaning="The window that the receiver advertised was used up.",
    usual=_FULL,
    causes={
        "buffer": _FULL,
        "zero window": _SLOW,
        "slow reader": _SLOW,
        "stopped reader": Cause(
            "The receiving program stopped reading",
            _reader,
            places.receiver,
            "See why it stopped reading: whether it waited for its disk, another program, or a lock.",
            paced("as fast as the program reads"),
        ),
        "yielding": Cause(
            "The receiver kept its window small",
            _yielding,
            places.receiver,
            "Mend nothing if this is a background transfer, such as an update of Windows: so it yields to other traffic. "
            "The settings of Delivery Optimization have the rate that it may take.",
            nothing,
            overrules=frozenset(Code),
        ),
        "passed on": Cause(
            "The receiving program read too slowly",
            _passed_on,
            _onward,
            "Mend what holds that flow: the program takes data in no faster than they go out.",
            paced("as fast as the data go out"),
            overrules=GENERAL | {Code.SLOW_READER},
        ),
        "ramp": Cause(
            "The receive window was still growing",
            _ramp,
            places.receiver,
            "Autotuning grows the window, so long transfers get past it. A larger initial buffer starts higher.",
            with_change("in a longer transfer"),
            passes=True,
            # A window that autotuning still raised is no setting that is too small.
            overrules=GENERAL | {Code.WINDOW_BELOW_BDP, Code.WHAT_IT_TAKES},
        ),
    },
    detail=_detail,
    findings=lambda flow, _: receive.limits(flow),
    first=(_rewritten, gains.of_pauses, lambda flow, _: gains.little(flow, LIMIT.name)),
    is_lifted=lambda flow: slow_part(flow) <= 1 / 2,
)
