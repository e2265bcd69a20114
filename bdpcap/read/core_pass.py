"""One pass of the core over captures: from sources to its columns, with progress on the way."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np

from bdpcap import _core
from bdpcap.read import rotation, sums
from bdpcap.read.budget import Limits
from bdpcap.read.facts import CaptureInfo, Damage, Fingerprint, Progress
from bdpcap.read.filter import compile_filter
from bdpcap.read.jobs import threads
from bdpcap.read.sums import Sums

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.scale import InferredScale

OneSource = str | os.PathLike[str] | bytes | BinaryIO
Source = OneSource | Sequence[OneSource]
"""A path, a capture's bytes, a binary file object, or a list of them that is read as one capture.

A directory stands for the captures in it, and a pattern of the shell for the files that match.
"""
Read = str | bytes | BinaryIO
"""A source with its path as text."""

STEP: Final = 1 << 17
"""Frames between the first two looks at progress and at the keyboard."""
LOOK_S: Final = 0.1, 0.4
"""Least and most time between two looks: threads stop at each, and who waits wants to see more."""
EVENTS_STEP: Final = 1 << 15
"""Frames whose events are taken together: so many still fit a cache."""
COPY_STEP: Final = 1 << 15
"""Frames that are copied together: their bytes are held."""
TIMES: Final = ("frames", "first_ns", "last_ns", "longest_gap_ns", "furthest_back_ns")
"""What the core says of each file and `CaptureInfo.times_of_files` keeps."""
STREAMS: Final = 1 << 14
"""Streams that are looked at together."""


def sources(source: Source) -> list[Read]:
    """Return what is to be read as a list; raise as `bdpcap.analyze` says what cannot be."""
    if isinstance(source, (list, tuple)):
        many: Sequence[OneSource] = source
    else:
        many = [cast("OneSource", source)]
    listed: list[Read] = []
    for one in many:
        listed += rotation.files(os.fspath(one))[0] if isinstance(one, (str, os.PathLike)) else [one]
    if not listed:
        raise ValueError("no capture given")
    for one in listed:
        if isinstance(one, io.TextIOBase):
            raise TypeError("a capture is read as bytes: open the file with mode 'rb'")
        if not isinstance(one, (str, bytes)) and not hasattr(one, "read"):
            raise TypeError(f"neither a path nor bytes nor a binary file object: {type(one).__name__}")
    return listed


def is_lasting(sources: list[Read]) -> bool:
    """Tell whether all sources can be read another time: files and bytes, no pipe and no file object."""
    return all(isinstance(one, bytes) or (isinstance(one, str) and Path(one).is_file()) for one in sources)


def opened(
    sources: list[Read],
    expression: str | None,
    *,
    events: bool,
    rounds: bool = True,
    streams: Sequence[int] | None = None,
    scales: Sequence[InferredScale] = (),
    limits: Limits | None = None,
    jobs: int | None = None,
) -> _core.Analysis:
    """Return a pass that has read nothing yet; the parameters are those of `bdpcap._core.Analysis`."""
    filters = compile_filter(expression, _core.LINK_TYPES) if expression else None
    shifts = {(scale.first_frame, scale.direction): scale.shift for scale in scales}
    given = [io.BytesIO(one) if isinstance(one, bytes) else one for one in sources]
    return _core.Analysis(
        given,
        filters,
        events=events,
        rounds=rounds,
        streams=streams,
        scales=shifts,
        limits=asdict(limits or Limits()),
        jobs=threads(jobs, sources),
    )


def steps(
    core: _core.Analysis,
    sources: list[Read],
    progress: Callable[[Progress], None] | None,
    *,
    events: bool = False,
    last_frame: int | None = None,
) -> Iterator[None]:
    """Read to the end, or until this frame was read, a stretch at a time.

    With `events` that is `EVENTS_STEP` frames, as these are then taken.
    """
    frames = EVENTS_STEP if events else STEP
    total = None
    if is_lasting(sources):
        total = sum(
            len(one) if isinstance(one, bytes) else Path(cast("str", one)).stat().st_size for one in sources
        )
    more = True
    while more:
        begun_s = time.perf_counter()
        more = core.advance(frames) and (last_frame is None or core.frames < last_frame)
        lasted_s = time.perf_counter() - begun_s
        if progress:
            progress(Progress(core.bytes_read, total, core.frames))
        yield
        if not events:
            frames = _next(frames, lasted_s)


def _next(frames: int, lasted_s: float) -> int:
    """Return how many frames to read after so many that took so long."""
    least_s, most_s = LOOK_S
    if lasted_s < least_s:
        return 2 * frames
    return max(STEP, frames // 2) if lasted_s > most_s else frames


def kept_events(
    core: _core.Analysis, sources: list[Read], progress: Callable[[Progress], None] | None, most: int
) -> tuple[dict[str, np.ndarray], int]:
    """Read to the end; return the columns of the first events, and how many more there were."""
    pieces = [core.take_events()]
    room, left_out = most, 0
    for _ in steps(core, sources, progress, events=True):
        piece = core.take_events()
        count = len(piece["stream"])
        if room:  # a part of a piece, even an empty one, keeps all of it
            pieces.append({name: values[:room] for name, values in piece.items()})
        left_out += max(0, count - room)
        room = max(0, room - count)
    return joined(pieces), left_out


def joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the columns of consecutive pieces as one."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def events(columns: dict[str, np.ndarray], directions: dict[str, Any]) -> pd.DataFrame:
    """Build a table as `bdpcap.tables.EVENTS` from the core's columns; `directions` names both sides of streams."""
    from bdpcap.tables.events import Events  # noqa: PLC0415 - pandas is only loaded where a table is asked for

    return Events(columns, directions).frame()


def source_name(source: Read) -> str:
    """Return what the core calls a source; bytes of a path that are no UTF-8 are replaced."""
    name = source if isinstance(source, str) else getattr(source, "name", None)
    return os.fsencode(name).decode(errors="replace") if isinstance(name, str) else "<stream>"


def fingerprint(source: Read, renamed: Callable[[str], str]) -> Fingerprint:
    """Read a file to tell it from any other; `renamed` gives the name it is to have."""
    name = renamed(source_name(source))
    if isinstance(source, bytes):
        return Fingerprint(name, len(source), hashlib.sha256(source).hexdigest())
    if not isinstance(source, str) or not Path(source).is_file():
        return Fingerprint(name, None, None)
    with Path(source).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Fingerprint(name, file.tell(), digest.hexdigest())


def named(columns: dict[str, Any], pseudonyms: Pseudonyms | None) -> dict[str, Any]:
    """Return columns about directions with the names that they are to have."""
    return pseudonyms.directions(columns) if pseudonyms else columns


def damage(place: tuple[str, int, int, str], pseudonyms: Pseudonyms | None) -> Damage:
    """Return where a capture broke, as the core says it."""
    return pseudonyms.damage(Damage(*place)) if pseudonyms else Damage(*place)


def directions(
    core: _core.Analysis, pseudonyms: Pseudonyms | None, names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the core's columns of these names about both directions of every stream, some streams at a time."""
    for first in range(0, core.streams, STREAMS):
        yield named(core.directions(first, STREAMS, names), pseudonyms)


def summed(core: _core.Analysis) -> Sums:
    """Add up the directions of all streams of a pass that has come to its end."""
    return Sums.of(directions(core, None, sums.NEEDED))


def info(core: _core.Analysis, added: Sums) -> CaptureInfo:
    """Return what such a pass knows of its captures."""
    captures, counts = core.captures(), core.counts()
    left_out = {
        "connections": counts.pop("segments_left_out"),
        "rows": counts.pop("turns_left_out") + added.rounds_left_out,
        "ranges": added.merged_ranges,
        "headers": counts.pop("too_deep"),
    }
    absent = rotation.missing([capture["file"] for capture in captures])
    drops = [capture["drops"] for capture in captures if capture["drops"] is not None]
    return CaptureInfo(
        files=[capture["file"] for capture in captures],
        formats=[capture["format"] for capture in captures],
        compression=[capture["compression"] for capture in captures],
        interfaces=[interface for capture in captures for interface in capture["interfaces"]],
        comments=[comment for capture in captures for comment in capture["comments"]],
        times_of_files=[
            {name: capture[name] for name in TIMES} | {"missing_before": missing}
            for capture, missing in zip(captures, absent, strict=True)
        ],
        capture_drops=sum(drops) if drops else None,
        left_out={limit: count for limit, count in left_out.items() if count},
        copies=added.copies,
        unacknowledged=added.unacknowledged,
        missed_bytes=added.missed_bytes,
        data_only=added.data_only,
        acknowledgments_only=added.acknowledgments_only,
        multipath=added.multipath,
        **counts,
    )
