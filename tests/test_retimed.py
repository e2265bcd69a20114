"""Captures that the benchmarks make of others: later answers, and arrivals in clumps."""

from __future__ import annotations

import dpkt
import pytest
from packets import Address, pcap, read_pcap, tcp_packet
from retimed import clumped, delayed

SENDER, RECEIVER = Address("192.0.2.1", 40000), Address("192.0.2.2", 80)
US = 1000


@pytest.fixture
def captured(tmp_path):
    """Return a writer of packets, given as microseconds, source and whether it is a SYN."""

    def write(*packets):
        path = tmp_path / "capture.pcap"
        other = {SENDER: RECEIVER, RECEIVER: SENDER}
        path.write_bytes(
            pcap(
                tcp_packet(
                    at * US, source, other[source], seq=1, flags=dpkt.tcp.TH_SYN if syn else dpkt.tcp.TH_ACK
                )
                for at, source, syn in packets
            )
        )
        return path

    return write


def times_us(content):
    return [packet.time_ns // US for packet in read_pcap(content)]


def test_all_but_the_first_packet_of_a_slower_sender_come_later(captured):
    path = captured((0, SENDER, True), (100, SENDER, False), (110, RECEIVER, False))
    assert times_us(delayed(path, SENDER.host, 50 * US)) == [0, 110, 150]


def test_what_arrives_within_a_clump_comes_at_its_end(captured):
    path = captured((10, SENDER, False), (40, SENDER, False), (100, SENDER, False), (101, SENDER, False))
    assert times_us(clumped(path, RECEIVER.host, 100 * US)) == [100, 100, 100, 200]


def test_what_the_receiver_sends_comes_after_what_it_answers_and_else_at_its_own_time(captured):
    path = captured((10, SENDER, False), (12, RECEIVER, False), (140, RECEIVER, False), (150, SENDER, False))
    assert times_us(clumped(path, RECEIVER.host, 100 * US)) == [100, 100, 140, 200]


def test_only_times_change(captured):
    path = captured((10, SENDER, False), (12, RECEIVER, False))
    before, after = read_pcap(path.read_bytes()), read_pcap(clumped(path, RECEIVER.host, 100 * US))
    assert [packet.data for packet in before] == [packet.data for packet in after]
