//! # Ticks
//! How finely the clock of a capture counts, as its times show it: a coarse one gives many frames the same time, and
//! the others times far apart.

/// Steps from each frame to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Frames with the time of the frame before.
    same: u64,
    /// Frames with a later one.
    later: u64,
    least_ns: Option<i64>,
}

impl Ticks {
    /// A frame follows another, so much later.
    #[inline]
    pub fn see(&mut self, step_ns: i64) {
        if step_ns == 0 {
            self.same += 1;
            return;
        }
        self.later += 1;
        if self.least_ns.is_none_or(|least_ns| step_ns < least_ns) {
            self.least_ns = Some(step_ns);
        }
    }

    /// With those of another file.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::joined(&[self.steps(), other.steps()])
    }

    /// How many steps there were to the same time and to a later one, and the least of these: what [`Ticks::joined`] takes.
    #[must_use]
    pub fn steps(&self) -> (u64, u64, Option<i64>) {
        (self.same, self.later, self.least_ns)
    }

    /// What several files of a capture show together.
    #[must_use]
    pub fn joined(all: &[(u64, u64, Option<i64>)]) -> Self {
        Self {
            same: all.iter().map(|steps| steps.0).sum(),
            later: all.iter().map(|steps| steps.1).sum(),
            least_ns: all.iter().filter_map(|steps| steps.2).min(),
        }
    }

    /// The least step forward, where a tenth of the frames or more share a time: what came between two ticks does. 0
    /// where the times do not show it.
    #[must_use]
    pub fn tick_ns(&self) -> i64 {
        let shared = self.same >= 10 && self.later >= 10 && self.same >= self.later / 10;
        self.least_ns.filter(|_| shared).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(times: &[i64]) -> i64 {
        let mut ticks = Ticks::default();
        for pair in times.windows(2) {
            ticks.see(pair[1] - pair[0]);
        }
        ticks.tick_ns()
    }

    #[test]
    fn frames_that_share_times_show_the_tick() {
        let times: Vec<_> = (0..60).map(|at| at / 3 * 10).collect();
        assert_eq!(seen(&times), 10);
    }

    #[test]
    fn frames_far_apart_show_none() {
        let times: Vec<_> = (0..60).map(|at| at * 10).collect();
        assert_eq!(seen(&times), 0);
    }
}
