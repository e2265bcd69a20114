//! # Batch
//! Segments that are given to a table together.
//!
//! The table takes those of one connection one after the other: what it keeps of the connection is fetched from memory
//! once, not for every segment. Connections do not depend on each other, so this changes nothing else. Events are put
//! in the order of the capture, though: where they are made, segments are taken as they came.

use super::line::{Line, Lines, Provenance};
use super::{Commands, Table, TableReport};
use crate::decode::{Path, Segment};
use crate::track::at::At;

/// Segments of a stretch of frames that belong to one table.
#[derive(Debug, Default)]
pub struct Batch {
    segments: Lines,
    /// Of each, the hash of its connection.
    hashes: Vec<u32>,
    /// The headers around segments, by the number beside them: each differs from the one before.
    paths: Vec<Path>,
    /// What to do first.
    commands: Commands,
    /// Places of the segments, as they are taken.
    order: Vec<u32>,
    /// Those that are taken next.
    prefetched: Vec<Line>,
}

impl Batch {
    /// Segments are put in order by so many values of a hash: connections that share one are mixed, and few do.
    const BUCKETS: usize = 512;
    /// So many are fetched together: another thread wrote them, and memory is waited for once.
    const PREFETCHED: usize = 64;

    /// What its table does first.
    pub fn begin(&mut self, commands: Commands) {
        self.commands = commands;
    }

    /// Adds the next segment.
    #[inline]
    pub fn push(
        &mut self,
        provenance: Provenance,
        hash: u32,
        segment: &Segment,
        path: &Path,
        at: At,
    ) {
        let same = |last: &Path| last.is_plain() && path.is_plain() || last == path;
        if !self.paths.last().is_some_and(same) {
            self.paths.push(*path);
        }
        let path = self.paths.len() as u32 - 1;
        self.hashes.push(hash);
        self.segments.push(provenance, segment, path, at);
    }

    /// Gives all to their table; the batch is empty then.
    pub fn process(&mut self, table: &mut Table) -> TableReport {
        table.execute(&self.commands);
        let lines = self.segments.lines();
        if table.makes_events() {
            self.order.clear();
            self.order.extend(0..lines.len() as u32);
        } else {
            Self::sort_by_connection(&self.hashes, &mut self.order);
        }
        for places in self.order.chunks(Self::PREFETCHED) {
            self.prefetched.clear();
            let fetched = places.iter().map(|&place| lines[place as usize]);
            self.prefetched.extend(fetched);
            for (line, &place) in self.prefetched.iter().zip(places) {
                let hash = self.hashes[place as usize];
                let path = &self.paths[line.path as usize];
                self.segments.read(line, |provenance, segment| {
                    table.take(provenance, hash, segment, path, line.at);
                });
            }
        }
        self.segments.clear();
        self.hashes.clear();
        self.paths.clear();
        table.take_report()
    }

    /// Puts those of one connection together, as they came: sorts by counting.
    fn sort_by_connection(hashes: &[u32], order: &mut Vec<u32>) {
        let bucket = |hash: u32| hash as usize % Self::BUCKETS;
        let mut places = [0; Self::BUCKETS];
        for &hash in hashes {
            places[bucket(hash)] += 1;
        }
        let mut before = 0;
        for count in &mut places {
            before += std::mem::replace(count, before);
        }
        order.resize(hashes.len(), 0);
        for (segment, &hash) in (0..).zip(hashes) {
            let place: &mut usize = &mut places[bucket(hash)];
            order[*place] = segment;
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
            hashes in prop::collection::vec(0..2000u32, 0..300),
        ) {
            let mut expected: Vec<u32> = (0..hashes.len() as u32).collect();
            expected.sort_by_key(|&segment| hashes[segment as usize] as usize % Batch::BUCKETS);
            let mut order = Vec::new();
            Batch::sort_by_connection(&hashes, &mut order);
            prop_assert_eq!(order, expected);
        }
    }
}
