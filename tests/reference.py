"""The specification of connection tracking, executable: slow, obvious, on dpkt, nothing shared with the core.

`track(packets)` gives the rows of the events table, one for every (segment, flow), as a tap beside the sender
sees them. A flow is one direction of a stream. Its state is the send sequence variables of RFC 9293 section
3.3.1 (SND.UNA, SND.NXT, SND.WND), and a list of all that was sent and is not yet acknowledged.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import dpkt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packets import Packet

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
LARGEST_SCALE = 14  # RFC 7323 section 2.3
LARGEST_UNSCALED = 65535
COPY_NS = 1_000_000  # two captures of one packet lie this close together
SAME_ID_NS = 50_000_000  # with an IP identification, this close: Wi-Fi sends a frame again for a while
ETHERNET = 1460  # payload of a frame; a larger packet may be captured again, cut
UNKNOWN_RTO_NS = 1_000_000_000  # RFC 6298 section 2.1: a timer runs this long while no RTT is known
MIXED_NS = 2_000_000  # queues of one host are emptied this soon (Linux netdev_budget_usecs)
REORDER_NS = 3_000_000  # patience with a late segment while no RTT is known, as Wireshark
SILENCE_NS = 1_000_000_000  # the first timeout, RFC 6298 section 2.1: nothing is in flight for longer
FAR = 1 << 24  # no window reaches further: Windows grows to 16 MiB, Linux to 6


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
    """Decode TCP in IP in Ethernet; lengths are those of the IP header, whatever the capture kept."""
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
    in_flight_bytes: int | None  # without a FIN, which no window limits
    tap_in_flight_bytes: int | None
    rtt_ns: int | None
    advertised_bytes: int | None
    own_acknowledgment: int | None


@dataclass
class Sent:
    """One transmission that occupied sequence space, and what has become of it."""

    first: int
    end: int
    time_ns: int
    clock: int | None  # TSval
    new: int | None  # the first number in it that the tap had not seen; None if it had seen all
    resent: bool  # a retransmission, whether the tap saw the first copy or not
    sacked: bool = False


@dataclass
class Flow:
    """One direction of a stream."""

    sender: str
    receiver: str
    origin: int | None = None  # the number on the wire that is relative 0
    start: int | None = None  # the first number seen: below it, nothing is known to be missing
    nxt: int | None = None  # SND.NXT, relative
    data_nxt: int | None = None  # SND.NXT without a FIN
    una: int | None = None  # SND.UNA, relative; not known before the first acknowledgment
    syns: list[Segment] = field(default_factory=list)
    window: int | None = None  # SND.WND, scaled
    window_told: tuple[int | None, int] | None = None  # scaled and as on the wire, in the last acknowledgment
    sent: list[Sent] = field(default_factory=list)
    frontier: Segment | None = None  # the segment that last moved SND.NXT
    shown_ns: int | None = None  # when a bare acknowledgment moved SND.NXT
    passed: tuple[int, int] = (
        0,
        0,
    )  # data that such an acknowledgment overtook before it got its identification
    captured: list[Segment] = field(default_factory=list)
    copied: bool = False  # one of them was captured more than once
    carried_payload: bool = False
    early: list[tuple[int, int]] = field(default_factory=list)  # acknowledged before they were captured
    early_ns: int = 0
    probe_end: int = 0  # the end of what only a probe of the window carried
    reported: set[int] = field(default_factory=set)  # the SACK scoreboard, RFC 6675 section 3
    probed: bool = False  # the last thing sent was a keep-alive or a probe of the window

    @property
    def syn(self) -> Segment | None:
        """The SYN whose options count: an answer with a scale is one to a SYN that had it, of several."""
        scaled = [syn for syn in self.syns if syn.scale is not None]
        return next(reversed(scaled or self.syns), None)

    def relative(self, number: int) -> int:
        """Unwrap: of all relative numbers that 32 bits can mean, the one nearest to the furthest seen."""
        if self.origin is None:
            return 0
        near = self.nxt or 0
        distance = (number - self.origin - near) % 2**32
        return near + (distance if distance < 2**31 else distance - 2**32)

    def unseen(self, first: int, end: int) -> bool:
        """Did none of these numbers pass the tap before?"""
        return not any(part.first < end and first < part.end for part in self.sent)

    def sent_once(self, part: Sent) -> bool:
        return not any(q is not part and q.first < part.end and part.first < q.end for q in self.sent)

    @property
    def data_in_flight(self) -> int | None:
        return None if self.data_nxt is None or self.una is None else max(0, self.data_nxt - self.una)

    @property
    def in_flight(self) -> int | None:
        return None if self.nxt is None or self.una is None else max(0, self.nxt - self.una)


@dataclass
class Stream:
    """A connection: two flows, the client's first."""

    number: int
    flows: tuple[Flow, Flow]
    established: bool = False
    initial_rtt_ns: int | None = None

    def scale(self, advertiser: Flow) -> int | None:
        """RFC 7323 section 2.2: in force only if both SYNs carry the option; one not captured is taken to."""
        if any(flow.syn is not None and flow.syn.scale is None for flow in self.flows):
            return 0
        if advertiser.syn is None:
            return None
        return min(advertiser.syn.scale, LARGEST_SCALE)

    def handshake(self, segment: Segment) -> None:
        """SYN to SYN-ACK to the client's bare ACK: one round trip of the whole path, wherever the tap is."""
        from_client = segment.source == self.flows[0].sender
        if self.established or not from_client or segment.flags & (SYN | RST | ACK) != ACK:
            return
        self.established = True
        questions, answers = (flow.syns for flow in self.flows)
        if not questions or not answers or segment.length or segment.has(FIN):
            return
        if segment.acknowledgment != (answers[-1].sequence + 1) % 2**32:
            return
        question, answer = answered(questions, answers[0]), answered(answers, segment)
        if (
            question
            and answer
            and question.time_ns <= answers[0].time_ns
            and answer.time_ns <= segment.time_ns
        ):
            self.initial_rtt_ns = answers[0].time_ns - question.time_ns + segment.time_ns - answer.time_ns


def answered(syns: list[Segment], answer: Segment) -> Segment | None:
    """Of SYNs sent several times the last, if the answer's timestamp names it alone (RFC 6298 section 3).

    That of an earlier one is no sign: Linux repeats it in its answers to later ones.
    """
    if len(syns) == 1:
        return syns[0]
    named = [
        syn for syn in syns if answer.timestamps and (syn.timestamps or (None,))[0] == answer.timestamps[1]
    ]
    return syns[-1] if named == [syns[-1]] else None


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
            ports = [int(end.rpartition(":")[2]) for end in ends]
            # The server answers, whatever was captured of the question. Without a SYN, it has the lower port; clients of
            # NFS have one that is reserved (Linux, min_resvport and max_resvport).
            nfs = max(ports) == 2049 and 665 <= min(ports) <= 1023
            if segment.has(ACK) if segment.has(SYN) else (ports[0] < ports[1]) != nfs:
                ends = ends[::-1]
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
    """Take one segment into a stream: what it acknowledges of the peer's flow, then what it sends itself."""
    own, peer = stream.flows if stream.flows[0].sender == segment.source else stream.flows[::-1]
    if is_first_word(stream, own, segment):
        for flow in stream.flows:
            vars(flow).update(vars(Flow(flow.sender, flow.receiver, syns=flow.syns)))
    if is_stray(stream, own, segment) or is_of_device(own, peer, segment):
        own.captured.append(segment)
        yield ignored(stream, own, peer, segment)
        return
    anchor(own, peer, segment)
    stream.handshake(segment)
    sequence = own.relative(segment.sequence)
    acknowledgment = peer.relative(segment.acknowledgment) if segment.has(ACK) else None
    advertised = advertised_window(stream, own, segment)
    header = {"advertised_bytes": advertised, "own_acknowledgment": acknowledgment}

    copied = is_copy(own, peer, segment)
    own.copied |= copied
    own.captured.append(segment)
    kind = sent_kind(stream, own, segment, sequence)
    if kind is not None and copied:
        kind = "duplicate"
    if acknowledgment is not None:
        ack_kind = acknowledgment_kind(peer, segment, acknowledgment, advertised, kind is None)
        if copied:
            ack_kind = "duplicate"
        rtt_ns = None
        if ack_kind not in ("rst", "duplicate"):  # RFC 9293 section 3.5.2: a reset's number promises nothing
            rtt_ns = acknowledge(peer, segment, acknowledgment, advertised)
        if kind is None or peer.carried_payload:
            yield Row(
                stream.number,
                peer.sender,
                peer.receiver,
                segment.time_ns,
                segment.frame,
                ack_kind,
                sequence=None,
                length=None,
                acknowledged=acknowledgment,
                window_bytes=advertised,
                in_flight_bytes=peer.data_in_flight,
                tap_in_flight_bytes=peer.in_flight,
                rtt_ns=rtt_ns,
                **header,
            )
    show_sent(own, segment, sequence, kind is None and not copied)
    if kind is not None:
        send(own, segment, sequence, kind)
        yield Row(
            stream.number,
            own.sender,
            own.receiver,
            segment.time_ns,
            segment.frame,
            kind,
            sequence=sequence,
            length=segment.length,
            acknowledged=own.una,
            window_bytes=own.window,
            in_flight_bytes=own.data_in_flight,
            tap_in_flight_bytes=own.in_flight,
            rtt_ns=None,
            **header,
        )


def is_first_word(stream: Stream, own: Flow, segment: Segment) -> bool:
    """RFC 9293 section 3.5.1: what came before a SYN of another number were answers to an older connection."""
    spoken = stream.established or any(flow.carried_payload for flow in stream.flows)
    return segment.has(SYN) and own.origin not in (None, segment.sequence) and not spoken


def is_stray(stream: Stream, own: Flow, segment: Segment) -> bool:
    """RFC 9293 section 3.10.7.4: a SYN of another number, after the handshake, is answered and ignored.

    So is the FIN of an older connection, which the SYN of a new one overtook.
    """
    if own.origin is None:
        return False
    if segment.has(SYN):
        return segment.sequence != own.origin
    opening = own is stream.flows[0] and bool(own.syns) and not stream.established
    return segment.has(FIN) and opening and (segment.sequence - own.origin) % 2**32 > LARGEST_UNSCALED


def is_of_device(own: Flow, peer: Flow, segment: Segment) -> bool:
    """RFC 9293 section 3.10.7.4: an ACK out of the window is dropped; one far beyond all data is of no end."""
    return not segment.length and is_far(own, peer, segment)


def begins_another(own: Flow, peer: Flow, segment: Segment) -> bool:
    """Data that continue neither direction, after a silence, are of a connection whose SYN was not captured."""
    last_ns = max((one.time_ns for flow in (own, peer) for one in flow.captured[-1:]), default=0)
    return segment.length > 0 and segment.time_ns - last_ns > SILENCE_NS and is_far(own, peer, segment)


def renumber(flow: Flow, number: int) -> None:
    """Let this number follow what was sent before; nothing of that is in flight any more."""
    flow.origin = (number - flow.nxt) % 2**32
    flow.una, flow.sent, flow.early, flow.reported = flow.nxt, [], [], set()


def is_far(own: Flow, peer: Flow, segment: Segment) -> bool:
    """Does a segment without control flags lie far from all numbers of both directions?"""
    plain = not segment.flags & (SYN | FIN | RST) and segment.has(ACK)
    sent = any(one.occupies for one in own.captured)
    if not plain or not sent or own.nxt is None or peer.nxt is None:
        return False
    sequence, acknowledgment = own.relative(segment.sequence), peer.relative(segment.acknowledgment)
    return abs(sequence - own.nxt) > FAR and abs(acknowledgment - peer.nxt) > FAR


def ignored(stream: Stream, own: Flow, peer: Flow, segment: Segment) -> Row:
    """The row of a segment that changes nothing."""
    if not segment.has(SYN | FIN):
        bare = ignored(stream, peer, own, replace(segment, flags=segment.flags | FIN))
        acknowledgment = peer.relative(segment.acknowledgment)
        return replace(bare, kind="ack", sequence=None, length=None, own_acknowledgment=acknowledgment)
    return Row(
        stream.number,
        own.sender,
        own.receiver,
        segment.time_ns,
        segment.frame,
        {SYN: "syn", SYN | ACK: "syn-ack"}.get(segment.flags & (SYN | ACK), "fin"),
        sequence=own.relative(segment.sequence),
        length=0,
        acknowledged=None,
        window_bytes=None,
        in_flight_bytes=own.data_in_flight,
        tap_in_flight_bytes=own.in_flight,
        rtt_ns=None,
        advertised_bytes=None,
        own_acknowledgment=peer.relative(segment.acknowledgment) if segment.has(ACK) else None,
    )


def anchor(own: Flow, peer: Flow, segment: Segment) -> None:
    """Where numbers count from, as Wireshark: a SYN is 0; without one, the first byte seen is 1."""
    if begins_another(own, peer, segment):
        renumber(own, segment.sequence)
        renumber(peer, segment.acknowledgment)
    if own.origin is None:
        own.origin = (segment.sequence - (not segment.has(SYN))) % 2**32
    if peer.origin is None and segment.has(ACK):
        peer.origin = (segment.acknowledgment - 1) % 2**32
    if segment.has(SYN) and not is_copy(own, peer, segment):
        again = bool(own.syns) and own.syns[-1].sequence == segment.sequence
        own.syns = [*own.syns, segment] if again else [segment]


def advertised_window(stream: Stream, own: Flow, segment: Segment) -> int | None:
    """SEG.WND in bytes, if the scale is known; a SYN's is never scaled (RFC 7323 section 2.2)."""
    if segment.has(RST):
        return None  # its sender has no connection, or none any more (RFC 9293 section 3.5.2)
    if segment.has(SYN) or segment.window == 0:  # nothing is nothing at any scale
        return segment.window
    scale = stream.scale(own)
    return None if scale is None else segment.window << scale


def is_copy(flow: Flow, peer: Flow, segment: Segment) -> bool:
    """Did the capture see this very packet a moment ago?

    Equal headers within a millisecond, or longer with the same IP identification; without one, two acknowledgments may
    well be equal, and two SYN-ACKs that answer two SYNs. Or a piece of a larger packet, cut after its first capture.
    """
    apart_ns = SAME_ID_NS if segment.identification else COPY_NS
    opening = segment.has(SYN) and (peer.copied or not segment.has(ACK))
    distinct = bool(segment.identification or segment.length or opening)
    return any(
        is_piece(segment, earlier)
        or (
            distinct
            and segment.identity == earlier.identity
            and abs(segment.time_ns - earlier.time_ns) < apart_ns
        )
        for earlier in flow.captured[-64:]
    )


def is_piece(segment: Segment, whole: Segment) -> bool:
    """Linux inet_gso_segment: the pieces of a packet count its identification on."""
    if segment.identification is None or whole.identification is None or whole.length <= ETHERNET:
        return False
    offset = (segment.sequence - whole.sequence) % 2**32
    index = (segment.identification - whole.identification) % 2**16
    in_place = offset % index == 0 and segment.length <= offset // index if index else offset == 0
    return (
        in_place
        and 0 < segment.length < whole.length
        and offset + segment.length <= whole.length
        and segment.acknowledgment == whole.acknowledgment
        and abs(segment.time_ns - whole.time_ns) < COPY_NS
    )


def sent_kind(stream: Stream, flow: Flow, segment: Segment, sequence: int) -> str | None:
    """Name a segment for the flow that it belongs to; None if it sends nothing."""
    end = sequence + segment.occupies
    if flow.nxt is None and segment.length == 1 and not segment.flags & (SYN | FIN | RST | PSH):
        # RFC 9293 section 3.9.1.2: the last byte of a write has PSH, so this octet is garbage below SND.NXT.
        flow.start = flow.nxt = flow.una = end
        return "keep-alive"
    if flow.nxt is None and (segment.occupies or segment.has(RST)):
        flow.start = flow.nxt = sequence
    idle = flow.nxt is not None and flow.una is not None and flow.una >= flow.nxt
    probe = segment.length <= 1 and not segment.flags & (SYN | FIN | RST)
    if segment.has(RST):
        return "rst"
    if idle and probe and sequence == flow.nxt - 1:
        # RFC 9293 section 3.8.4: SEG.SEQ = SND.NXT-1, with or without one garbage octet.
        return "zero-window probe" if flow.window == 0 else "keep-alive"
    if idle and probe and segment.length == 1 and sequence == flow.nxt and flow.window == 0:
        return "zero-window probe"  # RFC 9293 section 3.8.6.1
    if not segment.occupies:
        return None
    if segment.has(SYN):
        return "syn-ack" if segment.has(ACK) else "syn"
    if sequence >= flow.nxt or belated(flow, segment, sequence, min(end, flow.nxt)):
        return "data" if segment.length else "fin"
    floor = flow.start if flow.una is None else max(flow.start, flow.una)
    inside = floor <= sequence and end <= flow.nxt
    if inside and flow.unseen(sequence, end) and overtaken(stream, flow, segment, end):
        return "reordered"
    return "retransmission"


def belated(flow: Flow, segment: Segment, first: int, end: int) -> bool:
    """Was the acknowledgment of a segment captured a moment before it, as two queues of one host may show?"""
    near = abs(segment.time_ns - flow.early_ns) < MIXED_NS
    return near and first < end and not gaps(first, end, flow.early)


def unseen(flow: Flow, una: int, acknowledgment: int) -> list[tuple[int, int]]:
    """What is acknowledged now and has not passed the tap."""
    if flow.nxt is None:
        return []
    known = [(part.first, part.end) for part in flow.sent]
    below = gaps(max(una, flow.start), min(acknowledgment, flow.nxt), known)
    return below + gaps(max(flow.nxt, flow.probe_end), acknowledgment, [])


def gaps(first: int, end: int, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What of these numbers lies in none of the ranges."""
    left = [(first, end)] if first < end else []
    for low, high in ranges:
        left = [part for a, b in left for part in ((a, min(b, low)), (max(a, high), b)) if part[0] < part[1]]
    return left


def overtaken(stream: Stream, flow: Flow, segment: Segment, end: int) -> bool:
    """Was a segment that fills a hole sent before those that the tap saw first?"""
    first, past = flow.passed
    if first <= end - segment.occupies and end <= past and segment.time_ns - flow.shown_ns < UNKNOWN_RTO_NS:
        return True
    newest = flow.frontier
    clocks = bool(newest and newest.timestamps and segment.timestamps)
    if clocks:
        later = (segment.timestamps[0] - newest.timestamps[0]) % 2**32
        if later:
            return later >= 2**31  # clocks go up, RFC 7323 section 5.2
    above = [part for part in flow.sent if part.first >= end]
    # A retransmission takes a round trip: at the tap that is the whole path's, wherever the tap is.
    patience = REORDER_NS if stream.initial_rtt_ns is None else stream.initial_rtt_ns // 2
    since_ns = min(above, key=lambda part: part.first).time_ns if above else flow.shown_ns
    soon = since_ns is not None and segment.time_ns - since_ns < patience
    if clocks and soon and stream.initial_rtt_ns is not None:
        return True
    if newest and newest.identification and segment.identification:
        ahead = (segment.identification - newest.identification + 2**15) % 2**16 - 2**15
        if 1 <= abs(ahead) <= 1000:
            return ahead < 0  # hosts count it up
    return soon


def send(flow: Flow, segment: Segment, sequence: int, kind: str) -> None:
    """SND.NXT moves with what is new; a probe's octet counts only once it is acknowledged."""
    flow.carried_payload |= segment.length > 0
    if kind == "duplicate":
        return
    flow.probed = kind in ("keep-alive", "zero-window probe")
    end = sequence + segment.occupies
    if flow.probed and sequence == flow.nxt:
        flow.probe_end = end
    if flow.probed or kind == "rst":
        return
    flow.early = [part for a, b in flow.early for part in gaps(a, b, [(sequence, end)])]
    for part in flow.sent:
        part.sacked &= not (
            part.first < end and sequence < part.end
        )  # the next acknowledgment may answer this copy
    clock = segment.timestamps[0] if segment.timestamps else None
    new = max(sequence, flow.nxt) if end > flow.nxt else sequence if flow.unseen(sequence, end) else None
    flow.sent.append(Sent(sequence, end, segment.time_ns, clock, new, resent=kind == "retransmission"))
    if end > flow.nxt:
        flow.nxt, flow.frontier = end, segment
    data_end = end - segment.has(FIN)
    flow.data_nxt = data_end if flow.data_nxt is None else max(flow.data_nxt, data_end)


def show_sent(flow: Flow, segment: Segment, sequence: int, bare: bool) -> None:
    """RFC 9293 section 3.10.7.4: a bare acknowledgment has the number SND.NXT, so all below it was sent."""
    if not (bare and segment.has(ACK)) or flow.nxt is None or flow.una is None:
        return
    if sequence <= flow.nxt + 1:  # a single number may be a FIN
        return
    window = (flow.window_told[0] or 0) if flow.window_told else 0
    if sequence <= max(flow.nxt, flow.una + window):
        last = flow.captured[-2].identification if len(flow.captured) > 1 else None
        if last and segment.identification == (last + 1) % 2**16:
            flow.passed = flow.nxt, sequence  # hosts count it up: they sent nothing in between
        flow.nxt, flow.data_nxt, flow.frontier = sequence, max(flow.data_nxt or 0, sequence), segment
        flow.shown_ns = segment.time_ns


def acknowledgment_kind(
    peer: Flow, segment: Segment, acknowledgment: int, advertised: int | None, pure: bool
) -> str:
    """Name an acknowledgment for the flow that it acknowledges; `pure` if the segment does nothing else."""
    if segment.has(RST):
        return "rst"
    if advertised == 0 and not segment.has(SYN):
        return "zero window"
    if acknowledgment != peer.una or not pure:
        return "ack"
    same_window = peer.window_told is None or (advertised, segment.window) == peer.window_told
    if peer.probed and same_window:
        return "keep-alive ack"
    if peer.in_flight and (same_window or segment.sack):
        return "duplicate ack"  # RFC 5681 section 2; with SACK, whatever the window (RFC 6675 section 2)
    return "ack" if same_window else "window update"


def acknowledge(peer: Flow, segment: Segment, acknowledgment: int, advertised: int | None) -> int | None:
    """SND.UNA and SND.WND of the peer's flow; gives the RTT that this measured."""
    blocks = reported(peer, segment, acknowledgment)
    peer.start = acknowledgment if peer.start is None else peer.start
    una = acknowledgment if peer.una is None else peer.una
    missed = unseen(peer, una, acknowledgment)
    if missed:
        near = abs(segment.time_ns - peer.early_ns) < MIXED_NS
        peer.early, peer.early_ns = [*(peer.early if near else []), *missed], segment.time_ns
    peer.una = max(una, acknowledgment)
    peer.nxt = acknowledgment if peer.nxt is None else max(peer.nxt, acknowledgment)
    peer.data_nxt = acknowledgment if peer.data_nxt is None else max(peer.data_nxt, acknowledgment)
    peer.probed = False
    if acknowledgment >= una:
        peer.window, peer.window_told = advertised, (advertised, segment.window)
    rtt_ns = None
    if acknowledgment > una:
        rtt_ns = karn(peer, segment, una, acknowledgment)
        peer.sent = [part for part in peer.sent if part.end > acknowledgment]
    for left, right in blocks:
        sample = selective(peer, segment, left, right)
        rtt_ns = sample if rtt_ns is None else rtt_ns
    return rtt_ns


def reported(peer: Flow, segment: Segment, acknowledgment: int) -> list[tuple[int, int]]:
    """What the SACK blocks say has arrived above the acknowledgment, without the report of a duplicate."""
    blocks = [(peer.relative(left), peer.relative(right)) for left, right in segment.sack]
    if blocks:
        (left, right), second = blocks[0], blocks[1] if len(blocks) > 1 else None
        if right <= acknowledgment or (second and second[0] <= left and right <= second[1]):
            del blocks[0]  # RFC 2883 section 4
    limit = float("inf") if peer.nxt is None else peer.nxt
    return [(left, right) for left, right in blocks if acknowledgment <= left < right <= limit]


def karn(flow: Flow, segment: Segment, una: int, acknowledgment: int) -> int | None:
    """RFC 6298 section 3: no sample from what was sent twice, unless timestamps tell the copies apart.

    As tcptrace has it, the acknowledgment must end where a segment ends, and nothing else that it covers may
    have been sent later: that, not the last segment, would be what it answers.
    """
    known = [part for part in flow.sent if part.first >= flow.start and not part.sacked]
    covered = [part for part in known if una < part.end <= acknowledgment]
    last = next((part for part in covered if part.end == acknowledgment and part.new is not None), None)
    if last is None:
        return None
    copies = [part for part in flow.sent if part.first < last.end and last.new < part.end]
    if len(copies) == 1:
        once = not last.resent and all(part.time_ns <= last.time_ns for part in covered)
        answered = last if once else None
    else:
        echo = segment.timestamps[1] if segment.timestamps else None
        told = [part for part in (copies[0], copies[-1]) if part.clock is not None and part.clock == echo]
        answered = told[0] if len(told) == 1 else None  # RFC 7323 section 4
    if answered is None or segment.time_ns < answered.time_ns:
        return None
    return segment.time_ns - answered.time_ns


def selective(flow: Flow, segment: Segment, left: int, right: int) -> int | None:
    """The youngest segment that SACK reports for the first time and that was sent once measures too."""
    news = set(range(left, right)) - flow.reported
    flow.reported |= news
    if not news:
        return None
    inside = [part for part in flow.sent if left <= part.first and part.end <= right]
    fresh = [part for part in inside if not part.sacked]
    for part in inside:
        part.sacked = True
    once = [part for part in fresh if not part.resent and flow.sent_once(part)]
    return segment.time_ns - once[-1].time_ns if once else None
