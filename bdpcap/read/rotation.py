"""Files of one capture that was rotated: which are meant, which are missing, and where one ends and the next begins."""

from __future__ import annotations

import glob
import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from bdpcap import _core
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Place", "Seam", "files", "frames", "gaps", "members", "missing", "overlaps", "place"]

FAR: Final = 10
"""How much longer than any pause within the files a pause between two of them is, for a file to be missing.

Pauses may be as uneven as a Pareto distribution of shape 1 has them: then one of `FEW` would reach the longest of the
others this many times over in one of a thousand sets.
"""
FEW: Final = 100
"""Least frames from whose spacing the traffic's own pauses are known."""

_PACKED: Final = (".gz", ".zst", ".lz4")
_NUMBERED: Final = (
    re.compile(r"(?P<stem>.+)_\d{14}_(?P<number>\d{5})(?P<end>\.[^.]+)?"),
    re.compile(r"(?P<stem>.+)_(?P<number>\d{5})(?:_\d{14})?(?P<end>\.[^.]+)?"),
    re.compile(r"(?P<stem>.+\.(?:pcap|pcapng|cap|dmp))(?P<number>\d*)(?P<end>)"),
)
"""Names of a ring: of dumpcap's nametimenum, of dumpcap and editcap, and of tcpdump -C, whose first has no number."""


@dataclass(frozen=True)
class Seam:
    """Where a file does not go on from the one before."""

    after: int
    """Place of the later file among all files."""
    amount: int
    """Nanoseconds, or files."""


@dataclass(frozen=True)
class Place:
    """A frame within its file."""

    file: str
    frame: int
    """Counted from 1 in this file."""


def files(name: str) -> tuple[list[str], list[str]]:
    """Return the captures that a name stands for, and what was passed over beside them.

    A file stands for itself, a directory for the captures in it, any other name for the files that match it as a
    pattern of the shell. Files of a directory that begin like no capture, and directories, are passed over; hidden
    ones are not looked at. The order is that of their names, numbers by value.

    Raises
    ------
    CaptureError
        The directory holds no capture, or no file matches.
    """
    path = Path(name)
    if path.is_dir():
        inside = _ordered(str(one) for one in path.iterdir() if not one.name.startswith("."))
        captures = [one for one in inside if Path(one).is_file() and _is_capture(one)]
        if not captures:
            raise _core.CaptureError(f"{units.printable(name)}: no capture in this directory")
        return captures, [one for one in inside if one not in set(captures)]
    if path.exists() or not glob.has_magic(name):
        return [name], []
    matching = _ordered(one for one in glob.iglob(name, recursive=True) if Path(one).is_file())  # noqa: PTH207
    if not matching:
        raise _core.CaptureError(f"{units.printable(name)}: no file matches this pattern")
    return matching, []


def _ordered(names: Iterable[str]) -> list[str]:
    def key(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]

    return sorted(names, key=key)


def _is_capture(name: str) -> bool:
    try:
        _core.Analysis([name])
    except _core.CaptureError:
        return False
    return True


def members(name: str) -> tuple[str, int] | None:
    """Return what the names of a ring have in common, and the number of this file in it; None without a number."""
    path = PurePath(name)
    bare = path.stem if path.suffix in _PACKED else path.name
    for pattern in _NUMBERED:
        if found := pattern.fullmatch(bare):
            return f"{path.parent}/{found['stem']}{found['end']}", int(found["number"] or 0)
    return None


def missing(names: Sequence[str]) -> list[int]:
    """Return how many numbers of a ring are missing before each file; a ring that begins anew misses none."""
    last: dict[str, int] = {}
    absent = []
    for name in names:
        stem, number = members(name) or (None, 0)
        absent.append(max(0, number - last[stem] - 1) if stem in last else 0)
        if stem is not None:
            last[stem] = number
    return absent


def gaps(times: Sequence[Mapping[str, Any]]) -> list[Seam]:
    """Return pauses between two files that are far longer than any within the files.

    Parameters
    ----------
    times
        Of each file, in the order in which they were read: `CaptureInfo.times_of_files`.
    """
    longest = max((one["longest_gap_ns"] for one in times), default=0)
    if sum(max(0, one["frames"] - 1) for one in times) < FEW or not longest:
        return []
    return [Seam(after, step) for after, step in _steps(times) if step > FAR * longest]


def overlaps(times: Sequence[Mapping[str, Any]]) -> list[Seam]:
    """Return where a file begins long before the one before ends: further than time runs backwards within a file."""
    furthest = max((one["furthest_back_ns"] for one in times), default=0)
    return [Seam(after, -step) for after, step in _steps(times) if -step > FAR * furthest]


def _steps(times: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield of each file with frames but the first its place, and the time from the end of those before, if positive."""
    end_ns: int | None = None
    for after, one in enumerate(times):
        if one["first_ns"] is None:
            continue
        if end_ns is not None:
            yield after, one["first_ns"] - end_ns
        end_ns = one["last_ns"] if end_ns is None else max(end_ns, one["last_ns"])


def place(frame: int, names: Sequence[str], frames_of_files: Sequence[int]) -> Place:
    """Return where a frame of the whole set stands."""
    ends = list(accumulate(frames_of_files))
    file = min(bisect_left(ends, frame), len(ends) - 1)
    return Place(names[file], frame - (ends[file] - frames_of_files[file]))


def frames(first: int, last: int, names: Sequence[str], frames_of_files: Sequence[int]) -> str:
    """Return ``frames 12 to 40``; of several files also which of them, and the numbers there."""
    said = units.span("frame", first, last)
    if len(names) < 2:
        return said
    one, other = (place(frame, names, frames_of_files) for frame in (first, last))
    if one == other:
        inside = f"{one.frame} of {PurePath(one.file).name}"
    elif one.file == other.file:
        inside = f"{one.frame} to {other.frame} of {PurePath(one.file).name}"
    else:
        inside = f"{one.frame} of {PurePath(one.file).name} to {other.frame} of {PurePath(other.file).name}"
    return f"{said} ({inside})"
