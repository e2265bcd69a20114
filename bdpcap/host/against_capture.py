"""Comparison of a flow's figures by the host and by the capture, between the flow's first and last sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.host.account import samples_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Flow

    Floats = NDArray[np.float64]

LEAST_SAMPLES: Final = 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    Figures of a flow by the host and by the capture; None if unknown.

    The kernel measures three durations (Linux, net/ipv4/tcp_output.c). A flow is busy while anything is unsent or
    unacknowledged. It is limited by the receive window while only that window holds the next segment back
    (tcp_write_xmit). It is limited by the send buffer while all buffered data was sent and a writer waits for room
    (tcp_cwnd_validate). The last duration underestimates the buffer's cost: a buffer with unsent data, or whose writer
    does not wait, does not count. Shares are of the time between the first and the last sample.

    Examples
    --------
    >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
    >>> flow = bdpcap.analyze("tests/data/host/sender.pcap.zst", host=counters)[0]
    >>> both = bdpcap.host.compare(flow)
    >>> round(both.host_rwnd_share, 2), round(both.rwnd_share, 2)
    (0.48, 0.5)
    """

    samples: int
    start_ns: int
    end_ns: int
    host_busy_share: float | None
    host_rwnd_share: float | None
    host_sndbuf_share: float | None
    busy_share: float
    """Share of the time with bytes in flight, by the capture."""
    rwnd_share: float
    sndbuf_share: float
    host_cwnd_bytes: int | None
    """Median of the congestion window times the MSS, by the host."""
    in_flight_bytes: int | None
    """Median of the bytes in flight at the times of the samples, by the capture."""
    cwnd_used_share: float | None
    """Median ratio of the bytes in flight to the congestion window times the MSS."""
    host_rtt_ns: int | None
    """Median of the smoothed RTT, by the host."""
    rtt_ns: int | None
    """Median RTT of the rounds, by the capture."""
    host_retransmits: int | None
    retransmits: int


def compare(flow: Flow) -> Comparison | None:
    """Compare the host's account of a flow with the capture; None where there are fewer than two samples.

    Examples
    --------
    >>> counters = bdpcap.host.read(tcp_info_logs="tests/data/host/tcp_info.jsonl")
    >>> flow = bdpcap.analyze("tests/data/host/sender.pcap.zst", host=counters)[0]
    >>> bdpcap.host.compare(flow).samples
    154
    >>> bdpcap.host.compare(capture[0]) is None
    True
    """
    samples = samples_of(flow)
    if len(samples) < LEAST_SAMPLES:
        return None
    time = samples["time_ns"].to_numpy(dtype=np.int64)
    rounds = flow.rtts
    overlap = _overlap(rounds, time[0], time[-1])
    lasting = max(1, int(time[-1] - time[0]))
    seen = rounds["overruled"].fillna(rounds["limit"])
    share = {
        limit: float(overlap[(seen == limit).to_numpy()].sum()) / max(1, int(overlap.sum()))
        for limit in ("rwnd", "sndbuf")
    }
    cwnd = _floats(samples["cwnd_segments"]) * _floats(samples["mss_bytes"])
    at, all_flight = _in_flight(flow)
    flight = np.append(all_flight, np.nan)[at.searchsorted(time, side="right") - 1]
    within = overlap > 0
    return Comparison(
        samples=len(samples),
        start_ns=int(time[0]),
        end_ns=int(time[-1]),
        host_busy_share=_grown(samples["busy_ns"], lasting),
        host_rwnd_share=_grown(samples["rwnd_limited_ns"], lasting),
        host_sndbuf_share=_grown(samples["sndbuf_limited_ns"], lasting),
        busy_share=_positive_share(at, all_flight, int(time[0]), int(time[-1])),
        rwnd_share=share["rwnd"],
        sndbuf_share=share["sndbuf"],
        host_cwnd_bytes=_whole(_median(cwnd)),
        in_flight_bytes=_whole(_median(flight)),
        cwnd_used_share=_median(flight / cwnd),
        host_rtt_ns=_whole(_median(_floats(samples["rtt_ns"]))),
        rtt_ns=_whole(_median(_floats(rounds["rtt_ns"])[within])),
        host_retransmits=_whole(_rise(samples["retransmits"])),
        retransmits=int(rounds["retransmits"].to_numpy()[within].sum()),
    )


def _in_flight(flow: Flow) -> tuple[NDArray[np.int64], Floats]:
    """Return the times at which the bytes in flight are known, and the bytes in flight from each time on."""
    known = flow.events[flow.events["in_flight_bytes"].notna()]
    return known["time_ns"].to_numpy(dtype=np.int64), _floats(known["in_flight_bytes"])


def _positive_share(at: NDArray[np.int64], values: Floats, start_ns: int, end_ns: int) -> float:
    """Return the share of a period in which a quantity was above zero, of values that hold from the times `at` on."""
    edges = np.append(at, end_ns).clip(start_ns, end_ns)
    lasting = np.maximum(0, np.diff(edges))
    return float(lasting[values > 0].sum() / max(1, end_ns - start_ns))


def _overlap(rounds: pd.DataFrame, start_ns: int, end_ns: int) -> NDArray[np.int64]:
    """Return the nanoseconds of each round that lie within a period."""
    start, end = (rounds[name].to_numpy(dtype=np.int64) for name in ("start_ns", "end_ns"))
    common: NDArray[np.int64] = np.maximum(0, np.minimum(end, end_ns) - np.maximum(start, start_ns))
    return common


def _rise(column: pd.Series[Any]) -> float | None:
    known = column.dropna()
    return None if len(known) < LEAST_SAMPLES else float(known.iloc[-1] - known.iloc[0])


def _grown(column: pd.Series[Any], lasting_ns: int) -> float | None:
    rise = _rise(column)
    return None if rise is None else min(1.0, rise / lasting_ns)


def _floats(column: pd.Series[Any]) -> Floats:
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _median(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
