//! # Batch
//! Segments that are given to a table together.
//!
//! The table takes those of one connection one after the other: what it keeps of the connection is fetched from memory
//! once, not for every segment. Connections do not depend on each other, so this changes nothing else. Events are put
//! in the order of the capture, though: where they are made, segments are taken as they came.

use super::flow::At;
use super::table::{News, Orders, Seen, Table};
use crate::decode::{Path, Segment};

/// A segment, and what its table is told with it.
#[derive(Debug)]
struct Taken {
    seen: Seen,
    path: u32,
    segment: Segment,
    at: At,
}

/// Segments of a stretch of frames that belong to one table.
#[derive(Debug, Default)]
pub struct Batch {
    segments: Vec<Taken>,
    /// Of each, the hash of its connection.
    hashes: Vec<u64>,
    /// The headers around segments, by the number beside them: each differs from the one before.
    paths: Vec<Path>,
    /// What to do first.
    orders: Orders,
    /// Places of the segments, as they are taken.
    order: Vec<u32>,
}

impl Batch {
    /// Segments are put in order by so many values of a hash: connections that share one are mixed, and few do.
    const VALUES: usize = 512;

    /// What its table does first.
    pub fn begin(&mut self, orders: Orders) {
        self.orders = orders;
    }

    /// Adds the next segment.
    pub fn push(&mut self, seen: Seen, hash: u64, segment: &Segment, path: &Path, at: At) {
        let same = |last: &Path| last.is_plain() && path.is_plain() || last == path;
        if !self.paths.last().is_some_and(same) {
            self.paths.push(*path);
        }
        self.hashes.push(hash);
        self.segments.push(Taken {
            seen,
            path: self.paths.len() as u32 - 1,
            segment: *segment,
            at,
        });
    }

    /// Gives all to their table; the batch is empty then.
    pub fn give(&mut self, table: &mut Table) -> News {
        table.follow(&self.orders);
        if table.makes_events() {
            self.order.clear();
            self.order.extend(0..self.segments.len() as u32);
        } else {
            self.put_in_order();
        }
        for &place in &self.order {
            let (taken, hash) = (&self.segments[place as usize], self.hashes[place as usize]);
            let path = &self.paths[taken.path as usize];
            table.take(taken.seen, hash, &taken.segment, path, taken.at);
        }
        self.segments.clear();
        self.hashes.clear();
        self.paths.clear();
        table.news()
    }

    /// Puts those of one connection together, as they came: sorts by counting.
    fn put_in_order(&mut self) {
        let value = |hash: u64| hash as usize % Self::VALUES;
        let mut places = [0; Self::VALUES];
        for &hash in &self.hashes {
            places[value(hash)] += 1;
        }
        let mut before = 0;
        for count in &mut places {
            before += std::mem::replace(count, before);
        }
        self.order.resize(self.hashes.len(), 0);
        for (segment, &hash) in (0..).zip(&self.hashes) {
            let place: &mut usize = &mut places[value(hash)];
            self.order[*place] = segment;
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // The oracle is a sort that keeps the order of what is equal.
        #[test]
        fn segments_of_one_connection_are_taken_together_and_as_they_came(
            hashes in prop::collection::vec(any::<u64>().prop_map(|hash| hash % 2000), 0..300),
        ) {
            let mut expected: Vec<u32> = (0..hashes.len() as u32).collect();
            expected.sort_by_key(|&segment| hashes[segment as usize] as usize % Batch::VALUES);
            let mut batch = Batch { hashes, ..Batch::default() };
            batch.put_in_order();
            prop_assert_eq!(batch.order, expected);
        }
    }
}
