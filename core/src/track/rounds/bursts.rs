//! # Bursts
//! What made a sender send: an acknowledgment, or its own time.
//!
//! A burst begins after a pause; how long its sender then had its last acknowledgment, what was in flight, and how long
//! ago the burst before it began tell a woken writer from a timer.

use super::round::Round;
use crate::track::null::{NULL, least};
use std::collections::VecDeque;

/// Data that a sender sends.
#[derive(Debug, Clone, Copy)]
pub struct SentData {
    pub time_ns: i64,
    /// Bytes never sent before.
    pub fresh: i64,
    /// Bytes sent again.
    pub retransmitted: i64,
    /// Bytes in flight before it.
    pub flight: i64,
    /// Is it smaller than the MSS, or does it end in a segment that is?
    pub small: bool,
    /// For how long at least nothing was sent before it, by the sender's clock; 0 where that is not known.
    pub silent_ns: i64,
}

/// A flow's bursts up to now.
#[derive(Debug)]
pub struct Bursts {
    last_ack_ns: i64,
    /// Did that one carry payload?
    replied: bool,
    /// [`NULL`] where nothing was sent yet.
    last_send_ns: i64,
    /// What is longer than half of this is a pause.
    gap_ns: i64,
    /// Bytes in flight after the last segment.
    last_flight: i64,
    last_small: bool,
    /// When the newest began, or [`NULL`].
    began_ns: i64,
    unprompted: bool,
    unanswered: VecDeque<i64>,
    /// First acknowledgment since data was last sent; [`NULL`] where there was none.
    left_ns: i64,
    /// When it had the last acknowledgment.
    heard_ns: i64,
    /// When data was last sent; from afar, when its sender had the last acknowledgment before.
    woke_ns: i64,
    slack_ns: i64,
}

impl Bursts {
    /// Acknowledgments answered by data within this were what the sender waited for.
    const ANSWER_NS: i64 = 1_000_000;
    /// Away from the sender it is known to a tick or two only when it had an acknowledgment.
    const SLACK_NS: i64 = 2_000_000;
    /// RFC 6298's least timeout is 1 s; Linux uses 200 ms (`TCP_RTO_MIN`).
    const TIMEOUT_NS: i64 = 200_000_000;

    /// None yet, of a flow whose stream began at `start_ns`.
    #[must_use]
    pub fn new(start_ns: i64) -> Self {
        Self {
            last_ack_ns: start_ns,
            replied: false,
            last_send_ns: NULL,
            gap_ns: Self::gap_ns(None),
            last_flight: 0,
            last_small: false,
            began_ns: NULL,
            unprompted: false,
            unanswered: VecDeque::new(),
            left_ns: NULL,
            heard_ns: start_ns,
            woke_ns: start_ns,
            slack_ns: 0,
        }
    }

    /// Is the tap away from the sender?
    pub fn set_far(&mut self, far: bool) {
        self.slack_ns = if far { Self::SLACK_NS } else { 0 };
    }

    /// The least RTT became known, or unknown.
    pub fn set_rtt_min(&mut self, rtt_min_ns: Option<i64>) {
        self.gap_ns = Self::gap_ns(rtt_min_ns);
    }

    fn gap_ns(rtt_min_ns: Option<i64>) -> i64 {
        rtt_min_ns.map_or(1_000_000, |floor| (floor / 10).clamp(300_000, 2_000_000))
    }

    /// When data was last sent; [`NULL`], which is less than any time, where none was.
    #[must_use]
    pub fn last_send_ns(&self) -> i64 {
        self.last_send_ns
    }

    /// Was data sent?
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.last_send_ns != NULL
    }

    /// The sender sends: from when to when was it asleep? Since it last sent, if it left the first acknowledgment after
    /// that unanswered. From afar, where a queue delays what it sends, by the acknowledgments it had.
    #[inline]
    pub fn slept(&mut self, now_ns: i64) -> Option<(i64, i64)> {
        let woke_ns = if self.slack_ns > 0 {
            self.heard_ns
        } else {
            now_ns
        };
        let since_ns = std::mem::replace(&mut self.woke_ns, woke_ns);
        let left_ns = std::mem::replace(&mut self.left_ns, NULL);
        if left_ns == NULL {
            return None;
        }
        let unanswered_ns = woke_ns - left_ns;
        (unanswered_ns > Self::ANSWER_NS + self.slack_ns).then_some((since_ns, woke_ns))
    }

    /// Did what was last sent end in a segment smaller than the MSS?
    #[must_use]
    pub fn last_small(&self) -> bool {
        self.last_small
    }

    /// The sender sent data: counts into `row` what started it. `ack_age_ns`: how long it had had its last
    /// acknowledgment, where that is known from afar.
    #[inline]
    pub fn sent(
        &mut self,
        data: SentData,
        ack_age_ns: impl FnOnce() -> Option<i64>,
        row: &mut Round,
    ) {
        let now_ns = data.time_ns;
        let paused =
            !self.has_begun() || (now_ns - self.last_send_ns).max(data.silent_ns) > self.gap_ns / 2;
        // Most segments follow the one before at once.
        if paused || data.flight <= 0 || self.unprompted || data.retransmitted > 0 {
            self.began(data, ack_age_ns(), row);
        }
        while let Some(ack_ns) = self.unanswered.pop_front() {
            row.answered_acks += i64::from(now_ns - ack_ns <= Self::ANSWER_NS);
        }
        if self.unprompted {
            row.unprompted_bytes += data.fresh;
        }
        self.last_flight = data.flight + data.fresh;
        self.last_small = data.small;
        self.last_send_ns = now_ns;
    }

    /// A burst begins, or something is sent retransmitted: was it an acknowledgment that made the sender send?
    #[inline(never)] // once a burst
    fn began(&mut self, data: SentData, ack_age_ns: Option<i64>, row: &mut Round) {
        let (now_ns, gap_ns) = (data.time_ns, self.gap_ns);
        let (after_ack_ns, patience_ns) = match ack_age_ns {
            Some(ack_age_ns) => (ack_age_ns, gap_ns),
            None => (now_ns - self.last_ack_ns, gap_ns + self.slack_ns),
        };
        let fresh = data.fresh > 0;
        let empty = data.flight <= 0;
        let after_send_ns =
            (self.has_begun()).then(|| (now_ns - self.last_send_ns).max(data.silent_ns));
        let paused = after_send_ns.is_some_and(|after_ns| after_ns > patience_ns / 2);
        if after_ack_ns <= patience_ns {
            self.unprompted = false;
        } else if after_send_ns.is_some_and(|after_ns| after_ns > patience_ns) {
            self.unprompted = fresh;
        }
        let short = i64::from(self.last_small);
        if after_send_ns.is_some() && empty && fresh {
            row.fresh_starts += 1;
            row.short_ends += short;
        }
        if paused && !empty {
            row.bursts += 1;
            row.short_ends += short;
        }
        if fresh && after_send_ns.is_some() && (empty || paused) {
            let freed = (self.last_flight - data.flight).max(1);
            row.burst_freed_bytes += freed;
            let share = freed as f64 / row.burst_freed_bytes as f64;
            row.burst_wait_ns += ((after_ack_ns.max(0) - row.burst_wait_ns) as f64 * share) as i64;
            row.replied_bursts += i64::from(self.replied);
        }
        if fresh && (empty || paused) {
            let before_ns = std::mem::replace(&mut self.began_ns, now_ns);
            if before_ns != NULL && now_ns > before_ns {
                let period_ns = now_ns - before_ns;
                row.burst_period_max_ns = row.burst_period_max_ns.max(period_ns);
                row.burst_period_min_ns = least(row.burst_period_min_ns, period_ns);
            }
        }
        if !fresh && let Some(after_send_ns) = after_send_ns {
            row.timeouts += i64::from(after_send_ns.min(after_ack_ns) >= Self::TIMEOUT_NS);
        }
    }

    /// The sender received an acknowledgment of something new, at `heard_ns` if nothing held it, or what it started.
    pub fn acknowledged(&mut self, now_ns: i64, heard_ns: i64, reply: bool) {
        self.replied = reply;
        if self.left_ns == NULL {
            self.left_ns = heard_ns;
        }
        self.heard_ns = heard_ns;
        // Older ones can no longer be answered in time.
        while self
            .unanswered
            .front()
            .is_some_and(|ack_ns| now_ns - ack_ns > Self::ANSWER_NS)
        {
            self.unanswered.pop_front();
        }
        self.unanswered.push_back(now_ns);
        self.last_ack_ns = now_ns;
    }

    /// A reply of the peer's, or a window update that made room where there was none, acknowledged nothing new.
    pub fn prompted(&mut self, now_ns: i64, reply: bool) {
        self.replied = reply;
        self.last_ack_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(bursts: &mut Bursts, time_ns: i64, small: bool, silent_ns: i64, row: &mut Round) {
        let data = SentData {
            time_ns,
            fresh: 1000,
            retransmitted: 0,
            flight: 5000,
            small,
            silent_ns,
        };
        bursts.set_rtt_min(Some(20_000_000));
        bursts.sent(data, || Some(0), row);
    }

    #[test]
    fn who_leaves_an_acknowledgment_unanswered_has_slept_since_it_last_sent() {
        let (mut bursts, mut row) = (Bursts::new(0), Round::default());
        assert_eq!(bursts.slept(0), None);
        sent(&mut bursts, 0, false, 0, &mut row);
        bursts.acknowledged(20_000_000, 20_000_000, false);
        assert_eq!(bursts.slept(20_900_000), None);
        sent(&mut bursts, 20_900_000, false, 0, &mut row);
        bursts.acknowledged(40_000_000, 40_000_000, false);
        bursts.acknowledged(42_000_000, 42_000_000, false);
        assert_eq!(bursts.slept(42_000_000), Some((20_900_000, 42_000_000)));
    }

    #[test]
    fn from_afar_a_sleep_is_told_by_the_acknowledgments_that_its_sender_had() {
        let mut bursts = Bursts::new(0);
        bursts.set_far(true);
        bursts.acknowledged(21_000_000, 20_000_000, false);
        assert_eq!(bursts.slept(30_000_000), None);
        // 2 ms unanswered are within what is uncertain of the way; 9 ms are not.
        bursts.acknowledged(41_000_000, 40_000_000, false);
        bursts.acknowledged(43_000_000, 42_000_000, false);
        assert_eq!(bursts.slept(50_000_000), None);
        bursts.acknowledged(51_000_000, 50_000_000, false);
        bursts.acknowledged(60_000_000, 59_000_000, false);
        assert_eq!(bursts.slept(70_000_000), Some((42_000_000, 59_000_000)));
    }

    #[test]
    fn a_pause_that_a_queue_closed_is_one_by_the_senders_clock() {
        let (mut bursts, mut row) = (Bursts::new(0), Round::default());
        sent(&mut bursts, 0, true, 0, &mut row);
        sent(&mut bursts, 300_000, true, 0, &mut row);
        assert_eq!((row.bursts, row.short_ends), (0, 0));
        sent(&mut bursts, 600_000, false, 9_000_000, &mut row);
        assert_eq!((row.bursts, row.short_ends), (1, 1));
        sent(&mut bursts, 900_000, false, 9_000_000, &mut row);
        assert_eq!((row.bursts, row.short_ends), (2, 1));
    }
}
