"""Which window arithmetic a kernel has, by its version, and what its version does not tell."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bdpcap.explain.buffers import ERAS, Era, Version

__all__ = ["Kernel", "eras_of", "version"]

_LAST_SYSCTL: Final = (6, 5)
"""net.ipv4.tcp_adv_win_scale has no effect since 6.6."""
_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(.*)", re.ASCII)
_ENTERPRISE: Final = re.compile(r"\.el\d|-default$")
"""Red Hat and its kin; SUSE: kernels that take over features from later ones."""


class Kernel(NamedTuple):
    """A version of Linux."""

    major: int
    minor: int
    patch: int | None = None
    """None where the version does not say: Debian's and Ubuntu's name their own builds."""
    enterprise: bool = False
    """Whether it took over changes from later versions, so that its number does not tell which arithmetic it has."""

    @property
    def doubt(self) -> str:
        """What the version does not tell of the arithmetic; empty where it tells all."""
        if self.enterprise:
            return f"Enterprise kernels take changes from later versions; {self.major}.{self.minor} does not tell which."
        if len([era for era in ERAS if self.is_of(era)]) > 1:
            return f"The share changed within {self.major}.{self.minor}; give its patch level, as in 6.6.45."
        return ""

    def is_of(self, era: Era) -> bool:
        """Tell whether a kernel of this version may have an era's arithmetic by default."""
        if self.enterprise:
            return any(last >= (self.major, self.minor, 0) for _, last in era.kernels)
        least: Version = (self.major, self.minor, 0 if self.patch is None else self.patch)
        most: Version = (self.major, self.minor, 999 if self.patch is None else self.patch)
        return any(first <= most and least <= last for first, last in era.kernels)


def version(text: str) -> Kernel:
    """
    Parse a kernel version as uname -r prints it: ``6.6.45``, ``6.1.0-18-amd64``, ``5.14.0-427.el9.x86_64``.

    Raises
    ------
    ValueError
        It does not begin with two numbers.
    """
    match = _VERSION.match(text)
    if match is None:
        raise ValueError(f"{text!r} is no kernel version: give one like 6.1 or 6.6.45")
    major, minor, patch, rest = match.groups()
    enterprise = bool(_ENTERPRISE.search(rest))
    own_build = patch == "0" and rest[:2].startswith("-") and rest[1:2].isdecimal()
    known = patch is not None and not own_build and not enterprise
    return Kernel(int(major), int(minor), int(patch) if known else None, enterprise)


def eras_of(kernel: Kernel | None = None, adv_win_scale: int | None = None) -> list[tuple[Era, bool]]:
    """
    Return the eras that facts leave, and whether each is what the kernel does by default.

    Parameters
    ----------
    kernel
        Version of the receiver's Linux.
    adv_win_scale
        Its net.ipv4.tcp_adv_win_scale; without effect since 6.6.
    """
    kernel = kernel and Kernel(*kernel)
    has_sysctl = kernel is None or kernel[:2] <= _LAST_SYSCTL
    if adv_win_scale is not None and has_sysctl:
        return [(_shifted(adv_win_scale), True)]
    left = []
    for era in ERAS:
        usual = kernel is None or kernel.is_of(era)
        if usual or (era.shift is not None and has_sysctl):
            left.append((era, usual))
    return left


def _shifted(adv_win_scale: int) -> Era:
    """Return the era of a value of tcp_adv_win_scale."""
    for era in ERAS:
        if era.shift == adv_win_scale:
            return era
    return Era(
        f"linux-adv-win-scale{adv_win_scale:+d}",
        f"Linux up to 6.5 with tcp_adv_win_scale={adv_win_scale}",
        (((2, 6, 0), (*_LAST_SYSCTL, 999)),),
        f"1 - 1/2^{adv_win_scale}" if adv_win_scale > 0 else f"1/2^{-adv_win_scale}",
        "tcp_win_from_space()",
        shift=adv_win_scale,
    )
