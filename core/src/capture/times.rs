//! # Times
//! Capture times of frames, and the gaps between them.

use super::ticks::Ticks;

/// Times of frames in the order of the capture. Times are in ns since the epoch, differences in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Time of the first frame in the capture.
    opened_ns: i64,
    /// Time of the last frame in the capture.
    closed_ns: i64,
    /// Earliest time of any frame.
    first_ns: i64,
    /// Latest time of the frames that are followed by an earlier time.
    last_ns: i64,
    /// Longest time from a frame to the next.
    pub longest_gap_ns: i64,
    /// Largest step backwards in time from a frame to the next.
    pub furthest_back_ns: i64,
    /// Number of frames with an earlier time than the preceding frame.
    pub backwards: u64,
    /// Time differences, from which the clock's resolution is estimated.
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
    /// Marks the times of a capture without frames.
    const NEVER_NS: i64 = i64::MIN;

    /// Returns the times of a file that was read before. `steps` are those of [`Ticks::joined`].
    #[must_use]
    pub fn of_file(
        [opened_ns, closed_ns, first_ns, last_ns]: [i64; 4],
        longest_gap_ns: i64,
        steps: (u64, u64, Option<i64>),
    ) -> Self {
        Self {
            opened_ns,
            closed_ns,
            first_ns,
            last_ns,
            longest_gap_ns,
            ticks: Ticks::joined(&[steps]),
            ..Self::default()
        }
    }

    /// Sets the time of the last frame before this part of a capture.
    pub fn start_after(&mut self, time_ns: i64) {
        self.closed_ns = time_ns;
    }

    /// Adds the next frame, whose time is 0 or more.
    #[inline]
    pub fn add(&mut self, time_ns: i64) {
        let before_ns = std::mem::replace(&mut self.closed_ns, time_ns);
        if self.opened_ns == Self::NEVER_NS {
            self.open(time_ns);
        } else if time_ns < before_ns {
            self.step_back(before_ns, time_ns);
        } else {
            let step_ns = time_ns - before_ns;
            self.longest_gap_ns = self.longest_gap_ns.max(step_ns);
            self.ticks.add(step_ns);
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

    /// Returns these times followed by those of the next file. The time between two files is not counted as a gap.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        let Some(opened_ns) = next.opened_ns() else {
            return self;
        };
        match self.opened_ns() {
            None if self.closed_ns > opened_ns => self.backwards += 1,
            Some(_) if self.closed_ns > opened_ns => self.step_back(self.closed_ns, opened_ns),
            Some(_) => self.ticks.add(opened_ns - self.closed_ns),
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
            ticks: self.ticks.with(&next.ticks),
        }
    }

    /// Returns the time of the first frame in the capture; `None` without a frame.
    #[must_use]
    pub fn opened_ns(&self) -> Option<i64> {
        (self.opened_ns != Self::NEVER_NS).then_some(self.opened_ns)
    }

    /// Returns the time of the last frame in the capture; `None` if unknown.
    #[must_use]
    pub fn closed_ns(&self) -> Option<i64> {
        (self.closed_ns != Self::NEVER_NS).then_some(self.closed_ns)
    }

    /// Returns the earliest time of any frame; `None` without a frame.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        self.opened_ns().map(|_| self.first_ns)
    }

    /// Returns the latest time of any frame; `None` without a frame.
    #[must_use]
    pub fn last_ns(&self) -> Option<i64> {
        self.opened_ns().map(|_| self.last_ns.max(self.closed_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::Times;
    use proptest::prelude::*;

    fn times_of(times_ns: &[i64]) -> Times {
        let mut times = Times::default();
        for &time_ns in times_ns {
            times.add(time_ns);
        }
        times
    }

    #[test]
    fn gaps_and_steps_back_are_between_consecutive_frames() {
        let times = times_of(&[50, 70, 65, 90]);
        assert_eq!((times.first_ns(), times.last_ns()), (Some(50), Some(90)));
        assert_eq!((times.longest_gap_ns, times.furthest_back_ns), (25, 5));
        assert_eq!(times.backwards, 1);
    }

    #[test]
    fn without_a_frame_only_the_preceding_time_is_known() {
        let mut times = Times::default();
        times.start_after(7);
        assert_eq!((times.first_ns(), times.last_ns()), (None, None));
        assert_eq!((times.opened_ns(), times.closed_ns()), (None, Some(7)));
    }

    proptest! {
        // The oracle is the list of all times.
        #[test]
        fn consecutive_files_count_as_one(files in prop::collection::vec(prop::collection::vec(0..20i64, 0..6), 0..5)) {
            let joined = files.iter().fold(Times::default(), |times, file| times.then(&times_of(file)));
            let all: Vec<_> = files.concat();
            prop_assert_eq!(joined.first_ns(), all.iter().min().copied());
            prop_assert_eq!(joined.last_ns(), all.iter().max().copied());
            prop_assert_eq!((joined.opened_ns(), joined.closed_ns()), (all.first().copied(), all.last().copied()));
            let back = all.windows(2).filter(|pair| pair[1] < pair[0]).count();
            prop_assert_eq!(joined.backwards, back as u64);
            prop_assert_eq!(joined.ticks, times_of(&all).ticks);
            let gaps = files.iter().flat_map(|file| file.windows(2)).map(|pair| pair[1] - pair[0]);
            prop_assert_eq!(joined.longest_gap_ns, gaps.max().unwrap_or_default().max(0));
        }
    }
}
