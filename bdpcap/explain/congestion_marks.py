"""Congestion marks: a router sets them instead of dropping a packet, and the receiver echoes them (ECN, RFC 3168)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["clause", "sentence"]


def _echoes(flow: Flow) -> int:
    """Return how many acknowledgments of a flow echoed a congestion mark, where its handshake agreed on ECN."""
    return int(flow._hidden["congestion_echoes"].sum())


def clause(flow: Flow) -> str:
    """Return a clause on the acknowledgments that echoed a mark."""
    return f"{units.number(_echoes(flow), 'acknowledgment')} echoed congestion marks (ECN)"


def sentence(flow: Flow) -> str:
    """Return a sentence on congestion marks and their effect; empty where no acknowledgment echoed one."""
    return (
        f"{clause(flow)}: a queue on the path was long, and the sender slowed down." if _echoes(flow) else ""
    )
