//! # Connection
//! Two endpoints, what their handshake agreed on, and the flow of data each way.

pub(super) mod handshake;
pub(super) mod lifecycle;
pub(super) mod turns;

use super::at::At;
use super::event::{Event, Kind};
use super::flow::{Effect, Flow};
use super::null::NULL;
use super::sender::first_packets::FirstPackets;
use super::sender::one_way_delay::OneWayDelay;
use super::tap::observed::ObservedSegment;
use crate::budget::Budget;
use crate::decode::{Endpoint, Flags, Path, Segment};
use handshake::{Handshake, Measured, ScaleSource};
use lifecycle::{Lifecycle, Place};
use std::sync::Arc;
use turns::{Turn, Turns};

/// Client and server of a connection that begins with this segment.
#[must_use]
pub fn client_and_server(segment: &Segment) -> [Endpoint; 2] {
    if segment.flags.has(Flags::SYN | Flags::ACK) {
        [segment.destination, segment.source]
    } else {
        [segment.source, segment.destination]
    }
}

/// Where rows go. Events are only made where they are wanted.
#[derive(Debug, Default)]
pub struct Rows {
    /// Finished turns.
    pub turns: Vec<Turn>,
    /// Events, of the connections that want them.
    pub events: Vec<Event>,
}

/// One end of the connection and the data it sends.
#[derive(Debug)]
pub struct Half {
    /// The data it sends.
    pub flow: Flow,
    /// What its first packets show.
    pub first_packets: FirstPackets,
    /// The way from it to the tap.
    way: OneWayDelay,
    carried: bool,
    /// Do its segments carry timestamps?
    stamped: bool,
    /// Largest payload when its MSS was last worked out; none where the SYNs said something new since.
    largest_bytes: Option<i64>,
}

impl Half {
    /// Sets the largest payload of a packet that it sends, by the SYNs; without them, the largest that no offload made.
    #[cold]
    fn set_mss(&mut self, handshake: &Handshake) {
        let largest = self.flow.totals.largest_bytes;
        self.largest_bytes = Some(largest);
        let seen = Some(largest).filter(|largest| (1..=9000).contains(largest));
        let mss = handshake.mss(self.stamped).or(seen);
        self.flow.set_mss(mss.unwrap_or(Connection::USUAL_MSS));
    }

    /// Has it sent all that it wants acknowledged, and had all that the `other` sent, by its own acknowledgment, before the
    /// segment? Then the sides talk in turns.
    fn is_quiet(&self, other: &Self, observed: &ObservedSegment<'_>) -> bool {
        let (own, other) = (&self.flow.tap, &other.flow.tap);
        let acknowledgment = other.space.relative(observed.segment.acknowledgment);
        own.is_acknowledged() && other.snd_nxt().is_none_or(|next| acknowledgment >= next)
    }
}

/// The end that sends, and the other.
fn sides(halves: &mut [Half; 2], from: usize) -> (&mut Half, &mut Half) {
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
    /// Stream number, as `tcp.stream`.
    pub number: u32,
    /// Client, server.
    pub ends: [Endpoint; 2],
    /// What the client sends, what the server sends.
    pub halves: [Half; 2],
    /// What their SYNs agreed on.
    pub handshake: Handshake,
    /// How it began and ended.
    pub lifecycle: Lifecycle,
    /// First packet.
    pub start: At,
    /// Last packet.
    pub last: At,
    /// SYN to the ACK that completes the handshake.
    pub initial_rtt_ns: Option<i64>,
    /// Outer headers of the first packet.
    pub path: Arc<Path>,
    /// Window scales in force, by who advertises; they change with a SYN only.
    shifts: [Option<u8>; 2],
    /// Window scales that an earlier pass inferred, by who advertises.
    inferred: [Option<u8>; 2],
    /// Who talks.
    turns: Turns,
    /// Bytes of both that the capture lacks.
    unseen_bytes: i64,
    /// Do both sides' sequence numbers count from somewhere?
    anchored: bool,
    wants_events: bool,
    /// Rounds of each flow that are kept, and ranges of each set.
    held: (usize, usize),
    /// A FIN or RST was seen.
    closing: bool,
    reset: bool,
}

impl Connection {
    /// Payload of a full packet on Ethernet with timestamps, where nothing tells.
    pub const USUAL_MSS: i64 = 1448;

    /// A connection that begins with this segment, with the window scales that an earlier pass inferred, by who sends
    /// the data that they limit.
    #[must_use]
    pub fn new(
        number: u32,
        segment: &Segment,
        path: Arc<Path>,
        at: At,
        wants_events: bool,
        [for_client, for_server]: [Option<u8>; 2],
    ) -> Self {
        let inferred = [for_server, for_client];
        let half = |direction| Half {
            flow: Flow::new(number, direction, at),
            first_packets: FirstPackets::default(),
            way: OneWayDelay::default(),
            carried: false,
            stamped: false,
            largest_bytes: None,
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
            shifts: inferred,
            inferred,
            turns: Turns::default(),
            unseen_bytes: 0,
            anchored: false,
            wants_events,
            held: (Budget::DEFAULT.rows, Budget::DEFAULT.ranges),
            closing: false,
            reset: false,
        }
    }

    /// Of a connection that begins: how many rounds of each flow are kept, and ranges of each set.
    pub fn hold(&mut self, held: (usize, usize)) {
        self.held = held;
        for half in &mut self.halves {
            half.flow.set_limits(held.0, held.1);
        }
    }

    /// 0 where the client sent the segment.
    fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// Does this segment open another connection between the same ports? A SYN with another initial sequence number
    /// does (as Wireshark's reused ports).
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

    /// The shift of windows that `end` advertises, and how it is known.
    #[must_use]
    pub fn scale(&self, end: usize) -> (Option<u8>, ScaleSource) {
        match self.inferred[end] {
            Some(shift) => (
                Some(shift.min(Handshake::MOST_SHIFT)),
                ScaleSource::Inferred,
            ),
            None => self.handshake.scale(end),
        }
    }

    /// Takes the next segment of the connection.
    pub fn segment(&mut self, segment: &Segment, at: At, rows: &mut Rows) {
        let from = self.direction(segment);
        self.last = At {
            time_ns: self.last.time_ns.max(at.time_ns),
            frame: at.frame,
        };
        let flags = segment.flags;
        let control = flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) != 0;
        if control && flags.has(Flags::SYN) {
            self.begin_anew(from, segment);
        }
        let (own, _) = sides(&mut self.halves, from);
        own.stamped |= segment.options.timestamps.is_some();
        own.flow.totals.packets += 1;
        let copy = own.flow.tap.copies.remember(segment, at.time_ns);
        own.flow.totals.copies += i64::from(copy);
        if control && !self.controls(from, segment, at, copy) {
            if self.wants_events {
                rows.events.push(self.without_effect(from, segment, at));
            }
            return;
        }
        if !self.anchored {
            self.anchor(from, segment);
        }
        if from == 0 && !self.handshake.is_complete() {
            self.complete(segment, at);
        }
        let observed = self.observed(from, segment, at, copy);
        if !copy {
            self.observe(from, &observed);
        }
        if flags.has(Flags::ACK) {
            // The receiver's word: a SYN's window counts from the next segment on, too.
            self.acknowledge(from, &observed, rows);
        }
        if !observed.pure_ack {
            self.send(from, &observed, rows);
        } else if !flags.has(Flags::ACK) && self.wants_events {
            // Neither data nor acknowledgment: malformed, but a segment all the same.
            rows.events.push(self.without_effect(from, segment, at));
        }
    }

    /// A SYN, a FIN or a reset: says whether it belongs to the connection.
    #[cold]
    fn controls(&mut self, from: usize, segment: &Segment, at: At, copy: bool) -> bool {
        self.reset |= segment.flags.has(Flags::RST);
        self.closing |= self.reset || segment.flags.has(Flags::FIN);
        let belongs = !self.is_stray(from, segment);
        if belongs && segment.flags.has(Flags::SYN) {
            self.agree(from, segment, at, copy);
        }
        belongs
    }

    /// What the segment tells of the connection and of the way to the tap.
    #[inline]
    fn observe(&mut self, from: usize, observed: &ObservedSegment<'_>) {
        let segment = observed.segment;
        let (own, other) = sides(&mut self.halves, from);
        self.lifecycle
            .see(from, segment, observed.at.time_ns, || Place {
                in_window: own.flow.is_in_window(observed.sequence),
                answers_syn: segment.flags.has(Flags::ACK)
                    && other.flow.is_acceptable_ack(segment.acknowledgment),
            });
        own.first_packets.add(segment);
        // The sender's clock tells what the way to the tap took.
        if let Some(tsval) = observed.tsval
            && let Some(excess_ns) = own.way.excess_ns(tsval, observed.at.time_ns)
        {
            if !observed.pure_ack {
                own.flow.add_forward_delay(excess_ns, own.way.tick_ns());
            }
            other.flow.add_reverse_delay(excess_ns);
        }
    }

    /// The segment, with what is known of it once both sides' sequence numbers are.
    #[inline(always)] // most of what it gathers stays in registers
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
            copy,
        }
    }

    /// What the connection's SYNs agree on may change.
    #[cold]
    fn agree(&mut self, from: usize, segment: &Segment, at: At, copy: bool) {
        if !copy {
            self.handshake.syn(from, segment, at.time_ns);
        }
        let sack = self.handshake.allows_sack();
        for half in &mut self.halves {
            half.flow.flush_repeated_acks();
            half.flow.retransmissions.set_sack(sack);
        }
        self.halves[from].largest_bytes = None;
        let flags = segment.flags;
        if flags.has(Flags::ACK) {
            // A server that agrees to classic ECN sets this flag of the two (RFC 3168 section 6.1.1).
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

    /// Fixes where the sequence numbers of both sides count from. As Wireshark: a SYN is 0; a stream seen from the
    /// middle starts at 1.
    fn anchor(&mut self, from: usize, segment: &Segment) {
        let before = u32::from(!segment.flags.has(Flags::SYN));
        let own = &mut self.halves[from].flow.tap.space;
        own.anchor(segment.sequence.wrapping_sub(before));
        if segment.flags.has(Flags::ACK) {
            let other = &mut self.halves[1 - from].flow.tap.space;
            other.anchor(segment.acknowledgment.wrapping_sub(1));
        }
        let is_anchored = |half: &Half| half.flow.tap.space.origin().is_some();
        self.anchored = self.halves.iter().all(is_anchored);
    }

    /// A segment acknowledges what the other side sent.
    #[inline]
    fn acknowledge(&mut self, from: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        let (_, other) = sides(&mut self.halves, from);
        if self.wants_events || !other.flow.count_if_repeated(observed) {
            self.hear(1 - from, observed, rows);
        }
        let to = 1 - from as u8;
        if !observed.copy && self.turns.awaits_answer(to) {
            let (_, other) = sides(&mut self.halves, from);
            if other.flow.is_fully_acknowledged() {
                self.turns.answered(to, observed.at);
            }
        }
    }

    /// What a segment acknowledges may be news.
    #[inline(never)] // not of a peer that only sends
    fn hear(&mut self, to: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        let half = &mut self.halves[to];
        let una = half.flow.tap.snd_una();
        let effect = half.flow.acknowledge(observed);
        self.unseen_bytes += effect.unseen_bytes;
        // One that comes with an answer measures no RTT of use here: it may have waited for the answer.
        if effect.rtt_ns != NULL && observed.segment.payload_bytes == 0 {
            // The second full-sized segment is acknowledged at once (RFC 9293 section 3.8.6.3).
            let flow = &half.flow;
            let now = flow.tap.snd_una();
            let advanced = now.zip(una).map_or(0, |(now, before)| now - before);
            if advanced >= 2 * flow.mss() {
                let rtt_ns = effect.rtt_ns - flow.tap_to_sender.delay_ns();
                self.turns.measured(to as u8, rtt_ns);
            }
        }
        if self.wants_events && (observed.pure_ack || self.halves[to].carried) {
            let event = self.event_of_acknowledgment(effect, to, observed);
            rows.events.push(event);
        }
    }

    /// A segment that occupies sequence space, or probes, or resets.
    #[inline]
    fn send(&mut self, from: usize, observed: &ObservedSegment<'_>, rows: &mut Rows) {
        let direction = from as u8;
        let payload = observed.segment.payload_bytes > 0;
        let (own, other) = sides(&mut self.halves, from);
        // What the MSS follows from changes with a SYN or a larger payload only.
        let largest = own.flow.totals.largest_bytes;
        if own.largest_bytes != Some(largest) || largest == 0 {
            own.set_mss(&self.handshake);
        }
        let quiet = payload && !self.turns.is_talk_of(direction) && own.is_quiet(other, observed);
        let before = own.flow.totals.payload_bytes;
        let effect = own.flow.segment(observed);
        self.unseen_bytes += effect.unseen_bytes;
        // A keep-alive may bring one byte of garbage (RFC 9293 section 3.8.4).
        own.carried |= payload && effect.kind != Kind::KeepAlive;
        let new_bytes = own.flow.totals.payload_bytes - before;
        if new_bytes > 0 {
            self.turns.missed(self.unseen_bytes);
            let way_ns = || own.flow.tap_to_sender.rtt_min_ns().unwrap_or_default();
            let who = (self.number, direction);
            if let Some(turn) = (self.turns).sent(who, new_bytes, quiet, way_ns, observed.at) {
                rows.turns.push(turn);
            }
        } else if effect.kind == Kind::Retransmission {
            self.turns.resent(direction, observed.at);
        }
        if self.wants_events {
            rows.events
                .push(self.event_of_sending(effect, from, observed));
        }
    }

    /// Does the segment not belong to this connection: a SYN with another initial sequence number after the handshake,
    /// which its receiver answers and ignores (RFC 9293 section 3.10.7.4), or the FIN of an older connection that a new
    /// SYN overtook?
    fn is_stray(&self, from: usize, segment: &Segment) -> bool {
        let Some(origin) = self.halves[from].flow.tap.space.origin() else {
            return false;
        };
        if segment.flags.has(Flags::SYN) {
            return origin != segment.sequence;
        }
        // What may follow a SYN at once lies in a window that is not scaled yet.
        segment.flags.has(Flags::FIN)
            && from == 0
            && self.handshake.has_syn(0)
            && !self.handshake.is_complete()
            && segment.sequence.wrapping_sub(origin) > u32::from(u16::MAX)
    }

    /// A SYN with another initial sequence number than what its sender seemed to count from, before data and before the
    /// handshake is complete: what came before were answers to an older connection (RFC 9293 section 3.5.1).
    fn begin_anew(&mut self, from: usize, segment: &Segment) {
        let origin = self.halves[from].flow.tap.space.origin();
        if origin.is_some_and(|origin| origin != segment.sequence)
            && !self.handshake.is_complete()
            && !self.halves.iter().any(|half| half.carried)
        {
            for (half, direction) in self.halves.iter_mut().zip(0..) {
                half.flow = Flow::new(self.number, direction, self.start);
            }
            self.hold(self.held);
            (self.unseen_bytes, self.anchored) = (0, false);
        }
    }

    /// The client sends: the handshake may be complete.
    fn complete(&mut self, segment: &Segment, at: At) {
        if let Some(Measured {
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

    /// The event of a segment that its sender's flow is about.
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

    /// The event of a segment that acknowledges what `to` sent.
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

    /// The event of a segment that does nothing to its flow.
    #[cold]
    fn without_effect(&self, from: usize, segment: &Segment, at: At) -> Event {
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

    /// What every event tells, of the flow of `direction` and a segment that `from` sent.
    fn event(
        &self,
        effect: Effect,
        direction: usize,
        from: usize,
        observed: &ObservedSegment<'_>,
    ) -> Event {
        let flow = &self.halves[direction].flow;
        let seen = flow.sender.snd_una().is_some() && flow.sender.snd_nxt().is_some();
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
            in_flight_bytes: if seen { flow.sender.in_flight() } else { NULL },
            pipe_bytes: if seen {
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

    /// Did it end, as far as its packets tell: with both FINs acknowledged (RFC 9293 section 3.6), or by a reset?
    #[must_use]
    #[inline]
    pub fn is_over(&self) -> bool {
        self.closing
            && (self.reset
                || self
                    .halves
                    .iter()
                    .all(|half| half.flow.is_fin_acknowledged()))
    }

    /// No packets follow: finishes the last rounds. Only directions that carried payload are flows.
    pub fn finish(&mut self, rows: &mut Rows) {
        let last = self.last;
        rows.turns.extend(self.turns.finish());
        let outstanding = |half: &Half| half.flow.tap.in_flight().unwrap_or_default();
        let outstanding = [0, 1].map(|end| outstanding(&self.halves[end]));
        for half in &mut self.halves {
            if half.carried {
                half.flow.finish(last);
            }
        }
        let retry_wait_ns = (0..2)
            .filter(|&end| outstanding[end] > 0)
            .find_map(|end| self.halves[end].flow.retransmissions.unanswered_wait_ns());
        self.lifecycle.finish(outstanding, retry_wait_ns);
    }

    /// Has this direction carried payload?
    #[must_use]
    pub fn is_flow(&self, direction: usize) -> bool {
        self.halves[direction].carried
    }
}
