"""A client whose program pauses after it had its answers: nothing on the path is to be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import pauses
from bdpcap.diagnosis.model import Remedy
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause

__all__ = ["first"]

FEWEST_ANSWERS: Final = 2
"""Fewest requests with an answer that show a client in a dialogue with its server; a choice."""


def first(flow: Flow, _: Cause) -> Remedy | None:
    """Return a sentence on a client's program that paused after it had its answers; None for any other flow.

    A server that answers with little more than a status, and not after most pauses, takes in an upload. So does one that
    gets more than an initial window each time. Then the program is to write on.
    """
    if not (flow.is_from_client and flow.capture._contents.has_exchanges):
        return None
    both_bytes = flow.capture._contents.streams.sides(flow.stream)["payload_bytes"].sum()
    answers_bytes = both_bytes - flow.summary["payload_bytes"]
    if not answers_bytes:
        return None
    # Requests that overlap are none of the counted ones; each wait of the server for data of the client ends with some.
    turns = pauses.of(flow.capture.flow(flow.stream, flow.receiver).rtts).after_peer
    asked = max(len(flow._requests), turns)
    answered = answers_bytes >= NOTABLE_SHARE * both_bytes or asked >= pauses.of(flow.rtts).own
    small = flow.summary["payload_bytes"] <= asked * initial_window_bytes(flow)
    if asked < FEWEST_ANSWERS or not (answered and small):
        return None
    return Remedy(
        "",
        f"Nothing to mend on the path: the time passes at {host(flow.sender)}, with its program or its user.",
    )
