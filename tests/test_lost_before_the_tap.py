"""Data whose loss before the tap only the number of a pure acknowledgment shows (RFC 9293 section 3.10.7.4)."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from packets import pcap
from scenario import CLIENT, HANDSHAKE, SERVER, scenario

import bdpcap

ASKED = "+.1 > P. 1:101(100) ack 1 win 502\n"
# The server acknowledges the request in two packets; its answer of 500 bytes left between them, or after both.
LOST = "+.02 < . 1:1(0) ack 51 win 500\n+.01 < . {shown}:{shown}(0) ack 101 win 500\n"
AGAIN = "+2 < P. 1:501(500) ack 101 win 500\n+.001 > . 101:101(0) ack 501 win 502\n"


def capture_of(dialogue):
    return bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + dialogue))))


@pytest.mark.parametrize(("shown", "is_sent_again"), [(501, True), (1, False)])
def test_the_number_of_an_acknowledgment_shows_that_data_were_sent(shown, is_sent_again):
    capture = capture_of(ASKED + LOST.format(shown=shown) + AGAIN)
    answer = capture.flow(0, str(SERVER))
    assert answer.summary["retransmits"] == is_sent_again
    # Lost data waited for their timer; else the server took these two seconds.
    [exchange] = capture.exchanges.to_dict("records")
    waited_s = (exchange["response_start_ns"] - exchange["request_end_ns"]) / 1e9
    assert waited_s == pytest.approx(0.03 if is_sent_again else 2.03)
    stall_s = answer.summary["longest_stall_ns"] / 1e9
    assert (stall_s >= 2) == is_sent_again
    assert answer.summary["payload_bytes"] == 500


@pytest.mark.parametrize(
    "shown",
    [
        2,  # a FIN, perhaps
        1_000_000,  # beyond the client's window
    ],
)
def test_a_number_that_may_show_no_data_changes_nothing(shown):
    answer = capture_of(ASKED + LOST.format(shown=shown) + AGAIN).flow(0, str(SERVER))
    assert answer.summary["retransmits"] == 0


def test_data_that_are_captured_a_moment_after_are_no_retransmission():
    answered = "+.02 < P. 1:501(500) ack 101 win 500\n+.001 < . 501:501(0) ack 101 win 500\n"
    *before, data, acknowledgment = scenario(HANDSHAKE + ASKED + answered)
    late = replace(data, time_ns=acknowledgment.time_ns), replace(acknowledgment, time_ns=data.time_ns)
    capture = bdpcap.analyze(io.BytesIO(pcap([*before, *reversed(late)])))
    answer = capture.flow(0, str(SERVER)).summary
    assert (answer["retransmits"], answer["reordered"]) == (0, 1)


@pytest.mark.parametrize(("identification", "overtaken"), [(8000, True), (8003, False)])
def test_data_that_an_acknowledgment_overtook_in_their_senders_queue_were_not_lost(identification, overtaken):
    # The queue gives identifications as packets leave it: none left between the two acknowledgments.
    answered = (
        "+.02 < . 1:1(0) ack 51 win 500 id 7999\n"
        f"+.01 < . 2001:2001(0) ack 101 win 500 id {identification}\n"
        f"+.05 < . 1:1001(1000) ack 101 win 500 id {identification + 1}\n"
        f"+.001 < . 1001:2001(1000) ack 101 win 500 id {identification + 2}\n"
        "+.001 > . 101:101(0) ack 2001 win 502\n"
    )
    answer = capture_of(ASKED + answered).flow(0, str(SERVER))
    counts = answer.summary["retransmits"], answer.summary["reordered"], answer._counts["lost_before_tap"]
    assert counts == ((0, 2, 0) if overtaken else (2, 0, 2))


def test_a_direction_without_captured_data_is_no_flow():
    closed = "+.1 < F. 501:501(0) ack 101 win 500\n+.001 > . 101:101(0) ack 502 win 502\n"
    capture = capture_of(ASKED + LOST.format(shown=501) + closed)
    assert capture.flows["sender"].tolist() == [str(CLIENT)]
