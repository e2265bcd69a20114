"""Families of systems, and the words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.hosts.systems import System

__all__ = ["FAMILIES", "named", "sentence"]

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


def sentence(system: System) -> str:
    """Return the system with its version and its source: ``Windows 10 or later, from its SYN``."""
    name = named(system.family)
    # Of the names for two systems, none takes a version.
    version = f" {system.version}" if system.version else ""
    doubt = "" if system.certainty == "likely" else "possibly "
    return f"{doubt}{name}{version}, from its {'SYN-ACK' if system.is_answer else 'SYN'}"
