"""The rounds that carried nearly all data of a flow, where small exchanges took most of its active time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import bursts
from bdpcap.explain import in_flight
from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.limits import IDLE
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["REST", "batches", "follow_closely", "initial_window_bytes", "lasting_ns", "rounds", "span_ns"]

REST: Final = 0.1
"""Share of a flow's bytes, or of its active time, up to which the rest is left out; a choice."""


def initial_window_bytes(flow: Flow) -> int:
    """Return the bytes of an initial window. Of both directions, the larger MSS counts: an end may send little."""
    flows = flow.capture.flows
    return INITIAL_WINDOW * int(flows.loc[flows["stream"] == flow.stream, "mss_bytes"].max())


def rounds(flow: Flow) -> pd.DataFrame | None:
    """Return the rounds with an initial window or more in flight, if small exchanges took most of the active time.

    If they did not carry nearly all data, a short run of rounds that did: on a short path, a burst needs less in flight.
    None if these rounds took half of the active time or more.
    """
    rtts, least = flow.rtts, initial_window_bytes(flow)
    own = rtts[(rtts["limit"] != IDLE) & (rtts["in_flight_max_bytes"].fillna(0) >= least)]
    if own["acked_bytes"].sum() < (1 - REST) * rtts["acked_bytes"].sum():
        run = _one_run(flow)
        if run is None or run["acked_bytes"].sum() < least:
            return None
        own = run
    own = _with_neighbours(rtts, own)
    brief = 0 < 2 * in_flight.within(flow, own).in_flight_ns < flow.summary["active_ns"]
    return own if brief else None


def _with_neighbours(rtts: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return some rounds with those that begin or end a burst of theirs: they follow at once, and carry data as fast.

    The last flight of a burst is seldom a full one.
    """
    least_per_ns = REST * own["acked_bytes"].sum() / max(1, lasting_ns(own))
    acked, lasting = rtts["acked_bytes"], (rtts["end_ns"] - rtts["start_ns"]).astype(float)
    is_own = rtts.index.to_series().isin(own.index)
    carries = is_own | ((acked > 0) & (acked >= least_per_ns * lasting))
    joins = carries & carries.shift(fill_value=False) & (rtts["start_ns"] == rtts["end_ns"].shift())
    run = (~joins).cumsum()
    return rtts.loc[carries & run.isin(run[is_own])]


def _one_run(flow: Flow) -> pd.DataFrame | None:
    """Return the rounds of a run that carried nearly all data in a small part of the active time; None without one.

    Data were in flight for most of it, and it lasted less than a second.
    """
    run = bursts.densest(flow, 1 - REST)
    own = run[run["limit"] != IDLE]
    if own.empty or own["acked_bytes"].sum() < (1 - REST) * flow.summary["payload_bytes"]:
        return None
    lasted_ns = span_ns(own)
    is_short = lasted_ns < NOTICED_NS and lasted_ns <= REST * flow.summary["active_ns"]
    return own if is_short and 2 * in_flight.within(flow, own).in_flight_ns >= lasted_ns else None


def batches(bulk: pd.DataFrame) -> str:
    """Return the number of runs of rounds between pauses, and the time from first to last; empty without pauses."""
    if follow_closely(bulk):
        return ""
    several = int((bulk["start_ns"] != bulk["end_ns"].shift()).sum())
    return f"{several} bursts within {units.duration(span_ns(bulk))}"


def follow_closely(bulk: pd.DataFrame) -> bool:
    """Return whether the pauses between some rounds last less in all than an answer that seems to come at once."""
    return span_ns(bulk) - lasting_ns(bulk) < in_flight.AT_ONCE_NS


def span_ns(some: pd.DataFrame) -> int:
    """Return the time from the first of some rounds to the last, in ns."""
    return int(some["end_ns"].max() - some["start_ns"].min())


def lasting_ns(some: pd.DataFrame) -> int:
    """Return the time of some rounds without the pauses between them, in ns."""
    return int((some["end_ns"] - some["start_ns"]).sum())
