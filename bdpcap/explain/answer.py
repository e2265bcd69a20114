"""Input and output of the solver: the observed window and known facts, and the settings that explain the window."""

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
"""Chance of a random match from which an answer is no evidence for its setting."""


class Exactness(StrEnum):
    """How well a setting explains a number."""

    EXACT = "exact"
    """A setting that is known or that someone would choose gives the number to the byte.

    Fewer than 1 in 100 windows match a setting as round, unless it is known.
    """
    ROUNDED = "within rounding"
    """Such a setting gives the number to the byte, or after rounding to the window scale or the MSS.

    Fewer than 1 in 5 windows match a setting as round, unless it is known.
    """
    CONSISTENT = "consistent"
    """The setting is possible, but no evidence favours it."""
    NONE = "no match"
    """No setting that someone would choose gives the number."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Window and handshake as a capture shows them; None for values that it lacks."""

    window: int
    """Plateau of the advertised window in bytes, window scale applied."""
    mss: int
    scale: int | None = None
    """Window scale; 0 where window scaling is not in force."""
    syn: int | None = None
    """Window of the receiver's SYN-ACK in bytes; it is never scaled."""
    doubt: str = ""
    """Reason why the window is uncertain; empty if it is certain. Answers on an uncertain window are never exact."""

    @property
    def field_full(self) -> bool:
        """Whether the window is the largest that its 16-bit field can express at its scale."""
        return self.window == FIELD_MAX << (self.scale or 0)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts from outside the capture; None if unknown."""

    rcvbuf: int | None = None
    sndbuf: int | None = None
    kernel: Kernel | None = None
    adv_win_scale: int | None = None

    @property
    def of_receiver(self) -> bool:
        """Whether any fact about the receiver is known."""
        return (self.rcvbuf, self.kernel, self.adv_win_scale) != (None, None, None)

    @property
    def buffers(self) -> list[int]:
        """Values that SO_RCVBUF may have: the request and, if smaller, the default of net.core.rmem_max."""
        if self.rcvbuf is None:
            return []
        return [self.rcvbuf, *([RMEM_MAX] if self.rcvbuf > RMEM_MAX else [])]

    def request(self, value: int) -> str:
        """Return a note that net.core.rmem_max cut the requested buffer to `value`; empty if it did not."""
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
        Likeliest setting; every value from `low` to `high` gives the window.
    advertised
        Window and handshake fields that the setting leads to.
    arithmetic
        Calculation of the window from the setting, in one line.
    against
        Contradiction between the capture and the setting; empty if there is none.
    fitted
        Whether the kernel measures the share of the buffer; then any value from `low` to `high` may be the setting.
    pinned
        For a fitted answer: whether the handshake, or the share of full packets, narrows the range of values.
    given
        Whether the setting is known from outside the capture.
    needs
        Required sysctl setting that is not the kernel's default; empty if there is none.
    chance
        Chance that a setting as round explains a window that nobody chose.
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
        """Whether the setting is known, or a person or a kernel would choose it; False for fitted answers."""
        return not self.fitted and (self.given or is_chosen(self.setting.knob, self.setting.value))

    @property
    def telling(self) -> bool:
        """Whether the answer is evidence for its setting, rather than one of many numbers that fit."""
        if self.against:
            return False
        if self.fitted:
            return self.pinned or self.given
        return self.given or (self.chosen and self.chance < _COMMON)

    @property
    def well_known(self) -> str:
        """Origin of the value if it is a default that nobody had to choose; else empty."""
        return WELL_KNOWN.get((self.setting.knob, self.setting.value), "")


@dataclass(frozen=True, slots=True)
class Solution:
    """
    Answers of the solver, best first.

    Attributes
    ----------
    exactness
        Exactness of the best answer; ``no match`` where no setting that anyone would choose gives the window.
    field_full
        Whether the window is the largest that 16 bits express at this scale: then the field limits it, not the buffer.
    facts
        Facts from outside the capture that the solver was given.
    """

    observed: Observed
    answers: list[Answer]
    exactness: Exactness
    field_full: bool
    facts: Facts = field(default_factory=Facts)

    @property
    def best(self) -> list[Answer]:
        """Answers to report: those of the best exactness. An exact answer does not rule out answers within rounding."""
        if self.exactness is Exactness.NONE:
            return []
        agree = (Exactness.EXACT, Exactness.ROUNDED)
        good = agree if self.exactness in agree else (self.exactness,)
        return [one for one in self.answers if one.exactness in good and one.telling]
