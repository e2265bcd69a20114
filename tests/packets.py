"""Packets and capture files, written by libraries that know nothing of bdpcap (dpkt, python-pcapng)."""

from __future__ import annotations

import io
import socket
import warnings
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import dpkt
import pcapng
from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ETHERNET = 1
LINUX_SLL = 113
SNAPLEN = 128  # Ethernet, IPv6 and the longest TCP header


@dataclass(frozen=True)
class Packet:
    """One captured frame: when, what was kept of it, and how long it was on the wire."""

    time_ns: int
    data: bytes
    wire_length: int

    def cut(self, snaplen: int) -> Packet:
        return replace(self, data=self.data[:snaplen])


@dataclass(frozen=True)
class Address:
    """One end of a connection."""

    host: str
    port: int

    @property
    def packed(self) -> bytes:
        return socket.inet_pton(socket.AF_INET6 if ":" in self.host else socket.AF_INET, self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def tcp_packet(
    time_ns: int,
    source: Address,
    destination: Address,
    *,
    seq: int,
    ack: int = 0,
    flags: int = dpkt.tcp.TH_ACK,
    window: int = 65535,
    payload_bytes: int = 0,
    options: bytes = b"",
    identification: int = 0,
    ttl: int = 64,
) -> Packet:
    """Make a TCP segment in Ethernet; payload beyond SNAPLEN is not kept, its length is in the IP header."""
    options += b"\x01" * (-len(options) % 4)
    tcp = dpkt.tcp.TCP(
        sport=source.port,
        dport=destination.port,
        seq=seq % 2**32,
        ack=ack % 2**32,
        flags=flags,
        win=window,
        opts=options,
        off=5 + len(options) // 4,
        sum=0,
    )
    # Stands in for the checksum over a payload that is never made: segments of other content differ in it.
    tcp.sum = zlib.crc32(bytes(tcp)) & 0xFFFF or 1
    segment = bytes(tcp)
    length = len(segment) + payload_bytes
    if ":" in source.host:
        ip = dpkt.ip6.IP6(src=source.packed, dst=destination.packed, nxt=6, hlim=ttl, plen=length)
        header, kind = bytes(ip)[:40], dpkt.ethernet.ETH_TYPE_IP6
    else:
        ip = dpkt.ip.IP(
            src=source.packed,
            dst=destination.packed,
            p=6,
            ttl=ttl,
            id=identification & 0xFFFF,
            len=20 + length,
            sum=1,
        )
        header, kind = bytes(ip)[:20], dpkt.ethernet.ETH_TYPE_IP
    ethernet = dpkt.ethernet.Ethernet(type=kind, data=header + segment)
    head = bytes(ethernet)
    padding = min(payload_bytes, max(0, SNAPLEN - len(head)))
    return Packet(time_ns, head + b"\x00" * padding, len(head) + payload_bytes)


def icmp_error(
    time_ns: int,
    packet: Packet,
    *,
    kind: int = 3,
    code: int = 1,
    mtu: int = 0,
    tcp_bytes: int = 20,
    reporter: str = "203.0.113.9",
) -> Packet:
    """Make an ICMP error message about an IPv4 packet, as a router sends it to its sender (RFC 792, RFC 1191)."""
    ip = packet.data[14:]
    message = bytes([kind, code, 0, 0, 0, 0]) + mtu.to_bytes(2) + ip[: 20 + tcp_bytes]
    length = (20 + len(message)).to_bytes(2)
    header = b"\x45\x00" + length + bytes([0, 9, 0, 0, 64, 1, 0, 0]) + socket.inet_aton(reporter) + ip[12:16]
    frame = bytes(12) + b"\x08\x00" + header + message
    return Packet(time_ns, frame, len(frame))


def cooked(packet: Packet, packet_type: int) -> Packet:
    """Make an Ethernet frame one of LINKTYPE_LINUX_SLL; 4 is the packet type of what the capturing host sends."""
    header = packet_type.to_bytes(2) + b"\x00\x01\x00\x06" + bytes(8) + packet.data[12:14]
    return Packet(packet.time_ns, header + packet.data[14:], packet.wire_length + 2)


def pcap(packets: Iterable[Packet], *, nanoseconds: bool = True, link_type: int = ETHERNET) -> bytes:
    """Write packets as a pcap file; dpkt's own writer cannot write cut packets, so its headers are used."""
    unit = 1 if nanoseconds else 1000
    magic = dpkt.pcap.TCPDUMP_MAGIC_NANO if nanoseconds else dpkt.pcap.TCPDUMP_MAGIC
    out = [bytes(dpkt.pcap.LEFileHdr(magic=magic, snaplen=262144, linktype=link_type))]
    for packet in packets:
        seconds, fraction = divmod(packet.time_ns, 10**9)
        header = dpkt.pcap.LEPktHdr(
            tv_sec=seconds, tv_usec=fraction // unit, caplen=len(packet.data), len=packet.wire_length
        )
        out += bytes(header), packet.data
    return b"".join(out)


def pcapng_file(
    packets: Iterable[Packet],
    *,
    resolution: tuple[int, int] = (10, 9),
    offset_seconds: int = 0,
    endianness: str = "<",
    comment: str | None = None,
) -> bytes:
    """Write packets as a pcapng file whose one interface counts `base ** -power` seconds from an offset."""
    base, power = resolution
    about = {} if comment is None else {"opt_comment": comment}
    section = SectionHeader(endianness=endianness, options=about)
    interface = section.new_member(
        InterfaceDescription,
        link_type=ETHERNET,
        snaplen=262144,
        options={"if_tsresol": bytes([power | (0x80 if base == 2 else 0)]), "if_tsoffset": offset_seconds},
    )
    out = io.BytesIO()
    with warnings.catch_warnings():  # python-pcapng calls its own if_tsresol schema deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        writer = pcapng.FileWriter(out, section)
    for packet in packets:
        block = section.new_member(
            EnhancedPacket,
            interface_id=interface.interface_id,
            packet_data=packet.data,
            packet_len=packet.wire_length,
        )
        ticks = (packet.time_ns - offset_seconds * 10**9) * base**power // 10**9
        block.timestamp_high, block.timestamp_low = divmod(ticks, 2**32)
        writer.write_block(block)
    return out.getvalue()


def read_pcap(data: bytes) -> Sequence[Packet]:
    """Read a pcap file again, by dpkt, with the times as integers."""
    header = dpkt.pcap.LEFileHdr(data[: dpkt.pcap.LEFileHdr.__hdr_len__])
    unit = 1 if header.magic == dpkt.pcap.TCPDUMP_MAGIC_NANO else 1000
    packets, at = [], dpkt.pcap.LEFileHdr.__hdr_len__
    while at < len(data):
        record = dpkt.pcap.LEPktHdr(data[at : at + 16])
        at += 16
        time_ns = record.tv_sec * 10**9 + record.tv_usec * unit
        packets.append(Packet(time_ns, data[at : at + record.caplen], record.len))
        at += record.caplen
    return packets


def read_pcapng(data: bytes) -> tuple[Sequence[Packet], Sequence[str]]:
    """Read a pcapng file with a decimal unit of time, by python-pcapng: its packets, and the comments on sections."""
    packets, comments, unit_ns = [], [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # python-pcapng warns of its own schema
        blocks = list(pcapng.FileScanner(io.BytesIO(data)))
    for block in blocks:
        if isinstance(block, SectionHeader):
            comments += block.options.get_all("opt_comment")
        elif isinstance(block, InterfaceDescription):
            unit_ns = round(10**9 * block.timestamp_resolution)
        elif isinstance(block, EnhancedPacket):
            ticks = (block.timestamp_high << 32) + block.timestamp_low
            packets.append(Packet(ticks * unit_ns, block.packet_data, block.packet_len))
    return packets, comments
