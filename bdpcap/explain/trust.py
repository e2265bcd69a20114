"""Facts about a capture, and the reasons to doubt its numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core
from bdpcap.explain import lookups, place, shared_losses, shared_mss, systems
from bdpcap.explain.notable import NOTABLE_SHARE as NOTABLE_PART
from bdpcap.read.scale_source import UNKNOWN
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture
    from bdpcap.read.facts import CaptureInfo
    from bdpcap.read.quality import Flaw

NOTABLE: Final = ("copies", "delivered-twice", "wifi-retries")
"""Flaws that change no verdict, but that a reader of the capture must know."""
NOTABLE_SHARE: Final = 0.01
"""Share of the frames from which on such a flaw is named first."""
UDP_SHARE: Final = 1 / 3
"""Share of the payload from which on UDP is named first; a choice: who asks about so much asks about UDP, too."""
LARGEST_SCALE: Final = 1 << 14
"""Largest factor of the window field (RFC 7323 section 2.3)."""
SCALES: Final = 5
"""Largest number of inferred window scales that are listed one by one."""


def facts(capture: Capture) -> list[tuple[str, str]]:
    """Return the facts about a capture as names and values, in the order in which readers need them."""
    info = capture.info
    formats = [
        f"{form}, {compression}" if compression else form
        for form, compression in zip(info.formats, info.compression, strict=True)
    ]
    lasted = (
        units.duration(info.last_ns - info.first_ns)
        if info.first_ns is not None and info.last_ns is not None
        else units.MISSING
    )
    rows = [
        ("file" if len(info.files) == 1 else "files", ", ".join(info.files)),
        ("format", "; ".join(dict.fromkeys(formats))),
        ("link types", units.counted(info.link_types)),
        ("frames", units.count(info.frames)),
        (
            "TCP segments",
            f"{units.count(info.segments)} in {units.number(info.streams - info.quoted, 'stream')}",
        ),
        *([("quoted by ICMP only", units.number(info.quoted, "stream"))] if info.quoted else []),
        *_lifecycles(capture),
        ("flows with payload", units.count(len(capture._contents.streams.carriers["stream"]))),
        *systems.fact(capture),
        ("first frame", units.instant(info.first_ns)),
        ("duration", lasted),
        ("place of capture", place.of_connections(capture)),
        *place.shown_by(capture),
        ("dropped while capturing", _drops(info)),
    ]
    if info.datagrams:
        flows = capture.datagrams
        # Beyond a limit, flows are left out.
        number = units.count(flows["packets"].sum())
        rows.append(("UDP datagrams", f"{number} in {units.number(len(flows), 'flow')}"))
    if info.paths:
        rows.append(("tags and tunnels", units.counted(info.paths)))
    if info.filtered_out:
        rows.append(("left out by the filter", units.number(info.filtered_out, "frame")))
    if info.from_whole:
        rows.append(("excerpt, by its comment", "; ".join(info.from_whole)))
    rows.extend(("comment", comment) for comment in info.comments)
    return rows


def _lifecycles(capture: Capture) -> list[tuple[str, str]]:
    """Return the counts of handshakes and of connection endings by kind; empty if there were no connections."""
    handshakes: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    who = {0: " by the client", 1: " by the server", _core.NULL: ""}
    for columns, _ in capture._contents.streams.lifecycles(capture.info.last_ns):
        seen = columns["seen"]
        handshakes.update(columns["handshake"][seen])
        for by, named in who.items():
            of_one = Counter(columns["ended"][seen & (columns["ended_by"] == by)])
            ended.update({f"{how}{named}": count for how, count in of_one.items()})
    if not handshakes:
        return []
    return [("handshakes", units.counted(handshakes)), ("ended", units.counted(ended))]


def line(capture: Capture) -> str:
    """Return one line on the capture: frames, streams, duration and place."""
    info = capture.info
    said = f"{units.number(info.frames, 'frame')}, {_kinds(info)}"
    if info.first_ns is not None and info.last_ns is not None and info.first_ns < info.last_ns:
        said += f" in {units.duration(info.last_ns - info.first_ns)} from {units.instant(info.first_ns, 'seconds')}"
    return f"{said}; {place.captured(capture)}.{_datagrams(capture)}" if info.segments else f"{said}."


def _datagrams(capture: Capture) -> str:
    """Return a sentence on UDP if it carried a large part of the payload, as with QUIC or calls; else nothing."""
    if not capture.info.datagrams:
        return ""
    by_udp = int(capture.datagrams["payload_bytes"].sum())
    whole = by_udp + int(capture._contents.streams.carriers["payload_bytes"].sum())
    if by_udp < UDP_SHARE * whole:
        return ""
    return f" UDP carried {units.data_size(by_udp)}, {units.share(by_udp / whole)} of the payload; only TCP is judged."


def _kinds(info: CaptureInfo) -> str:
    """Return the number of TCP streams; of UDP datagrams where there are no others."""
    if info.datagrams and not info.segments:
        return units.number(info.datagrams, "UDP datagram")
    return units.number(info.streams, "TCP stream")


def _is_often(capture: Capture, flaw: Flaw) -> bool:
    return flaw.count >= max(1.0, NOTABLE_SHARE * capture.info.frames)


def asks_to_mend(capture: Capture) -> bool:
    """Return whether `notable` has a trait of the network that somebody may mend."""
    twice = any(flaw.code == "delivered-twice" and _is_often(capture, flaw) for flaw in capture.quality)
    return twice or any(_shared(capture))


def _shared(capture: Capture) -> tuple[str, ...]:
    """Return sentences on traits that many paths share, each empty without it."""
    return shared_mss.sentence(capture), shared_losses.sentence(capture)


def notable(capture: Capture) -> list[str]:
    """Return sentences on a flaw of a hundredth of the frames or more, on traits that many paths share, and on DNS."""
    flaws = [flaw.sentence for flaw in capture.quality if flaw.code in NOTABLE and _is_often(capture, flaw)]
    return [*flaws, *(said for said in (*_shared(capture), lookups.sentence(capture)) if said)]


def caveats(capture: Capture) -> list[str]:
    """Return the reasons not to trust the numbers, one sentence each, doubts about verdicts first; empty if none."""
    return [*doubts(capture), *_notes(capture)]


def doubts(capture: Capture, *, windows: bool = True) -> list[str]:
    """Return the reasons to doubt the verdicts, one sentence each, gravest first; empty if none.

    Without `windows`, unknown window scales are left out: no verdict that a reader gets depends on them.
    """
    info = capture.info
    unscaled, matters = _unscaled(capture)
    found = [
        (
            capture.damages,
            f"The capture is damaged: {next(iter(capture.damages), '')}. What lies before is reported.",
        ),
        *((flaw, flaw.sentence) for flaw in capture.quality if flaw.grave),
        (
            info.multipath,
            (
                f"Multipath TCP: {units.number(info.multipath, 'stream')}. Windows are those of the whole connection, "
                "shared by its subflows. While one pauses, another may carry the data."
            ),
        ),
        (matters and windows, unscaled),
    ]
    return [sentence for holds, sentence in found if holds]


def _notes(capture: Capture) -> list[str]:
    """Return notes for the reader that the verdicts already allow for, one sentence each; empty if none."""
    info = capture.info
    scales = [str(scale) for scale in capture.scales]
    placeless = int((capture._contents.paths.of_carriers == "unknown").sum())
    unscaled, matters = _unscaled(capture)
    found = [
        (info.undecoded, f"Not decoded: {units.counted(info.undecoded)}."),
        (not matters, unscaled),
        *((scale, f"{scale[0].upper()}{scale[1:]}.") for scale in scales[:SCALES]),
        (scales[SCALES:], f"Window scale inferred for {len(scales) - SCALES} more."),
        (placeless, f"Delays show no place of capture: {units.number(placeless, 'flow')}."),
        *((flaw, flaw.sentence) for flaw in capture.quality if not flaw.grave),
    ]
    return [sentence for holds, sentence in found if holds and sentence]


def _unscaled(capture: Capture) -> tuple[str, bool]:
    """Return a sentence on flows without a known window scale, empty if there are none; and whether they carried much."""
    flows = capture._contents.streams.carriers
    # Without an acknowledgment in the capture, there is no window to scale.
    unknown = (flows["window_scale_source"] == UNKNOWN) & (flows["acks"] > 0)
    count = np.count_nonzero(unknown)
    if not count:
        return "", False
    sentence = (
        f"Window scale unknown: {units.number(count, 'flow')}. The windows may be 1 to {LARGEST_SCALE:,} "
        "times the number in the packets, so no verdict rests on their size. Capture from the handshake on."
    )
    carried = flows["payload_bytes"]
    return sentence, bool(carried[unknown].sum() >= NOTABLE_PART * carried.sum())


def _drops(info: CaptureInfo) -> str:
    """Return how many packets the capture reports as dropped, by interface where there are several."""
    if info.capture_drops is None:
        return "not recorded"
    total = units.count(info.capture_drops)
    if len(info.interfaces) == 1:
        return total
    each = [
        f"{interface['name'] or f'interface {number}'} {units.count(interface['drops'])}"
        for number, interface in enumerate(info.interfaces)
        if interface["drops"] is not None
    ]
    return f"{total} ({', '.join(each)})" if each else total
