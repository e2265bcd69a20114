"""One pass of the core over captures: opening sources, reading with progress, and taking the core's columns."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np

from bdpcap import _core
from bdpcap.errors import ArgumentError, wanted
from bdpcap.read import remote, rotation, sums
from bdpcap.read.budget import Budget
from bdpcap.read.facts import CaptureInfo, Damage, Fingerprint, Progress
from bdpcap.read.filter import compile_filter
from bdpcap.read.jobs import threads
from bdpcap.read.sums import Sums
from bdpcap.read.whole import MARK, Whole, read

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.scale import InferredScale

OneSource = str | os.PathLike[str] | bytes | BinaryIO
Source = OneSource | Sequence[OneSource]
"""A path or URL, a capture's bytes, a binary file object, or a list of them that is read as one capture.

A directory stands for the captures in it, and a shell pattern for the files that match.
"""
Read = str | bytes | BinaryIO
"""A source with its path or URL as text."""

STEP: Final = 1 << 17
"""Frames of the first step. Between two steps Python shows progress and can be interrupted."""
STEP_S: Final = 0.1, 0.4
"""Shortest and longest duration of a step in seconds.

Threads stop between steps, so steps must not be too short; users expect progress, so they must not be too long.
"""
EVENTS_STEP: Final = 1 << 15
"""Frames in a step if events are taken after each: few enough for the events to fit a processor's cache."""
COPY_STEP: Final = 1 << 15
"""Frames that are copied in one call; memory holds their bytes meanwhile."""
TIMES: Final = ("frames", "first_ns", "last_ns", "longest_gap_ns", "furthest_back_ns")
"""Entries of `bdpcap._core.Analysis.captures` that `CaptureInfo.times_of_files` keeps."""
_STREAM_NUMBERS: Final = 1 << 32
"""Numbers that a stream may have: the core counts them in 32 bits."""
STREAMS: Final = 1 << 14
"""Streams whose columns are processed together."""


def sources(source: Source) -> tuple[list[Read], list[Damage]]:
    """Return the sources as a list of paths, bytes and file objects, with directories and patterns expanded.

    The captures of directories that cannot be read at all are returned apart.

    Raises
    ------
    CaptureError
        A directory holds no capture that can be read, no file matches a pattern, or a name is empty.
    ArgumentError
        There is no source, or one is neither a path nor bytes nor a binary file object.
    """
    if isinstance(source, (list, tuple)):
        many: Sequence[OneSource] = source
    else:
        many = [cast("OneSource", source)]
    listed: list[Read] = []
    broken: list[Damage] = []
    for one in many:
        if isinstance(one, (str, os.PathLike)):
            found = rotation.files(os.fspath(one))
            listed += found.captures
            broken += found.broken
        else:
            listed.append(one)
    if not listed:
        raise ArgumentError("no capture given: name a file, a directory or a pattern")
    for one in listed:
        such = "a path, bytes, or a file that is open for bytes, as by open(path, 'rb')"
        fits = not isinstance(one, io.TextIOBase) and (isinstance(one, (str, bytes)) or hasattr(one, "read"))
        wanted("the capture", one, such, fits=fits)
    # The core sorts files; it has to take streams in the order given.
    has_url = any(isinstance(one, str) and remote.is_url(one) for one in listed)
    if has_url and len(listed) > 1 and is_lasting(listed):
        listed = sorted(listed, key=_first_ns)
    return listed, broken


def _first_ns(source: Read) -> float:
    """Return the time of a capture's first frame in ns since the epoch; infinity without one."""
    core = _core.Analysis(readable([source]))
    core.advance(1)
    return float("inf") if core.first_ns is None else core.first_ns


def is_lasting(sources: list[Read]) -> bool:
    """Return whether all sources can be read twice: only regular files, URLs and bytes can."""
    return all(
        isinstance(one, bytes) or (isinstance(one, str) and (remote.is_url(one) or Path(one).is_file()))
        for one in sources
    )


def readable(sources: Sequence[Read]) -> list[str | BinaryIO]:
    """Return the sources as the core takes them: paths and binary file objects."""
    return [_readable(one) for one in sources]


class _Given(io.BytesIO):
    """A capture's bytes, by the name that messages have for them."""

    name = "<bytes>"


def _readable(source: Read) -> str | BinaryIO:
    if isinstance(source, bytes):
        return _Given(source)
    if isinstance(source, str) and remote.is_url(source):
        return cast("BinaryIO", remote.RemoteFile(source))
    return source


def opened(
    sources: list[Read],
    expression: str | None,
    *,
    events: bool,
    rounds: bool = True,
    streams: Sequence[int] | None = None,
    scales: Sequence[InferredScale] = (),
    budget: Budget | None = None,
    jobs: int | None = None,
) -> _core.Analysis:
    """Return a pass that has not read any frame; for the parameters see `bdpcap._core.Analysis`."""
    numbers = None if streams is None else _numbers(streams)
    filters = compile_filter(expression, _core.LINK_TYPES) if expression else None
    shifts = {(scale.first_frame, scale.direction): scale.shift for scale in scales}
    return _core.Analysis(
        readable(sources),
        filters,
        events=events,
        rounds=rounds,
        streams=numbers,
        scales=shifts,
        budget=asdict(budget or Budget()),
        jobs=threads(jobs, sources),
    )


def _numbers(streams: Iterable[int]) -> list[int]:
    """Return the numbers of streams of any iterable: a list, an array or a column of a table."""
    several = isinstance(streams, Iterable) and not isinstance(streams, str | bytes)
    numbers: list[Any] = list(streams) if several else []
    fit = several and all(isinstance(one, Integral) for one in numbers)
    fit = fit and all(0 <= one < _STREAM_NUMBERS for one in numbers)
    wanted("streams", streams, "numbers of streams, such as [0]", fits=fit)
    return [int(one) for one in numbers]


def steps(
    core: _core.Analysis,
    sources: list[Read],
    progress: Callable[[Progress], None] | None,
    *,
    events: bool = False,
    last_frame: int | None = None,
) -> Iterator[None]:
    """Read step by step to the end, or until `last_frame` was read; yield after each step.

    With `events` a step has `EVENTS_STEP` frames, since the caller takes the events after each. Otherwise the size of a
    step adapts to `STEP_S`.
    """
    frames = EVENTS_STEP if events else STEP
    total = None
    if progress and is_lasting(sources):
        sizes = [_size_bytes(one) for one in sources]
        total = None if None in sizes else sum(size or 0 for size in sizes)
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


def _size_bytes(source: Read) -> int | None:
    """Return the size of a source that can be read twice; None if a server does not give it."""
    if isinstance(source, bytes):
        return len(source)
    name = cast("str", source)
    return remote.size_bytes(name) if remote.is_url(name) else Path(name).stat().st_size


def _next(frames: int, lasted_s: float) -> int:
    """Return the number of frames of the next step, after a step of `frames` frames that lasted `lasted_s` seconds."""
    least_s, most_s = STEP_S
    if lasted_s < least_s:
        return 2 * frames
    return max(STEP, frames // 2) if lasted_s > most_s else frames


def kept_events(
    core: _core.Analysis, sources: list[Read], progress: Callable[[Progress], None] | None, most: int
) -> tuple[dict[str, np.ndarray], int]:
    """Read to the end; return the columns of the first `most` events, and the number of events left out."""
    pieces = [core.take_events()]
    room, left_out = most, 0
    for _ in steps(core, sources, progress, events=True):
        piece = core.take_events()
        count = len(piece["stream"])
        if room:  # a slice, even an empty one, keeps the whole array in memory
            pieces.append({name: values[:room] for name, values in piece.items()})
        left_out += max(0, count - room)
        room = max(0, room - count)
    return joined(pieces), left_out


def joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the columns of consecutive pieces, concatenated."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def events(columns: dict[str, np.ndarray], directions: dict[str, Any]) -> pd.DataFrame:
    """Return a table of `bdpcap.tables.EVENTS` from the core's columns.

    `directions` has the ``sender`` and ``receiver`` of both directions of every stream.
    """
    from bdpcap.tables.events import Events  # noqa: PLC0415 - pandas is slow to import

    return Events(columns, directions).frame()


def source_name(source: Read) -> str:
    """Return the name that the core gives to a source; bytes of a path that are not UTF-8 are replaced."""
    if isinstance(source, str) and remote.is_url(source):
        return remote.shown(source)
    name = source if isinstance(source, str) else getattr(source, "name", None)
    return os.fsencode(name).decode(errors="replace") if isinstance(name, str) else "<stream>"


def fingerprint(source: Read, renamed: Callable[[str], str]) -> Fingerprint:
    """Return name, size and SHA-256 of a source; `renamed` maps its name to the name that is shown."""
    name = renamed(source_name(source))
    if isinstance(source, bytes):
        return Fingerprint(name, len(source), hashlib.sha256(source).hexdigest())
    if isinstance(source, str) and remote.is_url(source):
        known, size = hashlib.sha256(), 0
        for piece in remote.RemoteFile(source):
            known.update(piece)
            size += len(piece)
        return Fingerprint(name, size, known.hexdigest())
    if not isinstance(source, str) or not Path(source).is_file():
        return Fingerprint(name, None, None)
    with Path(source).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Fingerprint(name, file.tell(), digest.hexdigest())


def named(columns: dict[str, Any], pseudonyms: Pseudonyms | None) -> dict[str, Any]:
    """Return columns about directions with pseudonyms, if there are any."""
    return pseudonyms.directions(columns) if pseudonyms else columns


def damages(core: _core.Analysis, broken: Sequence[Damage], pseudonyms: Pseudonyms | None) -> list[Damage]:
    """Return where captures broke; `broken` are those that could not be read at all."""
    every = [*(Damage(*place) for place in core.damages()), *broken]
    return [pseudonyms.damage(one) for one in every] if pseudonyms else every


def directions(
    core: _core.Analysis, pseudonyms: Pseudonyms | None, names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the columns `names` about both directions of every stream, `STREAMS` streams at a time."""
    for first in range(0, core.streams, STREAMS):
        yield named(core.directions(first, STREAMS, names), pseudonyms)


def summed(core: _core.Analysis) -> Sums:
    """Return sums over the directions of all streams of a finished pass."""
    return Sums.of(directions(core, None, sums.NEEDED))


def whole(core: _core.Analysis) -> Whole | None:
    """Return the facts on the whole capture in an excerpt's comment; None unless it is one file with one stream."""
    captures = core.captures()
    if core.streams != 1 or len(captures) != 1:
        return None
    found, finest_ns = read(captures[0]["comments"]), captures[0]["least_step_ns"]
    # Times closer to each other contradict a coarse clock.
    if found and finest_ns is not None and (found.tick_ns or 0) > finest_ns:
        return replace(found, tick_ns=None)
    return found


def resolution(core: _core.Analysis) -> int:
    """Return the negative exponent of the unit of all times, such as 6 for microseconds; 9 where they have several."""
    units_ns = {capture["unit_ns"] for capture in core.captures()}
    return next((at for at in range(9) if units_ns == {10 ** (9 - at)}), 9)


def info(core: _core.Analysis, added: Sums, whole: Whole | None) -> CaptureInfo:
    """Return the facts about the captures of a finished pass; `added` are its sums, `whole` those of `whole`."""
    captures, counts = core.captures(), core.counts()
    drops = [capture["drops"] for capture in captures if capture["drops"] is not None]
    comments = [comment for capture in captures for comment in capture["comments"]]
    if whole is not None:
        counts["tick_ns"] = max(counts["tick_ns"], whole.tick_ns or 0)
        drops = drops or [whole.dropped] * (whole.dropped is not None)
        comments = [comment for comment in comments if not comment.startswith(MARK)]
    left_out = {
        "connections": counts.pop("packets_left_out"),
        "rows": counts.pop("turns_left_out") + added.rounds_left_out,
        "ranges": added.merged_ranges,
        "headers": counts.pop("too_deep"),
    }
    absent = rotation.missing([capture["file"] for capture in captures])
    return CaptureInfo(
        files=[capture["file"] for capture in captures],
        formats=[capture["format"] for capture in captures],
        compression=[capture["compression"] for capture in captures],
        interfaces=[interface for capture in captures for interface in capture["interfaces"]],
        comments=comments,
        from_whole=whole.shown() if whole else [],
        times_of_files=[
            {name: capture[name] for name in TIMES} | {"missing_before": missing}
            for capture, missing in zip(captures, absent, strict=True)
        ],
        capture_drops=sum(drops) if drops else None,
        left_out={limit: count for limit, count in left_out.items() if count},
        copies=0 if added.by_network else added.copies,
        delivered_twice=added.delivered_twice + added.copies * added.by_network,
        unacknowledged=added.unacknowledged,
        missed_bytes=added.missed_bytes,
        data_only=added.data_only,
        acknowledgments_only=added.acknowledgments_only,
        multipath=added.multipath,
        **counts,
    )
