"""Connections that are two streams, since the capture has them on both sides of a NAT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core
from bdpcap.read.quality import HANDSHAKE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.contents.streams import Streams

__all__ = ["twins"]

_COLUMNS: Final = ("packets", "origin", "acked_bytes", "ttl")


def twins(streams: Streams) -> list[tuple[int, int]]:
    """
    Return the pairs of streams that are one connection, captured on both sides of a NAT.

    Both have the same two initial sequence numbers. By chance, two connections hardly ever agree in 64 bits (RFC 6528).
    A NAT lowers the time to live of packets that it forwards (RFC 791 section 3.2). So the client's have a higher one on
    its side, and the server's on the other. Programs that make packets with the same numbers show no such order.
    """
    stream, numbers, ttl = _of_both_ways(streams)
    order = np.lexsort((stream, numbers[:, 1], numbers[:, 0]))
    one, two = order[:-1], order[1:]
    same = (numbers[one] == numbers[two]).all(axis=1)
    one, two = one[same], two[same]
    higher = np.sign(ttl[one] - ttl[two])
    routed = higher[:, 0] * higher[:, 1] < 0
    return sorted(zip(stream[one[routed]].tolist(), stream[two[routed]].tolist(), strict=True))


def _of_both_ways(streams: Streams) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the streams in which both ends sent packets and acknowledged some: numbers, initial numbers and TTLs."""
    stream, first = [np.zeros(0, np.int64)], 0
    numbers, ttl = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for columns in streams.blocks(_COLUMNS):
        packets, origins, acked, ttls = (np.asarray(columns[name]).reshape(-1, 2) for name in _COLUMNS)
        known = (origins != _core.NULL).all(axis=1) & (ttls != _core.NULL).all(axis=1)
        own = np.flatnonzero((packets > 0).all(axis=1) & known & (acked.max(axis=1) > HANDSHAKE_BYTES))
        stream.append(own + first)
        numbers.append(origins[own])
        ttl.append(ttls[own])
        first += len(packets)
    return np.concatenate(stream), np.concatenate(numbers), np.concatenate(ttl)
