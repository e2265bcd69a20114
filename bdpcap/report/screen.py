"""The first screen on a flow: verdict, rate and reason in a few sentences, the same in text, page and notebook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.diagnosis.decide import datagrams
from bdpcap.diagnosis.nature import OUTAGE, REQUESTS, nature, speed
from bdpcap.diagnosis.remedy import remedy
from bdpcap.report import verdict
from bdpcap.report.part import part
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.report.ranking import Group

__all__ = ["Entries", "entries", "head", "rate", "sentences"]


@dataclass(frozen=True, slots=True)
class Entries:
    """The groups with a separate verdict on the first screen, and one sentence on the others."""

    detailed: list[Group]
    sums: list[str]
    """Sentence on the flows that share a full link, for each of `detailed`; may be empty."""
    quiet: str
    """Sentence on the groups at which nothing is to be mended; empty if there are none."""


def entries(groups: list[Group]) -> Entries:
    """Return the entries of the first screen; requests of both directions of a stream are one, as are quiet flows."""
    detailed: list[Group] = []
    quiet: list[Group] = []
    asked: set[int] = set()
    for group in groups:
        asks = part("the nature of a flow", partial(nature, group.flow), lambda _: None) is REQUESTS
        if asks and group.flow.stream in asked:
            continue
        asked |= {group.flow.stream} if asks else set()
        (detailed if not detailed or _has_place(group.flow) else quiet).append(group)
    return Entries(detailed, _sums(detailed), _quiet(quiet))


def _sums(detailed: list[Group]) -> list[str]:
    """Return a sentence on the flows that share a full link for the first entry of each path, else an empty one."""
    told: set[tuple[str, str]] = set()
    sums = []
    for group in detailed:
        path = (host(group.flow.sender), host(group.flow.receiver))
        sums.append(
            ""
            if path in told
            else part("the flows of a path", partial(_shared, group), lambda notice: notice)
        )
        told |= {path} if sums[-1] else set()
    return sums


def _shared(group: Group) -> str:
    return group.shared


def _quiet(quiet: list[Group]) -> str:
    if not quiet:
        return ""
    flows = pd.concat([group.flows for group in quiet])
    carried = units.data_size(flows["payload_bytes"].sum())
    numbers = units.streams(sorted({int(stream) for stream in flows["stream"]}))
    return f"{numbers}: {carried} in short exchanges, requests and pauses. Nothing to mend there."


def _has_place(flow: Flow) -> bool:
    """Return whether there is a place to act on; True where the advice fails, so that the reader sees why."""
    return part("the advice", lambda: bool(remedy(flow).where), lambda _: True)


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
    if (udp := datagrams(flow)) is not None:
        # What a flow shows of the path's rate is what UDP leaves to it.
        numbers = udp.values  # noqa: PD011  a dict, no pandas object
        can = f"; with UDP beside it, the path carried {units.rate(numbers['udp_bps'] + numbers['tcp_bps'])}"
    return f"{size} at {reached}{can}." if reached else f"{size}."


def sentences(flow: Flow) -> list[str]:
    """Return the sentences below the flow's ends: its rate, and the reason for the verdict."""
    kind = nature(flow)
    reason = verdict.reason(flow) if kind is None else kind.sentence(flow)
    udp = datagrams(flow) if kind is None else None
    beside = "" if udp is None else udp.sentence
    return [sentence for sentence in (rate(flow), reason, beside) if sentence]
