"""Commands that find a full link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.words.endpoints import on_one_machine

if TYPE_CHECKING:
    from bdpcap.explain.remedies.host import Host

__all__ = ["find_link"]

PROBES: Final = 20
"""Probes to each router: enough for a mean that a queue shows in, and sent in 20 seconds (mtr(8), -c and -i)."""


def find_link(*hosts: Host) -> tuple[str, ...]:
    """Return commands that show where on the path a queue stands; none where the reader has no Linux host at an end.

    Probes wait in the queue of the data on their way there, or their answers do on the way back. So either end shows it.
    """
    one, other = hosts
    for own, far in ((one, other), (other, one)):
        if own.address and not on_one_machine(own.address, far.address):
            commands = own.linux(
                f"mtr -n -r -c {PROBES} {far.address}   # {own.end}, during a transfer: RTT grows at the full link",
                f"ethtool eth0 | grep Speed   # {own.end}: whether its own interface is the slow link",
            )
            if commands:
                return commands
    return ()
