//! # Flow
//! One direction of a connection: its data at the tap, the state of its sender as reconstructed from the tap, and its
//! rounds.

mod acknowledging;
mod sending;
mod sustained_rate;

use super::at::At;
use super::event::{Cause, Kind};
use super::null::{NULL, known};
use super::rounds::data_time::DataTime;
use super::rounds::lazy_rounds::LazyRounds;
use super::sender::delay_to_sender::TapToSender;
use super::sender::retransmissions::Retransmissions;
use super::sender::scale::Scale;
use super::sender::{Ack, Sender};
use super::tap::Tap;
use super::tap::observed::ObservedSegment;
use super::tap::records::RttSample;
use crate::decode::Segment;
use sustained_rate::SustainedRate;

/// Effect of a segment on a flow.
#[derive(Debug, Clone, Copy)]
pub struct Effect {
    /// Kind of the segment.
    pub kind: Kind,
    /// Cause of the retransmission; [`Cause::None`] where the segment is no retransmission.
    pub cause: Cause,
    /// RTT of the whole path that the segment measured, in ns; [`NULL`] where it measured none.
    pub rtt_ns: i64,
    /// Bytes by which it advanced SND.UNA at the tap.
    pub acked_bytes: i64,
    /// Acknowledged bytes that the capture lacks; negative where the segment holds bytes that were counted as lacking.
    pub unseen_bytes: i64,
}

impl Effect {
    /// Returns the effect of a segment that is no retransmission, measured no RTT and acknowledged nothing.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            cause: Cause::None,
            rtt_ns: NULL,
            acked_bytes: 0,
            unseen_bytes: 0,
        }
    }
}

/// Sums over the whole flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Number of segments of the sender, with or without payload; copies are left out.
    pub packets: i64,
    /// Payload in bytes, each byte counted once.
    pub payload_bytes: i64,
    /// Retransmitted payload in bytes.
    pub retransmitted_bytes: i64,
    /// Largest payload of a captured segment, in bytes.
    pub largest_bytes: i64,
    /// Largest window that the receiver advertised, in bytes; `None` before the first whose scale is known.
    pub window_max_bytes: Option<i64>,
    /// Largest number of bytes in flight.
    pub in_flight_max_bytes: i64,
    /// Captured bytes by which acknowledgment numbers advanced.
    pub acked_bytes: i64,
    /// Number of acknowledgments, without the repeated ones that are not yet added.
    pub acks: i64,
    /// Acknowledged bytes that the capture lacks.
    pub unseen_bytes: i64,
    /// Number of segments with payload that later segments overtook on the path.
    pub reordered: i64,
    /// Number of packets of the sender that are copies of a packet captured before.
    pub copies: i64,
    /// Those of `copies` with payload: the receiver can report one that it received.
    pub payload_copies: i64,
    /// Those of `payload_copies` that only their contents and times show. They may be retransmissions that the path
    /// delivered with the first packets.
    pub alike: i64,
    /// Packets that the receiver reported as received twice (RFC 2883); they are not in `copies`.
    pub delivered_twice: i64,
}

impl Totals {
    /// Returns the number of captured bytes that no acknowledgment covered yet, with those of a SYN and a FIN.
    fn unacknowledged_bytes(&self) -> i64 {
        (self.payload_bytes + 2 - self.acked_bytes).max(0)
    }

    /// Counts a copy. A sender gives each packet its own identification (RFC 6864 section 4.2), and after a timer its own
    /// timestamp (RFC 7323 section 3.2).
    pub fn add_copy(&mut self, segment: &Segment) {
        let has_payload = segment.payload_bytes > 0;
        let is_same = segment.identification.is_some_and(|id| id != 0)
            || segment.options.timestamps.is_some();
        self.copies += 1;
        self.payload_copies += i64::from(has_payload);
        self.alike += i64::from(has_payload && !is_same);
    }
}

/// The window that the receiver last advertised, as it passed the tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AdvertisedWindow {
    /// Window in bytes, scaled; [`NULL`] where the scale is unknown.
    bytes: i64,
    /// Window field of the header; `None` before the first window.
    field: Option<u16>,
}

impl AdvertisedWindow {
    const UNKNOWN: Self = Self {
        bytes: NULL,
        field: None,
    };

    fn of(observed: &ObservedSegment<'_>) -> Self {
        Self {
            bytes: observed.window().unwrap_or(NULL),
            field: Some(observed.segment.window),
        }
    }
}

/// Segments with data that repeat the last acknowledgment number and window while nothing is outstanding. A peer that
/// only sends repeats them in nearly every segment, so they are counted in bulk.
#[derive(Debug, Default)]
struct RepeatedAcks {
    /// Acknowledgment number in the header; the window field is that of [`AdvertisedWindow`]. `None` where the next
    /// segment is not to be counted in bulk.
    acknowledgment: Option<u32>,
    /// Number of repeated acknowledgments that are not in [`Totals::acks`] yet.
    count: i64,
    /// Time of the last repeated acknowledgment, in ns.
    last_ns: i64,
}

/// One direction of a connection, from its sender to its receiver.
#[derive(Debug)]
pub struct Flow {
    /// The data stream at the tap.
    pub tap: Tap,
    /// The path from the tap to the sender, and the acknowledgments on it.
    pub tap_to_sender: TapToSender,
    /// State of the sending TCP.
    pub sender: Sender,
    /// Window scales that are consistent with the traffic.
    pub scale: Scale,
    /// Retransmissions and their causes.
    pub retransmissions: Retransmissions,
    rounds: LazyRounds,
    /// Sums over the whole flow.
    pub totals: Totals,
    repeated_acks: RepeatedAcks,
    advertised: AdvertisedWindow,
    /// Does the ECE flag echo congestion? With accurate ECN (RFC 9768 section 3.1.1) it is part of a counter instead.
    pub ece_echoes_congestion: bool,
    /// Was the sender's last segment a keep-alive or a zero-window probe, with no acknowledgment since?
    last_was_probe: bool,
    fin_sent: bool,
    /// Captured bytes known to have arrived by the last acknowledgment; see [`Tap::delivered`].
    delivered: i64,
    /// When an acknowledgment last delivered something, in ns.
    last_delivery_ns: i64,
    sustained_rate: SustainedRate,
    /// Time of the last packet, in ns.
    last_ns: i64,
    mss: i64,
    /// TSval of the last acknowledgment that delivered something.
    last_ack_tsval: Option<u32>,
    /// TSecr of the last segment with data.
    last_data_tsecr: Option<u32>,
    /// Excess one-way delay from the sender to the tap at the newest tick of its timestamp clock, in ns; [`NULL`] where
    /// unknown.
    forward_delay_ns: i64,
    /// Tick of the sender's timestamp clock, in ns; [`NULL`] until it is known.
    tick_ns: i64,
    /// TSval of the last segment with data.
    last_data_tsval: Option<u32>,
}

impl Flow {
    /// Returns an empty flow of a stream that began at `at`.
    #[must_use]
    pub fn new(stream: u32, direction: u8, at: At) -> Self {
        Self {
            tap: Tap::default(),
            tap_to_sender: TapToSender::default(),
            sender: Sender::default(),
            scale: Scale::default(),
            retransmissions: Retransmissions::default(),
            rounds: LazyRounds::new(stream, direction, at),
            totals: Totals::default(),
            repeated_acks: RepeatedAcks::default(),
            advertised: AdvertisedWindow::UNKNOWN,
            ece_echoes_congestion: true,
            last_was_probe: false,
            fin_sent: false,
            delivered: 0,
            last_delivery_ns: at.time_ns,
            sustained_rate: SustainedRate::new(at.time_ns),
            last_ns: at.time_ns,
            mss: 1448,
            last_ack_tsval: None,
            last_data_tsecr: None,
            forward_delay_ns: NULL,
            tick_ns: NULL,
            last_data_tsval: None,
        }
    }

    /// Sets the largest payload of a packet, in bytes; at least 1.
    pub fn set_mss(&mut self, mss: i64) {
        self.mss = mss.max(1);
        self.rounds.set_mss(self.mss);
    }

    /// Returns the largest payload of a packet, in bytes.
    #[must_use]
    pub fn mss(&self) -> i64 {
        self.mss
    }

    /// Did the last segment with data echo a timestamp? TSecr shows which acknowledgments a distant sender had
    /// received.
    #[must_use]
    pub fn has_timestamps(&self) -> bool {
        self.last_data_tsecr.is_some()
    }

    /// Are all sent bytes acknowledged at the tap, and does the window allow a full segment? With less window a sender
    /// waits (RFC 9293 section 3.8.6.2.1). An unknown window counts as wide enough.
    #[must_use]
    pub fn is_fully_acknowledged(&self) -> bool {
        self.tap.in_flight() == Some(0)
            && known(self.advertised.bytes).is_none_or(|window| window >= self.mss)
    }

    /// Returns the least RTT of the whole path in ns; `None` before the first RTT.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        self.rounds.least_rtt_ns()
    }

    /// Returns the longest time with data in flight and no acknowledgment of new data, in ns; `None` where no
    /// acknowledgment was captured.
    #[must_use]
    pub fn longest_stall_ns(&self) -> Option<i64> {
        (self.acks() > 0).then(|| self.rounds.longest_stall_ns())
    }

    /// Returns when the longest stall began, ns; see [`Self::longest_stall_ns`]. `None` without one.
    #[must_use]
    pub fn longest_stall_start_ns(&self) -> Option<i64> {
        (self.acks() > 0)
            .then(|| self.rounds.longest_stall_start_ns())
            .flatten()
    }

    /// Returns the time in which payload was in flight.
    #[must_use]
    pub fn data_time(&self) -> DataTime {
        self.rounds.data_time()
    }

    /// Returns the highest rate at which data were acknowledged twice, in bytes per second. Each time lasts for a round
    /// trip or 30 ms, whichever is longer. `None` where that never happened twice.
    #[must_use]
    pub fn sustained_rate(&self) -> Option<i64> {
        let rate = (self.sustained_rate).reached(
            self.last_delivery_ns,
            self.delivered,
            SustainedRate::shortest_span_ns(self.rtt_min_ns()),
        );
        (rate > 0).then_some(rate)
    }

    /// Sets the round trips that the handshake measured, in ns: from the tap to the sender and to the receiver.
    pub fn set_handshake_rtts(&mut self, sender_ns: i64, receiver_ns: i64, at: At) {
        self.tap_to_sender.handshake(sender_ns, receiver_ns);
        self.tap.rtt_min_ns = receiver_ns.max(0);
        let rtt_ns = sender_ns.saturating_add(receiver_ns);
        self.retransmissions.add_rtt(rtt_ns);
        self.tap.set_path_rtt(rtt_ns, true);
        let sample = RttSample {
            sent_ns: at.time_ns - rtt_ns,
            rtt_ns,
            round: self.rounds.number(),
            maybe_delayed: false,
        };
        self.rounds
            .get()
            .add_rtt(sample, at.time_ns, self.tap.delivered());
        self.update_shift();
    }

    /// Would the receiver accept this relative sequence number (RFC 9293 section 3.10.7.4)? It lies between SND.UNA and
    /// the end of the window or SND.NXT, whichever is higher. `true` while SND.UNA or SND.NXT is unknown.
    #[must_use]
    pub fn is_in_window(&self, sequence: i64) -> bool {
        let (Some(una), Some(next)) = (self.tap.snd_una(), self.tap.snd_nxt()) else {
            return true;
        };
        let window = known(self.advertised.bytes).unwrap_or_default();
        (una..=next.max(una.saturating_add(window))).contains(&sequence)
    }

    /// Is this relative sequence number below the SYN, or beyond the receiver's window after the captured data? The sender
    /// cannot have sent such data. `false` while none was captured.
    #[must_use]
    pub fn is_unsent(&self, sequence: i64) -> bool {
        let window = known(self.advertised.bytes).unwrap_or_default();
        (self.tap.sent_end())
            .is_some_and(|end| !(0..=end.saturating_add(window)).contains(&sequence))
    }

    /// Does the number acknowledge sent data and nothing beyond SND.NXT, as an acceptable ACK (RFC 9293 section 3.4)
    /// does?
    #[must_use]
    pub fn is_acceptable_ack(&self, acknowledgment: u32) -> bool {
        let next = self.tap.snd_nxt().unwrap_or_default();
        (1..=next).contains(&self.tap.space.relative(acknowledgment))
    }

    /// Notes whether the latest data sent acknowledge all payload of the peer; next to the sender, times show that.
    pub fn set_caught_up(&mut self, caught_up: bool) {
        if !self.tap_to_sender.tap_at_sender() {
            self.rounds.get().set_caught_up(caught_up);
        }
    }

    /// Passes half the round trip to the sender on to the rounds; 0 where the tap is at the sender.
    fn update_shift(&mut self) {
        let shift_ns = if self.tap_to_sender.tap_at_sender() {
            0
        } else {
            self.tap_to_sender.rtt_min_ns().unwrap_or(0) / 2
        };
        self.rounds.get().set_shift(shift_ns);
    }

    /// Applies a measurement of the path between tap and sender; `measures` returns whether it changed anything.
    /// Without a handshake, the first timestamp echoes may show that the tap is not at the sender. RTTs up to then
    /// covered only a part of the path and are discarded.
    fn measure_tap_to_sender(&mut self, measures: impl FnOnce(&mut TapToSender) -> bool) {
        let was_at_sender = self.tap_to_sender.tap_at_sender();
        if !measures(&mut self.tap_to_sender) {
            return;
        }
        if was_at_sender && !self.tap_to_sender.tap_at_sender() {
            self.rounds.get().discard_timing();
        }
        self.update_shift();
        if !self.tap_to_sender.is_measured_by_handshake()
            && let Some(receiver_ns) = self.tap_to_sender.receiver_rtt_min_ns()
        {
            let sender_ns = self.tap_to_sender.rtt_min_ns().unwrap_or(0);
            self.tap
                .set_path_rtt(sender_ns.saturating_add(receiver_ns), false);
        }
    }

    /// Adds a round trip from the tap to the sender that data of the other direction measured, ns.
    pub fn add_prompt_rtt(&mut self, rtt_ns: i64) {
        if !self.tap_to_sender.is_measured_by_handshake() {
            self.measure_tap_to_sender(|tap_to_sender| tap_to_sender.add_prompt_rtt(rtt_ns));
        }
    }

    /// Advances the flow's time to `at` and delivers the acknowledgments that have reached the sender by then. `tsecr`
    /// is the TSecr of a segment of the sender that passes the tap now.
    #[inline]
    fn advance_to(&mut self, at: At, tsecr: Option<u32>) {
        if at.time_ns < self.last_ns {
            self.rounds.get().count(|row| row.time_reversals += 1);
        }
        self.last_ns = at.time_ns;
        if self.tap_to_sender.has_acks_in_transit() {
            self.deliver_arrived(at, tsecr);
        }
    }

    /// Delivers the acknowledgments that have reached the sender by `at`.
    #[inline(never)] // not needed where the tap is at the sender
    fn deliver_arrived(&mut self, at: At, tsecr: Option<u32>) {
        while let Some((time_ns, ack)) = self.tap_to_sender.next_arrived(at.time_ns, tsecr) {
            self.deliver(&ack, time_ns, at.frame);
        }
    }

    /// Delivers an acknowledgment to the sender, `time_ns` being the time at the tap.
    fn deliver(&mut self, ack: &Ack, time_ns: i64, frame: u64) {
        let rounds = self.rounds.get();
        rounds.advance(time_ns, &self.sender);
        let progress = self.sender.receive(ack);
        let outstanding = self.sender.in_flight() > 0;
        self.retransmissions
            .ack_arrived(progress, outstanding, time_ns);
        self.scale.advertised(ack.ack, ack.window_field, ack.scaled);
        if ack.ece {
            rounds.count(|row| row.congestion_echoes += 1);
        }
        let vantage_pending = self.tap_to_sender.is_vantage_pending(time_ns);
        let ack_arrival_ns = self.tap_to_sender.ack_arrival_ns().unwrap_or(time_ns);
        rounds.received(
            time_ns,
            ack_arrival_ns,
            frame,
            progress,
            vantage_pending,
            &self.sender,
        );
    }

    /// Adds a packet of the receiver that reached the tap `excess_ns` later than the fastest one.
    pub fn add_reverse_delay(&mut self, excess_ns: i64) {
        self.rounds
            .get()
            .measurements()
            .add_reverse_delay(excess_ns);
    }

    /// Closes the rounds whose measurements are complete. Data captured after their acknowledgment still change them.
    #[inline]
    fn hand_over_rounds(&mut self) {
        let una = if self.tap.awaits_late_data(self.last_ns) {
            None
        } else {
            self.tap.snd_una()
        };
        self.rounds.finished(una.unwrap_or(i64::MIN));
    }

    /// Ends the flow with the stream's last packet `at`: delivers all acknowledgments and closes the last round.
    pub fn finish(&mut self, at: At) {
        self.flush_repeated_acks();
        while let Some((time_ns, ack)) = self.tap_to_sender.next_remaining() {
            self.deliver(&ack, time_ns.min(at.time_ns), at.frame);
        }
        self.rounds.get().finish(at.time_ns, at.frame, &self.sender);
    }

    /// Returns the window that the receiver advertised last, in bytes; [`NULL`] where unknown.
    #[must_use]
    pub fn window_last_bytes(&self) -> i64 {
        self.advertised.bytes
    }

    /// Has the sender's FIN been acknowledged, with all data before it?
    #[must_use]
    pub fn is_fin_acknowledged(&self) -> bool {
        self.fin_sent && self.tap.is_acknowledged()
    }

    /// Sets the largest number of rounds that are kept, and of ranges in each set. The flow must be empty.
    pub fn set_limits(&mut self, rounds: usize, ranges: usize) {
        self.rounds.set_max_rounds(rounds);
        self.tap.set_max_ranges(ranges);
        self.sender.set_max_ranges(ranges);
    }

    /// Returns how often two ranges were merged because a set was full.
    #[must_use]
    pub fn merged_ranges(&self) -> i64 {
        i64::from(self.tap.merged_ranges()) + i64::from(self.sender.merged_ranges())
    }

    /// Returns the number of rounds that were not kept because there were too many; see
    /// [`super::rounds::packed_rounds::PackedRounds::left_out`].
    #[must_use]
    pub fn rounds_left_out(&self) -> i64 {
        self.rounds.left_out()
    }

    /// Returns the finished rounds in packed form; see [`super::rounds::packed_rounds`].
    #[must_use]
    pub fn packed_rounds(&self) -> &[u8] {
        self.rounds.packed()
    }
}
