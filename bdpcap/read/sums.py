"""Sums over the directions of all streams, in a single pass because a pass over many streams takes time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap.read import quality, scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NEEDED", "Sums"]

NEEDED: Final = (
    *scale.CHECKED,
    "acked_bytes",
    "copies",
    "delivered_twice",
    "disowned",
    "merged_ranges",
    "multipath",
    "payload_copies",
    "rounds_left_out",
)
"""Columns of `bdpcap._core.Analysis.directions` that `Sums.of` reads."""


@dataclass(frozen=True)
class Sums:
    """Sums over the directions of all streams. Fields without a description are those of `bdpcap.CaptureInfo`."""

    copies: int
    payload_copies: int
    """Those of `copies` with payload, which a receiver can report."""
    delivered_twice: int
    """Packets that their receivers reported as received twice."""
    unacknowledged: int
    missed_bytes: int
    data_only: int
    acknowledgments_only: int
    multipath: int
    rounds_left_out: int
    """Rounds left out beyond the limit on rows."""
    merged_ranges: int
    """Ranges that were merged beyond the limit on ranges."""
    scales_to_infer: int
    """Directions whose window scale has to be inferred."""

    @property
    def by_network(self) -> bool:
        """Whether the network made the copies: of those with payload, most reached a receiver."""
        return self.delivered_twice > self.payload_copies

    @classmethod
    def of(cls, pieces: Iterable[Mapping[str, Any]]) -> Sums:
        """Return the sums over all pieces; a piece has both directions of some streams, two rows a stream."""
        sums = dict.fromkeys(cls.__dataclass_fields__, 0)
        for piece in pieces:
            for name, count in _counted(piece).items():
                sums[name] += count
        return cls(**sums)


def _counted(directions: Mapping[str, Any]) -> dict[str, int]:
    carried = directions["carried"] > 0
    # Summed as floats, since sums of values from hostile captures may overflow integers.
    added = {
        name: int(directions[name].sum(dtype=float))
        for name in ("copies", "payload_copies", "delivered_twice", "rounds_left_out", "merged_ranges")
    }
    return {
        **added,
        "unacknowledged": int(quality.acknowledgments_missing(directions).sum()),
        "missed_bytes": int(directions["unseen_bytes"].sum(where=carried, dtype=float)),
        "data_only": int(quality.data_only(directions).sum()),
        "acknowledgments_only": int(quality.acknowledgments_only(directions).sum()),
        "multipath": int(directions["multipath"][::2].sum()),
        "scales_to_infer": int(scale.needs_inference(directions).sum()),
    }
