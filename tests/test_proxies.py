"""Proxies that a client asks for the pages of others: the time that it takes may be that of servers behind it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from dialogues import asked
from packets import pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap.report import screen

PAYLOAD = 14 + 20 + 20  # Ethernet, IPv4 and TCP without options


def answered(begin, waits_s, answer):
    """Return the flow of a server that answers requests after so many seconds each, which all begin with some bytes."""
    return of(begin, scenario(HANDSHAKE + asked(waits_s, think="+.010", answer=answer)))


def of(begin, packets):
    """Return the flow of the server in packets whose requests begin with some bytes."""
    asking = [
        replace(one, data=one.data[:PAYLOAD] + begin + one.data[PAYLOAD + len(begin) :])
        if one.data[34:36] == CLIENT.port.to_bytes(2, "big") and len(one.data) > PAYLOAD
        else one
        for one in packets
    ]
    return bdpcap.analyze(io.BytesIO(pcap(asking))).flow(0, str(SERVER))


@pytest.mark.parametrize(
    ("begin", "is_proxy"),
    [
        (b"GET http://example.org/ HTTP/1.1", True),
        (b"CONNECT example.org:443 HTTP/1.1", True),
        (b"GET /http://example.org HTTP/1.1", False),
        (b"GET / HTTP/1.1", False),
    ],
)
def test_the_time_of_a_proxy_may_be_that_of_servers_behind_it(begin, is_proxy):
    flow = answered(begin, [0.2] * 8, 20_000)
    whose = (
        "The proxy let its client wait, for itself or for servers behind it"
        if is_proxy
        else "The server's program let its client wait"
    )
    assert f"{whose}: it took 1.6 s in all to answer 8 requests." in screen.sentences(flow)[-1]
    assert ("which servers it asked" in flow.remedy.words) == is_proxy
    # Many small answers make no bulk.
    small = answered(begin, [1.5, 3.1, 0.7, 2.2, 4.3, 1.1, 2.9, 1.9], 300)
    assert "8 requests one after the other" in screen.sentences(small)[0]
    assert ("The server is a proxy: see in its log" in small.remedy.words) == is_proxy


@pytest.mark.parametrize(
    ("begin", "is_proxy"), [(b"CONNECT example.org:443 HTTP/1.1", True), (b"GET / HTTP/1.1", False)]
)
def test_a_proxy_that_pauses_waits_for_the_server_behind_it(begin, is_proxy):
    """One request, and an answer in sixty pieces, whose pauses vary: no program next to the capture made them."""
    text, sent = HANDSHAKE + "+.001 > P. 1:101(100) ack 1 win 502\n+.020 < . 1:1(0) ack 101 win 512\n", 1
    for number in range(60):
        text += f"+{0.05 + 0.011 * (number * 7 % 10):.3f} < P. {sent}:{sent + 1000}(1000) ack 101 win 512\n"
        sent += 1000
        text += f"+.0001 > . 101:101(0) ack {sent} win 502\n"
    flow = of(begin, scenario(text))
    assert flow.summary["limit"] == "app"
    said = screen.sentences(flow)[-1]
    assert ("The proxy had nothing to pass on" in said) == is_proxy
    assert ("waited for the server behind it" in flow.remedy.words) == is_proxy
