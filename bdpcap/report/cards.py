"""Cards of a page's first screen: a verdict, and small multiples of the flows that share its limit and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.diagnosis.decide import cause
from bdpcap.diagnosis.natures import nature
from bdpcap.diagnosis.remedy import remedy
from bdpcap.limits.stripes import stripes
from bdpcap.report import ranking
from bdpcap.report.part import part
from bdpcap.words import rates
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from bdpcap.capture import Capture, Flow
    from bdpcap.report.ranking import Group
    from bdpcap.report.screen import Entries

__all__ = ["HEIGHT", "WIDTH", "Card", "Chart", "cards"]

MOST: Final = 10
"""Maximum number of small multiples of a card; a choice: two or three lines of them on a laptop's screen."""
WIDTH: Final = 100
"""Width of a small multiple in units of its picture: the longest flow of the card."""
HEIGHT: Final = 30
"""Height of a small multiple in units of its picture: the highest throughput of the card."""
_LEAST_HEIGHT: Final = 3
"""Height of a column without throughput, so that the colour of its limit is seen."""
_COLUMNS: Final = 40
"""Maximum number of columns of a small multiple."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A small multiple: throughput of a flow over time since its start, in colours of limits."""

    flow: pd.Series
    """Row of the ``flows`` table."""
    group: Group | None
    """The group that the flow leads, if its hosts are not those of the card."""
    columns: list[tuple[str, float, float, float]]
    """Per column the limit, the left edge, the width, and the height above the ground."""


@dataclass(frozen=True, slots=True)
class Card:
    """A verdict of the first screen."""

    group: Group
    sum: str
    """Sentence on the flows that share a full link; may be empty."""
    alike: list[Group]
    """Groups between other hosts with the same limit, cause and remedy, in falling order of importance."""
    charts: list[Chart]
    """Small multiples: the card's flow, the flows of `alike`, then the others of the group; none for a single flow."""


def cards(capture: Capture, entries: Entries) -> list[Card]:
    """Return the cards of the first screen: entries with the same limit, cause and remedy are one."""
    found: dict[object, list[int]] = {}
    for place, group in enumerate(entries.detailed):
        key = part("the remedy", partial(_same, group.flow), lambda _: None)
        found.setdefault(place if key is None else key, []).append(place)
    made = []
    for first, *others in found.values():
        group, alike = entries.detailed[first], [entries.detailed[place] for place in others]
        charts = part("the small multiples", partial(_charts, capture, group, alike), lambda _: [])
        made.append(Card(group, entries.sums[first], alike, charts))
    return made


def _same(flow: Flow) -> object:
    """Return limit, cause and remedy of a flow without its addresses; None where its nature has the verdict."""
    if nature(flow) is not None:
        return None
    advice = remedy(flow)
    said = "\n".join((str(advice), *advice.commands, advice.expected))
    for side in ("sender", "receiver"):
        said = said.replace(host(str(flow.summary[side])), side)
    return flow.summary["limit"], cause(flow)[0], said


def _charts(capture: Capture, group: Group, alike: list[Group]) -> list[Chart]:
    leaders = [group, *alike][:MOST]
    others = ranking.listed(capture, group.others.head(MOST - len(leaders)))
    flows = [leader.flow for leader in leaders] + others
    if len(flows) < 2:
        return []
    parts = [list(_carried(flow.rtts)) for flow in flows]
    longest_ns = max(beyond for own in parts for _, _, beyond, _ in own) or 1
    highest = (
        max(_rate(carried, end - start, longest_ns) for own in parts for _, start, end, carried in own) or 1.0
    )
    return [
        Chart(flow.summary, leader if leader in alike else None, list(_columns(own, longest_ns, highest)))
        for flow, own, leader in zip(flows, parts, leaders + [None] * len(others), strict=True)
    ]


def _carried(rtts: pd.DataFrame) -> Iterator[tuple[str, int, int, int]]:
    """Yield the limit, the start and the end in ns since the flow's start, and the acknowledged bytes of each column."""
    start, acked = rtts["start_ns"].to_numpy(), rtts["acked_bytes"].to_numpy()
    sums = np.concatenate([[0], np.cumsum(acked)])
    for stripe in stripes(rtts, _COLUMNS, merged=False):
        first, beyond = start.searchsorted([stripe.start_ns, stripe.end_ns])
        carried = int(sums[beyond] - sums[first])
        yield stripe.limit, stripe.start_ns - int(start[0]), stripe.end_ns - int(start[0]), carried


def _columns(
    parts: Iterable[tuple[str, int, int, int]], longest_ns: int, highest_bps: float
) -> Iterator[tuple[str, float, float, float]]:
    for limit, start_ns, end_ns, carried in parts:
        left, right = (round(WIDTH * at / longest_ns, 2) for at in (start_ns, end_ns))
        rate = _rate(carried, end_ns - start_ns, longest_ns)
        high = max(_LEAST_HEIGHT, round(HEIGHT * rate / highest_bps, 1))
        yield limit, left, round(right - left, 2), high


def _rate(carried: int, lasting_ns: int, longest_ns: int) -> float:
    """Return the throughput of a column; one that is too narrow to be seen has that of `_COLUMNS` in the longest flow.

    A burst of a millisecond would otherwise flatten all else.
    """
    return float(rates.of_bytes(carried, max(lasting_ns, longest_ns / _COLUMNS)))
