"""Devices that acknowledge data in place of a far host: their acknowledgments come far sooner than its SYN-ACK."""

from __future__ import annotations

import io

import pytest
from packets import Address, pcap
from scenario import scenario

import bdpcap
from bdpcap.explain.findings import Code


@pytest.mark.parametrize(
    ("opened", "acknowledged", "server", "connections", "told"),
    [
        (".030", ".0003", "8.8.8.8", 2, True),
        (".030", ".0003", "8.8.8.8", 1, False),  # one SYN-ACK may be late by chance
        (".030", ".0003", "192.168.2.7", 2, False),  # a host of one's own network may be slow to open
        (".030", ".0300", "8.8.8.8", 2, False),
        (".002", ".0003", "8.8.8.8", 2, False),  # a host nearby
    ],
)
def test_a_device_that_acknowledges_data_lets_syns_pass(opened, acknowledged, server, connections, told):
    dialogue = f"""
        0        > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +{opened} < S. 0:0(0) ack 1 win 65535 ttl 63 <mss 1460,sackOK,wscale 7>
        +0       > .  1:1(0) ack 1 win 502
        +.001    > P. 1:101(100) ack 1 win 502
        +{acknowledged} < .  1:1(0) ack 101 win 500 ttl 63
        +.040    < P. 1:501(500) ack 101 win 500 ttl 63
        +.00005  > .  101:101(0) ack 501 win 502
    """
    packets = [
        packet
        for number in range(connections)
        for packet in scenario(
            dialogue, client=Address("192.168.1.9", 40_000 + number), server=Address(server, 443)
        )
    ]
    packets.sort(key=lambda packet: packet.time_ns)
    flow = bdpcap.analyze(io.BytesIO(pcap(packets))).flow(0, f"{server}:443")
    found = [one.sentence for one in flow.findings if one.code is Code.PROXY]
    said = (
        "The quickest acknowledgment took 300 us, and the handshake of 8.8.8.8 30 ms: "
        "a NAT or proxy answers in its place."
    )
    assert found == ([said] if told else [])


@pytest.mark.parametrize(("opened", "told"), [(".228", True), (".0002", False)])
def test_a_nat_that_first_connects_itself_shows_the_round_trip_behind_it(opened, told):
    """VirtualBox's NAT sends its SYN-ACK, with the MSS alone and a TTL of 64, once the far host has answered it."""
    dialogue = f"""
        0        > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +{opened} < S. 0:0(0) ack 1 win 65535 <mss 1460>
        +0       > .  1:1(0) ack 1 win 64240
        +.001    > P. 1:101(100) ack 1 win 64240
        +.0002   < .  1:1(0) ack 101 win 65535
        +.3      < P. 1:501(500) ack 101 win 65535
        +.00005  > .  101:101(0) ack 501 win 64240
    """
    ends = {"client": Address("10.0.2.15", 40_000), "server": Address("8.8.8.8", 443)}
    flow = bdpcap.analyze(io.BytesIO(pcap(scenario(dialogue, **ends)))).flow(0, "8.8.8.8:443")
    (said,) = [one.sentence for one in flow.findings if one.code is Code.PROXY]
    assert ("Its handshake took 228 ms: the round trip behind it is no longer." in said) == told
