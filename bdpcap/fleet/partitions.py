"""The steps of analysing a large set of files with several workers: split files by host pair, then analyse buckets.

The results for a flow depend only on the frames between its two hosts, and on a few facts of the whole set. So a worker
splits each file into buckets by host pair, and another analyses one bucket of all files. Only headers are passed on.
"""

from __future__ import annotations

import dataclasses
import io
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from bdpcap import _core
from bdpcap.capture import Capture
from bdpcap.contents import Contents
from bdpcap.fleet import findings
from bdpcap.fleet.dataset import Dataset
from bdpcap.fleet.work import local, named_by_url
from bdpcap.read import core_pass, scale
from bdpcap.read.filter import compile_filter
from bdpcap.report import ranking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.fleet.work import Order
    from bdpcap.read.scale import InferredScale
    from bdpcap.tables.cells import Columns

__all__ = ["Bucket", "Classified", "Followed", "Member", "classify", "combine", "explain", "follow", "split"]


@dataclass(frozen=True)
class Member:
    """A file of a set that was split into pieces by host pair."""

    input: dict[str, Any]
    """Name, size and SHA-256 of the file."""
    counts: dict[str, Any]
    """Counts of `bdpcap._core.Pieces`."""
    stored: str
    """Path of the stored file that has the pieces one after the other."""
    ends: tuple[int, ...]
    """Offset of each piece in the stored file, and the end of the last piece."""


def split(url: str, order: Order, buckets: int, folder: str) -> Member:
    """Split a file into pieces, one for each bucket, and store them in a folder of the dataset.

    Raises
    ------
    CaptureError
        The file cannot be read at all.
    FilterError
        The filter has an error, or does not fit a link type in the file.
    """
    filters = compile_filter(order.filter, _core.LINK_TYPES) if order.filter else None
    with local([url]) as (path,), named_by_url([path], [url]):
        core = _core.Pieces(path, filters, buckets)
        while core.advance(core_pass.STEP):
            pass
        about = dataclasses.asdict(core_pass.fingerprint(path, str)) | {"name": url}
    pieces = core.take()
    ends = (0, *accumulate(map(len, pieces)))
    return Member(about, core.counts(), Dataset(order.out).store_bytes(folder, pieces), ends)


@dataclass(frozen=True)
class Bucket:
    """All frames between some hosts, and facts of the whole set."""

    out: str
    """The dataset that has the pieces."""
    first_ns: int | None
    """Time of the set's earliest frame; None without one."""
    recordings: tuple[tuple[int, int], ...]
    """Begin of each recording of the set, and resolution of its clock, in nanoseconds."""
    link_types: tuple[tuple[int, int], ...]
    """Frames of the set by link type."""
    before: tuple[tuple[int, int], ...]
    """For each piece, the number of frames in the files before its own, and the time of the last frame there."""
    places: tuple[tuple[str, int, int], ...]
    """For each piece, the path of the stored file, and the offsets in it where the piece begins and ends."""

    def capture(self, scales: Sequence[InferredScale] = ()) -> Capture:
        """Return the analysis of the bucket. Streams are numbered within the bucket, frames within the set."""
        return Capture(Contents(self.read(scales), [], scales=scales))

    def read(self, scales: Sequence[InferredScale] = ()) -> _core.Analysis:
        """Return a finished pass of the core over the bucket."""
        dataset = Dataset(self.out)
        core = _core.Analysis.of_pieces(
            [cast("BinaryIO", _Piece(dataset, *place)) for place in self.places],
            (self.first_ns, self.recordings, self.link_types, self.before),
            {(one.first_frame, one.direction): one.shift for one in scales},
        )
        while core.advance(core_pass.STEP):
            pass
        return core


class _Piece:
    """A binary file object for a piece, which is loaded at the first read and freed at its end."""

    def __init__(self, dataset: Dataset, path: str, start: int, end: int) -> None:
        self.name: Final = path
        self._dataset: Final = dataset
        self._span: Final = (start, end)
        self._bytes: BinaryIO | None = None

    def read(self, size: int) -> bytes:
        if self._bytes is None:
            self._bytes = io.BytesIO(self._dataset.stored(self.name, *self._span))
        found = self._bytes.read(size)
        if not found:
            self._bytes = io.BytesIO()
        return found


def combine(members: Sequence[Member], out: str) -> tuple[list[Member], list[Bucket]]:
    """Return the files in the order in which `bdpcap.analyze` reads them, and the buckets that are not empty.

    There is at least one bucket, which may be empty.
    """
    ordered = sorted(members, key=lambda one: int(one.counts["place"]))
    counts = [one.counts for one in ordered]
    link_types: Counter[int] = Counter()
    before, frames, latest = [], 0, None
    for one in counts:
        before.append((frames, _core.NULL if latest is None else latest))
        frames += one["frames"]
        latest = latest if one["closed_ns"] is None else one["closed_ns"]
        link_types.update(dict(one["link_types"]))
    first_ns = min((one["first_ns"] for one in counts if one["first_ns"] is not None), default=None)
    recordings = tuple(_core.recordings([_times(one) for one in counts if one["first_ns"] is not None]))
    buckets = []
    for spans in zip(*(pairwise(one.ends) for one in ordered), strict=True):
        filled = [place for place, (start, end) in enumerate(spans) if end > start]
        places = tuple((ordered[place].stored, *spans[place]) for place in filled)
        before_each = tuple(before[place] for place in filled)
        buckets.append(Bucket(out, first_ns, recordings, tuple(link_types.items()), before_each, places))
    return ordered, [one for one in buckets if one.places] or buckets[:1]


def _times(counts: Mapping[str, Any]) -> Any:
    """Return the times of a file as `bdpcap._core.recordings` takes them."""
    ends = tuple(counts[name] for name in ("opened_ns", "closed_ns", "first_ns", "last_ns"))
    return ends, counts["longest_gap_ns"], counts["steps"], counts["unit_ns"]


@dataclass(frozen=True)
class Followed:
    """Facts of a bucket that are needed with those of all buckets before its flows can be classified."""

    first_frames: NDArray[np.uint64]
    """First frame of each stream."""
    to_infer: list[dict[str, Any]]
    """Directions whose window scale has to be inferred, from `bdpcap.read.scale.to_infer`."""
    negotiated: dict[str, Counter[int]]
    """Scales that each host announced in handshakes, from `bdpcap.read.scale.negotiated`."""


def follow(bucket: Bucket) -> Followed:
    """Follow the connections of a bucket; return the facts that are needed from every bucket."""
    core = bucket.read()

    def directions(names: Sequence[str]) -> Iterator[dict[str, Any]]:
        return core_pass.directions(core, None, names)

    return Followed(core.first_frames(), scale.to_infer(directions), dict(scale.negotiated(directions)))


@dataclass(frozen=True)
class Classified:
    """A bucket's part of the tables, and the columns that rank its flows."""

    flows: str
    """Path of the stored table of flows."""
    rtts: str
    """Path of the stored table of rounds."""
    standing: pd.DataFrame
    """Columns that rank the flows, from `bdpcap.report.ranking`; streams are numbered within the bucket."""


def classify(
    bucket: Bucket, scales: Sequence[InferredScale], numbers: NDArray[np.int64], folder: str, name: str
) -> Classified:
    """Classify the flows of a bucket of the set `name`, and store its part of the tables.

    `numbers` maps the numbers of streams within the bucket to those within the set.
    """
    capture, dataset = bucket.capture(scales), Dataset(bucket.out)

    def numbered(pieces: Iterable[Columns]) -> Iterator[Columns]:
        for piece in pieces:
            streams, absent = piece["stream"]
            renumbered: Columns = {"stream": (numbers[streams], cast("NDArray[np.bool_]", absent))}
            yield piece | renumbered

    verdicts = capture._contents.verdicts
    flows = dataset.store(folder, name, numbered(verdicts.flow_cells()))
    rtts = dataset.store(folder, name, numbered(verdicts.rtt_cells()))
    return Classified(flows, rtts, ranking.standing(capture))


def explain(
    bucket: Bucket, scales: Sequence[InferredScale], ranked: Sequence[tuple[int, int, str]]
) -> pd.DataFrame:
    """Return the findings of some flows of a bucket; `ranked` has the rank, stream in the bucket and sender of each."""
    capture = bucket.capture(scales)
    return findings.table((rank, capture.flow(stream, sender)) for rank, stream, sender in ranked)
