//! # One-way delay
//! How much longer than at best one direction took, from the clock of the host at its far end: its TSvals
//! (RFC 7323 section 4) say when it sent, the tap when that arrived. Tells a queue on the way out from one on the way
//! back, which a round trip cannot.

/// One direction, from a host to the tap.
#[derive(Debug)]
pub struct OneWayDelay {
    first: Option<(u32, i64)>,
    last: Option<u32>,
    tick_ns: i64,
    /// When the period is judged, after the first packet.
    trial_ns: i64,
    understood: bool,
    /// Least time from the host's clock to the tap's, and when it was met.
    least: Option<(i64, i64)>,
}

impl Default for OneWayDelay {
    fn default() -> Self {
        Self {
            first: None,
            last: None,
            tick_ns: Self::TICKS_NS[0],
            trial_ns: Self::TRIAL_NS,
            understood: false,
            least: None,
        }
    }
}

impl OneWayDelay {
    /// Periods of the timestamp clocks in use: Linux, FreeBSD, macOS and Windows tick every millisecond, older Linux
    /// every 4 or 10 (RFC 7323 section 5.4 allows 1 ms to 1 s).
    const TICKS_NS: [i64; 3] = [1_000_000, 4_000_000, 10_000_000];
    /// The period is judged once the clock has run for so long, and again after twice that until it is known: the
    /// longer, the less does a queue that grew meanwhile matter.
    const TRIAL_NS: i64 = 200_000_000;
    /// Clocks drift apart: the least may rise by so much a second.
    const DRIFT_NS: i64 = 50_000;

    /// Period of the host's timestamp clock.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        self.tick_ns
    }

    /// A packet with this TSval arrives. Gives how much longer than at best it took, once per tick, to a tick;
    /// `None` while the host's clock is not understood.
    #[inline]
    pub fn excess_ns(&mut self, value: u32, now_ns: i64) -> Option<i64> {
        let newer = self
            .last
            .is_none_or(|last| (1..1 << 31).contains(&value.wrapping_sub(last)));
        if !newer {
            return None;
        }
        self.last = Some(value);
        self.ticked(value, now_ns)
    }

    /// The host's clock ticked.
    fn ticked(&mut self, value: u32, now_ns: i64) -> Option<i64> {
        let (first, first_ns) = *self.first.get_or_insert((value, now_ns));
        let ticks = i64::from(value.wrapping_sub(first));
        let passed_ns = now_ns - first_ns;
        if !self.understood && passed_ns > self.trial_ns && ticks > 0 {
            self.trial_ns = passed_ns.saturating_mul(2);
            let nearest = Self::TICKS_NS
                .into_iter()
                .min_by_key(|tick| (ticks * tick - passed_ns).abs())?;
            // What is a third off is another kind of clock.
            self.understood = (ticks * nearest - passed_ns).abs() < passed_ns / 3;
            if nearest != self.tick_ns {
                (self.tick_ns, self.least) = (nearest, None);
            }
        }
        // The least is kept from the first packet on, before any queue: most clocks are the first kind.
        let behind_ns = passed_ns - ticks * self.tick_ns;
        let least_ns = self.least.map_or(behind_ns, |(least_ns, met_ns)| {
            let drift = (now_ns - met_ns).max(0) / 1_000_000 * Self::DRIFT_NS / 1_000;
            least_ns + drift
        });
        if behind_ns <= least_ns {
            self.least = Some((behind_ns, now_ns));
        }
        self.understood.then_some((behind_ns - least_ns).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_queue_on_the_way_shows_and_an_offset_does_not() {
        let mut way = OneWayDelay::default();
        for ms in 0..1000i64 {
            way.excess_ns(5_000 + ms as u32, 77 * MS + ms * MS);
        }
        let late = way.excess_ns(5_000 + 1000, 77 * MS + 1000 * MS + 30 * MS);
        // Less what a second of drift may explain.
        assert!(
            late.is_some_and(|late| (30 * MS - OneWayDelay::DRIFT_NS..=30 * MS).contains(&late))
        );
    }

    #[test]
    fn a_clock_of_four_milliseconds_is_recognised() {
        let mut way = OneWayDelay::default();
        for tick in 0..250i64 {
            way.excess_ns(tick as u32, tick * 4 * MS);
        }
        let late = way.excess_ns(250, 1000 * MS + 9 * MS);
        assert!(late.is_some_and(|late| (9 * MS - OneWayDelay::DRIFT_NS..=9 * MS).contains(&late)));
    }

    #[test]
    fn a_queue_that_grows_from_the_start_hides_a_clock_for_a_while_only() {
        let mut way = OneWayDelay::default();
        let late = |ms: i64| (ms * 3 / 4).min(400);
        let told: Vec<_> = (0..2000i64)
            .map(|ms| way.excess_ns(ms as u32, (ms + late(ms)) * MS))
            .collect();
        assert_eq!(told[300], None);
        let drift_ns = 3 * OneWayDelay::DRIFT_NS; // the least was met three seconds ago
        assert!(told[1999].is_some_and(|late| (400 * MS - drift_ns..=400 * MS).contains(&late)));
    }

    #[test]
    fn an_unknown_clock_says_nothing() {
        let mut way = OneWayDelay::default();
        let told = (0..1000i64).filter_map(|i| way.excess_ns(i as u32 * 1000, i * MS));
        assert_eq!(told.count(), 0);
    }
}
