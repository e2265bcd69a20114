"""Comments of an annotated capture, on single packets and on the whole capture."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap._core import NULL
from bdpcap.diagnosis.findings import found
from bdpcap.limits.stripes import stripes
from bdpcap.report import ranking
from bdpcap.report.text import text
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.capture import Capture, Flow

FLOWS: Final = 1000
"""Maximum number of flows with comments, in order of importance."""

STRETCHES: Final = 50
"""Maximum number of stretches with a comment per flow; the longest are chosen."""

CHANGES: Final = 50
"""Maximum number of window changes with a comment per flow; the first are chosen."""

MARK: Final = "bdpcap: "
"""Prefix of every comment on a packet, so that a search finds them."""

_FLOW: Final = ["stream", "sender"]
_SYN_OR_RST: Final = 0x02 | 0x04
"""Flags of segments whose window is ignored: it is not scaled in a SYN, and meaningless in a RST."""


def of_capture(capture: Capture) -> tuple[str, list[tuple[int, str]]]:
    """
    Return the comments of an annotated capture.

    Flows that carried ten full segments, or 1 % of all bytes, have comments. A comment marks the beginning of each
    stretch of rounds of one limit. Others mark where the window closes, opens again or shrinks. Flows that the report
    shows in detail also have their findings as comments, each on the first packet that is evidence for the finding.

    Returns
    -------
    The comment on the capture, which is the report as text, and a list of frame number and comment, by frame.
    """
    verdict = text(capture)
    ranked = ranking.ranked(capture)
    counting = ranked[ranking.bulk(ranked)]
    flows = counting.head(FLOWS)
    both = counting["stream"].value_counts()
    said: dict[int, list[str]] = defaultdict(list)
    capture._contents.verdicts.load(sorted({*flows["stream"]}))
    for stream, sender in zip(flows["stream"], flows["sender"], strict=True):
        flow = capture.flow(stream, sender)
        whose = f" of {sender}" if both[stream] > 1 else ""
        for frame, comment in _stretches(flow.rtts, flow._hidden["first_frame"].to_numpy(), whose):
            said[frame].append(comment)
    for flow in ranking.that_matter(capture):
        for frame, comment in _findings(flow):
            said[frame].append(comment)
    for frame, comment in _window_changes(capture, flows):
        said[frame].append(comment)
    on_packets = [(frame, "\n".join(MARK + one for one in said[frame])) for frame in sorted(said)]
    return f"{verdict}\n{_about(len(on_packets), len(counting))}", on_packets


def _about(packets: int, flows: int) -> str:
    beyond = f" Only the {FLOWS:,} flows of most weight have comments." if flows > FLOWS else ""
    return f'Packets with comments: {packets:,}; frame.comment contains "{MARK.rstrip(": ")}" finds them.{beyond}\n'


def _stretches(rtts: pd.DataFrame, first: np.ndarray, whose: str) -> Iterator[tuple[int, str]]:
    """Yield first frame and comment of every stretch of a flow; `first` is the first frame of every round."""
    every = stripes(rtts, len(rtts))
    longest = sorted(every, key=lambda one: one.start_ns - one.end_ns)[:STRETCHES]
    if len(every) > len(longest):
        yield int(first[0]), f"{len(every):,} stretches{whose}: only the {STRETCHES} longest have comments."
    for stretch in longest:
        detail = f" ({stretch.detail})" if stretch.detail else ""
        rounds = units.number(stretch.last_round - stretch.first_round + 1, "round")
        lasting = units.duration(stretch.end_ns - stretch.start_ns)
        yield (
            int(first[stretch.first_round]),
            f"{stretch.limit}{detail}{whose} from here for {rounds}, {lasting}. {stretch.evidence}",
        )


def _findings(flow: Flow) -> Iterator[tuple[int, str]]:
    """Yield the first frame that is evidence for each finding, and the finding's comment."""
    for finding in found(flow):
        if finding.frames:
            yield finding.frames[0], f"{finding.sentence} ({units.span('frame', *finding.frames)})"


@dataclass
class _Window:
    """State of one receiver's window, up to the last acknowledgment that was read."""

    unit_bytes: int
    """Unit of the window; rounding to it moves the right edge back by less than a unit (RFC 7323 section 2.4)."""
    last: dict[str, np.ndarray] | None = None
    """The last acknowledgment, as columns of one row."""
    closed_ns: int | None = None
    """Time at which the window became zero; None while it is open."""
    changes: int = 0

    def changed(self, acks: dict[str, np.ndarray]) -> Iterator[tuple[int, str]]:
        """Yield frame and comment of each change of the window; `acks` are columns of acknowledgments, in order."""
        if self.last is not None:
            acks = {name: np.concatenate((self.last[name], column)) for name, column in acks.items()}
        number = acks["acknowledged"]
        # An acknowledgment with a lower number arrived out of order; its window is outdated.
        newest = number >= np.maximum.accumulate(number)
        acks = {name: column[newest] for name, column in acks.items()}
        self.last = {name: column[-1:] for name, column in acks.items()}
        window, edge = acks["window_bytes"], acks["window_bytes"] + acks["acknowledged"]
        closed = window == 0
        went_back = np.maximum(0, edge[:-1] - edge[1:])
        at = np.flatnonzero((closed[1:] != closed[:-1]) | (went_back >= self.unit_bytes)) + 1
        for place in at.tolist():
            self.changes += 1
            frame = int(acks["frame"][place])
            comment = self._comment(
                int(acks["time_ns"][place]), int(window[place]), int(went_back[place - 1])
            )
            if self.changes <= CHANGES:
                yield frame, comment
            elif self.changes == CHANGES + 1:
                yield frame, "further changes of this window have no comments."

    def _comment(self, time_ns: int, window: int, back_bytes: int) -> str:
        shrunk = f"its right edge went back by {units.exact_bytes(back_bytes)} (RFC 9293 section 3.8.6)"
        if window == 0:
            self.closed_ns = time_ns
            return f"zero window{f'; {shrunk}' if back_bytes >= self.unit_bytes else ''}."
        if self.closed_ns is not None:
            lasted = units.duration(time_ns - self.closed_ns)
            self.closed_ns = None
            return f"window opened again to {units.exact_bytes(window)}, after {lasted}."
        return f"window shrunk to {units.exact_bytes(window)}: {shrunk}."


def _window_changes(capture: Capture, flows: pd.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield frame and comment wherever a flow's window closes, opens again or shrinks; reads the capture again."""
    flows = flows.sort_values("stream")
    clients = capture._contents.streams.endpoints(2 * flows["stream"].to_numpy(np.int64))
    windows = {}
    for client, stream, sender, scale in zip(
        clients, *(flows[name] for name in (*_FLOW, "window_scale")), strict=True
    ):
        windows[2 * stream + int(client != sender)] = _Window(1 if pd.isna(scale) else 1 << scale)
    for events in capture._contents.events.columns(flows["stream"].unique().tolist()):
        acks = (events["sequence"] == NULL) & (events["window_bytes"] != NULL)
        acks &= (events["tcp_flags"] & _SYN_OR_RST) == 0
        row = 2 * events["stream"][acks].astype(np.int64) + events["direction"][acks]
        columns = {name: events[name][acks] for name in ("acknowledged", "window_bytes", "time_ns", "frame")}
        order = row.argsort(kind="stable")
        firsts = np.flatnonzero(np.diff(row[order], prepend=-1))
        for own in np.split(order, firsts[1:]) if len(order) else ():
            window = windows.get(int(row[own[0]]))
            if window is not None:
                yield from window.changed({name: column[own] for name, column in columns.items()})
