//! # One-way delay
//! Excess one-way delay: how much longer than the fastest packet a packet took from a host to the tap.
//!
//! The host's TSvals (RFC 7323 section 4) show when it sent, and the tap's clock shows when the packet arrived. One-way
//! delays separate a queue on the forward path from one on the reverse path. A round trip cannot.

/// Excess one-way delay from a host to the tap.
#[derive(Debug)]
pub struct OneWayDelay {
    /// The first TSval, and its capture time in ns.
    first: Option<(u32, i64)>,
    /// The newest TSval.
    last_tsval: Option<u32>,
    /// Period of the host's timestamp clock, ns.
    tick_ns: i64,
    /// Time after the first packet at which the period is checked next, ns.
    next_check_ns: i64,
    /// Did the check confirm the period?
    tick_known: bool,
    /// Minimum offset from the host's clock to the tap's, and when it was measured, both in ns.
    min_offset: Option<(i64, i64)>,
}

impl Default for OneWayDelay {
    fn default() -> Self {
        Self {
            first: None,
            last_tsval: None,
            tick_ns: Self::TICKS_NS[0],
            next_check_ns: Self::FIRST_CHECK_NS,
            tick_known: false,
            min_offset: None,
        }
    }
}

impl OneWayDelay {
    /// Periods of the timestamp clocks in use, ns. Linux, FreeBSD, macOS and Windows tick every millisecond, older
    /// Linux every 4 or 10 (RFC 7323 section 5.4 allows 1 ms to 1 s).
    const TICKS_NS: [i64; 3] = [1_000_000, 4_000_000, 10_000_000];
    /// The period is checked once the clock has run for this long, ns, and again after twice that time until it is
    /// known. Over a longer time a queue that grew meanwhile matters less.
    const FIRST_CHECK_NS: i64 = 200_000_000;
    /// Clocks drift apart: the minimum offset may rise by this much per second, ns.
    const DRIFT_NS_PER_S: i64 = 50_000;

    /// Returns the period of the host's timestamp clock, ns.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        self.tick_ns
    }

    /// Processes a packet with this TSval; returns its excess delay in ns, with the resolution of one tick.
    ///
    /// Returns a delay once per tick; `None` otherwise, and while the period of the host's clock is unknown.
    #[inline]
    pub fn excess_ns(&mut self, tsval: u32, now_ns: i64) -> Option<i64> {
        let newer = self
            .last_tsval
            .is_none_or(|last| (1..1 << 31).contains(&tsval.wrapping_sub(last)));
        if !newer {
            return None;
        }
        self.last_tsval = Some(tsval);
        self.measure(tsval, now_ns)
    }

    /// Measures the offset at a new tick of the host's clock; returns the excess delay in ns.
    fn measure(&mut self, tsval: u32, now_ns: i64) -> Option<i64> {
        let (first, first_ns) = *self.first.get_or_insert((tsval, now_ns));
        let ticks = i64::from(tsval.wrapping_sub(first));
        let passed_ns = now_ns - first_ns;
        if !self.tick_known && passed_ns > self.next_check_ns && ticks > 0 {
            self.next_check_ns = passed_ns.saturating_mul(2);
            let nearest = Self::TICKS_NS
                .into_iter()
                .min_by_key(|tick| (ticks * tick - passed_ns).abs())?;
            // A period that is off by a third or more belongs to another kind of clock.
            self.tick_known = (ticks * nearest - passed_ns).abs() < passed_ns / 3;
            if nearest != self.tick_ns {
                (self.tick_ns, self.min_offset) = (nearest, None);
            }
        }
        // The minimum is kept from the first packet on, before any queue: most clocks have the first of the periods.
        let offset_ns = passed_ns - ticks * self.tick_ns;
        let min_offset_ns = self
            .min_offset
            .map_or(offset_ns, |(min_offset_ns, measured_ns)| {
                let drift =
                    (now_ns - measured_ns).max(0) / 1_000_000 * Self::DRIFT_NS_PER_S / 1_000;
                min_offset_ns + drift
            });
        if offset_ns <= min_offset_ns {
            self.min_offset = Some((offset_ns, now_ns));
        }
        self.tick_known
            .then_some((offset_ns - min_offset_ns).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_queue_shows_and_a_clock_offset_does_not() {
        let mut delay = OneWayDelay::default();
        for ms in 0..1000i64 {
            delay.excess_ns(5_000 + ms as u32, 77 * MS + ms * MS);
        }
        let excess_ns = delay.excess_ns(5_000 + 1000, 77 * MS + 1000 * MS + 30 * MS);
        // A second of drift may hide a part of the delay.
        assert!(excess_ns.is_some_and(|excess_ns| {
            (30 * MS - OneWayDelay::DRIFT_NS_PER_S..=30 * MS).contains(&excess_ns)
        }));
    }

    #[test]
    fn a_tick_of_four_milliseconds_is_recognised() {
        let mut delay = OneWayDelay::default();
        for tick in 0..250i64 {
            delay.excess_ns(tick as u32, tick * 4 * MS);
        }
        let excess_ns = delay.excess_ns(250, 1000 * MS + 9 * MS);
        assert!(excess_ns.is_some_and(|excess_ns| {
            (9 * MS - OneWayDelay::DRIFT_NS_PER_S..=9 * MS).contains(&excess_ns)
        }));
    }

    #[test]
    fn a_growing_queue_only_delays_the_detection_of_the_tick() {
        let mut delay = OneWayDelay::default();
        let queue_ms = |ms: i64| (ms * 3 / 4).min(400);
        let delays: Vec<_> = (0..2000i64)
            .map(|ms| delay.excess_ns(ms as u32, (ms + queue_ms(ms)) * MS))
            .collect();
        assert_eq!(delays[300], None);
        let drift_ns = 3 * OneWayDelay::DRIFT_NS_PER_S; // the minimum was measured up to three seconds before
        assert!(
            delays[1999]
                .is_some_and(|excess_ns| (400 * MS - drift_ns..=400 * MS).contains(&excess_ns))
        );
    }

    #[test]
    fn an_unknown_tick_gives_no_delay() {
        let mut delay = OneWayDelay::default();
        let delays = (0..1000i64).filter_map(|i| delay.excess_ns(i as u32 * 1000, i * MS));
        assert_eq!(delays.count(), 0);
    }
}
