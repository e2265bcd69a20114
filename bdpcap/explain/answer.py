"""What is asked of the solver and what it answers: a window that was seen, facts, settings that explain it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import FIELD_MAX, RMEM_MAX, WELL_KNOWN, Advertised, Setting
from bdpcap.explain.chance import is_chosen

if TYPE_CHECKING:
    from bdpcap.explain.kernels import Kernel

__all__ = ["Answer", "Exactness", "Facts", "Observed", "Solution"]

_COMMON: Final = 0.5
"""A window that nobody chose matches as often: the match says nothing."""


class Exactness(StrEnum):
    """How well a number is explained."""

    EXACT = "exact"
    """To the byte, by a setting that someone would choose; less than 1 in 100 windows match one as round."""
    ROUNDED = "within rounding"
    """By such a setting, after rounding to the window scale or the MSS; or 1 in 5 windows match at most."""
    CONSISTENT = "consistent"
    """Possible; nothing speaks for it alone."""
    NONE = "no match"


@dataclass(frozen=True, slots=True)
class Observed:
    """What a capture shows; None is what it does not."""

    window: int
    """The plateau, scaled."""
    mss: int
    scale: int | None = None
    """0 where scaling is not in force."""
    syn: int | None = None
    """Window of the receiver's SYN-ACK, which is never scaled."""
    doubt: str = ""
    """Why the window itself is not certain; empty where it is. Nothing is exact then."""

    @property
    def field_full(self) -> bool:
        """Whether the window is all that 16 bits can say at its scale."""
        return self.window == FIELD_MAX << (self.scale or 0)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known from outside the capture."""

    rcvbuf: int | None = None
    sndbuf: int | None = None
    kernel: Kernel | None = None
    adv_win_scale: int | None = None

    @property
    def of_receiver(self) -> bool:
        """Whether anything is known of the receiver."""
        return (self.rcvbuf, self.kernel, self.adv_win_scale) != (None, None, None)

    @property
    def buffers(self) -> list[int]:
        """What SO_RCVBUF may be: the request, or what net.core.rmem_max leaves of it."""
        if self.rcvbuf is None:
            return []
        return [self.rcvbuf, *([RMEM_MAX] if self.rcvbuf > RMEM_MAX else [])]

    def request(self, value: int) -> str:
        """Say that less than what was asked for is in force; nothing where all of it is."""
        if self.rcvbuf is None or value == self.rcvbuf:
            return ""
        return f"{self.rcvbuf:,}, cut by net.core.rmem_max to {value:,}: "


@dataclass(frozen=True, slots=True)
class Answer:
    """
    A setting that explains the window.

    Attributes
    ----------
    setting
        The likeliest of `low` to `high`, all of which give the window.
    advertised
        What it leads to.
    arithmetic
        In one line.
    against
        What the capture says against it; empty where nothing does.
    fitted
        Whether the share is a measured one: then any of `low` to `high` may be the setting.
    pinned
        Of a fitted one: whether the handshake, or the share of full packets, leaves less than all that any share gives.
    given
        Whether the setting is known from outside the capture.
    needs
        The sysctl it takes that the kernel does not have by default; empty where none.
    chance
        How often a window that nobody chose would be explained as well.
    """

    setting: Setting
    low: int
    high: int
    advertised: Advertised
    arithmetic: str
    exactness: Exactness
    against: str = ""
    fitted: bool = False
    pinned: bool = False
    given: bool = False
    needs: str = ""
    chance: float = 1.0

    @property
    def chosen(self) -> bool:
        """Whether the setting is known, or one that a person or a kernel would choose, and nothing was fitted to it."""
        return not self.fitted and (self.given or is_chosen(self.setting.knob, self.setting.value))

    @property
    def telling(self) -> bool:
        """Whether it says more than that some number fits."""
        if self.against:
            return False
        if self.fitted:
            return self.pinned or self.given
        return self.given or (self.chosen and self.chance < _COMMON)

    @property
    def well_known(self) -> str:
        """Why nobody had to choose it; empty where somebody had."""
        return WELL_KNOWN.get((self.setting.knob, self.setting.value), "")


@dataclass(frozen=True, slots=True)
class Solution:
    """
    All answers, best first.

    Attributes
    ----------
    exactness
        Of the best answer; ``no match`` where no setting that anyone would choose gives the window.
    field_full
        Whether the window is all that 16 bits can say at this scale: another limit than the buffer.
    facts
        What was known besides.
    """

    observed: Observed
    answers: list[Answer]
    exactness: Exactness
    field_full: bool
    facts: Facts = field(default_factory=Facts)

    @property
    def best(self) -> list[Answer]:
        """The answers that are told. One to the byte leaves another possible that fewer round numbers speak for."""
        if self.exactness is Exactness.NONE:
            return []
        agree = (Exactness.EXACT, Exactness.ROUNDED)
        good = agree if self.exactness in agree else (self.exactness,)
        return [one for one in self.answers if one.exactness in good and one.telling]
