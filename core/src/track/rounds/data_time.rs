//! # Data time
//! The time in which a flow had payload in flight: from the first byte of each burst to the acknowledgment of its last. A
//! tail that the receiver acknowledges late counts for a round trip.

use crate::track::null::NULL;

/// Time with payload in flight, as the sender saw it.
#[derive(Debug, Clone, Copy)]
pub struct DataTime {
    /// When the first payload was sent, ns; [`NULL`] before.
    first_ns: i64,
    /// When payload was in flight last, ns.
    last_ns: i64,
    /// Time with payload in flight, ns.
    total_ns: i64,
    /// `total_ns` at the start of the open round.
    earlier_ns: i64,
    /// Sequence number of the FIN; larger than any other before it is sent.
    fin: i64,
}

impl DataTime {
    /// Returns the time of a flow that sent nothing.
    pub const NONE: Self = Self {
        first_ns: NULL,
        last_ns: NULL,
        total_ns: 0,
        earlier_ns: 0,
        fin: i64::MAX,
    };

    /// Returns the time with payload in flight, ns.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        self.total_ns
    }

    /// Returns the time between the first payload and the acknowledgment of the last in which none was in flight, ns.
    #[must_use]
    pub fn pauses_ns(&self) -> i64 {
        let lasted_ns = self.last_ns.saturating_sub(self.first_ns);
        lasted_ns.saturating_sub(self.total_ns).max(0)
    }

    /// Notes payload sent at `now_ns`.
    pub fn sent(&mut self, now_ns: i64) {
        if self.first_ns == NULL {
            (self.first_ns, self.last_ns) = (now_ns, now_ns);
        }
    }

    /// Notes the FIN with the sequence number `fin`: it is no payload.
    pub fn fin_sent(&mut self, fin: i64) {
        self.fin = fin;
    }

    /// Counts `passed_ns` up to `now_ns`, in which SND.UNA was `una` and something was in flight.
    pub fn advance(&mut self, passed_ns: i64, now_ns: i64, una: Option<i64>) {
        if self.first_ns != NULL && una < Some(self.fin) {
            self.total_ns = self.total_ns.saturating_add(passed_ns);
            self.last_ns = now_ns;
        }
    }

    /// Leaves out the time from `due_ns` to `now_ns`, in which nothing was in flight but a tail that the receiver
    /// acknowledged late.
    pub fn acknowledged_late(&mut self, due_ns: i64, now_ns: i64) {
        // Of a FIN alone no time was counted.
        if self.last_ns == now_ns && due_ns < now_ns {
            let late_ns = now_ns.saturating_sub(due_ns.max(self.first_ns));
            self.total_ns = self.total_ns.saturating_sub(late_ns).max(0);
            self.last_ns = now_ns.saturating_sub(late_ns);
        }
    }

    /// Notes that a round begins.
    pub fn round_begins(&mut self) {
        self.earlier_ns = self.total_ns;
    }

    /// Counts the open round, from `start_ns` to `now_ns`, as time with payload in flight. The tap is away from the sender,
    /// so no pause in it is known.
    pub fn forget_pauses(&mut self, start_ns: i64, now_ns: i64) {
        if self.first_ns != NULL {
            let round_ns = now_ns.saturating_sub(start_ns.max(self.first_ns));
            self.total_ns = self.earlier_ns.saturating_add(round_ns.max(0));
            self.last_ns = self.last_ns.max(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A flow that sent payload at 10 ms, which was acknowledged after 20 ms, and again 30 ms later.
    fn two_bursts() -> DataTime {
        let mut time = DataTime::NONE;
        time.advance(10 * MS, 10 * MS, Some(0)); // the SYN
        time.sent(10 * MS);
        time.advance(20 * MS, 30 * MS, Some(1));
        time.round_begins();
        time.sent(60 * MS);
        time.advance(20 * MS, 80 * MS, Some(1000));
        time
    }

    #[test]
    fn syn_pauses_and_fin_are_no_time_of_data() {
        let mut time = two_bursts();
        time.fin_sent(2000);
        time.advance(5 * MS, 100 * MS, Some(2000));
        assert_eq!((time.total_ns(), time.pauses_ns()), (40 * MS, 30 * MS));
    }

    #[test]
    fn away_from_the_sender_the_open_round_has_no_known_pause() {
        let mut time = two_bursts();
        time.forget_pauses(30 * MS, 85 * MS);
        assert_eq!((time.total_ns(), time.pauses_ns()), (75 * MS, 0));
    }

    #[test]
    fn a_late_acknowledgment_ends_the_time_when_it_was_due() {
        let mut time = two_bursts();
        time.acknowledged_late(75 * MS, 80 * MS);
        assert_eq!((time.total_ns(), time.pauses_ns()), (35 * MS, 30 * MS));
        time.fin_sent(2000);
        time.advance(5 * MS, 100 * MS, Some(2000));
        time.acknowledged_late(99 * MS, 100 * MS);
        assert_eq!((time.total_ns(), time.pauses_ns()), (35 * MS, 30 * MS));
    }

    #[test]
    fn clocks_that_jump_overflow_nothing() {
        let mut time = DataTime::NONE;
        time.sent(i64::MIN + 1);
        time.advance(i64::MAX, i64::MAX, Some(1));
        time.advance(i64::MAX, i64::MAX, Some(1));
        assert_eq!((time.total_ns(), time.pauses_ns()), (i64::MAX, 0));
        time.acknowledged_late(i64::MIN, i64::MAX);
        time.forget_pauses(i64::MIN, i64::MAX);
        assert_eq!(time.total_ns(), i64::MAX);
    }
}
