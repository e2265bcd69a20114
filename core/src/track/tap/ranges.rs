//! # Ranges
//! A small sorted set of disjoint byte ranges. It holds the SACK scoreboard, bytes that the tap has not seen, or
//! retransmitted bytes.

use crate::budget::Budget;

/// A set of disjoint, sorted, non-empty, half-open ranges of relative sequence numbers. Most sets stay empty, so an
/// empty one takes no more than a pointer.
#[derive(Debug, Default)]
pub struct Ranges(Option<Box<NonEmpty>>);

/// The contents of a set that is not empty, or was not.
#[derive(Debug)]
struct NonEmpty {
    ranges: Vec<(i64, i64)>,
    /// Maximum number of ranges. Beyond it the lowest two are merged, so that hostile input cannot grow the set without
    /// bound.
    max: u32,
    /// Number of merges for lack of room.
    merged: u32,
}

impl Default for NonEmpty {
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            max: Budget::DEFAULT.ranges as u32,
            merged: 0,
        }
    }
}

impl NonEmpty {
    fn add(&mut self, start: i64, end: i64) {
        // The first range that touches or follows `start`, and the first that begins beyond `end`.
        let first = self.ranges.partition_point(|&(_, e)| e < start);
        let last = self.ranges.partition_point(|&(s, _)| s <= end);
        let merged = self.ranges[first..last]
            .iter()
            .fold((start, end), |(a, b), &(s, e)| (a.min(s), b.max(e)));
        self.ranges.splice(first..last, [merged]);
        self.merge_excess();
    }

    /// Removes `start..end`, some of which must be in the set.
    fn remove(&mut self, start: i64, end: i64) {
        let first = self.ranges.partition_point(|&(_, e)| e <= start);
        let last = self.ranges.partition_point(|&(s, _)| s < end);
        let left = (self.ranges[first].0, start);
        let right = (end, self.ranges[last - 1].1);
        let rest = [left, right].into_iter().filter(|(s, e)| s < e);
        self.ranges.splice(first..last, rest);
        self.merge_excess();
    }

    fn merge_excess(&mut self) {
        if self.ranges.len() > self.max as usize {
            self.merged = self.merged.saturating_add(1);
            let (start, _) = self.ranges.remove(0);
            if let Some(lowest) = self.ranges.first_mut() {
                lowest.0 = start;
            }
        }
    }
}

impl Ranges {
    /// Sets the maximum number of ranges.
    pub fn set_max(&mut self, max: usize) {
        if max != Budget::DEFAULT.ranges {
            self.0.get_or_insert_default().max = u32::try_from(max).unwrap_or(u32::MAX);
        }
    }

    fn ranges(&self) -> &[(i64, i64)] {
        self.0.as_ref().map_or(&[], |inner| &inner.ranges)
    }

    /// Returns how often two ranges were merged because the set was full.
    #[must_use]
    pub fn merged(&self) -> u32 {
        self.0.as_ref().map_or(0, |inner| inner.merged)
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        if let Some(inner) = &mut self.0 {
            inner.ranges.clear();
        }
    }

    /// Is the set empty?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    /// Returns the sum of the lengths, in bytes.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        self.ranges().iter().map(|(start, end)| end - start).sum()
    }

    /// Returns how many bytes are in both sets.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> i64 {
        let (mut ours, mut theirs) = (self.ranges(), other.ranges());
        let mut bytes = 0;
        while let (Some(&(start, end)), Some(&(from, to))) = (ours.first(), theirs.first()) {
            bytes += (end.min(to) - start.max(from)).max(0);
            if end < to {
                ours = &ours[1..];
            } else {
                theirs = &theirs[1..];
            }
        }
        bytes
    }

    /// Returns the end of the highest range; `None` for an empty set.
    #[must_use]
    pub fn end(&self) -> Option<i64> {
        self.ranges().last().map(|&(_, end)| end)
    }

    /// Adds `start..end`; returns how many of these bytes were not yet in the set.
    pub fn add(&mut self, start: i64, end: i64) -> i64 {
        if start >= end {
            return 0;
        }
        let before = self.covered(start, end);
        self.0.get_or_insert_default().add(start, end);
        end - start - before
    }

    /// Removes `start..end`; returns how many of these bytes were in the set.
    pub fn remove(&mut self, start: i64, end: i64) -> i64 {
        if start >= end {
            return 0;
        }
        let gone = self.covered(start, end);
        if gone > 0
            && let Some(inner) = &mut self.0
        {
            inner.remove(start, end);
        }
        gone
    }

    /// Removes everything below `edge`.
    pub fn trim(&mut self, edge: i64) {
        if (self.ranges().first()).is_some_and(|&(start, _)| start < edge) {
            self.remove(i64::MIN, edge);
        }
    }

    /// Returns the end of the range that holds `start`, or `start` if none does.
    #[must_use]
    pub fn covered_until(&self, start: i64) -> i64 {
        let at = self.ranges().partition_point(|&(_, e)| e <= start);
        match self.ranges().get(at) {
            Some(&(s, e)) if s <= start => e,
            _ => start,
        }
    }

    /// Returns how many bytes of `start..end` are in the set.
    #[must_use]
    pub fn covered(&self, start: i64, end: i64) -> i64 {
        self.within(start, end).map(|(s, e)| e - s).sum()
    }

    /// Returns the parts of the set that lie within `start..end`, lowest first.
    pub fn within(&self, start: i64, end: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.ranges().partition_point(|&(_, e)| e <= start);
        self.ranges()[first..]
            .iter()
            .take_while(move |(s, _)| *s < end)
            .map(move |&(s, e)| (s.max(start), e.min(end)))
    }

    /// Returns the ranges, lowest first.
    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.ranges().iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn touching_ranges_become_one() {
        let mut set = Ranges::default();
        assert_eq!(set.add(0, 10), 10);
        assert_eq!(set.add(10, 20), 10);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 20)]);
    }

    #[test]
    fn removing_from_the_middle_splits() {
        let mut set = Ranges::default();
        set.add(0, 30);
        assert_eq!(set.remove(10, 20), 10);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 10), (20, 30)]);
    }

    #[test]
    fn a_fragmented_set_stays_bounded() {
        let mut set = Ranges::default();
        set.add(0, 10_000);
        for byte in (1..10_000).step_by(2) {
            set.remove(byte, byte + 1);
        }
        assert_eq!(set.iter().count(), Budget::DEFAULT.ranges);
        assert_eq!(set.end(), Some(9_999));
    }

    #[test]
    fn covered_until_is_the_end_of_the_range_that_holds_the_number() {
        let mut set = Ranges::default();
        set.add(10, 20);
        assert_eq!(
            [9, 10, 19, 20].map(|at| set.covered_until(at)),
            [9, 20, 20, 20]
        );
    }

    proptest! {
        // The oracle is a plain set of bytes.
        #[test]
        fn overlap_counts_the_bytes_of_both_sets(
            ours in prop::collection::vec((0i64..60, 0i64..20), 0..10),
            theirs in prop::collection::vec((0i64..60, 0i64..20), 0..10),
        ) {
            let [(ours, our_bytes), (theirs, their_bytes)] = [ours, theirs].map(|spans| {
                let (mut set, mut bytes) = (Ranges::default(), BTreeSet::new());
                for (start, length) in spans {
                    set.add(start, start + length);
                    bytes.extend(start..start + length);
                }
                (set, bytes)
            });
            let both = our_bytes.intersection(&their_bytes).count();
            prop_assert_eq!(ours.overlap(&theirs), both as i64);
        }

        #[test]
        fn behaves_as_a_set(steps in prop::collection::vec((0i64..60, 0i64..20, any::<bool>()), 0..40)) {
            let mut set = Ranges::default();
            let mut bytes = BTreeSet::new();
            for (start, length, add) in steps {
                let span = start..start + length;
                let inside = span.clone().filter(|b| bytes.contains(b)).count() as i64;
                prop_assert_eq!(set.covered(start, start + length), inside);
                if add {
                    prop_assert_eq!(set.add(start, start + length), length - inside);
                    bytes.extend(span);
                } else {
                    prop_assert_eq!(set.remove(start, start + length), inside);
                    span.for_each(|b| { bytes.remove(&b); });
                }
                prop_assert_eq!(set.bytes(), bytes.len() as i64);
                prop_assert!(set.iter().all(|(s, e)| s < e));
            }
        }
    }
}
