"""Every wrapping that is opened: the connection inside is the one that tshark sees, packet by packet."""

from __future__ import annotations

import struct
import subprocess

import dpkt
import pytest
from small_transfer import packets

import bdpcap

ETHERNET, RAW = 1, 101
MACS = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
SNAP = b"\xaa\xaa\x03\0\0\0\x08\0"
WIFI = b"\x08\x01" + bytes(22)


def over_udp(port, header, length_at=None):
    """Return what wraps a packet into a datagram to a port, behind a header, which may tell how long the rest is."""

    def wrap(packet):
        data = bytearray(header + packet)
        if length_at is not None:
            offset, not_counted = length_at
            struct.pack_into(">H", data, offset, len(data) - not_counted)
        udp = dpkt.udp.UDP(sport=50_000, dport=port, data=bytes(data), ulen=8 + len(data))
        return bytes(dpkt.ip.IP(src=b"\xc0\0\2\1", dst=b"\xc0\0\2\2", p=17, data=udp, len=28 + len(data)))

    return wrap


def over_gre(protocol, header):
    def wrap(packet):
        data = struct.pack(">HH", 0, protocol) + header + packet
        return bytes(dpkt.ip.IP(src=b"\xc0\0\2\1", dst=b"\xc0\0\2\2", p=47, data=data, len=20 + len(data)))

    return wrap


def behind(header):
    return lambda packet: header + packet


def erf(kind, length):
    """Return the header of a record of so many bytes of that kind (Endace's ERF), cut by no snap length."""
    return struct.pack(">QBBHHH", 0, kind, 4, 16 + length, 0, length)


NFLOG_FIELDS = struct.pack("<BBH", 2, 0, 0) + struct.pack("<HH4s", 8, 10, b"ab\0\0")

WRAPPINGS = {
    "GTP-U": (RAW, over_udp(2152, struct.pack(">BBHI", 0x30, 255, 0, 7), (2, 8)), ["GTP-U 7"]),
    "GTP-U with an extension": (
        RAW,
        over_udp(2152, struct.pack(">BBHI", 0x34, 255, 0, 9) + bytes([0, 0, 0, 0x85, 1, 0, 9, 0]), (2, 8)),
        ["GTP-U 9"],
    ),
    "L2TP": (RAW, over_udp(1701, struct.pack(">HHH", 2, 5, 6) + b"\xff\x03\0\x21"), ["L2TP 5/6"]),
    "L2TP with all fields": (
        RAW,
        over_udp(1701, struct.pack(">HHHHHHH", 0x4A02, 0, 5, 6, 1, 2, 2) + b"\0\0\xff\x03\0\x21", (2, 0)),
        ["L2TP 5/6"],
    ),
    "CAPWAP": (RAW, over_udp(5247, b"\0\x10\x02\0\0\0\0\0" + MACS + b"\x08\0"), ["CAPWAP"]),
    # tshark reads frame control the other way round, as one maker's controllers send it.
    "CAPWAP of 802.11": (RAW, over_udp(5247, b"\0\x10\x03\0\0\0\0\0\x01\x08" + WIFI[2:] + SNAP), ["CAPWAP"]),
    "GRE of 802.11": (RAW, over_gre(0x8200, WIFI + SNAP), ["GRE"]),
    "802.1ah": (ETHERNET, behind(MACS + b"\x88\xe7\xe0\x01\x02\x03" + MACS + b"\x08\0"), ["802.1ah 66051"]),
    "FDDI": (10, behind(b"\x50" + MACS + SNAP), []),
    "ARCNET": (7, behind(b"\x01\x02\xd4\0\0\x09"), []),
    "ARCNET of Linux": (129, behind(b"\x01\x02\0\0\xf0"), []),
    "PPP with direction": (204, behind(b"\x01\xff\x03\0\x21"), []),
    "IP over InfiniBand": (242, behind(bytes(40) + b"\x08\0\0\0"), []),
    "ERF of Ethernet": (
        197,
        lambda packet: erf(2, len(packet) + 20) + b"\0\0" + MACS + b"\x08\0" + packet + b"FCS.",
        [],
    ),
    "ERF of IPv4": (197, lambda packet: erf(22, len(packet)) + packet, []),
    "NFLOG": (
        239,
        lambda packet: NFLOG_FIELDS + struct.pack("<HH", 4 + len(packet), 9) + packet,
        [],
    ),
}


@pytest.fixture(params=WRAPPINGS)
def wrapped(request, tmp_path):
    """Return a capture of a transfer in a wrapping, and what the path must name."""
    link_type, wrap, names = WRAPPINGS[request.param]
    path = tmp_path / "wrapped.pcap"
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, linktype=link_type)
        for time, frame in packets(rounds=3):
            writer.writepkt(wrap(frame[14:]), time)
    return path, names


@pytest.mark.usefixtures("need_tshark")
def test_the_connection_inside_is_the_one_that_tshark_sees(wrapped):
    path, names = wrapped
    fields = ["frame.number", "tcp.stream", "tcp.len"]
    asked = ["tshark", "-r", str(path), "-Y", "tcp", "-T", "fields", *(f"-e{name}" for name in fields)]
    said = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=60).stdout
    theirs = [tuple(map(int, line.split("\t"))) for line in said.splitlines()]
    capture = bdpcap.analyze(path)
    events = capture.events
    sent = events[events["length"] > 0].sort_values("frame")
    assert len(theirs) == capture.info.segments
    assert list(zip(sent["frame"], sent["stream"], sent["length"], strict=True)) == [
        (frame, stream, length) for frame, stream, length in theirs if length
    ]
    assert [
        name for path in capture.info.paths for name in path.split(" / ") if name[:3] not in {"IP ", "192"}
    ] == names
