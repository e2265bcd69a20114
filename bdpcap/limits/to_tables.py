"""Rows of the tables of flows and rounds as cells, made from verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core, tables
from bdpcap.hosts import CERTAINTIES, FAMILIES
from bdpcap.limits.capacity import capacity
from bdpcap.limits.decision import DECIDING, IDLE, KINDS, LIMITS, STATES
from bdpcap.limits.rounds import SECOND_NS
from bdpcap.read.quality import STANDSTILL_NS
from bdpcap.tables import cells
from bdpcap.tables.columns import floats
from bdpcap.words.units import YEAR_NS

if TYPE_CHECKING:
    from bdpcap.limits.decision import Places, Verdict
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Floats, Ints, Rounds
    from bdpcap.tables.cells import Cells, Columns

__all__ = ["flows", "rounds"]

SUSTAINED_NS: Final = 3e7
"""Nanoseconds for which a sustained rate lasts at least, as in the core: a stalled host is silent for a third of it."""
FIN_BYTES: Final = 1
"""A FIN occupies one sequence number (RFC 9293 section 3.4)."""
BITS: Final = 8
"""Bits in a byte."""
EVEN: Final = 0.5
"""Confidence that the main limit leads if another one held for as long."""
NO_TIME: Final = 1e-9
"""Nanoseconds that stand for none, so that they can divide."""
ROUNDS_TO_ONE: Final = 0.5
"""Nanoseconds above which a duration rounds to one; a half itself is rounded to even, which is 0."""
BEYOND_64_BITS: Final = 2.0**63
"""Least float that no signed integer of 64 bits holds."""


def rounds(
    of_flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict, words: list[str]
) -> Columns:
    """Return the rows of `bdpcap.tables.RTTS`.

    Parameters
    ----------
    of_flows
        The core's columns about the flows to which the rounds belong.
    words
        The evidence sentence of each round.
    """
    columns, flow = evidence.rounds.columns, evidence.rounds.flow
    length = (columns["end_ns"] - columns["start_ns"]).astype(np.float64)
    made: dict[str, Cells] = {
        "sender": (flow, of_flows["sender"].tolist()),
        "receiver": (flow, of_flows["receiver"].tolist()),
        "rtt_ns": _positive(evidence.rounds.rtt_ns),
        "throughput_bps": _rate(evidence.rounds.acked_bytes, length),
        "in_flight_max_bytes": cells.whole(columns["in_flight_max_bytes"]),
        "retransmits": cells.whole(columns["retransmitted_segments"]),
        "limit": cells.named(verdict.limits, STATES),
        "detail": cells.named(verdict.details, KINDS),
        "confidence": cells.known(verdict.confidence),
        "rule": cells.named(verdict.rules, DECIDING),
        "evidence": cells.texts(words),
        "alternative": cells.named(verdict.alternatives, LIMITS),
        "overruled": cells.named(verdict.overruled, LIMITS),
    }
    return {name: made.get(name) or cells.whole(columns[name]) for name in tables.RTTS}


def flows(of_flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict) -> tuple[Columns, Places]:
    """Return the rows of `bdpcap.tables.FLOWS`, and for each flow the detail of its limit that held longest.

    Parameters
    ----------
    of_flows
        The core's columns about the flows.
    """
    count = len(of_flows["stream"])
    flow, first = evidence.rounds.flow, evidence.rounds.starts
    counted = evidence.rounds.columns
    length = (counted["end_ns"] - counted["start_ns"]).astype(np.float64)
    *limited, idle = (np.bincount(flow, length * verdict.is_limit(name), count) for name in STATES)
    held, active = np.array(limited), np.sum(limited, axis=0)
    total = np.maximum(active, NO_TIME)
    # A flow without active time, as one whose packets all have the same time, has nothing to share out.
    held[-1] = np.where(active > 0, held[-1], total)
    most = held.argmax(axis=0)
    leads = verdict.limits == most[flow]
    weight = np.bincount(flow, length * leads, count)
    sure = np.bincount(flow, length * leads * verdict.confidence, count)
    rtt_min_ns = floats(of_flows["rtt_min_ns"])
    # The minimum RTT includes the delay to the sender as known at the end; early rounds may include less of that delay.
    median_ns = np.maximum(_median_ns(evidence.rounds), np.nan_to_num(rtt_min_ns))
    life = (of_flows["end_ns"] - of_flows["start_ns"]).astype(np.float64)
    acked = floats(of_flows["acked_bytes"])
    least_ns = np.fmax(rtt_min_ns, SUSTAINED_NS)
    timed_ns = evidence.rate.timed_ns[first]
    carrying = active + _last_trip_ns(evidence, verdict)
    mean = np.where(
        active >= np.fmax(least_ns, timed_ns), acked / np.maximum(carrying, NO_TIME) * SECOND_NS, np.nan
    )
    sustained = np.where(least_ns >= timed_ns, floats(of_flows["sustained_rate"]), np.nan)
    path = capacity(evidence, np.fmax(sustained, mean))
    stall_ns = floats(of_flows["longest_stall_ns"])
    untrue = (stall_ns >= YEAR_NS) | (of_flows["standstill_ns"] > 0) & (stall_ns >= STANDSTILL_NS)
    made: dict[str, Cells] = {
        "sender": cells.texts(of_flows["sender"].tolist()),
        "receiver": cells.texts(of_flows["receiver"].tolist()),
        "window_scale_source": cells.named(of_flows["window_scale_source"], tables.SCALE_SOURCES),
        "rtt_min_ns": _positive(rtt_min_ns),
        "rtt_median_ns": _whole(median_ns),
        "throughput_bps": _rate(np.where(acked > 0, acked, np.nan), life),
        "capacity_bps": _bps(path.estimate),
        "capacity_low_bps": _bps(path.low),
        "capacity_high_bps": _bps(path.high),
        "bdp_bytes": _positive(path.estimate * evidence.queue.rtt_min_ns[first] / SECOND_NS),
        "vantage": cells.among(of_flows["vantage"], tables.PLACES),
        "active_ns": _whole(active),
        "active_throughput_bps": _rate(np.where(acked > 0, acked, np.nan), carrying),
        "longest_stall_ns": _whole(np.where(untrue, np.nan, stall_ns)),
        "idle_share": cells.known(idle / np.maximum(active + idle, NO_TIME)),
        "limit": cells.named(most, LIMITS),
        **{
            f"{name}_share": cells.known(np.clip(share / total, 0.0, 1.0))
            for name, share in zip(LIMITS, held, strict=True)
        },
        "confidence": cells.known(np.round(_leading(held / total, sure / np.maximum(weight, NO_TIME)), 2)),
    }
    for end in ("sender", "receiver"):
        made[f"{end}_system"] = cells.named(of_flows[f"{end}_system"], FAMILIES)
        made[f"{end}_system_certainty"] = cells.named(of_flows[f"{end}_system_certainty"], CERTAINTIES)
    columns = {name: made.get(name) or cells.whole(of_flows[name]) for name in tables.FLOWS}
    return columns, _longest(verdict.details, flow, length * leads, count)


def _last_trip_ns(evidence: Evidence, verdict: Verdict) -> Floats:
    """Return for each flow the time on the way of its last data, at most the minimum RTT: later, they only waited."""
    rounds = evidence.rounds
    last = evidence.writes.over & verdict.is_limit(IDLE) & (rounds.acked_bytes > FIN_BYTES)
    took_ns = np.bincount(rounds.flow, np.where(last, rounds.length_ns, 0.0), len(rounds.starts))
    return np.fmin(took_ns, evidence.queue.rtt_min_ns[rounds.starts])


def _leading(shares: Floats, sure: Floats) -> Floats:
    """Return the confidence that each flow's main limit leads, from shares by limit and the confidence of its rounds.

    The time of its rounds that may be wrong could be the second limit's, which changes a lead of twice that time.
    """
    second, most = np.sort(shares, axis=0)[-2:]
    wrong = most * (1 - sure)
    lead = np.clip((most - second) / np.maximum(2 * wrong, NO_TIME), 0.0, 1.0)
    leading: Floats = np.minimum(sure, EVEN + (sure - EVEN) * lead)
    return leading


def _longest(details: Places, flow: Ints, held: Floats, count: int) -> Places:
    """Return for each flow the detail with the longest total time in `held`; negative where that is none."""
    kinds = len(KINDS) + 1  # the first counts rounds without a detail
    of_kind = np.bincount(flow * kinds + details + 1, held, count * kinds).reshape(count, kinds)
    longest: Places = (of_kind.argmax(axis=1) - 1).astype(np.int8)
    return longest


def _median_ns(of: Rounds) -> Floats:
    """Return for each flow the median of its rounds' RTTs; NaN without one."""
    return _core.medians(np.where(of.rtt_ns > 0, of.rtt_ns, np.nan), of.starts)


def _bps(rate: Floats) -> Cells:
    """Return whole bits per second as cells, from bytes per second; absent below one."""
    bits = np.round(BITS * rate)
    return cells.known(np.where(bits >= 1, bits, np.nan))


def _rate(amount_bytes: Floats, lasted_ns: Floats) -> Cells:
    """Return bits per second as cells; absent where the duration is 0 or the amount is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return cells.known(np.where(lasted_ns > 0, BITS * amount_bytes * SECOND_NS / lasted_ns, np.nan))


def _whole(values: Floats) -> Cells:
    """Return floats as integer cells; NaN and values beyond 64 bits are absent."""
    absent = ~(np.abs(values) < BEYOND_64_BITS)
    return np.round(np.where(absent, 0, values)).astype(np.int64), absent


def _positive(values: Floats) -> Cells:
    """Return floats as integer cells; values that round to 0 are absent, since the capture is too coarse for them."""
    return _whole(np.where(values > ROUNDS_TO_ONE, values, np.nan))
