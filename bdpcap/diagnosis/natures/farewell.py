"""The end of a connection: a farewell that its peer, which had closed or gone, did not acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis.model import Nature, Shown, longest
from bdpcap.limits.evidence.writes import FAREWELL_BYTES
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE", "is_end", "left_bytes"]

LARGE: Final = 0.25
"""Share of a flow's payload from which on the last data are no farewell, but a part of what it was for; a choice."""


def is_end(flow: Flow) -> bool:
    """Return whether the longest stall of a flow was the wait for a farewell of a connection that was closed or reset.

    Data that are a large part of a flow are no farewell.
    """
    fin, reset_by = flow.capture._contents.streams.ending(flow.stream)
    most = min(FAREWELL_BYTES, LARGE * int(flow._counts["payload_bytes"]))
    if not (fin or reset_by is not None) or left_bytes(flow) >= most:
        return False
    stall_ns, lasting_ns = flow.summary["longest_stall_ns"], _lasting_ns(_last(flow))
    return bool(lasting_ns and (pd.isna(stall_ns) or lasting_ns >= stall_ns))


def _is_farewell(flow: Flow) -> bool:
    """Return whether such a wait seems to have held the flow."""
    if flow.summary["limit"] != "cwnd":
        return False
    own = flow.rtts[flow.rtts["limit"] == "cwnd"]
    return longest(own, "detail") == "outage" and is_end(flow)


def left_bytes(flow: Flow) -> int:
    """Return the payload that was not acknowledged at the end."""
    return max(0, int(flow._counts["payload_bytes"]) - int(flow._counts["acked_bytes"]))


def _last(flow: Flow) -> pd.DataFrame:
    """Return the rounds at the end in which data waited, and none were acknowledged."""
    # Without an acknowledgment in the capture, nothing is known to be in flight.
    sent = (flow.rtts["in_flight_max_bytes"].fillna(0) > 0) | (flow.rtts["retransmits"] > 0)
    waiting = (flow.rtts["acked_bytes"] == 0) & sent
    return flow.rtts[waiting[::-1].cummin()[::-1]]


def _lasting_ns(rounds: pd.DataFrame) -> int:
    return int((rounds["end_ns"] - rounds["start_ns"]).sum())


def _farewell(flow: Flow) -> str:
    last, left = _last(flow), left_bytes(flow)
    what = f"its last {units.exact_bytes(left)}" if left else "its FIN"
    tries = units.number(int(last["retransmits"].sum()), "retransmission")
    _, reset_by = flow.capture._contents.streams.ending(flow.stream)
    until = "" if reset_by is None else ", until a reset"
    carried = units.data_size(flow.summary["payload_bytes"])
    waited = units.duration(_lasting_ns(last))
    return f"Of {carried}, {what} stayed unacknowledged for {waited}, with {tries}{until}."


def _shown(flow: Flow) -> Shown:
    last = _last(flow)
    frames, counts = flow._hidden.loc[last.index], flow._counts
    return Shown(
        int(frames["first_frame"].min()),
        int(counts["last_frame"]),
        int(last["start_ns"].min()),
        int(counts["end_ns"]),
    )


NATURE: Final = Nature(
    "the end of a connection",
    _is_farewell,
    _farewell,
    lambda _: ("", "Nothing to mend: the connection was closed, and all but a farewell had arrived."),
    _shown,
)
