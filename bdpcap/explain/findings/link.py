"""Finding on the link: a busy bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.explain import remedies
from bdpcap.explain.capacity import delivered_bps, known_bps, spoken
from bdpcap.explain.expected import GAIN
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.sharing import beside, together_bps
from bdpcap.explain.varying import ADVICE, varying
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["limits"]


def limits(flow: Flow) -> list[Finding]:
    """Return a finding on a busy bottleneck and the rate that it carried: below its capacity if it stalls or varies."""
    rtt_min, median = flow.summary["rtt_min_ns"], flow.summary["rtt_median_ns"]
    capacity = flow.summary["capacity_bps"]
    held = (flow.rtts["limit"] == "link").to_numpy()
    busy = flow.rtts[held]
    if busy.empty:
        return []
    lasting, carried = busy["end_ns"] - busy["start_ns"], busy["acked_bytes"]
    rate = delivered_bps(busy)
    others = (busy["detail"] == "others' queue").mean() > 1 / 2
    # Without acknowledged bytes the rate is unknown.
    did = f" and carried {units.data_size(carried.sum())} in" if carried.any() else " for"
    reached = f", {units.rate(rate)}" if carried.any() else ""
    trips = (
        f" Round trips took {units.duration(median)}, {units.duration(rtt_min)} at best."
        if pd.notna(median)
        else ""
    )
    known = known_bps(flow.summary)
    carries = f"; the network can carry {spoken(flow.summary)}" if known is not None and known >= rate else ""
    typical = busy.loc[(carried / lasting.clip(lower=1)).sort_values(kind="stable").index[len(busy) // 2]]
    return [
        Finding(
            code=Code.LINK_FULL,
            sentence=f"The bottleneck was busy{did} {units.duration(lasting.sum())}{reached}"
            f"{carries}.{trips}",
            cause=_cause(flow, others=others),
            remedy=_remedy(flow, known, others=others),
            commands=remedies.find_link(*remedies.ends(flow)),
            values={"carried_bps": rate, "capacity_bps": None if pd.isna(capacity) else float(capacity)},
            evidence=f"link in {held.sum()} of {len(held)} rounds. In the median one, {typical['round']}: "
            f"{typical['evidence'].rstrip('.')}",
            frames=frames(flow, held),
            source="rate and RTT of the rounds: docs/how-limits-are-inferred.md",
        )
    ]


def _cause(flow: Flow, *, others: bool) -> str:
    if others:
        return "The path was busy before this flow came: others keep a queue in front of the bottleneck."
    found = varying(flow)
    if found is not None:
        best = units.rounded(found.best_bps, "bit/s")
        return f"Packets queued, but the link forwarded {best} at times, and less than half of it at others."
    return "The sender keeps a queue in front of the bottleneck at all times."


def _remedy(flow: Flow, known_bps: float | None, *, others: bool) -> str:
    if not others and varying(flow):
        return ADVICE
    if not others:
        return "More throughput needs a faster link; larger windows or buffers only lengthen the queue."
    together = together_bps(beside(flow.capture.flows, flow.summary))
    if known_bps is not None and together * GAIN >= known_bps:
        return "The flows of this capture fill the link together: run fewer at once, or take a faster link."
    return "Find who shares the bottleneck; more throughput needs a fairer share or a faster link."
