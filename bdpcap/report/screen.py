"""The first screen on a flow: verdict, rate and reason in a few sentences, the same in text, page and notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.diagnosis.nature import OUTAGE, nature, speed
from bdpcap.report import verdict
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["head", "rate", "sentences"]


def head(flow: Flow) -> str:
    """Return the verdict in a few words: the limit with its share of active time, or the flow's nature."""
    summary = flow.summary
    kind = nature(flow)
    confidence = f"(confidence {units.confidence(summary['confidence'])})"
    if kind is not None:
        return f"{kind.title} {confidence}"
    limit = str(summary["limit"])
    if summary["active_ns"] == 0:
        return LIMIT_NAMES[limit]
    share = units.spoken_share(summary[f"{limit}_share"])
    return f"{LIMIT_NAMES[limit]}, {share} of {units.duration(summary['active_ns'])} {confidence}"


def rate(flow: Flow) -> str:
    """Return the rate reached and the rate that the path can carry; empty if the nature's sentence has it."""
    kind = nature(flow)
    if kind is not None and kind is not OUTAGE:
        return ""
    if moved := speed(flow):
        return moved
    reached, path = verdict.throughput(flow.summary), verdict.path(flow.summary)
    size = units.data_size(flow.summary["payload_bytes"])
    can = f"; the path can carry {path.capacity}" if path is not None and reached else ""
    return f"{size} at {reached}{can}." if reached else f"{size}."


def sentences(flow: Flow) -> list[str]:
    """Return the sentences below the flow's ends: its rate, and the reason for the verdict."""
    kind = nature(flow)
    reason = verdict.reason(flow) if kind is None else kind.sentence(flow)
    return [sentence for sentence in (rate(flow), reason) if sentence]
