//! # Times
//! When the frames of a file were captured, and how they are spaced.

/// Times of the frames of one file; all are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// The earliest frame, since the epoch.
    pub first_ns: Option<i64>,
    /// The latest frame, since the epoch.
    pub last_ns: Option<i64>,
    /// The longest time from a frame to the next.
    pub longest_gap_ns: i64,
    /// The furthest that the time of a frame lies before that of the frame before.
    pub furthest_back_ns: i64,
    previous_ns: Option<i64>,
}

impl Times {
    /// The next frame.
    #[inline]
    pub fn see(&mut self, time_ns: i64) {
        let step_ns = time_ns - self.previous_ns.unwrap_or(time_ns);
        self.longest_gap_ns = self.longest_gap_ns.max(step_ns);
        self.furthest_back_ns = self.furthest_back_ns.max(-step_ns);
        self.first_ns = Some(self.first_ns.map_or(time_ns, |first| first.min(time_ns)));
        self.last_ns = self.last_ns.max(Some(time_ns));
        self.previous_ns = Some(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn gaps_and_steps_back_are_those_between_neighbours() {
        let mut times = Times::default();
        for time_ns in [50, 70, 65, 90] {
            times.see(time_ns);
        }
        assert_eq!((times.first_ns, times.last_ns), (Some(50), Some(90)));
        assert_eq!((times.longest_gap_ns, times.furthest_back_ns), (25, 5));
    }
}
