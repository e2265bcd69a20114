"""Families of systems, and the words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.hosts.systems import System

__all__ = ["FAMILIES", "described", "named", "sentence"]

_NAMES: Final = {
    "linux": "Linux",
    "windows": "Windows",
    "macos": "macOS or iOS",
    "freebsd": "FreeBSD",
    "openbsd": "OpenBSD",
    "netbsd": "NetBSD",
    "solaris": "Solaris",
    "hpux": "HP-UX",
    "netstack": "gVisor's netstack",
    "embedded": "a small embedded stack",
    "virtual-nat": "a virtual machine's NAT",
}
FAMILIES: Final = tuple(_NAMES)
"""Keys of the families; Android counts as ``linux``, iOS as ``macos``.

``embedded`` is a small stack such as lwIP, ``virtual-nat`` a NAT that answers for the hosts behind it.
"""


def named(family: str) -> str:
    """Return a family's name: ``Windows`` for ``windows``.

    Raises
    ------
    KeyError
        There is no such family.
    """
    return _NAMES[family]


def described(system: System) -> str:
    """Return a system with its version, and a word of doubt: ``Windows 10 or later``, ``possibly Linux``."""
    version = f" {system.version}" if system.version else ""
    return f"{'' if system.certainty == 'likely' else 'possibly '}{named(system.family)}{version}"


def sentence(system: System) -> str:
    """Return a system with its version and its evidence: ``Windows 10 or later, from its SYN``."""
    return f"{described(system)}, from its {'SYN-ACK' if system.is_answer else 'SYN'}"
