"""A receiver that stopped reading: its window closed, and never opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.kinds import rwnd
from bdpcap.diagnosis.model import Nature, Shown
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.words import units
from bdpcap.words.endpoints import both

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["NATURE"]


def _is_stopped(flow: Flow) -> bool:
    """Return whether a window that was open was closed at the end, for a time that a person notices."""
    if flow._counts["window_last_bytes"] != 0 or not (flow.rtts["window_max_bytes"].fillna(0) > 0).any():
        return False
    return rwnd.shut_ns(_last(flow)) >= NOTICED_NS


def _last(flow: Flow) -> pd.DataFrame:
    """Return the rounds at the end in which the window was closed, or too small for a segment."""
    return flow.rtts[rwnd.shut(flow.rtts)[::-1].cummin()[::-1]]


def _falling(flow: Flow) -> pd.DataFrame:
    """Return the rounds since the window was as large as it ever was, that round included."""
    windows = flow.rtts["window_max_bytes"]
    return flow.rtts.loc[windows[windows == windows.max()].index[-1] :]


def _stopped(flow: Flow) -> str:
    falling, last = _falling(flow), _last(flow)
    fell_ns = int(falling["end_ns"].iloc[0])
    since_ns = fell_ns - flow.capture._contents.begin_ns(fell_ns)
    largest = units.exact_bytes(falling["window_max_bytes"].iloc[0])
    _, receiver = both(flow.sender, flow.receiver)
    _, by = flow.capture._contents.streams.ending(flow.stream)
    reset = by is not None and flow.is_from_client == (by == 1)
    until = "it reset the connection" if reset else "the end"
    return (
        f"From {units.duration(since_ns)} on, the window fell from {largest} to 0, and never opened again: the program "
        f"on {receiver} had stopped reading. For {units.duration(rwnd.shut_ns(last))}, until {until}, the window held no "
        "segment."
    )


def _shown(flow: Flow) -> Shown:
    falling, counts = _falling(flow), flow._counts
    frames = flow._hidden.loc[falling.index]
    return Shown(
        int(frames["first_frame"].iloc[0]),
        int(counts["last_frame"]),
        int(falling["start_ns"].iloc[0]),
        int(counts["end_ns"]),
    )


NATURE: Final = Nature(
    "a receiver that stopped reading",
    _is_stopped,
    _stopped,
    lambda flow: (
        places.receiver(flow),
        "See in the log of the receiving program why it stopped reading: whether it hung, waited for another, or ended.",
    ),
    _shown,
)
"""A closed window has no room for the next data, since the program left those before unread (RFC 9293 section 3.8.6)."""
