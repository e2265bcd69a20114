"""Pauses of a flow: the times from the acknowledgment of all it had sent to its next send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MANY", "Pauses", "are_equal", "of", "period_ns"]

FEWEST: Final = 3
"""Pauses with data of the peer that show whom the program waits for: one or two may be a greeting."""
SPREAD: Final = 0.1
"""Difference of the intervals from their median, over it, up to which they are equal; users and servers vary by more."""
EQUAL: Final = 0.9
"""Share of the intervals that are equal, from which on they show a timer: a login or an outage breaks its rhythm."""
MANY: Final = 10
"""Fewest equal intervals between bursts of any size that show a timer; a choice."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """Pauses of one flow, and whose time they were.

    Those of at most half a round trip are part of a round, and left out.
    """

    count: int
    own: int
    """Pauses in which the sender had the turn for a part of the time."""
    own_ns: int
    """Time of these parts."""
    after_peer: int
    """Pauses in which data of the peer came."""
    cause: str | None
    """``peer's data`` if more than half of all time passed until data of the peer, ``response time`` if since then.

    None, unless such data came in most pauses, and in three or more.
    """


def of(rounds: pd.DataFrame) -> Pauses:
    """Return the pauses of a flow, from all its rows of ``rtts``."""
    empty = rounds["in_flight_max_bytes"] == 0
    sends = (~empty).cumsum()
    # Before the first send and after the last, there is no pause.
    between = rounds[empty & (sends > 0) & (sends < sends.max())]
    pause, lasting_ns = sends[between.index], between["end_ns"] - between["start_ns"]
    own = between["limit"] == "app"
    peers, owed = between["rule"] == "idle-turn", between["detail"] == "response time"
    count, after_peer = pause.nunique(), pause[peers | owed].nunique()
    parts = {"peer's data": lasting_ns[peers].sum(), "response time": lasting_ns[owed].sum()}
    most = max(parts, key=lambda name: int(parts[name]))
    caused = after_peer >= FEWEST and 2 * after_peer > count and 2 * parts[most] > lasting_ns.sum()
    return Pauses(
        count=count,
        own=pause[own].nunique(),
        own_ns=int(lasting_ns[own].sum()),
        after_peer=after_peer,
        cause=most if caused else None,
    )


def period_ns(rounds: pd.DataFrame) -> int | None:
    """Return the time from one burst of a flow to the next, ns, if a timer made it: the times are equal; else None."""
    sends = rounds["in_flight_max_bytes"] > 0
    begins = rounds.loc[sends & ~sends.shift(fill_value=False), "start_ns"]
    between = begins.diff().dropna()
    return int(between.median()) if len(between) >= MANY and are_equal(between) else None


def are_equal(some: pd.Series[float]) -> bool:
    """Return whether some intervals, or sizes, are so equal that a timer made them; False without any."""
    usual = some.median()
    return bool(((some - usual).abs() <= SPREAD * usual).mean() >= EQUAL)
