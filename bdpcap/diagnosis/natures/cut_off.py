"""A transfer within which the capture ends: its beginning is short, the transfer may be long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures import short, slow_start
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain.exchange_shares import trip_ns

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]

FULL_ROUNDS: Final = 2
"""Rounds at the end without a short segment that show more data: a short one may have been sent in the one before."""


def _is_cut_off(flow: Flow) -> bool:
    """Return whether a flow looks like a short transfer, and the capture ends before its sender can have ended it.

    The sender had more data than its last full segments, or nothing more by chance: a message in full segments alone.
    """
    if flow.summary["payload_bytes"] < initial_window_bytes(flow):
        return False
    return _goes_on(flow) and (slow_start.NATURE.holds(flow) or short.NATURE.holds(flow))


def _goes_on(flow: Flow) -> bool:
    """Return whether the capture ends within a round trip of a burst with most bytes of a flow, which nothing ended.

    No short segment, FIN or reset did. Data are in flight at the end, or the sender's answer to the last acknowledgment
    had not come to the tap.
    """
    busy = flow.rtts["in_flight_max_bytes"].fillna(0) > 0
    rtt_ns, last_ns = trip_ns(flow), flow.capture.info.last_ns
    if not busy.any() or rtt_ns is None or last_ns is None:
        return False
    busy = busy.loc[: busy[busy].index[-1]]
    burst = busy[::-1].cummin()[::-1].reindex(flow.rtts.index, fill_value=False)
    counts, before_bytes = flow._counts, int(flow.rtts["acked_bytes"][~burst].sum())
    since_ns = last_ns - int(flow.rtts["end_ns"][burst].iloc[-1])
    fin, reset_by = flow.capture._contents.streams.ending(flow.stream)
    ended = fin or reset_by is not None or flow._hidden["short_segments"][burst].tail(FULL_ROUNDS).any()
    if ended or since_ns > rtt_ns or 2 * before_bytes > counts["payload_bytes"]:
        return False
    to_sender_ns = counts["sender_side_ns"] or 0
    return bool(since_ns < to_sender_ns or counts["payload_bytes"] > counts["acked_bytes"])


NATURE: Final = Nature(
    "a transfer that the capture cuts off",
    _is_cut_off,
    lambda flow: (
        f"{short.NATURE.sentence(flow)} The capture ends within the transfer: its last segments are full."
    ),
    lambda flow: (
        places.either(flow),
        "Capture the whole transfer: its first round trips do not show what limits the others.",
    ),
    short.shown,
)
"""A sender that has more data sends full segments; a shorter one ends its data (RFC 9293 section 3.9.1.2)."""
