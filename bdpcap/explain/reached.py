"""The rate that a flow reached, also where the capture lacks a part of its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import gate
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["acknowledged_bytes", "lacks", "reached_bps", "spoken_rate"]

LACKING: Final = 0.01
"""Share of a flow's payload that the capture may lack before its rate is but a lower bound: less shows nowhere."""


def lacks(flow: Flow) -> bool:
    """Return whether the capture lacks so much acknowledged data that its own show but a lower bound."""
    return int(flow._counts["unseen_bytes"]) > LACKING * int(flow.summary["payload_bytes"])


def acknowledged_bytes(flow: Flow) -> int | None:
    """
    Return how many bytes were acknowledged, those that the capture lacks included.

    Returns
    -------
    None where the capture lacks hardly any, or where no later data show that the sender sent the acknowledged data.
    """
    if not lacks(flow):
        return None
    counts = flow._counts
    acked, unsent = int(counts["acked_bytes"]) + int(counts["unseen_bytes"]), int(counts["unsent_bytes"])
    return None if unsent > LACKING * acked else acked - unsent


def reached_bps(flow: Flow) -> float | None:
    """Return the rate of acknowledged bytes over active time, in bits per second; None where none is known.

    All of `acknowledged_bytes` count. When they passed is unknown, but it was while the flow lasted.
    """
    captured_bps = gate.reached_bps(flow.summary["active_throughput_bps"])
    whole = acknowledged_bytes(flow)
    if captured_bps is None or whole is None:
        return captured_bps
    return gate.reached_bps(captured_bps * whole / max(1, int(flow._counts["acked_bytes"])))


def spoken_rate(flow: Flow) -> str:
    """Return `reached_bps` in words, marked if it is but a lower bound; empty where none is known."""
    rate = reached_bps(flow)
    bound = " or more" if lacks(flow) and acknowledged_bytes(flow) is None else ""
    return "" if rate is None else f"{units.rate(rate)}{bound}"
