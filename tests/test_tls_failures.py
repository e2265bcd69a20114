"""TLS handshakes that an alert or silence ends."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap.report import connections

TLS_HELLO = """
    +.001 > P. 1:301(300) ack 1 win 502
    +.020 < P. 1:1001(1000) ack 301 win 500
"""


"""A client hello and its answer, of which the payload is not looked at."""


@pytest.mark.parametrize(
    ("level", "description", "told"),
    [
        # RFC 8446 section 6: fatal alerts end the handshake, whichever they are.
        (
            2,
            22,
            "alert record_overflow. TCP worked. The client got no TLS: the server may speak plain text there",
        ),
        (2, 70, "alert protocol_version. TCP worked. See which TLS versions both ends allow."),
        (
            2,
            48,
            "alert unknown_ca. TCP worked. The client does not trust the issuer of the certificate of the server. If",
        ),
        (2, 50, "alert decode_error. TCP worked. See in the log of either end"),
        (2, 200, "alert 200. TCP worked."),
        # A warning lets the handshake go on, and close_notify is no error.
        (1, 112, None),
        (2, 0, None),
    ],
)
def test_a_fatal_alert_in_clear_text_ends_a_tls_handshake(level, description, told):
    alert = bytes([21, 3, 3, 0, 2, level, description])
    *opened, last = scenario(HANDSHAKE + TLS_HELLO + "+.001 > P. 301:308(7) ack 1001 win 502")
    sent = replace(last, data=last.data[: -len(alert)] + alert)
    capture = bdpcap.analyze(io.BytesIO(pcap([*opened, sent])))
    row = capture.connections.iloc[0]
    said = connections.sentences(capture)
    if told is None:
        assert not said
        assert row.isna()[["tls_alert", "tls_alert_by"]].all()
    else:
        start = f"1 connection from {CLIENT.host} to port 80 of {SERVER.host} ended in a failed TLS handshake: the client"
        assert said[0].startswith(f"{start} sent the {told}")
        assert (row.tls_alert, row.tls_alert_by) == (description, str(CLIENT))
    assert connections.failed(capture) == (told is not None)
    # The first text begins with it where nothing else is to be mended.
    assert connections.in_vain(capture) == (told is not None)


@pytest.mark.parametrize(("networks", "taken"), [(3, True), (2, False)])
def test_a_proxy_that_takes_a_hello_is_not_the_host(networks, taken):
    # Hosts of so many networks acknowledge within a millisecond, and their packets pass no router.
    others = "+.001 > P. 1:518(517) ack 1 win 502\n+.0005 < . 1:1(0) ack 518 win 500\n"
    packets = []
    for one in range(networks):
        end = "+10 > F. 518:518(0) ack 1 win 502" if not one else "+.1 < P. 1:1001(1000) ack 518 win 500"
        frames = scenario(
            HANDSHAKE + others + end,
            client=Address("192.168.1.9", 50_000 + one),
            server=Address(f"{20 + one}.0.0.1", 443),
        )
        hello = b"\x16\x03\x01\x02\x00\x01"
        frames[3] = replace(frames[3], data=frames[3].data[:54] + hello + frames[3].data[60:])
        packets += frames
    packets.sort(key=lambda packet: packet.time_ns)
    said = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    (line,) = [one for one in said if "TLS hello" in one]
    assert ("A NAT or proxy next to 192.168.1.9 acknowledged the hello" in line) == taken


HELLO = "+.001 > P. 1:518(517) ack 1 win 502\n"


TAKEN = f"{HELLO}+.005 < . 1:1(0) ack 518 win 500\n"


@pytest.mark.parametrize(
    ("dialogue", "record", "waited"),
    [
        (f"{TAKEN}+10 > F. 518:518(0) ack 1 win 502", 22, "10 s"),
        # What comes after the client left is no answer in time.
        (
            f"{TAKEN}+10 > F. 518:518(0) ack 1 win 502\n+.03 < P. 1:136(135) ack 519 win 500\n+0 > R 519:519(0) win 0",
            22,
            "10 s",
        ),
        (f"{TAKEN}+.1 < F. 1:1(0) ack 518 win 500\n+0 > . 518:518(0) ack 2 win 502", 22, "105 ms"),
        # It came again once the answer had begun: that hello had its answer.
        (
            f"{TAKEN}+.02 < P. 1:1001(1000) ack 518 win 500\n{HELLO}+10 > F. 518:518(0) ack 1001 win 502",
            22,
            None,
        ),
        # A client that leaves soon may not want the connection any more.
        (f"{TAKEN}+2.9 > F. 518:518(0) ack 1 win 502", 22, None),
        # It was answered, did not arrive, or is no TLS: a log's server answers nothing.
        (f"{TAKEN}+.02 < P. 1:1001(1000) ack 518 win 500\n+10 > F. 518:518(0) ack 1001 win 502", 22, None),
        (f"{HELLO}+10 > F. 518:518(0) ack 1 win 502", 22, None),
        (f"{TAKEN}+10 > F. 518:518(0) ack 1 win 502", 71, None),
    ],
)
def test_a_tls_hello_that_is_acknowledged_and_never_answered_fails(dialogue, record, waited):
    hello = scenario(HANDSHAKE + HELLO)[-1]
    begin = 14 + 20 + 20  # Ethernet, IPv4 and TCP without options
    # The source port to the sequence number, from the start of the TCP header.
    is_hello = hello.data[34:42].__eq__
    packets = [
        replace(one, data=one.data[:begin] + bytes([record, 3, 1]) + one.data[begin + 3 :])
        if is_hello(one.data[34:42]) and len(one.data) > begin
        else one
        for one in scenario(HANDSHAKE + dialogue)
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    said = " ".join(connections.sentences(capture))
    assert (f"got no answer to a TLS hello, and ended after {waited}." in said) == (waited is not None)
    assert ("it seems to speak another protocol on this port." in said) == ("(135)" in dialogue)
    assert connections.failed(capture) == (waited is not None)


def test_alerts_of_both_ends_have_lines_of_their_own():
    packets = []
    for number, (way, description) in enumerate(
        [("> P. 301:308(7) ack 1001", 42), ("< P. 1001:1008(7) ack 301", 40)] * 2
    ):
        *opened, last = scenario(
            f"{HANDSHAKE}{TLS_HELLO}+.001 {way} win 502", client=Address(CLIENT.host, 40_000 + number)
        )
        packets += [*opened, replace(last, data=last.data[:-7] + bytes([21, 3, 1, 0, 2, 2, description]))]
    of_client, of_server = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    for said, alert in (
        (of_client, "client sent the alert bad_certificate"),
        (of_server, "server sent the alert handshake_failure"),
    ):
        assert said.startswith("2 connections from")
        assert f": the {alert}. " in said
