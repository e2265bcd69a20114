"""Flows for hypothesis: valid ones, from a small deterministic TCP, and how captures damage them."""

from __future__ import annotations

import heapq
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from packets import Address, Packet, tcp_packet
from reference import segments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START_NS = 1_700_000_000 * 10**9
MS = 10**6
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
TIMEOUT_NS = 250 * MS  # more than twice the longest path, so that no timeout is spurious


@dataclass(frozen=True)
class Shape:
    """Everything that decides how a transfer looks; a pair is the client's and the server's value."""

    hosts: tuple[str, str]
    ports: tuple[int, int]
    isn: tuple[int, int]
    scale: tuple[int | None, int | None]
    payload_bytes: tuple[int, int]
    buffer_bytes: tuple[int, int]
    mss_bytes: int
    congestion_window: int  # segments
    delay_ns: int  # one way
    tap: float  # 0 beside the client, 1 beside the server
    ack_every: int
    timestamps: bool
    sack: bool
    reader_ns: int  # the applications empty their buffers this often
    lost: frozenset[int]  # transmissions that never arrive, counted over both hosts
    lost_before_tap: bool
    keep_alive: bool
    ending: str
    start_ns: int = START_NS


class Host:
    """One end of a connection: enough of RFC 9293 to make traffic that is valid."""

    def __init__(self, wire: Wire, side: int) -> None:
        shape = wire.shape
        self.wire, self.side, self.shape = wire, side, shape
        self.end = shape.payload_bytes[side] + 1
        self.una = self.nxt = 0
        self.received, self.early = 0, set()
        self.unread, self.unacknowledged = 0, 0
        self.peer_window = 0
        self.duplicates, self.retries = 0, 0
        self.timer_set = self.finished = False
        both = None not in shape.scale
        self.shift = min(shape.scale[side], 14) if both else 0
        self.peer_shift = min(shape.scale[1 - side], 14) if both else 0

    @property
    def peer(self) -> Host:
        return self.wire.hosts[1 - self.side]

    def window(self) -> int:
        return max(0, min(65535, (self.shape.buffer_bytes[self.side] - self.unread) >> self.shift))

    def send(self, first: int, length: int = 0, flags: int = ACK) -> None:
        options = b""
        if flags & SYN:
            options += struct.pack(">BBH", 2, 4, self.shape.mss_bytes)
            if self.shape.scale[self.side] is not None and (
                not flags & ACK or self.shape.scale[0] is not None
            ):
                options += struct.pack(">BBB", 3, 3, self.shape.scale[self.side])
            if self.shape.sack:
                options += struct.pack(">BB", 4, 2)
        if self.shape.timestamps:
            options += struct.pack(
                ">BBII", 8, 10, self.wire.now // MS % 2**32, self.peer_clock if flags & ACK else 0
            )
        if self.shape.sack and self.early and flags & ACK:
            blocks = sorted(self.early)[:3]
            base = self.shape.isn[1 - self.side]
            options += struct.pack(
                f">BB{2 * len(blocks)}I",
                5,
                2 + 8 * len(blocks),
                *((base + e) % 2**32 for b in blocks for e in b),
            )
        window = self.window() if not flags & SYN else min(65535, self.shape.buffer_bytes[self.side])
        self.unacknowledged = 0
        self.wire.carry(self.side, first, length, flags, window, self.received, options)

    peer_clock = 0

    def arrive(self, segment: tuple[int, int, int, int, int, int]) -> None:
        first, length, flags, window, acknowledgment, clock = segment
        self.peer_clock = clock
        if flags & SYN:
            self.received = 1
            self.peer_window = window
            if flags & ACK:
                self.una = acknowledgment
                self.send(1)
                self.push()
            else:
                self.nxt = 1
                self.send(0, flags=SYN | ACK)
                self.watch()
            return
        if flags & RST:
            self.finished = True
            return
        self.accept(acknowledgment, window << self.peer_shift, length)
        if length or flags & FIN:
            self.take(first, first + length + (flags & FIN), length)
        elif first < self.received:
            self.send(self.nxt)  # a keep-alive or an empty probe: answer it
        self.push()

    def accept(self, acknowledgment: int, window: int, length: int) -> None:
        if acknowledgment > self.una:
            self.una, self.duplicates, self.retries = acknowledgment, 0, 0
        elif acknowledgment == self.una < self.nxt and not length and window == self.peer_window:
            self.duplicates += 1
            if self.duplicates == 3:
                self.again()
        self.peer_window = window

    def take(self, first: int, end: int, length: int) -> None:
        if length and not self.window():
            self.send(self.nxt)  # nothing fits: say so
            return
        new = first <= self.received < end
        if end > self.received:
            self.early.add((first, end))
        while ready := [block for block in self.early if block[0] <= self.received]:
            for block in ready:
                self.early.discard(block)
                self.received = max(self.received, block[1])
        self.unread += length if new else 0
        self.unacknowledged += 1
        if not new or self.early or self.unacknowledged >= self.shape.ack_every:
            self.send(self.nxt)
        else:
            self.wire.later(40 * MS, self.delayed)
        self.wire.later(self.shape.reader_ns, self.read)

    def delayed(self) -> None:
        if self.unacknowledged:
            self.send(self.nxt)

    def read(self) -> None:
        was, self.unread = self.window(), 0
        if was << self.shift < self.shape.mss_bytes <= self.window() << self.shift:
            self.send(self.nxt)  # a window update

    def push(self) -> None:
        room = min(self.peer_window, self.shape.congestion_window * self.shape.mss_bytes)
        while self.una >= 1 and self.nxt < self.end and self.una + room > self.nxt:
            length = min(self.shape.mss_bytes, self.end - self.nxt, self.una + room - self.nxt)
            self.send(self.nxt, length, ACK | (PSH if self.nxt + length == self.end else 0))
            self.nxt += length
        if self.nxt == self.end and self.shape.ending == "fin" and self.una >= 1:
            self.send(self.nxt, flags=FIN | ACK)
            self.nxt += 1
        self.watch()

    def again(self) -> None:
        """Send what the peer waits for once more, or probe its window."""
        if self.una == 0:
            self.send(0, flags=SYN | (ACK if self.side else 0))
        elif self.una == self.nxt:
            self.send(self.nxt, 1, ACK | PSH)
        elif self.una == self.end:
            self.send(self.una, flags=FIN | ACK)
        else:
            self.send(
                self.una, min(self.shape.mss_bytes, self.end - self.una, self.nxt - self.una), ACK | PSH
            )

    def watch(self) -> None:
        waiting = self.una < self.nxt or (self.nxt < self.end and not self.peer_window)
        if waiting and not self.timer_set and self.retries < 4:
            self.timer_set = True
            una = self.una
            self.wire.later(TIMEOUT_NS << self.retries, lambda: self.timeout(una))

    def timeout(self, una: int) -> None:
        self.timer_set = False
        if self.finished:
            return
        if self.una == una and (self.una < self.nxt or (self.nxt < self.end and not self.peer_window)):
            self.retries += 1
            self.again()
        self.watch()


class Wire:
    """The path between the two hosts, a clock, and the tap."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.now, self.count = shape, 0, 0
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.captured: list[tuple[int, int, Packet]] = []
        self.hosts = (Host(self, 0), Host(self, 1))
        self.ends = tuple(Address(*end) for end in zip(shape.hosts, shape.ports, strict=True))

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.queue, (self.now + delay_ns, self.count, action))

    def carry(
        self, side: int, first: int, length: int, flags: int, window: int, acknowledgment: int, options: bytes
    ) -> None:
        shape = self.shape
        number = len(self.captured)
        self.now += 1000  # a microsecond on the wire: no two packets at once
        seen_ns = self.now + int(shape.delay_ns * (1 - shape.tap if side else shape.tap))
        packet = tcp_packet(
            shape.start_ns + seen_ns,
            self.ends[side],
            self.ends[1 - side],
            seq=shape.isn[side] + first,
            ack=shape.isn[1 - side] + acknowledgment if flags & ACK else 0,
            flags=flags,
            window=window,
            payload_bytes=length,
            options=options,
            identification=number + 1,
        )
        lost = number in shape.lost
        self.captured.append((seen_ns, number, None if lost and shape.lost_before_tap else packet))
        if not lost:
            segment = (first, length, flags, window, acknowledgment, self.now // MS % 2**32)
            self.later(shape.delay_ns, lambda: self.hosts[1 - side].arrive(segment))

    def run(self) -> list[Packet]:
        client, _server = self.hosts
        client.nxt = 1
        client.send(0, flags=SYN)
        client.watch()
        while self.queue and len(self.captured) < 400:
            at, _, action = heapq.heappop(self.queue)
            self.now = max(self.now, at)
            action()
        if self.shape.keep_alive and client.una == client.nxt:
            self.now += 10**9
            client.send(client.nxt - 1)
        if self.shape.ending == "rst":
            self.now += 10**9
            client.send(client.nxt, flags=RST | ACK)
        while self.queue and len(self.captured) < 420:
            at, _, action = heapq.heappop(self.queue)
            self.now = max(self.now, at)
            action()
        return [
            packet for _, _, packet in sorted(self.captured, key=lambda seen: seen[:2]) if packet is not None
        ]


HOSTS = [("192.0.2.1", "198.51.100.2"), ("2001:db8::1", "2001:db8::2")]
ISN = st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 20_000, 2**32 - 1), st.just(0))
SCALE = st.one_of(st.none(), st.integers(0, 4), st.integers(0, 16))


@st.composite
def shapes(draw: st.DrawFn, ports: tuple[int, int] = (40_000, 80)) -> Shape:
    """Draw a transfer, small and mostly ordinary."""
    mss_bytes = draw(st.sampled_from([100, 536, 1448]))
    payload = st.one_of(st.just(0), st.integers(1, 30 * mss_bytes))
    buffer = st.integers(mss_bytes, 20 * mss_bytes)
    return Shape(
        hosts=draw(st.sampled_from(HOSTS)),
        ports=ports,
        isn=(draw(ISN), draw(ISN)),
        scale=(draw(SCALE), draw(SCALE)),
        payload_bytes=(draw(payload), draw(payload)),
        buffer_bytes=(draw(buffer), draw(buffer)),
        mss_bytes=mss_bytes,
        congestion_window=draw(st.integers(1, 12)),
        delay_ns=draw(st.sampled_from([50_000, MS, 10 * MS, 50 * MS])),
        tap=draw(st.sampled_from([0, 0, 0.5, 1])),
        ack_every=draw(st.sampled_from([1, 2, 2, 4])),
        timestamps=draw(st.booleans()),
        sack=draw(st.booleans()),
        reader_ns=draw(st.sampled_from([MS, 20 * MS, 600 * MS])),
        lost=frozenset(draw(st.lists(st.integers(0, 60), max_size=5))),
        lost_before_tap=draw(st.booleans()),
        keep_alive=draw(st.booleans()),
        ending=draw(st.sampled_from(["fin", "rst", "none"])),
    )


@dataclass(frozen=True)
class Capture:
    """What a tap kept of one or two transfers, and what was done to it."""

    packets: list[Packet]
    shapes: tuple[Shape, ...]
    damage: tuple[str, ...]

    def _repr_pretty_(self, printer, _cycle) -> None:
        """Show a failing example as a dialogue."""
        lines = [
            f"{s.frame:4} {s.time_ns - START_NS:>12} {s.source:>20} {s.flags:#04x} seq {s.sequence}"
            f" len {s.length} ack {s.acknowledgment} win {s.window}"
            f" sack {s.sack} ts {s.timestamps} id {s.identification}"
            for s in segments(self.packets)
        ]
        printer.text("\n".join([*map(str, self.shapes), *self.damage, *lines]))


@st.composite
def captures(draw: st.DrawFn, *, damaged: bool = True) -> Capture:
    """Draw a capture of one transfer, or of two side by side, or of one after another on the same ports."""
    first = draw(shapes())
    drawn = (first,)
    if draw(st.integers(0, 3)) == 0:
        drawn += (draw(shapes(ports=(40_001, 80))),)
    elif draw(st.integers(0, 3)) == 0:
        second = draw(shapes())
        isn = ((first.isn[0] + 64_000) % 2**32, second.isn[1])
        drawn += (replace(second, hosts=first.hosts, isn=isn, start_ns=START_NS + 3600 * 10**9),)
    packets = [packet for shape in drawn for packet in Wire(shape).run()]
    packets.sort(key=lambda packet: packet.time_ns)
    damage = ()
    if damaged:
        damage = tuple(draw(st.lists(st.sampled_from(sorted(DAMAGES)), max_size=3)))
        for name in damage:
            packets = draw(DAMAGES[name](packets))
    return Capture(packets, drawn, damage)


def places(packets: Sequence[Packet], most: int = 6) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, max(0, len(packets) - 1)), max_size=most, unique=True)


def missed(packets: list[Packet]) -> st.SearchStrategy[list[Packet]]:
    """The tap drops packets that the hosts had all the same."""
    return places(packets).map(lambda gone: [packet for n, packet in enumerate(packets) if n not in gone])


def doubled(packets: list[Packet]) -> st.SearchStrategy[list[Packet]]:
    """The tap sees packets twice, as a mirror of both directions of a port does."""

    def double(chosen: list[int]) -> list[Packet]:
        out = []
        for n, packet in enumerate(packets):
            out += [packet, replace(packet, time_ns=packet.time_ns + 300)] if n in chosen else [packet]
        return out

    return places(packets).map(double)


def reordered(packets: list[Packet]) -> st.SearchStrategy[list[Packet]]:
    """Packets overtake their neighbours; the times stay where they were."""

    def swap(chosen: list[int]) -> list[Packet]:
        out = list(packets)
        for n in chosen:
            if n + 1 < len(out):
                a, b = out[n], out[n + 1]
                out[n], out[n + 1] = replace(b, time_ns=a.time_ns), replace(a, time_ns=b.time_ns)
        return out

    return places(packets).map(swap)


def cut(packets: list[Packet]) -> st.SearchStrategy[list[Packet]]:
    """A snaplen that leaves the headers: Ethernet, IPv6, and TCP with all its options."""
    return st.just([packet.cut(14 + 40 + 60) for packet in packets])


def joined_late(packets: list[Packet]) -> st.SearchStrategy[list[Packet]]:
    """The capture begins after the connections did."""
    return st.integers(0, min(12, len(packets))).map(lambda start: packets[start:])


def one_sided(packets: list[Packet]) -> st.SearchStrategy[list[Packet]]:
    """Only one direction comes past the tap."""
    servers = {segment.frame for segment in segments(packets) if segment.source.endswith(":80")}
    return st.booleans().map(lambda keep: [p for n, p in enumerate(packets, 1) if (n in servers) == keep])


DAMAGES = {
    "missed": missed,
    "doubled": doubled,
    "reordered": reordered,
    "cut": cut,
    "joined late": joined_late,
    "one-sided": one_sided,
}
