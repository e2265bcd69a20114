//! # Bursts
//! The trigger of each burst of a sender: an acknowledgment, or the program's own schedule.
//!
//! A burst begins after a pause. Three quantities distinguish an unblocked writer from a timer:
//!
//! - the age of the sender's last acknowledgment,
//! - the bytes in flight,
//! - the time since the burst before.

use super::round::Round;
use crate::track::null::{NULL, least};
use std::collections::VecDeque;

/// Data that a sender sends.
#[derive(Debug, Clone, Copy)]
pub struct SentData {
    /// Capture time, ns.
    pub time_ns: i64,
    /// Payload bytes never sent before.
    pub new_bytes: i64,
    /// Payload bytes sent before.
    pub retransmitted_bytes: i64,
    /// Bytes in flight after the send.
    pub in_flight: i64,
    /// Is it smaller than the MSS, or does it end in a segment that is?
    pub small: bool,
    /// Is it smaller than the MSS?
    pub below_mss: bool,
    /// Minimum time without a send before it, by the sender's clock, ns; 0 where unknown.
    pub silent_ns: i64,
}

impl SentData {
    /// Returns the bytes in flight before the send.
    fn flight_before(&self) -> i64 {
        (self.in_flight - self.new_bytes).max(0)
    }
}

/// The state of a flow's bursts.
#[derive(Debug)]
pub struct Bursts {
    /// When the sender last received an acknowledgment of new data or another trigger, ns.
    last_ack_ns: i64,
    /// Did the last acknowledgment or other trigger carry payload?
    last_was_reply: bool,
    /// When data was last sent, ns; [`NULL`] before the first send.
    last_send_ns: i64,
    /// The burst gap, ns: a silence longer than half of it is a pause.
    burst_gap_ns: i64,
    /// Bytes in flight after the last send.
    last_flight: i64,
    /// Did the last send end in a segment smaller than the MSS?
    last_small: bool,
    /// When the newest burst began, ns; [`NULL`] before the first.
    began_ns: i64,
    /// When the last send was the rest of a write after a pause, ns; else [`NULL`].
    rest_ns: i64,
    /// Did the newest burst begin well after any acknowledgment?
    not_ack_clocked: bool,
    /// When acknowledgments arrived that no data has followed yet, ns.
    unanswered: VecDeque<i64>,
    /// When the first acknowledgment since the last send arrived, ns; [`NULL`] without one.
    first_unanswered_ns: i64,
    /// When the last acknowledgment arrived, ns.
    ack_arrival_ns: i64,
    /// When data was last sent, ns; away from the sender, when the last acknowledgment before it arrived.
    last_active_ns: i64,
    /// Uncertainty of the arrival of acknowledgments, ns; 0 at the sender.
    clock_slack_ns: i64,
}

impl Bursts {
    /// Data that follows an acknowledgment within this time answers it, ns.
    const RESPONSE_NS: i64 = 1_000_000;
    /// Away from the sender, the arrival of an acknowledgment is known only to a tick or two, ns.
    const CLOCK_SLACK_NS: i64 = 2_000_000;
    /// The minimum retransmission timeout, ns: 1 s in RFC 6298, 200 ms in Linux (`TCP_RTO_MIN`).
    const MIN_RTO_NS: i64 = 200_000_000;

    /// Creates the state of a flow without bursts, whose stream began at `start_ns`.
    #[must_use]
    pub fn new(start_ns: i64) -> Self {
        Self {
            last_ack_ns: start_ns,
            last_was_reply: false,
            last_send_ns: NULL,
            burst_gap_ns: Self::burst_gap_ns(None),
            last_flight: 0,
            last_small: false,
            began_ns: NULL,
            rest_ns: NULL,
            not_ack_clocked: false,
            unanswered: VecDeque::new(),
            first_unanswered_ns: NULL,
            ack_arrival_ns: start_ns,
            last_active_ns: start_ns,
            clock_slack_ns: 0,
        }
    }

    /// Sets whether the tap is away from the sender.
    pub fn set_away_from_sender(&mut self, away: bool) {
        self.clock_slack_ns = if away { Self::CLOCK_SLACK_NS } else { 0 };
    }

    /// Sets the minimum RTT, ns; `None` while unknown.
    pub fn set_rtt_min(&mut self, rtt_min_ns: Option<i64>) {
        self.burst_gap_ns = Self::burst_gap_ns(rtt_min_ns);
    }

    /// Returns the burst gap, ns: a tenth of the minimum RTT, at least 0.3 ms and at most 2 ms; 1 ms while the RTT is
    /// unknown.
    fn burst_gap_ns(rtt_min_ns: Option<i64>) -> i64 {
        rtt_min_ns.map_or(1_000_000, |rtt_ns| (rtt_ns / 10).clamp(300_000, 2_000_000))
    }

    /// Returns when data was last sent, ns; [`NULL`], which is less than any time, before the first send.
    #[must_use]
    pub fn last_send_ns(&self) -> i64 {
        self.last_send_ns
    }

    /// Was data sent?
    #[must_use]
    pub fn has_sent(&self) -> bool {
        self.last_send_ns != NULL
    }

    /// Returns from when to when the writer was blocked, as it sends now; `None` if it was not. It was blocked since
    /// its last send if it left the first acknowledgment after that unanswered. Away from the sender, where a queue
    /// delays its data, acknowledgments that arrived give the times.
    #[inline]
    pub fn blocked_span(&mut self, now_ns: i64) -> Option<(i64, i64)> {
        let until_ns = if self.clock_slack_ns > 0 {
            self.ack_arrival_ns
        } else {
            now_ns
        };
        let since_ns = std::mem::replace(&mut self.last_active_ns, until_ns);
        let first_unanswered_ns = std::mem::replace(&mut self.first_unanswered_ns, NULL);
        if first_unanswered_ns == NULL {
            return None;
        }
        let unanswered_ns = until_ns - first_unanswered_ns;
        (unanswered_ns > Self::RESPONSE_NS + self.clock_slack_ns).then_some((since_ns, until_ns))
    }

    /// Did the last send end in a segment smaller than the MSS?
    #[must_use]
    pub fn last_small(&self) -> bool {
        self.last_small
    }

    /// Counts data that the sender sent, and its trigger, into `row`. `ack_age_ns` returns how long the sender had had
    /// its last acknowledgment, ns, where that is known away from the sender.
    #[inline]
    pub fn sent(
        &mut self,
        data: SentData,
        ack_age_ns: impl FnOnce() -> Option<i64>,
        row: &mut Round,
    ) {
        let now_ns = data.time_ns;
        let paused = !self.has_sent()
            || (now_ns - self.last_send_ns).max(data.silent_ns) > self.burst_gap_ns >> 1;
        if self.rest_ns != NULL {
            self.end_rest(paused, row);
        }
        // Most segments immediately follow the one before.
        let flight = data.flight_before();
        if paused || flight <= 0 || self.not_ack_clocked || data.retransmitted_bytes > 0 {
            self.begin_burst(data, ack_age_ns(), row);
        }
        while let Some(ack_ns) = self.unanswered.pop_front() {
            row.answered_acks += i64::from(now_ns - ack_ns <= Self::RESPONSE_NS);
        }
        if self.not_ack_clocked {
            row.own_time_bytes += data.new_bytes;
        }
        self.last_flight = flight + data.new_bytes;
        self.last_small = data.small;
        self.last_send_ns = now_ns;
    }

    /// Notes that data had been sent by `now_ns` which did not pass the tap.
    pub fn sent_unseen(&mut self, now_ns: i64) {
        self.last_send_ns = now_ns;
        self.first_unanswered_ns = NULL;
        self.unanswered.clear();
    }

    /// Begins a burst, or processes a retransmission: decides whether an acknowledgment triggered it.
    #[inline(never)] // once a burst
    fn begin_burst(&mut self, data: SentData, ack_age_ns: Option<i64>, row: &mut Round) {
        let (now_ns, burst_gap_ns) = (data.time_ns, self.burst_gap_ns);
        let (after_ack_ns, gap_ns) = match ack_age_ns {
            Some(ack_age_ns) => (ack_age_ns, burst_gap_ns),
            None => (
                now_ns - self.last_ack_ns,
                burst_gap_ns + self.clock_slack_ns,
            ),
        };
        let has_new = data.new_bytes > 0;
        let flight = data.flight_before();
        let empty = flight <= 0;
        let after_send_ns =
            (self.has_sent()).then(|| (now_ns - self.last_send_ns).max(data.silent_ns));
        let paused = after_send_ns.is_some_and(|after_ns| after_ns > gap_ns / 2);
        if after_ack_ns <= gap_ns {
            self.not_ack_clocked = false;
        } else if after_send_ns.is_some_and(|after_ns| after_ns > gap_ns) {
            self.not_ack_clocked = has_new;
        }
        let short = i64::from(self.last_small);
        if after_send_ns.is_some() && empty && has_new {
            row.empty_starts += 1;
            row.short_ends += short;
        }
        if paused && !empty {
            row.bursts += 1;
            row.short_ends += short;
        }
        if has_new && after_send_ns.is_some() && (empty || paused) {
            let freed = (self.last_flight - flight).max(1);
            row.burst_freed_bytes += freed;
            let share = freed as f64 / row.burst_freed_bytes as f64;
            row.burst_wait_ns += ((after_ack_ns.max(0) - row.burst_wait_ns) as f64 * share) as i64;
            row.bursts_after_payload += i64::from(self.last_was_reply);
        }
        if has_new && (empty || paused) {
            if data.below_mss && !self.last_small && !empty {
                self.rest_ns = now_ns;
            } else {
                self.count_period(now_ns, row);
            }
        }
        if !has_new && let Some(after_send_ns) = after_send_ns {
            row.timeouts += i64::from(after_send_ns.min(after_ack_ns) >= Self::MIN_RTO_NS);
        }
    }

    /// Decides about a short segment that followed full ones after a pause. It is the rest of a write, which Nagle's
    /// algorithm (RFC 9293 section 3.7.4) released, if a pause follows. Otherwise it began a burst.
    #[inline(never)] // only of a writer with Nagle's algorithm
    fn end_rest(&mut self, paused: bool, row: &mut Round) {
        let rest_ns = std::mem::replace(&mut self.rest_ns, NULL);
        if !paused {
            self.count_period(rest_ns, row);
        }
    }

    /// Counts the time from the start of the burst before to that of a burst that began at `now_ns`.
    fn count_period(&mut self, now_ns: i64, row: &mut Round) {
        let before_ns = std::mem::replace(&mut self.began_ns, now_ns);
        if before_ns != NULL && now_ns > before_ns {
            let period_ns = now_ns - before_ns;
            row.burst_period_max_ns = row.burst_period_max_ns.max(period_ns);
            row.burst_period_min_ns = least(row.burst_period_min_ns, period_ns);
        }
    }

    /// Processes an acknowledgment of new data that the sender received at `now_ns`. Had nothing been queued, it would
    /// have arrived at `ack_arrival_ns`.
    pub fn acknowledged(&mut self, now_ns: i64, ack_arrival_ns: i64, reply: bool) {
        self.last_was_reply = reply;
        if self.first_unanswered_ns == NULL {
            self.first_unanswered_ns = ack_arrival_ns;
        }
        self.ack_arrival_ns = ack_arrival_ns;
        // Older acknowledgments can no longer be answered in time.
        while self
            .unanswered
            .front()
            .is_some_and(|ack_ns| now_ns - ack_ns > Self::RESPONSE_NS)
        {
            self.unanswered.pop_front();
        }
        self.unanswered.push_back(now_ns);
        self.last_ack_ns = now_ns;
    }

    /// Processes another trigger, which acknowledged nothing new: a reply of the peer, or a window update that made
    /// room.
    pub fn triggered(&mut self, now_ns: i64, reply: bool) {
        self.last_was_reply = reply;
        self.last_ack_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(bursts: &mut Bursts, time_ns: i64, small: bool, silent_ns: i64, row: &mut Round) {
        let data = SentData {
            time_ns,
            new_bytes: 1000,
            retransmitted_bytes: 0,
            in_flight: 6000,
            small,
            below_mss: small,
            silent_ns,
        };
        bursts.set_rtt_min(Some(20_000_000));
        bursts.sent(data, || Some(0), row);
    }

    #[test]
    fn an_unanswered_acknowledgment_shows_a_writer_blocked_since_its_last_send() {
        let (mut bursts, mut row) = (Bursts::new(0), Round::default());
        assert_eq!(bursts.blocked_span(0), None);
        sent(&mut bursts, 0, false, 0, &mut row);
        bursts.acknowledged(20_000_000, 20_000_000, false);
        assert_eq!(bursts.blocked_span(20_900_000), None);
        sent(&mut bursts, 20_900_000, false, 0, &mut row);
        bursts.acknowledged(40_000_000, 40_000_000, false);
        bursts.acknowledged(42_000_000, 42_000_000, false);
        assert_eq!(
            bursts.blocked_span(42_000_000),
            Some((20_900_000, 42_000_000))
        );
    }

    #[test]
    fn away_from_the_sender_arrivals_of_acknowledgments_show_a_blocked_writer() {
        let mut bursts = Bursts::new(0);
        bursts.set_away_from_sender(true);
        bursts.acknowledged(21_000_000, 20_000_000, false);
        assert_eq!(bursts.blocked_span(30_000_000), None);
        // 2 ms unanswered are within the uncertainty of the arrival; 9 ms are not.
        bursts.acknowledged(41_000_000, 40_000_000, false);
        bursts.acknowledged(43_000_000, 42_000_000, false);
        assert_eq!(bursts.blocked_span(50_000_000), None);
        bursts.acknowledged(51_000_000, 50_000_000, false);
        bursts.acknowledged(60_000_000, 59_000_000, false);
        assert_eq!(
            bursts.blocked_span(70_000_000),
            Some((42_000_000, 59_000_000))
        );
    }

    #[test]
    fn a_pause_by_the_senders_clock_counts_although_a_queue_closed_it() {
        let (mut bursts, mut row) = (Bursts::new(0), Round::default());
        sent(&mut bursts, 0, true, 0, &mut row);
        sent(&mut bursts, 300_000, true, 0, &mut row);
        assert_eq!((row.bursts, row.short_ends), (0, 0));
        sent(&mut bursts, 600_000, false, 9_000_000, &mut row);
        assert_eq!((row.bursts, row.short_ends), (1, 1));
        sent(&mut bursts, 900_000, false, 9_000_000, &mut row);
        assert_eq!((row.bursts, row.short_ends), (2, 1));
    }

    #[test]
    fn the_rest_of_a_write_begins_no_burst_unless_data_follow_at_once() {
        let mut bursts = Bursts::new(0);
        let mut row = Round {
            burst_period_min_ns: NULL,
            ..Round::default()
        };
        let ms = 1_000_000;
        // Two writes 20 ms apart; an acknowledgment releases the rest of the first 8 ms after it.
        for (at_ms, small) in [(0, false), (20, false), (28, true), (40, false)] {
            sent(&mut bursts, at_ms * ms, small, 0, &mut row);
        }
        assert_eq!(
            (row.burst_period_min_ns, row.burst_period_max_ns),
            (20 * ms, 20 * ms)
        );
        // Here the rest goes out with the next write.
        sent(&mut bursts, 50 * ms, true, 0, &mut row);
        sent(&mut bursts, 50 * ms + 1000, false, 0, &mut row);
        assert_eq!(row.burst_period_min_ns, 10 * ms);
    }
}
