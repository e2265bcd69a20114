"""Connections of which each way is a stream for itself, since a NAT or firewall changed the addresses between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.contents.streams import Streams

__all__ = ["halves"]

_COLUMNS: Final = ("packets", "origin")


def halves(streams: Streams) -> dict[int, int]:
    """
    Return for each stream that is one way of a connection the stream that is the other way.

    A stream of one way shows the initial sequence number of its sender, and that of the other end by its first
    acknowledgment. Two streams with the same two numbers, each the other way round, are one connection. By chance, two
    connections hardly ever agree in 64 bits (RFC 6528).
    """
    stream, numbers, first = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)], 0
    for columns in streams.blocks(_COLUMNS):
        packets, origins = (np.asarray(columns[name]).reshape(-1, 2) for name in _COLUMNS)
        # A SYN without more acknowledges nothing: a flood of them has no second number.
        own = np.flatnonzero(((packets > 0).sum(axis=1) == 1) & (origins != _core.NULL).all(axis=1))
        sender = (packets[own, 0] == 0).astype(np.int64)
        stream.append(own + first)
        numbers.append(np.stack([origins[own, sender], origins[own, 1 - sender]], axis=1))
        first += len(packets)
    return _matched(np.concatenate(stream), np.concatenate(numbers))


def _matched(streams: NDArray[np.int64], numbers: NDArray[np.int64]) -> dict[int, int]:
    """Return the pairs of streams whose two numbers are the same, the other way round."""
    waiting: dict[tuple[int, int], int] = {}
    pairs: dict[int, int] = {}
    for stream, (own, other) in zip(streams.tolist(), numbers.tolist(), strict=True):
        back = waiting.pop((other, own), None)
        if back is None:
            waiting[own, other] = stream
        else:
            pairs |= {stream: back, back: stream}
    return pairs
