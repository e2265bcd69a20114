"""Bursts of a flow's data, between pauses that a person notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.explain.exchange_shares import trip_ns
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.limits.evidence.writes import TLS_FAREWELL_BYTES
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["counted", "densest", "ends_in_farewell", "largest", "nothing_to_send_ns", "pauses_ns", "sizes"]

_FIN_BYTES: Final = 1
"""Sequence numbers of a FIN, which its acknowledgment covers (RFC 9293 section 3.4)."""


TRIPS: Final = 2
"""Round trips without data in flight, next to the receiver, up to which they may be a slower round trip; a choice."""


def _with_data(flow: Flow) -> pd.DataFrame:
    """Return the rounds in which data were in flight."""
    rtts = flow.rtts
    return rtts[(rtts["acked_bytes"] > _FIN_BYTES) | (rtts["in_flight_max_bytes"].fillna(0) > 0)]


def _before_ns(rounds: pd.DataFrame) -> pd.Series[int]:
    """Return the time between each round's start and the end of the data before it, ns.

    A pause that begins with a round has the data that were acknowledged at that time, with nothing in flight.
    """
    ends_ns = rounds["end_ns"].where(rounds["in_flight_max_bytes"].fillna(1) > 0, rounds["start_ns"])
    return rounds["start_ns"] - ends_ns.shift()


def _numbers(rounds: pd.DataFrame) -> pd.Series[int]:
    """Return the number of the burst of each round: a pause that a person notices ends one."""
    return (_before_ns(rounds) >= NOTICED_NS).cumsum().astype("int64")


def sizes(flow: Flow) -> pd.Series[int]:
    """Return the bytes of each burst: those acknowledged, or else those in flight."""
    rounds = _with_data(flow)
    each = rounds.groupby(_numbers(rounds))
    acknowledged: pd.Series[int] = each["acked_bytes"].sum()
    return acknowledged.where(acknowledged > 0, each["in_flight_max_bytes"].max().fillna(0).astype("int64"))


def largest(flow: Flow) -> pd.DataFrame:
    """Return the rounds of the burst with most bytes; none without data."""
    rounds, carried = _with_data(flow), sizes(flow)
    return rounds if carried.empty else rounds[_numbers(rounds) == carried.idxmax()]


def densest(flow: Flow, part: float) -> pd.DataFrame:
    """Return the shortest run of rounds with this part of all bytes, pauses or not; none without data."""
    rounds = _with_data(flow)
    before = np.concatenate([[0], rounds["acked_bytes"].cumsum().to_numpy(dtype=float)])
    # The run from each round on has to reach so many bytes.
    last = np.searchsorted(before, before[:-1] + part * before[-1])
    first = np.flatnonzero(last < len(before))
    if not len(first) or not before[-1]:
        return rounds.iloc[:0]
    ends_ns = rounds["end_ns"].to_numpy()[last[first] - 1]
    shortest = int((ends_ns - rounds["start_ns"].to_numpy()[first]).argmin())
    return rounds.iloc[first[shortest] : last[first[shortest]]]


def counted(flow: Flow) -> str:
    """Return the number of bursts between pauses that a person notices; empty for one."""
    carried = sizes(flow)
    several = len(carried) - ends_in_farewell(flow)
    return f"{several} bursts, at least {units.duration(NOTICED_NS)} apart" if several > 1 else ""


def ends_in_farewell(flow: Flow) -> bool:
    """Return whether the last of several bursts is a FIN alone, or a farewell of TLS with it."""
    carried = sizes(flow)
    if len(carried) < 2 or carried.iloc[-1] > _FIN_BYTES + TLS_FAREWELL_BYTES:
        return False
    if carried.iloc[-1] <= _FIN_BYTES:
        return True
    closed, _ = flow.capture._contents.streams.ending(flow.stream)
    return closed and bool(flow.exchanges["tls_handshake"].any())


def nothing_to_send_ns(flow: Flow) -> int:
    """Return the time without data in which a flow waited for its program or its peer; round trips are left out.

    After a loss, too, nothing is in flight next to the receiver: that time is none of these.
    """
    rounds = flow.rtts
    with_data = rounds.index.isin(_with_data(flow).index)
    empty = ~with_data & rounds["limit"].isin(("app", "idle"))
    runs = (rounds["end_ns"] - rounds["start_ns"])[empty].groupby((~empty).cumsum()[empty])
    lasting_ns = runs.sum()
    return int(lasting_ns[lasting_ns > TRIPS * (trip_ns(flow) or 0)].sum())


def pauses_ns(flow: Flow) -> pd.Series[int]:
    """Return the times between bursts."""
    rounds = _with_data(flow)
    return _before_ns(rounds)[_numbers(rounds).diff() > 0]
