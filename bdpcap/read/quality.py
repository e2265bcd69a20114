"""Flaws of a capture: missing data, duplicate packets, wrong times, and their effects on verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.read import rotation
from bdpcap.read.rotation import Seam
from bdpcap.read.scale_source import DECLINED, NEGOTIATED, ONE_SIDED
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from bdpcap.read.facts import CaptureInfo

    Bools = NDArray[np.bool_]

__all__ = ["FLAW_COLUMNS", "NEEDED", "Flaw", "acknowledgments_missing", "flaws"]

GRAVE: Final = 0.01
"""Share of a capture that is missing or out of order from which on all its verdicts are doubtful.

Below this share only the affected rounds are doubtful: their evidence names the flaw, and their confidence is lower.
"""
COARSE_NS: Final = 100_000
"""A clock resolution from which on it is a flaw: round trips within a building take this long."""
FINE_TICKS: Final = 10
"""A round trip of this many clock ticks is timed to a tenth, which is precise enough for the rules."""
HIDDEN_TICKS: Final = 3
"""Fewest clock ticks of a round trip that show more than the order of its packets.

Measured on 140 labelled transfers whose times were cut to coarse ticks. Below three ticks, verdicts other than rwnd were
right in 0.61 of the time, from three to ten ticks in 0.85. Under rwnd, it was 0.98 at any tick.
"""

OFTEN: Final = 0.05
"""Share of segments far beyond the window from which on the handshake's scale is contradicted.

Below this share, acknowledgments missing from the capture explain such segments.
"""
BEYOND_WINDOW: Final = 10
"""Fewest segments far beyond the window that count as many."""
BATCH_BYTES: Final = 2 * 65536
"""Most bytes that one acknowledgment covers: two segments (RFC 9293 section 3.8.6.3), each of up to 64 KiB by offload."""
UNSCALED_BYTES: Final = 65535
"""The largest window without a scale. No usual initial congestion window is as large (RFC 6928: ten segments)."""

NEEDED: Final = (
    "carried",
    "payload_bytes",
    "in_flight_max_bytes",
    "acks",
    "scale_exceeded",
    "scale_checked",
    "window_scale_source",
)
"""Columns that `acknowledgments_missing` reads."""
FLAW_COLUMNS: Final = (
    *NEEDED,
    "acked_bytes",
    "copies",
    "first_frame",
    "handshake",
    "announced_mss_bytes",
    "largest_bytes",
    "unseen_bytes",
    "mss_bytes",
)
"""Columns that `flaws` reads."""


def often_beyond_window(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether many segments lie far beyond the window that the handshake's scale gives."""
    exceeded = np.asarray(directions["scale_exceeded"])
    often: Bools = (exceeded >= BEYOND_WINDOW) & (exceeded > OFTEN * np.asarray(directions["scale_checked"]))
    return often


def merged_by_offload(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether it has segments larger than its receiver allows: no path carried these."""
    allowed = np.maximum(directions["announced_mss_bytes"], directions["mss_bytes"])
    merged: Bools = np.asarray(directions["largest_bytes"]) > allowed
    return merged


def acknowledgments_missing(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether the capture lacks acknowledgments that the receiver must have sent.

    Two conditions must hold. The capture has fewer acknowledgments than a receiver must send. And the flight is too
    large: nearly all payload at once, which slow start does not allow, or often far beyond the handshake's window.

    Parameters
    ----------
    directions
        Columns of `bdpcap._core.Analysis.directions`.
    """
    payload = np.asarray(directions["payload_bytes"], dtype=np.float64)
    flight = np.asarray(directions["in_flight_max_bytes"], dtype=np.float64)
    acks = np.asarray(directions["acks"], dtype=np.float64)
    source = np.asarray(directions["window_scale_source"])
    sparse = acks * BATCH_BYTES < payload
    silent = (flight > UNSCALED_BYTES) & (flight > 0.8 * payload)
    captured = np.isin(source, (NEGOTIATED, DECLINED, ONE_SIDED))
    beyond = captured & often_beyond_window(directions)
    carried = np.asarray(directions["carried"]) > 0
    missing: Bools = carried & (acks > 0) & sparse & (silent | beyond)
    return missing


@dataclass(frozen=True)
class Flaw:
    """One flaw of a capture."""

    code: str
    """The name of the flaw, stable for programs."""
    count: int
    """Number of flows, frames, packets, bytes, files or nanoseconds; the sentence has the unit."""
    sentence: str
    effect: str
    """The effect of the flaw on verdicts."""
    grave: bool
    """Whether even verdicts of rounds without a mark are doubtful."""
    first_frame: int | None = None
    """First frame of the first flow with the flaw; None if the flaw is not one of flows."""


def flaws(info: CaptureInfo, directions: Iterable[Mapping[str, Any]]) -> list[Flaw]:
    """Return the flaws of a capture, gravest first; the list is empty if there are none.

    Parameters
    ----------
    info
        The facts of the capture as a whole.
    directions
        The columns `FLAW_COLUMNS` of `bdpcap._core.Analysis.directions`, some rows at a time.
    """
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    payload = info.missed_bytes
    for piece in directions:
        columns = {name: np.asarray(values) for name, values in piece.items()}
        payload += int(columns["payload_bytes"][columns["carried"] > 0].sum())
        for code, rows in _affected(columns).items():
            if rows.any():
                counts[code] += int(rows.sum())
                frame = int(columns["first_frame"][rows].min())
                first[code] = min(frame, first.get(code, frame))
    drops = info.capture_drops or 0
    several = (
        f" The {len(info.interfaces)} interfaces may differ in clock or queue."
        if len(info.interfaces) > 1
        else ""
    )
    found = [
        Flaw(
            "acknowledgments-missing",
            info.unacknowledged,
            f"Acknowledgments that the receiver must have sent are missing: {_flows(info.unacknowledged)}. Capture "
            "both directions, without a filter on payload.",
            "The flows are not judged, and no setting is named.",
            grave=True,
            first_frame=first.get("acknowledgments-missing"),
        ),
        Flaw(
            "no-acknowledgments",
            info.data_only,
            f"Without a single acknowledgment: {_flows(info.data_only)}. Only what was sent, and when, is known.",
            "The flows are not judged.",
            grave=True,
            first_frame=first.get("no-acknowledgments"),
        ),
        Flaw(
            "no-data",
            info.acknowledgments_only,
            f"Acknowledged, but without data in the capture: {_flows(info.acknowledgments_only)}. Their data went "
            "another way, or were filtered out.",
            "The flows are not judged.",
            grave=True,
            first_frame=first.get("no-data"),
        ),
        Flaw(
            "data-missing",
            info.missed_bytes,
            f"The capture is missing {units.data_size(info.missed_bytes)} that were acknowledged (filtered, or "
            "dropped while capturing); they do not count as lost on the path.",
            "Rounds that miss data are marked and less sure; those that miss most are not judged.",
            grave=info.missed_bytes >= GRAVE * max(1, payload),
            first_frame=first.get("data-missing"),
        ),
        Flaw(
            "dropped",
            drops,
            f"{units.number(drops, 'packet')} dropped while capturing: what seems lost may be missing from the "
            "capture only.",
            "Losses may be those of the capture.",
            grave=drops >= GRAVE * max(1, info.frames + drops),
        ),
        Flaw(
            "time-backwards",
            info.time_backwards,
            f"Time runs backwards at {units.number(info.time_backwards, 'frame')}.{several}",
            "Rounds in which it does are marked and less sure.",
            grave=info.time_backwards > GRAVE * info.frames,
        ),
        Flaw(
            "clock-coarse",
            info.tick_ns if info.tick_ns >= COARSE_NS else 0,
            f"The clock of the capture ticks every {units.duration(info.tick_ns)}: what is faster is not timed.",
            "Round trips below ten ticks are marked and less sure. Below three, only a full window is seen.",
            grave=True,
        ),
        Flaw(
            "copies",
            info.copies,
            f"Captured several times (mirrored, on several interfaces, or before and after a router): "
            f"{units.number(info.copies, 'packet')} more than were sent.",
            "Copies are left out.",
            grave=False,
            first_frame=first.get("copies"),
        ),
        Flaw(
            "wifi-retries",
            info.wifi_retries,
            "Sent again by the Wi-Fi link (802.11 retries): "
            f"{units.share(info.wifi_retries / max(1, info.wifi_segments))} of the frames with TCP, "
            f"{units.count(info.wifi_retries)} of {units.count(info.wifi_segments)}.",
            "TCP does not see them; they count as copies.",
            grave=False,
        ),
        Flaw(
            "handshake-missing",
            counts["handshake-missing"],
            f"Handshake not captured: {_flows(counts['handshake-missing'])}.",
            "Window scale and MSS are inferred, or unknown.",
            grave=False,
            first_frame=first.get("handshake-missing"),
        ),
        Flaw(
            "offload",
            counts["offload"],
            f"Segments larger than the MSS (offload at the tap): {_flows(counts['offload'])}. Their times are those "
            "of bursts.",
            "Packets of one segment have one time.",
            grave=False,
            first_frame=first.get("offload"),
        ),
        Flaw(
            "cut",
            info.cut_by_snaplen,
            f"{units.number(info.cut_by_snaplen, 'frame')} cut by the snap length; lengths are from headers.",
            "None, where the headers are whole.",
            grave=False,
        ),
    ]
    return [*_rotation(info), *_left_out(info), *(flaw for flaw in found if flaw.count)]


def _left_out(info: CaptureInfo) -> list[Flaw]:
    """Return a flaw for each limit beyond which data were left out."""
    of_limits = {
        "connections": ("segment", "Their connections are not told.", True),
        "rows": ("row", "Of what is told of requests, rounds and packets, the end is missing.", True),
        "ranges": (
            "range",
            "What is in flight is rough in these flows.",
            False,
        ),
        "headers": ("frame", "The frames are not decoded.", False),
    }
    return [
        Flaw(
            f"limit-{name}",
            count,
            f"Left out beyond the limit {name}: {units.number(count, thing)}. Raise the limit (--budget {name}=N), or "
            "read less by a filter (-f).",
            effect,
            grave=grave,
        )
        for name, (thing, effect, grave) in of_limits.items()
        if (count := info.left_out.get(name, 0))
    ]


def _affected(columns: Mapping[str, NDArray[Any]]) -> dict[str, Bools]:
    """Return for each flaw of flows which directions have it, by code."""
    carried = columns["carried"] > 0
    return {
        "acknowledgments-missing": acknowledgments_missing(columns),
        "no-acknowledgments": carried & (columns["acks"] == 0),
        "no-data": ~carried & (columns["acked_bytes"] > 2),
        "data-missing": carried & (columns["unseen_bytes"] > 0),
        "copies": columns["copies"] > 0,
        "handshake-missing": carried & (columns["handshake"] == 0),
        "offload": carried & merged_by_offload(columns),
    }


def _rotation(info: CaptureInfo) -> list[Flaw]:
    """Return the flaws between the files of a rotated set: missing files, gaps and overlaps."""
    times = info.times_of_files
    absent = [Seam(after, one["missing_before"]) for after, one in enumerate(times) if one["missing_before"]]
    numbered = {seam.after for seam in absent}
    gaps = [seam for seam in rotation.gaps(times) if seam.after not in numbered]
    overlaps = rotation.overlaps(times)
    missed = "What they held counts as missing from the capture, not as lost on the path."
    found = []
    if absent:
        count = sum(seam.amount for seam in absent)
        text = f"By the numbers in their names, {units.number(count, 'file')} of the set {'is' if count == 1 else 'are'}"
        found.append(
            Flaw("files-missing", count, f"{text} missing{_between(info, absent)}.", missed, grave=True)
        )
    if gaps:
        longest = max(gaps, key=lambda seam: seam.amount)
        within = max(one["longest_gap_ns"] for one in times)
        text = (
            f"A file of the set may be missing{_between(info, [longest])}: no frame for "
            f"{units.duration(longest.amount)}, while no pause within a file is longer than {units.duration(within)}."
        )
        more = f" There are {units.number(len(gaps), 'such gap')}." if len(gaps) > 1 else ""
        found.append(Flaw("gap-between-files", longest.amount, f"{text}{more}", missed, grave=True))
    if overlaps:
        longest = max(overlaps, key=lambda seam: seam.amount)
        before, after = _names(info, longest)
        text = (
            f"Files overlap in time: {after} begins {units.duration(longest.amount)} before the end of {before}. "
            "Name the files of one tap only."
        )
        found.append(
            Flaw(
                "files-overlap",
                longest.amount,
                text,
                "Frames are out of order: rounds may be wrong.",
                grave=True,
            )
        )
    return found


def _names(info: CaptureInfo, seam: Seam) -> tuple[str, str]:
    return PurePath(info.files[seam.after - 1]).name, PurePath(info.files[seam.after]).name


def _between(info: CaptureInfo, seams: list[Seam]) -> str:
    """Return the names of the files around the first place where files are missing, as part of a sentence."""
    before, after = _names(info, seams[0])
    return f"{', first' if len(seams) > 1 else ''} between {before} and {after}"


def _flows(count: int) -> str:
    return units.number(count, "flow")
