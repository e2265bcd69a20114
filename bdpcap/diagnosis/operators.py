"""A program of others that set the pace: the question for its operator, or that nobody waited for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import pauses
from bdpcap.diagnosis.model import Remedy
from bdpcap.diagnosis.natures import outage, requests
from bdpcap.explain.exchange_shares import unasked_ns
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.remedies.host import is_ours
from bdpcap.explain.sent_again import lost
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause

__all__ = ["first"]

LAST_REQUESTS: Final = 2
"""Most requests, as large as the largest with an answer, that may have no answer; a choice."""

LEAST_NS: Final = 2 * NOTICED_NS
"""Time of a program's own writing from which on its pace shows; a choice."""


def first(flow: Flow, why: Cause, own: pd.DataFrame) -> Remedy | None:
    """Return the advice on a program of others that set the pace in a flow's own rounds; None for any other flow."""
    if not why.asked or is_ours(flow, "sender"):
        return None
    if said := _nobody_waited(flow, why, own):
        return Remedy("", said)
    if not why.owed and _is_steady(flow, own):
        return Remedy(
            "",
            f"Nothing to mend: the program at {host(flow.sender)} kept its own pace, as for live media. While it had "
            "data, no pause took a second.",
        )
    words = f"Ask its operator {why.asked}: the capture shows only when."
    return Remedy(why.where(flow), words, outlook=why.then(flow))


def _is_steady(flow: Flow, own: pd.DataFrame) -> bool:
    """Return whether a server's program went on writing by itself for seconds, without a pause that a person notices."""
    writing = own[own["detail"] != "response time"]
    if flow.is_from_client or len(writing) < pauses.MANY:
        return False
    lasting_ns = writing["end_ns"] - writing["start_ns"]
    empty = (flow.rtts["in_flight_max_bytes"] == 0)[writing.index]
    longest_ns = lasting_ns[empty].groupby((~empty).cumsum()[empty]).sum().max() if empty.any() else 0
    return bool(lasting_ns.sum() >= LEAST_NS and longest_ns < NOTICED_NS)


def _nobody_waited(flow: Flow, why: Cause, own: pd.DataFrame) -> str:
    """Return a sentence on a server whose pauses nobody noticed, or hardly any client waited for; empty for any other."""
    if flow.is_from_client or not flow.capture._contents.has_exchanges or flow._requests.empty:
        return ""
    server = host(flow.sender)
    if why.owed or 2 * unasked_ns(flow, own) <= (own["end_ns"] - own["start_ns"]).sum():
        return requests.nobody_waited(flow, server)
    if lost(other := flow.capture.flow(flow.stream, flow.receiver)) and outage.stalled(other):
        return (
            f"Nothing to mend at this end: requests to {server} were lost on the way, and it waited for them."
        )
    # Of requests that went out as data came, the capture does not show when they were answered. The last ones may have
    # had no answer.
    asked_bytes = flow.exchanges["request_bytes"]
    if other.summary["payload_bytes"] - asked_bytes.sum() > LAST_REQUESTS * asked_bytes.max():
        return requests.nobody_waited(flow, server)
    return f"Nothing to mend at this end: for most of that time nobody had asked {server} for anything."
