"""The ways in which each stack may come to a window: the knobs, and the parts of the share at which growth stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import FIELD_MAX, FULL, STOPS, Knob
from bdpcap.explain.eras import ANY_VERSION, OLD_SHIFT
from bdpcap.explain.kernels import eras_of
from bdpcap.explain.likelihood import of_path

if TYPE_CHECKING:
    from fractions import Fraction

    from bdpcap.explain.answer import Facts, Observed
    from bdpcap.explain.eras import Era

__all__ = ["Path", "eras_left", "paths"]

_SYSCTL_SET: Final = 0.02
"""How often hosts of a known kernel have a tcp_adv_win_scale other than its default."""
_OWN_SPACE: Final = (2, 6, 14)
"""Last version in which growth stopped at parts of the buffer itself; at parts of tcp_rmem[2] until 6.5 since."""

_UNSET: Final = {"solaris": Knob.HIWAT, "windows": Knob.START}
"""Knob of a program that sets no SO_RCVBUF, by era of other systems than Linux."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way to a window; `often` is its probability among all receivers, before the value of the knob is known."""

    era: Era
    knob: Knob
    stop: Fraction
    often: float
    usual: bool
    """Whether the kernel has this arithmetic by default."""


def eras_left(observed: Observed, facts: Facts) -> list[tuple[Era, bool]]:
    """Return the eras that the facts and the receiver's system allow, each with whether it is the default there."""
    eras = eras_of(facts.kernel, facts.adv_win_scale)
    if facts.kernel is not None or facts.adv_win_scale is not None:
        return eras
    return [(era, usual) for era, usual in eras if observed.system in ("", *era.systems)]


def paths(observed: Observed, facts: Facts) -> list[Path]:
    """Return the ways in which the receiver may come to its window."""
    eras = eras_left(observed, facts)
    total = sum(era.use for era, usual in eras if usual) or 1.0
    found = [
        Path(era, knob, stop, of_path(era, knob, stop, use=era.use / total if usual else _SYSCTL_SET), usual)
        for era, usual in eras
        for knob in _knobs(era, observed, facts)
        for stop in _stops(era, knob, facts)
    ]
    linux = [era for era, usual in eras if usual and era.linux]
    if linux and facts.rcvbuf is None:
        # A clamp is the same in all eras.
        use = sum(era.use for era in linux) / total
        common = max(linux, key=lambda era: era.use)
        found.append(Path(common, Knob.CLAMP, FULL, of_path(common, Knob.CLAMP, FULL, use=use), usual=True))
    return found


def _knobs(era: Era, observed: Observed, facts: Facts) -> list[Knob]:
    if era.key == "embedded":
        segments = observed.window % observed.mss == 0 and (observed.bare or observed.system != "")
        return [Knob.STACK] if segments and facts.rcvbuf is None else []
    if not era.linux:
        unset = _UNSET.get(era.key)
        return [Knob.OPTION, *([unset] if unset is not None and facts.rcvbuf is None else [])]
    if facts.rcvbuf is not None:
        return [Knob.OPTION, Knob.AFTER, *([Knob.GROWN] if era.shift is not None else [])]
    first = [Knob.FIRST] if observed.window <= FIELD_MAX and era.shift is not None else []
    return [Knob.OPTION, Knob.AFTER, Knob.DEFAULT, Knob.GROWN, *first]


def _stops(era: Era, knob: Knob, facts: Facts) -> tuple[Fraction, ...]:
    if era.shift is None or knob not in (Knob.GROWN, Knob.OPTION):
        return (FULL,)
    kernel = facts.kernel
    own = kernel is None or (kernel.major, kernel.minor, kernel.patch or 0) <= _OWN_SPACE
    by_maximum = (
        kernel is None
        or (kernel.major, kernel.minor, ANY_VERSION if kernel.patch is None else kernel.patch) > _OWN_SPACE
    )
    if knob is Knob.OPTION:
        return STOPS if era.shift == OLD_SHIFT and own else (FULL,)
    # A known SO_RCVBUF rules autotuning out, but its maximum may still stop the growth of the window.
    stops = STOPS if facts.rcvbuf is None else STOPS[1:]
    return stops if by_maximum else stops[:1] if facts.rcvbuf is None else ()
