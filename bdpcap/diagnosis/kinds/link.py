"""The link: the bottleneck of the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import datagrams, gains, places
from bdpcap.diagnosis.model import Cause, Limit, longest
from bdpcap.diagnosis.outlook import NOTHING, Outlook, with_change
from bdpcap.explain.capacity import delivered_bps
from bdpcap.explain.expected import GAIN, active_bps, full_bps
from bdpcap.explain.findings import link
from bdpcap.explain.varying import ADVICE, KEPT_TRIPS, LONG, varying
from bdpcap.words import palette, rates, units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["LIMIT"]

STANDING_NS: Final = 100_000_000
"""Wait in a queue from which on a shorter one is worth its words: CoDel's interval (RFC 8289 section 4.3)."""


FEW_SEGMENTS: Final = 4
"""Segments in a queue up to which no queue is shorter: those of two acknowledgments, or of a small write."""


def _may_have_stood(flow: Flow) -> bool:
    """Return whether the capture lacks the handshake: the queue may have stood before it, and in each round trip."""
    return not flow._counts["handshake"]


def _queue(flow: Flow, own: pd.DataFrame) -> str:
    least, usual = flow.summary["rtt_min_ns"], own["rtt_ns"].median()
    reasons = [f"it carried this flow at {units.rate(full_bps(flow))}"] if own["acked_bytes"].any() else []
    known = pd.notna(least) and pd.notna(usual)
    # A queue holds a segment at least; a shorter wait shows that the capture does not measure round trips.
    if known and rates.bytes_at(delivered_bps(own), float(usual - least)) >= flow.summary["mss_bytes"]:
        at_least = "at least " if _may_have_stood(flow) else ""
        reasons.append(f"packets waited {at_least}{units.duration(usual - least)} in its queue")
    return ", and ".join(reasons)


def _shorter(flow: Flow) -> Outlook:
    least, usual = flow.summary["rtt_min_ns"], flow.summary["rtt_median_ns"]
    rate_bps = full_bps(flow)
    if rate_bps >= GAIN * active_bps(flow):
        # A mean: a link may carry more for a while.
        return Outlook(f"up to about {units.rate(rate_bps)}, the mean rate of the full link")
    same = "the same rate"
    if pd.isna(least) or pd.isna(usual) or not rate_bps:
        return Outlook(f"{same}, whatever the ends set")
    # No queue is shorter than the segment that the link is sending.
    segment_ns = rates.duration_ns(float(flow.summary["mss_bytes"]), rate_bps)
    if usual - least < max(STANDING_NS, FEW_SEGMENTS * segment_ns):
        return Outlook(f"{same}, whatever the ends set")
    return Outlook(
        f"{same}; a managed queue (fq_codel) shortens round trips from {units.duration(usual)} towards "
        f"{units.duration(least + segment_ns)}{' or less' if _may_have_stood(flow) else ''}"
    )


def _varied(flow: Flow, own: pd.DataFrame) -> str:
    found = varying(flow)
    if found is None:
        return ""
    mean, best = units.rate(delivered_bps(own)), units.rounded(found.best_bps, "bit/s")
    stalls = f"{units.number(found.stalls, 'round trip')} took {units.duration(found.stall_ns)} or longer"
    return (
        f"{mean} in the mean while busy, {best} at best (over {KEPT_TRIPS} round trips); "
        f"{stalls}, {LONG} times the median"
    )


def _best(flow: Flow) -> Outlook:
    found = varying(flow)
    if found is None:
        return NOTHING
    return Outlook(f"up to about {units.rounded(found.best_bps, 'bit/s')}, the link's best rate")


def _detail(flow: Flow, own: pd.DataFrame) -> str | None:
    """Return the detail that holds for longest; "varying" if the flow's own queue stood at a link that kept no rate."""
    detail = longest(own, "detail")
    return "varying" if detail == "own queue" and varying(flow) else detail


_FULL: Final = Cause(
    "The link was full",
    _queue,
    places.full_link,
    "Nothing to tune at the ends: more throughput takes a faster link.",
    _shorter,
)

LIMIT: Final = Limit(
    code="link",
    name="link",
    colour=palette.GREEN,
    meaning="The bottleneck was busy all the time; a larger window would only lengthen its queue.",
    usual=_FULL,
    causes={
        "own queue": _FULL,
        "others' queue": Cause(
            "Other traffic filled the link",
            _queue,
            places.full_link,
            "Find who shares the bottleneck.",
            with_change("with a larger share"),
        ),
        "varying": Cause(
            "The link's rate varied",
            _varied,
            places.full_link,
            ADVICE,
            _best,
        ),
    },
    detail=_detail,
    findings=lambda flow, _: link.limits(flow),
    first=(datagrams.first, gains.of_pauses),
)
