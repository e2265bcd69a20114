"""What the directions of all streams add up to, in one look at each: of many streams a look takes time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap.read import quality, scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NEEDED", "Sums"]

NEEDED: Final = (*scale.CHECKED, "acked_bytes", "copies", "merged_ranges", "multipath", "rounds_left_out")
"""Columns of `bdpcap._core.Analysis.directions` that are looked at."""


@dataclass(frozen=True)
class Sums:
    """Most of these are fields of `bdpcap.CaptureInfo`."""

    copies: int
    unacknowledged: int
    missed_bytes: int
    data_only: int
    acknowledgments_only: int
    multipath: int
    rounds_left_out: int
    """Rounds for which there was no room."""
    merged_ranges: int
    """Ranges that became one for want of room."""
    wanting_scale: int
    """Directions the scale of whose windows has to be inferred."""

    @classmethod
    def of(cls, pieces: Iterable[Mapping[str, Any]]) -> Sums:
        """Add up all streams; each piece has both directions of some, two rows a stream."""
        sums = dict.fromkeys(cls.__dataclass_fields__, 0)
        for piece in pieces:
            for name, count in _counted(piece).items():
                sums[name] += count
        return cls(**sums)


def _counted(directions: Mapping[str, Any]) -> dict[str, int]:
    carried = directions["carried"] > 0
    # As floats: what hostile captures claim has no bound.
    added = {
        name: int(directions[name].sum(dtype=float))
        for name in ("copies", "rounds_left_out", "merged_ranges")
    }
    return {
        **added,
        "unacknowledged": int(quality.acknowledgments_missing(directions).sum()),
        "missed_bytes": int(directions["missed_bytes"].sum(where=carried, dtype=float)),
        "data_only": int((carried & (directions["acks"] == 0)).sum()),
        # A SYN and a FIN are acknowledged as a byte each.
        "acknowledgments_only": int((~carried & (directions["acked_bytes"] > 2)).sum()),
        "multipath": int(directions["multipath"][::2].sum()),
        "wanting_scale": int(scale.is_wanting(directions).sum()),
    }
