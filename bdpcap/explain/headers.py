"""Header overhead: payload as a share of all bytes for which a packet occupies the link."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bdpcap.errors import ArgumentError

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = [
    "ANY_MTU",
    "ETHERNET_MTU",
    "INSIDE_MTU",
    "OUTSIDE_MTU",
    "Packet",
    "full_packet",
    "of_endpoint",
    "packet",
]

OUTSIDE_MTU: Final = {
    "ethernet": 38,
    "vlan": 4,
    "mpls": 4,
}
"""Header and framing bytes outside the MTU.

Ethernet: preamble and start delimiter 8, header 14, check sequence 4, gap 12 (IEEE 802.3 clauses 3.1.1, 4.4.2);
VLAN tag 4 (IEEE 802.1Q clause 9); MPLS label 4 (RFC 3032 section 2.1).
"""

INSIDE_MTU: Final = {
    "pppoe": 8,
    "ipv4": 20,
    "ipv6": 40,
    "tcp": 20,
    "timestamps": 12,
    "udp": 8,
    "gre": 4,
    "vxlan": 8,
}
"""Header bytes inside the MTU, without options.

In this order: RFC 2516 section 4 with the PPP protocol field; RFC 791; RFC 8200; RFC 9293; RFC 7323 section 3.2, padded
to words; RFC 768; RFC 2784; RFC 7348.
"""


def of_endpoint(endpoint: str) -> int:
    """Return the bytes of the headers of IP and TCP without options, by the IP version of an endpoint's address."""
    return INSIDE_MTU["ipv6" if endpoint.startswith("[") else "ipv4"] + INSIDE_MTU["tcp"]


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet with its headers: payload and total size."""

    payload_bytes: int
    wire_bytes: int
    """Bytes for which the packet occupies the link, gap between frames included."""

    @property
    def efficiency(self) -> Fraction:
        """Payload over bytes on the wire, 0 to 1."""
        return Fraction(self.payload_bytes, self.wire_bytes)


ETHERNET_MTU: Final = 1500
"""Largest packet on Ethernet in bytes (RFC 894)."""
ANY_MTU: Final = 1 << 17
"""More bytes than any packet has: an IP packet without jumbograms has at most 65,575 (RFC 8200 section 3)."""
_MOST_DIGITS: Final = 5
"""Digits of a number of bytes inside an MTU, which has five at most."""


def packet(stack: str, mtu_bytes: int = ETHERNET_MTU, payload_bytes: int | None = None) -> Packet:
    """
    Return a packet with a stack of headers.

    Parameters
    ----------
    stack
        Names of `OUTSIDE_MTU` and `INSIDE_MTU`, or numbers of bytes inside the MTU, separated by commas. Names may
        repeat.
    mtu_bytes
        Largest packet that the link carries, IP header included.
    payload_bytes
        Payload of the packet; None fills the MTU.

    Raises
    ------
    ArgumentError
        A name is unknown, or the packet exceeds the MTU.
    """
    outside = inside = 0
    for name in (part.strip().lower() for part in stack.split(",")):
        if name in OUTSIDE_MTU:
            outside += OUTSIDE_MTU[name]
        elif name in INSIDE_MTU:
            inside += INSIDE_MTU[name]
        elif name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS:
            inside += int(name)
        else:
            known = ", ".join([*OUTSIDE_MTU, *INSIDE_MTU])
            raise ArgumentError(f"no header {name!r}: there are {known}, or a number of bytes")
    payload = mtu_bytes - inside if payload_bytes is None else payload_bytes
    if payload < 1 or payload + inside > mtu_bytes:
        raise ArgumentError(
            f"{inside} bytes of headers and {max(payload, 1)} of payload exceed the MTU, {mtu_bytes}"
        )
    return Packet(payload, payload + inside + outside)


def full_packet(flow: Flow) -> Packet:
    """
    Return a full packet of a flow, with its MSS, IP version, timestamps option and VLAN tags.

    Ethernet framing is counted unless the link type is PPP. Cooked and raw captures leave the framing out, but nearly
    all of them were taken on Ethernet.
    """
    point_to_point = {"PPP", "PPP in HDLC framing"} & set(flow.capture.info.link_types)
    outside = () if point_to_point else ("ethernet",)
    tags = ("vlan",) * str(flow._counts["path"] or "").upper().count("VLAN")
    version = "ipv6" if flow.sender.startswith("[") else "ipv4"
    options = ("timestamps",) if flow._counts["has_timestamps"] else ()
    stack = ",".join((*outside, *tags, version, "tcp", *options))
    return packet(stack, mtu_bytes=ANY_MTU, payload_bytes=max(1, int(flow.summary["mss_bytes"])))
