"""Evidence without packets: rounds whose counts are set by hand, or of which only declared quantities are known."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from packets import pcap

from bdpcap import _core
from bdpcap.limits.evidence import CONCEPTS, Evidence, Vantage
from bdpcap.limits.evidence.field import Field
from bdpcap.limits.rounds import Rounds

MS = 1_000_000
RTT_MS = 20
MSS = 1000
MEASURED = (
    *(
        "window_min_bytes",
        "window_max_bytes",
        "usable_window_min_bytes",
        "rtt_min_ns",
        "rtt_ns",
        "rtt_max_ns",
    ),
    *(
        "flow_rtt_min_ns",
        "queueing_delay_p20_ns",
        "delivery_rate",
        "ack_spacing_rate",
        "ack_steady_rate",
        "forward_delay_p20_ns",
        "reverse_delay_p20_ns",
    ),
    *("burst_wait_ns", "burst_period_min_ns", "burst_period_max_ns"),
)
"""Columns that are absent where nothing was measured; of the others nothing is 0."""

DECLARED = {
    f"{concept}.{name}": value
    for concept, quantities in CONCEPTS.items()
    for name, value in vars(quantities).items()
    if isinstance(value, Field)
}
"""Every declared quantity by its full name."""


@cache
def _names() -> tuple[str, ...]:
    core = _core.Analysis([io.BytesIO(pcap([]))])
    core.advance(1)
    return tuple(core.rounds()[0])


def rounds(flow, **columns) -> Rounds:
    """Rounds of 20 ms of the flows given, one after the other, with these counts; nothing else happened in them."""
    flow = np.asarray(flow)
    count = len(flow)
    empty = {name: np.zeros(count, dtype=np.int64) for name in _names()}
    empty |= {name: np.full(count, _core.NULL) for name in MEASURED}
    empty["length_ns"] += RTT_MS * MS
    empty["round"] = np.arange(count) - np.searchsorted(flow, flow)
    given = {name: np.asarray(values, dtype=np.int64) for name, values in columns.items()}
    assert set(given) <= set(empty), "the core counts no such thing"
    made = empty | given
    if "end_ns" not in given:
        made["end_ns"] = np.cumsum(made["length_ns"])
        made["start_ns"] = made["end_ns"] - made["length_ns"]
    return Rounds(made, flow)


def vantage(
    flow,
    *,
    at_sender=True,
    at_receiver=False,
    mss=MSS,
    flow_acks=1,
    tick_ns=1,
    needless=False,
    unmeasured=False,
) -> Vantage:
    """Where the capture was taken, alike for all rounds; each flow has a path to itself."""
    count = len(flow)
    return Vantage(
        at_sender=np.full(count, at_sender),
        at_receiver=np.full(count, at_receiver),
        mss_bytes=np.full(count, float(mss)),
        initial_rtt_ns=np.full(count, np.nan),
        path_rtt_ns=np.full(count, np.nan),
        cross_traffic_bytes=np.zeros(count),
        flow_acks=np.full(count, float(flow_acks)),
        needless=np.full(count, needless),
        tick_ns=np.full(count, float(tick_ns)),
        shifted=np.zeros(count, dtype=bool),
        unmeasured=np.full(count, unmeasured),
        capture_end_ns=np.full(count, np.inf),
    )


def counted(
    flow, *, at_sender=True, at_receiver=False, mss=MSS, needless=False, columns=None, **counts
) -> Evidence:
    """Evidence from counts."""
    made = rounds(flow, **(columns or {}), **counts)
    place = vantage(made.flow, at_sender=at_sender, at_receiver=at_receiver, mss=mss, needless=needless)
    return Evidence(made, place)


def known(quantities, count=1, *, flow=None, missed=0, flow_acks=1, account=False, tick_ns=1) -> Evidence:
    """Evidence of which these quantities are known, each one number or one for every round, and nothing else.

    Conditions are false, and every other number is NaN. `account` says whether the sending host gave one.
    """
    count = count if flow is None else len(flow)
    flow = np.zeros(count, dtype=np.int64) if flow is None else np.asarray(flow)
    made = rounds(
        flow,
        acked_bytes=[MSS] * count,
        flow_rtt_min_ns=[RTT_MS * MS] * count,
        unseen_bytes=np.full(count, missed),
    )
    evidence = Evidence(made, vantage(flow, flow_acks=flow_acks, tick_ns=tick_ns), {} if account else None)
    for name, declared in DECLARED.items():
        concept, _, quantity = name.partition(".")
        value = quantities.get(name, False if declared.unit == "yes" else np.nan)
        # Found before it is worked out.
        vars(getattr(evidence, concept))[quantity] = np.broadcast_to(
            np.asarray(value, dtype=bool if declared.unit == "yes" else np.float64), (count,)
        ).copy()
    assert set(quantities) <= set(DECLARED), "no concept declares that"
    return evidence
