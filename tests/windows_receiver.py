"""A transfer to a Windows server, written by hand after what Windows is known to send.

No recording of Windows may be kept here. The SYN-ACK has the layout, scale and TTL that p0f lists for Windows
(bdpcap/hosts/systems.csv), and no timestamps, which Windows declines by default. The program has set SO_RCVBUF to
64 KiB, which ends the autotuning of its window. Windows doubles nothing: 65,536 bytes are advertised.
`python tests/windows_receiver.py` writes the file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dpkt
import zstandard
from dialogues import congestion_window, sent_by
from packets import Address, Packet, pcap
from scenario import scenario

KEPT = Path(__file__).parent / "data" / "windows_receiver.pcap.zst"
WINDOW = 65_536
RTT = 0.06
HEADERS = 66  # Ethernet, IPv4 and the longest TCP header of this transfer
WIRE_NS = 12_000  # a full frame at 1 Gbit/s: no two pass the tap at once
TTL = 128 - 7  # seven routers away
DONT_FRAGMENT = 0x40  # both systems set it (RFC 1191)
LINUX, WINDOWS = Address("192.0.2.10", 51514), Address("198.51.100.20", 5001)


def packets() -> list[Packet]:
    """Return the transfer as seen beside the Linux sender: the window fills after slow start, and stays full."""
    text = sent_by(
        congestion_window(lambda acked: min(10 + acked, WINDOW // 1460), 1500),
        rtt=RTT,
        window=WINDOW,
        spacing=117e-6,
    )
    syn, answer, *rest = text.splitlines()
    syn = syn.replace("mss 1460,sackOK,wscale 7", "mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7")
    answer = answer.replace("mss 1460,sackOK,wscale 7", "mss 1460,nop,wscale 8,nop,nop,sackOK")
    rest = [line.replace(f"win {WINDOW >> 7}", f"win {WINDOW >> 8}") for line in rest]
    found, free_ns = [], 0
    for packet in scenario("\n".join([syn, answer, *rest]), client=LINUX, server=WINDOWS):
        free_ns = max(free_ns + WIRE_NS, packet.time_ns)
        found.append(replace(routed(packet).cut(HEADERS), time_ns=free_ns))
    return found


def routed(packet: Packet) -> Packet:
    """Return a packet that must not be fragmented, one of the Windows host with the TTL that it has after its way."""
    header = bytearray(packet.data[14:34])
    header[6] |= DONT_FRAGMENT
    header[8] = TTL if bytes(header[12:16]) == WINDOWS.packed else header[8]
    header[10:12] = b"\0\0"
    header[10:12] = dpkt.in_cksum(bytes(header)).to_bytes(2)
    return replace(packet, data=packet.data[:14] + bytes(header) + packet.data[34:])


if __name__ == "__main__":
    KEPT.write_bytes(zstandard.compress(pcap(packets(), nanoseconds=False), 19))
