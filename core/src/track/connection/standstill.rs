//! # Standstill
//! Finds times in which the capture's clock went on while the timestamp clocks of both ends stood still.
//!
//! A timestamp clock ticks once a second or more often (RFC 7323 section 5.4). So the times of such a file were changed,
//! or a part of its packets is of another time.

/// A time without packets, which both ends are still to confirm.
#[derive(Debug, Clone, Copy)]
struct Pause {
    lasted_ns: i64,
    /// Has the end sent the same TSval after the pause as before it?
    confirmed: [bool; 2],
}

/// The timestamps of both ends of a connection, index 0 being the client.
#[derive(Debug, Default)]
pub struct Standstill {
    /// Time of the last packet, in ns; 0 before the first, before which no TSval confirms a pause.
    last_ns: i64,
    /// TSval of each end's last packet.
    tsvals: [Option<u32>; 2],
    pause: Option<Pause>,
    total_ns: i64,
    /// The TSvals of both ends after the first such time. Some hosts send a constant.
    stood: [Option<u32>; 2],
}

impl Standstill {
    /// Shortest such time, in ns: the slowest timestamp clock ticks twice in it.
    pub const LEAST_NS: i64 = 2_000_000_000;

    /// Adds a packet of the end `from`.
    #[inline]
    pub fn add(&mut self, from: usize, tsval: Option<u32>, time_ns: i64) {
        let passed_ns = time_ns.wrapping_sub(self.last_ns);
        if passed_ns >= Self::LEAST_NS || self.pause.is_some() {
            self.examine(from, tsval, passed_ns);
        }
        self.tsvals[from] = tsval;
        self.last_ns = time_ns;
    }

    /// Compares the TSval of the end `from` with that before the pause.
    #[cold]
    fn examine(&mut self, from: usize, tsval: Option<u32>, passed_ns: i64) {
        if passed_ns >= Self::LEAST_NS {
            self.pause = Some(Pause {
                lasted_ns: passed_ns,
                confirmed: [false; 2],
            });
        }
        let Some(pause) = &mut self.pause else { return };
        pause.confirmed[from] = true;
        let whole = pause.confirmed == [true; 2];
        let stands = tsval.is_some() && self.tsvals[from] == tsval;
        if stands && whole {
            if self.total_ns == 0 {
                self.stood = self.tsvals;
            }
            self.total_ns = self.total_ns.saturating_add(pause.lasted_ns);
        }
        if !stands || whole {
            self.pause = None;
        }
    }

    /// Returns the sum of these times, in ns; 0 unless a TSval changed later.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        if self.tsvals == self.stood {
            0
        } else {
            self.total_ns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn total_ns(packets: &[(usize, Option<u32>, i64)]) -> i64 {
        let mut standstill = Standstill::default();
        for &(from, tsval, time_ns) in packets {
            standstill.add(from, tsval, time_ns);
        }
        standstill.total_ns()
    }

    #[test]
    fn both_clocks_stood_still() {
        let packets = [
            (0, Some(7), 0),
            (1, Some(9), 1),
            (0, Some(7), 2 * S + 1),
            (1, Some(9), 2 * S + 2),
            (0, Some(8), 2 * S + 3),
        ];
        assert_eq!(total_ns(&packets), 2 * S);
    }

    #[test]
    fn one_clock_that_ticks_shows_that_the_time_passed() {
        for (client, server) in [(8, 9), (7, 10)] {
            let packets = [
                (0, Some(7), 0),
                (1, Some(9), 1),
                (0, Some(client), 2 * S + 1),
                (1, Some(server), 2 * S + 2),
                (0, Some(12), 3 * S),
            ];
            assert_eq!(total_ns(&packets), 0);
        }
    }

    #[test]
    fn a_constant_and_a_missing_timestamp_show_nothing() {
        for tsval in [Some(7), None] {
            let packets = [0, 1, 2 * S + 1, 2 * S + 2].map(|at| ((at % 2) as usize, tsval, at));
            assert_eq!(total_ns(&packets), 0);
        }
    }

    #[test]
    fn a_shorter_time_may_lie_between_two_ticks() {
        let packets = [
            (0, Some(7), 0),
            (1, Some(9), 1),
            (0, Some(7), 2 * S - 1),
            (1, Some(9), 2 * S),
            (0, Some(8), 2 * S + 3),
        ];
        assert_eq!(total_ns(&packets), 0);
    }

    #[test]
    fn times_at_the_bounds_do_not_overflow() {
        assert_eq!(
            total_ns(&[(0, Some(1), i64::MIN), (0, Some(1), i64::MAX)]),
            0
        );
    }
}
