"""ICMP messages quote TCP headers, and Wireshark numbers streams by these, too."""

import io
import shutil
import subprocess

import pytest
from packets import Address, icmp_error, pcap, tcp_packet
from scenario import options

import bdpcap
from bdpcap.cli import main
from bdpcap.report import connections

SYN, ACK = 2, 16
START_NS = 1_700_000_000_000_000_000
CLIENT, SERVER = Address("192.0.2.1", 40_000), Address("198.51.100.2", 80)


def at(number, source, destination, **how):
    return tcp_packet(START_NS + number * 1_000_000, source, destination, **how)


def quoting(number, packet, **how):
    """An ICMP message about a packet."""
    return icmp_error(START_NS + number * 1_000_000, packet, **how)


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


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "203.0.113.9 said by ICMP that the host does not answer"),
        (3, "203.0.113.9 said by ICMP that nothing listens on the port"),
        (13, "203.0.113.9 said by ICMP that this is prohibited: a firewall there rejects it."),
        (0, "203.0.113.9 said by ICMP that it has no route there"),
        (2, "the client gave up at once"),  # an unreachable protocol
    ],
)
def test_a_refused_syn_names_who_refused_it_and_why(code, said):
    syn = at(0, CLIENT, SERVER, seq=1, flags=SYN)
    packets = [syn, quoting(1, syn, code=code), at(5000, client(6), SERVER, seq=1, payload_bytes=100)]
    (sentence,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap(packets))))
    assert said in sentence


@pytest.mark.parametrize(
    ("refused", "said"),
    [(20, " 203.0.113.9 said by ICMP"), (19, " For most of these, 203.0.113.9"), (10, "")],
)
def test_one_router_may_refuse_the_syns_to_many_hosts(refused, said):
    """A router sends so many messages at most in a time (RFC 4443 section 2.4, f)."""
    syn = {"seq": 1, "flags": SYN, "options": options("mss 1460,sackOK", 0)}
    tried = [at(number, CLIENT, Address(f"8.8.4.{number}", 443), **syn) for number in range(20)]
    messages = [quoting(20, packet, code=0) for packet in tried[:refused]]
    end = at(5000, client(6), SERVER, seq=1, payload_bytes=100)
    (sentence,) = connections.sentences(bdpcap.analyze(io.BytesIO(pcap([*tried, *messages, end]))))
    assert sentence.startswith("20 connections")
    assert said in sentence
    assert ("said by ICMP that it has no route there" in sentence) == (said != "")


def test_the_address_of_a_router_gets_a_pseudonym():
    syn = at(0, CLIENT, SERVER, seq=1, flags=SYN)
    packets = [syn, quoting(1, syn, code=13), at(5000, client(6), SERVER, seq=1, payload_bytes=100)]
    capture = bdpcap.analyze(io.BytesIO(pcap(packets)), pseudonyms=bdpcap.Pseudonyms())
    (sentence,) = connections.sentences(capture)
    assert "240.0.0." in sentence
    assert "203.0.113" not in sentence
