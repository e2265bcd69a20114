"""The systems of a capture's hosts, as a fact about the capture."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from bdpcap import hosts
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.capture import Capture

__all__ = ["fact"]

_HOSTS: Final = 4
"""Largest number of hosts that are listed one by one."""


def fact(capture: Capture) -> list[tuple[str, str]]:
    """Return the systems of the hosts as a row of facts; empty where none is known."""
    names = {host: _name(systems) for host, systems in capture._contents.systems.by_host.items()}
    known = {host: name for host, name in names.items() if name}
    if not known:
        return []
    if len(names) <= _HOSTS:
        listed = "; ".join(f"{host} {name}" for host, name in known.items())
    else:
        counts = Counter(name or "unknown" for name in names.values()).most_common()
        shown = [f"{name} ({units.number(count, 'host')})" for name, count in counts[:_HOSTS]]
        rest = sum(count for _, count in counts[_HOSTS:])
        listed = ", ".join([*shown, *([f"others ({units.number(rest, 'host')})"] if rest else [])])
    return [("systems, by SYN", listed)]


def _name(systems: Iterable[hosts.System | None]) -> str:
    """Return the name of a host's system; of several families, as behind a NAT, all names."""
    best: dict[str, hosts.System] = {}
    for system in systems:
        if system and (system.family not in best or _sureness(system) > _sureness(best[system.family])):
            best[system.family] = system
    return " and ".join(sorted(hosts.described(system) for system in best.values()))


def _sureness(system: hosts.System) -> tuple[bool, str]:
    """Return a key that is larger the more is known of a system."""
    return system.certainty == "likely", system.version or ""
