"""Congestion marks (ECN, RFC 3168): a flow that they hold back, and one that they touch."""

import io

from packets import pcap
from scenario import scenario

import bdpcap
from bdpcap.diagnosis.remedy import remedy
from bdpcap.report import screen
from bdpcap.report.notes import notes

MSS = 1460


def marked(rounds, *, agreed=True, pause=".001"):
    """Return a dialogue of flights of so many segments each; the acknowledgments of a negative number echo a mark."""
    opening = [
        f"0     > {'SEW' if agreed else 'S'} 0:0(0) win 64240 <mss 1460,sackOK,wscale 7>",
        f"+.020 < {'SE.' if agreed else 'S.'} 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>",
        "+0 > . 1:1(0) ack 1 win 502",
    ]
    lines, at = [], 1
    for flight in rounds:
        count = abs(flight)
        for number in range(count):
            first = at + number * MSS
            wait = "0" if number else pause
            lines.append(f"+{wait} > . {first}:{first + MSS}({MSS}) ack 1 win 502")
        for number in range(count):
            flags = "E." if flight < 0 else "."
            acked = at + (number + 1) * MSS
            lines.append(f"+{'.0001' if number else '.020'} < {flags} 1:1(0) ack {acked} win 20000")
        at += count * MSS
    return "\n".join([*opening, *lines])


SAWTOOTH = [10, 20, -20, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, -20] + 8 * [*range(10, 20), -20]


def flow_of(text):
    return bdpcap.analyze(io.BytesIO(pcap(scenario(text)))).flow(0)


def test_a_flow_that_marks_hold_back_names_them():
    flow = flow_of(marked(SAWTOOTH))
    assert flow.summary["limit"] == "cwnd"
    assert flow.summary["retransmits"] == 0
    said = " ".join(screen.sentences(flow, brief=False))
    # Ten flights of 20 segments, each acknowledged with a mark.
    assert "200 acknowledgments echoed congestion marks (ECN), and nothing was lost" in said
    assert "queue marks packets (ECN)" in remedy(flow).words
    assert not any("marks" in note for note in notes(flow))


def test_echoes_without_an_agreement_on_ecn_are_no_marks():
    # Without it, the flag means nothing (RFC 3168 section 6.1.1).
    flow = flow_of(marked(SAWTOOTH, agreed=False))
    assert "marks" not in " ".join([*screen.sentences(flow, brief=False), *notes(flow), remedy(flow).words])


def test_a_program_that_pauses_hides_no_marks():
    flow = flow_of(marked(6 * [3, -3], pause=".5"))
    assert flow.summary["limit"] == "app"
    assert "18 acknowledgments echoed congestion marks (ECN)" in " ".join(notes(flow))
