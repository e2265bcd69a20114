"""Connections of which each way is a stream for itself, since a NAT or firewall changed the addresses between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core
from bdpcap.read.quality import HANDSHAKE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.contents.streams import Streams

__all__ = ["halves"]

_COLUMNS: Final = ("packets", "origin", "acked_bytes", "unseen_bytes", "handshake")


def halves(streams: Streams) -> dict[int, int]:
    """
    Return for each stream that is one way of a connection the stream that is the other way.

    A stream of one way shows the initial sequence number of its sender, and that of the other end by its first
    acknowledgment. Two streams with the same two numbers, one of each way, are one
    connection if acknowledgments moved, or both SYNs were captured. By chance, two connections hardly ever agree in
    64 bits (RFC 6528). A program that makes packets may give all the same numbers, and its acknowledgments do not move.
    """
    stream, numbers, facts = _of_one_way(streams)
    waiting: dict[tuple[int, int], dict[bool, tuple[int, bool, bool]]] = {}
    pairs: dict[int, int] = {}
    for one, (client_number, server_number), from_server, moves, opens in zip(
        stream.tolist(), numbers.tolist(), *facts.tolist(), strict=True
    ):
        seen = waiting.setdefault((client_number, server_number), {})
        back, back_moves, back_opens = seen.pop(not from_server, (None, False, False))
        if back is None:
            seen[from_server] = one, moves, opens
        elif moves or back_moves or (opens and back_opens):
            pairs |= {one: back, back: one}
    return pairs


def _of_one_way(
    streams: Streams,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """
    Return the streams of one way: their numbers, both initial sequence numbers, and three rows of facts.

    The facts are whether the server sent, whether its acknowledgments moved past the handshake, and whether its SYN was
    captured.
    """
    stream, numbers, first = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)], 0
    facts = [np.zeros((3, 0), np.bool_)]
    for columns in streams.blocks(_COLUMNS):
        packets, origins, acked, unseen, syns = (
            np.asarray(columns[name]).reshape(-1, 2) for name in _COLUMNS
        )
        # A SYN without more acknowledges nothing: a flood of them has no second number.
        own = np.flatnonzero(((packets > 0).sum(axis=1) == 1) & (origins != _core.NULL).all(axis=1))
        stream.append(own + first)
        numbers.append(origins[own])
        moved = (acked + unseen)[own].max(axis=1) > HANDSHAKE_BYTES
        facts.append(np.stack([packets[own, 0] == 0, moved, syns[own, 0] > 0]))
        first += len(packets)
    return np.concatenate(stream), np.concatenate(numbers), np.concatenate(facts, axis=1)
