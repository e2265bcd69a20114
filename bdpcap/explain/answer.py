"""Input and output of the solver: the observed window and known facts, and the settings that explain the window."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import FIELD_MAX, RMEM_MAX, WELL_KNOWN, Advertised, Setting
from bdpcap.explain.likelihood import is_chosen

if TYPE_CHECKING:
    from bdpcap.explain.kernels import Kernel

__all__ = ["ENDLESS", "Answer", "Exactness", "Facts", "Observed", "Solution"]


ENDLESS: Final = 1 << 30
"""Upper end of a range of values that has none: any larger value gives the same window."""


class Exactness(StrEnum):
    """How well a setting explains a number."""

    EXACT = "exact"
    """A setting that is known or that someone would choose gives the number to the byte.

    Fewer than 1 in 1,000 windows match a setting as likely, unless it is known.
    """
    ROUNDED = "within rounding"
    """Such a setting gives the number to the byte, or after rounding to the window scale or the MSS.

    Fewer than 1 in 20 windows match a setting as likely, unless it is known.
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
    unscaled: bool = False
    """Whether the handshake declined window scaling. A scale of 0 may also be agreed upon."""
    system: str = ""
    """Receiver's system, as ``receiver_system`` of the ``flows`` table has it; empty if unknown."""
    bare: bool = False
    """Whether the receiver agreed to neither a window scale nor timestamps."""
    limited: bool = True
    """Whether the window was the limit. If not, autotuning grew it only as far as the flow needed."""
    rose_to: int | None = None
    """Largest window in bytes, if the plateau ended by a rise to it; None if it lasted."""
    stood_ns: int = 0
    """Active time with the plateau, in ns."""

    @property
    def agreed_scale(self) -> int | None:
        """Window scale that the handshake agreed on; None if it is unknown or was declined."""
        return None if self.unscaled else self.scale

    @property
    def field_full(self) -> bool:
        """Whether the window is the largest that its 16-bit field can express at its scale, or in whole segments."""
        segments = FIELD_MAX // self.mss * self.mss
        return self.window == FIELD_MAX << (self.scale or 0) or (self.unscaled and self.window == segments)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts from outside the capture; None if unknown."""

    rcvbuf: int | None = None
    sndbuf: int | None = None
    kernel: Kernel | None = None
    adv_win_scale: int | None = None
    rmem_max: int | None = None
    """net.core.rmem_max of the receiver in bytes."""
    rmem: tuple[int, int, int] | None = None
    """net.ipv4.tcp_rmem of the receiver in bytes."""
    wmem: tuple[int, int, int] | None = None
    """net.ipv4.tcp_wmem of the sender in bytes."""

    @property
    def buffers(self) -> list[int]:
        """Values that SO_RCVBUF may have on Linux: the request, cut to net.core.rmem_max.

        Where that is unknown, the request and, if smaller, the default of net.core.rmem_max.
        """
        if self.rcvbuf is None:
            return []
        if self.rmem_max is not None:
            return [min(self.rcvbuf, self.rmem_max)]
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
    given
        Whether the setting is known from outside the capture.
    needs
        Required sysctl setting that is not the kernel's default; empty if there is none.
    chance
        Chance that a setting as likely explains a window that nobody chose.
    likelihood
        Probability of this setting and window among all receivers, before answers are compared.
    credible
        Whether the answer is among the likeliest, which together explain nearly all such windows.
    """

    setting: Setting
    low: int
    high: int
    advertised: Advertised
    arithmetic: str
    exactness: Exactness
    against: str = ""
    fitted: bool = False
    given: bool = False
    needs: str = ""
    chance: float = 1.0
    likelihood: float = 0.0
    credible: bool = False

    @property
    def chosen(self) -> bool:
        """Whether the setting is known, or a person or a kernel would choose it; False for fitted answers."""
        return not self.fitted and (self.given or is_chosen(self.setting.knob, self.setting.value))

    @property
    def agreement(self) -> str:
        """A sentence on an exact answer, with a space before it; empty for any other."""
        return " Sum and window agree to the byte." if self.exactness is Exactness.EXACT else ""

    @property
    def telling(self) -> bool:
        """Whether the answer is evidence for its setting, rather than one of many numbers that fit."""
        return not self.against and (self.given or self.credible)

    @property
    def stack(self) -> str:
        """The stack of the setting, or the sysctl that makes another Linux behave so."""
        return self.needs or self.setting.era.name

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
    covered
        Probability that one of the answers that `best` has is true.
    agrees
        Whether the known SO_RCVBUF leads to the window in some way; True if none is known.
    """

    observed: Observed
    answers: list[Answer]
    exactness: Exactness
    field_full: bool
    facts: Facts = field(default_factory=Facts)
    covered: float = 0.0
    agrees: bool = True

    @property
    def best(self) -> list[Answer]:
        """Answers to report: the credible ones, unless the window is as likely an accident."""
        if self.exactness is Exactness.NONE:
            return []
        return [one for one in self.answers if one.telling]
