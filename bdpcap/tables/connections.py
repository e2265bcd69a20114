"""Connections: how each began and ended, with or without payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.hosts import CERTAINTIES, FAMILIES, PROGRAMS
from bdpcap.hosts import columns as hosts
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words.endpoints import port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["NEEDED", "confirmed_in_vain", "named", "with_timeouts"]

NEEDED: Final = ("sender", "receiver", "start_ns", "end_ns", *hosts.NEEDED)
"""Columns about directions that `named` needs."""

_OLDEST_TIMEOUT_NS: Final = 3_000_000_000
"""Longest wait before the first retransmission of a SYN: 3 s (RFC 1122); today it is 1 s (RFC 6298 section 2.1)."""


def with_timeouts(
    columns: dict[str, np.ndarray], end_ns: np.ndarray, capture_end_ns: int | None
) -> dict[str, np.ndarray]:
    """
    Mark connections that an end gave up as ended by timeout; others were still open when the capture ended.

    Parameters
    ----------
    columns
        Columns of `bdpcap._core.Analysis.connections`.
    end_ns
        Time of the last packet of each connection.
    capture_end_ns
        Time of the capture's last frame; None if there is none.

    Returns
    -------
    dict
        The columns, with names for the codes of ``handshake`` and ``ended``. ``seen`` is true where the capture holds a
        packet of the connection.
    """
    ended = np.asarray(_core.ENDINGS, dtype=object)[columns["ended"]]
    handshake = np.asarray(_core.HANDSHAKES, dtype=object)[columns["handshake"]]
    # Each timeout is twice the one before (RFC 6298 section 5.5). A sender that stayed silent for longer has given up.
    wait = columns["retry_wait_ns"].astype(np.float64)
    unopened = _is_any(columns["handshake"], _core.HANDSHAKES, "never answered", "challenged")
    alone = unopened & (columns["retry_wait_ns"] == _core.NULL)
    next_wait = np.where(alone, _OLDEST_TIMEOUT_NS, 2 * wait)
    retried = alone | (columns["retry_wait_ns"] != _core.NULL)
    left = (capture_end_ns or 0) - end_ns
    open_ = _is_any(columns["ended"], _core.ENDINGS, "open", "half-closed")
    return {
        **columns,
        "handshake": handshake,
        "ended": np.where(open_ & retried & (left > next_wait), "timeout", ended),
        # An ICMP message may quote a connection that has no packet in the capture.
        "seen": columns["completeness"] > 0,
    }


def _is_any(codes: np.ndarray, names: Sequence[str], *some: str) -> NDArray[np.bool_]:
    """Return which codes stand for some of their names: to compare the names of millions would take its time."""
    found: NDArray[np.bool_] = np.array([name in some for name in names])[codes]
    return found


def confirmed_in_vain(columns: Mapping[str, np.ndarray]) -> NDArray[np.int64]:
    """
    Return how often each server sent its SYN-ACK again after its client had confirmed it.

    A server does so until a packet of its client arrives (RFC 9293 section 3.10.7.4).

    Parameters
    ----------
    columns
        Columns of `bdpcap._core.Analysis.connections`.
    """
    opening_ns, answered_ns = columns["opening_ns"], columns["answered_ns"]
    known = (opening_ns != _core.NULL) & (answered_ns != _core.NULL)
    at_once = known & (np.where(known, opening_ns - answered_ns, 0) < FIRST_TIMEOUT_NS)
    again: NDArray[np.int64] = np.where(at_once, np.maximum(columns["syn_acks"], 1) - 1, 0)
    return again


def named(
    columns: dict[str, np.ndarray], directions: dict[str, Any], capture_end_ns: int | None
) -> dict[str, np.ndarray]:
    """
    Return the columns of `bdpcap.tables.CONNECTIONS` for the connections with a packet in the capture.

    Parameters
    ----------
    columns
        Columns of `bdpcap._core.Analysis.connections`.
    directions
        The columns `NEEDED` of `bdpcap._core.Analysis.directions`: for each stream the client's row, then the server's.
    capture_end_ns
        Time of the capture's last frame; None if there is none.
    """
    sides = {side: np.asarray(directions[side], dtype=object)[::2] for side in ("sender", "receiver")}
    times = {name: np.asarray(directions[name])[::2] for name in ("start_ns", "end_ns")}
    by = {name: np.full(len(columns[name]), None, dtype=object) for name in ("ended_by", "tls_alert_by")}
    for name, column in by.items():
        for end, side in enumerate(("sender", "receiver")):
            ends = columns[name] == end
            column[ends] = sides[side][ends]
    found = with_timeouts(columns, times["end_ns"], capture_end_ns)
    seen = found.pop("seen")
    named = {**found, **times, "client": sides["sender"], "server": sides["receiver"], **by}
    named |= _hosts(columns, directions, sides)
    return {name: np.asarray(column)[seen] for name, column in named.items()}


def _hosts(
    columns: dict[str, np.ndarray], directions: dict[str, Any], sides: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the columns on both ends' systems, and on the program."""
    families, certainties = hosts.systems(directions, np.arange(2 * len(columns["syns"])))
    program, program_certainty = hosts.programs(
        [port(end) for end in sides["sender"]],
        [port(end) for end in sides["receiver"]],
        (columns["iperf3_cookie"] > 0).tolist(),
        (columns["syns"] + columns["syn_acks"] > 0).tolist(),
    )
    return {
        "client_system": _texts(families[::2], FAMILIES),
        "client_system_certainty": _texts(certainties[::2], CERTAINTIES),
        "server_system": _texts(families[1::2], FAMILIES),
        "server_system_certainty": _texts(certainties[1::2], CERTAINTIES),
        "program": _texts(program, PROGRAMS),
        "program_certainty": _texts(program_certainty, CERTAINTIES),
    }


def _texts(places: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.object_]:
    """Return texts from their indexes in `names`; the index -1 is None."""
    return np.array([*names, None], dtype=object)[places]
