//! # Times
//! When frames were captured, and how they are spaced.

use super::ticks::Ticks;

/// Times of frames, in the order of the capture; all are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Of the first frame and of the last one.
    opened_ns: i64,
    closed_ns: i64,
    first_ns: i64,
    /// The latest frame before the last step back.
    last_ns: i64,
    /// The longest time from a frame to the next.
    pub longest_gap_ns: i64,
    /// The furthest that the time of a frame lies before that of the frame before.
    pub furthest_back_ns: i64,
    /// Frames with a time before that of the frame before.
    pub backwards: u64,
    /// How finely the clock counts.
    pub ticks: Ticks,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            opened_ns: Self::NEVER_NS,
            closed_ns: Self::NEVER_NS,
            first_ns: i64::MAX,
            last_ns: Self::NEVER_NS,
            longest_gap_ns: 0,
            furthest_back_ns: 0,
            backwards: 0,
            ticks: Ticks::default(),
        }
    }
}

impl Times {
    /// The time before the first.
    const NEVER_NS: i64 = i64::MIN;

    /// Frames that are not told of came before the next, the last at this time.
    pub fn follow(&mut self, time_ns: i64) {
        self.closed_ns = time_ns;
    }

    /// The next frame, at a time of 0 or more.
    #[inline]
    pub fn see(&mut self, time_ns: i64) {
        let before_ns = std::mem::replace(&mut self.closed_ns, time_ns);
        if self.opened_ns == Self::NEVER_NS {
            self.open(time_ns);
        } else if time_ns < before_ns {
            self.step_back(before_ns, time_ns);
        } else {
            let step_ns = time_ns - before_ns;
            self.longest_gap_ns = self.longest_gap_ns.max(step_ns);
            self.ticks.see(step_ns);
        }
    }

    #[cold]
    fn open(&mut self, time_ns: i64) {
        self.opened_ns = time_ns;
        self.first_ns = time_ns;
    }

    #[cold]
    fn step_back(&mut self, before_ns: i64, time_ns: i64) {
        self.backwards += 1;
        self.furthest_back_ns = self.furthest_back_ns.max(before_ns - time_ns);
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(before_ns);
    }

    /// The same with the frames of another file, that follow. From one file to the next is no gap.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        let Some(opened_ns) = next.opened_ns() else {
            return self;
        };
        match self.opened_ns() {
            None if self.closed_ns > opened_ns => self.backwards += 1,
            Some(_) if self.closed_ns > opened_ns => self.step_back(self.closed_ns, opened_ns),
            Some(_) => self.ticks.see(opened_ns - self.closed_ns),
            None => {}
        }
        Self {
            opened_ns: self.opened_ns().unwrap_or(opened_ns),
            closed_ns: next.closed_ns,
            first_ns: self.first_ns.min(next.first_ns),
            last_ns: self.last_ns.max(next.last_ns),
            longest_gap_ns: self.longest_gap_ns.max(next.longest_gap_ns),
            furthest_back_ns: self.furthest_back_ns.max(next.furthest_back_ns),
            backwards: self.backwards + next.backwards,
            ticks: self.ticks.and(&next.ticks),
        }
    }

    /// The first frame.
    #[must_use]
    pub fn opened_ns(&self) -> Option<i64> {
        (self.opened_ns != Self::NEVER_NS).then_some(self.opened_ns)
    }

    /// The last frame.
    #[must_use]
    pub fn closed_ns(&self) -> Option<i64> {
        (self.closed_ns != Self::NEVER_NS).then_some(self.closed_ns)
    }

    /// The earliest frame, since the epoch.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        self.opened_ns().map(|_| self.first_ns)
    }

    /// The latest frame, since the epoch.
    #[must_use]
    pub fn last_ns(&self) -> Option<i64> {
        self.opened_ns().map(|_| self.last_ns.max(self.closed_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::Times;
    use proptest::prelude::*;

    fn seen(times_ns: &[i64]) -> Times {
        let mut times = Times::default();
        for &time_ns in times_ns {
            times.see(time_ns);
        }
        times
    }

    #[test]
    fn gaps_and_steps_back_are_those_between_neighbours() {
        let times = seen(&[50, 70, 65, 90]);
        assert_eq!((times.first_ns(), times.last_ns()), (Some(50), Some(90)));
        assert_eq!((times.longest_gap_ns, times.furthest_back_ns), (25, 5));
        assert_eq!(times.backwards, 1);
    }

    #[test]
    fn before_any_frame_no_time_is_known() {
        let mut times = Times::default();
        times.follow(7);
        assert_eq!((times.first_ns(), times.last_ns()), (None, None));
        assert_eq!((times.opened_ns(), times.closed_ns()), (None, Some(7)));
    }

    proptest! {
        // The oracle is the list of all times.
        #[test]
        fn files_that_follow_each_other_count_as_one(files in prop::collection::vec(prop::collection::vec(0..20i64, 0..6), 0..5)) {
            let joined = files.iter().fold(Times::default(), |times, file| times.then(&seen(file)));
            let all: Vec<_> = files.concat();
            prop_assert_eq!(joined.first_ns(), all.iter().min().copied());
            prop_assert_eq!(joined.last_ns(), all.iter().max().copied());
            prop_assert_eq!((joined.opened_ns(), joined.closed_ns()), (all.first().copied(), all.last().copied()));
            let back = all.windows(2).filter(|pair| pair[1] < pair[0]).count();
            prop_assert_eq!(joined.backwards, back as u64);
            prop_assert_eq!(joined.ticks, seen(&all).ticks);
            let gaps = files.iter().flat_map(|file| file.windows(2)).map(|pair| pair[1] - pair[0]);
            prop_assert_eq!(joined.longest_gap_ns, gaps.max().unwrap_or_default().max(0));
        }
    }
}
