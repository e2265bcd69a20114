"""Retransmissions of both ends of a stream, in words: their share, and the advice for the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import silence
from bdpcap.explain import shared_losses
from bdpcap.explain.findings import path_mtu
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.sent_again import FEWEST, clause, sent_again
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    import pandas as pd

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


def _flows(flow: Flow) -> list[Flow]:
    """Return the flows of a flow's stream."""
    capture = flow.capture
    senders = capture.flows.loc[capture.flows["stream"] == flow.stream, "sender"]
    return [capture.flow(flow.stream, sender) for sender in senders]


def _refused(flow: Flow) -> Flow | None:
    """Return the flow of a stream of whose retransmissions a router had refused most; None without one."""
    return next((one for one in _flows(flow) if path_mtu.most_resent(one)), None)


def _to_an_open_end(flow: Flow) -> SentAgain | None:
    """Return the retransmissions of a flow's stream; None if they are few, or went to an end that had closed."""
    again = sent_again(flow)
    if again is None:
        return None
    quiet = map(silence.of, _flows(flow))
    return None if any(one and one.is_after_close for one in quiet) else again


def _is_rare(flow: Flow) -> bool:
    """Return whether the retransmissions of a flow's stream lie in one or two round trips: by chance, not by the path."""
    return sum(map(len, _repairs(flow))) < FEWEST


def _is_brief(flow: Flow) -> bool:
    """Return whether the rounds with retransmissions of a flow's stream took less time than a person notices."""
    lasted_ns = sum(int((own["end_ns"] - own["start_ns"]).sum()) for own in _repairs(flow))
    return lasted_ns < NOTICED_NS


def _repairs(flow: Flow) -> list[pd.DataFrame]:
    """Return the rounds with retransmissions of each flow of a flow's stream."""
    return [one.rtts[one.rtts["retransmits"] > 0] for one in _flows(flow)]


def said(flow: Flow) -> str:
    """Return a sentence on the retransmissions of a flow's stream; empty if they were few."""
    again = _to_an_open_end(flow)
    if again is None:
        return ""
    share = clause(again.share, "that both ends sent")
    if not again.arrived and (refused := _refused(flow)):
        return f"{share}. {path_mtu.asked(refused)}."
    overtaken = ": others overtook them" if again.overtaken else ""
    arrived = f", though most first copies had arrived{overtaken}" if again.arrived else ""
    return f"{share}{arrived}."


def advice(flow: Flow) -> tuple[str, str] | None:
    """Return whom to ask about a flow's retransmissions, and what to look for there; None if they were few."""
    again, ends = _to_an_open_end(flow), (host(flow.sender), host(flow.receiver))
    if again is None or on_one_machine(*ends):
        return None
    if not again.arrived and (refused := _refused(flow)):
        return f"the router, {path_mtu.too_big(refused)[0].reporter}", path_mtu.ADVICE
    if _is_rare(flow) and (again.overtaken or _is_brief(flow)):
        return None
    client, server = ends if flow.is_from_client else reversed(ends)
    both = f"the path between {client} and {server}"
    if again.arrived:
        return both, _OVERTAKEN if again.overtaken else _HELD
    return next(filter(None, map(shared_losses.place, _flows(flow))), both), _LOST
