"""Findings on effects of the capture's place: missing data, offload, and delay between TCP and the tap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import gateways, remedies
from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.solver import Exactness
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["explains", "incomplete", "proxy"]

MISSED: Final = 1 / 3
"""Share of missing data from which no setting is named. At 1/3, half as much is missing as was captured."""

_USUAL_MSS: Final = 1460
"""MSS of Ethernet with IPv4."""


def explains(flow: Flow) -> list[Finding]:
    """Return findings on segments larger than the MSS, on delays between the tap and both ends, and on a proxy."""
    return [told for told in (_offload(flow), _delay(flow), proxy(flow)) if told is not None]


def incomplete(flow: Flow) -> list[Finding]:
    """Return a finding if the capture lacks so much of a flow that no setting follows from it; else empty."""
    missed = int(flow._counts["unseen_bytes"])
    share = missed / max(1, missed + int(flow.summary["payload_bytes"]))
    if flow._counts["acknowledgments_missing"]:
        acks = units.number(int(flow._counts["acks"]), "acknowledgment")
        lack = (
            f"{acks} for {units.data_size(int(flow.summary['payload_bytes']))}: those that the receiver must have sent "
            "are not in the capture"
        )
    elif share >= MISSED:
        lack = f"{share:.0%} of the data that were acknowledged are not in the capture"
    else:
        return []
    return [
        Finding(
            code=Code.CAPTURE_INCOMPLETE,
            sentence=f"{lack}, and no setting follows from it.",
            cause="A filter or one-sided routing kept them out, or the capture lost them.",
            remedy="Capture on an end host, both directions, headers only, with a large buffer.",
            commands=("tcpdump -s 128 -B 65536 -w capture.pcap 'host PEER and tcp'",),
            evidence="acknowledgments of what was not captured, or too few acknowledgments for what was",
            values={"missed_bytes": missed},
            certainty=Certainty.CERTAIN,
            source="RFC 9293 sections 3.8.6.3 and 3.4",
        )
    ]


def _offload(flow: Flow) -> Finding | None:
    largest, said = flow._counts["largest_bytes"], bool(flow._counts["handshake"])
    # Without the handshake the MSS is a guess: report only segments too large for Ethernet with an MTU of 1500.
    mss = (
        max(int(flow._counts["announced_mss_bytes"] or 0), int(flow.summary["mss_bytes"]))
        if said
        else _USUAL_MSS
    )
    if largest is None or largest <= mss:
        return None
    bound = f"the MSS of {mss:,}" if said else f"the {mss:,} that an MTU of 1,500 carries"
    receiving = str(flow.summary["vantage"]) == "receiver"
    action = (
        "joins segments after they arrive (GRO, LRO)"
        if receiving
        else "cuts segments after they were captured (TSO, GSO)"
    )
    return Finding(
        code=Code.OFFLOAD,
        sentence=f"Segments of up to {units.exact_bytes(largest)} were captured, {largest / mss:.1f} times {bound}: "
        "the wire had them in pieces.",
        cause=f"The captured host {action}; times inside such a burst are not those of the wire.",
        remedy="Before a capture that is to show packets as the wire has them, turn offload off on the captured host; "
        "for measuring throughput leave it on.",
        commands=remedies.of(flow, "receiver" if receiving else "sender").linux(
            "ethtool -k eth0   # captured host: what is on",
            "ethtool -K eth0 tso off gso off" if not receiving else "ethtool -K eth0 gro off lro off",
            *(() if receiving else ("ethtool -K eth0 gro off   # captured host, for the other direction",)),
        ),
        evidence="largest payload of a captured segment",
        values={"largest_bytes": int(largest), "mss_bytes": mss},
        exactness=Exactness.EXACT if said else Exactness.CONSISTENT,
        source="Linux Documentation/networking/segmentation-offloads",
    )


def _delay(flow: Flow) -> Finding | None:
    near, far = flow._counts["sender_side_ns"], flow._counts["receiver_side_ns"]
    if str(flow.summary["vantage"]) != "between" or not near or not far:
        return None
    return Finding(
        code=Code.DELAY_BEFORE_TAP,
        sentence=f"Captured {units.duration(near)} from the sender and {units.duration(far)} from the receiver, "
        "there and back.",
        cause="The capture was taken on the way, or on an end host behind an emulated delay. tcpdump sees what "
        "leaves after netem has held it, and what arrives before any queue. Bytes in flight are those of the sender, "
        "reconstructed.",
        remedy="If it was taken on an end host, look for netem there; delay on a separate machine keeps TCP's times.",
        commands=("tc -s qdisc show dev eth0   # captured host: is netem there?",),
        evidence="half round trips, from timestamp echoes and the handshake",
        values={"sender_side_ns": int(near), "receiver_side_ns": int(far)},
        source="RFC 7323 section 4; Linux dev_hard_start_xmit() (after the qdisc)",
    )


def proxy(flow: Flow) -> Finding | None:
    """Return a finding on a public address whose TCP ends near a private one; None if there is no such sign."""
    found = gateways.gateway(flow)
    if found is None:
        return None
    quickest = f"quickest acknowledgment took {units.duration(found.rtt_ns)}"
    said = (
        f"Packets of {found.address} passed no router (TTL {found.ttl}), and its {quickest}"
        if found.opened_ns is None
        else f"The {quickest}, and the handshake of {found.address} {units.duration(found.opened_ns)}"
    )
    behind = (
        ""
        if found.behind_ns is None
        else f" Its handshake took {units.duration(found.behind_ns)}: the round trip behind it is no longer."
    )
    return Finding(
        code=Code.PROXY,
        sentence=f"{said}: a NAT or proxy answers in its place.{behind}",
        cause="A NAT or proxy next to the capture, such as that of a virtual machine, ends TCP itself. Round trips, "
        "windows and losses are those of the way to it.",
        remedy=gateways.REMEDY,
        evidence=f"TTL of both ends, round trip of data, and {found.sign}",
        values={"rtt_ns": found.rtt_ns, "ttl": found.ttl},
        source="RFC 791 section 3.2; RFC 3135 section 2",
    )
