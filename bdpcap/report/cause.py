"""The cause of a flow's main limit in words: a headline, the reason in numbers, the place to act, and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain.capacity import delivered_bps
from bdpcap.explain.findings.receive import in_force
from bdpcap.explain.once import once
from bdpcap.limits.decision import NO_RULE
from bdpcap.words import rates, units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow


@dataclass(frozen=True, slots=True)
class Cause:
    """One kind of limit, in words."""

    headline: str
    """First words of the verdict; the share of time follows."""
    reason: Callable[[Flow, pd.DataFrame], str]
    """Returns the reason, from a flow and its rounds under the limit; empty if the numbers are missing."""
    where: Callable[[Flow], str]
    """Returns the place to look at: one end by address, both ends, or the path."""
    action: str
    """Advice for that place, used if no finding is the root cause."""


@once
def of(flow: Flow) -> tuple[Cause, pd.DataFrame]:
    """Return the cause of a flow's main limit, and the flow's rounds under this limit."""
    limit = str(flow.summary["limit"])
    own = flow.rtts[flow.rtts["limit"] == limit]
    detail = _longest(own.replace({"detail": {"zero window": "slow reader"}}), "detail")
    if limit == "cwnd" and detail in ("recovery", "avoidance") and flow.summary["retransmitted_bytes"]:
        detail = "loss"
    return CAUSES.get((limit, detail)) or CAUSES[limit, None], own


def _longest(rounds: pd.DataFrame, column: str) -> str | None:
    """Return the value of a column that holds for the longest time, None if all values are missing."""
    lasting = (rounds["end_ns"] - rounds["start_ns"]).groupby(rounds[column]).sum()
    return None if lasting.empty else str(lasting.idxmax())


def _sender(flow: Flow) -> str:
    return f"the sender, {host(flow.sender)}"


def _receiver(flow: Flow) -> str:
    return f"the receiver, {host(flow.receiver)}"


def _path(flow: Flow) -> str:
    return f"the path from {host(flow.sender)} to {host(flow.receiver)}"


def _way_back_path(flow: Flow) -> str:
    return f"the path from {host(flow.receiver)} to {host(flow.sender)}"


def _programs(flow: Flow) -> str:
    return f"both ends, {host(flow.sender)} and {host(flow.receiver)}"


def _window(flow: Flow, own: pd.DataFrame) -> str:
    shut = _shut(own)
    return f"{_allowed(flow)}{f'. It fell to {shut}' if shut else ''}"


def _allowed(flow: Flow) -> str:
    window, rtt = in_force(flow), flow.summary["rtt_min_ns"]
    if window is None:
        return ""
    if pd.isna(rtt):
        return f"{units.exact_bytes(window)} were the most"
    allowed = rates.of_bytes(window, rtt)
    reached = flow.summary["active_throughput_bps"]
    if pd.notna(reached) and allowed < reached:
        return f"{units.exact_bytes(window)} were the most"
    return f"{units.exact_bytes(window)} per round trip of {units.duration(rtt)} allow {units.rate(allowed)} at most"


def _reader(flow: Flow, own: pd.DataFrame) -> str:
    shut = _shut(own)
    if shut:
        return f"the window fell to {shut}"
    smallest, largest = own["window_min_bytes"].min(), flow.summary["window_max_bytes"]
    if pd.isna(smallest) or pd.isna(largest) or smallest >= largest:
        return ""
    return f"the window fell from {units.exact_bytes(largest)} to {units.exact_bytes(smallest)}"


def _shut(own: pd.DataFrame) -> str:
    """Return in how many rounds, and for how long, the window was zero; empty if it never was."""
    shut = own[own["window_min_bytes"] == 0]
    lasting = units.duration((shut["end_ns"] - shut["start_ns"]).sum())
    return "" if shut.empty else f"0 in {units.number(len(shut), 'round')}, {lasting} in all"


def _ramp(_: Flow, own: pd.DataFrame) -> str:
    windows = own["window_max_bytes"].dropna()
    if windows.empty or windows.iloc[0] >= windows.max():
        return ""
    return f"it grew from {units.exact_bytes(windows.iloc[0])} to {units.exact_bytes(windows.max())}"


def _loss(flow: Flow, _: pd.DataFrame) -> str:
    retransmits, packets = int(flow.rtts["retransmits"].sum()), int(flow.summary["packets"])
    if not 0 < retransmits <= packets:
        return f"{units.exact_bytes(flow.summary['retransmitted_bytes'])} were retransmitted"
    part = units.percent(retransmits / packets)
    return f"{units.count(retransmits)} of {units.count(packets)} packets were retransmitted ({part})"


def _stall(flow: Flow, _: pd.DataFrame) -> str:
    stall_ns, retransmits = flow.summary["longest_stall_ns"], int(flow.rtts["retransmits"].sum())
    again = f"{units.number(retransmits, 'retransmission')} brought none"
    if pd.isna(stall_ns):
        return f"the capture holds no acknowledgment, and {again}"
    return f"no acknowledgment of new data came for {units.duration(stall_ns)}"


def _way_back(flow: Flow, own: pd.DataFrame) -> str:
    least, usual = flow.summary["rtt_min_ns"], own.loc[own["detail"] == "return path", "rtt_ns"].median()
    if pd.isna(least) or pd.isna(usual) or usual <= least:
        return ""
    return f"round trips took {units.duration(usual)}, {units.duration(least)} at best, and data did not wait"


def _slow_start(flow: Flow, own: pd.DataFrame) -> str:
    rounds = int((own["detail"] == "slow start").sum())
    return f"the congestion window was still doubling in {rounds} of {units.number(len(flow.rtts), 'round')}"


def _growth(_: Flow, own: pd.DataFrame) -> str:
    return f"nothing was retransmitted, and {units.exact_bytes(own['in_flight_max_bytes'].max())} were in flight at most"


def _even(_: Flow, own: pd.DataFrame) -> str:
    reason = "segments left at equal intervals"
    # Without acknowledgments the rate is unknown.
    return f"{reason}, at {_rate(own)}" if own["acked_bytes"].any() else reason


def _flat(_: Flow, own: pd.DataFrame) -> str:
    return f"{units.exact_bytes(own['in_flight_max_bytes'].median())} were in flight, round after round"


def _buffer(flow: Flow, own: pd.DataFrame) -> str:
    flight, window = own["in_flight_max_bytes"].median(), flow.summary["window_max_bytes"]
    reason = f"about {units.exact_bytes(flight)} were in flight, round after round"
    return (
        reason
        if pd.isna(window) or window <= flight
        else f"{reason}, and the window allowed {units.exact_bytes(window)}"
    )


def _queue(flow: Flow, own: pd.DataFrame) -> str:
    least, usual = flow.summary["rtt_min_ns"], own["rtt_ns"].median()
    reasons = [f"it carried this flow at {_rate(own)}"] if own["acked_bytes"].any() else []
    if pd.notna(least) and pd.notna(usual) and usual > least:
        reasons.append(f"packets waited {units.duration(usual - least)} in its queue")
    return ", and ".join(reasons)


def _rate(own: pd.DataFrame) -> str:
    return units.rate(delivered_bps(own))


def _pauses(_: Flow, own: pd.DataFrame) -> str:
    rule = _longest(own, "rule")
    if rule != "app-idle":
        return HABITS.get(str(rule), "")
    idle = own[own["rule"] == rule]
    pauses = idle["end_ns"] - idle["start_ns"]
    return f"it paused for {units.duration(pauses.sum())}"


def _answers(_: Flow, own: pd.DataFrame) -> str:
    waits = own[own["detail"] == "response time"]
    lasting_ns = (waits["end_ns"] - waits["start_ns"]).sum()
    return f"it left {units.number(len(waits), 'request')} waiting, {units.duration(lasting_ns)} in all"


def _outstanding(flow: Flow, _: pd.DataFrame) -> str:
    most = units.exact_bytes(flow.summary["in_flight_max_bytes"])
    return f"it waited for its peer's replies with {most} in flight at most"


def _undecided(_: Flow, own: pd.DataFrame) -> str:
    reason = NO_RULE.get(str(_longest(own, "rule")), "")
    return f"{reason[:1].lower()}{reason[1:].rstrip('.')}"


HABITS: Final = {
    "app-own-time": "it wrote at times of its own, not when acknowledgments came",
    "app-starts": "it began to send again and again with nothing in flight",
    "app-blocks": "each burst was one write",
    "app-short": "it wrote less than a segment at a time",
    "app-below-least": "it kept less than two segments in flight",
    "app-conversation": "it waited for its peer's replies",
    "kernel-room": "its kernel had sent all data, and the send buffer had room",
}
"""Behaviour of the sending program in words, by the rule that decided."""

_IDLE: Final = Cause(
    "The sending program had nothing to send",
    _pauses,
    _sender,
    "Look at the sending program: what it waits for, and how it writes.",
)

CAUSES: Final[dict[tuple[str, str | None], Cause]] = {
    ("rwnd", None): Cause(
        "The receive window held the sender back",
        _window,
        _receiver,
        "See whether the receiving program sets SO_RCVBUF: without it, autotuning grows the window.",
    ),
    ("rwnd", "slow reader"): Cause(
        "The receiving program read too slowly",
        _reader,
        _receiver,
        "Look at what the receiving program does between its reads.",
    ),
    ("rwnd", "ramp"): Cause(
        "The receive window was still growing",
        _ramp,
        _receiver,
        "Start with a larger receive buffer: the second number of net.ipv4.tcp_rmem.",
    ),
    ("cwnd", None): Cause(
        "The congestion window held the sender back",
        _growth,
        _sender,
        "See which congestion control the sender has: sysctl net.ipv4.tcp_congestion_control",
    ),
    ("cwnd", "loss"): Cause("Packet loss held the sender back", _loss, _path, "Find where packets are lost."),
    ("cwnd", "outage"): Cause(
        "An outage held the sender back",
        _stall,
        _path,
        "Find out why nothing came back: the path or its far end was gone.",
    ),
    ("cwnd", "return path"): Cause(
        "Acknowledgments that waited on the way back held the sender back",
        _way_back,
        _way_back_path,
        "Look for the queue that acknowledgments wait in: an upload or a slow uplink fills it.",
    ),
    ("cwnd", "slow start"): Cause(
        "Slow start held the sender back",
        _slow_start,
        _sender,
        "Send more over one connection: short transfers end before slow start does.",
    ),
    ("cwnd", "pacing"): Cause(
        "Pacing held the sender back",
        _even,
        _sender,
        "Look for a pacing rate: SO_MAX_PACING_RATE in the program, or maxrate of the fq queue.",
    ),
    ("cwnd", "fixed window"): Cause(
        "A clamp on the congestion window held the sender back",
        _flat,
        _sender,
        "Look for a cwnd on the route: ip route show",
    ),
    ("sndbuf", None): Cause(
        "The send buffer held the sender back",
        _buffer,
        _sender,
        "Raise the send buffer: SO_SNDBUF, or the third number of net.ipv4.tcp_wmem.",
    ),
    ("link", None): Cause(
        "The link was full",
        _queue,
        _path,
        "Nothing to tune at the ends: more throughput takes a faster link.",
    ),
    ("link", "others' queue"): Cause(
        "Other traffic filled the link",
        _queue,
        _path,
        "Find who shares the bottleneck.",
    ),
    ("app", None): _IDLE,
    ("app", "small writes"): Cause("The sending program wrote small pieces", _pauses, _sender, _IDLE.action),
    ("app", "response time"): Cause(
        "The server's program took its time to answer",
        _answers,
        _sender,
        "Look at the server's own log: what it does between a request and its answer is not in the capture.",
    ),
    ("app", "own window"): Cause(
        "The program's own window held the sender back",
        _outstanding,
        _programs,
        "Let the program keep more outstanding: its own window, or the number of its requests.",
    ),
    ("unknown", None): Cause(
        "The evidence does not decide what held the sender back",
        _undecided,
        _sender,
        "Capture again there: both directions, from the handshake on.",
    ),
}
"""Causes by limit and detail. A detail without an entry takes the entry of its limit with detail None."""
