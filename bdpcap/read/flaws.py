"""The flaws that a capture can have, each declared: its condition, sentence, effect, and whether it is grave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.read.seen import GRAVE, Seen
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bdpcap.read.facts import CaptureInfo
    from bdpcap.read.rotation import Seam

__all__ = [
    "AT_ONCE_NS",
    "COARSE_NS",
    "DECLARED",
    "FAR_ROUTERS",
    "TIMES_OF_BATCHES",
    "Declared",
    "furthest_back_ns",
]

TWICE_TO_MEND: Final = 0.05
"""Share of frames that the network delivered twice from which on its device is to be found; a choice."""
PAIRS: Final = 3
"""Pairs of streams that a sentence names; a choice."""
_MOST_PLACES: Final = 10
"""Most copies of a packet that a capture on every interface makes: a choice, above those of bridges and tunnels."""
COARSE_NS: Final = 100_000
"""A clock resolution from which on it is a flaw: round trips within a building take this long."""
TIMES_OF_BATCHES: Final = "times-of-batches"
"""Code of a capture whose packets have the times of batches in which they came."""
FAR_ROUTERS: Final = 6
"""Routers from which on two hosts are in two places: a data centre of three tiers has five on a way; a choice."""
AT_ONCE_NS: Final = 500_000
"""Round trip that so many routers do not allow: light passes 50 km of fibre and back in this time."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A flaw that a capture can have."""

    code: str
    """The name of the flaw, stable for programs."""
    count: Callable[[Seen], int]
    """Returns the number of flows, frames, packets, bytes, files or nanoseconds; 0 without the flaw."""
    sentence: Callable[[Seen], str]
    effect: str
    """The effect of the flaw on verdicts."""
    grave: bool | Callable[[Seen], bool] = False
    """Whether even verdicts of rounds without a mark are doubtful."""

    def is_grave(self, seen: Seen) -> bool:
        """Return whether the flaw is grave in one capture."""
        return self.grave if isinstance(self.grave, bool) else self.grave(seen)


def _longest(seams: Sequence[Seam]) -> Seam:
    return max(seams, key=lambda seam: seam.amount)


def _longest_ns(seams: Sequence[Seam]) -> int:
    return _longest(seams).amount if seams else 0


def _between(seen: Seen, seams: Sequence[Seam]) -> str:
    """Return the names of the files around the first place where files are missing, as part of a sentence."""
    before, after = seen.names(seams[0])
    return f"{', first' if len(seams) > 1 else ''} between {before} and {after}"


def _copies(seen: Seen) -> str:
    """Return how often packets were captured again. A copy of an acknowledgment alone may look like another one."""
    again = units.number(seen.captured_again, "packet")
    if seen.captured_again > _MOST_PLACES * (seen.info.segments - seen.info.copies):
        return f"A program sent the same packets again and again: {again} equal an earlier one."
    return (
        "Captured several times (mirrored, on several interfaces or layers of a host, or before and after a router): "
        f"at least {again} more than were sent."
    )


def _delivered_twice(seen: Seen) -> str:
    """Return who received packets twice, and which device to look for."""
    twice = seen.received_twice
    to = twice.hosts[0] if len(twice.hosts) == 1 else units.number(len(twice.hosts), "host")
    copies = units.number(seen.info.delivered_twice, "packet")
    device = (
        "router that forwards them once more: of each two, its packet has the lower TTL"
        if twice.by_router
        else "switch, bridge or access point that forwards them once more"
    )
    often = seen.info.delivered_twice >= TWICE_TO_MEND * seen.info.frames
    find = f" Find the {device}." if often else ""
    return f"The network delivers packets more than once: {copies} reached {to} again; D-SACKs report some.{find}"


def _files_missing(seen: Seen) -> str:
    count = sum(seam.amount for seam in seen.absent)
    text = f"By the numbers in their names, {units.number(count, 'file')} of the set {'is' if count == 1 else 'are'}"
    return f"{text} missing{_between(seen, seen.absent)}."


def _gap(seen: Seen) -> str:
    longest = _longest(seen.gaps)
    within = max(one["longest_gap_ns"] for one in seen.info.times_of_files)
    more = f" There are {units.number(len(seen.gaps), 'such gap')}." if len(seen.gaps) > 1 else ""
    return (
        f"A file of the set may be missing{_between(seen, [longest])}: no frame for {units.duration(longest.amount)}, "
        f"while no pause within a file is longer than {units.duration(within)}.{more}"
    )


def _overlap(seen: Seen) -> str:
    longest = _longest(seen.overlaps)
    before, after = seen.names(longest)
    return (
        f"Files overlap in time: {after} begins {units.duration(longest.amount)} before the end of {before}. "
        "Name only files of one place of capture."
    )


def _limit(name: str, thing: str, effect: str, *, grave: bool = False) -> Declared:
    """Return the flaw of data left out beyond a limit of `bdpcap.Budget`."""
    return Declared(
        f"limit-{name}",
        lambda seen: seen.info.left_out.get(name, 0),
        lambda seen: (
            f"Left out beyond the limit {name}: {units.number(seen.info.left_out[name], thing)}. Raise the limit "
            f"(--budget {name}=N), or read less by a filter (-f)."
        ),
        effect,
        grave=grave,
    )


def furthest_back_ns(info: CaptureInfo) -> int:
    """Return the furthest step back in time from a frame to the next of its file, in ns; 0 if there is none."""
    return max((one["furthest_back_ns"] for one in info.times_of_files), default=0)


def _backwards(seen: Seen) -> str:
    count = len(seen.info.interfaces)
    several = f" The {count} interfaces may differ in clock or queue." if count > 1 else ""
    furthest_ns = furthest_back_ns(seen.info)
    by = f", by {units.duration(furthest_ns)} at most" if furthest_ns else ""
    return f"Time runs backwards at {units.number(seen.info.time_backwards, 'frame')}{by}.{several}"


def _returns(seen: Seen) -> bool:
    """Return whether times go back several times, by a year or more: a merge of two captures does so once."""
    return seen.info.time_backwards > 1 and furthest_back_ns(seen.info) >= units.YEAR_NS


def _years_apart(seen: Seen) -> str:
    apart = units.duration(seen.span_ns)
    if _returns(seen):
        return f"The times jump by {apart} and back, again and again: some frames bear a wrong time."
    return f"The frames lie {apart} apart: captures of different times were merged, or a clock was wrong."


def _shifted_by(seen: Seen) -> str:
    """Return a sentence on what may have shifted the clock; empty where single frames bear a wrong time."""
    cause = " The file was changed or put together, or the machine that captured was suspended."
    return "" if _returns(seen) else cause


def _flows(count: int) -> str:
    return units.number(count, "flow")


def _pairs(pairs: Sequence[tuple[int, int]]) -> str:
    """Return the streams of the first pairs in words."""
    named = [f"streams {one} and {two}" for one, two in pairs[:PAIRS]]
    return ", ".join([*named, *(["..."] if len(pairs) > PAIRS else [])])


def _unacknowledged(seen: Seen) -> str:
    alone = "No packet without payload was captured. " if seen.flows.get("data-alone") else ""
    return (
        f"{alone}Acknowledgments that the receiver must have sent are missing: "
        f"{_flows(seen.info.unacknowledged)}. Capture both directions, without a filter on payload."
    )


_NOT_LOST: Final = "What they held counts as missing from the capture, not as lost on the path."

DECLARED: Final = (
    Declared(
        "files-missing",
        lambda seen: sum(seam.amount for seam in seen.absent),
        _files_missing,
        _NOT_LOST,
        grave=True,
    ),
    Declared("gap-between-files", lambda seen: _longest_ns(seen.gaps), _gap, _NOT_LOST, grave=True),
    Declared(
        "files-overlap",
        lambda seen: _longest_ns(seen.overlaps),
        _overlap,
        "Frames are out of order: rounds may be wrong.",
        grave=True,
    ),
    _limit("connections", "packet", "Their connections and UDP flows are not shown.", grave=True),
    _limit("rows", "row", "The last requests, rounds and packets are not shown.", grave=True),
    _limit("ranges", "range", "What is in flight is rough in these flows."),
    _limit("headers", "frame", "The frames are not decoded."),
    Declared(
        "acknowledgments-missing",
        lambda seen: seen.info.unacknowledged,
        _unacknowledged,
        "The flows are not judged, and no setting is named.",
        grave=lambda seen: seen.matters("acknowledgments-missing"),
    ),
    Declared(
        "halves",
        lambda seen: len(seen.halves),
        lambda seen: (
            f"Each way is a stream for itself, by the sequence numbers: {units.number(len(seen.halves), 'connection')} "
            f"({_pairs(seen.halves)}). A NAT or firewall changed the addresses in between. Capture on one side of it."
        ),
        "The flows are not judged.",
        grave=lambda seen: seen.matters("halves"),
    ),
    Declared(
        "both-sides",
        lambda seen: len(seen.twins),
        lambda seen: (
            f"Captured on both sides of a NAT, by the sequence numbers: {units.number(len(seen.twins), 'connection')} "
            f"({_pairs(seen.twins)}). Filter for one side."
        ),
        "Each counts as two.",
        grave=lambda seen: seen.matters("both-sides"),
    ),
    Declared(
        "payload-changed",
        lambda seen: seen.flows.get("payload-changed", 0),
        lambda seen: (
            "A device on the way makes payloads longer, since packets of one IP identification and sequence number "
            f"have several lengths: {_flows(seen.flows['payload-changed'])}. Capture on one side of it."
        ),
        "The shorter packet counts as sent, the others as copies. Times to the far side hold those of the device.",
        grave=lambda seen: seen.matters("payload-changed"),
    ),
    Declared(
        "no-acknowledgments",
        lambda seen: seen.flows.get("no-acknowledgments", 0),
        lambda seen: (
            f"Without an acknowledgment of the receiver: {_flows(seen.flows['no-acknowledgments'])}. "
            "Only what was sent, and when, is known."
        ),
        "The flows are not judged.",
        grave=lambda seen: seen.matters("no-acknowledgments"),
    ),
    Declared(
        "no-data",
        lambda seen: seen.flows.get("no-data", 0),
        lambda seen: (
            f"Acknowledged, but without data in the capture: {_flows(seen.flows['no-data'])}, "
            f"{units.data_size(seen.affected_bytes.get('no-data', 0))}. "
            f"Their data {seen.absent_data}."
        ),
        "The flows are not judged.",
        grave=lambda seen: seen.matters("no-data"),
    ),
    Declared(
        "stopped",
        lambda seen: seen.stopped_ns,
        lambda seen: (
            f"No frame was captured for {units.duration(seen.stopped_ns)} of {units.duration(seen.span_ns)}, and data "
            "are missing. If hosts sent meanwhile, the capture was stopped, or joined from several: filter for one part."
        ),
        "Rounds across the gap that miss most of their data are not judged.",
        grave=lambda seen: seen.is_much(seen.info.missed_bytes),
    ),
    Declared(
        "data-missing",
        lambda seen: seen.info.missed_bytes,
        lambda seen: (
            f"The capture lacks {units.data_size(seen.info.missed_bytes)} that were acknowledged "
            f"({seen.missing_data})."
        ),
        "Rounds that miss data are marked and less sure; those that miss most are not judged. Such data do not count as "
        "lost on the path.",
        grave=lambda seen: seen.is_much(seen.info.missed_bytes),
    ),
    Declared(
        "dropped",
        lambda seen: seen.drops,
        lambda seen: (
            f"{units.number(seen.drops, 'packet')} dropped while capturing: what seems lost may be missing from the "
            "capture only."
        ),
        "Losses may be those of the capture.",
        # Where no acknowledged data are missing, none of them were dropped.
        grave=lambda seen: (
            seen.info.missed_bytes > 0 and seen.drops >= GRAVE * max(1, seen.info.frames + seen.drops)
        ),
    ),
    Declared(
        "years-apart",
        lambda seen: seen.span_ns if seen.span_ns >= units.YEAR_NS else 0,
        _years_apart,
        "The gap enters no share and no rate.",
        grave=True,
    ),
    Declared(
        "clock-shifted",
        lambda seen: seen.flows.get("clock-shifted", 0),
        lambda seen: (
            f"The times jump where the TCP timestamps of both ends stop: {_flows(seen.flows['clock-shifted'])}."
            + _shifted_by(seen)
        ),
        "Rounds of 2 s or more of these flows enter no share and no rate.",
        grave=lambda seen: seen.matters("clock-shifted"),
    ),
    Declared(
        "no-time",
        lambda seen: seen.info.without_time,
        lambda seen: (
            f"No valid time in {units.number(seen.info.without_time, 'frame')} of {units.count(seen.info.frames)}: the "
            "file gives none, or a fraction of a second that is a second or more. No duration and no rate can be trusted."
        ),
        "Such frames count as captured with the frame before. Where most frames are such, no flow is judged.",
        grave=lambda seen: seen.info.without_time > GRAVE * seen.info.frames,
    ),
    Declared(
        "time-backwards",
        lambda seen: seen.info.time_backwards,
        _backwards,
        "Rounds in which it does are marked and less sure.",
        grave=lambda seen: (
            (
                seen.info.time_backwards > GRAVE * seen.info.frames
                or furthest_back_ns(seen.info) > GRAVE * seen.span_ns
            )
            and seen.matters("time-backwards")
        ),
    ),
    Declared(
        "one-time",
        lambda seen: seen.info.segments if seen.bears_one_time else 0,
        lambda seen: (
            f"All {units.number(seen.info.segments, 'TCP segment')} bear one time stamp: no rate and no round trip is "
            "known. Capture with a separate time stamp for each packet."
        ),
        "No flow has time, so none is judged.",
        grave=True,
    ),
    Declared(
        TIMES_OF_BATCHES,
        lambda seen: seen.flows.get(TIMES_OF_BATCHES, 0),
        lambda seen: (
            f"Hosts {FAR_ROUTERS} routers away or more seem to answer within {units.duration(AT_ONCE_NS)}: "
            f"{_flows(seen.flows[TIMES_OF_BATCHES])}. Packets came to the capture in batches, as from a telephone over "
            "USB, so no delay, pause or rate is sure."
        ),
        "Round trips and pauses are those of the batches.",
        grave=True,
    ),
    Declared(
        "clock-coarse",
        lambda seen: seen.info.tick_ns if seen.info.tick_ns >= COARSE_NS else 0,
        lambda seen: (
            f"Packets bear equal times, or times at least {units.duration(seen.info.tick_ns)} apart: "
            "what is faster is not timed."
        ),
        "Round trips below ten ticks are marked and less sure. Below three, only a full window is seen.",
        grave=True,
    ),
    Declared(
        "copies",
        lambda seen: seen.captured_again,
        _copies,
        "Copies are left out.",
    ),
    Declared(
        "delivered-twice",
        lambda seen: seen.info.delivered_twice,
        _delivered_twice,
        "The reported packets count as sent; the other copies are left out.",
    ),
    Declared(
        "wifi-retries",
        lambda seen: seen.info.wifi_retries,
        lambda seen: (
            "Sent again by the Wi-Fi link (802.11 retries): "
            f"{units.share(seen.info.wifi_retries / max(1, seen.info.wifi_segments))} of the frames with TCP, "
            f"{units.count(seen.info.wifi_retries)} of {units.count(seen.info.wifi_segments)}."
        ),
        "TCP does not see them; they count as copies.",
    ),
    Declared(
        "handshake-missing",
        lambda seen: seen.flows.get("handshake-missing", 0),
        lambda seen: f"Handshake not captured: {_flows(seen.flows['handshake-missing'])}.",
        "Window scale and MSS are inferred, or unknown.",
    ),
    Declared(
        "offload",
        lambda seen: seen.flows.get("offload", 0),
        lambda seen: (
            f"Segments larger than the MSS (offload at the capture): {_flows(seen.flows['offload'])}. "
            "Their times are those of bursts."
        ),
        "Packets of one segment have one time.",
    ),
    Declared(
        "cut",
        lambda seen: seen.info.cut_by_snaplen,
        lambda seen: (
            f"{units.number(seen.info.cut_by_snaplen, 'frame')} cut by the snap length; lengths are from headers."
        ),
        "None, where the headers are whole.",
    ),
)
"""Flaws in the order in which they are reported: the gravest first."""
