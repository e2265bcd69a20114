//! # Rounds
//! A flow's time, cut into round trips, with the evidence counted in each.
//!
//! A round ends when SND.UNA passes the SND.NXT of its start (as in BBR and Linux `tcp_rate.c`), so it is bounded by
//! sequence numbers; idle time is a round of its own, and so is what a sender that fell silent sends next. Evidence is
//! counted here and judged elsewhere.

pub(super) mod bursts;
pub(super) mod lazy_rounds;
mod measurements;
pub(super) mod packed_rounds;
pub(super) mod round;

use super::at::At;
use super::null::{NULL, known, least};
use super::sender::{Progress, Sender, packets};
use super::tap::records::RttSample;
use bursts::{Bursts, SentData};
use measurements::{Measurements, Queue};
use packed_rounds::PackedRounds;
use round::Round;
use std::collections::VecDeque;

/// A round that may still gain measurements.
#[derive(Debug, Default)]
struct Open {
    row: Round,
    /// SND.NXT at the end: once acknowledged, every measurement is in.
    end_sequence: i64,
    flight_integral: i128,
    measurements: Measurements,
    /// What the sender's packets took longer than at best to the tap, at the end.
    late_ns: i64,
    /// Did an acknowledgment end it?
    acknowledged: bool,
}

/// One point of the delivery curve.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    time_ns: i64,
    sent_ns: i64,
    bytes: i64,
}

impl Delivery {
    const NONE: Self = Self {
        time_ns: NULL,
        sent_ns: NULL,
        bytes: 0,
    };
}

/// The rounds of one flow, as they come.
#[derive(Debug)]
pub struct Rounds {
    stream: u32,
    direction: u8,
    mss: i64,
    clock_ns: i64,
    current: Open,
    target: i64,
    pending: VecDeque<Box<Open>>,
    /// Where the first of them ended; it is not looked at before that is acknowledged.
    first_end: i64,
    /// Handed over, to be used again.
    spare: Option<Box<Open>>,
    /// The sender has sent its FIN: few rounds follow.
    over: bool,
    /// When nothing was in flight any more, or [`NULL`].
    empty_since_ns: i64,
    empty_zero_ns: i64,
    bursts: Bursts,
    /// Least RTT so far, or [`NULL`].
    rtt_min_ns: i64,
    run: Delivery,
    queue: Queue,
    shift_ns: i64,
    late_ns: i64,
    end_ns: i64,
    kept: PackedRounds,
}

impl Rounds {
    /// Packets in a run over which the delivery rate is taken.
    const RUN: i64 = 16;
    /// From this round on a spare one pays: most flows are short, and there may be many at once.
    const LONG: u32 = 8;
    /// Rounds kept open for late measurements.
    const MOST_PENDING: usize = 64;

    /// The rounds of a flow whose stream began at `start_ns` with `frame`.
    #[must_use]
    pub fn new(stream: u32, direction: u8, start_ns: i64, frame: u64) -> Self {
        let mut rounds = Self {
            stream,
            direction,
            mss: 1,
            clock_ns: start_ns,
            current: Open::default(),
            target: 1, // the SYN's own acknowledgment ends no round
            pending: VecDeque::new(),
            first_end: i64::MAX,
            spare: None,
            over: false,
            empty_since_ns: start_ns,
            empty_zero_ns: 0,
            bursts: Bursts::new(start_ns),
            rtt_min_ns: NULL,
            run: Delivery::NONE,
            queue: Queue::default(),
            shift_ns: 0,
            late_ns: 0,
            end_ns: start_ns,
            kept: PackedRounds::default(),
        };
        rounds.current.row = Round::blank(stream, direction, 0, start_ns, frame);
        rounds
    }

    /// Number of the round now open.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.current.row.round
    }

    /// Largest payload of a packet on this flow.
    pub fn set_mss(&mut self, mss: i64) {
        self.mss = mss.max(1);
    }

    /// Half the round trip from the tap to the sender: boundaries are handed out on the sender's clock.
    pub fn set_shift(&mut self, shift_ns: i64) {
        self.shift_ns = shift_ns;
        self.bursts.set_far(shift_ns > 0);
    }

    /// The sender's packets take so much longer than at best to the tap now.
    pub fn set_forward_delay(&mut self, late_ns: i64) {
        self.late_ns = late_ns;
    }

    /// Lets time pass to `now_ns` with the sender's state as it stands.
    pub fn advance(&mut self, now_ns: i64, sender: &Sender) {
        let passed_ns = now_ns - self.clock_ns;
        if passed_ns <= 0 {
            return;
        }
        self.clock_ns = now_ns;
        let flight = sender.in_flight();
        let started = self.started();
        let open = &mut self.current;
        let row = &mut open.row;
        open.flight_integral += i128::from(flight) * i128::from(passed_ns);
        let closed = started && sender.is_window_unusable(self.mss);
        if closed {
            row.zero_window_ns += passed_ns;
        }
        if flight == 0 && !started {
            // The handshake; a wait after it becomes a round of its own.
        } else if flight == 0 {
            row.empty_ns += passed_ns;
            if closed {
                self.empty_zero_ns += passed_ns;
            }
        }
        if let Some(usable) = sender.usable_window()
            && (flight > 0 || closed)
        {
            // A sender sends a segment, or half of the window if that is less (RFC 9293 section 3.8.6.2.1).
            let enough = self.mss.min((usable + flight) / 2);
            let eighth = (usable + flight) / 8;
            if usable < enough || closed {
                row.stalled_ns += passed_ns;
            }
            if usable < eighth.max(enough) || closed {
                row.tight_ns += passed_ns;
            } else if self.bursts.last_small() {
                row.after_small_ns += passed_ns;
            }
        } else if self.bursts.last_small() {
            row.after_small_ns += passed_ns;
        }
    }

    /// The sender is about to send. It was not idle while it is `undecided` how far the tap is from it: near the receiver
    /// all that came is acknowledged at once.
    #[inline]
    pub fn before_send(&mut self, at: At, undecided: impl FnOnce() -> bool, sender: &Sender) {
        self.advance(at.time_ns, sender);
        if self.empty_since_ns != NULL && sender.in_flight() == 0 && !undecided() {
            self.after_idling(at, sender);
        }
    }

    /// The sender is about to send, with nothing in flight. Idle time before it becomes a round of its own; where it was
    /// too short for that, the wait for the last acknowledgments does.
    #[inline(never)] // seldom in a transfer
    fn after_idling(&mut self, at: At, sender: &Sender) {
        let (now_ns, frame) = (at.time_ns, at.frame);
        let since_ns = self.empty_since_ns;
        let idle_ns = now_ns - since_ns;
        let patience_ns = if self.started() {
            self.rtt_min_ns().unwrap_or(10_000_000) / 2
        } else {
            // The first data may follow the handshake at once: that is no idle time.
            self.rtt_min_ns()
                .map_or(1_000_000_000, |floor| floor + floor / 2 + 10_000_000)
        };
        let next = sender.snd_nxt().unwrap_or_default();
        if idle_ns <= patience_ns.max(1_000_000) {
            let row = &self.current.row;
            let silent = row.sent_bytes + row.resent_bytes == 0;
            if self.started() && silent && now_ns - row.start_ns > (patience_ns / 2).max(1_000_000)
            {
                self.close(now_ns, frame, next, sender);
            }
            return;
        }
        let zero_ns = self.empty_zero_ns;
        self.current.row.empty_ns -= idle_ns.min(self.current.row.empty_ns);
        self.current.row.zero_window_ns -= zero_ns.min(self.current.row.zero_window_ns);
        self.current.row.stalled_ns -= zero_ns.min(self.current.row.stalled_ns);
        self.current.row.tight_ns -= zero_ns.min(self.current.row.tight_ns);
        if since_ns > self.current.row.start_ns {
            self.current.acknowledged = true;
            self.close(since_ns, frame, next, sender);
        }
        let row = &mut self.current.row;
        row.empty_ns = idle_ns;
        row.zero_window_ns = zero_ns;
        row.stalled_ns = zero_ns;
        row.tight_ns = zero_ns;
        self.close(now_ns, frame, next, sender);
        self.empty_since_ns = NULL;
        self.empty_zero_ns = 0;
    }

    /// The sender sent `data`. `ack_age_ns`: how long it had had its last acknowledgment, where that is known from afar.
    pub fn sent(
        &mut self,
        frame: u64,
        data: SentData,
        ack_age_ns: impl FnOnce() -> Option<i64>,
        sender: &Sender,
    ) {
        if self.started() {
            self.silent_until(data.time_ns);
        }
        self.woke(data.time_ns);
        let (fresh, resent) = (data.fresh, data.retransmitted);
        let in_flight = sender.in_flight();
        let row = &mut self.current.row;
        row.last_frame = frame;
        self.bursts.sent(data, ack_age_ns, row);
        if fresh > 0 {
            row.sent_bytes += fresh;
            row.sent_segments += packets(fresh, self.mss);
        } else {
            row.resent_bytes += resent;
            row.resent_segments += packets(resent, self.mss);
        }
        row.small_segments += i64::from(data.small);
        row.flight_max_bytes = row.flight_max_bytes.max(in_flight);
        if let Some(usable) = sender.usable_window() {
            row.usable_min_bytes = least(row.usable_min_bytes, usable);
        }
        self.empty_since_ns = NULL;
    }

    /// The sender sends: was it asleep?
    #[inline]
    fn woke(&mut self, now_ns: i64) {
        if let Some((since_ns, woke_ns)) = self.bursts.slept(now_ns) {
            self.was_asleep(since_ns, woke_ns);
        }
    }

    /// The sender was asleep: counts so in every round that it was, by its own clock.
    #[inline(never)] // seldom
    fn was_asleep(&mut self, since_ns: i64, mut woke_ns: i64) {
        let mut row = &mut self.current.row;
        row.sleep_max_ns = row.sleep_max_ns.max(woke_ns - since_ns);
        for before in self.pending.iter_mut().rev() {
            let late_ns = if self.shift_ns > 0 { before.late_ns } else { 0 };
            let start_ns = before.row.end_ns - late_ns;
            row.slept(since_ns.max(start_ns), woke_ns);
            woke_ns = woke_ns.min(start_ns);
            row = &mut before.row;
            if woke_ns <= since_ns {
                return;
            }
        }
        row.slept(since_ns.max(row.start_ns), woke_ns);
    }

    /// The sender sent its FIN: what follows is a round of its own, in which there is nothing left to send.
    pub fn fin_sent(&mut self, now_ns: i64, frame: u64, sender: &Sender) {
        self.woke(now_ns);
        self.over = true;
        if self.started() && now_ns > self.current.row.start_ns {
            self.close(now_ns, frame, sender.snd_nxt().unwrap_or_default(), sender);
        }
        self.spare = None;
    }

    /// The sender received an acknowledgment. It ends no round while `undecided`, either.
    pub fn received(
        &mut self,
        now_ns: i64,
        heard_ns: i64,
        frame: u64,
        progress: Progress,
        undecided: bool,
        sender: &Sender,
    ) {
        let row = &mut self.current.row;
        row.last_frame = frame;
        row.acked_bytes += progress.advanced;
        row.delivered_bytes += progress.delivered;
        if let Some(window) = sender.window() {
            row.window_min_bytes = least(row.window_min_bytes, window);
            row.window_max_bytes = row.window_max_bytes.max(window);
        }
        if progress.delivered > 0 {
            row.acks += 1;
            self.bursts.acknowledged(now_ns, heard_ns, progress.reply);
        } else if progress.reply
            || progress.edge_advanced > 0
                && sender
                    .usable_window()
                    .is_some_and(|usable| usable - progress.edge_advanced < self.mss)
        {
            // What the peer asks for, or what waited for the window, needs no other reason to follow.
            self.bursts.prompted(now_ns, progress.reply);
        }
        if sender.in_flight() == 0 && self.empty_since_ns == NULL {
            (self.empty_since_ns, self.empty_zero_ns) = (now_ns, 0);
        }
        let long = self.rtt_min_ns == NULL || now_ns - row.start_ns >= self.rtt_min_ns / 10 * 7;
        let (una, next) = (
            sender.snd_una().unwrap_or_default(),
            sender.snd_nxt().unwrap_or_default(),
        );
        if self.started() && una > self.target && long && !undecided {
            self.current.acknowledged = true;
            self.close(now_ns, frame, next, sender);
        }
    }

    /// A measurement, of the whole round trip, at `now_ns` when `delivered` bytes had arrived in all.
    pub fn measured(&mut self, sample: RttSample, now_ns: i64, delivered: i64) {
        if !sample.maybe_delayed && (self.rtt_min_ns == NULL || sample.rtt_ns < self.rtt_min_ns) {
            self.set_rtt_min(sample.rtt_ns);
        }
        self.delivery(sample, now_ns, delivered);
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

    fn set_rtt_min(&mut self, rtt_min_ns: i64) {
        self.rtt_min_ns = rtt_min_ns;
        self.bursts.set_rtt_min(self.rtt_min_ns());
    }

    /// The tap is not at the sender, as was thought so far: what was measured was not the whole round trip, and when the
    /// sender could send is not known. What was sent and acknowledged was.
    pub fn discard_rtts(&mut self) {
        self.set_rtt_min(NULL);
        (self.empty_since_ns, self.empty_zero_ns) = (NULL, 0);
        self.current.row = self.current.row.counts();
        self.current.measurements.forget_rtts();
        for open in &mut self.pending {
            open.measurements.forget_rtts();
        }
    }

    /// Delivery rate over runs of packets, `Δdelivered / max(Δsend, Δack)` as in Linux `tcp_rate.c`.
    fn delivery(&mut self, sample: RttSample, now_ns: i64, delivered: i64) {
        let point = Delivery {
            time_ns: now_ns,
            sent_ns: sample.sent_ns,
            bytes: delivered,
        };
        if self.run.time_ns == NULL {
            self.run = point;
        }
        let first = self.run;
        let bytes = point.bytes - first.bytes;
        if bytes < Self::RUN * self.mss {
            return;
        }
        self.run = point;
        let span_ns = (point.time_ns - first.time_ns).max(point.sent_ns - first.sent_ns);
        if span_ns > 0 {
            let rate = i128::from(bytes) * 1_000_000_000 / i128::from(span_ns);
            let rate = i64::try_from(rate).unwrap_or(i64::MAX);
            self.current.measurements.add_run_rate(rate);
        }
    }

    /// What else is measured while the round now open lasts.
    pub fn measurements(&mut self) -> &mut Measurements {
        &mut self.current.measurements
    }

    /// Has data been sent?
    fn started(&self) -> bool {
        self.bursts.has_begun()
    }

    /// Adds to a counter of the round now open.
    pub fn note(&mut self, count: impl FnOnce(&mut Round)) {
        count(&mut self.current.row);
    }

    /// Nothing was sent since the last send, or the round's start.
    fn silent_until(&mut self, now_ns: i64) {
        let row = &mut self.current.row;
        let since_ns = self.bursts.last_send_ns().max(row.start_ns);
        row.silence_ns = row.silence_ns.max(now_ns - since_ns);
    }

    fn close(&mut self, now_ns: i64, frame: u64, next: i64, sender: &Sender) {
        // A clock that was set back ends no round before it began.
        let now_ns = now_ns.max(self.current.row.start_ns);
        self.silent_until(now_ns);
        let number = self.current.row.round + 1;
        let mut blank = Round::blank(self.stream, self.direction, number, now_ns, frame);
        blank.after_fin = self.over.into();
        let flight = sender.in_flight();
        blank.flight_max_bytes = flight;
        if let Some(window) = sender.window() {
            blank.window_min_bytes = window;
            blank.window_max_bytes = window;
        }
        let mut done = self.spare.take().unwrap_or_default();
        std::mem::swap(&mut self.current, &mut *done);
        self.current.row = blank;
        done.row.end_ns = now_ns;
        done.end_sequence = next;
        done.late_ns = self.late_ns;
        let length_ns = now_ns - done.row.start_ns;
        done.row.length_ns = length_ns;
        if length_ns > 0 {
            // More time than it is long may have passed in a round that began before the clock was set back.
            let mean = done.flight_integral / i128::from(length_ns);
            done.row.flight_mean_bytes = mean.min(i128::from(done.row.flight_max_bytes)) as i64;
        }
        self.pending.push_back(done);
        self.await_first();
        self.target = next;
    }

    /// Hands over every round that can gain no more measurements, now that the tap saw `una` acknowledged.
    pub fn finished(&mut self, una: i64) {
        while self.first_end <= una || self.pending.len() > Self::MOST_PENDING {
            self.hand_over();
        }
    }

    fn await_first(&mut self) {
        let first = self.pending.front();
        self.first_end = first.map_or(i64::MAX, |open| open.end_sequence);
    }

    /// Closes the last round at `end_ns` and hands over all.
    pub fn finish(&mut self, end_ns: i64, frame: u64, sender: &Sender) {
        self.advance(end_ns, sender);
        self.woke(end_ns);
        let next = sender.snd_nxt().unwrap_or_default();
        self.close(end_ns.max(self.current.row.start_ns), frame, next, sender);
        while self.pending.len() > 1 {
            self.hand_over();
        }
        self.shift_ns = 0; // the last row ends with the last packet
        if let Some(open) = self.pending.pop_front() {
            let row = self.summed_up(open);
            let content = row.sent_bytes + row.resent_bytes + row.acked_bytes > 0;
            if row.round == 0 || content || row.end_ns > row.start_ns {
                self.kept.push(&row);
            }
        }
    }

    /// As [`PackedRounds::set_max`].
    pub fn set_max_rounds(&mut self, most: u32) {
        self.kept.set_max(most);
    }

    /// As [`PackedRounds::left_out`].
    #[must_use]
    pub fn left_out(&self) -> i64 {
        self.kept.left_out()
    }

    #[inline(never)] // once a round, in a loop that runs twice a packet
    fn hand_over(&mut self) {
        if let Some(open) = self.pending.pop_front() {
            let row = self.summed_up(open);
            self.kept.push(&row);
        }
        self.await_first();
    }

    fn summed_up(&mut self, mut open: Box<Open>) -> Round {
        let mut row = open.row;
        open.measurements
            .sum_up(&mut row, self.rtt_min_ns(), self.mss, &mut self.queue);
        // Boundaries move to the sender's clock; the first row keeps its start, and rows tile.
        row.start_ns = self.boundary(row.round, row.start_ns);
        let way_ns = if self.shift_ns > 0 {
            self.shift_ns + open.late_ns
        } else {
            0
        };
        // The way's delay is known to a tick of the sender's clock; no acknowledgment comes sooner than an RTT.
        let least_ns = if open.acknowledged {
            self.rtt_min_ns().unwrap_or(0).min(row.length_ns)
        } else {
            0
        };
        row.end_ns = (row.end_ns - way_ns).max(row.start_ns + least_ns);
        self.end_ns = row.end_ns;
        if !self.over && row.round >= Self::LONG {
            open.measurements.clear();
            (open.flight_integral, open.acknowledged) = (0, false);
            self.spare = Some(open);
        }
        row
    }

    fn boundary(&self, round: u32, start_ns: i64) -> i64 {
        if round == 0 { start_ns } else { self.end_ns }
    }

    /// Least RTT so far.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        known(self.rtt_min_ns)
    }

    /// The rounds handed over, packed.
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        self.kept.bytes()
    }
}
