"""Data that came after their receiver had closed the connection: no packet answered them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places, silence
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures import outage
from bdpcap.words import units
from bdpcap.words.endpoints import both

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]


def _is_too_late(flow: Flow) -> bool:
    """Return whether such data were the news of a flow. An end that closed a half would have acknowledged them."""
    quiet = silence.of(flow) if outage.stalled(flow) else None
    return quiet is not None and quiet.is_after_close


def _sentence(flow: Flow) -> str:
    quiet = silence.of(flow)
    receiver = both(flow.sender, flow.receiver)[1]
    if quiet is None:
        return ""
    tries = units.number(quiet.retransmits, "retransmission")
    return (
        f"{receiver} had closed the connection {units.duration(quiet.quiet_ns - quiet.waited_ns)} before the last data, "
        f"and answered none of them, nor {tries}."
    )


def _advice(flow: Flow) -> tuple[str, str]:
    if flow.is_from_client:
        return (
            places.sender(flow),
            "Let its program close a connection when the server does, and ask on a new one: nobody got these data.",
        )
    return (
        "",
        "Nothing to mend, unless the client's program needed the rest: it closed the connection before.",
    )


NATURE: Final = Nature("data on a closed connection", _is_too_late, _sentence, _advice, outage.shown)
"""A host that has forgotten a connection answers with resets, or not at all behind a NAT or firewall."""
