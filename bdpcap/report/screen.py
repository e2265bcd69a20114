"""The first screen on a flow: verdict, rate and reason in a few sentences, the same in text, page and notebook."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import ALL, LIMIT_NAMES
from bdpcap.diagnosis.datagrams import datagrams
from bdpcap.diagnosis.decide import cause
from bdpcap.diagnosis.moved import speed
from bdpcap.diagnosis.natures import (
    BLACK_HOLE,
    FAREWELL,
    HIDDEN,
    LATE,
    LOSSES,
    MUTUAL,
    OUTAGE,
    STOPPED,
    nature,
)
from bdpcap.diagnosis.relay import BEHIND, relayed
from bdpcap.explain import remedies
from bdpcap.explain.capacity import delivered_bps, known_bps
from bdpcap.explain.findings import requests
from bdpcap.explain.notable import NOTABLE_SHARE, NOTICED_NS, slow_opening_ns
from bdpcap.explain.place import in_batches
from bdpcap.explain.reached import acknowledged_bytes, lacks, reached_bps, spoken_rate
from bdpcap.report import ranking, slow_answers, verdict
from bdpcap.report.connections import broke
from bdpcap.report.notes import notes
from bdpcap.report.part import part
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Nature
    from bdpcap.report.ranking import Group

__all__ = ["Entries", "entries", "head", "rate", "sentences"]


SLIGHT: Final = 0.1
"""Payload over that of the largest flow in detail below which a program's pace has no entry, nor a short transfer."""
ANSWERS: Final = 0.01
"""Payload over that of the other direction below which a direction of one stream has no entry: answers, or control."""
PACED: Final = tuple(
    ALL["app"].causes[name]
    for name in ("idle", "small writes", "timer", "peer's time", "peer's data", "round trips", "tunnel")
)
"""Causes at which TCP and a link's rate held nothing back."""
WITHOUT_WINDOW: Final = ("link", "app")
"""Limits that show without the receive window: by a queue, or by a sender that has nothing in flight."""
_NEARLY: Final = 0.9
"""Share of a second limit over that of the main one from which the verdict names both; a choice."""
SAME_RATE: Final = 1.1
"""Ratio of a path's rate to that of a full link from which the two contradict each other."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The groups with a separate verdict on the first screen, and one sentence on the others."""

    detailed: list[Group]
    shown: list[Group]
    """All groups that the first screen names, those without a separate verdict, too."""
    sums: list[str]
    """Sentence on the flows that share a full link, for each of `detailed`; may be empty."""
    quiet: str
    """Sentence on the groups at which nothing is to be mended; empty if there are none."""

    @property
    def depend_on_scale(self) -> bool:
        """Whether an unknown window scale, once known, could change a verdict of `detailed`."""
        return any(_depends_on_scale(group) for group in self.detailed)


def entries(groups: list[Group]) -> Entries:
    """Return the entries of the first screen; requests of both directions of a stream are one, as are quiet flows."""
    detailed: list[Group] = []
    quiet: list[Group] = []
    answered: list[Group] = []
    asked: set[int] = set()
    told = _together(groups)
    kinds = [_nature(one) for one in told]
    # The wait at the end of a connection is nobody's loss, so another flow comes first.
    first = next((place for place, kind in enumerate(kinds) if kind is not FAREWELL), 0)
    for place, (group, kind) in enumerate(zip(told, kinds, strict=True)):
        asks = kind in MUTUAL
        streams = set(group.flows["stream"])
        if asks and group.flow.stream in asked:
            # A quiet stream has the bytes of both directions.
            if any(streams & set(one.flows["stream"]) for one in quiet):
                quiet.append(group)
            else:
                answered.append(replace(group, others=group.others[group.others["stream"].isin(asked)]))
            continue
        asked |= streams if asks else set()
        slight = place > first and kind not in (OUTAGE, STOPPED) and _is_slight(group, detailed)
        matters = place == first or (ranking.has_place(group.flow) and not slight)
        (detailed if matters else quiet).append(group)
    # A flow at which nothing is to be mended comes after those that have something.
    detailed.sort(key=lambda group: not ranking.has_place(group.flow))
    shown = [*detailed, *quiet, *answered]
    return Entries(detailed, shown, _sums(detailed), _quiet(quiet, detailed))


def _nature(group: Group) -> Nature | None:
    return part("the nature of a flow", partial(nature, group.flow), lambda _: None)


def _depends_on_scale(group: Group) -> bool:
    """Return whether the limit of a flow could be its receive window, whose scale is unknown."""
    summary = group.flow.summary
    unknown = summary["window_scale_source"] == "unknown"
    return bool(unknown and summary["limit"] not in WITHOUT_WINDOW) and _nature(group) is None


def _together(groups: list[Group]) -> list[Group]:
    """Return groups in which flows of one limit, hosts and nature are together, where nothing is to be mended.

    The detail of the limit, in which the groups differ, then changes no advice.
    """
    together: dict[object, Group] = {}
    for place, group in enumerate(groups):
        flow, kind = group.flow, _nature(group)
        ends = (host(flow.sender), host(flow.receiver), group.to_server, flow.summary["limit"])
        alone = kind is None or flow.summary["limit"] == "unknown" or ranking.has_place(flow)
        key = place if alone else (ends, kind)
        known = together.get(key)
        others = group.others if known is None else pd.concat([known.others, group.flows])
        together[key] = replace(group if known is None else known, others=others)
    return list(together.values())


def _is_slight(group: Group, detailed: list[Group]) -> bool:
    """Return whether a flow carried little, compared with the flows of the list, and no limit of it is news."""
    flow = group.flow
    if part("the waits for answers", lambda: group.waits_for_server, lambda _: False):
        return False
    carried = flow.summary["payload_bytes"]
    if carried < ANSWERS * sum(_carried(one.flow) for one in detailed if one.flow.stream == flow.stream):
        return True
    if part("the requests", lambda: _is_held(flow), lambda _: False):
        return False
    if carried >= SLIGHT * max(_carried(one.flow) for one in detailed):
        return False
    paced = part("the cause", lambda: cause(flow)[0] in PACED, lambda _: False)
    return paced or flow.summary["limit"] == "unknown" or flow.summary["active_ns"] < NOTICED_NS


def _is_held(flow: Flow) -> bool:
    """Return whether Nagle's algorithm held a stream's messages for a notable time."""
    shares = requests.told(flow)
    return shares is not None and bool(requests.held_sides(shares))


def _carried(flow: Flow) -> int:
    return int(flow.summary["payload_bytes"])


def _sums(detailed: list[Group]) -> list[str]:
    """Return a sentence on the flows that share a full link for the first entry of each path, else an empty one."""
    told: set[tuple[str, str]] = set()
    sums = []
    for group in detailed:
        path = (host(group.flow.sender), host(group.flow.receiver))
        sums.append("" if path in told else part("the flows of a path", group.shared, lambda notice: notice))
        told |= {path} if sums[-1] else set()
    return sums


def _quiet(quiet: list[Group], detailed: list[Group]) -> str:
    """Return sentences on the groups without an entry: nothing is to be mended, they are slight, or undecided."""
    undecided = [
        group for group in quiet if group.flow.summary["limit"] == "unknown" and _nature(group) is None
    ]
    decided = [group for group in quiet if group not in undecided]
    fine = [group for group in decided if not ranking.has_place(group.flow)]
    slight = [group for group in decided if ranking.has_place(group.flow)]
    mutual = any(_is_mutual(group.flow) for group in fine)
    what = "short transfers, requests and pauses" if mutual else "short transfers and pauses"
    capture = quiet[0].flow.capture if quiet else None
    failures = capture is not None and part("the connections", lambda: broke(capture), lambda _: False)
    aside = [what for what, holds in (("failures", failures), ("slow openings", _opened_late(fine))) if holds]
    nothing = f"{' and '.join(aside).capitalize()} aside, nothing" if aside else "Nothing"
    said = [
        _of_quiet(fine, detailed, f" in {what}. {nothing} to mend there{_slow(fine)}."),
        _of_quiet(slight, detailed, ", too little to matter here."),
        _of_quiet(undecided, detailed, ", undecided."),
    ]
    return " ".join(filter(None, said))


def _opened_late(quiet: list[Group]) -> bool:
    """Return whether a person notices the opening of a connection in some groups."""
    return any(
        slow_opening_ns(group.flow.capture, int(stream))
        for group in quiet
        for stream in set(group.flows["stream"])
    )


def _slow(quiet: list[Group]) -> str:
    """Return a clause on the longest wait for an answer in the flows of groups; empty if nobody notices one."""
    if not quiet:
        return ""
    flows = pd.concat([group.flows for group in quiet])
    return part("slow answers", lambda: slow_answers.exception(quiet[0].flow.capture, flows), lambda _: "")


def _is_mutual(flow: Flow) -> bool:
    """Return whether both ends of a flow's stream sent payload: only then was there an exchange."""
    return all(bytes_ > 0 for bytes_ in flow.capture._contents.streams.sides(flow.stream)["payload_bytes"])


def _of_quiet(quiet: list[Group], detailed: list[Group], words: str) -> str:
    if not quiet:
        return ""
    flows = pd.concat([group.flows for group in quiet])
    carried = units.data_size(flows["payload_bytes"].sum())
    streams = {int(stream) for stream in flows["stream"]}
    shown = {int(stream) for group in detailed for stream in group.flows["stream"]}
    whole, half = (
        units.streams(sorted(some)).lower() if some else "" for some in (streams - shown, streams & shown)
    )
    number = f"{units.number(len(flows), 'more flow')}, of {whole}" if whole else ""
    other = f"{', and the' if whole else 'The'} other way of {half}" if half else ""
    return f"{number}{other}: {carried}{words}"


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
    name = BEHIND if relayed(flow) else LIMIT_NAMES[limit]
    (_, most), *others = verdict.shares(summary)
    share, lasting = units.spoken_share(most), units.duration(summary["active_ns"])
    if summary["idle_share"] >= NOTABLE_SHARE:
        lasting += " of active time"
    if others and others[0][1] >= _NEARLY * most:
        second, next_most = others[0]
        beside = f"{LIMIT_NAMES[second]} {units.spoken_share(next_most)}"
        return f"{name} {share}, {beside} of {lasting} {confidence}"
    return f"{name}, {share} of {lasting} {confidence}"


def rate(flow: Flow) -> str:
    """Return the rate reached and the rate that the path can carry; empty if the nature's sentence has it."""
    kind = nature(flow)
    if kind not in (None, BLACK_HOLE, OUTAGE, LOSSES, LATE, STOPPED, HIDDEN):
        return ""
    if moved := speed(flow, besides_active=kind is None):
        return moved
    reached, path = verdict.throughput(flow.summary), path_rate(flow)
    can = f"; the network can carry {path}" if path else ""
    if (udp := datagrams(flow)) is not None:
        # What a flow shows of the path's rate is what UDP leaves to it.
        numbers = udp.values  # noqa: PD011  a dict, no pandas object
        can = f"; with UDP, the path carried {units.rate(numbers['udp_bps'] + numbers['tcp_bps'])}"
    if not reached:
        return f"{units.data_size(flow.summary['payload_bytes'])}."
    whole = acknowledged_bytes(flow)
    # What the capture lacks was carried, too.
    if whole is not None:
        captured = f"{units.data_size(flow.summary['payload_bytes'])} captured ({reached})"
        return f"{captured}; {units.data_size(whole)} were acknowledged, at {spoken_rate(flow)}{can}."
    return f"{verdict.carried(flow.summary)} at {reached}{' or more' if lacks(flow) else ''}{can}."


def path_rate(flow: Flow) -> str:
    """Return the rate that the path can carry, as the verdict gives it; empty if it gives none."""
    path = verdict.path(flow.summary)
    # No rate of a path is known for a time without an answer; what a flow shows of it is what UDP leaves to it.
    if (
        path is None
        or not verdict.throughput(flow.summary)
        or nature(flow) is not None
        or datagrams(flow) is not None
    ):
        return ""
    if speed(flow) or _contradicts(flow) or _shows_bursts(flow):
        return ""
    return path.capacity if (reached_bps(flow) or 0) <= (known_bps(flow.summary) or 0) else ""


def _shows_bursts(flow: Flow) -> bool:
    """Return whether the rate of the path may be that of bursts alone, as of packets that came in batches.

    A policer, too, passes bursts faster than its rate.
    """
    policed = str(flow.summary["limit"]) == "cwnd" and remedies.may_be_policed(flow)
    return policed or in_batches(flow.capture)


def _contradicts(flow: Flow) -> bool:
    """Return whether a full link carried more than the rate of the path, or less though full of this flow alone."""
    summary = flow.summary
    full = flow.rtts[flow.rtts["limit"] == "link"]
    known = known_bps(summary)
    if summary["limit"] != "link" or known is None:
        return False
    carried = delivered_bps(full)
    if carried > SAME_RATE * known:
        return True
    if (full["detail"] == "others' queue").mean() > 1 / 2:
        return False
    return bool(len(ranking.on_path(flow)) < 2 and known > SAME_RATE * carried)


def sentences(flow: Flow, *, brief: bool = False) -> list[str]:
    """Return the sentences below the flow's ends: rate, reason for the verdict and, unless `brief`, notes."""
    kind = nature(flow)
    reason = verdict.reason(flow) if kind is None else kind.sentence(flow)
    udp = datagrams(flow) if kind is None else None
    beside = "" if udp is None else udp.sentence
    # The advice on a NAT or proxy needs its reason wherever it stands.
    proxy = relayed(flow) if brief and kind is None else None
    more = ([] if proxy is None else [proxy.sentence]) if brief else notes(flow)
    return [sentence for sentence in (rate(flow), reason, beside, *more) if sentence]
