"""Packets that a router or a host refused, as ICMP error messages in the capture say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bdpcap import _core

if TYPE_CHECKING:
    from bdpcap.read.anonymize import Pseudonyms

__all__ = ["Refused", "refused"]


@dataclass(frozen=True, slots=True)
class Refused:
    """
    Packets of one flow that one address refused for one reason.

    Attributes
    ----------
    reporter
        Address that sent the messages.
    sender, receiver
        Endpoints of the refused packets.
    reason
        One of `bdpcap._core.REFUSALS`.
    mtu_bytes
        Largest packet that the next link carries, by the strictest message; None where none says.
    packets, payload_bytes
        Number and payload of the refused packets.
    frames
        Frames of the first and the last message.
    """

    reporter: str
    sender: str
    receiver: str
    reason: str
    mtu_bytes: int | None
    packets: int
    payload_bytes: int
    frames: tuple[int, int]


def refused(columns: dict[str, Any], pseudonyms: Pseudonyms | None) -> list[Refused]:
    """Return the rows of `bdpcap._core.Analysis.refusals` in their order, with pseudonyms if there are any."""
    if pseudonyms:
        reporters = [pseudonyms.address(address) for address in columns["reporter"]]
        columns = pseudonyms.directions(columns) | {"reporter": reporters}
    names = (
        "reporter", "sender", "receiver", "refusal", "mtu_bytes", "packets", "payload_bytes", "first_frame", "last_frame",
    )  # fmt: skip
    return [
        Refused(
            str(reporter),
            str(sender),
            str(receiver),
            _core.REFUSALS[int(reason)],
            None if mtu == _core.NULL else int(mtu),
            int(packets),
            int(payload),
            (int(first), int(last)),
        )
        for reporter, sender, receiver, reason, mtu, packets, payload, first, last in zip(
            *(columns[name] for name in names), strict=True
        )
    ]
