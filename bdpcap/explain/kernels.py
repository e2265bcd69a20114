"""Window arithmetic of a Linux kernel by its version, and the versions that leave the arithmetic open."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bdpcap.errors import ArgumentError
from bdpcap.explain.eras import ANY_VERSION, ERAS, Era, Version

__all__ = ["LAST_SYSCTL", "Kernel", "eras_of", "version"]

_FIRST_SYSCTL: Final = (2, 6, 0)
"""First version that is distinguished; tcp_adv_win_scale is older."""
LAST_SYSCTL: Final = (6, 5)
"""Last version in which net.ipv4.tcp_adv_win_scale has an effect."""
_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(.*)", re.ASCII)
_ENTERPRISE: Final = re.compile(r"\.el\d|-default$")
"""Suffix of Red Hat's and derived kernels, or of SUSE's: they backport features from later versions."""


class Kernel(NamedTuple):
    """A version of Linux."""

    major: int
    minor: int
    patch: int | None = None
    """Patch level; None if unknown, as in versions of Debian and Ubuntu, which number their builds instead."""
    enterprise: bool = False
    """Whether the kernel has changes from later versions, so that its number does not determine the arithmetic."""

    @property
    def doubt(self) -> str:
        """Sentence on the reason why the version leaves the arithmetic open; empty if it determines the arithmetic."""
        if self.enterprise:
            return f"Enterprise kernels take changes from later versions; {self.major}.{self.minor} does not tell which."
        if len([era for era in ERAS if self.is_of(era)]) > 1:
            return f"The share changed within {self.major}.{self.minor}; give its patch level, as in 6.6.45."
        return ""

    def is_of(self, era: Era) -> bool:
        """Return whether a kernel of this version may have an era's arithmetic by default."""
        if self.enterprise:
            return any(last >= (self.major, self.minor, 0) for _, last in era.kernels)
        least: Version = (self.major, self.minor, 0 if self.patch is None else self.patch)
        most: Version = (self.major, self.minor, ANY_VERSION if self.patch is None else self.patch)
        return any(first <= most and least <= last for first, last in era.kernels)


def version(text: str) -> Kernel:
    """
    Parse a kernel version as uname -r prints it: ``6.6.45``, ``6.1.0-18-amd64``, ``5.14.0-427.el9.x86_64``.

    Raises
    ------
    ArgumentError
        The text does not begin with two numbers.
    """
    match = _VERSION.match(text)
    if match is None:
        raise ArgumentError(f"{text!r} is no kernel version: give one like 6.1 or 6.6.45")
    major, minor, patch, rest = match.groups()
    enterprise = bool(_ENTERPRISE.search(rest))
    own_build = patch == "0" and rest[:2].startswith("-") and rest[1:2].isdecimal()
    known = patch is not None and not own_build and not enterprise
    return Kernel(int(major), int(minor), int(patch) if known else None, enterprise)


def eras_of(kernel: Kernel | None = None, adv_win_scale: int | None = None) -> list[tuple[Era, bool]]:
    """
    Return the eras that the facts allow, each with whether the kernel has that arithmetic by default.

    Parameters
    ----------
    kernel
        Version of the receiver's Linux; None if unknown.
    adv_win_scale
        Value of the receiver's net.ipv4.tcp_adv_win_scale, which has no effect since 6.6; None if unknown.
    """
    kernel = kernel and Kernel(*kernel)
    has_sysctl = kernel is None or kernel[:2] <= LAST_SYSCTL
    if adv_win_scale is not None and has_sysctl:
        return [(_shifted(adv_win_scale), True)]
    left = []
    for era in ERAS:
        usual = kernel is None or kernel.is_of(era)
        if usual or (era.shift is not None and has_sysctl):
            left.append((era, usual))
    return left


def _shifted(adv_win_scale: int) -> Era:
    """Return the era with a value of tcp_adv_win_scale, listed or made for it."""
    for era in ERAS:
        if era.shift == adv_win_scale:
            return era
    return Era(
        f"linux-adv-win-scale{adv_win_scale:+d}",
        f"Linux up to 6.5 with tcp_adv_win_scale={adv_win_scale}",
        ((_FIRST_SYSCTL, (*LAST_SYSCTL, ANY_VERSION)),),
        f"1 - 1/2^{adv_win_scale}" if adv_win_scale > 0 else f"1/2^{-adv_win_scale}",
        "tcp_win_from_space()",
        use=1.0,
        shift=adv_win_scale,
    )
