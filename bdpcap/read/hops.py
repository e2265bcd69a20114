"""Routers that packets passed before the tap, by their TTLs (RFC 1812 section 5.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["INITIAL_TTLS", "MOST_ROUTERS", "UNKNOWN_ROUTERS", "nearer", "passed", "routers"]

INITIAL_TTLS: Final = (64, 128, 255)
"""Usual initial TTLs: 64 of Linux, BSD and macOS; 128 of Windows; 255 of routers and Solaris."""
UNKNOWN_ROUTERS: Final = -1
"""Number of routers where it is unknown, in arrays."""
MOST_ROUTERS: Final = 30
"""Most routers that a path has: as many as traceroute looks for (traceroute(8), -m)."""


def routers(ttl: int | None) -> int | None:
    """Return the number of routers that packets passed before the tap, by their TTL; None if it is unknown.

    It is the difference to the next usual initial TTL. A program may choose a lower one: BGP sends with a TTL of 1.
    """
    count = UNKNOWN_ROUTERS if ttl is None else int(passed(np.array([ttl]))[0])
    return None if count == UNKNOWN_ROUTERS else count


def passed(ttl: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return what `routers` returns for each TTL, with `UNKNOWN_ROUTERS` in place of None."""
    tops = np.array(INITIAL_TTLS)
    known = (ttl >= 0) & (ttl <= INITIAL_TTLS[-1])
    own = np.where(known, ttl, 0)
    count = tops[np.searchsorted(tops, own)] - own
    found: NDArray[np.int64] = np.where(known & (count <= MOST_ROUTERS), count, UNKNOWN_ROUTERS)
    return found


def nearer(ttl: NDArray[np.integer[Any]], others: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return where packets with a TTL passed no router before the tap, and those with the other TTL did."""
    known = others != _core.NULL
    near: NDArray[np.bool_] = np.isin(ttl, INITIAL_TTLS) & known & ~np.isin(others, INITIAL_TTLS)
    return near
