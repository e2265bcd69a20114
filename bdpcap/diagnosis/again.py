"""Retransmissions of both ends of a stream, in words: their share, and what to look for on the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import silence
from bdpcap.explain.sent_again import FEWEST, clause, sent_again
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.sent_again import SentAgain

__all__ = ["advice", "said"]

_LOST: Final = "Find where packets are lost or delayed."
_HELD: Final = (
    "Find where its delay jumps, as in the power saving of Wi-Fi: packets came later than the timers allow."
)
_OVERTAKEN: Final = (
    "Find what reorders its packets, such as links in parallel: senders take overtaken ones for lost."
)


def _to_an_open_end(flow: Flow) -> SentAgain | None:
    """Return the retransmissions of a flow's stream; None if they are few, or went to an end that had closed."""
    again, capture = sent_again(flow), flow.capture
    if again is None:
        return None
    senders = capture.flows.loc[capture.flows["stream"] == flow.stream, "sender"]
    quiet = [silence.of(capture.flow(flow.stream, sender)) for sender in senders]
    return None if any(one and one.is_after_close for one in quiet) else again


def _is_rare(flow: Flow) -> bool:
    """Return whether the retransmissions of a flow's stream lie in one or two round trips: by chance, not by the path."""
    capture = flow.capture
    senders = capture.flows.loc[capture.flows["stream"] == flow.stream, "sender"]
    rounds = [capture.flow(flow.stream, sender).rtts["retransmits"] for sender in senders]
    return sum(int((one > 0).sum()) for one in rounds) < FEWEST


def said(flow: Flow) -> str:
    """Return a sentence on the retransmissions of a flow's stream; empty if they were few."""
    again = _to_an_open_end(flow)
    if again is None:
        return ""
    overtaken = ": others overtook them" if again.overtaken else ""
    arrived = f", though the first copies had arrived{overtaken}" if again.arrived else ""
    return f"{clause(again.share, 'that both ends sent')}{arrived}."


def advice(flow: Flow) -> tuple[str, str] | None:
    """Return the path of a flow's stream and what to look for there; None if few packets were sent again."""
    again, ends = _to_an_open_end(flow), (host(flow.sender), host(flow.receiver))
    if again is None or on_one_machine(*ends) or (again.overtaken and _is_rare(flow)):
        return None
    client, server = ends if flow.is_from_client else reversed(ends)
    held = _OVERTAKEN if again.overtaken else _HELD
    return f"the path between {client} and {server}", held if again.arrived else _LOST
