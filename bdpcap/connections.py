"""Connections: how each began and ended, with or without payload."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bdpcap import _core

__all__ = ["named"]

_FIRST_TIMEOUT_NS: Final = 3_000_000_000
"""When a SYN is sent again at the latest: after 1 s (RFC 6298 section 2.1), formerly 3 s (RFC 1122)."""


def named(
    columns: dict[str, np.ndarray], directions: dict[str, Any], capture_end_ns: int | None
) -> dict[str, np.ndarray]:
    """
    Name the ends, and tell connections that were given up from those that the capture left open.

    Parameters
    ----------
    columns
        Columns of `bdpcap._core.Analysis.connections`.
    directions
        Columns of `bdpcap._core.Analysis.directions`: the client's, then the server's, of each stream.
    capture_end_ns
        The capture's last frame.

    Returns
    -------
    dict
        Columns of `bdpcap.tables.CONNECTIONS`.
    """
    sides = {side: np.asarray(directions[side], dtype=object)[::2] for side in ("sender", "receiver")}
    times = {name: np.asarray(directions[name])[::2] for name in ("start_ns", "end_ns")}
    ended = np.asarray(_core.ENDINGS, dtype=object)[columns["ended"]]
    handshake = np.asarray(_core.HANDSHAKES, dtype=object)[columns["handshake"]]
    # Each timeout is twice the last (RFC 6298 section 5.5): a sender that let that pass has given up.
    wait = columns["retry_wait_ns"].astype(np.float64)
    alone = (handshake == "never answered") & (columns["retry_wait_ns"] == _core.NULL)
    next_wait = np.where(alone, _FIRST_TIMEOUT_NS, 2 * wait)
    retried = alone | (columns["retry_wait_ns"] != _core.NULL)
    left = (capture_end_ns or 0) - times["end_ns"]
    open_ = (ended == "open") | (ended == "half-closed")
    by = np.full(len(ended), None, dtype=object)
    for end, side in enumerate(("sender", "receiver")):
        ends = columns["ended_by"] == end
        by[ends] = sides[side][ends]
    # An ICMP message may quote a connection of which the capture holds nothing.
    seen = columns["completeness"] > 0
    named = {
        **columns,
        **times,
        "client": sides["sender"],
        "server": sides["receiver"],
        "handshake": handshake,
        "ended": np.where(open_ & retried & (left > next_wait), "timeout", ended),
        "ended_by": by,
    }
    return {name: np.asarray(column)[seen] for name, column in named.items()}
