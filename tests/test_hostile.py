"""Captures made to harm whoever reads them: what could be read is told, and one sentence says what could not."""

from __future__ import annotations

import gzip
import io
import resource
import socket
import struct
import subprocess
import sys

import lz4.frame
import pytest
import zstandard
from packets import pcap
from scenario import scenario

import bdpcap
from bdpcap.cli import main

SECTION_HEADER, INTERFACE, ENHANCED, STATISTICS = 0x0A0D0D0A, 1, 6, 5
ETHERNET = 1
DIALOGUE = """
    0     > S  0:0(0)       win 64240 <mss 1460>
    +.02  < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +.001 > P. 1:101(100) ack 1 win 502
    +.125 < .  1:1(0) ack 101 win 1000
"""
PACKETS = scenario(DIALOGUE)
MIB = 1 << 20
SWELLING = 512 * MIB
"""Memory that a process may take above what it takes for a capture of four packets. What is tested would take more."""
SECONDS = 120


def block(kind: int, body: bytes, stated: int | None = None) -> bytes:
    """Return a pcapng block (draft-ietf-opsawg-pcapng section 3.1)."""
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", 12 + len(body) if stated is None else stated)
    return struct.pack("<I", kind) + length + body + length


def option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(options: bytes = b"") -> bytes:
    return block(SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + options)


def interface(options: bytes = b"") -> bytes:
    return block(INTERFACE, struct.pack("<HHI", ETHERNET, 0, 0) + options)


def packet(data: bytes, number: int = 0, options: bytes = b"") -> bytes:
    padded = data + bytes(-len(data) % 4)
    return block(ENHANCED, struct.pack("<IIIII", number, 0, 1, len(data), len(data)) + padded + options)


def read(content: bytes) -> bdpcap.Capture:
    return bdpcap.analyze(io.BytesIO(content))


def told(content: bytes) -> tuple[int, str]:
    """Return how many frames were read, and what is told of the rest."""
    capture = read(content)
    damages = "; ".join(map(str, capture.damages))
    assert "\n" not in damages
    return capture.info.frames, damages


def swollen_kib(content: bytes, tmp_path) -> tuple[int, str]:
    """Return the most memory that `bdpcap info` takes, in KiB, and what it says."""
    path = tmp_path / "capture"
    path.write_bytes(content)
    code = (
        "import resource, sys\nfrom bdpcap.cli import main\ncode = main(['info', sys.argv[1]])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )
    *_, most = done.stderr.split()
    return int(most), done.stdout + done.stderr


# pcapng


def test_65535_interfaces_are_read_and_the_last_one_has_a_packet():
    count = 65_535
    capture = read(section() + interface() * count + packet(PACKETS[0].data, count - 1))
    assert (capture.info.segments, len(capture.info.interfaces), capture.damages) == (1, count, [])


def test_more_interfaces_than_anybody_has_are_damage():
    frames, damage = told(section() + interface() + packet(PACKETS[0].data) + interface() * 65_536)
    assert frames == 1
    assert "more than 65536 interfaces" in damage


def test_interfaces_of_all_sections_count():
    assert "interfaces" in told((section() + interface() * 2) * 32_769)[1]


def test_comments_without_end_do_not_fill_memory():
    comments = section(option(1, b"x" * 65_000) * 100)
    capture = read(comments * 10 + interface() + packet(PACKETS[0].data))
    assert capture.info.segments == 1
    assert sum(map(len, capture.info.comments)) <= MIB + 100
    # Of 1000 comments a mebibyte holds 16.
    assert capture.info.comments[-1] == "984 more comments and names are left out"


@pytest.mark.parametrize("stated", [0, 8, 11, 0x8000_0000, 0xFFFF_FFFC, 0xFFFF_FFFF])
def test_a_block_cannot_have_a_length_of_4_gib_or_none(stated):
    frames, damage = told(section() + interface() + packet(PACKETS[0].data) + block(ENHANCED, b"", stated))
    assert frames == 1
    assert f"{stated} bytes" in damage


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_first_block_cannot_either(order):
    header = struct.pack(f"{order}IIIHHq", SECTION_HEADER, 0xFFFF_FFF0, 0x1A2B3C4D, 1, 0, -1)
    with pytest.raises(bdpcap.CaptureError, match="cannot have a length"):
        read(header)


def test_an_option_that_is_longer_than_its_block_is_damage():
    frames, damage = told(
        section() + interface() + packet(PACKETS[0].data) + interface(struct.pack("<HH", 2, 0xFFFF))
    )
    assert frames == 1
    assert "an option runs over the end" in damage


# An option list always advances by the four bytes of an option's head; one without end mark ends with its block.
def test_options_of_no_length_end_with_their_block():
    capture = read(section() + interface(option(2, b"") * 100_000) + packet(PACKETS[0].data))
    assert (capture.info.segments, capture.damages) == (1, [])


def test_tcp_options_that_never_advance_end_the_list():
    data = bytearray(PACKETS[0].data)
    at = 14 + 20 + 20
    assert data[at] == 2  # MSS
    data[at + 1] = 0  # its length, which is to be at least 2 (RFC 9293 section 3.1)
    capture = read(section() + interface() + packet(bytes(data)) * 2)
    assert (capture.info.segments, capture.damages) == (2, [])


# Tunnels


def nested(layers: int, protocol: int, between: bytes) -> bytes:
    """Return a frame of IPv4 headers, one in the other; no payload is ever reached."""
    header = struct.pack(
        ">BBHHHBBH4s4s",
        0x45,
        0,
        60_000,
        0,
        0,
        64,
        protocol,
        0,
        *map(socket.inet_aton, ("192.0.2.1", "192.0.2.2")),
    )
    return bytes(12) + b"\x08\x00" + (header + between) * layers


@pytest.mark.parametrize(
    ("protocol", "between"),
    [(4, b""), (47, struct.pack(">HH", 0, 0x0800))],
    ids=["ip in ip", "gre"],
)
def test_tunnels_without_end_are_undecoded(protocol, between):
    capture = read(
        section() + interface() + packet(nested(3000, protocol, between)) + packet(PACKETS[0].data)
    )
    assert (capture.info.frames, capture.info.segments, capture.damages) == (2, 1, [])
    assert sum(capture.info.undecoded.values()) == 1


@pytest.mark.parametrize("tag", [b"\x81\x00\x00\x01", b"\x88\xa8\x00\x01"], ids=["802.1Q", "802.1ad"])
def test_tags_without_end_are_undecoded(tag):
    capture = read(section() + interface() + packet(bytes(12) + tag * 10_000))
    assert sum(capture.info.undecoded.values()) == 1


# Packed


def test_a_zstd_bomb_is_left_and_told(tmp_path):
    zeros = 4 << 30
    packer = zstandard.ZstdCompressor(level=1).compressobj(size=-1)
    bomb = packer.compress(pcap(PACKETS)) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    piece = bytes(16 * MIB)
    for _ in range(zeros // len(piece)):
        bomb += packer.compress(piece)
    bomb += packer.flush()
    assert len(bomb) < zeros / 10_000
    most, said = swollen_kib(bomb, tmp_path)
    usual, _ = swollen_kib(pcap(PACKETS), tmp_path)
    assert (most - usual) * 1024 < SWELLING
    assert "as no capture is" in said


@pytest.mark.parametrize("pack", [gzip.compress, lz4.frame.compress], ids=["gzip", "lz4"])
def test_zeros_that_were_packed_are_records_of_nothing(pack, tmp_path):
    # 64 MiB of zeros: records of no bytes, in a file a few hundred times smaller.
    content = pack(pcap(PACKETS) + bytes(64 * MIB))
    capture = read(content)
    assert (capture.info.segments, capture.info.frames) == (4, 4 + 64 * MIB // 16)
    usual, _ = swollen_kib(pcap(PACKETS), tmp_path)
    assert (swollen_kib(content, tmp_path)[0] - usual) * 1024 < SWELLING


def test_a_record_that_claims_4_gib_takes_no_memory():
    frames, damage = told(pcap(PACKETS) + struct.pack("<IIII", 1, 1, 0xFFFF_FFFF, 0xFFFF_FFFF))
    assert frames == 4
    assert "4294967295 captured bytes" in damage


# Cut


def test_a_ring_buffers_file_that_was_cut_in_a_packet_goes_on_with_the_next(tmp_path):
    # dumpcap -b: the disk was full, so that the first file ends in a packet, and the next begins with a header again.
    first, second = tmp_path / "ring_00001.pcap", tmp_path / "ring_00002.pcap"
    first.write_bytes(pcap(PACKETS[:3])[:-10])
    second.write_bytes(pcap(PACKETS[3:]))
    capture = bdpcap.analyze([first, second])
    assert (capture.info.frames, capture.info.streams) == (3, 1)
    assert "cut short" in str(capture.damages[0])
    assert "ring_00001" in str(capture.damages[0])


def test_a_file_without_its_header_is_no_capture(tmp_path, capsys):
    path = tmp_path / "tail.pcap"
    path.write_bytes(pcap(PACKETS)[24 + 7 :])
    assert main(["flows", str(path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
