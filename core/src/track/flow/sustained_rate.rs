//! # Sustained rate
//! The highest rate at which data were acknowledged at the tap twice, each time for a round trip or for 30 ms, whichever is
//! longer. A receiver that stalls once can make one such time too fast.
//!
//! Time is divided into spans. A span ends where a pause begins that is no shorter than its average time between
//! acknowledgments. So what a stalled host delivers at once falls into the same span as the stall before it. A span with
//! missing data does not count: acknowledgments then report at once what arrived over a longer time.

use crate::track::rate::quotient;

/// The sustained rate of one flow, so far.
#[derive(Debug)]
pub struct SustainedRate {
    /// Start of the open span, ns: an acknowledgment whose bytes belong to the time before.
    start_ns: i64,
    /// Bytes delivered before the open span.
    delivered_before: i64,
    /// Number of acknowledgments in the open span.
    acks: i64,
    /// SND.UNA before the open span.
    una_before: i64,
    /// Sequence number up to which acknowledgments may report at once what arrived before: SND.NXT when data were missing.
    repaired: i64,
    /// The two highest rates of spans, bytes per second, the higher first; 0 before they are known.
    highest: [i64; 2],
}

impl SustainedRate {
    /// Shortest span, ns: a stalled host delivers nothing for some 10 ms, a third of it.
    pub const SHORTEST_NS: i64 = 30_000_000;

    /// Returns the sustained rate of a flow that begins at `start_ns`.
    #[must_use]
    pub const fn new(start_ns: i64) -> Self {
        Self {
            start_ns,
            delivered_before: 0,
            acks: 0,
            una_before: 0,
            repaired: 0,
            highest: [0; 2],
        }
    }

    /// Returns the shortest span of a flow with this minimum RTT, ns.
    #[must_use]
    pub fn shortest_span_ns(rtt_min_ns: Option<i64>) -> i64 {
        rtt_min_ns.unwrap_or_default().max(Self::SHORTEST_NS)
    }

    /// Adds that an acknowledgment reported missing data while `next` was SND.NXT.
    #[inline]
    pub fn add_missing(&mut self, next: i64) {
        self.repaired = next;
    }

    /// Adds an acknowledgment that passes the tap at `now_ns`, `gap_ns` after the one before. `delivered` are the bytes that
    /// had arrived in total, before it and with it; `una` was SND.UNA before it. A span lasts `shortest_ns` or longer,
    /// which is [`SustainedRate::SHORTEST_NS`] at least.
    #[inline]
    pub fn add(
        &mut self,
        (gap_ns, now_ns): (i64, i64),
        delivered: (i64, i64),
        una: i64,
        shortest_ns: impl FnOnce() -> i64,
    ) {
        self.acks += 1;
        if now_ns.saturating_sub(self.start_ns) >= Self::SHORTEST_NS {
            self.end_span((gap_ns, now_ns), delivered, una, shortest_ns());
        }
    }

    /// Ends the open span where a pause began, if it is long enough. After a pause as long as a span, the bytes of the
    /// acknowledgment arrived at an unknown time.
    #[cold] // seldom more than once in 30 ms
    fn end_span(
        &mut self,
        (gap_ns, now_ns): (i64, i64),
        delivered: (i64, i64),
        una: i64,
        shortest_ns: i64,
    ) {
        let last_ns = now_ns.saturating_sub(gap_ns);
        let lasted_ns = last_ns.saturating_sub(self.start_ns);
        let idle = gap_ns >= shortest_ns;
        let acks = self.acks - 1;
        if idle || (lasted_ns >= shortest_ns && gap_ns.saturating_mul(acks) >= lasted_ns) {
            self.highest = self.with_open_span(last_ns, delivered.0, shortest_ns);
            (self.start_ns, self.delivered_before, self.acks) = if idle {
                (now_ns, delivered.1, 0)
            } else {
                (last_ns, delivered.0, 1)
            };
            self.una_before = una;
        }
    }

    /// Returns the two highest rates of spans in bytes per second if the open span ends at `last_ns`, when `delivered`
    /// bytes had arrived in total.
    fn with_open_span(&self, last_ns: i64, delivered: i64, shortest_ns: i64) -> [i64; 2] {
        let lasted_ns = last_ns.saturating_sub(self.start_ns);
        let [first, second] = self.highest;
        if lasted_ns < shortest_ns || self.una_before < self.repaired {
            return [first, second];
        }
        let bytes = i128::from(delivered) - i128::from(self.delivered_before);
        let rate = quotient(bytes * 1_000_000_000, lasted_ns.max(1));
        [first.max(rate), second.max(rate.min(first))]
    }

    /// Returns the highest rate in bytes per second that two spans reached; 0 if there are not two. The open span ends at
    /// `last_ns`, when `delivered` bytes had arrived in total.
    #[must_use]
    pub fn reached(&self, last_ns: i64, delivered: i64, shortest_ns: i64) -> i64 {
        self.with_open_span(last_ns, delivered, shortest_ns)[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Returns the sustained rate of acknowledgments of 1,000 bytes at these times.
    fn rate_of(times_ns: impl IntoIterator<Item = i64>) -> i64 {
        let mut rate = SustainedRate::new(0);
        let (mut last_ns, mut delivered) = (0, 0);
        for now_ns in times_ns {
            let total = (delivered, delivered + 1_000);
            rate.add((now_ns - last_ns, now_ns), total, 0, || {
                SustainedRate::SHORTEST_NS
            });
            (last_ns, delivered) = (now_ns, total.1);
        }
        rate.reached(last_ns, delivered, SustainedRate::SHORTEST_NS)
    }

    #[test]
    fn one_acknowledgment_each_millisecond() {
        assert_eq!(rate_of((1..=200).map(|at| at * MS)), 1_000_000);
    }

    #[test]
    fn a_stall_of_10_ms_does_not_raise_the_rate() {
        for begin in 0..40 {
            let stalled = |at: i64| {
                if (60 + begin..70 + begin).contains(&at) {
                    70 + begin
                } else {
                    at
                }
            };
            assert_eq!(
                rate_of((1..=200).map(|at| stalled(at) * MS)),
                1_000_000,
                "{begin}"
            );
        }
    }

    #[test]
    fn the_rate_of_the_two_fastest_spans_counts_and_pauses_do_not() {
        let fast = (0..=160).map(|half| 1_000 * MS + half * MS / 2);
        assert_eq!(rate_of((1..=100).map(|at| at * MS).chain(fast)), 2_000_000);
    }

    #[test]
    fn what_a_repair_reports_at_once_does_not_count() {
        let mut rate = SustainedRate::new(0);
        let mut una = 0;
        let mut add = |rate: &mut SustainedRate, gap_ms: i64, bytes: i64, at_ms: i64| {
            let shortest_ns = SustainedRate::SHORTEST_NS;
            let total = (una, una + bytes);
            rate.add((gap_ms * MS, at_ms * MS), total, una, || shortest_ns);
            una += bytes;
        };
        (1..=100).for_each(|at| add(&mut rate, 1, 1_000, at));
        rate.add_missing(200_000);
        // Each of two repairs, 20 ms apart, uncovers much of what had arrived.
        add(&mut rate, 20, 50_000, 120);
        add(&mut rate, 20, 50_000, 140);
        (141..=250).for_each(|at| add(&mut rate, 1, 1_000, at));
        let reached = rate.reached(250 * MS, 310_000, SustainedRate::SHORTEST_NS);
        assert_eq!(reached, 1_000_000);
    }

    #[test]
    fn one_time_of_30_ms_shows_no_rate() {
        assert_eq!(rate_of((1..50).map(|at| at * MS)), 0);
    }
}
