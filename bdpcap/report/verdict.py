"""The verdict in words: one sentence a flow, the arithmetic behind it, and where it shows best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap import units
from bdpcap.explain.capacity import sent_a_window, word
from bdpcap.limits import LIMITS
from bdpcap.palette import LIMIT_NAMES
from bdpcap.plots.ribbon import Stripe, stripes

if TYPE_CHECKING:
    from bdpcap.analysis import Capture, Flow

DETAILED_FLOWS: Final = 8
"""Most flows a report treats one by one; the others stand in its table."""

_HELD: Final = {
    "rwnd": "The receive window held the sender back",
    "cwnd": "Congestion control held the sender back",
    "sndbuf": "The sender's own socket buffer held it back",
    "link": "The link was full",
    "app": "The application had nothing more to send",
    "unknown": "The evidence does not decide what held the sender back",
}

MEANING: Final = {
    "rwnd": "The window that the receiver advertised was used up.",
    "cwnd": "Congestion control sent less than the path could carry.",
    "sndbuf": "The sender's socket buffer could hold no more unacknowledged data.",
    "link": "The bottleneck was busy all the time; a larger window would only lengthen its queue.",
    "app": "The sending application offered no more data.",
    "unknown": "The evidence does not decide; each round says why.",
}


LOSING: Final = ("rwnd", "cwnd", "sndbuf")
"""Limits that a setting or a cleaner path would lift: time under them is lost."""


def lost_ns(flows: pd.DataFrame) -> pd.Series[float]:
    """Return the time that each flow lost to a window, a buffer or congestion control."""
    parts: pd.Series[float] = flows[[f"{limit}_share" for limit in LOSING]].sum(axis=1)
    return parts * (flows["end_ns"] - flows["start_ns"])


def weights(flows: pd.DataFrame) -> pd.Series[float]:
    """Return how much each flow matters: its part of all bytes plus its part of all time lost, 0 to 2."""
    lost, carried = lost_ns(flows), flows["payload_bytes"].astype("float64")
    total: pd.Series[float] = carried / max(carried.sum(), 1.0) + lost / max(lost.sum(), 1.0)
    return total


def ranked(capture: Capture) -> pd.DataFrame:
    """Return the ``flows`` table, the flows that matter most first; see `weights`."""
    flows = capture.flows
    return flows.loc[weights(flows).sort_values(ascending=False, kind="stable").index]


def that_matter(capture: Capture) -> list[Flow]:
    """Return the flows worth a page: those of most weight, and at least of a hundredth of the heaviest one's."""
    flows = ranked(capture).head(DETAILED_FLOWS)
    weight = weights(capture.flows)
    flows = flows[weight[flows.index] * 100 >= weight.max()]
    capture.load_events(flows["stream"].tolist())
    return listed(capture, flows)


def listed(capture: Capture, flows: pd.DataFrame) -> list[Flow]:
    """Return the flows of a table's rows."""
    return [
        capture.flow(stream, sender)
        for stream, sender in zip(flows["stream"].tolist(), flows["sender"].tolist(), strict=True)
    ]


def shares(summary: pd.Series[Any]) -> list[tuple[str, float]]:
    """Return the limits that held a flow at all, with their shares of its time, longest first."""
    held = [(limit, float(summary[f"{limit}_share"])) for limit in LIMITS]
    return sorted(((limit, part) for limit, part in held if part > 0), key=lambda item: -item[1])


@dataclass(frozen=True, slots=True)
class Held:
    """How long a limit held a flow."""

    limit: str
    share: float
    lasting_ns: int
    rounds: int
    confidence: float
    details: str
    """Its details with their shares of the flow's time, longest first; may be empty."""


def held(flow: Flow) -> list[Held]:
    """Return the limits that held a flow, longest first."""
    rtts = flow.rtts.assign(lasting=flow.rtts["end_ns"] - flow.rtts["start_ns"])
    total = max(1, int(rtts["lasting"].sum()))
    told = []
    for limit, part in shares(flow.summary):
        own = rtts[rtts["limit"] == limit]
        lasting = int(own["lasting"].sum())
        details = own.groupby("detail")["lasting"].sum().sort_values(ascending=False)
        told.append(
            Held(
                limit=limit,
                share=part,
                lasting_ns=lasting,
                rounds=len(own),
                confidence=float((own["confidence"] * own["lasting"]).sum()) / max(1, lasting),
                details=", ".join(f"{name} {units.share(time / total)}" for name, time in details.items()),
            )
        )
    return told


def sentence(summary: pd.Series[Any]) -> str:
    """
    Say in one sentence what limited a flow.

    Parameters
    ----------
    summary
        A row of the ``flows`` table.
    """
    if summary["end_ns"] <= summary["start_ns"]:
        return "All its packets bear one time stamp, so nothing shows what held the sender back."
    limit = str(summary["limit"])
    lasting = units.duration(summary["end_ns"] - summary["start_ns"])
    text = f"{_HELD[limit]} for {_spoken(summary[f'{limit}_share'])} of {lasting}"
    others = [
        f"{LIMIT_NAMES[other]} {units.share(part)}"
        for other, part in shares(summary)
        if other != limit and part >= 0.1
    ]
    return f"{text}{'; ' if others else ''}{', '.join(others)}."


def _spoken(part: float) -> str:
    return units.share(part).replace("> ", "over ").replace("< ", "under ")


def numbers(summary: pd.Series[Any]) -> str:
    """Say how much a flow carried, how fast, and under what window and RTT."""
    text = f"{units.data_size(summary['payload_bytes'])} at {units.rate(summary['throughput_bps'])}"
    known = []
    if pd.notna(summary["rtt_median_ns"]):
        known.append(
            f"RTT {units.duration(summary['rtt_median_ns'])} "
            f"(at least {units.duration(summary['rtt_min_ns'])})"
        )
    if pd.notna(summary["window_max_bytes"]):
        known.append(f"window up to {units.exact_bytes(summary['window_max_bytes'])}")
    return f"{text}{'; ' if known else ''}{', '.join(known)}."


def arithmetic(summary: pd.Series[Any]) -> list[str]:
    """Return the sums behind the verdict: window over RTT, and the bandwidth-delay product of the path."""
    sums = []
    window, rtt = summary["window_max_bytes"], summary["rtt_min_ns"]
    # Where the window was the limit, the finding has this sum.
    if summary["limit"] != "rwnd" and pd.notna(window) and window > 0 and pd.notna(rtt):
        sums.append(
            f"{units.exact_bytes(window)} of window every {units.duration(rtt)} (the least RTT) "
            f"allow {units.rate(float(window) * 8e9 / float(rtt))}."
        )
    if pd.notna(summary["bdp_bytes"]) and pd.notna(summary["capacity_bps"]) and sent_a_window(summary):
        about = word(summary)
        sums.append(
            f"The path carries {about}{units.rate(summary['capacity_bps'])}; "
            f"filling it takes {about}{units.exact_bytes(summary['bdp_bytes'])} in flight (the BDP)."
        )
    flight = summary["in_flight_max_bytes"]
    if pd.notna(window) and flight > window:
        # No sender exceeds its window: acknowledgments were late at the tap, or the scale is another one.
        sums.append("In flight at most: the whole window, as far as the capture shows it.")
    else:
        sums.append(f"In flight at most: {units.exact_bytes(flight)}.")
    if summary["retransmitted_bytes"]:
        part = float(summary["retransmitted_bytes"]) / max(1.0, float(summary["payload_bytes"]))
        sums.append(f"Sent again: {units.exact_bytes(summary['retransmitted_bytes'])} ({units.share(part)}).")
    return sums


@dataclass(frozen=True, slots=True)
class Span:
    """Where the verdict shows best: the longest run of rounds in its limit."""

    stripe: Stripe
    first_frame: int
    last_frame: int
    display_filter: str


def best_span(flow: Flow) -> Span | None:
    """Return the longest run of rounds in the flow's main limit, with its frames, or None."""
    own = [stripe for stripe in stripes(flow.rtts) if stripe.limit == flow.summary["limit"]]
    events = flow.events
    if not own or events.empty:
        return None
    longest = max(own, key=lambda stripe: stripe.end_ns - stripe.start_ns)
    time = events["time_ns"].to_numpy(dtype=np.int64)
    inside = (time >= longest.start_ns) & (time <= longest.end_ns)
    if not inside.any():
        return None
    frames = events["frame"][inside]
    first, last = int(frames.min()), int(frames.max())
    wireshark = f"tcp.stream eq {flow.stream} && frame.number >= {first} && frame.number <= {last}"
    return Span(longest, first, last, wireshark)
