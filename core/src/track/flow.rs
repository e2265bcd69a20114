//! # Flow
//! One direction of a connection: its data as the tap saw it, its sender as the tap can tell, its rounds.

use super::bursts::Sent;
use super::event::{Kind, NULL};
use super::late_rounds::LateRounds;
use super::retransmissions::{Cause, Resent, Retransmissions};
use super::round::Round;
use super::scale::Scale;
use super::sender::{Ack, Sender};
use super::tap::{Sample, Tap};
use super::vantage::Return;
use crate::decode::{Flags, Segment};

/// When and where in the capture something happened.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Time of capture.
    pub time_ns: i64,
    /// Frame number.
    pub frame: u64,
}

/// What a segment did to a flow: the part of an event that the flow knows.
#[derive(Debug, Clone, Copy)]
pub struct Effect {
    /// See [`Kind`].
    pub kind: Kind,
    /// Why it was sent again.
    pub cause: Cause,
    /// See [`super::event::Event`].
    pub sequence: i64,
    /// Payload.
    pub length: i64,
    /// Acknowledged.
    pub acknowledged: i64,
    /// Window.
    pub window_bytes: i64,
    /// RTT measured.
    pub rtt_ns: i64,
    /// The SACK block that brought news; see [`super::event::Event`].
    pub sack: (i64, i64),
}

/// Sums over the life of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Segments from the sender, with or without payload.
    pub packets: i64,
    /// Payload, each byte once.
    pub payload_bytes: i64,
    /// Payload sent again.
    pub retransmitted_bytes: i64,
    /// Largest payload of one captured segment.
    pub largest_bytes: i64,
    /// Largest window advertised.
    pub window_max_bytes: Option<i64>,
    /// Most in flight.
    pub in_flight_max_bytes: i64,
    /// Cumulative acknowledgment progress.
    pub acked_bytes: i64,
    /// Acknowledgments that ever came.
    pub acks: i64,
    /// Acknowledged but not captured.
    pub missed_bytes: i64,
    /// Segments with payload that were overtaken on the way.
    pub reordered: i64,
    /// Packets of the sender that the capture holds another time.
    pub copies: i64,
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Flow {
    /// The data stream at the tap.
    pub tap: Tap,
    /// The way back to the sender.
    pub way: Return,
    /// The sender's own view.
    pub sender: Sender,
    /// What its traffic says of the scale of its windows.
    pub scale: Scale,
    /// What was sent again, and why.
    pub retransmissions: Retransmissions,
    rounds: LateRounds,
    /// Sums.
    pub totals: Totals,
    window_at_tap: Option<i64>,
    /// Window last advertised, as meant and as written.
    window_told: Option<(Option<i64>, u16)>,
    /// Does ECE echo congestion? Not where both ends count with it (accurate ECN, RFC 9768 section 3.1.1).
    pub echoes_congestion: bool,
    probed: bool,
    ended: bool,
    last_delivery_ns: i64,
    last_ns: i64,
    mss: i64,
    last_value: Option<u32>,
    last_echo: Option<u32>,
    /// What the sender's newest tick took longer than at best to the tap.
    late_ns: Option<i64>,
    /// Period of its timestamp clock, once known, and that clock when it last sent data.
    tick_ns: Option<i64>,
    sent_value: Option<u32>,
}

impl Flow {
    /// A flow of a stream that began at `at`.
    #[must_use]
    pub fn new(stream: u32, direction: u8, at: At) -> Self {
        Self {
            tap: Tap::default(),
            way: Return::default(),
            sender: Sender::default(),
            scale: Scale::default(),
            retransmissions: Retransmissions::default(),
            rounds: LateRounds::new(stream, direction, at.time_ns, at.frame),
            totals: Totals::default(),
            window_at_tap: None,
            window_told: None,
            echoes_congestion: true,
            probed: false,
            ended: false,
            last_delivery_ns: at.time_ns,
            last_ns: at.time_ns,
            mss: 1448,
            last_value: None,
            last_echo: None,
            late_ns: None,
            tick_ns: None,
            sent_value: None,
        }
    }

    /// The largest payload a packet of this flow may carry.
    pub fn set_mss(&mut self, mss: i64) {
        self.mss = mss.max(1);
        self.rounds.set_mss(self.mss);
    }

    /// The largest payload a packet of this flow may carry.
    #[must_use]
    pub fn mss(&self) -> i64 {
        self.mss
    }

    /// Did its data echo timestamps, which tell from afar what its sender knew?
    #[must_use]
    pub fn has_timestamps(&self) -> bool {
        self.last_echo.is_some()
    }

    /// Is everything acknowledged that was sent, and room in the window for a segment? A sender waits for less
    /// (RFC 9293 section 3.8.6.2.1).
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.tap.in_flight() == Some(0)
            && self.window_at_tap.is_none_or(|window| window >= self.mss)
    }

    /// Least RTT of the whole path.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        self.rounds.floor_ns()
    }

    /// The handshake passed the tap: the round trips from here to either end.
    pub fn handshake(&mut self, sender_ns: i64, receiver_ns: i64, at: At) {
        self.way.handshake(sender_ns, receiver_ns);
        self.tap.rtt_min_ns = Some(receiver_ns.max(0));
        let rtt_ns = sender_ns.saturating_add(receiver_ns);
        self.retransmissions.measured(rtt_ns);
        self.tap.path_rtt_ns = Some(rtt_ns);
        let sample = Sample {
            sent_ns: at.time_ns - rtt_ns,
            rtt_ns,
            round: self.rounds.number(),
            maybe_delayed: false,
        };
        self.rounds
            .get()
            .measured(sample, at.time_ns, self.tap.delivered());
        self.shift();
    }

    /// Would its receiver take this sequence number: from what it acknowledged to the end of its window, or of what was
    /// sent (RFC 9293 section 3.10.7.4)?
    #[must_use]
    pub fn is_in_window(&self, sequence: u32) -> bool {
        let (Some(una), Some(next)) = (self.tap.una(), self.tap.next()) else {
            return true;
        };
        let window = self.window_at_tap.unwrap_or_default();
        (una..=next.max(una.saturating_add(window))).contains(&self.tap.space.relative(sequence))
    }

    /// Does the number acknowledge something that was sent, and nothing that was not?
    #[must_use]
    pub fn has_sent(&self, acknowledgment: u32) -> bool {
        let next = self.tap.next().unwrap_or_default();
        (1..=next).contains(&self.tap.space.relative(acknowledgment))
    }

    fn shift(&mut self) {
        let shift_ns = if self.way.direct() {
            0
        } else {
            self.way.least_ns().unwrap_or(0) / 2
        };
        self.rounds.get().set_shift(shift_ns);
    }

    /// Measures the way back to the sender. Where no handshake shows it, the first echoes tell that the tap is not at
    /// the sender: what was measured until then was only a part of the way.
    fn measure_way(&mut self, measures: impl FnOnce(&mut Return) -> bool) {
        let was_direct = self.way.direct();
        if !measures(&mut self.way) {
            return;
        }
        if was_direct && !self.way.direct() {
            self.rounds.get().misplaced();
        }
        self.shift();
    }

    /// Time passes; acknowledgments reach the sender. `echo` is the TSecr of a segment that passes now.
    #[inline]
    fn catch_up(&mut self, at: At, echo: Option<u32>) {
        if at.time_ns < self.last_ns {
            self.rounds.get().note(|row| row.backwards += 1);
        }
        self.last_ns = at.time_ns;
        if self.way.is_travelled() {
            self.deliver_arrived(at, echo);
        }
    }

    #[inline(never)] // not at the sender
    fn deliver_arrived(&mut self, at: At, echo: Option<u32>) {
        while let Some((time_ns, ack)) = self.way.arrived(at.time_ns, echo) {
            self.deliver(&ack, time_ns, at.frame);
        }
    }

    fn deliver(&mut self, ack: &Ack, time_ns: i64, frame: u64) {
        let rounds = self.rounds.get();
        rounds.advance(time_ns, &self.sender);
        let progress = self.sender.receive(ack);
        let outstanding = self.sender.in_flight() > 0;
        self.retransmissions.heard(progress, outstanding, time_ns);
        self.scale.advertised(ack.ack, ack.field, ack.scaled);
        if ack.echo_congestion {
            rounds.note(|row| row.congestion_echoes += 1);
        }
        let undecided = self.way.undecided(time_ns);
        let heard_ns = self.way.heard_ns().unwrap_or(time_ns);
        rounds.received(time_ns, heard_ns, frame, progress, undecided, &self.sender);
    }

    /// A packet of the sender took so much longer than at best to the tap, by a clock of such ticks.
    pub fn late_forth(&mut self, excess_ns: i64, tick_ns: i64) {
        // Less than a tick may be how long ago the clock ticked.
        let late_ns = if excess_ns < tick_ns { 0 } else { excess_ns };
        (self.late_ns, self.tick_ns) = (Some(late_ns), Some(tick_ns));
        let rounds = self.rounds.get();
        rounds.set_late(late_ns);
        rounds.measure().forth(excess_ns);
    }

    /// A packet of the receiver took so much longer than at best to the tap.
    pub fn late_back(&mut self, excess_ns: i64) {
        self.rounds.get().measure().back(excess_ns);
    }

    /// A segment from the sender that occupies sequence space, or probes, or resets.
    pub fn segment(&mut self, segment: &Segment, at: At, copy: bool) -> Effect {
        let echo = segment
            .options
            .timestamps
            .filter(|_| segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST))
            .map(|(_, echo)| echo);
        let length = i64::from(segment.payload_bytes);
        if copy {
            let sequence = self.tap.space.relative(segment.sequence);
            return self.effect(Kind::Duplicate, sequence, length);
        }
        self.catch_up(at, echo);
        if let Some(echo) = echo {
            self.measure_way(|way| way.echoed(echo, at.time_ns));
        }
        let end = self.tap.space.relative(segment.sequence) + length;
        while !self.sender.allows(end) || self.scale.forbids(end) {
            let Some((time_ns, ack)) = self.way.hurry(at.time_ns, echo) else {
                break;
            };
            self.deliver(&ack, time_ns, at.frame);
        }
        let open = self.window_at_tap != Some(0);
        let carries = length > 0 && self.tap.probe(segment, open) != Some(Kind::KeepAlive);
        let ends = segment.flags.has(Flags::FIN) && !self.ended;
        let round = if carries || ends && self.totals.largest_bytes > 0 {
            let rounds = self.rounds.get();
            let undecided = self.way.undecided(at.time_ns);
            rounds.before_send(at.time_ns, at.frame, undecided, &self.sender);
            rounds.number()
        } else {
            self.rounds.number()
        };
        let arrival = self.tap.segment(segment, at.time_ns, open, round);
        if matches!(
            arrival.kind,
            Kind::Rst | Kind::KeepAlive | Kind::ZeroWindowProbe
        ) {
            self.probed = arrival.kind != Kind::Rst;
            return self.effect(arrival.kind, arrival.start, length);
        }
        self.probed = false;
        if arrival.belated > 0 {
            self.totals.missed_bytes -= arrival.belated;
            let found =
                |row: &mut Round| row.missed_bytes = (row.missed_bytes - arrival.belated).max(0);
            self.rounds.get().note(found);
        }
        let fresh = arrival.new_bytes;
        let resent = arrival.kind == Kind::Retransmission;
        if let (true, Some(una), Some(next)) = (carries, self.sender.una(), self.sender.next()) {
            let end = arrival.start + length;
            self.scale.sent(arrival.start, end, una, next, self.mss);
        }
        let mut cause = Cause::None;
        if resent && carries {
            let resent = Resent {
                start: arrival.start,
                end: arrival.end,
                payload_bytes: length,
                time_ns: at.time_ns,
                before_ns: arrival.before_ns,
                value: segment.options.timestamps.map(|(value, _)| value),
                arrived: self.tap.arrived(arrival.start, arrival.end),
                passed_over: self.tap.sacked_end() > Some(arrival.end),
                heard_ns: echo.and_then(|echo| self.way.latest_ns(at.time_ns, echo)),
            };
            cause = self.retransmissions.resent(resent, &self.sender, self.mss);
        }
        self.sender.send(arrival.start, arrival.end, resent);
        if carries {
            self.totals.payload_bytes += fresh;
            // Bytes that were lost before the tap were sent before, too.
            let again = if resent { length } else { 0 };
            self.totals.retransmitted_bytes += again;
            self.totals.largest_bytes = self.totals.largest_bytes.max(length);
            self.totals.reordered += i64::from(arrival.kind == Kind::Reordered);
            self.totals.in_flight_max_bytes =
                self.totals.in_flight_max_bytes.max(self.sender.in_flight());
            let value = segment.options.timestamps.map(|(value, _)| value);
            let silent_ns = self.silent_ns(value);
            self.sent_value = value;
            let rounds = self.rounds.get();
            let (way, late_ns) = (&self.way, self.late_ns);
            // How long the sender had had an acknowledgment, where that is known from afar.
            let waited_ns = || Some(way.waited_ns(at.time_ns, echo?)? - late_ns?);
            let data = Sent {
                time_ns: at.time_ns,
                fresh: length - again,
                again,
                flight: (self.sender.in_flight() - (length - again)).max(0),
                small: length != self.mss && length % self.mss != 0,
                silent_ns,
            };
            rounds.sent(at.frame, data, waited_ns, &self.sender);
            rounds.note(|row| {
                row.reordered += i64::from(arrival.kind == Kind::Reordered);
                let step = i64::from(echo != self.last_echo);
                row.echoed_ticks += step;
            });
            self.last_echo = echo;
        }
        if ends {
            self.ended = true;
            self.rounds.get().ended(at.time_ns, at.frame, &self.sender);
        }
        self.finished();
        Effect {
            cause,
            ..self.effect(arrival.kind, arrival.start, length)
        }
    }

    /// For how long at least the sender had sent no data before that of `value`, by its own clock: a queue on the way to
    /// the tap closes its pauses.
    fn silent_ns(&self, value: Option<u32>) -> i64 {
        let (Some(tick_ns), Some(before), Some(value)) = (self.tick_ns, self.sent_value, value)
        else {
            return 0;
        };
        let ticks = value.wrapping_sub(before);
        if self.way.direct() || !(1..1 << 31).contains(&ticks) {
            return 0;
        }
        i64::from(ticks - 1) * tick_ns
    }

    fn effect(&self, kind: Kind, sequence: i64, length: i64) -> Effect {
        Effect {
            kind,
            cause: Cause::None,
            sequence,
            length,
            acknowledged: self.sender.una().unwrap_or(NULL),
            window_bytes: self.sender.window().unwrap_or(NULL),
            rtt_ns: NULL,
            sack: (NULL, NULL),
        }
    }

    /// An acknowledgment, as far as it does nothing.
    #[must_use]
    pub fn told(&self, segment: &Segment, window: Option<i64>) -> Effect {
        Effect {
            kind: Kind::Ack,
            cause: Cause::None,
            sequence: NULL,
            length: NULL,
            acknowledged: self.tap.space.relative(segment.acknowledgment),
            window_bytes: window.unwrap_or(NULL),
            rtt_ns: NULL,
            sack: (NULL, NULL),
        }
    }

    /// A segment from the receiver with its window as scaled, `None` where the scale is unknown. `pure`: nothing but
    /// an acknowledgment.
    pub fn acknowledge(
        &mut self,
        segment: &Segment,
        window: Option<i64>,
        at: At,
        pure: bool,
        copy: bool,
    ) -> Effect {
        let mut effect = self.told(segment, window);
        let ack = effect.acknowledged;
        if copy {
            effect.kind = Kind::Duplicate;
            return effect;
        }
        self.catch_up(at, None);
        if segment.flags.has(Flags::RST) {
            effect.kind = Kind::Rst; // its acknowledgment number is no promise
            return effect;
        }
        if segment.payload_bytes > 0 {
            self.rounds.get().note(|row| row.replies += 1);
        }
        // The same field and the same meaning: a SYN's window means something else than what follows.
        let window_told = (window, segment.window);
        let told = Ack {
            ack,
            window,
            field: segment.window,
            scaled: !segment.flags.has(Flags::SYN),
            blocks: self.blocks(segment, ack),
            echo_congestion: self.echoes_congestion
                && segment.flags.has(Flags::ECE)
                && !segment.flags.has(Flags::SYN),
            reply: segment.payload_bytes > 0,
        };
        if let Some((start, end)) = told.blocks().next() {
            effect.sack = (start, end);
        }
        let una = self.tap.una();
        let outstanding = self.tap.in_flight().unwrap_or_default() > 0;
        let options = segment.options.timestamps;
        let delivered = self.tap.delivered();
        let seen = self.tap.acknowledge(
            ack,
            told.blocks(),
            options.map(|(_, echo)| echo),
            at.time_ns,
        );
        if self.retransmissions.any() {
            let echo = options.map(|(_, echo)| echo);
            let duplicate = self.duplicate(segment, ack);
            self.retransmissions
                .acknowledged(ack, echo, duplicate, self.mss);
        }
        let same = self.window_told.is_none_or(|before| before == window_told);
        effect.kind = if window == Some(0) && !segment.flags.has(Flags::SYN) {
            Kind::ZeroWindow
        } else if !pure || una != Some(ack) {
            Kind::Ack
        } else if self.probed && same {
            Kind::KeepAliveAck
        } else if outstanding && (same || segment.options.sack_blocks > 0) {
            Kind::DuplicateAck
        } else if !same {
            Kind::WindowUpdate
        } else {
            Kind::Ack
        };
        let duplicate = effect.kind == Kind::DuplicateAck;
        self.retransmissions.counted(seen.advanced > 0, duplicate);
        self.probed = false;
        // An acknowledgment that was overtaken says nothing new (SND.WL2, RFC 9293 section 3.10.7.4).
        if una.is_none_or(|una| ack >= una) {
            self.window_told = Some(window_told);
            self.window_at_tap = window;
        }
        self.totals.acks += 1;
        self.totals.acked_bytes += seen.advanced;
        self.totals.missed_bytes += seen.missed;
        if let Some(window) = window.filter(|_| !segment.flags.has(Flags::SYN)) {
            self.totals.window_max_bytes = Some(
                self.totals
                    .window_max_bytes
                    .map_or(window, |most| most.max(window)),
            );
        }
        let rounds = self.rounds.get();
        rounds.note(|row| {
            row.missed_bytes += seen.missed;
            row.duplicate_acks += i64::from(effect.kind == Kind::DuplicateAck);
        });
        let value = options.map(|(value, _)| value);
        if seen.advanced + seen.sacked > 0 {
            let gap_ns = (at.time_ns - self.last_delivery_ns).max(0);
            let delivered = self.tap.delivered() - delivered;
            if delivered > 0 {
                rounds.measure().spaced(gap_ns, delivered);
                self.last_delivery_ns = at.time_ns;
            }
            rounds.note(|row| row.ack_ticks += i64::from(value != self.last_value));
            self.last_value = value;
        }
        self.way.pass(told, value, at.time_ns);
        if let Some(mut sample) = seen.sample {
            if !sample.maybe_delayed {
                self.measure_way(|way| way.receiver_side(sample.rtt_ns));
            }
            sample.rtt_ns = sample.rtt_ns.saturating_add(self.way.delay_ns());
            self.retransmissions.measured(sample.rtt_ns);
            effect.rtt_ns = sample.rtt_ns;
            self.rounds
                .get()
                .measured(sample, at.time_ns, self.tap.delivered());
        }
        if self.way.direct() {
            self.deliver(&told, at.time_ns, at.frame);
        }
        self.finished();
        effect
    }

    /// Is what a segment with data acknowledges nothing new to a sender that awaits nothing? So are most packets of a peer
    /// that only sends.
    #[must_use]
    pub fn knows(&self, segment: &Segment, window: Option<i64>) -> bool {
        let ack = self.tap.space.relative(segment.acknowledgment);
        self.tap.una() == Some(ack)
            && self.tap.next() == Some(ack)
            && self.window_told == Some((window, segment.window))
            && window != Some(0)
            && segment.options.sack_blocks == 0
            && segment.flags.0 & (Flags::ECE | Flags::RST) == 0
    }

    /// The sender hears what it [knows](Self::knows).
    pub fn reassured(&mut self, segment: &Segment, at: At) {
        self.catch_up(at, None);
        if segment.payload_bytes > 0 {
            self.rounds.get().note(|row| row.replies += 1);
        }
        self.probed = false;
        self.totals.acks += 1;
        self.finished();
    }

    /// SACK blocks, relative; as many as the segment has are valid.
    fn sack(&self, segment: &Segment) -> [(i64, i64); 4] {
        let space = &self.tap.space;
        let relative = |(start, end)| (space.relative(start), space.relative(end));
        segment.options.sack.map(relative)
    }

    /// What the segment reports to have come twice: a first block below its acknowledgment or inside the second (D-SACK,
    /// RFC 2883 section 4).
    fn duplicate(&self, segment: &Segment, ack: i64) -> Option<(i64, i64)> {
        let count = segment.options.sack_blocks;
        let [first, second, ..] = (count > 0).then(|| self.sack(segment))?;
        let duplicate = first.1 <= ack || (count > 1 && first.0 >= second.0 && first.1 <= second.1);
        duplicate.then_some(first)
    }

    /// SACK blocks as distances from the acknowledgment. One that reports a duplicate is left out, as is one beyond what
    /// was sent.
    fn blocks(&self, segment: &Segment, ack: i64) -> [(u32, u32); 4] {
        let mut kept = [(0, 0); 4];
        let count = usize::from(segment.options.sack_blocks).min(4);
        if count == 0 {
            return kept;
        }
        let blocks = self.sack(segment);
        let duplicate = self.duplicate(segment, ack).is_some();
        let next = self.tap.next().unwrap_or(i64::MAX);
        let good = blocks[..count]
            .iter()
            .skip(usize::from(duplicate))
            .filter(|&&(start, end)| start < end && start >= ack && end <= next);
        let distance = |to: i64| u32::try_from(to - ack).unwrap_or(u32::MAX);
        for (slot, &(start, end)) in kept.iter_mut().zip(good) {
            *slot = (distance(start), distance(end));
        }
        kept
    }

    #[inline]
    fn finished(&mut self) {
        let una = self.tap.una().unwrap_or(i64::MIN);
        self.rounds.finished(una);
    }

    /// The stream ended with the packet `at`.
    pub fn finish(&mut self, at: At) {
        while let Some((time_ns, ack)) = self.way.rest() {
            self.deliver(&ack, time_ns.min(at.time_ns), at.frame);
        }
        self.rounds.get().finish(at.time_ns, at.frame, &self.sender);
    }

    /// Has its FIN been acknowledged, and all before it?
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ended && self.tap.una() >= self.tap.next()
    }

    /// Of a flow that begins: its rounds need not be kept.
    pub fn keep_no_rounds(&mut self) {
        self.rounds.keep_none();
    }

    /// The rounds that are finished, packed; see [`super::kept`].
    #[must_use]
    pub fn kept(&self) -> &[u8] {
        self.rounds.kept()
    }
}
