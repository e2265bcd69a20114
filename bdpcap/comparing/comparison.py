"""
Comparison of several captures in one table, as labs publish them: expected and measured throughput.

The parallel streams between the pair of hosts with most payload count as one transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap.explain.capacity import Basis, basis, known_bps
from bdpcap.explain.findings.plateau import observed, solved
from bdpcap.explain.findings.setting import likely_option
from bdpcap.explain.headers import full_packet
from bdpcap.limits import LIMITS
from bdpcap.tables import Column, frames
from bdpcap.words import rates
from bdpcap.words.endpoints import same_way

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bdpcap.capture import Capture, Flow
    from bdpcap.comparing.settings import Settings

__all__ = [
    "COMPARISON",
    "Change",
    "Transfer",
    "compare",
    "difference",
    "fairness",
    "main_flows",
    "together",
    "transfer",
]

COMPARISON: Final[dict[str, Column]] = {
    "capture": Column("str", "name of the capture"),
    "sender": Column("str", "host that sent most"),
    "receiver": Column("str", "host that it sent to"),
    "streams": Column("int64", "parallel streams between the two, summed"),
    "link_rate_bps": Column("Float64", "as given, else the capacity that the capture shows"),
    "link_rate_source": Column(
        "str", "given; measured; estimated from bursts, or at least: the link was never filled"
    ),
    "rtt_path_ns": Column("Int64", "as given, else the least measured"),
    "bdp_bytes": Column("Int64", "link rate times path RTT"),
    "sndbuf_bytes": Column("Int64", "SO_SNDBUF as asked for, where given"),
    "rcvbuf_bytes": Column("Int64", "SO_RCVBUF as asked for: as given, else as the window shows it"),
    "rcvbuf_source": Column("str", "given, or explained: the SO_RCVBUF that most likely explains the window"),
    "buffer_bytes": Column("Int64", "what Linux makes of SO_RCVBUF: twice as much"),
    "window_max_bytes": Column("Int64", "window that lasted, else the largest advertised"),
    "expected_bps": Column(
        "Float64", "window over path RTT, at most what headers leave of the link rate where that is known"
    ),
    "throughput_bps": Column(
        "Float64", "payload over the time from its first byte to its last acknowledgment"
    ),
    "accuracy": Column("Float64", "throughput over expected"),
    "rtt_median_ns": Column("Int64", "median round trip, queues included"),
    "sent_per_rtt_max_bytes": Column(
        "Int64", "most payload of a round, which may outlast a round trip; null for several streams"
    ),
    "sent_per_rtt_mean_bytes": Column("Float64", "mean payload of a round"),
    "window_over_rtt_bps": Column("Float64", "the lesser of window and SO_SNDBUF over the median round trip"),
    "window_over_rtt_share": Column("Float64", "throughput over window_over_rtt_bps"),
    "fairness": Column("Float64", "Jain's index of the streams' throughputs; null for one stream"),
    "retransmitted_bytes": Column("Int64", "payload sent again"),
    "limit": Column("str", "the limit with the most time"),
    "limit_share": Column("Float64", "share of active time in that limit"),
}
"""Columns of the comparison."""

_SOURCES: Final = {None: None, Basis.FILLED: "measured", Basis.BURSTS: "estimated", Basis.BOUND: "at least"}
_UNFILLED: Final = ("estimated", "at least")
_LEAST_SHARE: Final = 0.01
"""Smallest share of the largest stream's payload for a parallel stream; iperf3's control connection has less."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """
    Payload that one stream moved, and the time from its start to its end.

    A capture at the sender yields the figures of the sending program, one at the receiver those of the receiving one.
    """

    payload_bytes: int
    """Acknowledged payload."""
    start_ns: int
    """Time of the first payload."""
    end_ns: int
    """Time of the acknowledgment of the last payload."""


def compare(
    captures: Iterable[Capture | None], names: Sequence[str], settings: Sequence[Settings]
) -> pd.DataFrame:
    """
    Compare captures.

    Parameters
    ----------
    captures
        Analysed captures; None for one that could not be read. Each is finished before the next is requested.
    names, settings
        Name and settings of each capture.

    Returns
    -------
    Table with the columns of `COMPARISON`, one row for each capture that was read. Without a flow, a row has only the
    name, 0 streams and the given buffers.
    """
    rows = [
        _row(capture, name, given)
        for capture, name, given in zip(captures, names, settings, strict=True)
        if capture is not None
    ]
    return frames.frame(COMPARISON, {name: [row.get(name) for row in rows] for name in COMPARISON})


@dataclass(frozen=True, slots=True)
class Change:
    """Values of a column of `COMPARISON` before and after a change; None where unknown."""

    quantity: str
    before: Any
    after: Any

    @property
    def ratio(self) -> float | None:
        """`after` over `before`; None for texts, for unknown values, and if `before` is 0."""
        if isinstance(self.before, str) or not self.before or self.after is None:
            return None
        return float(self.after / self.before)


def difference(comparison: pd.DataFrame) -> list[Change]:
    """Return the columns that differ between the first and the last row of a comparison, in their order."""
    pairs = [
        Change(str(name), *(_plain(comparison[name].iloc[row]) for row in (0, -1)))
        for name in comparison
        if name != "capture"
    ]
    return [pair for pair in pairs if pair.before != pair.after]


def _plain(value: Any) -> Any:
    """Return a cell as a built-in Python type; None if it is missing."""
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def main_flows(capture: Capture) -> list[Flow]:
    """Return the flow with most payload, and those parallel to it: same hosts, same direction, overlapping times."""
    flows = capture.flows
    if flows.empty:
        return []
    most = flows.iloc[int(flows["payload_bytes"].to_numpy().argmax())]
    parallel = flows[
        same_way(flows, most)
        & (flows["start_ns"] < most["end_ns"])
        & (flows["end_ns"] > most["start_ns"])
        & (flows["payload_bytes"] >= _LEAST_SHARE * most["payload_bytes"])
    ]
    return [capture.flow(int(row.stream), str(row.sender)) for row in parallel.itertuples()]


def transfer(events: pd.DataFrame) -> Transfer | None:
    """Return the transfer that a flow's events show; None where no payload was acknowledged."""
    data = events[events["length"].fillna(0) > 0]
    answers = events[events["sequence"].isna() & events["acknowledged"].notna()]
    if data.empty or answers.empty:
        return None
    first = int(data["sequence"].min())
    # A FIN is acknowledged like a byte, but is not payload.
    last = min(int((data["sequence"] + data["length"]).max()), int(answers["acknowledged"].max()))
    start_ns = int(data["time_ns"].min())
    end_ns = int(answers.loc[answers["acknowledged"] >= last, "time_ns"].min())
    return Transfer(last - first, start_ns, end_ns) if last > first and end_ns > start_ns else None


def together(transfers: Iterable[Transfer]) -> float | None:
    """Return bits per second of all transfers together, from the first start to the last end; None without any."""
    moved = list(transfers)
    if not moved:
        return None
    life_ns = max(one.end_ns for one in moved) - min(one.start_ns for one in moved)
    return float(rates.of_bytes(sum(one.payload_bytes for one in moved), life_ns))


def fairness(rates: Sequence[float]) -> float | None:
    """
    Return Jain's fairness index, 1/n (one has all) to 1 (all have the same); None below two rates, or if all are 0.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource allocation in
    shared computer systems", DEC TR-301, 1984.
    """
    shares = np.asarray(rates, dtype=np.float64)
    if len(shares) < 2 or not shares.any():
        return None
    shares = shares / shares.max()
    return float(shares.sum() ** 2 / (len(shares) * (shares**2).sum()))


def _row(capture: Capture, name: str, given: Settings) -> dict[str, Any]:
    flows = main_flows(capture)
    if flows:
        capture._contents.events.load([flow.stream for flow in flows])
        capture._contents.verdicts.load([flow.stream for flow in flows])
    asked = round(given.rcvbuf) if given.rcvbuf else _explained(flows)
    row: dict[str, Any] = {
        "capture": name,
        "streams": len(flows),
        "sndbuf_bytes": given.sndbuf and round(given.sndbuf),
        "rcvbuf_bytes": asked,
        "rcvbuf_source": None if asked is None else "given" if given.rcvbuf else "explained",
        "buffer_bytes": asked and 2 * asked,
    }
    if not flows:
        return row
    transfers = [moved for flow in flows if (moved := transfer(flow.events))]
    summary = pd.DataFrame([flow.summary for flow in flows])
    throughput = together(transfers)
    rate, source = _link_rate(summary, given)
    path_ns = float(given.rtt) * 1e9 if given.rtt else _known(summary["rtt_min_ns"].min())
    median_ns = _known(summary["rtt_median_ns"].median())
    windows = [_window(flow) for flow in flows]
    window = None if None in windows else sum(one for one in windows if one is not None)
    allowed = _least(window, float(given.sndbuf) * len(flows) if given.sndbuf else None)
    over_path = _over(window, path_ns)
    goodput = rate and rate * float(full_packet(flows[0]).efficiency) if source == "given" else rate
    expected = over_path if source in _UNFILLED or goodput is None else _least(over_path, goodput)
    over_rtt = _over(allowed, median_ns)
    sent = [acked[acked > 0] for flow in flows if len(acked := flow.rtts["acked_bytes"])]
    limit, share = _limit(summary)
    return row | {
        "sender": _bracketed(flows[0].sender),
        "receiver": _bracketed(flows[0].receiver),
        "link_rate_bps": rate,
        "link_rate_source": source,
        "rtt_path_ns": path_ns and round(path_ns),
        "bdp_bytes": rate and path_ns and round(rates.bytes_at(rate, path_ns)),
        "window_max_bytes": window and round(window),
        "expected_bps": expected,
        "throughput_bps": throughput,
        "accuracy": throughput and expected and throughput / expected,
        "rtt_median_ns": median_ns and round(median_ns),
        "sent_per_rtt_max_bytes": int(sent[0].max()) if len(flows) == 1 and len(sent[0]) else None,
        "sent_per_rtt_mean_bytes": sum(float(acked.mean()) for acked in sent if len(acked)),
        "window_over_rtt_bps": over_rtt,
        "window_over_rtt_share": throughput and over_rtt and throughput / over_rtt,
        "fairness": fairness([together([moved]) or 0.0 for moved in transfers]),
        "retransmitted_bytes": int(summary["retransmitted_bytes"].sum()),
        "limit": limit,
        "limit_share": share,
    }


def _window(flow: Flow) -> float | None:
    """Return the window that stood, else the largest, in bytes; None if unknown. A window may fall once and stand."""
    seen = observed(flow)
    return _known(flow.summary["window_max_bytes"]) if seen is None else seen.window


def _explained(flows: Sequence[Flow]) -> int | None:
    """Return the SO_RCVBUF that most likely explains the windows of all flows, in bytes; None if none is likely."""
    found = {likely_option(solution) if (solution := solved(flow)) else None for flow in flows}
    return found.pop() if len(found) == 1 else None


def _bracketed(end: str) -> str:
    """Return the address of ``address:port``, IPv6 in brackets, as this table has always named hosts."""
    return end.rpartition(":")[0]


def _known(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _least(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _over(window_bytes: float | None, rtt_ns: float | None) -> float | None:
    return float(rates.of_bytes(window_bytes, rtt_ns)) if window_bytes is not None and rtt_ns else None


def _link_rate(summary: pd.DataFrame, given: Settings) -> tuple[float | None, str | None]:
    """Return the link's rate and its source; flows that hardly filled the link show only a lower bound."""
    if given.link_rate:
        return float(given.link_rate), "given"
    fastest = summary.iloc[int(summary["capacity_bps"].fillna(0).to_numpy().argmax())]
    return known_bps(fastest), _SOURCES[basis(fastest)]


def _limit(summary: pd.DataFrame) -> tuple[str, float]:
    """Return the limit with most of the streams' active time, and its share of that time."""
    active = summary["active_ns"].to_numpy(dtype=np.float64)
    weights = active / active.sum() if active.sum() else np.full(len(active), 1 / len(active))
    shares = {name: float(summary[f"{name}_share"].to_numpy(dtype=np.float64) @ weights) for name in LIMITS}
    most = max(shares, key=shares.__getitem__)
    return most, min(1.0, shares[most])
