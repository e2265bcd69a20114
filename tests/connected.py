"""Dialogues whose connections open, fail or end in a known way, and the sentences on them."""

from __future__ import annotations

import io
from dataclasses import replace

from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap.report import connections

OPTIONS = "<mss 1460,sackOK,wscale 7>"


UNANSWERED = "100 > S 0:0(0) win 64240\n+1 > S 0:0(0) win 64240"


TRY = f"> S 0:0(0) win 64240 {OPTIONS}"


OPENS = f"""
    +.020 < S. 0:0(0) ack 1 win 65535 {OPTIONS}
    +0    > . 1:1(0) ack 1 win 502
    +.001 > P. 1:101(100) ack 1 win 502
    +.020 < . 1:1(0) ack 101 win 500
"""


def analyzed(*dialogues, **how):
    packets = [packet for dialogue in dialogues for packet in scenario(dialogue, **how)]
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def lived(dialogue, **how):
    table = analyzed(dialogue, **how).connections
    assert len(table) == 1
    return table.iloc[0]


def outlived(dialogue):
    """The connection of a dialogue in a capture that goes on to 100 s, by another connection."""
    packets = scenario(dialogue) + scenario("100 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    return bdpcap.analyze(io.BytesIO(pcap(packets))).connections.iloc[0]


def failed(failing, others, start_s=0, end_s=200, port=81, beside=()):
    """The sentences on a dialogue with another port, beside a complete connection of the same hosts from `start_s` on."""
    alive = scenario(f"{start_s}{HANDSHAKE.strip().removeprefix('0')}\n{others}")
    packets = alive + scenario(
        failing, client=Address(CLIENT.host, 50_000), server=Address(SERVER.host, port)
    )
    packets += scenario(f"{end_s} > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    packets += beside
    packets.sort(key=lambda packet: packet.time_ns)
    return connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))


def syns(number, client=CLIENT.host, first_port=80, step=0):
    """A capture with a SYN without an answer to each of some servers, 9 s before its end."""
    packets = [
        packet
        for one in range(1, number + 1)
        for packet in scenario(
            "0 > S 0:0(0) win 64240",
            client=Address(client.format(one), 50_000),
            server=Address(f"198.51.100.{one}", first_port + step * one),
        )
    ]
    packets += scenario("9 > S 0:0(0) win 64240", client=Address("192.0.2.9", 9))
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


def shifted(packets, by_ns):
    """The same packets, later."""
    return [replace(packet, time_ns=packet.time_ns + by_ns) for packet in packets]
