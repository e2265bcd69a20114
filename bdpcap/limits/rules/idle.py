"""Idle time: nothing was asked of the sender.

It is no limit. All data is acknowledged and the peer has the turn, or nothing follows but keep-alives or a farewell. Or
a client has not sent its first data for a second. Or the last data is sent, and its acknowledgment, a FIN or a reset
follows.
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
        holds=all_of(any_of(it(Writes.peers_turn), it(Writes.unbegun), it(Writes.parting)), OPEN),
        unless=it(Loss.outage),
        says="All data was acknowledged. The peer sent next, only a farewell followed, or a client had not begun.",
        why="A request, its answer and the next request take turns. A connection without either waits for its user, as "
        "one that a browser opens before it needs it.",
        blind="Programs that send in both directions at once have no turns: a pause of one of them looks idle.",
        source="RFC 9293 section 3.8.4 (keep-alives); RFC 8446 section 6.1 (close_notify)",
    ),
    Rule(
        id="idle-over",
        limit="idle",
        holds=all_of(it(Writes.over), any_of(it(Writes.finished), OPEN)),
        unless=it(Loss.outage),
        says="The sender had sent its last data.",
        why="What follows the last data (its way, a delayed acknowledgment, the FIN) holds no data back.",
        source="RFC 9293 section 3.6 (closing) and 3.8.6.3 (delayed acknowledgments)",
    ),
)
