"""A capture small enough to follow by hand: a sender that a window of eight segments holds back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dpkt

if TYPE_CHECKING:
    from pathlib import Path

MSS = 1000
SEGMENTS = 8
ROUNDS = 40
RTT = 0.02
START = 1_700_000_000.0

CLIENT, SERVER = b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"
SYN, FIN, ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_FIN, dpkt.tcp.TH_ACK


def packets(port: int = 40000, rounds: int = ROUNDS, start: float = START):
    """
    Yield (time, frame) as seen at the sender.

    After the handshake the client sends a window of segments at once and waits a round trip for its
    acknowledgement, again and again, so the receive window is what holds it back.
    """

    def frame(
        sent: bool, sequence: int, acknowledged: int, flags: int, payload: bytes = b"", options: bytes = b""
    ):
        ports = (port, 5001) if sent else (5001, port)
        tcp = dpkt.tcp.TCP(
            sport=ports[0], dport=ports[1], seq=sequence, ack=acknowledged, flags=flags,
            win=65535 if sent or flags & SYN else SEGMENTS * MSS, opts=options, data=payload,
        )  # fmt: skip
        tcp.off = (20 + len(options)) // 4
        ends = (CLIENT, SERVER) if sent else (SERVER, CLIENT)
        ip = dpkt.ip.IP(src=ends[0], dst=ends[1], p=dpkt.ip.IP_PROTO_TCP, ttl=64, data=tcp)
        ip.len = len(ip)
        return bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))

    mss_and_scale_0 = b"\x02\x04" + MSS.to_bytes(2) + b"\x03\x03\x00\x01"
    yield start, frame(True, 100, 0, SYN, options=mss_and_scale_0)
    yield start + RTT, frame(False, 900, 101, SYN | ACK, options=mss_and_scale_0)
    yield start + RTT + 1e-5, frame(True, 101, 901, ACK)
    time, sequence = start + RTT + 1e-4, 101
    for _ in range(rounds):
        for segment in range(SEGMENTS):
            yield time + segment * 1e-5, frame(True, sequence + segment * MSS, 901, ACK, payload=bytes(MSS))
        sequence += SEGMENTS * MSS
        time += RTT
        yield time, frame(False, 901, sequence, ACK)
        time += 1e-4
    yield time, frame(True, sequence, 901, FIN | ACK)


def write_pcap(path: Path, **how) -> Path:
    """Write the transfer to a classic pcap file."""
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for time, frame in packets(**how):
            writer.writepkt(frame, time)
    return path


def write_many(path: Path, flows: int, rounds: int | None = None) -> Path:
    """Write many short transfers that overlap, of one to three rounds, one in a hundred of forty."""
    frames = []
    for number in range(flows):
        length = rounds or (ROUNDS if number % 100 == 0 else 1 + number % 3)
        frames += packets(port=10_000 + number, rounds=length, start=START + number * 0.03)
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for time, frame in sorted(frames):
            writer.writepkt(frame, time)
    return path


def write_pcapng(path: Path, comment: str) -> Path:
    """Write the transfer to a pcapng file whose section has a comment."""
    said = dpkt.pcapng.PcapngOptionLE(code=1, text=comment)
    with path.open("wb") as file:
        section = dpkt.pcapng.SectionHeaderBlockLE(opts=[said, dpkt.pcapng.PcapngOptionLE()])
        writer = dpkt.pcapng.Writer(file, shb=section)
        for time, frame in packets():
            writer.writepkt(frame, ts=time)
    return path
