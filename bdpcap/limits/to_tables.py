"""From verdicts to the rows of the tables of flows and rounds, as cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap import _core, tables
from bdpcap.limits.decision import DECIDING, KINDS, LIMITS
from bdpcap.tables import cells
from bdpcap.tables.columns import floats

if TYPE_CHECKING:
    from bdpcap.limits.decision import Places, Verdict
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Floats, Ints, Rounds
    from bdpcap.tables.cells import Cells, Columns

__all__ = ["flows", "rounds"]


def rounds(
    of_flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict, words: list[str]
) -> Columns:
    """Return rows of `bdpcap.tables.RTTS`; `of_flows` are the core's columns about the flows of the rounds."""
    columns, flow = evidence.rounds.columns, evidence.rounds.flow
    length = (columns["end_ns"] - columns["start_ns"]).astype(np.float64)
    made: dict[str, Cells] = {
        "sender": (flow, of_flows["sender"].tolist()),
        "receiver": (flow, of_flows["receiver"].tolist()),
        "rtt_ns": _positive(evidence.rounds.rtt_ns),
        "throughput_bps": _rate(columns["acked_bytes"].astype(np.float64), length),
        "in_flight_max_bytes": cells.whole(columns["flight_max_bytes"]),
        "retransmits": cells.whole(columns["resent_segments"]),
        "limit": cells.named(verdict.limits, LIMITS),
        "detail": cells.named(verdict.details, KINDS),
        "confidence": cells.known(verdict.confidence),
        "rule": cells.named(verdict.rules, DECIDING),
        "evidence": cells.texts(words),
        "alternative": cells.named(verdict.alternatives, LIMITS),
    }
    return {name: made.get(name) or cells.whole(columns[name]) for name in tables.RTTS}


def flows(of_flows: dict[str, np.ndarray], evidence: Evidence, verdict: Verdict) -> tuple[Columns, Places]:
    """Return rows of `bdpcap.tables.FLOWS`, and which detail of its limit held each flow longest.

    `of_flows` are the core's columns about them.
    """
    count = len(of_flows["stream"])
    flow, first = evidence.rounds.flow, evidence.rounds.starts
    length = evidence.rounds.end_ns - evidence.rounds.start_ns
    total = np.maximum(np.bincount(flow, length, count), 1e-9)
    held = np.array([np.bincount(flow, length * verdict.is_limit(name), count) for name in LIMITS])
    # A flow captured in one instant has no time to share out.
    held[-1] = np.where(total > 1e-9, held[-1], total)
    most = held.argmax(axis=0)
    leads = verdict.limits == most[flow]
    weight = np.bincount(flow, length * leads, count)
    sure = np.bincount(flow, length * leads * verdict.confidence, count)
    capacity = _capacity(evidence, held[LIMITS.index("link")] > 0.1 * total)
    least_ns = floats(of_flows["rtt_min_ns"])
    # The least round trip has the sender's delay as known at the end; early rounds may have had less of it.
    median_ns = np.maximum(_median_ns(evidence.rounds), np.nan_to_num(least_ns))
    life = (of_flows["end_ns"] - of_flows["start_ns"]).astype(np.float64)
    acked = of_flows["acked_bytes"].astype(np.float64)
    made: dict[str, Cells] = {
        "sender": cells.texts(of_flows["sender"].tolist()),
        "receiver": cells.texts(of_flows["receiver"].tolist()),
        "window_scale_source": cells.named(of_flows["window_scale_source"], tables.SCALE_SOURCES),
        "rtt_min_ns": _positive(least_ns),
        "rtt_median_ns": _whole(median_ns),
        "throughput_bps": _rate(np.where(acked > 0, acked, np.nan), life),
        "capacity_bps": cells.known(np.where(np.isfinite(capacity) & (capacity > 0), capacity, np.nan)),
        "bdp_bytes": _positive(capacity * evidence.queue.rtt_min_ns[first] / 8e9),
        "vantage": cells.among(of_flows["vantage"], tables.PLACES),
        "limit": cells.named(most, LIMITS),
        **{
            f"{name}_share": cells.known(np.clip(share / total, 0.0, 1.0))
            for name, share in zip(LIMITS, held, strict=True)
        },
        "confidence": cells.known(np.round(sure / np.maximum(weight, 1e-9), 2)),
    }
    columns = {name: made.get(name) or cells.whole(of_flows[name]) for name in tables.FLOWS}
    return columns, _longest(verdict.details, flow, length * leads, count)


def _longest(details: Places, flow: Ints, held: Floats, count: int) -> Places:
    """Return of each flow the detail that held it longest, negative where that is none."""
    kinds = len(KINDS) + 1  # none is the first
    of_kind = np.bincount(flow * kinds + details + 1, held, count * kinds).reshape(count, kinds)
    longest: Places = (of_kind.argmax(axis=1) - 1).astype(np.int8)
    return longest


def _capacity(evidence: Evidence, filled: np.ndarray) -> Floats:
    """Return the bottleneck's rate in bits per second, of each flow; `filled` says which kept the link busy.

    It shows in the first bursts, whatever held the flow later; but a flow that kept the link busy at much less shared it,
    and had a part.
    """
    first = evidence.rounds.starts
    reached, initial = evidence.rate.capacity[first], evidence.rate.initial_burst[first]
    shared = filled & (initial > 1.5 * reached)
    return np.where(shared, reached, np.fmax(reached, initial)) * 8


def _median_ns(of: Rounds) -> Floats:
    """Return the median of the rounds' RTTs, of each flow."""
    return _core.medians(np.where(of.rtt_ns > 0, of.rtt_ns, np.nan), of.starts)


def _rate(amount_bytes: Floats, lasted_ns: Floats) -> Cells:
    """Bits per second; absent for what came in one instant, and where the amount is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return cells.known(np.where(lasted_ns > 0, amount_bytes * 8e9 / lasted_ns, np.nan))


def _whole(values: Floats) -> Cells:
    """Integers from floats; what 64 bits do not hold is absent, too."""
    absent = ~(np.abs(values) < 2.0**63)
    return np.round(np.where(absent, 0, values)).astype(np.int64), absent


def _positive(values: Floats) -> Cells:
    """Integers from floats; 0 is absent, too: a time or a size that the capture is too coarse to show."""
    return _whole(np.where(values > 0.5, values, np.nan))  # a half is rounded to even, which is 0
