"""Servers whose responses in clear text are errors."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from packets import Address, pcap
from scenario import HANDSHAKE, SERVER, scenario

import bdpcap
from bdpcap.report import error_responses

HEADERS = 14 + 20 + 20  # Ethernet, IPv4 and TCP without options


def capture_of(*responses, port=SERVER.port):
    """Return a capture in which one connection asks for each response in turn."""
    dialogue, packets = HANDSHAKE, []
    for number in range(len(responses)):
        asked, answered = 1 + 100 * number, 1 + 200 * number
        dialogue += f"+.1 > P. {asked}:{asked + 100}(100) ack {answered} win 502\n"
        dialogue += f"+.02 < P. {answered}:{answered + 200}(200) ack {asked + 100} win 500\n"
        dialogue += f"+.001 > . {asked + 100}:{asked + 100}(0) ack {answered + 200} win 502\n"
    texts = iter(responses)
    old, new = SERVER.port.to_bytes(2, "big"), port.to_bytes(2, "big")
    for one in scenario(dialogue):
        data = one.data
        from_server = data[34:36] == old
        data = data[:34] + (new + data[36:] if from_server else data[34:36] + new + data[38:])
        if from_server and len(data) > HEADERS + 20:
            text = next(texts)
            data = data[:HEADERS] + text + data[HEADERS + len(text) :]
        packets.append(replace(one, data=data))
    return bdpcap.analyze(io.BytesIO(pcap(packets)))


@pytest.mark.parametrize(
    ("responses", "said"),
    [
        ([b"HTTP/1.1 404 No"], "1 of 1 HTTP response from port 80 of {} was an error: 404 (not found)."),
        (
            [b"HTTP/1.1 200 OK", b"HTTP/1.0 403 No", b"HTTP/1.1 401 No"],
            "2 of 3 HTTP responses from port 80 of {} were errors, such as 401 (unauthorized).",
        ),
        # One error of the server is worth a look; the icon that a browser asks for is not.
        ([b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.1 503 x"], "was an error: 503 (service unavail"),
        ([b"HTTP/1.1 200 OK", b"HTTP/1.1 404 No"], None),
        # Credentials that were asked for and given are no error; those that are refused again are.
        ([b"HTTP/1.1 401 No", b"HTTP/1.1 200 OK"], None),
        ([b"HTTP/1.1 401 No", b"HTTP/1.1 401 No"], "2 of 2 HTTP responses"),
        ([b"HTTP/1.1 401 No", b"HTTP/1.1 401 No", b"HTTP/1.1 200 OK"], None),  # as of NTLM
        ([b"HTTP/1.1 401 No", b"HTTP/1.1 100 Go", b"HTTP/1.1 200 OK"], None),
        # An error of the server comes before one of the client.
        ([b"HTTP/1.1 500 No", b"HTTP/1.1 401 No", b"HTTP/1.1 200 OK"], "1 of 3 HTTP responses"),
        ([b"HTTP/1.1 200 OK", b"HTTP/1.1 500 No", b"HTTP/1.1 404 No"], "500 (internal server error)"),
        # An interim response, a redirection, an unknown status, and no HTTP.
        ([b"HTTP/1.1 100 Go", b"HTTP/1.1 404 No"], "1 of 1 HTTP response"),
        ([b"HTTP/1.1 302 Go", b"HTTP/1.1 304 No"], None),
        ([b"HTTP/1.1 499 No"], "499 (an error)"),
        ([b"404 Not Found"], None),
        # The client began a request, and did not end it in time (RFC 9110 section 15.5.9).
        ([b"HTTP/1.1 408 No"], "was an error: 408 (request timeout)."),
        ([b"425 No data"], None),
    ],
)
def test_a_server_is_named_whose_responses_are_errors(responses, said):
    capture = capture_of(*responses, port=80)
    sentences = [sentence for sentence, _ in error_responses.sentences(capture)]
    assert len(sentences) == (said is not None)
    assert all(said.format(SERVER.host) in sentence for sentence in sentences)
    statuses = [text.split()[1] for text in responses if text.startswith(b"HTTP")]
    final = [int(status) for status in statuses if status >= b"200"]
    # Credentials are refused as long as only such responses follow.
    wrong = [one for at, one in enumerate(final) if one >= 400 and (one != 401 or set(final[at:]) == {401})]
    row = capture.connections.iloc[0]
    assert row["error_responses"] == len(wrong)
    assert row["http_responses"] == len(final)
    grave = [one for one in wrong if one >= 500] or wrong or [None]
    assert (None if row.isna()["error_status"] else row["error_status"]) == grave[-1]


def test_a_spare_connection_that_a_server_closes_answers_no_request():
    """Browsers open connections before they need them. The server sends 408 where no request came (RFC 9110)."""
    talk = f"{HANDSHAKE}+30 < FP. 1:101(100) ack 1 win 500\n+.001 > F. 1:1(0) ack 102 win 502\n"
    packets = [
        replace(one, data=one.data[:HEADERS] + b"HTTP/1.1 408 Timeout" + one.data[HEADERS + 20 :])
        if len(one.data) > HEADERS + 20
        else one
        for one in scenario(talk, server=Address(SERVER.host, 80))
    ]
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)))
    assert not error_responses.sentences(capture)
    assert capture.connections["http_responses"].iloc[0] == 0


def test_a_failed_data_connection_of_ftp_asks_for_passive_mode():
    capture = capture_of(b"150 Here it comes", b"425 Failed to establish", port=21)
    [(sentence, number)] = error_responses.sentences(capture)
    assert number == 1
    assert f"The FTP server {SERVER.host} reported that it opened no connection for data (425)." in sentence
    assert "passive mode" in sentence
    row = capture.connections.iloc[0]
    assert (row["http_responses"], row["error_responses"], row["error_status"]) == (0, 1, 425)


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([b"220 Hi", b"530 Login incorrect"], "reported that it refused a login (530)"),
        ([b"530 No", b"530 No"], "reported, 2 times, that it refused a login (530)"),
        # A server asks for a login so, too.
        ([b"530 Please log in", b"230 Logged in"], None),
        ([b"530 Please log in", b"230-Hello"], None),
        ([b"230 Logged in", b"550 No such file"], None),
    ],
)
def test_a_refused_login_of_ftp_is_an_error_without_a_later_one(replies, said):
    found = error_responses.sentences(capture_of(*replies, port=21))
    assert len(found) == (said is not None)
    assert all(f"The FTP server {SERVER.host} {said}" in sentence for sentence, _ in found)
