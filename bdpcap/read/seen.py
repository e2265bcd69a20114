"""Facts of a whole capture that its flaws are read from: missing files and data, copies, times, and flows with a flaw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bdpcap.read import rotation
from bdpcap.read.rotation import Seam
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bdpcap.read.facts import CaptureInfo

__all__ = ["GRAVE", "ReceivedTwice", "Seen"]

GRAVE: Final = 0.01
"""Share of a capture that is missing or out of order from which on all its verdicts are doubtful.

Below this share only the affected rounds are doubtful: their evidence names the flaw, and their confidence is lower.
"""


@dataclass(frozen=True)
class ReceivedTwice:
    """Who received packets twice that were sent once."""

    hosts: Sequence[str] = ()
    """The addresses that reported them, in the order of their streams."""
    by_router: bool = False
    """Whether the two packets of most pairs differ in their time to live: a router forwarded one of them once more."""


@dataclass(frozen=True)
class Seen:
    """Facts that conditions and sentences of flaws read."""

    info: CaptureInfo
    flows: Mapping[str, int]
    """Number of flows by code of those flaws that flows have."""
    affected_bytes: Mapping[str, int]
    """Payload of the flows with such a flaw, by code."""
    payload_bytes: int
    """Payload of all flows, with the bytes that are missing from the capture."""
    halves: Sequence[tuple[int, int]] = ()
    """Pairs of streams that are the two ways of one connection."""
    twins: Sequence[tuple[int, int]] = ()
    """Pairs of streams that are one connection, captured on both sides of a NAT."""
    received_twice: ReceivedTwice = ReceivedTwice()

    def is_much(self, some_bytes: int) -> bool:
        """Return whether bytes are `GRAVE` of the payload or more."""
        return some_bytes >= GRAVE * max(1, self.payload_bytes)

    def matters(self, code: str) -> bool:
        """Return whether flows with a flaw carried much of the payload."""
        return self.is_much(self.affected_bytes.get(code, 0))

    @property
    def drops(self) -> int:
        """Packets dropped while capturing; 0 where the file does not report them."""
        return self.info.capture_drops or 0

    @property
    def fragments(self) -> int:
        """Fragments of IP packets, which are not put together: their content is not decoded."""
        kinds = ("IPv4 fragment", "IPv6 fragment")
        return sum(self.info.undecoded.get(kind, 0) for kind in kinds)

    @property
    def absent_data(self) -> str:
        """The reasons why acknowledged data may be missing, as a predicate."""
        if self.fragments:
            fragments = units.number(self.fragments, "IP fragment")
            return f"may be in {fragments}, which bdpcap does not put together"
        return "went another way, were filtered out, or have other addresses (NAT)"

    @property
    def missing_data(self) -> str:
        """The reasons why some acknowledged data may be missing, in a few words."""
        return (
            f"filtered, dropped, or in {units.number(self.fragments, 'IP fragment')}"
            if self.fragments
            else "filtered or dropped"
        )

    @property
    def captured_again(self) -> int:
        """Copies of packets, but for those that the Wi-Fi link sent again."""
        return max(0, self.info.copies - self.info.wifi_retries)

    @property
    def span_ns(self) -> int:
        """Time from the first to the last frame; 0 without frames."""
        return (self.info.last_ns or 0) - (self.info.first_ns or 0)

    @property
    def stopped_ns(self) -> int:
        """The longest time without a frame, if it is longer than all the other time and data are missing; else 0."""
        longest = max((one["longest_gap_ns"] for one in self.info.times_of_files), default=0)
        return longest if self.info.missed_bytes and longest > self.span_ns - longest else 0

    @property
    def bears_one_time(self) -> bool:
        """Whether all of several TCP segments bear the same valid time."""
        return self.info.segments > 1 and not self.span_ns and not self.info.without_time

    @cached_property
    def absent(self) -> list[Seam]:
        """Places where files are missing by the numbers in their names."""
        times = self.info.times_of_files
        return [
            Seam(after, one["missing_before"]) for after, one in enumerate(times) if one["missing_before"]
        ]

    @cached_property
    def gaps(self) -> list[Seam]:
        """Other places where no frame came for long."""
        numbered = {seam.after for seam in self.absent}
        return [seam for seam in rotation.gaps(self.info.times_of_files) if seam.after not in numbered]

    @cached_property
    def overlaps(self) -> list[Seam]:
        """Places where a file begins before the one before it ends."""
        return rotation.overlaps(self.info.times_of_files)

    def names(self, seam: Seam) -> tuple[str, str]:
        """Return the names of the files around a place."""
        before, after = self.info.files[seam.after - 1], self.info.files[seam.after]
        return PurePath(before).name, PurePath(after).name
