"""An outage: nothing came back for a long time, and the sender retransmitted on timeout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import places, silence
from bdpcap.diagnosis.kinds import STATE_NAMES, rwnd
from bdpcap.diagnosis.model import Nature, longest
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.silence import Silence

__all__ = ["NATURE"]

OUTAGE_NS: Final = 3_000_000_000
"""Least stall that is the news of a flow: a timer of 1 s and its double ran out (RFC 6298 sections 2.1 and 5.5)."""
OUTAGE_SHARE: Final = 0.1
"""Share of the active time from which on a stall of `TIMER_NS` is the news, too."""
TIMER_NS: Final = 1_000_000_000
"""Retransmission timer before the first RTT is measured (RFC 6298 section 2.1)."""
SILENT: Final = 0.9
"""Share of a stall without any acknowledgment from which on nothing was acknowledged at all."""


def _has_outage(flow: Flow) -> bool:
    summary = flow.summary
    stall_ns = summary["longest_stall_ns"]
    if pd.isna(stall_ns):
        # Without an acknowledgment in the capture, only retransmissions that back off show an outage.
        own = flow.rtts[flow.rtts["limit"] == "cwnd"]
        return bool(summary["limit"] == "cwnd" and longest(own, "detail") == "outage")
    if not summary["timeouts"]:
        return False
    # A window of zero is the reader's, and its probes are no retransmissions.
    lasting_ns = flow.rtts["end_ns"] - flow.rtts["start_ns"]
    if lasting_ns[rwnd.shut(flow.rtts)].sum() >= stall_ns / 2:
        return False
    news = stall_ns >= OUTAGE_SHARE * summary["active_ns"] and stall_ns >= TIMER_NS
    return bool(stall_ns >= OUTAGE_NS or news)


def _outage(flow: Flow) -> str:
    summary = flow.summary
    if pd.isna(summary["longest_stall_ns"]):
        tries = units.number(int(summary["retransmits"]), "retransmission")
        lasted = units.duration(summary["end_ns"] - summary["start_ns"])
        return f"The capture holds no acknowledgment: {tries} in {lasted} brought none."
    limit = str(summary["limit"])
    rest = "" if limit == "cwnd" else f" Before and after it, the main limit was: {STATE_NAMES[limit]}."
    stall_ns = int(summary["longest_stall_ns"])
    quiet = _silence(flow)
    if quiet is None or quiet.since_ns is None:
        tries = units.number(int(summary["timeout_retransmits"]), "retransmission")
        return f"No acknowledgment of new data came for {units.duration(stall_ns)}, with {tries} on timeout.{rest}"
    since_ns = quiet.since_ns - (flow.capture.info.first_ns or int(summary["start_ns"]))
    since = units.duration(since_ns) if since_ns else "the start"
    waited, whole = units.duration(stall_ns), units.duration(quiet.lasted_ns)
    part = "" if quiet.lasted_ns <= stall_ns or waited == whole else f"; data waited {waited} of it"
    when = ", to the end" if quiet.to_end else part
    tries = units.number(quiet.retransmits, "retransmission")
    arrived = " next to the receiver, which answered none" if _are_unanswered(flow, quiet) else ""
    seen = f", with {tries} on timeout{arrived}"
    return f"Nothing was acknowledged for {whole}, from {since} on{when}{seen}.{'' if quiet.to_end else rest}"


def _silence(flow: Flow) -> Silence | None:
    """Return the silence that is the outage; None if acknowledgments came in it, or the packets are gone."""
    quiet = silence.of(flow)
    # Duplicate acknowledgments may go on for a while after the last that acknowledged new data.
    known = quiet is not None and quiet.lasted_ns >= SILENT * int(flow.summary["longest_stall_ns"])
    return quiet if known else None


def _are_unanswered(flow: Flow, quiet: Silence) -> bool:
    """Return whether retransmissions reached a capture at the receiver, which let them wait."""
    return flow.summary["vantage"] == "receiver" and quiet.unanswered_ns >= TIMER_NS


def _advice(flow: Flow) -> tuple[str, str]:
    quiet = None if pd.isna(flow.summary["longest_stall_ns"]) else _silence(flow)
    if quiet is None or not _are_unanswered(flow, quiet):
        return places.path(flow), "Find out why nothing came back: the path or its far end was gone."
    return (
        places.receiver(flow),
        "The data arrived next to it, and it answered nothing: see whether the host hung, or its firewall dropped them.",
    )


NATURE: Final = Nature("outage", _has_outage, _outage, _advice)
