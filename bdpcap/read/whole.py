"""What a whole capture shows of a stream and its packets alone do not: an excerpt has it as a comment.

The comment is data of unknown origin: it is bounded, and what does not fit its form is ignored. What the packets of the
excerpt contradict does not hold. A round-trip time above theirs, a scale beyond their bounds, or a clock coarser than
their times has no effect. Nor has cross traffic of another number of rounds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Pair", "PerRound", "Whole", "read"]

MARK: Final = "bdpcap excerpt: "
"""Begin of the comment; the rest is a JSON object."""
LONGEST: Final = 65_535
"""Characters of the longest comment: an option of pcapng has a length of 16 bits, and all characters are ASCII."""
LARGEST: Final = 1 << 62
"""Largest number that is read, as the core's latest time in nanoseconds."""

BOTH: Final = 2
"""Directions of a stream."""
PAIRS: Final = ("rtt_ns", "sender_side_ns", "scales")
"""Fields with a number for each direction."""

Pair = tuple[int | None, int | None]
"""A number for the client's data and one for the server's; None where unknown."""
PerRound = tuple[tuple[int, ...], tuple[int, ...]]
"""A number for each round of the client's data, and for each of the server's."""


@dataclass(frozen=True)
class Whole:
    """Facts of a whole capture about one of its streams."""

    tick_ns: int | None
    """Resolution of the clock in nanoseconds."""
    end_ns: int | None
    """End of the last round of any flow, in nanoseconds since the epoch."""
    dropped: int | None
    """Packets dropped while capturing."""
    rtt_ns: Pair
    """Least round-trip time of all flows on the path."""
    sender_side_ns: Pair
    """Least round trip from the tap to the sender of all flows on the path."""
    scales: Pair
    """Window scale of the receiver, where it was inferred."""
    cross_traffic_bytes: PerRound = ((), ())
    """Bytes that other flows of the path delivered during each round; empty where there were none."""

    def comment(self) -> str:
        """Return the facts as the comment of an excerpt; the cross traffic of too many rounds is left out."""
        written = MARK + json.dumps(asdict(self), separators=(",", ":"))
        if len(written) <= LONGEST:
            return written
        return replace(self, cross_traffic_bytes=((), ())).comment()

    def shown(self) -> list[str]:
        """Return the facts in words, for readers of the excerpt."""
        pairs = (
            ("least RTT of the path", self.rtt_ns, units.duration),
            ("least round trip to the sender", self.sender_side_ns, units.duration),
            ("inferred window scale", self.scales, str),
        )
        found = [
            f"{name} for the {end}'s data: {show(value)}"
            for name, pair, show in pairs
            for end, value in zip(("client", "server"), pair, strict=True)
            if value is not None
        ]
        if any(map(any, self.cross_traffic_bytes)):
            found.append("cross traffic of each round")
        if self.dropped is not None:
            found.append(f"dropped while capturing: {units.number(self.dropped, 'packet')}")
        return found


def read(comments: Sequence[str]) -> Whole | None:
    """Return the facts in the comments of a capture; None without a comment of that form, or with several."""
    marked = [comment for comment in comments if comment.startswith(MARK)]
    if len(marked) != 1 or len(marked[0]) > LONGEST:
        return None
    try:
        stated = json.loads(marked[0].removeprefix(MARK))
    except (ValueError, RecursionError):
        return None
    if not isinstance(stated, dict) or set(stated) != {field.name for field in fields(Whole)}:
        return None
    values: dict[str, Any] = {name: _tuples(value) for name, value in stated.items()}
    return Whole(**values) if all(_fits(*one) for one in values.items()) else None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _fits(name: str, value: Any) -> bool:
    if name == "cross_traffic_bytes":
        both = (
            isinstance(value, tuple) and len(value) == BOTH and all(isinstance(one, tuple) for one in value)
        )
        return both and all(one is not None and _is_number(one) for rounds in value for one in rounds)
    if name in PAIRS:
        return isinstance(value, tuple) and len(value) == BOTH and all(map(_is_number, value))
    return _is_number(value)


def _is_number(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value <= LARGEST)
