"""Traces of a middlebox in a SYN: options replaced by no operations, and a lowered MSS."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.hosts.syn import Syn

__all__ = ["clamped_from_mss_bytes", "restored", "stripped"]

_FULL: Final = ("MSTNW", "MNWNNS", "MNWNNTSEE", "MNWST", "MNNSNWNNT")
"""Layouts of the SYNs of Linux, Windows, macOS, FreeBSD and OpenBSD with all options that they offer by default."""
_OPTION_BYTES: Final = {"W": 3, "S": 2, "T": 10}
"""Lengths of the options that middleboxes strip (RFC 7323, RFC 2018)."""
_USUAL_MSS_BYTES: Final = {True: 1460, False: 1440}
"""MSS of Ethernet over IPv4 and over IPv6."""
_TIMESTAMPS_BYTES: Final = 12
"""Bytes that aligned timestamps take in every segment (TCPOLEN_TSTAMP_ALIGNED of Linux)."""
_LINUX_SEGMENTS: Final = (4, 10, 20)
"""Segments in the window of a Linux SYN before it was the most that fit (Linux tcp_default_init_rwnd())."""


@lru_cache(maxsize=1 << 10)
def restored(layout: str) -> tuple[str, tuple[str, ...]]:
    """Return a layout with the options that were replaced by no operations, and their letters.

    The layout is returned as it is where none was replaced, or where several were possible.
    """
    found = []
    for whole in _FULL:
        options = [option for option in _OPTION_BYTES if option in whole]
        for gone in chain.from_iterable(combinations(options, count) for count in range(1, len(options) + 1)):
            holes = whole
            for option in gone:
                holes = holes.replace(option, "N" * _OPTION_BYTES[option])
            # Where SACK alone is missing, hosts leave the same two no operations.
            if holes == layout and gone != ("S",):
                found.append((whole, gone))
    return found[0] if len(found) == 1 else (layout, ())


def stripped(syn: Syn) -> tuple[str, ...]:
    """Return the letters of the options that a middlebox replaced by no operations, so that the length stayed.

    Empty where none was: a host may leave out an option itself, but then it pads less.
    """
    return restored(syn.layout)[1]


def clamped_from_mss_bytes(syn: Syn) -> int | None:
    """Return the MSS in bytes with which a Linux host sent this SYN, where a middlebox lowered it; None where unknown.

    Linux rounds the window of its SYN down to whole segments (tcp_select_initial_window()), that of a SYN-ACK less the
    timestamps in each (tcp_openreq_init_rwin()). A window of whole segments of Ethernet, but not of the MSS in the
    packet, shows the MSS before.
    """
    if syn.layout not in {"MSTNW", "MNNSNW"} or not syn.mss_bytes:
        return None
    usual = _USUAL_MSS_BYTES[syn.dont_fragment is not None]
    taken = (0, _TIMESTAMPS_BYTES) if "T" in syn.layout else (0,)
    as_it_is = any(syn.window_bytes % max(1, syn.mss_bytes - options) == 0 for options in taken)
    units = [usual - options for options in taken]
    whole = {count * unit for unit in units for count in (*_LINUX_SEGMENTS, 0xFFFF // unit)}
    lowered = syn.mss_bytes < usual and not as_it_is
    return usual if lowered and syn.window_bytes in whole else None
