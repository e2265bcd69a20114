"""The nature of a flow that is no bulk transfer held by one limit: an outage, requests, a short transfer, an idle one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import places, silence
from bdpcap.diagnosis.kinds import STATE_NAMES
from bdpcap.diagnosis.model import longest
from bdpcap.explain import gate
from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.explain.findings import Code, found, requests
from bdpcap.explain.once import once
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bdpcap.capture import Flow
    from bdpcap.explain.exchange_shares import Shares

__all__ = ["Nature", "nature", "of_packets", "speed"]

OUTAGE_NS: Final = 3_000_000_000
"""Least stall that is the news of a flow: a timer of 1 s and its double ran out (RFC 6298 sections 2.1 and 5.5)."""
OUTAGE_SHARE: Final = 0.1
"""Share of the active time from which on a stall of `TIMER_NS` is the news, too."""
TIMER_NS: Final = 1_000_000_000
"""Retransmission timer before the first RTT is measured (RFC 6298 section 2.1)."""
SILENT: Final = 0.9
"""Share of a stall without any acknowledgment from which on nothing was acknowledged at all."""
NOTICED_NS: Final = 1_000_000_000
"""Wait from which on a person notices it (Nielsen, Usability Engineering, 1993: 1.0 second)."""
SETUP_ROUNDS: Final = 2
"""Round trips beyond slow start's own that a transfer may take: TLS, or the request (RFC 8446 section 2)."""
QUICK_ROUNDS: Final = 2
"""Round trips that a request takes at most if its response fills no path: the request's, and one of the response."""
FEWEST_DOUBLINGS: Final = 3
"""Fewest rounds of slow start that show it: from 70 segments on."""


@dataclass(frozen=True, slots=True)
class Nature:
    """What a flow is, and who is to act on it."""

    title: str
    """First words of the verdict."""
    sentence: Callable[[Flow], str]
    """Returns the verdict; an outage reads the flow's events."""
    advice: Callable[[Flow], tuple[str, str]]
    """Returns the place to act, empty if nothing is to be mended, and the advice."""


@once
def nature(flow: Flow) -> Nature | None:
    """Return the nature of a flow; None if its main limit is its verdict."""
    if flow.summary["active_ns"] == 0:
        return None
    return next((one for one, holds in _NATURES if holds(flow)), None)


def of_packets(flows: Iterable[Flow]) -> list[Flow]:
    """Return the flows whose verdict or notes are read from their packets, by `bdpcap.diagnosis.silence`."""
    return [flow for flow in flows if nature(flow) is OUTAGE or (flow.rtts["detail"] == "zero window").any()]


def speed(flow: Flow) -> str:
    """Return size, time and rate of a flow that was idle for half of its life or more; empty for any other."""
    summary = flow.summary
    idle_ns = summary["end_ns"] - summary["start_ns"] - summary["active_ns"]
    if summary["idle_share"] < 1 / 2 or summary["active_ns"] == 0:
        return ""
    return f"{_moved(flow)}; for another {units.duration(idle_ns)} the connection was open and idle."


def _moved(flow: Flow) -> str:
    """Return size, time and rate, each to the digits that a person compares."""
    summary = flow.summary
    rate = gate.reached_bps(summary["active_throughput_bps"])
    at = "" if rate is None else f" at {units.rounded(rate, 'bit/s')}"
    lasted = units.duration(summary["active_ns"])
    return f"{units.data_size(summary['payload_bytes'])} in {lasted}{at}"


def _ends_by_itself(flow: Flow) -> bool:
    """Return whether the main limit is one that time lifts, or the program's: growth without loss, or no data."""
    held = str(flow.summary["limit"])
    details = set(flow.rtts.loc[flow.rtts["limit"] == held, "detail"].dropna())
    if flow.summary["retransmitted_bytes"]:
        return False
    growing = {"rwnd": {"ramp"}, "cwnd": {"slow start", "avoidance"}}
    return held == "app" or (held in growing and details <= growing[held])


# an outage


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
    shut = flow.rtts[flow.rtts["detail"] == "zero window"]
    if (shut["end_ns"] - shut["start_ns"]).sum() >= stall_ns / 2:
        return False
    news = stall_ns >= OUTAGE_SHARE * summary["active_ns"] and stall_ns >= TIMER_NS
    return bool(stall_ns >= OUTAGE_NS or news)


def _outage(flow: Flow) -> str:
    summary = flow.summary
    if pd.isna(summary["longest_stall_ns"]):
        tries = units.number(int(summary["retransmits"]), "retransmission")
        lasted = units.duration(summary["end_ns"] - summary["start_ns"])
        return f"The capture holds no acknowledgment: {tries} in {lasted} brought none."
    stall_ns = int(summary["longest_stall_ns"])
    quiet = silence.of(flow)
    when, to_end, again = "", False, int(summary["timeout_retransmits"])
    # Duplicate acknowledgments may go on for a while after the last that acknowledged new data.
    if quiet is None or quiet.since_ns is None or quiet.lasted_ns < SILENT * stall_ns:
        said = f"No acknowledgment of new data came for {units.duration(stall_ns)}"
    else:
        to_end, again = quiet.to_end, quiet.retransmits
        since_ns = quiet.since_ns - (flow.capture.info.first_ns or int(summary["start_ns"]))
        since = units.duration(since_ns) if since_ns else "the start"
        waited, whole = units.duration(stall_ns), units.duration(quiet.lasted_ns)
        said = f"Nothing was acknowledged for {whole}, from {since} on"
        part = "" if quiet.lasted_ns <= stall_ns or waited == whole else f"; data waited {waited} of it"
        when = ", to the end" if to_end else part
    limit = str(summary["limit"])
    rest = f" Before and after it, the main limit was: {STATE_NAMES[limit]}."
    tries = units.number(again, "retransmission")
    return f"{said}{when}, with {tries} on timeout.{'' if limit == 'cwnd' or to_end else rest}"


OUTAGE: Final = Nature(
    "outage",
    _outage,
    lambda flow: (places.path(flow), "Find out why nothing came back: the path or its far end was gone."),
)


# slow start


def _is_slow_start(flow: Flow) -> bool:
    """Return whether a transfer took no more round trips than slow start needs from an initial window of ten."""
    summary = flow.summary
    rtt_ns = summary["rtt_min_ns"]
    if pd.isna(rtt_ns) or rtt_ns <= 0 or not _ends_by_itself(flow):
        return False
    least = _doublings(flow)
    return bool(least >= FEWEST_DOUBLINGS and summary["active_ns"] <= (least + SETUP_ROUNDS) * rtt_ns)


def _doublings(flow: Flow) -> int:
    """Return the round trips that slow start takes: 10 segments, then 20, 40 and so on (RFC 5681, RFC 6928)."""
    first = INITIAL_WINDOW * max(1, int(flow.summary["mss_bytes"]))
    return math.ceil(math.log2(1 + float(flow.summary["payload_bytes"]) / first))


def _slow_start(flow: Flow) -> str:
    rtt_ns = flow.summary["rtt_min_ns"]
    took = math.ceil(flow.summary["active_ns"] / rtt_ns)
    return (
        f"{units.data_size(flow.summary['payload_bytes'])} took {took} round trips of {units.duration(rtt_ns)}; "
        f"slow start alone needs {_doublings(flow)}, from ten segments on. Nothing was retransmitted."
    )


SLOW_START: Final = Nature(
    "slow start, a short transfer",
    _slow_start,
    lambda _: (
        "",
        "Nothing to mend: the transfer ended in slow start. A kept connection or a nearer server saves round trips.",
    ),
)


# requests


def _asks(flow: Flow) -> bool:
    """Return whether a stream is requests one after the other that fill no path: small, or done in two round trips.

    A stream of which one exchange has most bytes is that transfer.
    """
    shares = requests.told(flow) if flow.summary["limit"] == "app" else None
    # Exchanges that end within a tick of the capture's clock show no time.
    if shares is None or flow.exchanges["duration_ns"].median() <= 0:
        return False
    each = flow.exchanges
    each_bytes, rtt_ns = each["request_bytes"] + each["response_bytes"], flow.summary["rtt_min_ns"]
    if each_bytes.max() > each_bytes.sum() / 2:
        return False
    quick = pd.notna(rtt_ns) and each["duration_ns"].median() <= QUICK_ROUNDS * rtt_ns
    return bool(quick or each_bytes.mean() < INITIAL_WINDOW * flow.summary["mss_bytes"])


def _requests(flow: Flow) -> str:
    shares = requests.told(flow)
    if shares is None:
        return ""
    each_ns = int(flow.exchanges["duration_ns"].median())
    usual = max(shares.medians_ns, key=lambda side: shares.medians_ns[side])
    took_ns, rtt_ns = shares.medians_ns[usual], flow.summary["rtt_min_ns"]
    if usual != "network":
        share = f"{units.duration(took_ns)} of it by the {usual}"
    elif usual == next(iter(shares.parts)) and pd.notna(rtt_ns) and took_ns <= 2 * rtt_ns:
        share = f"round trips ({units.duration(took_ns)}), not bandwidth"
    else:
        share = f"{units.duration(took_ns)} of it on the network"
    number = units.number(shares.count, "request")
    return f"{number} one after the other, {units.duration(each_ns)} each in the median: {share}.{_sum(flow, shares)}"


def _sum(flow: Flow, shares: Shares) -> str:
    """Return a sentence on the side that took most of the time, and on a single wait that is half of it."""
    side, part = next(iter(shares.parts.items()))
    longest = flow.exchanges[f"{side}_ns"].max()
    once = pd.notna(longest) and longest >= part * shares.lasting_ns / 2
    wait = f", {units.duration(longest)} of it at once" if once else ""
    who = {
        "network": "Round trips and transfer",
        "client": "Pauses of the client",
        "server": "The server's answers",
    }
    return f" {who[side]} took {units.share(part)} of the time{wait}."


def _requests_advice(flow: Flow) -> tuple[str, str]:
    shares = requests.told(flow)
    side = "" if shares is None else next(iter(shares.parts))
    first = flow.exchanges.iloc[0]
    client, server = host(str(first["client"])), host(str(first["server"]))
    if client == server:
        return "", "Nothing to mend on a path: both programs run on one host, and they decide."
    if side == "client":
        return (
            "",
            f"Nothing to mend on the path or the server: the client {client}, its program or its user, waits.",
        )
    finding = found(flow).of(Code.REQUEST_RESPONSE)
    advice = "" if finding is None else finding.remedy
    return (f"the server, {server}" if side == "server" else f"the client, {client}"), advice


REQUESTS: Final = Nature("requests and responses", _requests, _requests_advice)


# a short transfer


def _short(flow: Flow) -> str:
    return speed(flow) or f"{_moved(flow)}."


SHORT: Final = Nature(
    "a short transfer",
    _short,
    lambda _: ("", "Nothing to mend: the data took no time that a person notices."),
)

LITTLE: Final = Nature(
    "little data, now and then",
    _short,
    lambda _: (
        "",
        "Nothing to mend: so little data never waits for TCP or the path; the program sets the pace.",
    ),
)


def _is_short(flow: Flow) -> bool:
    return bool(flow.summary["active_ns"] < NOTICED_NS) and _ends_by_itself(flow)


def _is_little(flow: Flow) -> bool:
    """Return whether a program gave TCP less than an initial window in all; that much no limit holds."""
    summary = flow.summary
    few = summary["payload_bytes"] < INITIAL_WINDOW * summary["mss_bytes"]
    return bool(few and summary["limit"] == "app") and _ends_by_itself(flow)


_NATURES: Final = (
    (OUTAGE, _has_outage),
    (SLOW_START, _is_slow_start),
    (REQUESTS, _asks),
    (SHORT, _is_short),
    (LITTLE, _is_little),
)
"""Natures and their conditions, the gravest first: the first that holds is the flow's."""
