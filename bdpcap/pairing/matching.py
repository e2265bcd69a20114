"""Matching of streams between two captures by sequence numbers, since NAT may change addresses and ports.

Initial sequence numbers are random in 32 bits (RFC 9293 section 3.4.1), so two streams that share both are one
connection. Where a firewall rewrites them, the timestamps of both SYNs must be equal. Without SYNs, the absolute
sequence numbers of both directions must overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.words.endpoints import port

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from bdpcap.pairing.headers import Direction

    Sides = Mapping[int, "Direction"]

__all__ = ["Match", "matches"]

WRAP: Final = 2**32


@dataclass(frozen=True, slots=True)
class Match:
    """One connection in two captures."""

    sender_stream: int
    receiver_stream: int
    by: str
    """Evidence of the match: initial sequence numbers, timestamps, or sequence numbers."""
    flipped: bool
    """Whether the captures disagree on which end is the client, as they may without a SYN."""
    shifts: tuple[int, int]
    """Offset from the receiver's relative sequence numbers to the sender's, by side in the sender's capture."""

    def side(self, side: int) -> int:
        """Return the side in the receiver's capture for a side in the sender's capture."""
        return side ^ self.flipped

    def reversed(self) -> Match:
        """Return the match with the two captures exchanged."""
        shifts = (-self.shifts[self.side(0)], -self.shifts[self.side(1)])
        return Match(self.receiver_stream, self.sender_stream, self.by, self.flipped, shifts)


def matches(
    sender: Mapping[tuple[int, int], Direction], receiver: Mapping[tuple[int, int], Direction]
) -> list[Match]:
    """Return the connections in both captures, ordered by the sender's stream; each stream is matched at most once."""
    ours, theirs = _by_stream(sender), _by_stream(receiver)
    found: list[Match] = []
    for by, key in (("initial sequence numbers", _isns), ("timestamps", _timestamps)):
        index: dict[Hashable, list[int]] = {}
        for stream, sides in theirs.items():
            if (own := key(sides)) is not None:
                index.setdefault(own, []).append(stream)
        for stream, sides in list(ours.items()):
            candidates = index.get(key(sides) or 0)
            if candidates:
                other = candidates.pop(0)
                found.append(Match(stream, other, by, flipped=False, shifts=(0, 0)))
                del ours[stream], theirs[other]
    for stream, sides in list(ours.items()):
        for other, their_sides in theirs.items():
            match = next(
                (
                    Match(stream, other, "sequence numbers", flipped, shifts)
                    for flipped in (False, True)
                    if (shifts := _overlap(sides, their_sides, flipped=flipped)) is not None
                ),
                None,
            )
            if match is not None:
                found.append(match)
                del theirs[other]
                break
    return sorted(found, key=lambda match: match.sender_stream)


def _by_stream(directions: Mapping[tuple[int, int], Direction]) -> dict[int, dict[int, Direction]]:
    streams: dict[int, dict[int, Direction]] = {}
    for (stream, side), direction in directions.items():
        streams.setdefault(stream, {})[side] = direction
    return streams


def _both(sides: Sides, read: Callable[[Direction], int | None]) -> Hashable:
    """Return a number from both SYNs as a pair; None unless both have it."""
    numbers = tuple(read(sides[side]) for side in (0, 1) if side in sides and sides[side].header.is_syn)
    return numbers if len(numbers) == 2 and None not in numbers else None


def _isns(sides: Sides) -> Hashable:
    return _both(sides, lambda direction: direction.header.sequence)


def _timestamps(sides: Sides) -> Hashable:
    return _both(sides, lambda direction: direction.header.timestamp)


def _overlap(ours: Sides, theirs: Sides, *, flipped: bool) -> tuple[int, int] | None:
    """Return the shifts if the numbers overlap in every direction that both captures have, else None.

    One direction alone could overlap by chance, so one end must also have the same port: address translation changes
    the client's.
    """
    shifts = [0, 0]
    known = 0
    for side in (0, 1):
        own, their = ours.get(side), theirs.get(side ^ flipped)
        if own is None or their is None:
            continue
        if own.header.is_syn and their.header.is_syn and own.base != their.base:
            return None
        shift = (their.base - own.base + WRAP // 2) % WRAP - WRAP // 2
        if min(own.end, their.end + shift) < max(own.first, their.first + shift):
            return None
        shifts[side] = shift
        known += 1
    same_port = any(
        port(ours[side].sender) == port(theirs[side ^ flipped].sender)
        for side in (0, 1)
        if side in ours and side ^ flipped in theirs
    )
    return (shifts[0], shifts[1]) if known == 2 or (known == 1 and same_port) else None
