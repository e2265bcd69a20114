//! # Rounds
//! Cuts a flow's time into round trips, and counts the evidence in each.
//!
//! A round ends when SND.UNA passes the SND.NXT of its start (as in BBR and Linux `tcp_rate.c`), so sequence numbers
//! bound it. Idle time is a separate round, and so is a round trip in which nothing was sent. Evidence is counted here
//! and classified in Python.

pub(super) mod bursts;
pub(super) mod data_time;
pub(super) mod lazy_rounds;
mod measurements;
mod open_round;
pub(super) mod packed_rounds;
pub(super) mod round;

use super::at::At;
use super::null::{NULL, known, least};
use super::rate::{per_second, quotient};
use super::sender::{Progress, Sender, packets};
use super::tap::records::RttSample;
use bursts::{Bursts, SentData};
use data_time::DataTime;
use measurements::{Measurements, Queue};
use open_round::OpenRound;
use packed_rounds::PackedRounds;
use round::Round;
use std::collections::VecDeque;

/// One point of the delivery curve.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    /// When the acknowledgment reached the tap, ns.
    time_ns: i64,
    /// When the segment that it measures passed the tap, ns.
    sent_ns: i64,
    /// Bytes delivered by then.
    bytes: i64,
}

impl Delivery {
    const NONE: Self = Self {
        time_ns: NULL,
        sent_ns: NULL,
        bytes: 0,
    };
}

/// The rounds of one flow, in their order.
#[derive(Debug)]
pub struct Rounds {
    stream: u32,
    direction: u8,
    /// Largest payload of a packet, bytes.
    mss: i64,
    /// Time up to which evidence was counted, ns.
    clock_ns: i64,
    /// The open round.
    current: Box<OpenRound>,
    /// The open round ends when SND.UNA passes this sequence number.
    target_sequence: i64,
    /// Closed rounds that may still gain measurements, oldest first.
    pending: VecDeque<Box<OpenRound>>,
    /// The first pending round is handed over once this number is acknowledged: its `end_sequence`, or less than any
    /// number while too many rounds are pending.
    first_end: i64,
    /// Has the sender sent its FIN? Few rounds follow.
    fin_seen: bool,
    /// Time since which nothing is in flight, ns; [`NULL`] otherwise.
    empty_since_ns: i64,
    /// Time with an unusable window since `empty_since_ns`, ns.
    empty_zero_ns: i64,
    /// When the sender received the latest payload of its peer, ns; [`NULL`] before the first.
    peer_data_ns: i64,
    /// Do the latest data sent acknowledge all payload of the peer so far, which therefore came before them?
    caught_up: bool,
    /// When the wait for the next acknowledgment began: the first send after an empty flight, or the last
    /// acknowledgment of new data; [`NULL`] before the first send.
    awaiting_since_ns: i64,
    /// Longest time with data in flight and no acknowledgment of new data, ns.
    longest_stall_ns: i64,
    /// When that time began, ns; [`NULL`] without one.
    longest_stall_start_ns: i64,
    data_time: DataTime,
    bursts: Bursts,
    /// Least RTT so far, ns, confirmed or not; [`NULL`] while unknown.
    least_rtt_ns: i64,
    /// Minimum RTT of the path so far, ns; [`NULL`] while unknown.
    rtt_min_ns: i64,
    /// The latest RTT far below the minimum, which another has to confirm, ns; [`NULL`] without one.
    unconfirmed_rtt_ns: i64,
    /// First point of the open run of packets, over which a delivery rate is measured.
    run_start: Delivery,
    queue: Queue,
    /// Half the round trip from the tap to the sender, ns; 0 at the sender.
    shift_ns: i64,
    /// Current excess delay from the sender to the tap, ns.
    forward_delay_ns: i64,
    /// End of the last round handed over, ns.
    end_ns: i64,
    /// The rounds handed over.
    packed: PackedRounds,
}

impl Rounds {
    /// Number of packets in a run over which the delivery rate is measured.
    const RUN_PACKETS: i64 = 16;
    /// Idle time of at most this length is no separate round, ns.
    const LEAST_IDLE_NS: i64 = 1_000_000;
    /// Time after which a SYN is sent again, ns (RFC 6298 section 2.1).
    const SYN_TIMER_NS: i64 = 1_000_000_000;
    /// Maximum number of closed rounds that wait for late measurements.
    const MAX_PENDING: usize = 64;

    /// Creates the rounds of a flow whose stream began at `start`.
    #[must_use]
    pub fn new(stream: u32, direction: u8, start: At) -> Self {
        let start_ns = start.time_ns;
        Self {
            stream,
            direction,
            mss: 1,
            clock_ns: start_ns,
            current: OpenRound::begin(stream, direction, 0, start),
            target_sequence: 1, // the acknowledgment of the SYN ends no round
            pending: VecDeque::new(),
            first_end: i64::MAX,
            fin_seen: false,
            empty_since_ns: start_ns,
            empty_zero_ns: 0,
            peer_data_ns: NULL,
            caught_up: false,
            awaiting_since_ns: NULL,
            longest_stall_ns: 0,
            longest_stall_start_ns: NULL,
            data_time: DataTime::NONE,
            bursts: Bursts::new(start_ns),
            least_rtt_ns: NULL,
            rtt_min_ns: NULL,
            unconfirmed_rtt_ns: NULL,
            run_start: Delivery::NONE,
            queue: Queue::default(),
            shift_ns: 0,
            forward_delay_ns: 0,
            end_ns: start_ns,
            packed: PackedRounds::new(start),
        }
    }

    /// Returns the number of the open round.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.current.row.round
    }

    /// Sets the largest payload of a packet of this flow, bytes.
    pub fn set_mss(&mut self, mss: i64) {
        self.mss = mss.max(1);
    }

    /// Sets half the round trip from the tap to the sender, ns: boundaries of rounds are reported on the sender's
    /// clock.
    pub fn set_shift(&mut self, shift_ns: i64) {
        self.shift_ns = shift_ns;
        self.bursts.set_away_from_sender(shift_ns > 0);
    }

    /// Sets the current excess delay from the sender to the tap, ns.
    pub fn set_forward_delay(&mut self, forward_delay_ns: i64) {
        self.forward_delay_ns = forward_delay_ns;
    }

    /// Returns the bytes in flight. Away from the sender they never exceed the window: data beyond it shows that the
    /// capture lacks the acknowledgment that allowed them.
    #[must_use]
    pub fn in_flight(&self, sender: &Sender) -> i64 {
        let flight = sender.in_flight();
        if self.shift_ns == 0 {
            flight
        } else {
            sender
                .allowed_in_flight()
                .map_or(flight, |allowed| flight.min(allowed))
        }
    }

    /// Counts the time up to `now_ns`, in which the sender's state did not change.
    pub fn advance(&mut self, now_ns: i64, sender: &Sender) {
        let passed_ns = now_ns - self.clock_ns;
        if passed_ns <= 0 {
            return;
        }
        self.clock_ns = now_ns;
        let flight = sender.in_flight();
        let started = self.has_sent();
        let open = &mut self.current;
        let row = &mut open.row;
        open.flight_integral += i128::from(flight) * i128::from(passed_ns);
        let closed = started && sender.is_window_unusable(self.mss);
        if closed {
            row.zero_window_ns += passed_ns;
        }
        if flight == 0 && !started {
            // Before the first data: a wait after the handshake becomes a separate round.
        } else if flight == 0 {
            row.empty_ns += passed_ns;
            if sender.snd_una().is_none() {
                // Data await the first acknowledgment in the capture.
                (self.data_time).advance(passed_ns, now_ns, None);
            }
            if closed {
                self.empty_zero_ns += passed_ns;
            }
        } else {
            (self.data_time).advance(passed_ns, now_ns, sender.snd_una());
        }
        if let Some(usable) = sender.usable_window()
            && (flight > 0 || closed)
        {
            // A sender waits for room for a segment, or for half of the window if that is less (RFC 9293 section
            // 3.8.6.2.1).
            let window = usable + flight; // neither is negative, so shifts divide
            let enough = self.mss.min(window >> 1);
            let eighth = window >> 3;
            if usable < enough || closed {
                row.window_blocked_ns += passed_ns;
            }
            if usable < eighth.max(enough) || closed {
                row.window_full_ns += passed_ns;
            } else if self.bursts.last_small() {
                row.after_short_ns += passed_ns;
            }
        } else if self.bursts.last_small() {
            row.after_short_ns += passed_ns;
        }
    }

    /// Counts the time before a send, which is a FIN without payload if `ends`. While it is unknown where the tap is
    /// (`vantage_pending`), an empty flight is not idle time: near the receiver, data are acknowledged at once.
    #[inline(always)] // for every segment with payload
    pub fn before_send(
        &mut self,
        at: At,
        ends: bool,
        vantage_pending: impl FnOnce() -> bool,
        sender: &Sender,
    ) {
        self.advance(at.time_ns, sender);
        if self.empty_since_ns != NULL && sender.in_flight() == 0 && !vantage_pending() {
            self.after_idling(at, ends, sender);
        }
    }

    /// Closes the round before a send with nothing in flight. Idle time before the send becomes a separate round. If it
    /// was too short for that, the wait for the last acknowledgments may become one.
    #[inline(never)] // rare in a transfer
    fn after_idling(&mut self, at: At, ends: bool, sender: &Sender) {
        let (now_ns, frame) = (at.time_ns, at.frame);
        let next = sender.snd_nxt().unwrap_or_default();
        if self.separate_idle_time(at, ends, sender) {
            self.close(now_ns, frame, next, sender);
            self.empty_since_ns = NULL;
            self.empty_zero_ns = 0;
            self.awaiting_since_ns = NULL;
            return;
        }
        let row = &self.current.row;
        let sent_nothing = row.sent_bytes + row.retransmitted_bytes == 0;
        if self.has_sent()
            && sent_nothing
            && now_ns - row.start_ns > (self.idle_threshold_ns() / 2).max(Self::LEAST_IDLE_NS)
        {
            self.close(now_ns, frame, next, sender);
        }
    }

    /// Returns the time in which payload was in flight.
    #[must_use]
    pub fn data_time(&self) -> DataTime {
        self.data_time
    }

    /// Returns the longest time without anything in flight that becomes no separate round, ns.
    fn idle_threshold_ns(&self) -> i64 {
        if self.has_sent() {
            self.rtt_min_ns().unwrap_or(10_000_000) / 2
        } else {
            // The first data may follow the handshake at once, which is no idle time.
            self.rtt_min_ns().map_or(1_000_000_000, |rtt_ns| {
                rtt_ns + rtt_ns / 2 + Self::LEAST_IDLE_NS
            })
        }
    }

    /// Makes the open round one of idle time alone, up to now; returns false where that was too short. The peer's turn
    /// lasts until its latest payload, or until now if nothing follows (`ends`). The rest becomes another round.
    fn separate_idle_time(&mut self, at: At, ends: bool, sender: &Sender) -> bool {
        let now_ns = at.time_ns;
        let since_ns = self.empty_since_ns;
        let idle_ns = now_ns - since_ns;
        if idle_ns <= self.idle_threshold_ns().max(Self::LEAST_IDLE_NS) {
            if ends && since_ns <= self.current.row.start_ns {
                self.current.row.turn = Round::PEERS_TURN;
            }
            return false;
        }
        let next = sender.snd_nxt().unwrap_or_default();
        let zero_ns = self.empty_zero_ns;
        self.current.row.empty_ns -= idle_ns.min(self.current.row.empty_ns);
        self.current.row.zero_window_ns -= zero_ns.min(self.current.row.zero_window_ns);
        self.current.row.window_blocked_ns -= zero_ns.min(self.current.row.window_blocked_ns);
        self.current.row.window_full_ns -= zero_ns.min(self.current.row.window_full_ns);
        if since_ns > self.current.row.start_ns {
            self.current.acknowledged = true;
            self.close(since_ns, at.frame, next, sender);
        }
        let own_since_ns = self.own_turn_since(since_ns, now_ns, ends);
        let peer_ns = own_since_ns - since_ns;
        let peer_zero_ns = zero_ns.min(peer_ns);
        if peer_ns > 0 {
            self.set_idle(peer_ns, peer_zero_ns, Round::PEERS_TURN);
        }
        if own_since_ns < now_ns {
            if peer_ns > 0 {
                self.close(own_since_ns, at.frame, next, sender);
            }
            let answering = !self.caught_up && self.peer_data_ns > self.bursts.last_send_ns();
            let turn = if answering { Round::ANSWERING } else { 0 };
            self.set_idle(now_ns - own_since_ns, zero_ns - peer_zero_ns, turn);
        }
        true
    }

    /// Returns since when the sender has had the turn, with nothing in flight from `since_ns` to `now_ns`. Neither
    /// side's part is too short for a round: a part of at most half an RTT belongs to the other side's.
    fn own_turn_since(&self, since_ns: i64, now_ns: i64, ends: bool) -> i64 {
        let own_since_ns = if ends {
            now_ns
        } else {
            self.peer_data_ns.clamp(since_ns, now_ns)
        };
        let least_ns = (self.rtt_min_ns().unwrap_or(0) / 2).max(Self::LEAST_IDLE_NS);
        if now_ns - own_since_ns <= least_ns {
            now_ns
        } else if own_since_ns - since_ns <= least_ns {
            since_ns
        } else {
            own_since_ns
        }
    }

    /// Sets the counts of the open round, in which nothing is in flight and the window is unusable for `zero_ns`. Data
    /// in flight as it began were acknowledged at that time.
    fn set_idle(&mut self, empty_ns: i64, zero_ns: i64, turn: u8) {
        let row = &mut self.current.row;
        row.in_flight_max_bytes = 0;
        row.empty_ns = empty_ns;
        row.zero_window_ns = zero_ns;
        row.window_blocked_ns = zero_ns;
        row.window_full_ns = zero_ns;
        row.turn = turn;
    }

    /// Notes payload of the peer that the sender received at `now_ns`.
    pub fn peer_sent(&mut self, now_ns: i64) {
        self.peer_data_ns = self.peer_data_ns.max(now_ns);
        self.caught_up = false;
    }

    /// Notes whether the latest data sent acknowledge all payload of the peer. Away from the sender, the time at which
    /// that came to it is known to within jitter only.
    pub fn set_caught_up(&mut self, caught_up: bool) {
        self.caught_up = caught_up;
    }

    /// Counts `data` that the sender sent. `ack_age_ns` returns how long the sender had had its last acknowledgment,
    /// ns, where that is known away from the sender.
    pub fn sent(
        &mut self,
        frame: u64,
        data: SentData,
        ack_age_ns: impl FnOnce() -> Option<i64>,
        sender: &Sender,
    ) {
        if self.has_sent() {
            self.count_silence(data.time_ns);
        }
        self.check_blocked(data.time_ns);
        self.data_time.sent(data.time_ns);
        if (1..self.mss).contains(&(data.in_flight - data.new_bytes)) && data.new_bytes > 0 {
            self.end_data_time(data.time_ns);
        }
        let (new_bytes, retransmitted_bytes) = (data.new_bytes, data.retransmitted_bytes);
        let row = &mut self.current.row;
        row.last_frame = frame;
        self.bursts.sent(data, ack_age_ns, row);
        if new_bytes > 0 {
            row.sent_bytes += new_bytes;
            row.sent_segments += packets(new_bytes, self.mss);
        } else {
            row.retransmitted_bytes += retransmitted_bytes;
            row.retransmitted_segments += packets(retransmitted_bytes, self.mss);
        }
        row.short_segments += i64::from(data.small);
        row.in_flight_max_bytes = row.in_flight_max_bytes.max(data.in_flight);
        if let Some(usable) = sender.usable_window() {
            row.usable_window_min_bytes = least(row.usable_window_min_bytes, usable);
        }
        self.await_acknowledgment(data.time_ns, sender);
    }

    /// Notes that an acknowledgment is awaited from `now_ns` on, if all was acknowledged before.
    #[inline(always)] // for every segment with payload
    fn await_acknowledgment(&mut self, now_ns: i64, sender: &Sender) {
        let waits = !sender.is_acknowledged(); // data may be captured after their acknowledgment
        if waits && (self.empty_since_ns != NULL || self.awaiting_since_ns == NULL) {
            self.empty_since_ns = NULL;
            self.awaiting_since_ns = now_ns;
        }
    }

    /// Notes that data had been sent by `now_ns` which did not pass the tap.
    pub fn sent_unseen(&mut self, now_ns: i64, sender: &Sender) {
        self.data_time.sent(now_ns);
        self.bursts.sent_unseen(now_ns);
        self.await_acknowledgment(now_ns, sender);
    }

    /// Counts bytes as captured that were counted as unseen, in the rounds in which they were; rounds that were handed
    /// over keep theirs.
    pub fn captured_late(&mut self, bytes: i64) {
        let left = self.take_unseen(bytes, |row, late| {
            row.acked_bytes += late;
            row.delivered_bytes += late;
        });
        self.current.row.acked_bytes += left;
        self.current.row.delivered_bytes += left;
    }

    /// Counts bytes no longer as unseen, since they were sent before the capture; rounds that were handed over keep theirs.
    pub fn sent_before(&mut self, bytes: i64) {
        self.take_unseen(bytes, |_, _| ());
    }

    /// Takes bytes from those that count as unseen, of the newest rounds first, and hands each round its part to `counted`.
    /// Returns the bytes that are left.
    fn take_unseen(&mut self, bytes: i64, counted: impl Fn(&mut Round, i64)) -> i64 {
        let mut left = bytes;
        let pending = self.pending.iter_mut().rev();
        for open in std::iter::once(&mut self.current).chain(pending) {
            let part = left.min(open.row.unseen_bytes);
            open.row.unseen_bytes -= part;
            counted(&mut open.row, part);
            left -= part;
        }
        left
    }

    /// Counts the time in which the writer was blocked before a send, if it was.
    #[inline]
    fn check_blocked(&mut self, now_ns: i64) {
        if let Some((since_ns, until_ns)) = self.bursts.blocked_span(now_ns) {
            self.count_blocked(since_ns, until_ns);
        }
    }

    /// Counts the time from `since_ns` to `until_ns`, in which the writer was blocked, in every round that it overlaps
    /// by the sender's clock.
    #[inline(never)] // rare
    fn count_blocked(&mut self, since_ns: i64, mut until_ns: i64) {
        let mut row = &mut self.current.row;
        row.writer_blocked_max_ns = row.writer_blocked_max_ns.max(until_ns - since_ns);
        for before in self.pending.iter_mut().rev() {
            let forward_delay_ns = if self.shift_ns > 0 {
                before.forward_delay_ns
            } else {
                0
            };
            let start_ns = before.row.end_ns - forward_delay_ns;
            row.add_blocked(since_ns.max(start_ns), until_ns);
            until_ns = until_ns.min(start_ns);
            row = &mut before.row;
            if until_ns <= since_ns {
                return;
            }
        }
        row.add_blocked(since_ns.max(row.start_ns), until_ns);
    }

    /// Processes the sender's FIN, whose sequence number is `end - 1`. A new round begins, in which nothing is left to
    /// send.
    pub fn fin_sent(&mut self, now_ns: i64, frame: u64, end: i64, sender: &Sender) {
        self.check_blocked(now_ns);
        self.fin_seen = true;
        self.data_time.fin_sent(end - 1);
        if self.has_sent() && now_ns > self.current.row.start_ns {
            self.close(now_ns, frame, end, sender);
        }
        self.current.row.after_fin = 1;
    }

    /// Counts an acknowledgment that the sender received at `now_ns`. Had nothing been queued, it would have arrived at
    /// `ack_arrival_ns`. It ends no round while it is unknown where the tap is (`vantage_pending`).
    pub fn received(
        &mut self,
        now_ns: i64,
        ack_arrival_ns: i64,
        frame: u64,
        progress: Progress,
        vantage_pending: bool,
        sender: &Sender,
    ) {
        let flight = sender.in_flight();
        // Data that the capture lacks may be acknowledged while nothing is known to be in flight.
        if progress.delivered > 0 && self.empty_since_ns == NULL {
            if flight == 0 && progress.delivered < self.mss {
                self.end_data_time(now_ns);
            }
            // If the capture lacks most of what arrived, it also lacks the acknowledgments that came meanwhile.
            let seen = progress.captured.delivered >= progress.delivered / 2;
            self.end_stall(now_ns, seen);
        }
        let row = &mut self.current.row;
        row.last_frame = frame;
        row.acked_bytes += progress.captured.acked;
        row.delivered_bytes += progress.captured.delivered;
        if let Some(window) = sender.window() {
            row.window_min_bytes = least(row.window_min_bytes, window);
            row.window_max_bytes = row.window_max_bytes.max(window);
        }
        if progress.delivered > 0 {
            row.acks += 1;
            self.bursts
                .acknowledged(now_ns, ack_arrival_ns, progress.reply);
        } else if progress.reply
            || progress.edge_advanced > 0
                && sender
                    .usable_window()
                    .is_some_and(|usable| usable - progress.edge_advanced < self.mss)
        {
            // A request of the peer, or a window update that makes room, is reason enough for the next data.
            self.bursts.triggered(now_ns, progress.reply);
        }
        if progress.reply {
            self.peer_data_ns = self.peer_data_ns.max(now_ns);
        }
        if flight == 0 && self.empty_since_ns == NULL {
            (self.empty_since_ns, self.empty_zero_ns) = (now_ns, 0);
        }
        let una = sender.snd_una().unwrap_or_default();
        if una > self.target_sequence && self.has_sent() && !vantage_pending {
            self.end_round_trip(now_ns, frame, sender);
        }
    }

    /// Ends the time with payload in flight at the acknowledgment of less than a segment, or at new data without it. A
    /// sender with more data fills segments, so it had none, and the receiver may wait with the acknowledgment (RFC 9293
    /// section 3.8.6.3). It was due a round trip after the last send, or after the acknowledgment before it.
    fn end_data_time(&mut self, now_ns: i64) {
        if let Some(rtt_ns) = self.rtt_min_ns()
            && self.awaiting_since_ns != NULL
        {
            let since_ns = self.bursts.last_send_ns().max(self.awaiting_since_ns);
            self.data_time
                .acknowledged_late(since_ns.saturating_add(rtt_ns), now_ns);
        }
    }

    /// Closes the open round, all of whose data are acknowledged, unless it is shorter than a round trip can be.
    #[inline(never)] // once a round
    fn end_round_trip(&mut self, now_ns: i64, frame: u64, sender: &Sender) {
        let lasted_ns = now_ns - self.current.row.start_ns;
        if self.rtt_min_ns == NULL || lasted_ns >= self.rtt_min_ns / 10 * 7 {
            self.current.acknowledged = true;
            let next = sender.snd_nxt().unwrap_or_default();
            self.close(now_ns, frame, next, sender);
        }
    }

    /// Ends the time since the last acknowledgment of new data, or since the first send after an empty flight. It counts
    /// if it was `seen`: in a gap of the capture, acknowledgments may have come.
    fn end_stall(&mut self, now_ns: i64, seen: bool) {
        if self.awaiting_since_ns != NULL {
            if seen {
                let stall_ns = now_ns - self.awaiting_since_ns;
                if stall_ns > self.longest_stall_ns {
                    self.longest_stall_ns = stall_ns;
                    self.longest_stall_start_ns = self.awaiting_since_ns;
                }
            }
            self.awaiting_since_ns = now_ns;
        }
    }

    /// Returns the longest time with data in flight and no acknowledgment of new data so far, ns.
    #[must_use]
    pub fn longest_stall_ns(&self) -> i64 {
        self.longest_stall_ns
    }

    /// Returns when the longest stall began, ns; `None` without one.
    #[must_use]
    pub fn longest_stall_start_ns(&self) -> Option<i64> {
        (self.longest_stall_start_ns != NULL).then_some(self.longest_stall_start_ns)
    }

    /// Adds an RTT of the whole path, measured at `now_ns` when `delivered` bytes had arrived in total.
    pub fn add_rtt(&mut self, sample: RttSample, now_ns: i64, delivered: i64) {
        if !sample.maybe_delayed && (self.rtt_min_ns == NULL || sample.rtt_ns < self.rtt_min_ns) {
            self.least_rtt_ns = least(self.least_rtt_ns, sample.rtt_ns);
            self.lower_rtt_min(sample.rtt_ns);
        }
        self.add_delivery(sample, now_ns, delivered);
        if sample.maybe_delayed {
            return;
        }
        let number = sample.round;
        if number == self.current.row.round {
            self.current.measurements.add_rtt(sample);
        } else if let Some(ago) = self.current.row.round.checked_sub(number)
            && let Some(at) = self.pending.len().checked_sub(ago as usize)
        {
            // Rounds are numbered without gaps.
            self.pending[at].measurements.add_rtt(sample);
        }
    }

    /// Lowers the minimum RTT, ns. A fall to less than a quarter needs a second RTT of at most twice that. Some
    /// middleboxes acknowledge a first request in the server's place, which is no round trip of the path. A minimum of
    /// a second is none either: a SYN was lost (RFC 6298 section 2.1), or a proxy connected to the server meanwhile.
    fn lower_rtt_min(&mut self, rtt_ns: i64) {
        let far_below = self.rtt_min_ns < Self::SYN_TIMER_NS && rtt_ns < self.rtt_min_ns / 4;
        let alone = self.unconfirmed_rtt_ns == NULL || rtt_ns / 2 > self.unconfirmed_rtt_ns;
        if far_below && alone {
            self.unconfirmed_rtt_ns = rtt_ns;
        } else {
            self.set_rtt_min(rtt_ns);
        }
    }

    /// Sets the minimum RTT, ns; [`NULL`] makes it unknown.
    fn set_rtt_min(&mut self, rtt_min_ns: i64) {
        self.rtt_min_ns = rtt_min_ns;
        self.bursts.set_rtt_min(self.rtt_min_ns());
    }

    /// Discards RTTs and times, because the tap turned out to be away from the sender. The RTTs covered only a part of
    /// the path, and the times at which the sender could send are unknown. Bytes and segments stay counted.
    pub fn discard_timing(&mut self) {
        self.set_rtt_min(NULL);
        self.least_rtt_ns = NULL;
        if self.empty_since_ns != NULL {
            self.awaiting_since_ns = NULL; // nothing is awaited with nothing in flight
        }
        (self.empty_since_ns, self.empty_zero_ns) = (NULL, 0);
        self.data_time
            .forget_pauses(self.current.row.start_ns, self.clock_ns);
        self.current.row = self.current.row.counts();
        self.current.measurements.forget_rtts();
        for open in &mut self.pending {
            open.measurements.forget_rtts();
        }
    }

    /// Measures the delivery rate over runs of packets: `Δdelivered / max(Δsend, Δack)`, as in Linux `tcp_rate.c`.
    fn add_delivery(&mut self, sample: RttSample, now_ns: i64, delivered: i64) {
        let point = Delivery {
            time_ns: now_ns,
            sent_ns: sample.sent_ns,
            bytes: delivered,
        };
        if self.run_start.time_ns == NULL {
            self.run_start = point;
        }
        let first = self.run_start;
        let bytes = point.bytes - first.bytes;
        if bytes < Self::RUN_PACKETS * self.mss {
            return;
        }
        self.run_start = point;
        let span_ns = (point.time_ns - first.time_ns).max(point.sent_ns - first.sent_ns);
        if span_ns > 0 {
            let rate = per_second(bytes, span_ns);
            self.current.measurements.add_run_rate(rate);
        }
    }

    /// Returns the measurements of the open round.
    pub fn measurements(&mut self) -> &mut Measurements {
        &mut self.current.measurements
    }

    /// Has the flow sent data?
    fn has_sent(&self) -> bool {
        self.bursts.has_sent()
    }

    /// Updates counters of the open round.
    pub fn count(&mut self, count: impl FnOnce(&mut Round)) {
        count(&mut self.current.row);
    }

    /// Counts the silence up to `now_ns`, since the last send or the round's start.
    fn count_silence(&mut self, now_ns: i64) {
        let row = &mut self.current.row;
        let since_ns = self.bursts.last_send_ns().max(row.start_ns);
        row.silence_ns = row.silence_ns.max(now_ns - since_ns);
    }

    /// Closes the open round at `now_ns` and opens the next one. `frame` is its first frame, and `end_sequence` is SND.NXT.
    fn close(&mut self, now_ns: i64, frame: u64, end_sequence: i64, sender: &Sender) {
        // If the clock was set back, the round ends no earlier than it began.
        let now_ns = now_ns.max(self.current.row.start_ns);
        self.count_silence(now_ns);
        let number = self.current.row.round + 1;
        let at = At {
            time_ns: now_ns,
            frame,
        };
        let mut next = OpenRound::begin(self.stream, self.direction, number, at);
        let blank = &mut next.row;
        blank.after_fin = self.fin_seen.into();
        blank.in_flight_max_bytes = self.in_flight(sender);
        if let Some(window) = sender.window() {
            blank.window_min_bytes = window;
            blank.window_max_bytes = window;
        }
        let mut done = std::mem::replace(&mut self.current, next);
        done.row.end_ns = now_ns;
        done.end_sequence = end_sequence;
        done.forward_delay_ns = self.forward_delay_ns;
        let length_ns = now_ns - done.row.start_ns;
        done.row.length_ns = length_ns;
        if length_ns > 0 {
            // If the clock was set back, more time may have been counted than the round is long.
            let mean = quotient(done.flight_integral, length_ns);
            done.row.in_flight_mean_bytes = mean.min(done.row.in_flight_max_bytes);
        }
        self.data_time.round_begins();
        self.pending.push_back(done);
        self.update_first_end();
        self.target_sequence = end_sequence;
    }

    /// Hands over every round that can gain no more measurements, now that `una` is SND.UNA at the tap.
    pub fn finished(&mut self, una: i64) {
        while self.first_end <= una {
            self.hand_over();
        }
    }

    /// Updates `first_end` after a change of the pending rounds.
    fn update_first_end(&mut self) {
        self.first_end = match self.pending.front() {
            Some(_) if self.pending.len() > Self::MAX_PENDING => i64::MIN,
            Some(first) => first.end_sequence,
            None => i64::MAX,
        };
    }

    /// Closes the last round at `end_ns`, and hands over all rounds.
    pub fn finish(&mut self, end_ns: i64, frame: u64, sender: &Sender) {
        self.advance(end_ns, sender);
        if sender.in_flight() > 0 {
            self.end_stall(end_ns, true);
        }
        self.check_blocked(end_ns);
        if self.empty_since_ns != NULL && self.has_sent() && sender.in_flight() == 0 {
            let at = At {
                time_ns: end_ns,
                frame,
            };
            self.separate_idle_time(at, true, sender);
        }
        let next = sender.snd_nxt().unwrap_or_default();
        self.close(end_ns.max(self.current.row.start_ns), frame, next, sender);
        while self.pending.len() > 1 {
            self.hand_over();
        }
        self.shift_ns = 0; // the last row ends with the last packet
        if let Some(mut open) = self.pending.pop_front() {
            self.summarize(&mut open);
            let row = &mut open.row;
            let sent_bytes = row.sent_bytes + row.retransmitted_bytes;
            let content = sent_bytes + row.acked_bytes + row.unseen_bytes > 0;
            if row.round == 0 || content || row.end_ns > row.start_ns {
                self.packed.push(row);
            }
            open.reuse();
        }
    }

    /// Sets the maximum number of rounds kept; see [`PackedRounds::set_max`].
    pub fn set_max_rounds(&mut self, max: u32) {
        self.packed.set_max(max);
    }

    /// Returns the number of rounds left out; see [`PackedRounds::left_out`].
    #[must_use]
    pub fn left_out(&self) -> i64 {
        self.packed.left_out()
    }

    /// Hands over the first pending round.
    #[inline(never)] // runs once a round, in a loop that is entered twice a packet
    fn hand_over(&mut self) {
        if let Some(mut open) = self.pending.pop_front() {
            self.summarize(&mut open);
            self.packed.push(&mut open.row);
            open.reuse();
        }
        self.update_first_end();
    }

    /// Completes the row of a round, with its boundaries on the sender's clock.
    fn summarize(&mut self, open: &mut OpenRound) {
        let row = &mut open.row;
        open.measurements
            .summarize(row, self.rtt_min_ns(), self.mss, &mut self.queue);
        open.measurements.summarize_spacing(row, self.shift_ns > 0);
        // Boundaries move to the sender's clock. The first row keeps its start, and every other row starts where the
        // one before ends.
        row.start_ns = self.start_of(row.round, row.start_ns);
        let delay_ns = if self.shift_ns > 0 {
            self.shift_ns + open.forward_delay_ns
        } else {
            0
        };
        // The delay is known to a tick of the sender's clock. No acknowledgment comes sooner than an RTT.
        let least_ns = if open.acknowledged {
            self.rtt_min_ns().unwrap_or(0).min(row.length_ns)
        } else {
            0
        };
        row.end_ns = (row.end_ns - delay_ns).max(row.start_ns + least_ns);
        self.end_ns = row.end_ns;
    }

    /// Returns the start of a round: the end of the one before, except for the first.
    fn start_of(&self, round: u32, start_ns: i64) -> i64 {
        if round == 0 { start_ns } else { self.end_ns }
    }

    /// Returns the minimum RTT of the path so far, ns; `None` while unknown.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        known(self.rtt_min_ns)
    }

    /// Returns the least RTT so far, ns, which a device on the way may have answered; `None` while unknown.
    #[must_use]
    pub fn least_rtt_ns(&self) -> Option<i64> {
        known(self.least_rtt_ns)
    }

    /// Returns the rounds handed over, packed.
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        self.packed.bytes()
    }
}
