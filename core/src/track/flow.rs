//! # Flow
//! One direction of a connection: its data as the tap saw it, its sender as the tap can tell, its rounds.

mod acknowledging;
mod sending;

use super::at::At;
use super::event::{Cause, Kind};
use super::null::{NULL, known};
use super::rounds::lazy_rounds::LazyRounds;
use super::sender::delay_to_sender::TapToSender;
use super::sender::retransmissions::Retransmissions;
use super::sender::scale::Scale;
use super::sender::{Ack, Sender};
use super::tap::Tap;
use super::tap::observed::ObservedSegment;
use super::tap::records::RttSample;

/// What a segment did to a flow.
#[derive(Debug, Clone, Copy)]
pub struct Effect {
    /// See [`Kind`].
    pub kind: Kind,
    /// Why it was sent again.
    pub cause: Cause,
    /// RTT measured, or [`NULL`].
    pub rtt_ns: i64,
    /// Bytes that turned out to be missing from the capture; less than 0 where they turned up.
    pub missed_bytes: i64,
}

impl Effect {
    /// Of a segment that was not sent again and measured nothing.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            cause: Cause::None,
            rtt_ns: NULL,
            missed_bytes: 0,
        }
    }
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

/// The window last advertised at the tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    /// As meant; [`NULL`] where the scale is unknown.
    bytes: i64,
    /// As written; none before the first.
    field: Option<u16>,
}

impl Told {
    const NOTHING: Self = Self {
        bytes: NULL,
        field: None,
    };

    fn by(observed: &ObservedSegment<'_>) -> Self {
        Self {
            bytes: observed.window().unwrap_or(NULL),
            field: Some(observed.segment.window),
        }
    }
}

/// What the receiver's segments say while nothing changes: most of those of a receiver that only sends.
#[derive(Debug, Default)]
struct Reassured {
    /// Acknowledgment number and window field, as written.
    told: Option<(u32, u16)>,
    /// Segments that said so and are not counted yet.
    count: i64,
    /// When the last of all did.
    last_ns: i64,
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Flow {
    /// The data stream at the tap.
    pub tap: Tap,
    /// The way back to the sender.
    pub way: TapToSender,
    /// The sender's own view.
    pub sender: Sender,
    /// What its traffic says of the scale of its windows.
    pub scale: Scale,
    /// What was sent again, and why.
    pub retransmissions: Retransmissions,
    rounds: LazyRounds,
    /// Sums.
    pub totals: Totals,
    reassured: Reassured,
    told: Told,
    /// Does ECE echo congestion? Not where both ends count with it (accurate ECN, RFC 9768 section 3.1.1).
    pub echoes_congestion: bool,
    probed: bool,
    ended: bool,
    last_delivery_ns: i64,
    last_ns: i64,
    mss: i64,
    last_value: Option<u32>,
    last_echo: Option<u32>,
    /// What the sender's newest tick took longer than at best to the tap, or [`NULL`].
    late_ns: i64,
    /// Period of its timestamp clock, [`NULL`] until known, and that clock when it last sent data.
    tick_ns: i64,
    sent_value: Option<u32>,
}

impl Flow {
    /// A flow of a stream that began at `at`.
    #[must_use]
    pub fn new(stream: u32, direction: u8, at: At) -> Self {
        Self {
            tap: Tap::default(),
            way: TapToSender::default(),
            sender: Sender::default(),
            scale: Scale::default(),
            retransmissions: Retransmissions::default(),
            rounds: LazyRounds::new(stream, direction, at.time_ns, at.frame),
            totals: Totals::default(),
            reassured: Reassured::default(),
            told: Told::NOTHING,
            echoes_congestion: true,
            probed: false,
            ended: false,
            last_delivery_ns: at.time_ns,
            last_ns: at.time_ns,
            mss: 1448,
            last_value: None,
            last_echo: None,
            late_ns: NULL,
            tick_ns: NULL,
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
            && known(self.told.bytes).is_none_or(|window| window >= self.mss)
    }

    /// Least RTT of the whole path.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        self.rounds.rtt_min_ns()
    }

    /// The handshake passed the tap: the round trips from here to either end.
    pub fn handshake(&mut self, sender_ns: i64, receiver_ns: i64, at: At) {
        self.way.handshake(sender_ns, receiver_ns);
        self.tap.rtt_min_ns = receiver_ns.max(0);
        let rtt_ns = sender_ns.saturating_add(receiver_ns);
        self.retransmissions.add_rtt(rtt_ns);
        self.tap.path_rtt_ns = rtt_ns;
        let sample = RttSample {
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

    /// Would its receiver take this sequence number, relative: from what it acknowledged to the end of its window, or of
    /// what was sent (RFC 9293 section 3.10.7.4)?
    #[must_use]
    pub fn is_in_window(&self, sequence: i64) -> bool {
        let (Some(una), Some(next)) = (self.tap.snd_una(), self.tap.snd_nxt()) else {
            return true;
        };
        let window = known(self.told.bytes).unwrap_or_default();
        (una..=next.max(una.saturating_add(window))).contains(&sequence)
    }

    /// Does the number acknowledge something that was sent, and nothing that was not?
    #[must_use]
    pub fn has_sent(&self, acknowledgment: u32) -> bool {
        let next = self.tap.snd_nxt().unwrap_or_default();
        (1..=next).contains(&self.tap.space.relative(acknowledgment))
    }

    fn shift(&mut self) {
        let shift_ns = if self.way.tap_at_sender() {
            0
        } else {
            self.way.rtt_min_ns().unwrap_or(0) / 2
        };
        self.rounds.get().set_shift(shift_ns);
    }

    /// Measures the way back to the sender. Where no handshake shows it, the first echoes tell that the tap is not at
    /// the sender: what was measured until then was only a part of the way.
    fn measure_way(&mut self, measures: impl FnOnce(&mut TapToSender) -> bool) {
        let was_at_sender = self.way.tap_at_sender();
        if !measures(&mut self.way) {
            return;
        }
        if was_at_sender && !self.way.tap_at_sender() {
            self.rounds.get().discard_rtts();
        }
        self.shift();
    }

    /// Time passes; acknowledgments reach the sender. `tsecr` is the TSecr of a segment that passes now.
    #[inline]
    fn catch_up(&mut self, at: At, tsecr: Option<u32>) {
        if at.time_ns < self.last_ns {
            self.rounds.get().note(|row| row.backwards += 1);
        }
        self.last_ns = at.time_ns;
        if self.way.has_acks_in_transit() {
            self.deliver_arrived(at, tsecr);
        }
    }

    #[inline(never)] // not at the sender
    fn deliver_arrived(&mut self, at: At, tsecr: Option<u32>) {
        while let Some((time_ns, ack)) = self.way.next_arrived(at.time_ns, tsecr) {
            self.deliver(&ack, time_ns, at.frame);
        }
    }

    fn deliver(&mut self, ack: &Ack, time_ns: i64, frame: u64) {
        let rounds = self.rounds.get();
        rounds.advance(time_ns, &self.sender);
        let progress = self.sender.receive(ack);
        let outstanding = self.sender.in_flight() > 0;
        self.retransmissions
            .ack_arrived(progress, outstanding, time_ns);
        self.scale.advertised(ack.ack, ack.window_field, ack.scaled);
        if ack.ece {
            rounds.note(|row| row.congestion_echoes += 1);
        }
        let undecided = self.way.is_vantage_pending(time_ns);
        let heard_ns = self.way.ack_arrival_ns().unwrap_or(time_ns);
        rounds.received(time_ns, heard_ns, frame, progress, undecided, &self.sender);
    }

    /// A packet of the receiver took so much longer than at best to the tap.
    pub fn late_back(&mut self, excess_ns: i64) {
        self.rounds
            .get()
            .measurements()
            .add_reverse_delay(excess_ns);
    }

    #[inline]
    fn finished(&mut self) {
        let una = self.tap.snd_una().unwrap_or(i64::MIN);
        self.rounds.finished(una);
    }

    /// The stream ended with the packet `at`.
    pub fn finish(&mut self, at: At) {
        self.settle();
        while let Some((time_ns, ack)) = self.way.next_remaining() {
            self.deliver(&ack, time_ns.min(at.time_ns), at.frame);
        }
        self.rounds.get().finish(at.time_ns, at.frame, &self.sender);
    }

    /// Has its FIN been acknowledged, and all before it?
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ended && self.tap.is_acknowledged()
    }

    /// Of a flow that begins: how many rounds are kept, and ranges of each set.
    pub fn hold(&mut self, rounds: usize, ranges: usize) {
        self.rounds.set_max_rounds(rounds);
        self.tap.set_max_ranges(ranges);
        self.sender.set_max_ranges(ranges);
    }

    /// How often two ranges became one for want of room.
    #[must_use]
    pub fn merged_ranges(&self) -> i64 {
        i64::from(self.tap.merged_ranges()) + i64::from(self.sender.merged_ranges())
    }

    /// As [`super::rounds::packed_rounds::PackedRounds::left_out`].
    #[must_use]
    pub fn rounds_left_out(&self) -> i64 {
        self.rounds.left_out()
    }

    /// The rounds that are finished, packed; see [`super::rounds::packed_rounds`].
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        self.rounds.packed()
    }
}
