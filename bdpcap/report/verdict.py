"""The verdict on a flow in words: one sentence, advice, the arithmetic, and the frames that show it best."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.diagnosis.decide import cause
from bdpcap.diagnosis.kinds import rwnd
from bdpcap.diagnosis.model import Shown
from bdpcap.diagnosis.natures import nature
from bdpcap.explain import gate
from bdpcap.explain.capacity import (
    Basis,
    basis,
    is_burst,
    known_bdp,
    known_bps,
    sent_a_window,
    spoken,
    spoken_bdp,
)
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.once import once
from bdpcap.explain.sent_again import of_sent
from bdpcap.limits import IDLE, LIMITS
from bdpcap.limits.stripes import Stripe, stripes
from bdpcap.words import rates, units

if TYPE_CHECKING:
    from bdpcap.capture import Flow


OWN_RATE: Final = 1.2
"""Ratio of a path's least rate to a flow's below which the flow itself is the evidence for that bound."""


def shares(summary: pd.Series[Any]) -> list[tuple[str, float]]:
    """Return the limits of a flow with their shares of its active time, longest first; shares of 0 are left out."""
    held = [(limit, float(summary[f"{limit}_share"])) for limit in LIMITS]
    return sorted(((limit, part) for limit, part in held if part > 0), key=lambda item: -item[1])


@dataclass(frozen=True, slots=True)
class Held:
    """A limit of a flow: the time and the rounds under it."""

    limit: str
    share: float
    lasting_ns: int
    rounds: int
    confidence: float
    details: str
    """The limit's details with their shares of the flow's active time, longest first; may be empty."""


def held(flow: Flow) -> list[Held]:
    """Return the limits of a flow with their times, longest first."""
    rtts = flow.rtts[["limit", "detail", "confidence"]]
    rtts = rtts.assign(lasting=flow.rtts["end_ns"] - flow.rtts["start_ns"])
    total = max(1, int(rtts.loc[rtts["limit"] != IDLE, "lasting"].sum()))
    limits = []
    for limit, part in shares(flow.summary):
        own = rtts[rtts["limit"] == limit]
        lasting = int(own["lasting"].sum())
        details = own.groupby("detail")["lasting"].sum().sort_values(ascending=False, kind="stable")
        limits.append(
            Held(
                limit=limit,
                share=part,
                lasting_ns=lasting,
                rounds=len(own),
                confidence=float((own["confidence"] * own["lasting"]).sum()) / max(1, lasting),
                details=", ".join(f"{name} {units.share(time / total)}" for name, time in details.items()),
            )
        )
    return limits


@once
def sentence(flow: Flow) -> str:
    """Return the verdict: the main limit, its share of active time and the reason; then other limits with 10 % or more.

    Then what the sending kernel's account overruled, and idle time, each from 10 %. The nature of a flow that is no bulk
    transfer is its verdict.
    """
    if unseen := _unseen(flow):
        return unseen
    kind = nature(flow)
    if kind is not None:
        return f"{kind.title.capitalize()}: {kind.sentence(flow)}"
    summary = flow.summary
    part = units.spoken_share(summary[f"{summary['limit']}_share"])
    lasting = units.duration(summary["active_ns"])
    return f"{_reason(flow, f' for {part} of {lasting}')}{_idle(summary)}"


def reason(flow: Flow) -> str:
    """Return the verdict without its share of time and without idle time, which the first screen gives apart."""
    return _unseen(flow) or _reason(flow, "")


def _reason(flow: Flow, share: str) -> str:
    why, own = cause(flow)
    words = why.reason(flow, own)
    others = [
        f"{LIMIT_NAMES[other]} {units.share(part)}"
        for other, part in shares(flow.summary)
        if other != flow.summary["limit"] and part >= NOTABLE_SHARE
    ]
    also = f" Also: {', '.join(others)}." if others else ""
    return f"{why.headline}{share}{': ' if words else ''}{words}.{also}{_overruled(flow)}"


def _unseen(flow: Flow) -> str:
    """Return a sentence on a flow whose time the capture does not show; empty for any other."""
    summary = flow.summary
    if summary["packets"] == 1:
        return "A single packet carried its data, so nothing shows what held the sender back."
    if summary["end_ns"] <= summary["start_ns"]:
        times = (
            "Most packets bear no valid time"
            if gate.is_untimed(flow.capture.info)
            else "Its packets bear one time"
        )
        return f"{times}, so nothing shows what held the sender back."
    if summary["active_ns"] == 0:
        return "Its data took less time than the capture shows, so nothing shows what held the sender back."
    return ""


def _overruled(flow: Flow) -> str:
    """Return a sentence on the limit that the sending kernel's account overruled for longest; empty below 10 %."""
    if flow.capture.host is None:
        return ""
    rtts = flow.rtts[flow.rtts["overruled"].notna()]
    lasting: dict[tuple[str, str], int] = defaultdict(int)
    for before, after, start, end in zip(
        *(rtts[name] for name in ("overruled", "limit", "start_ns", "end_ns")), strict=True
    ):
        lasting[before, after] += end - start
    (before, after), longest = max(lasting.items(), key=lambda item: item[1], default=(("", ""), 0))
    part = longest / flow.summary["active_ns"]
    if part < NOTABLE_SHARE:
        return ""
    return (
        f" For {units.share(part)}, the capture alone suggested {LIMIT_NAMES[before]}; "
        f"the sending kernel's counters show {LIMIT_NAMES[after]}."
    )


def _idle(summary: pd.Series[Any]) -> str:
    """Return a sentence on the flow's idle time; empty for less than 10 % of its life, or if it is unknown."""
    idle_ns = gate.idle_ns(summary)
    if summary["idle_share"] < NOTABLE_SHARE or idle_ns is None:
        return ""
    return f" For another {units.duration(idle_ns)}, nothing was asked of the sender."


def numbers(summary: pd.Series[Any]) -> str:
    """Return size, rate, RTT and window of a flow in words; unknown values are left out."""
    rate = throughput(summary)
    known = [f"{carried(summary)} at {rate}" if rate else units.data_size(summary["payload_bytes"])]
    if trip := round_trip(summary):
        known.append(f"RTT {trip}")
    if pd.notna(summary["window_max_bytes"]):
        known.append(f"window up to {units.exact_bytes(summary['window_max_bytes'])}")
    return f"{'; '.join(known)}."


def carried(summary: pd.Series[Any]) -> str:
    """Return the size of a flow in words, and from 10 % unacknowledged on, the bytes that its rate counts."""
    size = units.data_size(summary["payload_bytes"])
    acked = rates.bytes_at(float(summary["throughput_bps"]), float(summary["end_ns"] - summary["start_ns"]))
    if acked > (1 - NOTABLE_SHARE) * float(summary["payload_bytes"]):
        return size
    return f"{size}, {units.data_size(acked)} of it acknowledged,"


def throughput(summary: pd.Series[Any]) -> str:
    """Return the rate of acknowledged data over active time.

    It is empty if the capture shows acknowledgments of less than half the data.
    """
    rate, lasting_ns = summary["active_throughput_bps"], float(summary["end_ns"] - summary["start_ns"])
    if (
        gate.reached_bps(rate) is None
        or rates.bytes_at(float(summary["throughput_bps"]), lasting_ns) < float(summary["payload_bytes"]) / 2
    ):
        return ""
    return units.rate(rate)


def round_trip(summary: pd.Series[Any]) -> str:
    """Return median and minimum of the RTT in words; empty if either is unknown."""
    median, least = summary["rtt_median_ns"], summary["rtt_min_ns"]
    if pd.isna(median) or pd.isna(least):
        return ""
    return f"{units.duration(median)} median, {units.duration(least)} minimum"


@dataclass(frozen=True, slots=True)
class Path:
    """Rate and BDP of a path, in words; the BDP is empty where it is below two segments."""

    capacity: str
    bdp: str


def path(summary: pd.Series[Any]) -> Path | None:
    """Return rate and BDP of the path; None if unknown, or if the flow was faster than that rate.

    They are also unknown if the flow never had ten segments in flight.
    """
    known = known_bps(summary)
    if known is None or pd.isna(summary["bdp_bytes"]) or not sent_a_window(summary) or is_burst(summary):
        return None
    reached = summary["active_throughput_bps"]
    # A lower bound that the flow itself set says nothing beyond its rate.
    least = OWN_RATE if basis(summary) is Basis.BOUND else 1.0
    if pd.notna(reached) and known < least * reached:
        return None
    filled = gate.full_bdp(known_bdp(summary), int(summary["mss_bytes"]))
    return Path(spoken(summary), "" if filled is None else spoken_bdp(summary))


def arithmetic(summary: pd.Series[Any]) -> list[str]:
    """
    Return sentences with the arithmetic of a verdict: window over RTT, BDP, bytes in flight, retransmitted bytes.

    The sentences do not contradict each other. The rate that a window or a path allows is left out if the flow was
    faster. The bytes in flight are left out if they exceed the window: one of the two numbers is wrong.
    """
    sums = []
    window, rtt, reached = (
        summary[name] for name in ("window_max_bytes", "rtt_min_ns", "active_throughput_bps")
    )
    # If the window was the limit, the verdict itself has this calculation.
    allowed = gate.allowed_bps(window, rtt)
    if summary["limit"] != "rwnd" and allowed is not None and (pd.isna(reached) or reached <= allowed):
        sums.append(
            f"A window of {units.exact_bytes(window)} per {units.duration(rtt)} (minimum RTT) allows "
            f"{units.rate(allowed)}."
        )
    known = path(summary)
    if known is not None:
        filling = f"; filling it takes {known.bdp} in flight (the BDP)" if known.bdp else ""
        sums.append(f"The path carries {known.capacity}{filling}.")
    flight = summary["in_flight_max_bytes"]
    if pd.notna(flight) and flight > 0 and (pd.isna(window) or flight <= window):
        sums.append(f"In flight at most: {units.exact_bytes(flight)}.")
    if summary["retransmitted_bytes"]:
        again_bytes = summary["retransmitted_bytes"]
        share = units.percent(of_sent(again_bytes, summary["payload_bytes"]))
        sums.append(f"Retransmitted: {units.exact_bytes(again_bytes)} ({share} of the bytes sent).")
    return sums


@dataclass(frozen=True, slots=True)
class Span:
    """The longest run of rounds under a flow's main limit with its frames, and a display filter for Wireshark."""

    stripe: Stripe
    first_frame: int
    last_frame: int
    display_filter: str
    """Of the frames that show the verdict: those of the flow's nature, or else of the run."""


def best_span(flow: Flow) -> Span | None:
    """Return the longest run of rounds under the flow's main limit; None if it has no rounds."""
    own = [stripe for stripe in stripes(flow.rtts) if stripe.limit == flow.summary["limit"]]
    if not own:
        return None
    longest = max(own, key=lambda stripe: stripe.end_ns - stripe.start_ns)
    first = int(flow._hidden["first_frame"].iloc[longest.first_round])
    last = int(flow._hidden["last_frame"].iloc[longest.last_round])
    # A pause holds but one frame: it shows after the frames of the last round that has others. Away from the sender, the
    # acknowledgment that closed a window was captured in the round before.
    closed = rwnd.shut(flow.rtts.iloc[[longest.first_round]]).all() and flow.summary["vantage"] != "sender"
    if first == last or closed:
        before = flow._hidden["first_frame"].iloc[: longest.first_round]
        first = int(before[before < first].max()) if (before < first).any() else first
    kind = nature(flow)
    shown = cause(flow)[0].shown(flow) if kind is None else kind.shown(flow)
    return Span(
        longest, first, last, _filter(flow, shown or Shown(first, last, longest.start_ns, longest.end_ns))
    )


def _filter(flow: Flow, shown: Shown) -> str:
    if len(flow.capture.info.files) > 1:
        return _in_any_file(flow, shown.first_ns, shown.last_ns)
    first, last = shown.first_frame, shown.last_frame
    frames = (
        f"frame.number >= {first} && frame.number <= {last}" if first < last else f"frame.number == {first}"
    )
    return f"tcp.stream eq {flow.stream} && {frames}"


def _in_any_file(flow: Flow, first_ns: int, last_ns: int) -> str:
    """Return a display filter by endpoints and time, since stream and frame numbers differ in each file of a set."""
    (one, from_), (other, to) = (endpoint.rsplit(":", 1) for endpoint in (flow.sender, flow.receiver))
    ip = "ipv6" if one.startswith("[") else "ip"
    ends = " && ".join(
        f"{ip}.addr == {address.strip('[]')} && tcp.port == {port}"
        for address, port in ((one, from_), (other, to))
    )
    times = (f"{ns // 10**9}.{ns % 10**9:09}" for ns in (first_ns, last_ns))
    return f"{ends} && frame.time_epoch >= {next(times)} && frame.time_epoch <= {next(times)}"
