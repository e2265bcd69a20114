//! # Connection
//! A TCP connection: its two endpoints, the options of its handshake, and the flow of data in each direction.

pub(super) mod handshake;
pub(super) mod lifecycle;
pub(super) mod responses;
pub(super) mod standstill;
pub(super) mod turns;

use super::at::At;
use super::event::{Event, Kind};
use super::flow::{Effect, Flow};
use super::null::NULL;
use super::sender::first_packets::FirstPackets;
use super::sender::full_segment::{FullSegment, SegmentBounds};
use super::sender::one_way_delay::OneWayDelay;
use super::tap::observed::ObservedSegment;
use crate::budget::Budget;
use crate::decode::{Endpoint, Flags, Marks, Path, Segment};
use handshake::{Handshake, HandshakeRtts, ScaleSource};
use lifecycle::{Acceptability, Lifecycle};
use responses::Responses;
use standstill::Standstill;
use std::sync::Arc;
use turns::{Turn, Turns};

/// Returns client and server of a connection whose first captured segment this is: the client sent the SYN. Without a
/// SYN, it is the end with the higher port: servers listen on assigned ports, clients use dynamic ones (RFC 6335
/// section 6). Of equal ports, it is the sender of this segment. Clients of NFS alone use ports below its own: a server
/// may insist on a reserved one (Linux `min_resvport`, `max_resvport`).
#[must_use]
pub fn client_and_server(segment: &Segment) -> [Endpoint; 2] {
    const NFS_PORT: u16 = 2049;
    const RESERVED: std::ops::RangeInclusive<u16> = 665..=1023;

    let (source, destination) = (segment.source, segment.destination);
    let is_client_of_nfs =
        |one: Endpoint, other: Endpoint| RESERVED.contains(&one.port) && other.port == NFS_PORT;
    let from_server = if segment.flags.has(Flags::SYN) {
        segment.flags.has(Flags::ACK)
    } else if is_client_of_nfs(source, destination) || is_client_of_nfs(destination, source) {
        source.port > destination.port
    } else {
        source.port < destination.port
    };
    if from_server {
        [destination, source]
    } else {
        [source, destination]
    }
}

/// Finished rows. Events are created only for the connections of which they are wanted.
#[derive(Debug, Default)]
pub struct Rows {
    /// Turns that ended.
    pub turns: Vec<Turn>,
    /// Events of the wanted connections.
    pub events: Vec<Event>,
}

/// One end of the connection, with the data that it sends.
#[derive(Debug)]
pub struct Half {
    /// Flow of the data that this end sends.
    pub flow: Flow,
    /// TTL and partial checksums of this end's first packets.
    pub first_packets: FirstPackets,
    /// Excess one-way delay from this end to the tap.
    one_way_delay: OneWayDelay,
    has_payload: bool,
    /// Did a segment of this end carry timestamps?
    has_timestamps: bool,
    /// Largest payload in bytes when the flow's MSS was last set; `None` where a SYN has changed the options since.
    largest_at_mss_update: Option<i64>,
    /// Sizes of its segments, to find a full one.
    full_segment: FullSegment,
    /// Bounds of a full segment by the SYNs; `None` without a SYN.
    segment_bounds: Option<SegmentBounds>,
}

impl Half {
    /// Sets the flow's MSS from the SYNs and the segments that this end, `from`, has sent. Without a SYN, the MSS is the
    /// largest captured payload up to [`Connection::LARGEST_FRAME`], and at least [`Connection::LEAST_MSS`]. Where that is
    /// larger than Ethernet carries, the size of a full segment comes first. Without payload, it is
    /// [`Connection::DEFAULT_MSS`].
    #[cold]
    fn set_mss(&mut self, from: usize, handshake: &Handshake) {
        let largest = self.flow.totals.largest_bytes;
        self.largest_at_mss_update = Some(largest);
        self.segment_bounds = handshake.segment_bounds(from, self.has_timestamps);
        let seen = Some(largest.max(Connection::LEAST_MSS))
            .filter(|seen| largest > 0 && *seen <= Connection::LARGEST_FRAME);
        // Offload merges segments, so a larger payload shows no size of one.
        let is_merged =
            largest > SegmentBounds::OF_ETHERNET.announced && self.full_segment.is_known();
        let bounds = self.segment_bounds.as_ref();
        let bounds = bounds.or(is_merged.then_some(&SegmentBounds::OF_ETHERNET));
        let mss = bounds
            .map(|bounds| self.full_segment.payload(bounds))
            .or(seen);
        self.flow.set_mss(mss.unwrap_or(Connection::DEFAULT_MSS));
    }

    /// Returns the largest payload of a packet that the receiver's SYN allows, in bytes; `None` without a SYN.
    #[must_use]
    pub fn announced_mss(&self) -> Option<i64> {
        self.segment_bounds.as_ref().map(|bounds| bounds.announced)
    }

    /// Adds a segment to the sizes that show a full one; returns whether the flow's MSS has changed.
    #[inline]
    fn add_size(&mut self, segment: &Segment) -> bool {
        let payload = i64::from(segment.payload_bytes);
        self.full_segment.is_larger(payload)
            && !segment.flags.has(Flags::PSH)
            && self.full_segment.add(
                payload,
                (self.segment_bounds.as_ref()).unwrap_or(&SegmentBounds::OF_ETHERNET),
            )
    }

    /// Is nothing outstanding in either direction: are all bytes of this end acknowledged, and does `observed`
    /// acknowledge all bytes of the `other` end? Then the segment begins a new turn.
    fn is_everything_acknowledged(&self, other: &Self, observed: &ObservedSegment<'_>) -> bool {
        let (own, other) = (&self.flow.tap, &other.flow.tap);
        let acknowledgment = other.space.relative(observed.segment.acknowledgment);
        own.is_acknowledged() && other.snd_nxt().is_none_or(|next| acknowledgment >= next)
    }
}

/// A question of the client in clear text: the server owes it an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The first message of a TLS handshake.
    TlsHello,
    /// A request of HTTP/1.
    HttpRequest,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, Copy)]
struct Asked {
    question: Question,
    /// When it was captured.
    time_ns: i64,
    /// Relative sequence number of the server at which an answer begins.
    answers_from: i64,
}

/// A question that had no answer when an end closed.
#[derive(Debug, Clone, Copy)]
struct Unanswered {
    question: Question,
    /// Time that it had waited, in ns.
    waited_ns: i64,
    /// Payload that the server had sent until then.
    server_bytes: i64,
}

impl Question {
    /// Returns the question that a segment begins with; `first` is whether it has the client's first data.
    #[inline]
    const fn of(marks: Marks, first: bool) -> Option<Self> {
        if marks.is_http_request() {
            Some(Self::HttpRequest)
        } else if first && marks.tls_handshake().is_some() {
            Some(Self::TlsHello)
        } else {
            None
        }
    }
}

/// Returns the end `from` that sends and the other end.
fn own_and_other(halves: &mut [Half; 2], from: usize) -> (&mut Half, &mut Half) {
    let [client, server] = halves;
    if from == 0 {
        (client, server)
    } else {
        (server, client)
    }
}

/// A TCP connection.
#[derive(Debug)]
pub struct Connection {
    /// Stream number, as Wireshark's `tcp.stream`.
    pub number: u32,
    /// Client and server.
    pub ends: [Endpoint; 2],
    /// The client's half and the server's.
    pub halves: [Half; 2],
    /// The SYNs and their options.
    pub handshake: Handshake,
    /// State of the opening and of the closing.
    pub lifecycle: Lifecycle,
    /// Position of the first packet.
    pub start: At,
    /// Position of the last packet; its time is the latest of all packets.
    pub last: At,
    /// Time from the SYN to the ACK that completes the handshake, in ns; `None` where it was not measured.
    pub initial_rtt_ns: Option<i64>,
    /// Headers around the first packet.
    pub path: Arc<Path>,
    /// The client's first payload is a cookie of iperf3.
    pub iperf3_cookie: bool,
    /// The client asked a proxy for something of another host, in clear text.
    pub asks_proxy: bool,
    /// The server's responses in clear text.
    pub responses: Responses,
    /// The first fatal TLS alert in clear text: its sender, 0 for the client, and its description.
    pub tls_alert: Option<(u8, u8)>,
    /// The client's first question after the latest data of the server.
    asked: Option<Asked>,
    /// The question without an answer at which an end closed.
    unanswered: Option<Unanswered>,
    /// Window scales in force, by the end that advertises; only a SYN changes them. `None` where unknown.
    shifts: [Option<u8>; 2],
    /// Window scales that an earlier pass inferred, by the end that advertises; `None` where it inferred none.
    inferred_shifts: [Option<u8>; 2],
    /// Turns of requests and responses.
    turns: Turns,
    /// Times in which both timestamp clocks stood still.
    pub standstill: Standstill,
    /// Acknowledged bytes of both directions that the capture lacks.
    unseen_bytes: i64,
    /// Is the origin of the relative sequence numbers known for both ends, and are all packets of one side of a firewall?
    anchored: bool,
    /// Initial sequence numbers of client and server on the other side of a firewall that renumbers them, if the capture
    /// holds both sides.
    renumbered: Option<[u32; 2]>,
    wants_events: bool,
    /// Largest number of rounds kept per flow, and of ranges in a set.
    limits: (usize, usize),
    /// A FIN or a reset was captured.
    fin_or_rst_seen: bool,
    rst_seen: bool,
}

impl Connection {
    /// Shortest delay of an acknowledgment, ns: Linux delays by 40 ms or more (`TCP_DELACK_MIN`), less a tick of 10 ms.
    const DELAYED_ACK_NS: i64 = 30_000_000;

    /// MSS in bytes where the capture shows none: a full packet on Ethernet with timestamps.
    pub const DEFAULT_MSS: i64 = 1448;
    /// The MSS of a receiver that announces none, in bytes: RFC 9293 section 3.7.1, over IPv4.
    const LEAST_MSS: i64 = 536;
    /// The payload of a jumbo frame, in bytes: larger payloads come from segmentation offload.
    const LARGEST_FRAME: i64 = 9000;

    /// Returns a connection that begins with this segment; [`Self::segment`] must still process it. The last argument
    /// are the window scales that an earlier pass inferred for the data of the client and of the server.
    #[must_use]
    pub fn new(
        number: u32,
        segment: &Segment,
        path: Arc<Path>,
        at: At,
        wants_events: bool,
        [for_client, for_server]: [Option<u8>; 2],
    ) -> Self {
        let inferred_shifts = [for_server, for_client];
        let half = |direction| Half {
            flow: Flow::new(number, direction, at),
            first_packets: FirstPackets::default(),
            one_way_delay: OneWayDelay::default(),
            has_payload: false,
            has_timestamps: false,
            largest_at_mss_update: None,
            full_segment: FullSegment::default(),
            segment_bounds: None,
        };
        Self {
            number,
            ends: client_and_server(segment),
            halves: [half(0), half(1)],
            handshake: Handshake::default(),
            lifecycle: Lifecycle::default(),
            start: at,
            last: at,
            initial_rtt_ns: None,
            path,
            iperf3_cookie: false,
            tls_alert: None,
            asked: None,
            unanswered: None,
            asks_proxy: false,
            responses: Responses::default(),
            shifts: inferred_shifts,
            inferred_shifts,
            turns: Turns::default(),
            standstill: Standstill::default(),
            unseen_bytes: 0,
            anchored: false,
            renumbered: None,
            wants_events,
            limits: (Budget::DEFAULT.rows, Budget::DEFAULT.ranges),
            fin_or_rst_seen: false,
            rst_seen: false,
        }
    }

    /// Sets the largest number of rounds kept per flow, and of ranges in a set. The connection must be new.
    pub fn set_limits(&mut self, limits: (usize, usize)) {
        self.limits = limits;
        for half in &mut self.halves {
            half.flow.set_limits(limits.0, limits.1);
        }
    }

    /// Returns 0 where the client sent the segment, 1 where the server did.
    fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// Does this segment open another connection between the same ports? As in Wireshark (reused ports), a SYN with
    /// another initial sequence number does.
    #[must_use]
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        segment.opens()
            && self.halves[self.direction(segment)]
                .flow
                .tap
                .space
                .origin()
                .is_some_and(|origin| origin != segment.sequence)
    }

    /// Returns the window scale of `end`, `None` where it is unknown, and its source.
    #[must_use]
    pub fn scale(&self, end: usize) -> (Option<u8>, ScaleSource) {
        match self.inferred_shifts[end] {
            Some(shift) => (Some(shift.min(Handshake::MAX_SHIFT)), ScaleSource::Inferred),
            None => self.handshake.scale(end),
        }
    }

    /// Processes the next segment of the connection.
    pub fn segment(&mut self, segment: &Segment, at: At, rows: &mut Rows) {
        let from = self.direction(segment);
        self.last = At {
            time_ns: self.last.time_ns.max(at.time_ns),
            frame: at.frame,
        };
        let flags = segment.flags;
        let control = flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) != 0;
        if control && flags.has(Flags::SYN) && !self.is_renumbered_syn_ack(from, segment) {
            self.restart(from, segment);
        }
        if !self.anchored && self.is_renumbered(from, segment) {
            self.add_renumbered(from, segment, at, rows);
            return;
        }
        let (own, other) = own_and_other(&mut self.halves, from);
        own.has_timestamps |= segment.options.timestamps.is_some();
        let other_apart_ns = other.flow.tap.copies.apart_ns();
        let copy = own
            .flow
            .tap
            .copies
            .remember(segment, at.time_ns, other_apart_ns);
        if copy {
            own.flow.totals.add_copy(segment);
        } else {
            own.flow.totals.packets += 1;
        }
        if control && !self.process_control(from, segment, at, copy) {
            if self.wants_events {
                rows.events
                    .push(self.event_without_effect(from, segment, at));
            }
            return;
        }
        if !self.anchored {
            self.anchor(from, segment);
        }
        if from == 0 && !self.handshake.is_complete() {
            self.complete_handshake(segment, at);
        }
        let mut observed = self.observed(from, segment, at, copy);
        if (self.halves[from].flow.tap).is_far(observed.sequence)
            && self.acknowledges_far(from, segment)
        {
            if observed.pure_ack {
                if self.wants_events {
                    let dropped = Event {
                        advertised_bytes: NULL,
                        ..self.event(Effect::of(Kind::Ack), 1 - from, from, &observed)
                    };
                    rows.events.push(dropped);
                }
                return;
            }
            if !control && !copy && self.halves[from].flow.is_silent(at.time_ns) {
                self.renumber(from, segment);
                observed = self.observed(from, segment, at, copy);
            }
        }
        if !copy {
            self.observe(from, &observed);
        }
        if flags.has(Flags::ACK) {
            // A SYN-ACK is an acknowledgment, too: its window is in force for the next segment.
            self.acknowledge(from, &observed, rows);
        }
        if !observed.pure_ack {
            self.send(from, &observed, rows);
        } else if flags.has(Flags::ACK) {
            if self.halves[from].flow.shows_sent(observed.sequence) {
                self.show_sent(from, &observed, rows);
            }
        } else if self.wants_events {
            // Malformed: neither data nor an acknowledgment. It still has an event.
            rows.events
                .push(self.event_without_effect(from, segment, at));
        }
        self.halves[from].flow.tap.last_identification = segment.identification;
    }

    /// Does a segment of `from` acknowledge data further from those of the peer than usual windows reach? With such a
    /// sequence number, too, its receiver drops it (RFC 9293 section 3.10.7.4): a device on the way made it, as a probe.
    /// Where the capture lacks much of both directions, the next data show it, so `from` must have sent some.
    #[cold]
    fn acknowledges_far(&self, from: usize, segment: &Segment) -> bool {
        let peer = &self.halves[1 - from].flow.tap;
        segment.flags.has(Flags::ACK)
            && self.halves[from].flow.tap.sent_end().is_some()
            && peer.snd_nxt().is_some()
            && peer.is_far(peer.space.relative(segment.acknowledgment))
    }

    /// Continues with another connection between the same ends, whose SYN the capture lacks. After a silence, data with
    /// both numbers beyond any window of the one before belong to none that it knows (RFC 9293 section 3.4.1).
    #[cold]
    fn renumber(&mut self, from: usize, segment: &Segment) {
        self.halves[from].flow.renumber(segment.sequence);
        (self.halves[1 - from].flow).renumber(segment.acknowledgment);
    }

    /// Processes a SYN, a FIN or a reset; returns whether it belongs to the connection.
    #[cold]
    fn process_control(&mut self, from: usize, segment: &Segment, at: At, copy: bool) -> bool {
        self.rst_seen |= segment.flags.has(Flags::RST);
        self.fin_or_rst_seen |= self.rst_seen || segment.flags.has(Flags::FIN);
        let belongs = !self.is_unrelated(from, segment);
        if belongs && segment.flags.has(Flags::SYN) {
            self.negotiate(from, segment, at, copy);
        }
        belongs
    }

    /// Updates the lifecycle, the first packets and the one-way delay with a segment that is no copy.
    #[inline]
    fn observe(&mut self, from: usize, observed: &ObservedSegment<'_>) {
        let segment = observed.segment;
        if self.lifecycle.may_change(from, segment) {
            self.observe_lifecycle(from, observed);
        }
        let (own, other) = own_and_other(&mut self.halves, from);
        own.first_packets.add(segment);
        self.standstill
            .add(from, observed.tsval, observed.at.time_ns);
        // The sender's timestamp clock shows the one-way delay to the tap.
        if let Some(tsval) = observed.tsval
            && let Some(excess_ns) = own.one_way_delay.excess_ns(tsval, observed.at.time_ns)
        {
            if !observed.pure_ack {
                own.flow
                    .add_forward_delay(excess_ns, own.one_way_delay.tick_ns());
            }
            other.flow.add_reverse_delay(excess_ns);
        }
    }

    /// Updates the lifecycle with a segment that is no copy.
    #[cold]
    fn observe_lifecycle(&mut self, from: usize, observed: &ObservedSegment<'_>) {
        let segment = observed.segment;
        let (own, other) = own_and_other(&mut self.halves, from);
        self.lifecycle
            .observe(from, segment, observed.at.time_ns, || Acceptability {
                in_window: own.flow.is_in_window(observed.sequence),
                is_unsent: own.flow.is_unsent(observed.sequence),
                answers_syn: segment.flags.has(Flags::ACK)
                    && other.flow.is_acceptable_ack(segment.acknowledgment),
                is_foreign_ack: segment.flags.has(Flags::ACK)
                    && (other.flow.tap)
                        .is_foreign_ack(other.flow.tap.space.relative(segment.acknowledgment)),
                is_acknowledged: (own.flow.tap.snd_una())
                    .is_some_and(|acknowledged| observed.sequence <= acknowledged),
            });
    }

    /// Returns the segment with its relative sequence number, window scale and timestamps.
    #[inline(always)] // most of its fields stay in registers
    fn observed<'a>(
        &self,
        from: usize,
        segment: &'a Segment,
        at: At,
        copy: bool,
    ) -> ObservedSegment<'a> {
        let tap = &self.halves[from].flow.tap;
        let sequence = tap.space.relative(segment.sequence);
        let flags = segment.flags;
        let control = flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) != 0;
        let (tsval, tsecr) = segment.options.timestamps.unzip();
        ObservedSegment {
            segment,
            at,
            sequence,
            shift: self.shifts[from],
            tsval,
            tsecr: tsecr.filter(|_| flags.has(Flags::ACK) && !flags.has(Flags::RST)),
            pure_ack: segment.payload_bytes == 0 && !control && !tap.is_probe_sequence(sequence),
            reply: segment.payload_bytes > 1
                || segment.payload_bytes == 1 && !tap.is_probe_sequence(sequence),
            copy,
        }
    }

    /// Processes a SYN: it may change SACK, ECN, the MSS and the window scales.
    #[cold]
    fn negotiate(&mut self, from: usize, segment: &Segment, at: At, copy: bool) {
        if !copy {
            self.handshake.add_syn(from, segment, at.time_ns);
        }
        let sack = self.handshake.allows_sack();
        for half in &mut self.halves {
            half.flow.flush_repeated_acks();
            half.flow.retransmissions.set_sack(sack);
        }
        for half in &mut self.halves {
            half.largest_at_mss_update = None;
        }
        let flags = segment.flags;
        if flags.has(Flags::ACK) {
            // A SYN-ACK that agrees to classic ECN has ECE set and CWR not (RFC 3168 section 6.1.1).
            let agreed = flags.has(Flags::ECE) && !flags.has(Flags::CWR);
            for half in &mut self.halves {
                half.flow.ece_echoes_congestion = agreed;
            }
        }
        self.shifts = [self.scale(0).0, self.scale(1).0];
        for (end, shift) in self.shifts.into_iter().enumerate() {
            let flow = &mut self.halves[1 - end].flow;
            flow.scale.set_negotiated(shift.unwrap_or_default());
        }
    }

    /// Sets the origins of the relative sequence numbers. As in Wireshark, a SYN has number 0, and a stream without a
    /// captured SYN starts at 1.
    fn anchor(&mut self, from: usize, segment: &Segment) {
        let before = u32::from(!segment.flags.has(Flags::SYN));
        let own = &mut self.halves[from].flow.tap.space;
        own.anchor(segment.sequence.wrapping_sub(before));
        if segment.flags.has(Flags::ACK) {
            let other = &mut self.halves[1 - from].flow.tap.space;
            other.anchor(segment.acknowledgment.wrapping_sub(1));
        }
        let is_anchored = |half: &Half| half.flow.tap.space.origin().is_some();
        self.anchored = self.renumbered.is_none() && self.halves.iter().all(is_anchored);
    }

    /// Processes the acknowledgment in a segment that `from` sent.
    #[inline]
    fn acknowledge(&mut self, from: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        let (_, other) = own_and_other(&mut self.halves, from);
        if self.wants_events || !other.flow.count_if_repeated(observed) {
            self.process_ack(1 - from, observed, rows);
        }
        let to = 1 - from as u8;
        if !observed.copy && self.turns.awaits_ack(to) {
            let (_, other) = own_and_other(&mut self.halves, from);
            if let Some(bytes) = other.flow.tap.in_flight() {
                self.turns.outstanding(to, bytes, observed.at);
            }
            if other.flow.is_fully_acknowledged() {
                self.turns.all_acknowledged(to, observed.at);
            }
        }
    }

    /// Processes an acknowledgment of data of `to` that is not counted in bulk.
    #[inline(never)] // seldom where the peer only sends
    fn process_ack(&mut self, to: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        let half = &mut self.halves[to];
        let effect = half.flow.acknowledge(observed);
        self.unseen_bytes += effect.unseen_bytes;
        if effect.acked_bytes > 0
            && let Some(acked) = half.flow.tap.snd_una()
        {
            let una = acked - effect.acked_bytes;
            let way = &mut self.halves[1 - to].flow.tap_to_sender;
            if way.has_acks_in_transit() {
                way.sender_acknowledged(una, acked, observed.at.time_ns);
            }
        }
        // An acknowledgment with payload may have waited for that payload: its RTT shows no delay.
        if effect.rtt_ns != NULL && observed.segment.payload_bytes == 0 {
            let (handshake, ttl) = (&self.handshake, observed.segment.ttl);
            let other = &mut self.halves[1 - to];
            let way = &mut other.flow.tap_to_sender;
            let stand_in = || handshake.may_be_of_stand_in(ttl);
            if other.has_payload || way.is_far_sooner(effect.rtt_ns) && stand_in() {
                way.add_other_rtt(effect.rtt_ns, stand_in);
            }
            let flow = &self.halves[to].flow;
            let rtt_ns = effect.rtt_ns - flow.tap_to_sender.delay_ns();
            // Every second full-sized segment is acknowledged without delay (RFC 9293 section 3.8.6.3).
            let two_segments = effect.acked_bytes >= 2 * flow.mss();
            if two_segments {
                self.turns.set_rtt(to as u8, rtt_ns);
            }
            if two_segments || rtt_ns < Self::DELAYED_ACK_NS {
                self.halves[1 - to].flow.add_prompt_rtt(rtt_ns);
            }
        }
        if self.wants_events && (observed.pure_ack || self.halves[to].has_payload) {
            let event = self.event_of_acknowledgment(effect, to, observed);
            rows.events.push(event);
        }
    }

    /// Processes a segment that is not a pure acknowledgment: it occupies sequence space, probes or resets.
    #[inline]
    fn send(&mut self, from: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        let direction = from as u8;
        let payload = observed.segment.payload_bytes > 0;
        let segment = observed.segment;
        if segment.flags.0 & (Flags::FIN | Flags::RST) != 0 {
            self.leave_question(from, observed);
        }
        let (own, other) = own_and_other(&mut self.halves, from);
        // The MSS can only change with a SYN, a larger payload, or one that was sent often.
        let largest = own.flow.totals.largest_bytes;
        if own.largest_at_mss_update != Some(largest) || largest == 0 {
            own.set_mss(from, &self.handshake);
            // The first payload is at the relative sequence number 1.
            self.iperf3_cookie |=
                from == 0 && observed.sequence == 1 && observed.segment.marks.is_iperf3_cookie();
        }
        if own.add_size(observed.segment) {
            own.set_mss(from, &self.handshake);
        }
        if let Some(description) = observed.segment.marks.tls_alert() {
            self.tls_alert.get_or_insert((direction, description));
        }
        let all_acknowledged = payload
            && !self.turns.is_turn_of(direction)
            && own.is_everything_acknowledged(other, observed);
        let before = own.flow.totals.payload_bytes;
        let effect = own.flow.segment(observed);
        self.unseen_bytes += effect.unseen_bytes;
        // A keep-alive may carry one byte of garbage (RFC 9293 section 3.8.4), and a reset its reason as text (RFC 1122
        // section 4.2.2.12).
        own.has_payload |= payload && !matches!(effect.kind, Kind::KeepAlive | Kind::Rst);
        let new_bytes = own.flow.totals.payload_bytes - before;
        if new_bytes > 0 {
            own.flow.set_caught_up(other.flow.tap.is_acknowledged());
            if from == 1 {
                self.asked = None;
            }
            self.turns.set_unseen_bytes(self.unseen_bytes);
            if effect.kind == Kind::Retransmission {
                self.turns.retransmitted(direction, true, observed.at);
            }
            self.add_to_turn(from, new_bytes, all_acknowledged, observed.at, rows);
            if !segment.marks.is_empty() {
                if let Some(record) = segment.marks.tls_handshake() {
                    self.turns.begins_with(record, observed.at);
                }
                self.asks_proxy |= from == 0 && segment.marks.is_proxy_request();
                if from == 1 {
                    let asked = self.halves[0].flow.totals.payload_bytes > 0;
                    (self.responses).add(segment.marks, self.ends[1].port, asked);
                }
                let question = Question::of(segment.marks, observed.sequence == 1);
                if let Some(question) = question.filter(|_| from == 0) {
                    self.asked.get_or_insert(Asked {
                        question,
                        time_ns: observed.at.time_ns,
                        answers_from: self.halves[1].flow.tap.snd_nxt().unwrap_or_default(),
                    });
                }
            }
        }
        // A copy of what the receiver has acknowledged is no part of the message: the first one was. With new bytes, the
        // first one was lost before the tap. A FIN that is sent again is none either.
        if effect.kind == Kind::Retransmission && payload {
            if new_bytes > 0 || !self.halves[from].flow.tap.is_acknowledged() {
                (self.turns).retransmitted(direction, new_bytes > 0, observed.at);
            } else {
                self.turns.copied(direction, observed.at);
            }
        }
        if self.wants_events {
            rows.events
                .push(self.event_of_sending(effect, from, observed));
        }
    }

    /// Adds so many new bytes of `from` to its turn.
    #[inline(always)] // for every segment with payload
    fn add_to_turn(
        &mut self,
        from: usize,
        bytes: i64,
        all_acknowledged: bool,
        at: At,
        rows: &mut Rows,
    ) {
        let flow = &self.halves[from].flow;
        let way = &flow.tap_to_sender;
        // No acknowledgment counts as delayed while the round trip to the receiver is unknown.
        let rtts_ns = || {
            let receiver_ns = way.receiver_rtt_min_ns();
            (way.rtt_min_ns(), receiver_ns.unwrap_or(i64::MAX))
        };
        let who = (self.number, from as u8);
        let size = (bytes, flow.mss());
        if let Some(ended) = (self.turns).sent(who, size, all_acknowledged, rtts_ns, at) {
            rows.turns.push(ended);
        }
    }

    /// Processes a pure acknowledgment which shows that its sender had sent data that the tap has not seen.
    #[cold]
    fn show_sent(&mut self, from: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        if observed.copy {
            return;
        }
        let (own, other) = own_and_other(&mut self.halves, from);
        let all_acknowledged =
            !self.turns.is_turn_of(from as u8) && own.is_everything_acknowledged(other, observed);
        own.flow.show_sent(observed);
        self.add_to_turn(from, 0, all_acknowledged, observed.at, rows);
    }

    /// Notes how long the client's question had waited when an end closes, unless the server sent data.
    #[cold]
    fn leave_question(&mut self, from: usize, observed: &ObservedSegment<'_>) {
        let answers = from == 1 && observed.segment.payload_bytes > 0;
        // Data of the server that the capture lacks, or has later, came before: they may be the answer.
        let reached = match from {
            0 => (self.halves[1].flow.tap.space).relative(observed.segment.acknowledgment),
            _ => observed.sequence,
        };
        if let Some(asked) = self.asked
            && !answers
            && reached <= asked.answers_from
        {
            let waited_ns = observed.at.time_ns.saturating_sub(asked.time_ns);
            let server_bytes = self.halves[1].flow.totals.payload_bytes;
            self.unanswered.get_or_insert(Unanswered {
                question: asked.question,
                waited_ns,
                server_bytes,
            });
        }
    }

    /// Returns how long a question had waited when an end closed, in ns; `None` without one, or if its answer came later.
    ///
    /// A server of TLS may answer the closing alone, so its later data are no answer.
    #[must_use]
    pub fn unanswered_ns(&self, question: Question) -> Option<i64> {
        let server_bytes = self.halves[1].flow.totals.payload_bytes;
        let left = self.unanswered.filter(|left| left.question == question)?;
        let is_late = question == Question::HttpRequest && server_bytes > left.server_bytes;
        (!is_late).then_some(left.waited_ns)
    }

    /// Is the segment of another connection? There are two such cases. A SYN with another initial sequence number after
    /// the handshake is answered and ignored by its receiver (RFC 9293 section 3.10.7.4). And a FIN of an older
    /// connection may arrive after the new connection's SYN.
    fn is_unrelated(&self, from: usize, segment: &Segment) -> bool {
        let Some(origin) = self.halves[from].flow.tap.space.origin() else {
            return false;
        };
        if segment.flags.has(Flags::SYN) {
            return origin != segment.sequence;
        }
        // Data that follow a SYN at once lie in a window that is not scaled yet.
        segment.flags.has(Flags::FIN)
            && from == 0
            && self.handshake.has_syn(0)
            && !self.handshake.is_complete()
            && segment.sequence.wrapping_sub(origin) > u32::from(u16::MAX)
    }

    /// Is it a SYN-ACK that acknowledges another SYN than the client's, and so unacceptable to the client (RFC 9293 section
    /// 3.10.7.3)? Then a firewall renumbers the connection, and the capture holds both of its sides.
    #[cold]
    fn is_renumbered_syn_ack(&mut self, from: usize, segment: &Segment) -> bool {
        let client = self.halves[0].flow.tap.space.origin();
        let Some(client) = client.filter(|_| self.handshake.has_syn(0)) else {
            return false;
        };
        let acknowledged = segment.acknowledgment.wrapping_sub(client);
        // With Fast Open, the SYN-ACK also acknowledges data (RFC 7413).
        let renumbered =
            from == 1 && segment.flags.has(Flags::ACK) && acknowledged > u32::from(u16::MAX);
        if renumbered {
            let client = segment.acknowledgment.wrapping_sub(1);
            self.renumbered = Some([client, segment.sequence]);
            self.anchored = false;
        }
        renumbered
    }

    /// Is the segment of the other side of a firewall: is its number closer to the next one there than to the next one
    /// here?
    fn is_renumbered(&self, from: usize, segment: &Segment) -> bool {
        let Some(there) = self.renumbered.map(|origins| origins[from]) else {
            return false;
        };
        let tap = &self.halves[from].flow.tap;
        let sent = tap.snd_nxt().unwrap_or_default() as u32;
        let from_next = |origin: u32| {
            let next = origin.wrapping_add(sent);
            (segment.sequence.wrapping_sub(next) as i32).unsigned_abs()
        };
        // Without a number here, only numbers next to those there are of that side.
        let here = (tap.space.origin()).map_or(u32::from(u16::MAX), from_next);
        from_next(there) < here
    }

    /// Counts a segment of the other side of a firewall as a copy.
    #[cold]
    fn add_renumbered(&mut self, from: usize, segment: &Segment, at: At, rows: &mut Rows) {
        self.halves[from].flow.totals.add_copy(segment);
        if self.wants_events {
            let origin = self.renumbered.map_or(0, |origins| origins[from]);
            let observed = self.observed(from, segment, at, true);
            rows.events.push(Event {
                sequence: segment.sequence.wrapping_sub(origin).into(),
                length: segment.payload_bytes.into(),
                advertised_bytes: NULL,
                own_acknowledgment: NULL,
                ..self.event(Effect::of(Kind::Duplicate), from, from, &observed)
            });
        }
    }

    /// Starts the connection anew if this SYN has another initial sequence number than assumed, before data and before
    /// the handshake is complete. The earlier segments then belonged to an older connection (RFC 9293 section 3.5.1).
    fn restart(&mut self, from: usize, segment: &Segment) {
        let origin = self.halves[from].flow.tap.space.origin();
        if origin.is_some_and(|origin| origin != segment.sequence)
            && !self.handshake.is_complete()
            && !self.halves.iter().any(|half| half.has_payload)
        {
            for (half, direction) in self.halves.iter_mut().zip(0..) {
                half.flow = Flow::new(self.number, direction, self.start);
            }
            self.set_limits(self.limits);
            (self.unseen_bytes, self.anchored) = (0, false);
        }
    }

    /// Processes a segment of the client that may complete the handshake.
    fn complete_handshake(&mut self, segment: &Segment, at: At) {
        if let Some(HandshakeRtts {
            server_ns,
            client_ns,
        }) = self.handshake.complete(segment, at.time_ns)
        {
            self.initial_rtt_ns = Some(server_ns.saturating_add(client_ns));
            self.halves[0]
                .flow
                .set_handshake_rtts(client_ns, server_ns, at);
            self.halves[1]
                .flow
                .set_handshake_rtts(server_ns, client_ns, at);
        }
    }

    /// Returns the event of a segment for its sender's flow.
    #[cold]
    fn event_of_sending(
        &self,
        effect: Effect,
        from: usize,
        observed: &ObservedSegment<'_>,
    ) -> Event {
        let sender = &self.halves[from].flow.sender;
        Event {
            sequence: observed.sequence,
            length: observed.segment.payload_bytes.into(),
            acknowledged: sender.snd_una().unwrap_or(NULL),
            window_bytes: sender.window().unwrap_or(NULL),
            ..self.event(effect, from, from, observed)
        }
    }

    /// Returns the event of a segment for the flow of `to`, whose data it acknowledges.
    #[cold]
    fn event_of_acknowledgment(
        &self,
        effect: Effect,
        to: usize,
        observed: &ObservedSegment<'_>,
    ) -> Event {
        let (sack_start, sack_end) = match effect.kind {
            Kind::Duplicate | Kind::Rst => None,
            _ => self.halves[to].flow.first_sack_block(observed),
        }
        .unwrap_or((NULL, NULL));
        Event {
            acknowledged: (self.halves[to].flow.tap.space)
                .relative(observed.segment.acknowledgment),
            window_bytes: observed.window().unwrap_or(NULL),
            sack_start,
            sack_end,
            ..self.event(effect, to, 1 - to, observed)
        }
    }

    /// Returns the event of a segment that changes nothing in its flow.
    #[cold]
    fn event_without_effect(&self, from: usize, segment: &Segment, at: At) -> Event {
        let kind = match (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (true, true) => Kind::SynAck,
            (true, false) => Kind::Syn,
            _ if segment.flags.has(Flags::FIN) => Kind::Fin,
            _ => Kind::Data,
        };
        let observed = self.observed(from, segment, at, false);
        Event {
            sequence: observed.sequence,
            length: 0,
            advertised_bytes: NULL,
            ..self.event(Effect::of(kind), from, from, &observed)
        }
    }

    /// Returns an event for the flow of `direction` and a segment that `from` sent, with the fields common to all
    /// events.
    fn event(
        &self,
        effect: Effect,
        direction: usize,
        from: usize,
        observed: &ObservedSegment<'_>,
    ) -> Event {
        let flow = &self.halves[direction].flow;
        let known = flow.sender.snd_una().is_some() && flow.sender.snd_nxt().is_some();
        let flags = observed.segment.flags;
        Event {
            stream: self.number,
            direction: direction as u8,
            time_ns: observed.at.time_ns,
            frame: observed.at.frame,
            kind: effect.kind,
            tcp_flags: flags.0,
            cause: effect.cause,
            sequence: NULL,
            length: NULL,
            acknowledged: NULL,
            window_bytes: NULL,
            in_flight_bytes: if known { flow.sender.in_flight() } else { NULL },
            pipe_bytes: if known {
                flow.sender.pipe(flow.mss())
            } else {
                NULL
            },
            rtt_ns: effect.rtt_ns,
            sack_start: NULL,
            sack_end: NULL,
            advertised_bytes: observed.window().unwrap_or(NULL),
            own_acknowledgment: if flags.has(Flags::ACK) {
                let other = &self.halves[1 - from].flow.tap.space;
                other.relative(observed.segment.acknowledgment)
            } else {
                NULL
            },
            tap_in_flight_bytes: flow.tap.in_flight().unwrap_or(NULL),
        }
    }

    /// Has the connection ended: were both FINs acknowledged (RFC 9293 section 3.6), or was a reset captured?
    #[must_use]
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.fin_or_rst_seen && self.is_reset_or_finished()
    }

    /// Was a reset captured, or were both FINs acknowledged?
    #[cold]
    fn is_reset_or_finished(&self) -> bool {
        let is_finished = |half: &Half| half.flow.is_fin_acknowledged();
        self.rst_seen || self.halves.iter().all(is_finished)
    }

    /// Ends the connection: closes the last rounds and the last turn. Directions without payload have no rounds.
    pub fn finish(&mut self, rows: &mut Rows) {
        let last = self.last;
        rows.turns.extend(self.turns.finish());
        let outstanding = |half: &Half| half.flow.tap.in_flight().unwrap_or_default();
        let outstanding = [0, 1].map(|end| outstanding(&self.halves[end]));
        for half in &mut self.halves {
            if half.has_payload {
                half.flow.finish(last);
            }
        }
        let retry_wait_ns = (0..2)
            .filter(|&end| outstanding[end] > 0)
            .find_map(|end| self.halves[end].flow.retransmissions.unanswered_wait_ns());
        self.lifecycle.finish(outstanding, retry_wait_ns);
    }

    /// Returns the finished rounds of a direction in packed form; none without payload.
    #[must_use]
    pub fn packed_rounds(&self, direction: usize) -> &[u8] {
        let half = &self.halves[direction];
        if half.has_payload {
            half.flow.packed_rounds()
        } else {
            &[]
        }
    }

    /// Has this direction carried payload? Only such a direction is a flow.
    #[must_use]
    pub fn has_payload(&self, direction: usize) -> bool {
        self.halves[direction].has_payload
    }
}
