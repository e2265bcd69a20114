"""A tiny language for TCP dialogues, in the spirit of packetdrill, compiled to packets.

One segment a line; a blank line or what follows # is comment:

    TIME DIRECTION FLAGS FIRST:LAST(LENGTH) [ack N] [win N] [id N] [ttl N] [<OPTIONS>]

    0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > P. 1:101(100) ack 1 win 502 <TS val 7 ecr 9,sack 1:2 5:9>

TIME is in seconds, absolute or `+` since the line before. `>` goes from CLIENT to SERVER, `<` back. FLAGS are
letters of FSRPEW and `.` for ACK. Sequence and acknowledgment numbers are relative to the ISN of their side.
`id` sets the IP identification, which otherwise counts up: the same packet captured twice has it twice.
`ttl` sets the TTL, which otherwise is 64, as no router lowered it.
Options are those of packetdrill: mss N, wscale N, sackOK, sack A:B..., TS val N ecr N, FO COOKIE, nop.
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction

from packets import Address, Packet, tcp_packet

CLIENT = Address("192.0.2.1", 40000)
SERVER = Address("198.51.100.2", 80)
START_NS = 1_600_000_000 * 10**9
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "E": 64, "W": 128}
# The tap is beside the client, 20 ms from the server.
HANDSHAKE = """
    0     > S  0:0(0)       win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 2>
    +0    > .  1:1(0) ack 1 win 502
"""
LINE = re.compile(
    r"(?P<time>\+?[\d.]+)\s+(?P<way>[<>])\s+(?P<flags>[FSRPEW.]+|-)\s+"
    r"(?P<first>-?\d+):(?P<last>-?\d+)\((?P<length>\d+)\)"
    r"(?:\s+ack\s+(?P<ack>-?\d+))?(?:\s+win\s+(?P<win>\d+))?(?:\s+id\s+(?P<id>\d+))?"
    r"(?:\s+ttl\s+(?P<ttl>\d+))?"
    r"(?:\s+<(?P<options>[^>]*)>)?"
)


def scenario(
    text: str,
    *,
    isn: tuple[int, int] = (1_000_000, 3_000_000_000),
    client: Address = CLIENT,
    server: Address = SERVER,
) -> list[Packet]:
    """Compile a dialogue to packets; `isn` gives the client's and the server's initial sequence number."""
    packets = []
    time, identification = Fraction(0), {">": 100, "<": 7000}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        found = LINE.fullmatch(words)
        if found is None:
            raise ValueError(f"line {number} is no segment: {words}")
        first, last, length = (int(found[name]) for name in ("first", "last", "length"))
        if last - first != length:
            raise ValueError(f"line {number}: {first}:{last} is not {length} bytes")
        stated = Fraction(found["time"].removeprefix("+"))
        time = time + stated if found["time"].startswith("+") else stated
        forward = found["way"] == ">"
        identification[found["way"]] += 1
        own, peer = isn if forward else reversed(isn)
        packets.append(
            tcp_packet(
                START_NS + int(time * 10**9),
                *((client, server) if forward else (server, client)),
                seq=own + first,
                ack=0 if found["ack"] is None else peer + int(found["ack"]),
                flags=sum(FLAGS[letter] for letter in found["flags"] if letter != "-"),
                window=int(found["win"] or 65535),
                payload_bytes=length,
                options=options(found["options"] or "", peer),
                identification=int(found["id"] or identification[found["way"]]),
                ttl=int(found["ttl"] or 64),
            )
        )
    return packets


def options(text: str, peer_isn: int) -> bytes:
    """Encode TCP options; SACK edges are relative to the peer's ISN."""
    out = b""
    for option in filter(None, (part.strip() for part in text.split(","))):
        name, *values = option.split()
        match name:
            case "nop":
                out += b"\x01"
            case "mss":
                out += struct.pack(">BBH", 2, 4, int(values[0]))
            case "wscale":
                out += struct.pack(">BBB", 3, 3, int(values[0]))
            case "sackOK":
                out += struct.pack(">BB", 4, 2)
            case "sack":
                edges = [(peer_isn + int(edge)) % 2**32 for block in values for edge in block.split(":")]
                out += struct.pack(f">BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
            case "TS":
                out += struct.pack(">BBII", 8, 10, int(values[1]), int(values[3]))
            case "FO":
                cookie = bytes.fromhex(values[0]) if values else b""
                out += struct.pack(">BB", 34, 2 + len(cookie)) + cookie
            case _:
                raise ValueError(f"no such option: {option}")
    return out
