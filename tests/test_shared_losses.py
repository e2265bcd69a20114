"""Losses on the way to one host, in dialogues with several servers; each expected share is that of the dialogues."""

from __future__ import annotations

import io

import pytest
from packets import Address, pcap
from scenario import CLIENT, HANDSHAKE, scenario

import bdpcap
from bdpcap import report
from bdpcap.explain import shared_losses
from bdpcap.report import screen
from bdpcap.report.page import html

UNRELATED = ["1.2.0.1", "5.6.0.1", "8.8.0.1", "9.9.0.1"]
RELATED = ["8.8.0.1", "8.8.0.2", "8.8.0.3", "8.8.0.4"]
PRIVATE = ["10.1.0.1", "10.2.0.1", "10.3.0.1", "10.4.0.1"]


def download(lost):
    """Four flights of ten segments to a client next to the capture; of the first `lost` flights, one comes again."""
    lines = [HANDSHAKE, "+.001 > P. 1:101(100) ack 1 win 502"]
    for flight in range(4):
        first, end = 1 + 10_000 * flight, 10_001 + 10_000 * flight
        gone = first + 2000 if flight < lost else None
        for seq in range(first, end, 1000):
            if seq == gone:
                continue
            wait = "+.020" if seq == first else "+.0001"
            held = gone is not None and seq > gone
            blocks = f" <sack {gone + 1000}:{seq + 1000}>" if held else ""
            lines += [
                f"{wait} < . {seq}:{seq + 1000}(1000) ack 101 win 500",
                f"+.00001 > . 101:101(0) ack {gone if held else seq + 1000} win 502{blocks}",
            ]
        if gone is not None:
            lines += [
                f"+.020 < . {gone}:{gone + 1000}(1000) ack 101 win 500",
                f"+.00001 > . 101:101(0) ack {end} win 502",
            ]
    return "\n".join(lines)


def unanswered():
    """An answer that reaches the capture next to the client again and again, after the client is gone."""
    data = "< P. 1:1001(1000) ack 101 win 500"
    return (
        f"{HANDSHAKE}\n+.001 > P. 1:101(100) ack 1 win 502\n+.020 {data}\n+.3 {data}\n+.6 {data}\n+1.2 {data}"
    )


def captured(dialogues, servers):
    packets = [
        packet
        for number, (dialogue, server) in enumerate(zip(dialogues, servers, strict=True))
        for packet in scenario(
            dialogue, client=Address(CLIENT.host, 40_000 + number), server=Address(server, 443)
        )
    ]
    return bdpcap.analyze(io.BytesIO(pcap(sorted(packets, key=lambda packet: packet.time_ns))))


@pytest.mark.parametrize(
    ("losses", "servers", "told"),
    [
        ((2, 2, 2, 0), UNRELATED, True),
        # A single lost packet of each, most hosts without a loss, and losses of one network or of a local one.
        ((1, 1, 1, 1), UNRELATED, False),
        ((2, 2, 0, 0), UNRELATED, False),
        ((2, 2, 2, 2), RELATED, False),
        ((2, 2, 2, 2), PRIVATE, False),
    ],
    ids=["unrelated", "single", "few", "related", "private"],
)
def test_losses_of_unrelated_hosts_are_those_of_the_path_that_they_share(losses, servers, told):
    capture = captured(map(download, losses), servers)
    assert [int(flow.summary["retransmits"]) for flow in capture if not flow.is_from_client] == [*losses]
    said = shared_losses.sentence(capture)
    assert bool(said) == told
    if told:
        # Six packets of 166 were lost, of three hosts.
        assert said.startswith(
            f"4 hosts sent 20 data packets or more to {CLIENT.host}: at least 4 % of all were lost on the way, "
            "from 3 unrelated hosts."
        )
        places = [shared_losses.place(flow) for flow in capture if not flow.is_from_client]
        assert places == [f"the path near {CLIENT.host}, which 3 hosts share"] * 3 + [""]
        assert said in " ".join(report.text(capture).split())
        assert html(capture).replace("\N{NO-BREAK SPACE}", " ").count(said) == 1


def test_packets_that_come_again_to_a_host_that_is_gone_are_no_losses_of_its_path():
    capture = captured([unanswered() for _ in UNRELATED], UNRELATED)
    assert sum(flow.summary["retransmits"] for flow in capture) == 3 * len(UNRELATED)
    assert not shared_losses.sentence(capture)


def test_late_packets_whose_repair_comes_twice_are_no_losses():
    # Each late packet bears an older IP identification than those above it; its retransmission comes once it has arrived.
    again = "\n".join(
        f"+.010 < . {seq}:{seq + 1000}(1000) ack 101 win 500\n"
        f"+.00001 > . 101:101(0) ack 40001 win 502 <sack {seq}:{seq + 1000}>"
        for seq in (2001, 12_001)
    )
    capture = captured([f"{download(0)}\n{again}"] * 4, UNRELATED)
    flows = [flow for flow in capture if not flow.is_from_client]
    assert [int(flow.summary["spurious_retransmits"]) for flow in flows] == [2] * 4
    assert [int(flow._counts["lost_before_tap"]) for flow in flows] == [0] * 4
    assert not shared_losses.sentence(capture)


def test_connections_that_began_before_the_capture_show_no_common_loss():
    # What comes again may have passed before the capture began.
    capture = captured([download(2).removeprefix(HANDSHAKE)] * 4, UNRELATED)
    assert [int(flow.summary["retransmits"]) for flow in capture if not flow.is_from_client] == [2] * 4
    assert not shared_losses.sentence(capture)


@pytest.mark.parametrize(("small", "said"), [(0, True), (60, False)])
def test_a_path_that_spares_many_small_connections_does_not_lose_the_packets_of_others(small, said):
    # Of 126 packets of three hosts, 6 were lost: of 120 others, 6 would be.
    answer = f"{HANDSHAKE}\n+.001 > P. 1:101(100) ack 1 win 502\n" + "".join(
        f"+.02 < P. {at}:{at + 1000}(1000) ack 101 win 500\n+.00001 > . 101:101(0) ack {at + 1000} win 502\n"
        for at in (1, 1001)
    )
    servers = [*UNRELATED[:3], *(f"93.184.216.{number}" for number in range(small))]
    capture = captured([download(2)] * 3 + [answer] * small, servers)
    assert bool(shared_losses.sentence(capture)) == said


@pytest.mark.parametrize(("pause_s", "told"), [("0.05", False), ("0.9", True), ("2", False)])
def test_short_pauses_may_be_lost_flights_where_most_hosts_lose_packets(pause_s, told):
    # A timer runs out within a second for a flight that the path lost (RFC 6298 section 2.1).
    waits = "".join(
        f"\n+{pause_s} < . {at}:{at + 1000}(1000) ack 101 win 500\n+.00001 > . 101:101(0) ack {at + 1000} win 502"
        for at in range(40_001, 60_001, 1000)
    )
    capture = captured([download(2) + waits] * 4, UNRELATED)
    for flow in (one for one in capture if not one.is_from_client):
        assert ("a flight was lost before the capture" in " ".join(screen.sentences(flow))) == told
        assert screen.head(flow).startswith("losses or pauses") == told
        assert ("Mend its losses first" in flow.remedy.words) == told
