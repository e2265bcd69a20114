"""A short transfer that took no more round trips than slow start needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.moved import pauses
from bdpcap.diagnosis.natures.short import ends_by_itself, shown
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain import in_flight
from bdpcap.explain.capacity import doublings
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]

SETUP_ROUNDS: Final = 2
"""Round trips beyond slow start's own that a transfer may take: TLS, or the request (RFC 8446 section 2)."""
FLIGHTS: Final = 2
"""Flights that a round may have: seen away from the sender, it begins and ends within one."""
LEAST_GROWTH: Final = 1.3
"""Growth from one flight to the next below which it is no slow start; a choice.

With an acknowledgment for two segments each, a flight is 1.5 times the one before (RFC 5681 section 3.1).
"""
FEWEST_DOUBLINGS: Final = 3
"""Fewest rounds of slow start that show it: from 70 segments on."""


def _is_slow_start(flow: Flow) -> bool:
    """Return whether a transfer took no more round trips than slow start needs from an initial window of ten.

    The largest message alone must show it: several small ones wait for their peer between them.
    """
    summary = flow.summary
    rtt_ns = summary["rtt_min_ns"]
    # A window of an end that was full for most of the time took it, however few round trips that were.
    filled = max(summary["rwnd_share"], summary["sndbuf_share"]) > 1 / 2
    if pd.isna(rtt_ns) or rtt_ns <= 0 or filled or not ends_by_itself(flow):
        return False
    largest_bytes = _largest_message_bytes(flow)
    # What left in one flight waited for no congestion window.
    mss_bytes = int(summary["mss_bytes"])
    if (
        doublings(largest_bytes, mss_bytes) < FEWEST_DOUBLINGS
        or summary["in_flight_max_bytes"] >= largest_bytes
    ):
        return False
    # Packets that were sent again disturb the growth.
    if not summary["retransmits"] and _is_another_growth(flow):
        return False
    least = doublings(int(summary["payload_bytes"]), mss_bytes)
    # A connection that began before the capture may have left slow start long ago: its data take fewer round trips.
    if not flow._counts["handshake"] and in_flight.whole(flow).in_flight_ns < least * rtt_ns:
        return False
    # A server that thinks first takes no round trip of the transfer.
    programs = 0 if summary["limit"] == "app" else summary["app_share"]
    return bool(summary["active_ns"] * (1 - programs) <= (least + SETUP_ROUNDS) * rtt_ns)


def _is_another_growth(flow: Flow) -> bool:
    """Return whether flights begin above those of slow start from an initial window, or grow less from one to the next.

    Small messages before it open the window by their bytes (RFC 5681 section 3.1). The last flight may be a rest.
    """
    rtts, least = flow.rtts, initial_window_bytes(flow)
    large = rtts[rtts["in_flight_max_bytes"].fillna(0) > least]
    if large.empty:
        return False
    opened = least + int(rtts.loc[rtts["round"] < large["round"].iloc[0], "acked_bytes"].sum())
    if large["in_flight_max_bytes"].iloc[0] > FLIGHTS * opened:
        return True
    carried = rtts["acked_bytes"][rtts["acked_bytes"] >= least]
    growth = (carried / carried.shift()).iloc[1:-1]
    return bool(growth.median() < LEAST_GROWTH)


def _largest_message_bytes(flow: Flow) -> int:
    """Return the bytes of the flow's largest request or response; all of them unless exchanges carried half."""
    wrote = flow.exchanges["request_bytes" if flow.is_from_client else "response_bytes"]
    every = int(flow.summary["payload_bytes"])
    return int(wrote.max()) if 2 * wrote.sum() >= every else every


def _slow_start(flow: Flow) -> str:
    rtt_ns, moved = flow.summary["rtt_min_ns"], in_flight.whole(flow)
    # Each request takes a round trip, whatever it fetches.
    asked = len(flow._requests)
    several = f" for {units.number(asked, 'request')}" if asked > 1 else ""
    trips = f"{moved.in_flight_ns / rtt_ns:.1f} round trips of {units.duration(rtt_ns)}{several}"
    begun = (
        "TLS and slow start from ten segments take"
        if _has_tls(flow)
        else "slow start from ten segments takes"
    )
    return (
        f"{moved.words()}, {trips}{pauses(flow)}: {begun} about as long. "
        f"Nothing was {'lost' if flow.summary['retransmits'] else 'retransmitted'}."
    )


def _has_tls(flow: Flow) -> bool:
    """Return whether the handshake of TLS is a part of the transfer."""
    return bool(flow.exchanges["tls_handshake"].any())


def _advice(flow: Flow) -> tuple[str, str]:
    took = "TLS and slow start alone take" if _has_tls(flow) else "slow start alone takes"
    shorter = "A nearer server" if _is_kept(flow) else "A kept connection or a nearer server"
    return "", f"Nothing to mend: {took} that long. {shorter} saves round trips."


def _is_kept(flow: Flow) -> bool:
    """Return whether no handshake is in the time of the data: the connection had been open for longer than a second."""
    begun_ns = flow.rtts.loc[flow.rtts["in_flight_max_bytes"].fillna(0) > 0, "start_ns"]
    return not _has_tls(flow) and bool(begun_ns.min() - flow.summary["start_ns"] >= NOTICED_NS)


NATURE: Final = Nature(
    "slow start, a short transfer",
    _is_slow_start,
    _slow_start,
    _advice,
    shown,
)
