"""Idle time: nothing was asked of the sender.

It is no limit. All data is acknowledged, and the peer has the turn, or nothing follows but keep-alives, a farewell, a FIN
or a reset.
"""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import Loss, Writes
from bdpcap.limits.rule import Rule, all_of, any_of, it
from bdpcap.limits.rules.common import OPEN

__all__ = ["RULES"]

RULES: Final = (
    Rule(
        id="idle-turn",
        limit="idle",
        holds=any_of(
            all_of(it(Writes.peers_turn), OPEN),
            it(Writes.closing),
            all_of(it(Writes.parting), OPEN),
        ),
        unless=it(Loss.outage),
        says="All data was acknowledged, and the peer sent the next data, or none but a farewell followed.",
        why="A request, its answer and the next request take turns. A connection without either waits for its user.",
        blind="Programs that send in both directions at once have no turns: a pause of one of them looks idle.",
        source="RFC 9293 section 3.6 (closing) and 3.8.4 (keep-alives); RFC 8446 section 6.1 (close_notify)",
    ),
)
