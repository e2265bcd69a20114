"""Arrivals in clumps, as interfaces that coalesce interrupts deliver them, change no limit."""

from __future__ import annotations

import pytest
from packets import Address, pcap, tcp_packet
from retimed import clumped

import bdpcap

SENDER, RECEIVER = Address("192.0.2.1", 40000), Address("192.0.2.2", 80)
US, MS = 1_000, 1_000_000
MSS = 1460
PACKET_NS = 140 * US  # on a link of 83 Mbit/s
HALF_RTT_NS = 10 * MS
MOST_IN_FLIGHT = 200  # packets: 143 fill the path, the rest queue
SYN, ACK = 2, 16


def busy_link(count):
    """Packets at the receiver of a transfer in slow start that fills a link; it carries no timestamps."""

    def packet(time_ns, source, seq, ack, flags, payload=0):
        other = SENDER if source is RECEIVER else RECEIVER
        start = {"seq": seq, "ack": ack, "flags": flags, "window": 60_000, "payload_bytes": payload}
        options = b"\x02\x04\x05\xb4\x01\x03\x03\x07" if flags & SYN else b""
        return tcp_packet(time_ns, source, other, options=options, **start)

    yield packet(0, SENDER, 0, 0, SYN)
    yield packet(0, RECEIVER, 0, 1, SYN | ACK)
    yield packet(2 * HALF_RTT_NS, SENDER, 1, 1, ACK)
    releases = [2 * HALF_RTT_NS] * 10  # when the sender may send each packet
    free_ns, flight = 0, 10
    for number in range(count):
        free_ns = max(free_ns, releases[number]) + PACKET_NS
        yield packet(free_ns, SENDER, 1 + number * MSS, 1, ACK, MSS)
        if number % 2:
            yield packet(free_ns, RECEIVER, 1, 1 + (number + 1) * MSS, ACK)
            grown = min(flight + 2, MOST_IN_FLIGHT)
            releases += [free_ns + 2 * HALF_RTT_NS] * (2 + grown - flight)
            flight = grown


@pytest.mark.parametrize("clump_us", [None, 50, 100, 250, 1000])
def test_a_busy_link_stays_the_limit(tmp_path, clump_us):
    path = tmp_path / "link.pcap"
    path.write_bytes(pcap(busy_link(8000)))
    if clump_us is not None:
        path.write_bytes(clumped(path, RECEIVER.host, clump_us * US))
    flow = bdpcap.analyze(path).table("flows").iloc[0]
    # Slow start takes six round trips of sixty.
    assert flow["link_share"] > 0.8
    assert flow["capacity_bps"] == pytest.approx(8 * MSS * 1e9 / PACKET_NS, rel=0.05)
