//! # Ticks
//! Estimates the resolution of a capture's clock from its timestamps. With a coarse clock many frames have the same
//! time, and different times are far apart.

/// Time differences from each frame to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Number of frames with the same time as the preceding frame.
    same: u64,
    /// Number of frames with a later time than the preceding frame.
    later: u64,
    /// Smallest positive time difference, in ns.
    least_ns: Option<i64>,
}

impl Ticks {
    /// Adds a frame that is `step_ns` later than the preceding one.
    #[inline]
    pub fn add(&mut self, step_ns: i64) {
        if step_ns == 0 {
            self.same += 1;
            return;
        }
        self.later += 1;
        if self.least_ns.is_none_or(|least_ns| step_ns < least_ns) {
            self.least_ns = Some(step_ns);
        }
    }

    /// Returns these time differences together with those of another file.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self::joined(&[self.steps(), other.steps()])
    }

    /// Returns the number of frames with the same time as the preceding frame, the number of later frames, and the
    /// smallest positive difference in ns. [`Ticks::joined`] takes such tuples.
    #[must_use]
    pub fn steps(&self) -> (u64, u64, Option<i64>) {
        (self.same, self.later, self.least_ns)
    }

    /// Joins the time differences of several files of a capture.
    #[must_use]
    pub fn joined(all: &[(u64, u64, Option<i64>)]) -> Self {
        Self {
            same: all.iter().map(|steps| steps.0).sum(),
            later: all.iter().map(|steps| steps.1).sum(),
            least_ns: all.iter().filter_map(|steps| steps.2).min(),
        }
    }

    /// Returns the resolution of the clock in ns: the smallest positive time difference. It is 0 for unknown, unless at
    /// least ten frames, and one for every ten later ones, share the time of the frame before.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        let shared = self.same >= 10 && self.later >= 10 && self.same >= self.later / 10;
        self.least_ns.filter(|_| shared).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick_ns(times: &[i64]) -> i64 {
        let mut ticks = Ticks::default();
        for pair in times.windows(2) {
            ticks.add(pair[1] - pair[0]);
        }
        ticks.tick_ns()
    }

    #[test]
    fn frames_that_share_times_show_the_resolution() {
        let times: Vec<_> = (0..60).map(|at| at / 3 * 10).collect();
        assert_eq!(tick_ns(&times), 10);
    }

    #[test]
    fn frames_with_distinct_times_show_no_resolution() {
        let times: Vec<_> = (0..60).map(|at| at * 10).collect();
        assert_eq!(tick_ns(&times), 0);
    }
}
