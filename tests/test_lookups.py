"""Lookups of names that waited for their resolver, or had no answer."""

from __future__ import annotations

import io

import dpkt
import pytest

import bdpcap
from bdpcap.explain import lookups, trust

START = 1_600_000_000
CLIENT, RESOLVER = b"\xc0\x00\x02\x01", b"\xc6\x33\x64\x02"


def capture_of(sent):
    """Return a capture of DNS: each lookup has the time of its query, those of its repeats, and of its answer or None."""
    frames = []
    for number, (queries, answered) in enumerate(sent):
        question = dpkt.dns.DNS(id=number, qr=0, qd=[dpkt.dns.DNS.Q(name="example.com")])
        answer = dpkt.dns.DNS(id=number, qr=1, qd=[dpkt.dns.DNS.Q(name="example.com")])
        frames += [(at, frame(CLIENT, RESOLVER, 40_000 + number, 53, bytes(question))) for at in queries]
        if answered is not None:
            frames.append((answered, frame(RESOLVER, CLIENT, 53, 40_000 + number, bytes(answer))))
    file = io.BytesIO()
    writer = dpkt.pcap.Writer(file)
    for at, packet in sorted(frames):
        writer.writepkt(packet, START + at)
    file.seek(0)
    return file


def frame(source, destination, sport, dport, message):
    """Return an Ethernet frame with a datagram."""
    udp = dpkt.udp.UDP(sport=sport, dport=dport, data=message, ulen=8 + len(message))
    ip = dpkt.ip.IP(
        src=source, dst=destination, p=dpkt.ip.IP_PROTO_UDP, ttl=64, data=udp, len=28 + len(message)
    )
    return bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([([0], 0.02), ([1], 1.4)], ""),
        (
            [([0], 0.02), ([1], 2.5)],
            "1 of 2 DNS lookups waited for a second or more, 1.5 s at most, for 198.51.100.2",
        ),
        (
            [([0, 5], 5.25)],
            "198.51.100.2. Most were answered soon after they were sent again: queries or answers were",
        ),
        (
            [([0, 5], 8)],
            "1 of 1 DNS lookup waited for a second or more, 8 s at most, for 198.51.100.2: see that",
        ),
        ([([0, 5], None), ([1], 1.1)], "1 of 2 DNS lookups had no answer of 198.51.100.2, though"),
        # A single query without an answer may be one whose answer the capture lacks.
        ([([0], None), ([1], 1.1)], ""),
        ([([0, 5], None), ([1], 3)], "to it. 1 more had none."),
        # The answer to a query before the capture shows no wait.
        ([([3], 0.5)], ""),
    ],
)
def test_a_lookup_waits_from_its_first_query_to_its_first_answer(sent, said):
    capture = bdpcap.analyze(capture_of(sent))
    assert said in lookups.sentence(capture)
    assert bool(lookups.sentence(capture)) == bool(said)
    assert (lookups.sentence(capture) in trust.notable(capture)) == bool(said)
