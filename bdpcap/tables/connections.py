"""Connections: how each began and ended, with or without payload."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bdpcap import _core

__all__ = ["named", "told"]

_FIRST_TIMEOUT_NS: Final = 3_000_000_000
"""When a SYN is sent again at the latest: after 1 s (RFC 6298 section 2.1), formerly 3 s (RFC 1122)."""


def told(
    columns: dict[str, np.ndarray], end_ns: np.ndarray, capture_end_ns: int | None
) -> dict[str, np.ndarray]:
    """
    Tell connections that were given up from those that the capture left open.

    Parameters
    ----------
    columns
        Columns of `bdpcap._core.Analysis.connections`.
    end_ns
        The last packet of each.
    capture_end_ns
        The capture's last frame.

    Returns
    -------
    dict
        The columns, those of names as names; ``seen`` tells which the capture holds a packet of.
    """
    ended = np.asarray(_core.ENDINGS, dtype=object)[columns["ended"]]
    handshake = np.asarray(_core.HANDSHAKES, dtype=object)[columns["handshake"]]
    # Each timeout is twice the last (RFC 6298 section 5.5): a sender that let that pass has given up.
    wait = columns["retry_wait_ns"].astype(np.float64)
    alone = (handshake == "never answered") & (columns["retry_wait_ns"] == _core.NULL)
    next_wait = np.where(alone, _FIRST_TIMEOUT_NS, 2 * wait)
    retried = alone | (columns["retry_wait_ns"] != _core.NULL)
    left = (capture_end_ns or 0) - end_ns
    open_ = (ended == "open") | (ended == "half-closed")
    return {
        **columns,
        "handshake": handshake,
        "ended": np.where(open_ & retried & (left > next_wait), "timeout", ended),
        # An ICMP message may quote a connection of which the capture holds nothing.
        "seen": columns["completeness"] > 0,
    }


def named(
    columns: dict[str, np.ndarray], directions: dict[str, Any], capture_end_ns: int | None
) -> dict[str, np.ndarray]:
    """
    Name the ends of connections, too.

    Parameters
    ----------
    columns, capture_end_ns
        As `told` takes them.
    directions
        Columns of `bdpcap._core.Analysis.directions`: the client's, then the server's, of each stream.

    Returns
    -------
    dict
        Columns of `bdpcap.tables.CONNECTIONS`.
    """
    sides = {side: np.asarray(directions[side], dtype=object)[::2] for side in ("sender", "receiver")}
    times = {name: np.asarray(directions[name])[::2] for name in ("start_ns", "end_ns")}
    by = np.full(len(columns["ended_by"]), None, dtype=object)
    for end, side in enumerate(("sender", "receiver")):
        ends = columns["ended_by"] == end
        by[ends] = sides[side][ends]
    found = told(columns, times["end_ns"], capture_end_ns)
    seen = found.pop("seen")
    named = {**found, **times, "client": sides["sender"], "server": sides["receiver"], "ended_by": by}
    return {name: np.asarray(column)[seen] for name, column in named.items()}
