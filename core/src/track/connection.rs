//! # Connection
//! Two endpoints, what their handshake agreed on, and the flow of data each way.

use super::event::{Event, Kind, NULL};
use super::flow::{At, Effect, Flow};
use super::handshake::{Handshake, Measured, ScaleSource};
use super::lifecycle::{Lifecycle, Place};
use super::one_way::OneWay;
use super::passed::client_and_server;
use super::retransmissions::Cause;
use super::turns::{Turn, Turns};
use super::witness::Witness;
use crate::decode::{Endpoint, Flags, Path, Segment};
use crate::limits::Limits;
use std::sync::Arc;

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
    pub witness: Witness,
    /// The way from it to the tap.
    way: OneWay,
    carried: bool,
    /// Do its segments carry timestamps?
    stamped: bool,
    /// Largest payload when its MSS was last worked out; none where the SYNs said something new since.
    largest_bytes: Option<i64>,
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
            witness: Witness::default(),
            way: OneWay::default(),
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
            wants_events,
            held: (Limits::DEFAULT.rows, Limits::DEFAULT.ranges),
            closing: false,
            reset: false,
        }
    }

    /// Of a connection that begins: how many rounds of each flow are kept, and ranges of each set.
    pub fn hold(&mut self, held: (usize, usize)) {
        self.held = held;
        for half in &mut self.halves {
            half.flow.hold(held.0, held.1);
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

    /// Largest payload of a packet that `end` sends, by the SYNs; without them, the largest that no offload made.
    fn mss(&self, end: usize) -> i64 {
        let half = &self.halves[end];
        let largest = half.flow.totals.largest_bytes;
        self.handshake
            .mss(half.stamped)
            .unwrap_or(if (1..=9000).contains(&largest) {
                largest
            } else {
                Self::USUAL_MSS
            })
    }

    /// Takes the next segment of the connection.
    pub fn segment(&mut self, segment: &Segment, at: At, rows: &mut Rows) {
        let from = self.direction(segment);
        let to = 1 - from;
        self.last = At {
            time_ns: self.last.time_ns.max(at.time_ns),
            frame: at.frame,
        };
        let flags = segment.flags;
        let control = flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) != 0;
        if control && flags.has(Flags::SYN) {
            self.begin_anew(from, segment);
        }
        let half = &mut self.halves[from];
        half.stamped |= segment.options.timestamps.is_some();
        half.flow.totals.packets += 1;
        let copy = half.flow.tap.copies.remember(segment, at.time_ns);
        half.flow.totals.copies += i64::from(copy);
        if control {
            self.reset |= flags.has(Flags::RST);
            self.closing |= self.reset || flags.has(Flags::FIN);
            if self.is_stray(from, segment) {
                if self.wants_events {
                    let event = self.without_effect(from, segment, at);
                    rows.events.push(event);
                }
                return;
            }
            if flags.has(Flags::SYN) {
                self.agree(from, segment, at, copy);
            }
        }
        self.anchor(from, segment);
        if from == 0 && !self.handshake.is_complete() {
            self.complete(segment, at);
        }
        if !copy {
            let [sender, receiver] = [from, to].map(|end| &self.halves[end].flow);
            self.lifecycle.see(from, segment, at.time_ns, || Place {
                in_window: sender.is_in_window(segment.sequence),
                answers_syn: flags.has(Flags::ACK) && receiver.has_sent(segment.acknowledgment),
            });
            self.halves[from].witness.see(segment);
        }
        let advertised = self.advertised(from, segment);
        let payload = segment.payload_bytes > 0;
        let sends = payload || control || self.probes(from, segment);
        if !copy && let Some((value, _)) = segment.options.timestamps {
            self.time_way(from, value, sends, at);
        }
        if flags.has(Flags::ACK) {
            // The receiver's word: a SYN's window counts from the next segment on, too.
            let flow = &mut self.halves[to].flow;
            let una = flow.tap.una();
            let effect = flow.acknowledge(segment, advertised, at, !sends, copy);
            if self.wants_events && (!sends || self.halves[to].carried) {
                let event = self.event(effect, to, from, segment, advertised, at);
                rows.events.push(event);
            }
            if !copy {
                let rtt_ns = if payload { NULL } else { effect.rtt_ns };
                self.listen(to, una, rtt_ns, at);
            }
        }
        if sends {
            self.send(from, segment, advertised, at, copy, rows);
        } else if !flags.has(Flags::ACK) && self.wants_events {
            // Neither data nor acknowledgment: malformed, but a segment all the same.
            let event = self.without_effect(from, segment, at);
            rows.events.push(event);
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
            half.flow.retransmissions.set_sack(sack);
        }
        self.halves[from].largest_bytes = None;
        let flags = segment.flags;
        if flags.has(Flags::ACK) {
            // A server that agrees to classic ECN sets this flag of the two (RFC 3168 section 6.1.1).
            let agreed = flags.has(Flags::ECE) && !flags.has(Flags::CWR);
            for half in &mut self.halves {
                half.flow.echoes_congestion = agreed;
            }
        }
        self.shifts = [self.scale(0).0, self.scale(1).0];
        for (end, shift) in self.shifts.into_iter().enumerate() {
            let flow = &mut self.halves[1 - end].flow;
            flow.scale.negotiated(shift.unwrap_or_default());
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
    }

    /// The window that a segment advertises, in bytes.
    fn advertised(&self, from: usize, segment: &Segment) -> Option<i64> {
        let flags = segment.flags;
        // A reset's field means nothing: its sender has no connection, or none any more.
        if flags.has(Flags::RST) {
            return None;
        }
        // A window of 0 is 0 at any scale; a SYN's is never scaled (RFC 7323 section 2.2).
        if flags.has(Flags::SYN) || segment.window == 0 {
            return Some(i64::from(segment.window));
        }
        self.shifts[from].map(|shift| i64::from(segment.window) << shift)
    }

    /// The sender's clock tells what the way to the tap took.
    fn time_way(&mut self, from: usize, value: u32, sends: bool, at: At) {
        let half = &mut self.halves[from];
        if let Some(excess_ns) = half.way.excess_ns(value, at.time_ns) {
            if sends {
                let tick_ns = half.way.tick_ns();
                half.flow.late_forth(excess_ns, tick_ns);
            }
            self.halves[1 - from].flow.late_back(excess_ns);
        }
    }

    /// A segment that occupies sequence space, or probes, or resets.
    fn send(
        &mut self,
        from: usize,
        segment: &Segment,
        advertised: Option<i64>,
        at: At,
        copy: bool,
        rows: &mut Rows,
    ) {
        let payload = segment.payload_bytes > 0;
        // What the MSS follows from changes with a SYN or a larger payload only.
        let largest = self.halves[from].flow.totals.largest_bytes;
        if self.halves[from].largest_bytes != Some(largest) || largest == 0 {
            self.halves[from].largest_bytes = Some(largest);
            let mss = self.mss(from);
            self.halves[from].flow.set_mss(mss);
        }
        let quiet = payload && self.is_quiet(from, segment);
        let half = &mut self.halves[from];
        let before = half.flow.totals.payload_bytes;
        let effect = half.flow.segment(segment, at, copy);
        // A keep-alive may bring one byte of garbage (RFC 9293 section 3.8.4).
        half.carried |= payload && effect.kind != Kind::KeepAlive;
        let new_bytes = half.flow.totals.payload_bytes - before;
        if self.wants_events {
            let event = self.event(effect, from, from, segment, advertised, at);
            rows.events.push(event);
        }
        if new_bytes > 0 {
            rows.turns.extend(self.talk(from, new_bytes, quiet, at));
        } else if effect.kind == Kind::Retransmission {
            self.turns.resent(from as u8, at);
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

    /// The event of a segment that does nothing to its flow.
    fn without_effect(&self, from: usize, segment: &Segment, at: At) -> Event {
        let effect = Effect {
            kind: match (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
                (true, true) => Kind::SynAck,
                (true, false) => Kind::Syn,
                _ if segment.flags.has(Flags::FIN) => Kind::Fin,
                _ => Kind::Data,
            },
            cause: Cause::None,
            sequence: self.halves[from].flow.tap.space.relative(segment.sequence),
            length: 0,
            acknowledged: NULL,
            window_bytes: NULL,
            rtt_ns: NULL,
            sack: (NULL, NULL),
        };
        self.event(effect, from, from, segment, None, at)
    }

    /// Had the segment's sender all that the other side sent, by its own acknowledgment, and is all acknowledged that it
    /// sent itself before? Then the sides talk in turns.
    fn is_quiet(&self, from: usize, segment: &Segment) -> bool {
        let (own, other) = (&self.halves[from].flow.tap, &self.halves[1 - from].flow.tap);
        let acknowledgment = other.space.relative(segment.acknowledgment);
        own.next()
            .is_none_or(|next| own.una().is_some_and(|una| una >= next))
            && other.next().is_none_or(|next| acknowledgment >= next)
    }

    /// An acknowledgment passes to the side whose data was acknowledged up to `una` before. One that comes with an
    /// answer measures no RTT of use here: it may have waited for the answer.
    fn listen(&mut self, to: usize, una: Option<i64>, rtt_ns: i64, at: At) {
        let flow = &self.halves[to].flow;
        // The second full-sized segment is acknowledged at once (RFC 9293 section 3.8.6.3).
        let advanced = flow
            .tap
            .una()
            .zip(una)
            .map_or(0, |(una, before)| una - before);
        if rtt_ns != NULL && advanced >= 2 * flow.mss() {
            self.turns.measured(to as u8, rtt_ns - flow.way.delay_ns());
        }
        if flow.is_answered() {
            self.turns.answered(to as u8, at);
        }
    }

    /// New payload passes; gives the turn that this ends.
    fn talk(&mut self, from: usize, new_bytes: i64, quiet: bool, at: At) -> Option<Turn> {
        let [client, server] = &self.halves;
        let missed = client.flow.totals.missed_bytes + server.flow.totals.missed_bytes;
        self.turns.missed(missed);
        let way_ns = self.halves[from].flow.way.least_ns().unwrap_or_default();
        let who = (self.number, from as u8);
        self.turns.sent(who, new_bytes, quiet, way_ns, at)
    }

    /// Keep-alives without payload and zero-window probes: nothing new, one below SND.NXT.
    fn probes(&self, from: usize, segment: &Segment) -> bool {
        let tap = &self.halves[from].flow.tap;
        tap.next().is_some_and(|next| {
            tap.space.relative(segment.sequence) == next - 1
                && tap.una().is_some_and(|una| una >= next)
        })
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
            self.halves[0].flow.handshake(client_ns, server_ns, at);
            self.halves[1].flow.handshake(server_ns, client_ns, at);
        }
    }

    fn event(
        &self,
        effect: Effect,
        direction: usize,
        from: usize,
        segment: &Segment,
        advertised: Option<i64>,
        at: At,
    ) -> Event {
        let flow = &self.halves[direction].flow;
        let seen = flow.sender.una().is_some() && flow.sender.next().is_some();
        let acks = segment.flags.has(Flags::ACK);
        Event {
            stream: self.number,
            direction: direction as u8,
            time_ns: at.time_ns,
            frame: at.frame,
            kind: effect.kind,
            tcp_flags: segment.flags.0,
            cause: effect.cause,
            sequence: effect.sequence,
            length: effect.length,
            acknowledged: effect.acknowledged,
            window_bytes: effect.window_bytes,
            in_flight_bytes: if seen { flow.sender.in_flight() } else { NULL },
            pipe_bytes: if seen {
                flow.sender.pipe(flow.mss())
            } else {
                NULL
            },
            rtt_ns: effect.rtt_ns,
            sack_start: effect.sack.0,
            sack_end: effect.sack.1,
            advertised_bytes: advertised.unwrap_or(NULL),
            own_acknowledgment: if acks {
                self.halves[1 - from]
                    .flow
                    .tap
                    .space
                    .relative(segment.acknowledgment)
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
        self.closing && (self.reset || self.halves.iter().all(|half| half.flow.is_over()))
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
