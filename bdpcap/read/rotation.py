"""Files of a rotated capture: which files a name stands for, which are missing, and gaps and overlaps between them."""

from __future__ import annotations

import glob
import os
import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from bdpcap import _core
from bdpcap.read import remote
from bdpcap.read.facts import Damage
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Found", "Place", "Seam", "files", "frames", "gaps", "members", "missing", "overlaps", "place"]

FAR: Final = 10
"""A pause between two files that exceeds the longest pause within the files by this factor means a missing file.

Pauses may be as uneven as a Pareto distribution of shape 1. Even then a pause between two files exceeds the longest of
`FEW` others by this factor in only one set of a thousand.
"""
FEW: Final = 100
"""Fewest intervals between frames that show how long the traffic's own pauses are."""

CAPTURE: Final = re.compile(r"\.(pcap|pcapng|cap|dmp)\d*(\.(gz|zst|lz4))?$", re.IGNORECASE)
"""File names of captures."""
_MAGIC: Final = tuple(
    bytes.fromhex(magic)
    for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a")
)
"""First bytes of captures: pcap in microseconds, in nanoseconds and modified, each in both byte orders; pcapng."""
_PACKED: Final = (".gz", ".zst", ".lz4")
_NUMBERED: Final = (
    re.compile(r"(?P<stem>.+)_\d{14}_(?P<number>\d{5})(?P<end>\.[^.]+)?"),
    re.compile(r"(?P<stem>.+)_(?P<number>\d{5})(?:_\d{14})?(?P<end>\.[^.]+)?"),
    re.compile(r"(?P<stem>.+\.(?:pcap|pcapng|cap|dmp))(?P<number>\d*)(?P<end>)"),
)
"""File names of a ring buffer, by dumpcap with nametimenum, by dumpcap and editcap, and by tcpdump -C.

The first file of tcpdump -C has no number.
"""


@dataclass(frozen=True)
class Found:
    """The files that a name stands for."""

    captures: list[str]
    broken: list[Damage]
    """The captures of a directory that cannot be read at all: their name or their first bytes are those of a capture."""
    others: list[str]
    """The entries of a directory that are not captures."""


@dataclass(frozen=True)
class Seam:
    """A place between two files of a set where files are missing, or where there is a gap or an overlap in time."""

    after: int
    """Index of the later file among all files."""
    amount: int
    """Number of missing files, or nanoseconds of the gap or overlap."""


@dataclass(frozen=True)
class Place:
    """A frame by its file and its number there."""

    file: str
    frame: int
    """Counted from 1 in this file."""


def files(name: str) -> Found:
    """Return the files that a name stands for.

    A file stands for itself, and a directory for the captures in it. Any other name is a shell pattern and stands for
    the files that match. In a directory, subdirectories and files that neither read as a capture nor are named or begin
    like one are not captures; hidden entries are ignored. Captures are sorted by name, numbers in names by value. A URL
    stands for a file, or for those that match it if its path has an asterisk.

    Raises
    ------
    CaptureError
        The name is empty, no file matches, or the directory holds no capture that can be read. Or its captures are not
        files of one: their names differ in more than numbers, while dumpcap and tcpdump only count or date files.
    """
    if not name:
        raise _core.CaptureError("the name of the capture is empty")
    if remote.is_url(name):
        return Found(_ordered(remote.matching(name)), [], [])
    path = Path(name)
    if path.is_dir():
        found = Found([], [], [])
        for one in _ordered(str(one) for one in path.iterdir() if not one.name.startswith(".")):
            _sort_in(one, found)
        if not found.captures:
            reasons = "".join(f"; {damage}" for damage in found.broken)
            which = "no capture in this directory can be read" if reasons else "no capture in this directory"
            raise _core.CaptureError(f"{units.printable(name)}: {which}{reasons}")
        if len({_stem(one) for one in found.captures}) > 1:
            raise _core.CaptureError(
                f"{units.printable(name)}: {len(found.captures)} captures are not one, their names differ in more than "
                f"numbers: name one, or {units.printable(str(path / '*'))} to read all as one"
            )
        return found
    if path.exists() or not glob.has_magic(name):
        return Found([name], [], [])
    matching = _ordered(one for one in glob.iglob(name, recursive=True) if Path(one).is_file())  # noqa: PTH207
    if not matching:
        raise _core.CaptureError(f"{units.printable(name)}: no file matches this pattern")
    return Found(matching, [], [])


def _stem(name: str) -> str:
    """Return the file name without numbers: what the names of a ring buffer have in common."""
    path = PurePath(name)
    return re.sub("[0-9]+", "", path.stem if path.suffix in _PACKED else path.name)


def _ordered(names: Iterable[str]) -> list[str]:
    def key(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]

    return sorted(names, key=key)


def _sort_in(name: str, found: Found) -> None:
    """Add an entry of a directory to the captures, to the broken ones or to the others."""
    if not Path(name).is_file():
        found.others.append(name)
        return
    try:
        _core.Analysis([name])
    except _core.CaptureError as error:
        if not (CAPTURE.search(name) or _begins_like_one(name)):
            found.others.append(name)
            return
        shown = os.fsencode(name).decode(errors="replace")
        reason = (
            str(error).removeprefix(f"{shown}: ").removeprefix("frame 1, byte 0: ").partition(" (os error")[0]
        )
        found.broken.append(Damage(shown, 1, 0, reason))
    else:
        found.captures.append(name)


def _begins_like_one(name: str) -> bool:
    try:
        with Path(name).open("rb") as file:
            return file.read(4) in _MAGIC
    except OSError:
        return False


def members(name: str) -> tuple[str, int] | None:
    """Return the common part of the file names of a ring buffer and this file's number; None for any other name."""
    path = PurePath(name)
    bare = path.stem if path.suffix in _PACKED else path.name
    for pattern in _NUMBERED:
        if found := pattern.fullmatch(bare):
            return f"{path.parent}/{found['stem']}{found['end']}", int(found["number"] or 0)
    return None


def missing(names: Sequence[str]) -> list[int]:
    """Return the count of missing file numbers before each file; 0 where a ring buffer starts again from a lower one."""
    last: dict[str, int] = {}
    absent = []
    for name in names:
        stem, number = members(name) or (None, 0)
        absent.append(max(0, number - last[stem] - 1) if stem in last else 0)
        if stem is not None:
            last[stem] = number
    return absent


def gaps(times: Sequence[Mapping[str, Any]]) -> list[Seam]:
    """Return the pauses between two files that are far longer than any pause within the files.

    Parameters
    ----------
    times
        `CaptureInfo.times_of_files`, in the order in which the files were read.
    """
    longest = max((one["longest_gap_ns"] for one in times), default=0)
    if sum(max(0, one["frames"] - 1) for one in times) < FEW or not longest:
        return []
    return [Seam(after, step) for after, step in _steps(times) if step > FAR * longest]


def overlaps(times: Sequence[Mapping[str, Any]]) -> list[Seam]:
    """Return where a file begins long before the end of the earlier files: by far more than any step back in a file."""
    furthest = max((one["furthest_back_ns"] for one in times), default=0)
    return [Seam(after, -step) for after, step in _steps(times) if -step > FAR * furthest]


def _steps(times: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield the index of each file with frames but the first, and the nanoseconds from the end of the earlier files.

    The nanoseconds are negative where the file begins before that end.
    """
    end_ns: int | None = None
    for after, one in enumerate(times):
        if one["first_ns"] is None:
            continue
        if end_ns is not None:
            yield after, one["first_ns"] - end_ns
        end_ns = one["last_ns"] if end_ns is None else max(end_ns, one["last_ns"])


def place(frame: int, names: Sequence[str], frames_of_files: Sequence[int]) -> Place:
    """Return the file that holds a frame of the set, and the frame's number there."""
    ends = list(accumulate(frames_of_files))
    file = min(bisect_left(ends, frame), len(ends) - 1)
    return Place(names[file], frame - (ends[file] - frames_of_files[file]))


def frames(first: int, last: int, names: Sequence[str], frames_of_files: Sequence[int]) -> str:
    """Return ``frames 12 to 40``; with several files also the file names and the frame numbers within the files."""
    text = units.span("frame", first, last)
    if len(names) < 2:
        return text
    one, other = (place(frame, names, frames_of_files) for frame in (first, last))
    if one == other:
        inside = f"{one.frame} of {PurePath(one.file).name}"
    elif one.file == other.file:
        inside = f"{one.frame} to {other.frame} of {PurePath(one.file).name}"
    else:
        inside = f"{one.frame} of {PurePath(one.file).name} to {other.frame} of {PurePath(other.file).name}"
    return f"{text} ({inside})"
