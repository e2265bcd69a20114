"""Connections that ended without an answer to a request of HTTP/1 in clear text."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from packets import pcap
from scenario import CLIENT, HANDSHAKE, Address, scenario

import bdpcap
from bdpcap.report import connections, headline

ASKED = "+.001 > P. 1:101(100) ack 1 win 502\n"
TAKEN = f"{ASKED}+.02 < . 1:1(0) ack 101 win 500\n"
ANSWERED = f"{TAKEN}+.02 < P. 1:1001(1000) ack 101 win 500\n"
OVERTAKEN = (
    "+.1 < F. 501:501(0) ack 101 win 500\n+0 < P. 1:501(500) ack 101 win 500\n"
    "+0 > . 101:101(0) ack 502 win 502"
)
AGAIN = "+.001 > P. 101:201(100) ack 1001 win 502\n+.02 < . 1001:1001(0) ack 201 win 500\n"


def asking(dialogue, method, client=CLIENT):
    """Return the packets of a dialogue whose client's data begin with a method."""
    begin = 14 + 20 + 20  # Ethernet, IPv4 and TCP without options
    return [
        replace(one, data=one.data[:begin] + method + one.data[begin + len(method) :])
        if one.data[34:36] == client.port.to_bytes(2, "big") and len(one.data) > begin
        else one
        for one in scenario(HANDSHAKE + dialogue, client=client)
    ]


@pytest.mark.parametrize(
    ("dialogue", "method", "waited"),
    [
        (f"{TAKEN}+10 > F. 101:101(0) ack 1 win 502", b"GET ", "10 s"),
        (f"{TAKEN}+10 > F. 101:101(0) ack 1 win 502", b"POST ", "10 s"),
        # A later request of the connection.
        (f"{ANSWERED}{AGAIN}+10 > F. 201:201(0) ack 1001 win 502", b"GET ", "10 s"),
        (f"{TAKEN}+.1 < F. 1:1(0) ack 101 win 500\n+0 > . 101:101(0) ack 2 win 502", b"GET ", "120 ms"),
        # The capture lacks the answer, or has it after the server's FIN.
        (f"{TAKEN}+10 > F. 101:101(0) ack 501 win 502", b"GET ", None),
        (f"{TAKEN}{OVERTAKEN}", b"GET ", None),
        # The answer comes after the client has closed.
        (f"{TAKEN}+10 > F. 101:101(0) ack 1 win 502\n+1 < P. 1:501(500) ack 102 win 500", b"GET ", None),
        # A client that leaves soon may not want the answer any more, or has closed its half only.
        (f"{TAKEN}+2 > F. 101:101(0) ack 1 win 502", b"GET ", None),
        # It was answered, came again after that, did not arrive, or is no request.
        (f"{ANSWERED}+10 > F. 101:101(0) ack 1001 win 502", b"GET ", None),
        (f"{ANSWERED}{ASKED}+10 > F. 101:101(0) ack 1001 win 502", b"GET ", None),
        (f"{ASKED}+10 > F. 101:101(0) ack 1 win 502", b"GET ", None),
        (f"{TAKEN}+10 > F. 101:101(0) ack 1 win 502", b"LOG ", None),
    ],
)
def test_a_request_that_is_acknowledged_and_never_answered_fails(dialogue, method, waited):
    capture = bdpcap.analyze(io.BytesIO(pcap(asking(dialogue, method))))
    said = " ".join(connections.sentences(capture))
    assert (f"got no answer to an HTTP request, and ended after {waited}." in said) == (waited is not None)
    assert connections.failed(capture) == (waited is not None)
    assert capture.connections["http_unanswered_ns"].notna().any() >= (waited is not None)


@pytest.mark.parametrize(("failed", "most"), [(12, True), (5, False)])
def test_flows_of_connections_that_failed_need_mending(failed, most):
    closed = f"{ASKED}+.02 < F. 1:1(0) ack 101 win 500\n+0 > . 101:101(0) ack 2 win 502"
    served = f"{ANSWERED}+.001 > . 101:101(0) ack 1001 win 502"
    packets = [
        packet
        for number in range(12)
        for packet in asking(
            closed if number < failed else served, b"GET ", Address(CLIENT.host, 40_000 + number)
        )
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))
    assert connections.failed(capture) == failed
    assert headline.no_bulk(capture).endswith("most of them on connections that failed.") == most
