"""The specification of connection tracking, executable: slow, obvious, on dpkt, and sharing nothing with the core.

`track(packets)` gives one Row for every (segment, flow) pair of the events table, as a tap beside the sender sees it.
A flow is one direction of a stream. The state of a flow is what RFC 9293 section 3.3.1 calls the send sequence
variables (SND.UNA, SND.NXT, SND.WND, SND.WL1, SND.WL2), plus a list of everything that was ever sent.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import dpkt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packets import Packet

FIN, SYN, RST, ACK = 1, 2, 4, 16
LARGEST_SCALE = 14  # RFC 7323 section 2.3


@dataclass(frozen=True)
class Segment:
    """What one packet says."""

    frame: int
    time_ns: int
    source: str
    destination: str
    sequence: int
    acknowledgment: int
    flags: int
    window: int
    length: int
    identification: int | None
    checksum: int
    scale: int | None = None
    timestamps: tuple[int, int] | None = None
    sack: tuple[tuple[int, int], ...] = ()

    def has(self, flag: int) -> bool:
        return bool(self.flags & flag)

    @property
    def occupies(self) -> int:
        """Sequence numbers used, SEG.LEN of RFC 9293 section 3.3.1."""
        return self.length + self.has(SYN) + self.has(FIN)

    @property
    def identity(self) -> tuple[object, ...]:
        """What two captures of one packet have in common, and two packets that say the same do not."""
        return (
            self.identification,
            self.checksum,
            self.sequence,
            self.acknowledgment,
            self.flags,
            self.window,
            self.length,
            self.timestamps,
        )


def segments(packets: Iterable[Packet]) -> Iterable[Segment]:
    """Decode TCP in IPv4 or IPv6 in Ethernet; lengths are those of the IP header, whatever the capture kept."""
    for frame, packet in enumerate(packets, 1):
        ip = dpkt.ethernet.Ethernet(packet.data).data
        if not isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6) or not isinstance(ip.data, dpkt.tcp.TCP):
            continue
        tcp = ip.data
        ip_payload = ip.plen if isinstance(ip, dpkt.ip6.IP6) else ip.len - 4 * ip.hl
        options = dict(dpkt.tcp.parse_opts(tcp.opts))
        stamps = options.get(dpkt.tcp.TCP_OPT_TIMESTAMP)
        scale = options.get(dpkt.tcp.TCP_OPT_WSCALE)
        words = [int.from_bytes(options.get(dpkt.tcp.TCP_OPT_SACK, b"")[i : i + 4]) for i in range(0, 32, 4)]
        blocks = len(options.get(dpkt.tcp.TCP_OPT_SACK, b"")) // 8
        yield Segment(
            frame=frame,
            time_ns=packet.time_ns,
            source=endpoint(ip.src, tcp.sport),
            destination=endpoint(ip.dst, tcp.dport),
            sequence=tcp.seq,
            acknowledgment=tcp.ack,
            flags=tcp.flags,
            window=tcp.win,
            length=ip_payload - 4 * tcp.off,
            identification=getattr(ip, "id", None),
            checksum=tcp.sum,
            scale=None if scale is None else scale[0],
            timestamps=None if stamps is None else (int.from_bytes(stamps[:4]), int.from_bytes(stamps[4:])),
            sack=tuple(zip(words[0 : 2 * blocks : 2], words[1 : 2 * blocks : 2], strict=True)),
        )


def endpoint(address: bytes, port: int) -> str:
    if len(address) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, address)}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{port}"


@dataclass(frozen=True)
class Row:
    """A row of the events table, for the columns that a tap at the sender knows without inference."""

    stream: int
    sender: str
    receiver: str
    time_ns: int
    frame: int
    kind: str
    sequence: int | None
    length: int | None
    acknowledged: int | None
    window_bytes: int | None
    in_flight_bytes: int
    rtt_ns: int | None
    advertised_bytes: int | None
    own_acknowledgment: int | None


@dataclass
class Sent:
    """One transmission: a range of sequence numbers and when it left."""

    first: int
    end: int
    time_ns: int


@dataclass
class Flow:
    """One direction of a stream."""

    sender: str
    receiver: str
    origin: int | None = None  # the wire's number of relative 0
    nxt: int | None = None  # SND.NXT, relative
    una: int | None = None  # SND.UNA, relative
    syn: Segment | None = None
    window: int | None = None  # SND.WND, scaled
    window_sequence: int | None = None  # SND.WL1, in the receiver's space
    window_acknowledgment: int | None = None  # SND.WL2
    sent: list[Sent] = field(default_factory=list)
    recent: list[Segment] = field(default_factory=list)
    carried_payload: bool = False
    last_acknowledgment: Segment | None = None
    keep_alive_unanswered: bool = False

    def relative(self, number: int) -> int:
        """Unwrap: of all relative numbers that the 32 bits could mean, the one nearest to the furthest seen."""
        near = self.nxt or 0
        distance = (number - self.origin - near) % 2**32
        return near + (distance if distance < 2**31 else distance - 2**32)

    def ever_sent(self, first: int, end: int) -> bool:
        """Was every number of the range sent before?"""
        missing = first
        for part in sorted(self.sent, key=lambda part: part.first):
            if part.first <= missing < part.end:
                missing = part.end
        return missing >= end

    @property
    def in_flight(self) -> int:
        return 0 if self.nxt is None else self.nxt - self.una


@dataclass
class Stream:
    """A connection: two flows, the client's first."""

    number: int
    flows: tuple[Flow, Flow]

    def scale(self, sender: Flow) -> int | None:
        """RFC 7323 section 2.2: in force only if both SYNs carry the option. None while that is not known."""
        syns = [flow.syn for flow in self.flows]
        if any(syn is not None and syn.scale is None for syn in syns):
            return 0
        if None in syns:
            return None
        return min(sender.syn.scale, LARGEST_SCALE)


def track(packets: Iterable[Packet]) -> list[Row]:
    """Give the events of a capture."""
    streams: dict[frozenset[str], Stream] = {}
    rows: list[Row] = []
    count = 0
    for segment in segments(packets):
        key = frozenset((segment.source, segment.destination))
        stream = streams.get(key)
        if stream is None or reuses_ports(stream, segment):
            ends = segment.source, segment.destination
            if segment.has(SYN) and segment.has(ACK):
                ends = ends[::-1]  # the server answers, whatever was captured of the question
            stream = streams[key] = Stream(count, (Flow(*ends), Flow(*ends[::-1])))
            count += 1
        rows += observe(stream, segment)
    return rows


def reuses_ports(stream: Stream, segment: Segment) -> bool:
    """A SYN with another ISN than the stream's begins a new connection."""
    flow = next(flow for flow in stream.flows if flow.sender == segment.source)
    return (
        segment.has(SYN)
        and not segment.has(ACK)
        and flow.origin is not None
        and segment.sequence != flow.origin
    )


def observe(stream: Stream, segment: Segment) -> Iterable[Row]:
    """Take one segment into a stream: first what it acknowledges of the peer's flow, then what it sends itself."""
    own, peer = stream.flows if stream.flows[0].sender == segment.source else stream.flows[::-1]
    if own.origin is None:
        own.origin = segment.sequence - (not segment.has(SYN))
    if segment.has(ACK) and peer.origin is None:
        peer.origin = segment.acknowledgment - 1
    if segment.has(SYN):
        own.syn = own.syn or segment
    sequence = own.relative(segment.sequence)
    acknowledgment = peer.relative(segment.acknowledgment) if segment.has(ACK) else None
    advertised = advertised_window(stream, own, segment)

    own_kind = sent_kind(own, segment, sequence)
    shared = {"advertised_bytes": advertised, "own_acknowledgment": acknowledgment}
    if segment.has(ACK) and (own_kind is None or peer.carried_payload):
        kind = acknowledgment_kind(own, peer, segment, acknowledgment)
        rtt_ns = acknowledge(peer, segment, sequence, acknowledgment, advertised)
        yield row(stream, peer, segment, kind, rtt_ns=rtt_ns, acknowledged=acknowledgment, window_bytes=advertised, **shared)
    elif segment.has(ACK):
        acknowledge(peer, segment, sequence, acknowledgment, advertised)
    if own_kind is not None:
        send(own, segment, sequence)
        yield row(
            stream,
            own,
            segment,
            own_kind,
            sequence=sequence,
            length=segment.length,
            acknowledged=own.una,
            window_bytes=own.window,
            **shared,
        )
