"""ICMP messages quote TCP headers, and Wireshark numbers streams by these, too."""

import io
import shutil
import socket
import subprocess

import pytest
from packets import Address, Packet, pcap, tcp_packet

import bdpcap
from bdpcap.cli import main

SYN, ACK = 2, 16
START_NS = 1_700_000_000_000_000_000
CLIENT, SERVER = Address("192.0.2.1", 40_000), Address("198.51.100.2", 80)


def at(number, source, destination, **how):
    return tcp_packet(START_NS + number * 1_000_000, source, destination, **how)


def quoting(number, packet, tcp_bytes=20, kind=3):
    """An ICMP message about a packet, as a router sends it to the packet's sender."""
    ip = packet.data[14:]
    message = bytes([kind, 1, 0, 0, 0, 0, 0, 0]) + ip[: 20 + tcp_bytes]
    length = (20 + len(message)).to_bytes(2)
    header = (
        b"\x45\x00" + length + bytes([0, 9, 0, 0, 64, 1, 0, 0]) + socket.inet_aton("203.0.113.9") + ip[12:16]
    )
    frame = bytes(12) + b"\x08\x00" + header + message
    return Packet(START_NS + number * 1_000_000, frame, len(frame))


def client(port):
    return Address(CLIENT.host, port)


CAPTURE = [
    at(0, CLIENT, SERVER, seq=1, flags=SYN),
    quoting(1, at(0, CLIENT, SERVER, seq=1, flags=SYN)),  # known
    quoting(2, at(0, client(1), SERVER, seq=1, flags=SYN), tcp_bytes=8),  # too little is quoted
    quoting(3, at(0, client(2), SERVER, seq=1, flags=SYN)),  # nothing else of it
    at(4, SERVER, CLIENT, seq=5, ack=2, flags=SYN | ACK),
    quoting(5, at(0, client(3), SERVER, seq=9, flags=SYN)),  # captured later
    at(6, client(4), SERVER, seq=3, flags=SYN),
    at(7, client(3), SERVER, seq=9, flags=SYN),
    quoting(8, at(0, client(3), SERVER, seq=77, flags=SYN)),  # the ports used again
    quoting(9, at(0, CLIENT, SERVER, seq=99, flags=ACK)),
    quoting(10, at(0, client(5), SERVER, seq=9, flags=ACK), kind=8),  # an echo request quotes nothing
    at(11, client(6), SERVER, seq=1, payload_bytes=100),
]


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_streams_are_numbered_as_wireshark_numbers_them(tmp_path):
    path = tmp_path / "quoted.pcap"
    path.write_bytes(pcap(CAPTURE))
    fields = ["-T", "fields", "-e", "frame.number", "-e", "tcp.stream", "-e", "icmp.type"]
    told = subprocess.run(
        ["tshark", "-r", str(path), *fields], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    rows = [line.split("\t") for line in told.splitlines()]
    theirs = {int(frame): int(stream) for frame, stream, icmp in rows if stream and not icmp}
    capture = bdpcap.analyze(path)
    ours = capture.events.drop_duplicates("frame").set_index("frame")["stream"]
    assert ours.to_dict() == theirs
    assert capture.info.streams == 1 + max(int(stream) for _, stream, _ in rows if stream)


def test_what_is_only_quoted_is_no_connection():
    capture = bdpcap.analyze(io.BytesIO(pcap(CAPTURE)))
    assert capture.info.quoted == 2
    # The stream of port 6 shows no SYN, so the end with the higher port is its client.
    clients = [*(f"{CLIENT.host}:{port}" for port in (CLIENT.port, 3, 4)), str(SERVER)]
    assert sorted(capture.connections["client"]) == sorted(clients)
    assert capture.info.undecoded == {"ICMP": 7}
    assert list(capture.flows["stream"]) == [5]


def test_what_is_only_quoted_has_no_packets_to_write(tmp_path, capsys):
    path, out = tmp_path / "quoted.pcap", tmp_path / "stream.pcap"
    path.write_bytes(pcap(CAPTURE))
    capture = bdpcap.analyze(path)
    stream = min(set(range(capture.info.streams)) - set(capture.connections["stream"]))
    assert main(["excerpt", str(path), "--stream", str(stream), "-o", str(out)]) == 2
    assert "has no packets" in capsys.readouterr().err
    assert not out.exists()
